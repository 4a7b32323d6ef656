//! The results of `uwf config` and `uwf log`.

use std::path::PathBuf;

use serde::Serialize;
use serde_json::{Map, Value};
use uwf_config::{Finding, Findings, OwnedValue};
use uwf_protocol::prices::{PriceRow, PriceSource};
use uwf_storage::log::LogFile;
use uwf_util::text::counted;
use uwf_util::{size, time};

use crate::local_time;
use crate::output::Show;
use crate::text::cas::document;
use crate::text::columns::{Column, Room, columns};
use crate::text::table::{Page, fitted, table};

/// The whole config, masked.
#[derive(Serialize)]
#[serde(transparent)]
pub(crate) struct ConfigView(pub Value);

impl Show for ConfigView {
    fn text(&self, _page: Page) -> String {
        if self.0.as_object().is_some_and(Map::is_empty) {
            return "nothing is configured; `uwf setup` asks for all that is needed".to_owned();
        }
        document(&self.0)
    }
}

/// The values of the config that hold in a folder, with their files.
#[derive(Serialize)]
#[serde(transparent)]
pub(crate) struct OriginsView(pub Vec<OwnedValue>);

impl Show for OriginsView {
    fn text(&self, page: Page) -> String {
        let row = |one: &OwnedValue| {
            let value = one.value.as_str().map(str::to_owned);
            let value = value.unwrap_or_else(|| one.value.to_string());
            vec![one.key.clone(), value, one.file.display().to_string()]
        };
        let rows = self.0.iter().map(row).collect();
        fitted(&["KEY", "VALUE", "FILE"], rows, 1, page)
    }
}

/// The prices of models that hold.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PricesView {
    /// The day of the built-in ones.
    pub(crate) built_in_date: &'static str,
    pub(crate) prices: Vec<PriceRow>,
}

impl Show for PricesView {
    fn text(&self, page: Page) -> String {
        let rate = |rate: Option<f64>| rate.map_or_else(|| "-".to_owned(), |usd| format!("${usd}"));
        let row = |row: &PriceRow| {
            let source = match (row.source, row.page) {
                (PriceSource::Config, _) => "config".to_owned(),
                (PriceSource::BuiltIn, page) => {
                    format!(
                        "built-in, {}, {}",
                        self.built_in_date,
                        page.unwrap_or_default()
                    )
                }
            };
            vec![
                row.model.to_string(),
                rate(Some(row.price.input)),
                rate(Some(row.price.output)),
                rate(row.price.cache_read),
                rate(row.price.cache_write),
                source,
            ]
        };
        let rows = self.prices.iter().map(row).collect();
        let headings = [
            "MODEL",
            "INPUT",
            "OUTPUT",
            "CACHE READ",
            "CACHE WRITE",
            "SOURCE",
        ];
        format!(
            "{}\n\nUS dollars for a million tokens",
            fitted(&headings, rows, 5, page).trim_end()
        )
    }
}

/// One value of the config.
#[derive(Serialize)]
pub(crate) struct ValueView {
    pub(crate) value: Value,
}

impl Show for ValueView {
    fn text(&self, _page: Page) -> String {
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
    fn text(&self, _page: Page) -> String {
        format!("{} is now {}", self.key, self.value)
    }
}

/// A value that was removed.
#[derive(Serialize)]
pub(crate) struct UnsetView {
    pub(crate) key: String,
}

impl Show for UnsetView {
    fn text(&self, _page: Page) -> String {
        format!("{} is removed", self.key)
    }
}

/// Where the config is.
#[derive(Serialize)]
pub(crate) struct PathView {
    pub(crate) path: PathBuf,
}

impl Show for PathView {
    fn text(&self, _page: Page) -> String {
        self.path.display().to_string()
    }
}

/// The result of editing the config.
#[derive(Serialize)]
pub(crate) struct EditedView {
    pub(crate) path: PathBuf,
    pub(crate) changed: bool,
}

impl Show for EditedView {
    fn text(&self, _page: Page) -> String {
        let what = if self.changed {
            "is changed"
        } else {
            "is as it was"
        };
        format!("{} {what}", self.path.display())
    }
}

/// The result of checking the config.
#[derive(Serialize)]
pub(crate) struct CheckView {
    pub(crate) path: PathBuf,
    pub(crate) valid: bool,
    #[serde(flatten)]
    findings: Findings,
}

impl CheckView {
    pub(crate) fn new(path: PathBuf, findings: Findings) -> Self {
        Self {
            path,
            valid: findings.errors.is_empty(),
            findings,
        }
    }

    /// Returns one line for each error.
    pub(crate) fn lines_of_errors(&self) -> Vec<String> {
        let errors = self.findings.errors.iter();
        errors.map(|finding| self.line(finding)).collect()
    }

    /// Returns one line: file, line, column, key, problem.
    fn line(&self, finding: &Finding) -> String {
        let Finding {
            line,
            column,
            key,
            problem,
            ..
        } = finding;
        let path = self.path.display();
        match key.as_str() {
            "" => format!("{path}:{line}:{column}: {problem}"),
            key => format!("{path}:{line}:{column}: {key}: {problem}"),
        }
    }
}

impl Show for CheckView {
    fn text(&self, _page: Page) -> String {
        let errors = self.findings.errors.iter();
        let warnings = self.findings.warnings.iter();
        let mut lines: Vec<String> = errors
            .map(|one| format!("error: {}", self.line(one)))
            .chain(warnings.map(|one| format!("warning: {}", self.line(one))))
            .collect();
        if self.valid {
            lines.push(format!("{} is valid", self.path.display()));
        }
        lines.join("\n")
    }
}

impl Show for Vec<LogFile> {
    fn text(&self, _page: Page) -> String {
        if self.is_empty() {
            return "no log files".to_owned();
        }
        let row = |file: &LogFile| vec![file.date.to_string(), size::format(file.size)];
        table(&["DAY (UTC)", "SIZE"], self.iter().map(row).collect())
    }
}

impl Show for Vec<Map<String, Value>> {
    fn text(&self, page: Page) -> String {
        if self.is_empty() {
            return "no log lines".to_owned();
        }
        let is_narrow = page.width.is_some_and(|width| width < NARROW);
        let row = |line: &Map<String, Value>| {
            let (time, thread) = (logged_ms(line), of(line, "thread"));
            let [time, tag, thread] = match is_narrow {
                true => [
                    time.map(local_time::without_year),
                    None,
                    Some(thread.chars().take(SHORT_ID).collect()),
                ],
                false => [
                    time.map(local_time::cell),
                    Some(of(line, "tag").to_owned()),
                    Some(thread.to_owned()),
                ],
            };
            let [time, tag, thread] =
                [time, tag, thread].map(|cell| cell.unwrap_or_else(|| "-".to_owned()));
            let [event, message] = ["event", "msg"].map(|key| of(line, key).to_owned());
            vec![time, tag, event, thread, message]
        };
        columns(&LOG, self.iter().map(row).collect(), page)
    }
}

/// The columns of the process log.
const LOG: [Column; 5] = [
    Column::of_local_times("TIME", Room::Fixed),
    Column::new("TAG", Room::Spare(0)),
    Column::new("EVENT", Room::Fixed),
    Column::new("THREAD", Room::Spare(1)),
    Column::new("MESSAGE", Room::Cut),
];
/// The width of a page on which the process log needs shorter cells.
const NARROW: usize = 120;
/// How much of a thread's id stands on such a page: it still names the thread, unless others began in the same second.
const SHORT_ID: usize = 12;

fn of<'a>(line: &'a Map<String, Value>, key: &str) -> &'a str {
    line.get(key).and_then(Value::as_str).unwrap_or("-")
}

/// Returns when a line was logged, in milliseconds since 1970.
fn logged_ms(line: &Map<String, Value>) -> Option<i64> {
    time::parse_filter(of(line, "ts"), 0).ok()
}

/// Log lines that come one after the other, without headings.
#[derive(Serialize)]
#[serde(transparent)]
pub(crate) struct LogLinesView(pub(crate) Vec<Map<String, Value>>);

impl Show for LogLinesView {
    fn text(&self, _page: Page) -> String {
        let line = |line: &Map<String, Value>| {
            let time = logged_ms(line).map_or_else(|| "-".to_owned(), local_time::moment);
            let [event, thread, message] = ["event", "thread", "msg"].map(|key| of(line, key));
            [&time, event, thread, message].join("  ")
        };
        self.0.iter().map(line).collect::<Vec<_>>().join("\n")
    }
}

/// How many files were deleted.
#[derive(Serialize)]
pub(crate) struct DeletedView {
    pub(crate) deleted: usize,
}

impl Show for DeletedView {
    fn text(&self, _page: Page) -> String {
        format!("{} deleted", counted(self.deleted, "log file"))
    }
}
