//! A file of a run that grows line by line, for readers that follow it.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::PathBuf;
use std::time::SystemTime;

/// How much is read at once. A longer line is cut.
const CHUNK: u64 = 1 << 20;

/// A file to which a running program appends lines, and how far it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrowingFile {
    path: PathBuf,
    read: u64,
}

impl GrowingFile {
    pub(super) fn at(path: PathBuf) -> Self {
        Self { path, read: 0 }
    }

    /// Returns the whole lines that were appended since the last call, without their line ends. A file that cannot be read
    /// has none: it is for people who watch, and they look again.
    pub fn new_lines(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        let Ok(Some(mut file)) = uwf_durable::open(&self.path) else {
            return lines;
        };
        while let Some(chunk) = self.next_chunk(&mut file) {
            let text = String::from_utf8_lossy(&chunk);
            lines.extend(text.lines().map(str::to_owned));
        }
        lines
    }

    /// Returns when the file was changed last, in milliseconds since 1970; `None` if there is no such file.
    #[must_use]
    pub fn changed_at_ms(&self) -> Option<i64> {
        let changed = self.path.metadata().ok()?.modified().ok()?;
        let since = changed.duration_since(SystemTime::UNIX_EPOCH).ok()?;
        i64::try_from(since.as_millis()).ok()
    }

    /// Reads whole lines; `None` if there is no other whole line.
    fn next_chunk(&mut self, file: &mut File) -> Option<Vec<u8>> {
        if file.metadata().ok()?.len() < self.read {
            // Another attempt has begun the file anew.
            self.read = 0;
        }
        file.seek(SeekFrom::Start(self.read)).ok()?;
        let mut chunk = Vec::new();
        file.take(CHUNK).read_to_end(&mut chunk).ok()?;
        let end = match chunk.iter().rposition(|byte| *byte == b'\n') {
            Some(at) => at + 1,
            None if chunk.len() as u64 == CHUNK => chunk.len(),
            None => return None,
        };
        chunk.truncate(end);
        self.read += end as u64;
        Some(chunk)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn each_line_is_read_once_and_only_when_it_is_whole() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lines");
        let mut growing = GrowingFile::at(path.clone());
        assert_eq!(growing.new_lines(), Vec::<String>::new());
        let mut file = File::create(&path).unwrap();
        file.write_all(b"one\r\ntwo\nth").unwrap();
        assert_eq!(growing.new_lines(), ["one", "two"]);
        assert_eq!(growing.new_lines(), Vec::<String>::new());
        file.write_all(b"ree\n").unwrap();
        assert_eq!(growing.new_lines(), ["three"]);
        std::fs::write(&path, "new\n").unwrap();
        assert_eq!(growing.new_lines(), ["new"]);
        assert!(growing.changed_at_ms().is_some());
    }

    #[test]
    fn a_line_without_an_end_does_not_stop_its_reader() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lines");
        let long = usize::try_from(CHUNK).unwrap() + 1;
        std::fs::write(&path, "x".repeat(long) + "\ny\n").unwrap();
        let lines = GrowingFile::at(path).new_lines();
        let lengths: Vec<usize> = lines.iter().map(String::len).collect();
        assert_eq!(lengths, [long - 1, 1, 1]);
    }
}
