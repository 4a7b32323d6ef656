//! A file that grows line by line, for readers that follow it.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::PathBuf;
use std::time::SystemTime;

use crate::StorageError;

/// The newest lines of a file that grows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewestLines {
    /// Where they begin in the file if earlier ones were left out: the first one may be the end of a line.
    pub skipped_to: Option<u64>,
    /// The lines, with their ends. A very long line is cut, and has none.
    pub lines: Vec<u8>,
}

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

    /// Returns the newest of the whole lines that were appended since the last call. At least `enough` bytes of a long file are
    /// read from its end, and at most twice as many. A file that cannot be read has no lines: it is for people who watch, and
    /// they look again.
    pub fn newest_lines(&mut self, enough: u64) -> NewestLines {
        let newest = uwf_durable::open(&self.path).ok().flatten();
        let newest = newest.and_then(|mut file| self.read_newest(&mut file, enough).ok());
        newest.unwrap_or_default()
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

    fn read_newest(&mut self, file: &mut File, enough: u64) -> io::Result<NewestLines> {
        let size = self.size_of(file)?;
        let enough = enough.max(1);
        let mut skipped_to = None;
        if size - self.read > enough.saturating_mul(2) {
            // Readers that begin one after the other begin at the same place, so that they see the same lines.
            self.read = (size / enough - 1) * enough;
            skipped_to = Some(self.read);
        }
        let lines = self.whole_lines(file, enough.saturating_mul(2), enough)?;
        Ok(NewestLines { skipped_to, lines })
    }

    /// Reads whole lines; `None` if there is no other whole line.
    fn next_piece(&mut self, file: &mut File) -> io::Result<Option<Vec<u8>>> {
        self.size_of(file)?;
        let piece = self.whole_lines(file, CHUNK, CHUNK)?;
        Ok(Some(piece).filter(|piece| !piece.is_empty()))
    }

    /// Returns the size of the file. A file that is shorter than before is read from its beginning.
    fn size_of(&mut self, file: &File) -> io::Result<u64> {
        let size = file.metadata()?.len();
        if size < self.read {
            // It was begun anew, by another attempt or by a person.
            (self.read, self.lines) = (0, 0);
        }
        Ok(size)
    }

    /// Reads whole lines, at most so many bytes; none if there is no other whole line. A line is cut that is as long as that.
    fn whole_lines(&mut self, file: &mut File, most: u64, long: u64) -> io::Result<Vec<u8>> {
        file.seek(SeekFrom::Start(self.read))?;
        let mut piece = Vec::new();
        file.take(most).read_to_end(&mut piece)?;
        let end = match piece.iter().rposition(|byte| *byte == b'\n') {
            Some(at) => at + 1,
            None if piece.len() as u64 >= long => piece.len(),
            None => 0,
        };
        piece.truncate(end);
        self.read += end as u64;
        Ok(piece)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    /// Returns the newest lines as a text, and what was skipped.
    fn newest(growing: &mut GrowingFile, enough: u64) -> (Option<u64>, String) {
        let newest = growing.newest_lines(enough);
        (newest.skipped_to, String::from_utf8(newest.lines).unwrap())
    }

    #[test]
    fn each_line_is_read_once_and_only_when_it_is_whole() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lines");
        let mut growing = GrowingFile::at(path.clone());
        let check = |growing: &mut GrowingFile, expected: &str| {
            assert_eq!(newest(growing, 100), (None, expected.to_owned()));
        };
        check(&mut growing, "");
        let mut file = File::create(&path).unwrap();
        file.write_all(b"one\r\ntwo\nth").unwrap();
        check(&mut growing, "one\r\ntwo\n");
        check(&mut growing, "");
        file.write_all(b"ree\n").unwrap();
        check(&mut growing, "three\n");
        std::fs::write(&path, "new\n").unwrap();
        check(&mut growing, "new\n");
        assert!(growing.changed_at_ms().is_some());
    }

    #[test]
    fn a_line_without_an_end_does_not_stop_its_reader() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lines");
        let long = usize::try_from(CHUNK).unwrap() + 1;
        std::fs::write(&path, "x".repeat(long) + "\ny\n").unwrap();
        let mut lengths = Vec::new();
        let mut growing = GrowingFile::at(path.clone());
        let read = growing.read_on(|_, piece| lengths.push(piece.len()));
        read.unwrap();
        assert_eq!(lengths, [long - 1, 4]);
        std::fs::write(&path, "x".repeat(100)).unwrap();
        let lines = |enough| newest(&mut GrowingFile::at(path.clone()), enough);
        assert_eq!(lines(101), (None, String::new()));
        assert_eq!(lines(60), (None, "x".repeat(100)));
    }

    #[test]
    fn of_a_long_file_the_end_is_read_from_a_place_that_stays() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lines");
        let mut file = File::create(&path).unwrap();
        let size = 1 << 30;
        file.set_len(size).unwrap();
        file.seek(SeekFrom::Start(size)).unwrap();
        file.write_all(b"\none\n").unwrap();
        let before = "\0".repeat(16);
        let mut early = GrowingFile::at(path.clone());
        let found = |text: &str| (Some(size - 16), format!("{before}{text}"));
        assert_eq!(newest(&mut early, 16), found("\none\n"));
        file.write_all(b"two\nthr").unwrap();
        assert_eq!(newest(&mut early, 16), (None, "two\n".to_owned()));
        let mut late = GrowingFile::at(path);
        assert_eq!(newest(&mut late, 16), found("\none\ntwo\n"));
        file.write_all(&[b'\n'; 64]).unwrap();
        assert_eq!(newest(&mut early, 16), (Some(size + 48), "\n".repeat(28)));
    }
}
