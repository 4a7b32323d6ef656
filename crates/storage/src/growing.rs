//! A file that grows line by line, for readers that follow it.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::PathBuf;
use std::time::SystemTime;

use crate::StorageError;

/// How much is read at once. A longer line is cut.
const CHUNK: u64 = 1 << 20;

/// A file to which a running program appends lines, and how far it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrowingFile {
    path: PathBuf,
    /// How many bytes were read.
    read: u64,
    /// How many lines they have.
    lines: u64,
}

impl GrowingFile {
    pub(crate) fn at(path: PathBuf) -> Self {
        Self {
            path,
            read: 0,
            lines: 0,
        }
    }

    /// Tells whether everything was read of a file of this size.
    pub(crate) fn is_read_up_to(&self, size: u64) -> bool {
        self.read == size
    }

    /// Returns the whole lines that were appended since the last call, without their line ends. A file that cannot be read
    /// has none: it is for people who watch, and they look again.
    pub fn new_lines(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        let _ = self.read_on(|_, new| {
            let text = String::from_utf8_lossy(new);
            lines.extend(text.lines().map(str::to_owned));
        });
        lines
    }

    /// Reads the whole lines that were appended since the last call, piece by piece. `take` gets the number of the first line
    /// of a piece, from 1, and the piece.
    pub(crate) fn read_on(&mut self, mut take: impl FnMut(u64, &[u8])) -> Result<(), StorageError> {
        let Some(mut file) = uwf_durable::open(&self.path)? else {
            return Ok(());
        };
        let path = self.path.clone();
        let failed = StorageError::io("read", &path);
        while let Some(piece) = self.next_piece(&mut file).map_err(&failed)? {
            take(self.lines + 1, &piece);
            let ends = piece.iter().filter(|byte| **byte == b'\n').count();
            self.lines += ends as u64;
        }
        Ok(())
    }

    /// Returns when the file was changed last, in milliseconds since 1970; `None` if there is no such file.
    #[must_use]
    pub fn changed_at_ms(&self) -> Option<i64> {
        let changed = self.path.metadata().ok()?.modified().ok()?;
        let since = changed.duration_since(SystemTime::UNIX_EPOCH).ok()?;
        i64::try_from(since.as_millis()).ok()
    }

    /// Reads whole lines; `None` if there is no other whole line.
    fn next_piece(&mut self, file: &mut File) -> io::Result<Option<Vec<u8>>> {
        if file.metadata()?.len() < self.read {
            // It was begun anew, by another attempt or by a person.
            (self.read, self.lines) = (0, 0);
        }
        file.seek(SeekFrom::Start(self.read))?;
        let mut piece = Vec::new();
        file.take(CHUNK).read_to_end(&mut piece)?;
        let end = match piece.iter().rposition(|byte| *byte == b'\n') {
            Some(at) => at + 1,
            None if piece.len() as u64 == CHUNK => piece.len(),
            None => return Ok(None),
        };
        piece.truncate(end);
        self.read += end as u64;
        Ok(Some(piece))
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
