//! Writes the process log: what a command did, for a later search for the cause of a problem. `log` reads it.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use serde_json::{Map, Value};
use uwf_durable::FileError;
use uwf_util::text::cut;
use uwf_util::{base32, time};

use crate::Root;

/// How many characters of a message are written: enough to recognise a text, too few to leak a prompt.
const VALUE_CHARS: usize = 200;

/// One place in the code that logs: 8 Crockford digits to look for in the code, and a name for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tag {
    digits: &'static str,
    name: &'static str,
}

impl Tag {
    /// Returns the tag with these digits and this name. Make it a `const`, so that an invalid tag does not compile:
    ///
    /// ```
    /// const STARTED: uwf_storage::Tag = uwf_storage::Tag::new("W9F3RK2M", "started");
    /// assert_eq!(STARTED.as_str(), "W9F3RK2M");
    /// ```
    /// ```compile_fail
    /// // I and L are no digits
    /// const WRONG: uwf_storage::Tag = uwf_storage::Tag::new("SILLYTAG", "wrong");
    /// ```
    ///
    /// # Panics
    /// If the digits are invalid and the call is not evaluated at compile time.
    #[must_use]
    pub const fn new(digits: &'static str, name: &'static str) -> Self {
        let bytes = digits.as_bytes();
        assert!(bytes.len() == 8, "a tag has 8 digits");
        let mut index = 0;
        while index < bytes.len() {
            assert!(
                base32::is_digit(bytes[index]),
                "a tag has upper-case Crockford digits only: no I, L, O, U"
            );
            index += 1;
        }
        Self { digits, name }
    }

    /// Returns the digits.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        self.digits
    }

    /// Returns the name.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }
}

/// What one line of the log says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogEntry<'a> {
    /// The digits of the tag.
    pub tag: &'a str,
    /// The name of the tag.
    pub event: &'a str,
    /// The details. They are cut after 200 characters; secrets must not be among them.
    pub message: &'a str,
    /// The thread that it is about.
    pub thread: Option<&'a str>,
    /// The workflow of the thread.
    pub workflow: Option<&'a str>,
}

/// The log of one process, in the file of the UTC day on which it started.
///
/// Logging never makes a command fail: an entry that cannot be written is lost.
#[derive(Debug)]
pub struct ProcessLog {
    path: PathBuf,
    pid: u32,
    started_ms: i64,
}

impl ProcessLog {
    /// Returns the log of a process that started at this time, in milliseconds since 1970. This writes nothing: the first
    /// entry makes the file.
    #[must_use]
    pub fn new(root: &Root, pid: u32, started_ms: i64) -> Self {
        let name = format!("{}.jsonl", time::date_utc(started_ms));
        Self {
            path: root.logs_dir().join(name),
            pid,
            started_ms,
        }
    }

    /// Writes an entry with the time, in milliseconds since 1970.
    ///
    /// # Errors
    /// When the file of the log cannot be made or written. A lost line is acceptable, a broken step is not: tell people, and go on.
    pub fn write(&self, now_ms: i64, entry: &LogEntry<'_>) -> Result<(), FileError> {
        let Self {
            pid, started_ms, ..
        } = self;
        let mut line = Map::new();
        let mut add = |key: &str, value: Value| drop(line.insert(key.to_owned(), value));
        add("ts", time::format_iso(now_ms).into());
        add("pid", (*pid).into());
        add("tag", entry.tag.into());
        add("msg", cut(entry.message, VALUE_CHARS).into());
        if let Some(thread) = entry.thread {
            add("thread", thread.into());
        }
        if let Some(workflow) = entry.workflow {
            add("workflow", workflow.into());
        }
        add("event", entry.event.into());
        // The system reuses process ids.
        add("process", format!("{started_ms}-{pid}").into());
        self.append(&Value::Object(line))
    }

    /// Appends a line in one write, so that processes do not mix theirs.
    fn append(&self, entry: &Value) -> Result<(), FileError> {
        let mut file = self.open()?;
        // A line that a full disk has cut off must not take this one with it.
        let begin = match ends_a_line(&file) {
            true => "",
            false => "\n",
        };
        let line = format!("{begin}{entry}\n");
        let written = file.write_all(line.as_bytes());
        written.map_err(FileError::io("write", &self.path))
    }

    fn open(&self) -> Result<File, FileError> {
        uwf_durable::open_append(&self.path).or_else(|error| {
            let directory = self.path.parent().unwrap_or(&self.path);
            uwf_durable::create_dir(directory).map_err(|_| error)?;
            uwf_durable::open_append(&self.path)
        })
    }
}

/// Tells whether a file ends with a whole line, or is empty. One that cannot be read is taken for such a file.
fn ends_a_line(file: &File) -> bool {
    let mut last = [0];
    let size = file.metadata().map_or(0, |file| file.len());
    let read = size.checked_sub(1).map(|at| file.read_at(&mut last, at));
    !matches!(read, Some(Ok(1))) || last == *b"\n"
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// 2026-11-21T23:59:59.999Z
    const NOW: i64 = 1_795_305_599_999;

    fn entry(message: &str) -> LogEntry<'_> {
        LogEntry {
            tag: "W9F3RK2M",
            event: "tried",
            message,
            thread: None,
            workflow: None,
        }
    }

    #[test]
    fn an_entry_is_a_line_in_the_file_of_the_day() {
        let temp = tempfile::tempdir().unwrap();
        let root = Root::at(temp.path().join("root"));
        let log = ProcessLog::new(&root, 7, NOW);
        log.write(NOW, &entry("one")).unwrap();
        let about = LogEntry {
            thread: Some("01J7K9Z000000000000000000A"),
            workflow: Some("CTS5P6RD8HMCS"),
            ..entry("two\n")
        };
        log.write(NOW + 1, &about).unwrap();
        let path = root.logs_dir().join("2026-11-21.jsonl");
        let end = format!(r#""event":"tried","process":"{NOW}-7"}}"#);
        let expected = format!(
            "{{\"ts\":\"2026-11-21T23:59:59.999Z\",\"pid\":7,\"tag\":\"W9F3RK2M\",\"msg\":\"one\",{end}\n\
             {{\"ts\":\"2026-11-22T00:00:00.000Z\",\"pid\":7,\"tag\":\"W9F3RK2M\",\"msg\":\"two\\n\",\
             \"thread\":\"01J7K9Z000000000000000000A\",\"workflow\":\"CTS5P6RD8HMCS\",{end}\n"
        );
        assert_eq!(fs::read_to_string(&path).unwrap(), expected);
        let mode = path.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn a_log_that_cannot_be_written_is_an_error_and_what_is_there_stays() {
        let temp = tempfile::tempdir().unwrap();
        let root = Root::at(temp.path().to_owned());
        fs::write(root.logs_dir(), "in the way").unwrap();
        let written = ProcessLog::new(&root, 7, NOW).write(NOW, &entry("lost"));
        assert!(written.is_err());
        assert_eq!(fs::read_to_string(root.logs_dir()).unwrap(), "in the way");
    }

    #[test]
    fn nothing_is_made_before_the_first_entry() {
        let temp = tempfile::tempdir().unwrap();
        let root = Root::at(temp.path().join("root"));
        drop(ProcessLog::new(&root, 7, NOW));
        assert!(!root.path().exists());
    }

    #[test]
    fn long_values_are_cut_between_characters() {
        assert_eq!(cut(&"é".repeat(200), VALUE_CHARS), "é".repeat(200));
        let long = "é".repeat(201);
        assert_eq!(cut(&long, VALUE_CHARS), format!("{}…", "é".repeat(200)));
    }
}
