//! The log of a stream: everything that a program printed, without secrets, up to a limit.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use uwf_durable::FileError;

/// A log while it is written. There is no file before there is output.
#[derive(Debug)]
pub(crate) struct LogWriter {
    path: PathBuf,
    most: u64,
    file: Option<File>,
    bytes: u64,
    is_full: bool,
}

/// A finished log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Log {
    /// The file.
    pub path: PathBuf,
    /// How many bytes of the output it has.
    pub bytes: u64,
    /// Whether there was more output.
    pub truncated: bool,
}

impl LogWriter {
    /// Starts a log of at most so many bytes. The log of an earlier attempt is removed.
    pub(crate) fn start(path: &Path, most: u64) -> Result<Self, FileError> {
        refuse_linked_folder(path)?;
        uwf_durable::remove(path)?;
        Ok(Self {
            path: path.to_owned(),
            most,
            file: None,
            bytes: 0,
            is_full: false,
        })
    }

    /// Adds output, from which secrets were removed.
    pub(crate) fn push(&mut self, masked: &[u8]) -> Result<(), FileError> {
        if masked.is_empty() || self.is_full {
            return Ok(());
        }
        let room = usize::try_from(self.most - self.bytes).unwrap_or(usize::MAX);
        self.is_full = masked.len() > room;
        let kept = &masked[..masked.len().min(room)];
        self.write(kept)?;
        self.bytes += kept.len() as u64;
        if self.is_full {
            let marker = format!("\n[the log ends here: it has {} bytes]\n", self.most);
            self.write(marker.as_bytes())?;
        }
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), FileError> {
        let mut file = match &self.file {
            Some(file) => file,
            None => {
                refuse_linked_folder(&self.path)?;
                self.file.insert(uwf_durable::create(&self.path)?)
            }
        };
        let written = file.write_all(bytes);
        written.map_err(FileError::io("write", &self.path))
    }

    /// Returns the log, if there was output.
    pub(crate) fn finish(self) -> Option<Log> {
        self.file.is_some().then_some(Log {
            path: self.path,
            bytes: self.bytes,
            truncated: self.is_full,
        })
    }
}

/// Fails if a link is in place of the folder of a log: the log would be elsewhere. A program may have put it there.
fn refuse_linked_folder(log: &Path) -> Result<(), FileError> {
    log.parent().map_or(Ok(()), uwf_durable::refuse_link)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_ends_at_its_limit_with_a_marker() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("log");
        let written = |chunks: &[&str]| {
            let mut log = LogWriter::start(&path, 5).unwrap();
            for chunk in chunks {
                log.push(chunk.as_bytes()).unwrap();
            }
            let log = log.finish()?;
            let text = std::fs::read_to_string(&path).unwrap();
            Some((text, log.bytes, log.truncated))
        };
        let marker = "\n[the log ends here: it has 5 bytes]\n";
        assert_eq!(written(&["ab", "cde"]), Some(("abcde".into(), 5, false)));
        let cut = Some((format!("abcde{marker}"), 5, true));
        assert_eq!(written(&["abc", "def", "g"]), cut);
        assert_eq!(written(&["abcde", "f", "g"]), cut);
        assert_eq!(written(&[""]), None);
        assert!(!path.exists(), "the log of an earlier attempt is gone");
    }
}
