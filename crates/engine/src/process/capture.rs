//! One stream of an agent's output: the file that it goes to, what is dropped of it and what is shown.

use std::fs::{File, OpenOptions};
use std::io::{IsTerminal, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::{FallocateFlags, fallocate};
use uwf_util::printable::printable;

use crate::AgentOutput;

/// The file of a stream, and how far it was looked at. All positions are offsets in the file.
pub(super) struct Capture {
    file: File,
    cap: u64,
    seen: u64,
    shown: u64,
    dropped: u64,
}

impl Capture {
    /// Makes a new file: an old one is removed and not emptied, since some file systems write a file to the
    /// disk at once when it was emptied before. More than `cap` bytes of output are not kept.
    pub(super) fn create(path: &Path, cap: u64) -> std::io::Result<Self> {
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let file = OpenOptions::new()
            .create_new(true)
            .append(true)
            .read(true)
            .mode(0o600)
            .open(path)?;
        Ok(Self {
            file,
            cap,
            seen: 0,
            shown: 0,
            dropped: 0,
        })
    }

    pub(super) fn for_child(&self) -> std::io::Result<File> {
        self.file.try_clone()
    }

    /// Tells whether something was written since the last look, and keeps the file below its cap: what was
    /// written first is dropped, since the answer and the reason of a failure stand at the end.
    pub(super) fn look(&mut self) -> bool {
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

    /// Gives back the space of all but the newest output, half of the cap.
    ///
    /// A hole is made rather than a new file, so that nothing is lost that the agent writes meanwhile. Where
    /// the file system knows no holes the whole output stays: space is worth less than the answer.
    fn drop_beginning(&mut self) {
        let end = self.seen.saturating_sub(self.cap / 2);
        let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        if fallocate(&self.file, hole, self.dropped, end - self.dropped).is_ok() {
            self.dropped = end;
            self.shown = self.shown.max(end);
        }
    }

    /// Copies what is new to our stderr.
    pub(super) fn show_news(&mut self, output: AgentOutput) {
        if output == AgentOutput::Kept || self.file.seek(SeekFrom::Start(self.shown)).is_err() {
            return;
        }
        let mut news = Vec::new();
        if self.file.read_to_end(&mut news).is_err() {
            return;
        }
        let mut stderr = std::io::stderr();
        // Our own stderr may be closed; the agent's work is worth more than showing it.
        if stderr.is_terminal() {
            news.truncate(news.len() - begun_character(&news));
            let text = String::from_utf8_lossy(&news);
            let _ = stderr.write_all(printable(&text).as_bytes());
        } else {
            let _ = stderr.write_all(&news);
        }
        self.shown += news.len() as u64;
    }
}

/// Returns how many bytes at the end are the beginning of a character whose rest is not there yet.
fn begun_character(bytes: &[u8]) -> usize {
    let Some(last) = bytes.utf8_chunks().last() else {
        return 0;
    };
    let begun = str::from_utf8(last.invalid()).is_err_and(|error| error.error_len().is_none());
    if begun { last.invalid().len() } else { 0 }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;
    use crate::process::tail;

    const CAP: u64 = 256 * 1024;

    #[test]
    fn of_too_much_output_the_newest_part_is_kept() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("stdout");
        let mut capture = Capture::create(&path, CAP).unwrap();
        let mut agent = capture.for_child().unwrap();
        for round in 0..8 {
            agent.write_all(&vec![b'x'; 300 * 1024]).unwrap();
            agent
                .write_all(format!("\nanswer {round}").as_bytes())
                .unwrap();
            assert!(capture.look(), "growth is seen");
            assert!(!capture.look(), "what was dropped is no growth");
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
    fn what_was_dropped_is_not_shown() {
        let temp = tempfile::tempdir().unwrap();
        let mut capture = Capture::create(&temp.path().join("stderr"), CAP).unwrap();
        let mut agent = capture.for_child().unwrap();
        agent.write_all(&vec![b'x'; 300 * 1024]).unwrap();
        capture.look();
        assert_eq!(capture.shown, 300 * 1024 - CAP / 2);
    }

    #[test]
    fn a_character_is_shown_when_it_is_whole() {
        let euro = "€".as_bytes();
        assert_eq!(begun_character(b""), 0);
        assert_eq!(begun_character(b"a"), 0);
        assert_eq!(begun_character(euro), 0);
        assert_eq!(begun_character(&euro[..2]), 2);
        assert_eq!(begun_character(b"a\xff"), 0, "never a character");
        assert_eq!(begun_character(b"\xffa\xe2"), 1);
    }
}
