//! What becomes of the output of a program while it comes: data, output file, log, and the last lines for errors.

use std::fs::File;
use std::io::{self, Write};

use uwf_durable::FileError;
use uwf_pipeline::{CaptureEnd, Capturing, MaskStream, STDERR_TAIL_LINES, STDOUT_TAIL_LINES, Tail};

use crate::log::{Log, LogWriter};

/// A stream of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Stream {
    Stdout,
    Stderr,
}

/// A function that gets the output at once, without secrets. It is called from two threads.
pub type Show<'a> = &'a (dyn Fn(Stream, &[u8]) + Sync);

/// What goes into an output file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputText {
    /// The bytes of the program.
    Exact,
    /// The same without secrets.
    Masked,
}

/// Why output could not be kept.
#[derive(Debug)]
pub(crate) enum SinkError {
    /// The log cannot be written.
    Log(FileError),
    /// The output file cannot be written.
    Output(io::Error),
}

impl From<FileError> for SinkError {
    fn from(error: FileError) -> Self {
        Self::Log(error)
    }
}

/// A stream without its secrets. It goes into the log and to the function that shows it. Its last lines go into errors.
struct Masked<'a> {
    stream: Stream,
    log: LogWriter,
    tail: Tail,
    show: Show<'a>,
}

/// What is left of a stream at its end.
pub(crate) struct StreamEnd {
    pub(crate) log: Option<Log>,
    pub(crate) tail: Vec<String>,
}

impl Masked<'_> {
    fn push(&mut self, masked: &[u8]) -> Result<(), SinkError> {
        self.log.push(masked)?;
        self.tail.push(last_lines(masked, MAX_TAIL_LINES));
        if !masked.is_empty() {
            (self.show)(self.stream, masked);
        }
        Ok(())
    }

    fn end(self) -> StreamEnd {
        StreamEnd {
            log: self.log.finish(),
            tail: self.tail.lines(),
        }
    }
}

/// How many lines a tail has at most.
const MAX_TAIL_LINES: usize = if STDERR_TAIL_LINES > STDOUT_TAIL_LINES {
    STDERR_TAIL_LINES
} else {
    STDOUT_TAIL_LINES
};

/// Returns the end of a chunk, with so many whole lines or more, or all of it. A tail needs no more, and counting all
/// lines of a long output would take longer than writing it.
fn last_lines(chunk: &[u8], count: usize) -> &[u8] {
    let ends = chunk.iter().enumerate().rev();
    let mut ends = ends.filter(|(_, byte)| **byte == b'\n');
    // The line after this end may be added to one that is open, and the last one may be open itself.
    match ends.nth(count + 1) {
        Some((end, _)) => &chunk[end + 1..],
        None => chunk,
    }
}

/// The standard output of a program.
pub(crate) struct Stdout<'a> {
    capturing: Capturing<'a>,
    output: Option<(&'a File, OutputText)>,
    masked: Masked<'a>,
}

impl<'a> Stdout<'a> {
    pub(crate) fn new(
        capturing: Capturing<'a>,
        output: Option<(&'a File, OutputText)>,
        log: LogWriter,
        show: Show<'a>,
    ) -> Self {
        let masked = Masked {
            stream: Stream::Stdout,
            log,
            tail: Tail::new(STDOUT_TAIL_LINES),
            show,
        };
        Self {
            capturing,
            output,
            masked,
        }
    }

    /// Takes the next bytes.
    pub(crate) fn take(&mut self, chunk: &[u8]) -> Result<(), SinkError> {
        let masked = self.capturing.push(chunk);
        if let Some((mut file, text)) = self.output {
            let written = match text {
                OutputText::Exact => file.write_all(chunk),
                OutputText::Masked => file.write_all(masked),
            };
            written.map_err(SinkError::Output)?;
        }
        self.masked.push(masked)
    }

    /// Ends the stream of a program with this exit code.
    pub(crate) fn finish(mut self, exit_code: i64) -> Result<(CaptureEnd, StreamEnd), SinkError> {
        let (end, rest) = self.capturing.finish(exit_code);
        if let Some((mut file, OutputText::Masked)) = self.output {
            file.write_all(&rest).map_err(SinkError::Output)?;
        }
        self.masked.push(&rest)?;
        Ok((end, self.masked.end()))
    }
}

/// The standard error of a program.
pub(crate) struct Stderr<'a> {
    masking: MaskStream,
    /// The newest bytes without secrets.
    newest: Vec<u8>,
    masked: Masked<'a>,
}

impl<'a> Stderr<'a> {
    pub(crate) fn new(masking: MaskStream, log: LogWriter, show: Show<'a>) -> Self {
        let masked = Masked {
            stream: Stream::Stderr,
            log,
            tail: Tail::new(STDERR_TAIL_LINES),
            show,
        };
        Self {
            masking,
            newest: Vec::new(),
            masked,
        }
    }

    /// Takes the next bytes.
    pub(crate) fn take(&mut self, chunk: &[u8]) -> Result<(), SinkError> {
        self.newest.clear();
        self.masking.push(chunk, &mut self.newest);
        self.masked.push(&self.newest)
    }

    /// Ends the stream.
    pub(crate) fn finish(mut self) -> Result<StreamEnd, SinkError> {
        self.newest.clear();
        self.masking.finish(&mut self.newest);
        self.masked.push(&self.newest)?;
        Ok(self.masked.end())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tail_is_the_same_whether_it_gets_all_of_a_chunk_or_its_end() {
        let text: String = (0..300)
            .map(|line| format!("{}\n", "x".repeat(line % 7)))
            .collect();
        let text = format!("{text}\n\nopen");
        for cut in 0..text.len() {
            let chunks = [&text.as_bytes()[..cut], &text.as_bytes()[cut..]];
            let (mut whole, mut ends) = (Tail::new(3), Tail::new(3));
            for chunk in chunks {
                whole.push(chunk);
                ends.push(last_lines(chunk, 3));
            }
            assert_eq!(ends.lines(), whole.lines(), "cut at {cut}");
        }
        assert_eq!(last_lines(b"a\nb\nc\nd\n", 1), b"c\nd\n");
        assert_eq!(last_lines(b"a\nb", 1), b"a\nb");
    }
}
