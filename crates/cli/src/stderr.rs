//! The one place that writes to stderr: messages for people, or records for programs that ask for JSON.

use std::io::Write;
use std::sync::OnceLock;

use serde_json::{Map, Value};
use uwf_util::printable::{labelled, with_json_escapes};

/// How messages are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Lines with a label, for people.
    Text,
    /// One JSON object per message.
    Json,
}

/// The form of all messages of this call. It is text until somebody chooses.
static FORM: OnceLock<Form> = OnceLock::new();

/// Chooses the form of messages, before the first one.
pub(crate) fn choose(form: Form) {
    let _ = FORM.set(form);
}

/// Returns the form of messages.
pub(crate) fn form() -> Form {
    FORM.get().copied().unwrap_or(Form::Text)
}

/// Writes a message with its label, such as `note`. The text may quote models and agents. As text it cannot look like
/// another message; as JSON it is the value of the label.
pub(crate) fn message(label: &str, text: &str) {
    match form() {
        Form::Text => write(&labelled(label, text)),
        Form::Json => record(Map::from_iter([(label.to_owned(), text.into())])),
    }
}

/// Writes a JSON object as one line, without characters that a terminal obeys.
pub(crate) fn record(record: Map<String, Value>) {
    write(&with_json_escapes(&Value::Object(record).to_string()));
}

/// Writes text and a line break to stderr, and ignores failures: the exit code still tells what happened.
pub(crate) fn write(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
