//! Reads the process logs, and deletes old ones. `process_log` writes them.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::str::FromStr;

use serde::Serialize;
use serde_json::{Map, Value};
use uwf_protocol::ids::ThreadId;
use uwf_util::time;

use crate::growing::GrowingFile;
use crate::{BadLine, Root, StorageError};

/// A day of the calendar, in UTC, such as `2026-11-21`: the name of a log file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct Day(String);

impl Day {
    /// Returns the text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Day {
    type Err = StorageError;

    fn from_str(text: &str) -> Result<Self, StorageError> {
        if time::is_date(text) {
            Ok(Self(text.to_owned()))
        } else {
            Err(StorageError::Day(text.to_owned()))
        }
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// A log file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LogFile {
    /// The name of the file, without its directory.
    pub name: String,
    /// How many bytes it has.
    pub size: u64,
    /// The day on which its processes started.
    pub date: Day,
}

/// Which entries are wanted; an empty filter means all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LogFilter {
    /// Only those about this thread.
    pub thread: Option<ThreadId>,
    /// Only those of this process: its number, or `<start ms>-<process number>`, which is not used again.
    pub process: Option<String>,
    /// Only those in the file of this day.
    pub date: Option<Day>,
    /// Only those of this event, such as `step-failed`.
    pub event: Option<String>,
    /// Only those after this time, in milliseconds since 1970.
    pub after_ms: Option<i64>,
}

/// The entries that were found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LogEntries {
    /// The entries as they were written, by time.
    pub entries: Vec<Map<String, Value>>,
    /// The lines that cannot be read, except an unfinished last line.
    pub damaged: Vec<BadLine>,
}

impl LogEntries {
    fn sort(&mut self) {
        let time = |entry: &Map<String, Value>| text_of(entry, "ts").unwrap_or_default().to_owned();
        self.entries.sort_by_cached_key(time);
    }
}

/// Returns the log files, newest day first. Files with other names are ignored.
///
/// # Errors
/// [`StorageError::Io`], as of all functions here.
pub fn list(root: &Root) -> Result<Vec<LogFile>, StorageError> {
    let directory = root.logs_dir();
    let read_error = StorageError::io("read", &directory);
    let entries = match fs::read_dir(&directory) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(&read_error)?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry.map_err(&read_error)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(Ok(date)) = name.strip_suffix(".jsonl").map(str::parse) else {
            continue;
        };
        let size = entry.metadata().map_err(&read_error)?.len();
        found.push(LogFile { name, size, date });
    }
    found.sort_unstable_by(|a, b| b.date.cmp(&a.date));
    Ok(found)
}

/// Returns the entries that pass the filter, by time, and the damaged lines.
///
/// # Errors
/// See [`list`].
pub fn show(root: &Root, filter: &LogFilter) -> Result<LogEntries, StorageError> {
    let mut found = LogEntries::default();
    for file in list(root)?.iter().rev() {
        if filter.date.as_ref().is_none_or(|day| *day == file.date) {
            read_file(&root.logs_dir().join(&file.name), filter, &mut found)?;
        }
    }
    found.sort();
    Ok(found)
}

/// Removes the files of all days before this one, and returns how many there were.
///
/// # Errors
/// See [`list`].
pub fn clean(root: &Root, before: &Day) -> Result<usize, StorageError> {
    let mut removed = 0;
    for file in list(root)?.iter().filter(|file| file.date < *before) {
        uwf_durable::remove(&root.logs_dir().join(&file.name))?;
        removed += 1;
    }
    Ok(removed)
}

/// Reads the entries that were written since it last did so.
#[derive(Debug, Default)]
pub struct Follower {
    /// The files by their names, and how far they were read.
    files: BTreeMap<String, GrowingFile>,
}

impl Follower {
    /// Returns the new entries that pass the filter, by time; the first call returns all.
    ///
    /// # Errors
    /// See [`list`].
    pub fn next(&mut self, root: &Root, filter: &LogFilter) -> Result<LogEntries, StorageError> {
        let mut found = LogEntries::default();
        for file in list(root)?.into_iter().rev() {
            let path = root.logs_dir().join(&file.name);
            let known = self.files.entry(file.name);
            let growing = known.or_insert_with(|| GrowingFile::at(path.clone()));
            if growing.is_read_up_to(file.size) {
                continue;
            }
            growing.read_on(|first_line, new| {
                read_lines(&path, new, first_line, filter, &mut found);
            })?;
        }
        found.sort();
        Ok(found)
    }
}

fn read_file(path: &Path, filter: &LogFilter, found: &mut LogEntries) -> Result<(), StorageError> {
    // A file that somebody deleted meanwhile has no entries.
    let content = uwf_durable::read(path)?.unwrap_or_default();
    read_lines(path, &content, 1, filter, found);
    Ok(())
}

/// Reads the entries in a part of a file that starts at a line.
fn read_lines(
    path: &Path,
    content: &[u8],
    first_line: u64,
    filter: &LogFilter,
    found: &mut LogEntries,
) {
    let lines = content.split_inclusive(|byte| *byte == b'\n');
    for (number, line) in (first_line..).zip(lines) {
        match serde_json::from_slice::<Map<String, Value>>(line) {
            Ok(entry) if passes(&entry, filter) => found.entries.push(entry),
            Ok(_) => {}
            Err(_) if !line.ends_with(b"\n") || line.trim_ascii().is_empty() => {}
            Err(error) => found.damaged.push(BadLine {
                path: path.to_owned(),
                line: number,
                problem: error.to_string(),
            }),
        }
    }
}

fn passes(entry: &Map<String, Value>, filter: &LogFilter) -> bool {
    let thread = filter.thread.as_ref().map(ThreadId::as_str);
    let process = filter.process.as_deref();
    let event = filter.event.as_deref();
    // Times are written in one form, whose order is that of its text.
    let after = filter.after_ms.map(time::format_iso);
    thread.is_none_or(|thread| text_of(entry, "thread") == Some(thread))
        && process.is_none_or(|process| is_of(entry, process))
        && event.is_none_or(|event| text_of(entry, "event") == Some(event))
        && after.is_none_or(|after| text_of(entry, "ts").is_some_and(|at| at > after.as_str()))
}

/// Tells whether an entry is of this process. Older entries have the longer name in `pid`, and no `process`.
fn is_of(entry: &Map<String, Value>, process: &str) -> bool {
    let number = entry.get("pid").and_then(Value::as_u64);
    let names = [text_of(entry, "process"), text_of(entry, "pid")];
    names.contains(&Some(process)) || number.is_some_and(|number| number.to_string() == process)
}

fn text_of<'a>(entry: &'a Map<String, Value>, key: &str) -> Option<&'a str> {
    entry.get(key)?.as_str()
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "01J7K9Z000000000000000000A";

    fn root_with(logs: &[(&str, &str)]) -> (tempfile::TempDir, Root) {
        let temp = tempfile::tempdir().unwrap();
        let root = Root::at(temp.path().to_owned());
        fs::create_dir(root.logs_dir()).unwrap();
        for (name, content) in logs {
            fs::write(root.logs_dir().join(name), content).unwrap();
        }
        (temp, root)
    }

    fn names(root: &Root) -> Vec<String> {
        let files = list(root).unwrap().into_iter();
        files.map(|file| file.name).collect()
    }

    fn messages(found: &LogEntries) -> Vec<&str> {
        let entries = found.entries.iter();
        entries.filter_map(|entry| text_of(entry, "msg")).collect()
    }

    #[test]
    fn files_are_listed_newest_first_and_other_files_are_left_out() {
        let (_temp, root) = root_with(&[
            ("2026-11-20.jsonl", "12345"),
            ("2026-11-21.jsonl", ""),
            ("2026-11-31.jsonl", ""),
            ("notes.jsonl", ""),
            (".uwf-temp-abc", ""),
        ]);
        assert_eq!(names(&root), ["2026-11-21.jsonl", "2026-11-20.jsonl"]);
        assert_eq!(list(&root).unwrap()[1].size, 5);
    }

    #[test]
    fn without_logs_there_is_nothing_to_show() {
        let temp = tempfile::tempdir().unwrap();
        let root = Root::at(temp.path().join("none"));
        assert_eq!(list(&root).unwrap(), []);
        assert_eq!(
            show(&root, &LogFilter::default()).unwrap(),
            LogEntries::default()
        );
    }

    #[test]
    fn entries_are_filtered_and_come_by_time() {
        let line = |ts: &str, process: &str, msg: &str| {
            format!(r#"{{"ts":"{ts}",{process},"msg":"{msg}","thread":"{A}"}}"#) + "\n"
        };
        let day = line(
            "2026-11-21T10:00:00.000Z",
            r#""pid":1,"process":"1-1""#,
            "third",
        ) + &line(
            "2026-11-21T09:00:00.000Z",
            r#""pid":7,"process":"2-7""#,
            "second",
        );
        let (_temp, root) = root_with(&[
            ("2026-11-21.jsonl", &day),
            (
                "2026-11-20.jsonl",
                &line("2026-11-20T10:00:00.000Z", r#""pid":"1-1""#, "first"),
            ),
        ]);
        let check = |filter: LogFilter, expected: &[&str]| {
            let found = show(&root, &filter).unwrap();
            assert_eq!(messages(&found), expected, "{filter:?}");
        };
        let all = LogFilter::default;
        let of_process = |process: &str| LogFilter {
            process: Some(process.into()),
            ..all()
        };
        let of_thread = |thread: &str| LogFilter {
            thread: thread.parse().ok(),
            ..all()
        };
        check(all(), &["first", "second", "third"]);
        check(of_process("1-1"), &["first", "third"]);
        check(of_process("7"), &["second"]);
        let date = "2026-11-20".parse().ok();
        check(LogFilter { date, ..all() }, &["first"]);
        check(of_thread(A), &["first", "second", "third"]);
        check(of_thread("01J7K9Z000000000000000000B"), &[]);
    }

    #[test]
    fn a_follower_returns_each_entry_once_and_waits_for_whole_lines() {
        let (_temp, root) =
            root_with(&[("2026-11-21.jsonl", "{\"ts\":\"1\",\"msg\":\"a\"}\n{\"ts\"")]);
        let mut follower = Follower::default();
        let mut check = |expected: &[&str]| {
            let found = follower.next(&root, &LogFilter::default()).unwrap();
            assert_eq!(messages(&found), expected);
            assert_eq!(found.damaged, []);
        };
        check(&["a"]);
        check(&[]);
        let file = root.logs_dir().join("2026-11-21.jsonl");
        let more =
            |text: &str| fs::write(&file, fs::read_to_string(&file).unwrap() + text).unwrap();
        more(":\"2\",\"msg\":\"b\"}\n");
        check(&["b"]);
        fs::write(
            root.logs_dir().join("2026-11-22.jsonl"),
            "{\"ts\":\"3\",\"msg\":\"c\"}\n",
        )
        .unwrap();
        check(&["c"]);
        fs::write(&file, "{\"msg\":\"d\"}\n").unwrap();
        check(&["d"]);
    }

    #[test]
    fn entries_are_chosen_by_event_and_by_time() {
        let line = |ts: &str, event: &str| {
            format!(r#"{{"ts":"1970-01-01T00:00:0{ts}.000Z","event":"{event}","msg":"{ts}"}}"#)
                + "\n"
        };
        let text = line("1", "routed") + &line("2", "step-failed") + &line("3", "routed");
        let (_temp, root) = root_with(&[("2026-11-21.jsonl", &text)]);
        let of = |event: Option<&str>, after_ms| {
            let event = event.map(str::to_owned);
            let filter = LogFilter {
                event,
                after_ms,
                ..LogFilter::default()
            };
            let found = show(&root, &filter).unwrap();
            messages(&found)
                .into_iter()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        assert_eq!(of(Some("routed"), None), ["1", "3"]);
        assert_eq!(of(None, Some(1000)), ["2", "3"]);
        assert_eq!(of(Some("routed"), Some(2999)), ["3"]);
    }

    #[test]
    fn a_torn_line_hides_no_other() {
        let text = "{\"ts\":\"1\",\"msg\":\"a\"}\n{\"ts\":\n\n{\"ts\":\"2\",\"msg\":\"b\"}\n{\"to";
        let (_temp, root) = root_with(&[("2026-11-21.jsonl", text)]);
        let found = show(&root, &LogFilter::default()).unwrap();
        assert_eq!(messages(&found), ["a", "b"]);
        let lines: Vec<u64> = found.damaged.iter().map(|bad| bad.line).collect();
        assert_eq!(lines, [2]);
    }

    #[test]
    fn cleaning_removes_the_files_of_earlier_days_only() {
        let (_temp, root) = root_with(&[
            ("2026-11-19.jsonl", ""),
            ("2026-11-20.jsonl", ""),
            ("2026-11-21.jsonl", ""),
            ("0000.jsonl", ""),
        ]);
        assert_eq!(clean(&root, &"2026-11-21".parse().unwrap()).unwrap(), 2);
        assert_eq!(names(&root), ["2026-11-21.jsonl"]);
        assert!(root.logs_dir().join("0000.jsonl").exists());
    }

    #[test]
    fn only_a_day_of_the_calendar_is_a_day() {
        for text in ["../x", "2026-13-01", "2026-1-1", "", "2026-11-21/", "z"] {
            assert!(text.parse::<Day>().is_err(), "{text}");
        }
    }
}
