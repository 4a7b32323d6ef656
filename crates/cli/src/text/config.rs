//! Config values and log files.

use serde::Serialize;
use serde_json::{Map, Value};
use uwf_storage::log::LogFile;

use crate::output::Show;
use crate::text::cas::document;
use crate::text::table::table;

/// The whole config, masked.
#[derive(Serialize)]
#[serde(transparent)]
pub(crate) struct ConfigView(pub Value);

impl Show for ConfigView {
    fn text(&self) -> String {
        document(&self.0)
    }
}

/// One value of the config.
#[derive(Serialize)]
pub(crate) struct ValueView {
    pub(crate) value: Value,
}

impl Show for ValueView {
    fn text(&self) -> String {
        document(&self.value)
    }
}

/// A value that was changed.
#[derive(Serialize)]
pub(crate) struct SetView {
    pub(crate) key: String,
    pub(crate) value: Value,
}

impl Show for SetView {
    fn text(&self) -> String {
        format!("{} is now {}", self.key, self.value)
    }
}

impl Show for Vec<LogFile> {
    fn text(&self) -> String {
        let row = |file: &LogFile| {
            vec![
                file.date.as_str().to_owned(),
                file.size.to_string(),
                file.name.clone(),
            ]
        };
        table(&self.iter().map(row).collect::<Vec<_>>())
    }
}

impl Show for Vec<Map<String, Value>> {
    fn text(&self) -> String {
        let row = |line: &Map<String, Value>| {
            let value = |key: &str| line.get(key).and_then(Value::as_str);
            let of = |key: &str| value(key).unwrap_or("-").to_owned();
            vec![of("ts"), of("tag"), of("thread"), of("msg")]
        };
        table(&self.iter().map(row).collect::<Vec<_>>())
    }
}

/// How many files were deleted.
#[derive(Serialize)]
pub(crate) struct DeletedView {
    pub(crate) deleted: usize,
}

impl Show for DeletedView {
    fn text(&self) -> String {
        match self.deleted {
            1 => "1 log file deleted".to_owned(),
            count => format!("{count} log files deleted"),
        }
    }
}
