//! One stream of an agent's output: the file that it goes to, what is dropped of it and what is shown.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
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
    /// Whether what was shown last ended in the middle of a line.
    in_line: bool,
}

/// What stands before each line of the agent's stderr that is shown, so that none passes for a message of ours.
const MARGIN: &str = "| ";

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
            in_line: false,
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
        news.truncate(news.len() - begun_character(&news));
        self.shown += news.len() as u64;
        let text = with_margin(&String::from_utf8_lossy(&news), &mut self.in_line);
        // Our own stderr may be closed; the agent's work is worth more than showing it.
        let _ = std::io::stderr().write_all(text.as_bytes());
    }
}

/// Returns the text as a person sees it, with the margin before each line that begins in it.
fn with_margin(text: &str, in_line: &mut bool) -> String {
    let mut shown = String::new();
    for line in text.split_inclusive('\n') {
        if !*in_line {
            shown.push_str(MARGIN);
        }
        *in_line = !line.ends_with('\n');
        shown.push_str(&printable(line));
    }
    shown
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
    fn each_line_is_shown_behind_the_margin_however_it_comes() {
        let mut in_line = false;
        let mut show = |text: &str| with_margin(text, &mut in_line);
        assert_eq!(show("a\nhint: \u{1b}[2J"), "| a\n| hint: \\u{1b}[2J");
        assert_eq!(show("b"), "b");
        assert_eq!(show("\n\nc\n"), "\n| \n| c\n");
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
