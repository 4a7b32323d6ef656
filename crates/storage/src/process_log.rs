//! Writing the process log: what a command did, for those who look for the cause of something later.
//! Reading it is in `log`.

use std::error::Error;
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

use serde_json::{Map, Value};
use uwf_durable::FileError;
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_util::text::cut;
use uwf_util::{base32, time};

use crate::{Env, Root};

/// How many characters of a value are kept: enough to recognise a text, too few to leak a prompt.
const VALUE_CHARS: usize = 200;

/// One place in the code that logs: 8 Crockford digits to look for in the code, and a name for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tag {
    digits: &'static str,
    name: &'static str,
}

impl Tag {
    /// Returns the tag with these digits and this name. Make it a `const`, so that a wrong tag does not compile:
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
    /// On other digits, when it is not evaluated by the compiler.
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

/// The log of one process, in the file of the UTC day on which it started.
///
/// Logging never fails and never makes a command fail: what cannot be written is lost. Values are cut after
/// 200 characters; secrets must not be among them.
#[derive(Debug)]
pub struct ProcessLog<'a> {
    env: &'a Env,
    path: PathBuf,
}

impl<'a> ProcessLog<'a> {
    /// Returns the log of this process; nothing is written before the first entry.
    #[must_use]
    pub fn new(root: &Root, env: &'a Env) -> Self {
        let name = format!("{}.jsonl", time::date_utc(env.started_ms()));
        Self {
            env,
            path: root.logs_dir().join(name),
        }
    }

    /// Writes an entry about a thread and its workflow, as far as they are known.
    pub fn write(
        &self,
        tag: Tag,
        message: &str,
        thread: Option<ThreadId>,
        workflow: Option<CasRef>,
    ) {
        let pid = self.env.process_id();
        let mut entry = Map::new();
        let mut add = |key: &str, value: Value| drop(entry.insert(key.to_owned(), value));
        add("ts", time::format_iso(self.env.now_ms()).into());
        add("pid", pid.into());
        add("tag", tag.as_str().into());
        add("msg", cut(message, VALUE_CHARS).into());
        if let Some(thread) = thread {
            add("thread", thread.as_str().into());
        }
        if let Some(workflow) = workflow {
            add("workflow", workflow.as_str().into());
        }
        add("event", tag.name().into());
        // Numbers of processes are used again.
        add("process", format!("{}-{pid}", self.env.started_ms()).into());
        // A lost line is acceptable, a broken step is not.
        let _ = self.append(&Value::Object(entry));
    }

    /// Appends a line in one write, so that processes do not mix theirs.
    fn append(&self, entry: &Value) -> Result<(), Box<dyn Error>> {
        Ok(self.open()?.write_all(format!("{entry}\n").as_bytes())?)
    }

    fn open(&self) -> Result<File, FileError> {
        uwf_durable::open_append(&self.path).or_else(|error| {
            let directory = self.path.parent().unwrap_or(&self.path);
            uwf_durable::create_dir(directory).map_err(|_| error)?;
            uwf_durable::open_append(&self.path)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    const TAG: Tag = Tag::new("W9F3RK2M", "tried");
    /// 2026-11-21T23:59:59.999Z
    const NOW: i64 = 1_795_305_599_999;

    fn env() -> Env {
        Env::from_parts(&[], "/", NOW, 0)
    }

    #[test]
    fn an_entry_is_a_line_in_the_file_of_the_day() {
        let temp = tempfile::tempdir().unwrap();
        let root = Root::at(temp.path().join("root"));
        let env = env();
        let log = ProcessLog::new(&root, &env);
        log.write(TAG, "one", None, None);
        let thread: ThreadId = "01J7K9Z000000000000000000A".parse().unwrap();
        log.write(TAG, "two\n", Some(thread), "CTS5P6RD8HMCS".parse().ok());
        let path = root.logs_dir().join("2026-11-21.jsonl");
        let pid = std::process::id();
        let start = format!(r#"{{"ts":"2026-11-21T23:59:59.999Z","pid":{pid},"tag":"W9F3RK2M","#);
        let end = format!(r#""event":"tried","process":"{NOW}-{pid}"}}"#);
        let expected = format!(
            "{start}\"msg\":\"one\",{end}\n\
             {start}\"msg\":\"two\\n\",\"thread\":\"{thread}\",\"workflow\":\"CTS5P6RD8HMCS\",{end}\n"
        );
        assert_eq!(fs::read_to_string(&path).unwrap(), expected);
        let mode = path.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn a_log_that_cannot_be_written_is_no_error() {
        let temp = tempfile::tempdir().unwrap();
        let root = Root::at(temp.path().to_owned());
        fs::write(root.logs_dir(), "in the way").unwrap();
        let env = env();
        ProcessLog::new(&root, &env).write(TAG, "lost", None, None);
        assert_eq!(fs::read_to_string(root.logs_dir()).unwrap(), "in the way");
    }

    #[test]
    fn nothing_is_made_before_the_first_entry() {
        let temp = tempfile::tempdir().unwrap();
        let root = Root::at(temp.path().join("root"));
        let env = env();
        drop(ProcessLog::new(&root, &env));
        assert!(!root.path().exists());
    }

    #[test]
    fn long_values_are_cut_between_characters() {
        assert_eq!(cut(&"é".repeat(200), VALUE_CHARS), "é".repeat(200));
        let long = "é".repeat(201);
        assert_eq!(cut(&long, VALUE_CHARS), format!("{}…", "é".repeat(200)));
    }
}
