//! Prints bytes of other programs as they are. For a terminal, characters that it would obey are spelled out.

use std::borrow::Cow;
use std::io::{self, ErrorKind, IsTerminal, Read, Seek, SeekFrom, Write};
use std::path::Path;

use uwf_util::printable::printable;

use super::Reader;
use crate::failure::Failure;

/// How much of a file is read at once, in bytes.
const CHUNK: usize = 64 * 1024;

/// Prints bytes to stdout.
pub(crate) struct Raw {
    is_terminal: bool,
    /// The beginning of a character whose end did not come yet.
    held: Vec<u8>,
    is_within_line: bool,
}

impl Raw {
    pub(crate) fn new() -> Self {
        Self {
            is_terminal: io::stdout().is_terminal(),
            held: Vec::new(),
            is_within_line: false,
        }
    }

    /// Prints a line that says what follows.
    pub(crate) fn heading(&mut self, text: &str) -> Result<Reader, Failure> {
        self.held.clear();
        let gap = if self.is_within_line { "\n" } else { "" };
        self.is_within_line = false;
        written(format!("{gap}==> {} <==\n", printable(text)).as_bytes())
    }

    /// Prints bytes.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> Result<Reader, Failure> {
        let Some(last) = bytes.last() else {
            return Ok(Reader::There);
        };
        self.is_within_line = *last != b'\n';
        written(&self.shown(bytes))
    }

    /// Prints a file from a position on.
    pub(crate) fn file(&mut self, path: &Path, from: u64) -> Result<Reader, Failure> {
        let failed = |error: &dyn std::error::Error| {
            let what = format!("cannot read `{}`", path.display());
            Failure::request(what).cause(&error)
        };
        let opened = uwf_durable::open(path).map_err(|error| failed(&error))?;
        let Some(mut file) = opened else {
            return Ok(Reader::There);
        };
        file.seek(SeekFrom::Start(from))
            .map_err(|error| failed(&error))?;
        let mut chunk = vec![0; CHUNK];
        loop {
            let count = file.read(&mut chunk).map_err(|error| failed(&error))?;
            if count == 0 {
                return Ok(Reader::There);
            }
            if self.bytes(&chunk[..count])? == Reader::Gone {
                return Ok(Reader::Gone);
            }
        }
    }

    /// Returns the bytes as they are printed.
    fn shown<'b>(&mut self, bytes: &'b [u8]) -> Cow<'b, [u8]> {
        if !self.is_terminal {
            return Cow::Borrowed(bytes);
        }
        let mut all = std::mem::take(&mut self.held);
        all.extend_from_slice(bytes);
        if let Err(error) = std::str::from_utf8(&all)
            && error.error_len().is_none()
        {
            self.held = all.split_off(error.valid_up_to());
        }
        let text = String::from_utf8_lossy(&all);
        Cow::Owned(printable(&text).into_owned().into_bytes())
    }
}

/// Writes bytes to stdout, and tells whether somebody reads them.
fn written(bytes: &[u8]) -> Result<Reader, Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Ok(()) => Ok(Reader::There),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(Reader::Gone),
        Err(error) => Err(Failure::request("cannot write the result to stdout").cause(&error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_obeys_nothing_and_gets_whole_characters() {
        let mut out = Raw {
            is_terminal: true,
            held: Vec::new(),
            is_within_line: false,
        };
        assert_eq!(out.shown(b"a\x1b[2J\xc3").as_ref(), b"a\\u{1b}[2J");
        assert_eq!(out.shown(b"\xa4\n").as_ref(), "ä\n".as_bytes());
        out.is_terminal = false;
        assert_eq!(out.shown(b"\x1b\xc3").as_ref(), b"\x1b\xc3");
    }
}
