//! Questions on the terminal that are answered with yes or no.

use std::io::{ErrorKind, IsTerminal};

use dialoguer::Confirm;
use dialoguer::console::Term;
use signal_hook::consts::SIGINT;
use uwf_protocol::exit::Exit;

use crate::failure::Failure;

/// Tells whether somebody can be asked on the terminal.
pub(crate) fn can_ask() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Asks a question on the terminal. The default is the answer of somebody who only presses Enter.
pub(crate) fn confirm(question: &str, default: bool) -> Result<bool, Failure> {
    let question = Confirm::new().with_prompt(question).default(default);
    question.interact().map_err(|dialoguer::Error::IO(error)| {
        // The question hides the cursor.
        let _ = Term::stderr().show_cursor();
        unanswered(&error)
    })
}

/// Returns the failure of a question on the terminal. An interrupt has its own exit code.
pub(crate) fn unanswered(error: &std::io::Error) -> Failure {
    let failure = Failure::request("the question was not answered").cause(error);
    match error.kind() {
        ErrorKind::Interrupted => Failure {
            exit: Exit::Signal(SIGINT),
            ..failure
        },
        _ => failure,
    }
}
