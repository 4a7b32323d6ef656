//! The content of `labels.jsonl`: the names and labels of threads, one line for each thread that has any, sorted by id.
//!
//! The file is no part of a thread: without it, every thread goes on under its id. A line may be about a thread that is not
//! there, because its start was interrupted. Such a line counts for nothing.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use uwf_protocol::ids::ThreadId;
use uwf_protocol::naming::{Name, Naming};

use crate::{BadLine, StorageError};

/// The names and labels of all threads.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Namings {
    by_thread: BTreeMap<ThreadId, Naming>,
}

#[derive(Serialize, Deserialize)]
struct Line {
    thread: ThreadId,
    #[serde(flatten)]
    naming: Naming,
}

impl Namings {
    /// Parses the content of the file. Two threads cannot have one name, and a thread has one line.
    pub(crate) fn parse(content: &[u8], path: &Path) -> Result<Self, StorageError> {
        let mut namings = Self::default();
        let mut names = BTreeMap::new();
        for (number, text) in (1..).zip(content.split(|byte| *byte == b'\n')) {
            if text.trim_ascii().is_empty() {
                continue;
            }
            let damaged = |problem: String| {
                StorageError::NamesDamaged(BadLine {
                    path: path.to_owned(),
                    line: number,
                    problem,
                })
            };
            let line: Line =
                serde_json::from_slice(text).map_err(|error| damaged(error.to_string()))?;
            if let Some(name) = &line.naming.name
                && let Some(other) = names.insert(name.clone(), line.thread)
            {
                let problem = format!("thread {other} has the name `{name}`, too");
                return Err(damaged(problem));
            }
            if namings.by_thread.insert(line.thread, line.naming).is_some() {
                return Err(damaged(format!(
                    "thread {} has a line already",
                    line.thread
                )));
            }
        }
        Ok(namings)
    }

    /// Returns the content of the file.
    pub(crate) fn render(&self) -> String {
        let mut text = String::new();
        for (thread, naming) in &self.by_thread {
            let line = Line {
                thread: *thread,
                naming: naming.clone(),
            };
            text += &serde_json::to_string(&line).expect("a line is plain data");
            text.push('\n');
        }
        text
    }

    /// Returns what a thread is called.
    #[must_use]
    pub fn of(&self, thread: ThreadId) -> Naming {
        self.by_thread.get(&thread).cloned().unwrap_or_default()
    }

    /// Returns the thread with a name. It may be one that is not there.
    #[must_use]
    pub fn named(&self, name: &Name) -> Option<ThreadId> {
        let mut lines = self.by_thread.iter();
        let found = lines.find(|(_, naming)| naming.name.as_ref() == Some(name));
        found.map(|(thread, _)| *thread)
    }

    /// Returns all names with their threads.
    pub fn names(&self) -> impl Iterator<Item = (&Name, ThreadId)> {
        let lines = self.by_thread.iter();
        lines.filter_map(|(thread, naming)| Some((naming.name.as_ref()?, *thread)))
    }

    /// Returns the threads that have a line.
    pub fn threads(&self) -> impl Iterator<Item = ThreadId> {
        self.by_thread.keys().copied()
    }

    /// Sets what a thread is called. A thread without a name and labels has no line.
    pub(crate) fn set(&mut self, thread: ThreadId, naming: Naming) {
        if naming.is_empty() {
            self.by_thread.remove(&thread);
        } else {
            self.by_thread.insert(thread, naming);
        }
    }

    /// Removes the line of a thread.
    pub(crate) fn remove(&mut self, thread: ThreadId) {
        self.by_thread.remove(&thread);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "01J7K9Z000000000000000000A";
    const B: &str = "01J7K9Z000000000000000000B";

    fn parse(text: &str) -> Result<Namings, String> {
        Namings::parse(text.as_bytes(), Path::new("l")).map_err(|error| error.to_string())
    }

    fn line(thread: &str, name: &str) -> String {
        format!(r#"{{"thread":"{thread}","name":"{name}","labels":{{"team":"web"}}}}"#) + "\n"
    }

    #[test]
    fn lines_are_sorted_and_read_back() {
        let text = line(B, "second") + "\n" + &line(A, "first");
        let mut namings = parse(&text).unwrap();
        assert_eq!(namings.render(), line(A, "first") + &line(B, "second"));
        let a = A.parse().unwrap();
        assert_eq!(namings.named(&"first".parse().unwrap()), Some(a));
        assert_eq!(namings.named(&"third".parse().unwrap()), None);
        namings.set(a, Naming::default());
        assert_eq!(namings.render(), line(B, "second"));
        assert!(namings.of(a).is_empty());
    }

    #[test]
    fn a_line_of_a_newer_version_may_say_more() {
        let namings = parse(&format!(
            r#"{{"thread":"{A}","pinned":true,"labels":{{}}}}"#
        ));
        assert!(namings.unwrap().of(A.parse().unwrap()).is_empty());
    }

    #[test]
    fn damage_names_its_line() {
        for (text, problem) in [
            (line(A, "x") + "{", "`l:2`: "),
            (
                line(A, "x") + &line(B, "x"),
                "`l:2`: thread 01J7K9Z000000000000000000A has the name `x`, too",
            ),
            (
                line(A, "x") + &line(A, "y"),
                "`l:2`: thread 01J7K9Z000000000000000000A has a line already",
            ),
            (line(A, "@"), "`l:1`: `@` cannot be the name"),
        ] {
            let error = parse(&text).unwrap_err();
            assert!(error.starts_with(problem), "{error}");
        }
    }
}
