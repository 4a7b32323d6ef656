//! The one place that writes to stderr: messages, what agents write, and the line about a running step.
//!
//! Messages are text for people, or records for programs that ask for JSON. The line about a running step is redrawn in
//! place, and erased before anything else is written. It is there on a terminal only.

use std::io::{IsTerminal, Write};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};

use rustix::termios::tcgetwinsize;
use serde_json::{Map, Value};
use uwf_engine::Progress;
use uwf_storage::Env;
use uwf_util::printable::with_json_escapes;

use crate::style;
use crate::text::{cut, progress_line};

/// How messages are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Messages {
    /// Lines with a label, for people.
    Text,
    /// One JSON object per message.
    Json,
}

/// The form of all messages of this call. It is text until somebody chooses.
static FORM: OnceLock<Messages> = OnceLock::new();

/// Chooses the form of messages, before the first one.
pub(crate) fn choose(form: Messages) {
    let _ = FORM.set(form);
}

/// Returns the form of messages.
pub(crate) fn messages() -> Messages {
    FORM.get().copied().unwrap_or(Messages::Text)
}

/// Writes a message with its label, such as `note`. The text may quote models and agents. As text it cannot look like
/// another message; as JSON it is the value of the label.
pub(crate) fn message(label: &str, text: &str) {
    write(&rendered(label, text));
}

/// Returns a message as it is written.
pub(crate) fn rendered(label: &str, text: &str) -> String {
    match messages() {
        Messages::Text => style::message(label, text),
        Messages::Json => line_of(Map::from_iter([(label.to_owned(), text.into())])),
    }
}

/// Writes a JSON object as one line.
pub(crate) fn record(record: Map<String, Value>) {
    write(&line_of(record));
}

/// Returns a JSON object without characters that a terminal obeys.
fn line_of(record: Map<String, Value>) -> String {
    with_json_escapes(&Value::Object(record).to_string()).into_owned()
}

/// The width of a terminal that does not tell it.
const USUAL_WIDTH: usize = 80;
/// Moves to the beginning of the line.
const BEGIN: &str = "\r";
/// Clears the line from the cursor on.
const CLEAR: &str = "\x1b[K";

/// What stderr looks like.
static STATE: Mutex<StderrState> = Mutex::new(StderrState {
    has_progress: false,
    is_in_line: false,
    is_quiet: false,
});

struct StderrState {
    /// Whether the last line is the one about a running step.
    has_progress: bool,
    /// Whether the last line is not complete. It would be overwritten by the line about a step, so that is not shown.
    is_in_line: bool,
    /// Whether the user wants no line about a running step.
    is_quiet: bool,
}

impl StderrState {
    fn get() -> MutexGuard<'static, Self> {
        STATE.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes text as it is, in place of the line about a running step. Failures are ignored: the exit code still tells
    /// what happened.
    fn write(&mut self, text: &str) {
        self.erase();
        self.is_in_line = !text.ends_with('\n');
        let _ = std::io::stderr().write_all(text.as_bytes());
    }

    fn erase(&mut self) {
        if std::mem::take(&mut self.has_progress) {
            let _ = std::io::stderr().write_all(format!("{BEGIN}{CLEAR}").as_bytes());
        }
    }

    /// Draws the line over the one before, so that nothing flickers.
    fn draw(&mut self, line: &str) {
        let line = cut(line, width());
        if !self.is_in_line && !self.is_quiet {
            self.has_progress = true;
            let _ = std::io::stderr().write_all(format!("{BEGIN}{line}{CLEAR}").as_bytes());
        }
    }
}

/// Writes text and a line break to stderr, and ignores failures: the exit code still tells what happened.
pub(crate) fn write(text: &str) {
    StderrState::get().write(&format!("{text}\n"));
}

/// Writes a piece of text to stderr, which may end in the middle of a line.
pub(crate) fn write_piece(text: &str) {
    StderrState::get().write(text);
}

/// Shows the line about a running step, or erases it if there is no progress any more.
pub(crate) fn show_progress(progress: Option<&Progress>) {
    let mut state = StderrState::get();
    match progress {
        Some(progress) => state.draw(&progress_line(progress, width())),
        None => state.erase(),
    }
}

/// Shows a line about running steps in place of the one before.
pub(crate) fn show_line(line: &str) {
    StderrState::get().draw(line);
}

/// Erases the line about running steps. A caller that writes to stdout calls this first, because stdout may be the same
/// terminal.
pub(crate) fn erase_line() {
    StderrState::get().erase();
}

/// Shows no line about a running step from now on.
pub(crate) fn be_quiet() {
    StderrState::get().is_quiet = true;
}

/// Erases the line about a running step for a panic, which may have happened while something was written.
pub(crate) fn erase_in_panic() {
    match STATE.try_lock() {
        Ok(mut state) => state.erase(),
        Err(TryLockError::Poisoned(state)) => state.into_inner().erase(),
        Err(TryLockError::WouldBlock) => {}
    }
}

/// Tells whether stderr is a terminal on which a line can be redrawn.
pub(crate) fn can_redraw(env: &Env) -> bool {
    std::io::stderr().is_terminal() && env.var("TERM").is_none_or(|term| term != "dumb")
}

/// Returns how many characters a line may have. The last column stays free: some terminals begin a new line after it.
fn width() -> usize {
    let size = tcgetwinsize(std::io::stderr()).ok();
    let columns = size.map(|size| usize::from(size.ws_col));
    let columns = columns.filter(|columns| *columns > 0);
    columns.unwrap_or(USUAL_WIDTH).saturating_sub(1)
}
