//! Which thread was worked on last in which directory: what `-` stands for. A cache: it is not synced, may be deleted, and
//! no command fails because of it.
//!
//! Each use appends a line, in one write, so processes need no lock and lose no line of each other. Only when the file has
//! become too long, it is replaced by its newest lines.

use std::collections::HashSet;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use uwf_durable::Durability;
use uwf_protocol::ids::ThreadId;

use crate::Root;

/// The length from which the file is shortened, in bytes.
const LONGEST: u64 = 64 * 1024;
/// How many directories are kept when it is shortened.
const MOST_DIRECTORIES: usize = 100;

/// The threads that were used last under a root.
#[derive(Debug)]
pub struct LastUsed {
    path: PathBuf,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Use {
    thread: ThreadId,
    cwd: String,
}

impl LastUsed {
    /// Returns the record under a root. This touches nothing on the disk.
    #[must_use]
    pub fn of(root: &Root) -> Self {
        Self {
            path: root.last_used_file(),
        }
    }

    /// Records that a thread is used in a directory. A second use in a row costs a short read.
    pub fn record(&self, thread: ThreadId, cwd: &Path) {
        let used = Use {
            thread,
            cwd: cwd.display().to_string(),
        };
        let mut line = serde_json::to_string(&used).expect("a use is plain data");
        line.push('\n');
        // Without the record, `-` stands for an older thread. That is no reason to fail.
        let _ = self.append(line.as_bytes());
    }

    /// Returns the thread that was used last in a directory, or else anywhere.
    #[must_use]
    pub fn find(&self, cwd: &Path) -> Option<ThreadId> {
        let content = uwf_durable::read_end(&self.path, 2 * LONGEST).ok()??;
        let cwd = cwd.display().to_string();
        let newest_first = uses(&content);
        let here = newest_first.iter().find(|(_, one)| one.cwd == cwd);
        let found = here.or_else(|| newest_first.first());
        found.map(|(_, one)| one.thread)
    }

    fn append(&self, line: &[u8]) -> Result<(), std::io::Error> {
        let last = uwf_durable::read_end(&self.path, line.len() as u64);
        if last.is_ok_and(|last| last.as_deref() == Some(line)) {
            return Ok(());
        }
        let mut file = uwf_durable::open_append(&self.path).map_err(std::io::Error::other)?;
        file.write_all(line)?;
        if file.metadata()?.len() > LONGEST {
            self.shorten()?;
        }
        Ok(())
    }

    fn shorten(&self) -> Result<(), std::io::Error> {
        let content = uwf_durable::read_end(&self.path, 2 * LONGEST);
        let content = content.map_err(std::io::Error::other)?.unwrap_or_default();
        let short = newest_of_each_directory(&content);
        uwf_durable::replace(&self.path, &short, Durability::Volatile)
            .map_err(std::io::Error::other)
    }
}

/// Returns the uses with their lines, newest first. A line that cannot be read is left out: it may be cut.
fn uses(content: &[u8]) -> Vec<(&[u8], Use)> {
    let lines = content.split_inclusive(|byte| *byte == b'\n').rev();
    lines
        .filter_map(|line| Some((line, serde_json::from_slice(line).ok()?)))
        .collect()
}

/// Returns the newest line of each of the directories that were used last.
fn newest_of_each_directory(content: &[u8]) -> Vec<u8> {
    let mut seen = HashSet::new();
    let mut newest = uses(content);
    newest.retain(|(_, one)| seen.len() < MOST_DIRECTORIES && seen.insert(one.cwd.clone()));
    let oldest_first = newest.iter().rev().map(|(line, _)| *line);
    oldest_first.collect::<Vec<_>>().concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thread(number: u128) -> ThreadId {
        ThreadId::new(1, number)
    }

    fn world() -> (tempfile::TempDir, LastUsed) {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::at(dir.path().to_owned());
        uwf_durable::create_dir(&dir.path().join("locks")).unwrap();
        (dir, LastUsed::of(&root))
    }

    #[test]
    fn the_last_thread_of_the_directory_comes_before_the_last_of_all() {
        let (_dir, last) = world();
        let find = |cwd: &str| last.find(Path::new(cwd));
        assert_eq!(find("/a"), None);
        last.record(thread(1), Path::new("/a"));
        last.record(thread(2), Path::new("/a"));
        last.record(thread(3), Path::new("/b\n\"x"));
        assert_eq!(find("/a"), Some(thread(2)));
        assert_eq!(find("/b\n\"x"), Some(thread(3)));
        assert_eq!(find("/c"), Some(thread(3)));
    }

    #[test]
    fn the_same_use_is_recorded_once_and_a_torn_line_hides_no_other() {
        let (_dir, last) = world();
        last.record(thread(1), Path::new("/a"));
        let once = std::fs::read(&last.path).unwrap();
        last.record(thread(1), Path::new("/a"));
        assert_eq!(std::fs::read(&last.path).unwrap(), once);
        std::fs::write(&last.path, [&once[..], b"{\"thr\xff\n"].concat()).unwrap();
        assert_eq!(last.find(Path::new("/a")), Some(thread(1)));
    }

    #[test]
    fn the_file_stays_short_and_keeps_the_newest() {
        let (_dir, last) = world();
        for number in 0..2000 {
            last.record(thread(number), &PathBuf::from(format!("/{number}")));
            let length = last.path.metadata().unwrap().len();
            assert!(length <= LONGEST, "{length}");
        }
        assert_eq!(last.find(Path::new("/1999")), Some(thread(1999)));
        assert_eq!(last.find(Path::new("/1950")), Some(thread(1950)));
        // A directory that is not known any more has what was used last of all.
        assert_eq!(last.find(Path::new("/1")), Some(thread(1999)));
    }

    #[test]
    fn a_record_that_cannot_be_written_is_lost_silently() {
        let last = LastUsed {
            path: "/nonexistent/x".into(),
        };
        last.record(thread(1), Path::new("/a"));
        assert_eq!(last.find(Path::new("/a")), None);
    }
}
