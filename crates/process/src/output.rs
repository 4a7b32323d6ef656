//! The file that a program writes its output to.
//!
//! Output goes into files and not through pipes, so that a program can go on writing after its supervisor has died, and
//! its output can be read later.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use rustix::fs::{FallocateFlags, fallocate};

/// How much is read at once, in bytes.
const CHUNK: u64 = 1024 * 1024;

/// The file of an output stream. All positions are offsets in the file, in bytes.
#[derive(Debug)]
pub struct Output {
    file: File,
    /// The most space that the file may take.
    cap: u64,
    /// The length at the last look.
    seen: u64,
    /// The position up to which it was read.
    read: u64,
    /// The position up to which its space was given back.
    dropped: u64,
}

impl Output {
    /// Creates the file with mode 0600. When it takes more than `cap` bytes of space, its beginning is dropped.
    ///
    /// # Errors
    /// When the file cannot be created.
    pub fn create(path: &Path, cap: u64) -> io::Result<Self> {
        Ok(Self {
            file: uwf_durable::create(path)?,
            cap,
            seen: 0,
            read: 0,
            dropped: 0,
        })
    }

    /// Reserves disk space for the first bytes. It is best effort: not every file system can.
    pub fn reserve(&self, bytes: u64) {
        let _ = fallocate(&self.file, FallocateFlags::KEEP_SIZE, 0, bytes);
    }

    /// Returns the file for a program to write to.
    ///
    /// # Errors
    /// When this process cannot open another descriptor.
    pub fn for_child(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    /// Tells whether the file has grown since the last look, and keeps it below its cap. The beginning is dropped,
    /// since the answer and the reason of a failure are at the end.
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

    /// Returns the length of the output including its dropped beginning, in bytes.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.seen
    }

    /// Gives back the space of all but the newest half cap of output.
    ///
    /// It punches a hole into the file, so that nothing is lost that the program writes meanwhile. On a file system
    /// without holes the whole output stays: the answer is worth more than the space.
    fn drop_beginning(&mut self) {
        let end = self.seen.saturating_sub(self.cap / 2);
        let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        if fallocate(&self.file, hole, self.dropped, end - self.dropped).is_ok() {
            self.dropped = end;
            self.read = self.read.max(end);
        }
    }

    /// Returns the next piece of output that was not returned yet; empty if there is none.
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

    /// Takes back the last bytes that [`news`](Self::news) returned: it returns them again.
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
    fn the_newest_part_of_a_long_output_is_kept() {
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
