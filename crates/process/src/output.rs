//! A file that a program writes its output to.
//!
//! Output goes straight into files and not through pipes: a program whose supervisor dies can go on writing, and what
//! it wrote can be read later.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use rustix::fs::{FallocateFlags, fallocate};

/// How much is read at once, in bytes.
const CHUNK: u64 = 1024 * 1024;

/// The file of a stream, and how far it was looked at. All positions are offsets in the file.
#[derive(Debug)]
pub struct Output {
    file: File,
    cap: u64,
    seen: u64,
    read: u64,
    dropped: u64,
}

impl Output {
    /// Makes a new file, readable by its owner only. When it takes more than `cap` bytes of space, its beginning is
    /// dropped.
    ///
    /// # Errors
    /// When the file cannot be made.
    pub fn create(path: &Path, cap: u64) -> io::Result<Self> {
        Ok(Self {
            file: uwf_durable::create(path)?,
            cap,
            seen: 0,
            read: 0,
            dropped: 0,
        })
    }

    /// Has the disk keep room for the first bytes. Where that cannot be done, writing shows whether there is room.
    pub fn reserve(&self, bytes: u64) {
        let _ = fallocate(&self.file, FallocateFlags::KEEP_SIZE, 0, bytes);
    }

    /// Returns the file for a program to write to.
    ///
    /// # Errors
    /// When the system has no room for another descriptor.
    pub fn for_child(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    /// Tells whether something was written since the last look, and keeps the file below its cap: what was written
    /// first is dropped, since the answer and the reason of a failure are at the end.
    pub fn look(&mut self) -> bool {
        let Ok(meta) = self.file.metadata() else {
            return false;
        };
        let grown = meta.len() != self.seen;
        self.seen = meta.len();
        if self.seen.saturating_sub(self.dropped) > self.cap {
            self.drop_beginning();
        }
        grown
    }

    /// Returns how long the output is, with what was dropped of it, in bytes.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.seen
    }

    /// Gives back the space of all but the newest output, half of the cap.
    ///
    /// The file gets a hole, so nothing is lost that the program writes meanwhile. Where the file system has no holes
    /// the whole output stays: space is worth less than the answer.
    fn drop_beginning(&mut self) {
        let end = self.seen.saturating_sub(self.cap / 2);
        let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        if fallocate(&self.file, hole, self.dropped, end - self.dropped).is_ok() {
            self.dropped = end;
            self.read = self.read.max(end);
        }
    }

    /// Returns a piece of what was written since the last call; empty if there is nothing new.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn news(&mut self) -> io::Result<Vec<u8>> {
        self.file.seek(SeekFrom::Start(self.read))?;
        let mut news = Vec::new();
        (&self.file).take(CHUNK).read_to_end(&mut news)?;
        self.read += news.len() as u64;
        Ok(news)
    }

    /// Says that so many bytes of the news could not be used yet: they come again.
    pub fn give_back(&mut self, bytes: usize) {
        self.read = self.read.saturating_sub(bytes as u64);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::fs::MetadataExt;

    use super::*;

    const CAP: u64 = 256 * 1024;

    fn tail(path: &Path, limit: u64) -> String {
        let end = uwf_durable::read_end(path, limit).unwrap().unwrap();
        String::from_utf8(end).unwrap()
    }

    #[test]
    fn of_too_much_output_the_newest_part_is_kept() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("stdout");
        let mut output = Output::create(&path, CAP).unwrap();
        let mut agent = output.for_child().unwrap();
        for round in 0..8 {
            agent.write_all(&vec![b'x'; 300 * 1024]).unwrap();
            agent
                .write_all(format!("\nanswer {round}").as_bytes())
                .unwrap();
            assert!(output.look(), "growth is seen");
            assert!(!output.look(), "what was dropped is no growth");
            assert!(tail(&path, 1024).ends_with(&format!("x\nanswer {round}")));
        }
        let kept = tail(&path, CAP / 2);
        assert_eq!(kept.len() as u64, CAP / 2);
        assert!(!kept.contains('\0'));
        // The file system decides whether it gives space back; all that tests run on do.
        let space = path.metadata().unwrap().blocks() * 512;
        assert!(space <= CAP, "{space} bytes on disk");
    }

    #[test]
    fn what_was_dropped_is_not_news() {
        let temp = tempfile::tempdir().unwrap();
        let mut output = Output::create(&temp.path().join("stderr"), CAP).unwrap();
        let mut agent = output.for_child().unwrap();
        agent.write_all(&vec![b'x'; 300 * 1024]).unwrap();
        output.look();
        assert_eq!(output.read, 300 * 1024 - CAP / 2);
    }

    #[test]
    fn news_come_once_unless_they_are_given_back() {
        let temp = tempfile::tempdir().unwrap();
        let mut output = Output::create(&temp.path().join("out"), CAP).unwrap();
        let mut program = output.for_child().unwrap();
        program.write_all(b"abc").unwrap();
        assert_eq!(output.news().unwrap(), b"abc");
        output.give_back(1);
        program.write_all(b"d").unwrap();
        assert_eq!(output.news().unwrap(), b"cd");
        assert_eq!(output.news().unwrap(), b"");
    }
}
