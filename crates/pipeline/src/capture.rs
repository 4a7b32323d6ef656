//! Output becomes data: chunk by chunk, in memory that does not grow with the output.
//!
//! Text and lines are masked before they are cut, so that no beginning of a secret stays. JSON is parsed before it is masked.

mod head;
mod json;
mod lines;
mod tail;

use serde::{Deserialize, Serialize};
use uwf_util::mask::{MaskStream, Masks};

use crate::Capture;
use crate::result::{Captured, ErrorKind, Failure, INVALID};

use head::Head;
use json::JsonBuffer;
use lines::Lines;
pub use tail::Tail;

/// The output of an attempt while it comes.
#[derive(Debug)]
pub struct Capturing<'m> {
    masks: &'m Masks,
    stream: MaskStream,
    /// The newest bytes without secrets.
    masked: Vec<u8>,
    kind: Kind,
    bytes: u64,
}

#[derive(Debug)]
enum Kind {
    Text(Head),
    Lines(Lines),
    Json {
        buffer: JsonBuffer,
        /// The output as text, if that is good enough.
        text: Option<Head>,
    },
}

/// What came of the output of an attempt.
#[derive(Debug, Clone, PartialEq)]
pub struct CaptureEnd {
    /// The data.
    pub captured: Option<Captured>,
    /// The exit code of the step: that of the program, unless it was 0 and the output is not what the step needs.
    pub exit_code: i64,
    /// Why the output is not what the step needs.
    pub failure: Option<Failure>,
    /// What else is to be known.
    pub debug: CaptureDebug,
    /// How many bytes the program wrote.
    pub bytes: u64,
}

/// Remarks about captured output, as they are stored.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CaptureDebug {
    /// Whether bytes could not be decoded.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub invalid_utf8: bool,
    /// Why the output is no JSON, where that is allowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub json_parse_error: Option<JsonProblem>,
}

/// Why output is no JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JsonProblem {
    /// The kind.
    pub reason: JsonReason,
    /// What happened, for people.
    pub message: String,
}

/// The kinds of output that is no JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JsonReason {
    /// It cannot be parsed.
    Invalid,
    /// It is too large.
    Overflow,
}

impl<'m> Capturing<'m> {
    /// Starts a capture.
    #[must_use]
    pub fn new(capture: Capture, masks: &'m Masks) -> Self {
        let kind = match capture {
            Capture::Text => Kind::Text(Head::default()),
            Capture::Lines => Kind::Lines(Lines::default()),
            Capture::Json { allow_parse_error } => Kind::Json {
                buffer: JsonBuffer::default(),
                text: allow_parse_error.then(Head::default),
            },
        };
        Self {
            masks,
            stream: masks.stream(),
            masked: Vec::new(),
            kind,
            bytes: 0,
        }
    }

    /// Adds a chunk. Returns what can be shown of the output and was not shown before, for logs.
    pub fn push(&mut self, chunk: &[u8]) -> &[u8] {
        self.bytes += chunk.len() as u64;
        self.masked.clear();
        self.stream.push(chunk, &mut self.masked);
        if let Kind::Json { buffer, .. } = &mut self.kind {
            buffer.push(chunk);
        }
        self.kind.push(&self.masked);
        &self.masked
    }

    /// Ends the capture. `exit_code` is that of the program. Also returns the last bytes for logs.
    #[must_use]
    pub fn finish(mut self, exit_code: i64) -> (CaptureEnd, Vec<u8>) {
        self.masked.clear();
        self.stream.finish(&mut self.masked);
        self.kind.push(&self.masked);
        let mut debug = CaptureDebug::default();
        let mut failure = None;
        let captured = match self.kind {
            Kind::Text(head) => Some(text(head, &mut debug)),
            Kind::Lines(lines) => {
                let (lines, truncated, is_valid) = lines.finish();
                debug.invalid_utf8 = !is_valid;
                Some(Captured::Lines { lines, truncated })
            }
            Kind::Json { buffer, text: head } => match (buffer.parse(), head) {
                (Ok(value), _) => Some(Captured::Json(self.masks.json(&value))),
                (Err(problem), Some(head)) => {
                    debug.json_parse_error = Some(problem);
                    Some(text(head, &mut debug))
                }
                (Err(problem), None) => {
                    failure = (exit_code == 0).then(|| failure_of(problem));
                    None
                }
            },
        };
        let end = CaptureEnd {
            captured,
            exit_code: if failure.is_some() {
                INVALID
            } else {
                exit_code
            },
            failure,
            debug,
            bytes: self.bytes,
        };
        (end, self.masked)
    }
}

impl Kind {
    fn push(&mut self, masked: &[u8]) {
        match self {
            Self::Text(head) => head.push(masked),
            Self::Lines(lines) => lines.push(masked),
            Self::Json { text, .. } => {
                if let Some(head) = text {
                    head.push(masked);
                }
            }
        }
    }
}

fn text(head: Head, debug: &mut CaptureDebug) -> Captured {
    let (output, truncated, is_valid) = head.finish();
    debug.invalid_utf8 = !is_valid;
    Captured::Text { output, truncated }
}

fn failure_of(problem: JsonProblem) -> Failure {
    let kind = match problem.reason {
        JsonReason::Invalid => ErrorKind::JsonParseError,
        JsonReason::Overflow => ErrorKind::JsonOverflow,
    };
    Failure::new(kind, problem.message)
}

/// Returns bytes as text, and whether all of them could be decoded.
fn decoded(bytes: &[u8]) -> (String, bool) {
    let text = String::from_utf8_lossy(bytes);
    let is_valid = matches!(text, std::borrow::Cow::Borrowed(_));
    (text.into_owned(), is_valid)
}

/// Returns bytes without an incomplete character at their end.
fn without_part_of_character(bytes: &[u8]) -> &[u8] {
    // A character has at most four bytes, of which only the first is no continuation.
    let last = bytes.iter().rev().take(4);
    let Some(back) = last
        .clone()
        .position(|byte| byte & 0b1100_0000 != 0b1000_0000)
    else {
        return bytes;
    };
    let start = bytes.len() - 1 - back;
    match std::str::from_utf8(&bytes[start..]) {
        Err(error) if error.error_len().is_none() => &bytes[..start],
        _ => bytes,
    }
}
