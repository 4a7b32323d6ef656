//! Config values and log files.

use serde::Serialize;
use serde_json::{Map, Value};
use uwf_storage::log::LogFile;
use uwf_util::size;

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
        if self.is_empty() {
            return "no log files".to_owned();
        }
        let row = |file: &LogFile| vec![file.date.to_string(), size::format(file.size)];
        table(&["DAY (UTC)", "SIZE"], self.iter().map(row).collect())
    }
}

impl Show for Vec<Map<String, Value>> {
    fn text(&self) -> String {
        if self.is_empty() {
            return "no log lines".to_owned();
        }
        let row = |line: &Map<String, Value>| {
            let value = |key: &str| line.get(key).and_then(Value::as_str);
            let of = |key: &str| value(key).unwrap_or("-").to_owned();
            vec![of("ts"), of("tag"), of("thread"), of("msg")]
        };
        table(
            &["TIME", "TAG", "THREAD", "MESSAGE"],
            self.iter().map(row).collect(),
        )
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
