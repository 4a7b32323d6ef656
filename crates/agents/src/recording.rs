//! A recording: the answers of agents in real runs, to replay a workflow without them.
//!
//! ```yaml
//! recording:
//! - role: writer
//!   visit: 1
//!   instruction: Write a note.
//!   answer: |
//!     ---
//!     note: Hello
//!     ---
//! ```

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;

use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;
use uwf_protocol::ids::{CasRef, RoleName};
use uwf_protocol::nodes::Usage;

/// The first lines of a new recording.
const HEADER: &str = "\
# What agents answered, recorded by `uwf agent record`.
# To play it: uwf thread step <thread> --agent \"uwf-mock <this file>\"
recording:
";

/// One attempt of an agent: its answer, or the exit code with which it failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Recorded {
    /// The role.
    pub(crate) role: RoleName,
    /// Which visit of the role it was, from 1.
    pub(crate) visit: u64,
    /// The moderator's instruction.
    pub(crate) instruction: String,
    /// The label of the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) agent: Option<String>,
    /// The text node with the whole prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) prompt: Option<CasRef>,
    /// How long the attempt took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) duration_ms: Option<u64>,
    /// What it used up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) usage: Option<Usage>,
    /// The exit code of an attempt that failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) exit: Option<u8>,
    /// The model that extracted the data of the answer. The recorded answer has that data as front matter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) read_by: Option<String>,
    /// The whole answer, with its front matter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) answer: Option<String>,
}

impl Recorded {
    /// Returns what is wrong with an entry, if something is.
    pub(crate) fn problem(&self) -> Option<&'static str> {
        match (&self.answer, self.exit) {
            (None, None | Some(0)) => Some("has neither an `answer` nor an `exit` code"),
            (Some(_), Some(1..)) => Some("has both an `answer` and an `exit` code"),
            _ => None,
        }
    }
}

/// The part of a recording that is read before an attempt is added.
#[derive(Deserialize)]
struct Recording {
    recording: Vec<Recorded>,
}

/// Adds an attempt to a file. The file is created with mode 0600 if needed. Several processes may do so at once, and a
/// crash leaves the file as it was.
pub(crate) fn append(path: &Path, recorded: &Recorded) -> Result<(), String> {
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let problem = |error: io::Error| error.to_string();
    let lock = File::open(directory).map_err(problem)?;
    // The directory is locked, since the file itself is replaced.
    lock.lock().map_err(problem)?;
    let mut text = match uwf_durable::read(path).map_err(|error| error.to_string())? {
        Some(content) => {
            String::from_utf8(content).map_err(|_| "it is not UTF-8 text".to_owned())?
        }
        None => HEADER.to_owned(),
    };
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(&serde_saphyr::to_string(&[recorded]).expect("a recorded attempt is plain data"));
    // Parse the whole file first, so that a file which is not a recording is never overwritten.
    let whole: Recording =
        serde_saphyr::from_str(&text).map_err(|error| format!("it is no recording: {error}"))?;
    if whole.recording.last() != Some(recorded) {
        return Err("the answer would not be read as it was given".to_owned());
    }
    replace(path, directory, &text).map_err(problem)?;
    lock.unlock().map_err(problem)
}

fn replace(path: &Path, directory: &Path, text: &str) -> io::Result<()> {
    let mut temp = NamedTempFile::new_in(directory)?;
    temp.write_all(text.as_bytes())?;
    if let Ok(before) = fs::metadata(path) {
        temp.as_file().set_permissions(before.permissions())?;
    }
    temp.as_file().sync_data()?;
    temp.persist(path).map_err(|error| error.error)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;
    use std::thread;

    use super::*;

    fn recorded(role: &str, answer: &str) -> Recorded {
        Recorded {
            role: role.parse().unwrap(),
            visit: 1,
            instruction: "Do it:\n- all of it\n".to_owned(),
            agent: None,
            prompt: None,
            duration_ms: Some(3),
            usage: None,
            exit: None,
            read_by: None,
            answer: Some(answer.to_owned()),
        }
    }

    fn read(path: &Path) -> Vec<Recorded> {
        serde_saphyr::from_str::<Recording>(&fs::read_to_string(path).unwrap())
            .unwrap()
            .recording
    }

    #[test]
    fn attempts_are_added_with_mode_0600_and_read_as_they_were() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("rec.yaml");
        let all = [
            "---\n$status: done\n---\n\nHi.\n",
            " x ",
            "",
            "\t- a: b\r\n",
        ]
        .map(|answer| recorded("writer", answer));
        for one in &all {
            append(&path, one).unwrap();
        }
        assert_eq!(read(&path), all);
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn concurrent_writers_lose_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("rec.yaml");
        thread::scope(|scope| {
            for name in ["a", "b", "c", "d"] {
                let path = &path;
                scope.spawn(move || {
                    for _ in 0..5 {
                        append(path, &recorded(name, "x")).unwrap();
                    }
                });
            }
        });
        assert_eq!(read(&path).len(), 20);
    }

    #[test]
    fn a_file_that_is_not_a_recording_is_not_changed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("rec.yaml");
        fs::write(&path, "roles: {}\n").unwrap();
        let error = append(&path, &recorded("a", "x")).unwrap_err();
        assert!(error.contains("no recording"), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "roles: {}\n");
    }
}
