//! Long texts on a terminal, shown in the pager of the person who called.
//!
//! A pager is a convenience: without one, or if it cannot be started, the text is printed as it is.

use std::io::{ErrorKind, IsTerminal, Write};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use dialoguer::console::measure_text_width;
use rustix::termios::tcgetwinsize;
use signal_hook::consts::SIGINT;
use uwf_storage::Env;
use uwf_util::shell_words;

use crate::failure::note;

/// The pager of a person who names none. It ends by itself if the text fits, shows colours, and leaves the text on the
/// screen.
const USUAL: &str = "less -FRX";

/// The program that shows long texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Pager {
    /// Texts are printed as they are.
    None,
    /// The usual one, if it is installed.
    Usual,
    /// The one that a variable names, as a command line.
    Named(String),
}

/// The size of a terminal, in characters.
#[derive(Debug, Clone, Copy)]
struct TerminalSize {
    rows: usize,
    columns: usize,
}

impl Pager {
    /// Returns the pager that the environment names. An empty name, and `cat`, mean none; so does a terminal that cannot
    /// move its cursor.
    pub(crate) fn of(env: &Env) -> Self {
        if matches!(env.var("TERM"), None | Some("" | "dumb")) {
            return Self::None;
        }
        let mut names = ["UWF_PAGER", "PAGER"].into_iter();
        let Some(name) = names.find(|name| env.is_set(name)) else {
            return Self::Usual;
        };
        match env.var(name).unwrap_or_default().trim() {
            "" | "cat" => Self::None,
            command => Self::Named(command.to_owned()),
        }
    }

    /// Shows a text that is safe to print. Returns whether it did: the caller prints what is left to it, which is every text
    /// that fits on the screen or is not for a terminal.
    pub(crate) fn shows(&self, text: &str) -> bool {
        let command = match self {
            Self::None => return false,
            Self::Usual => USUAL,
            Self::Named(command) => command,
        };
        if !std::io::stdout().is_terminal() || terminal_size().is_none_or(|size| size.fits(text)) {
            return false;
        }
        match run(command, text) {
            Ok(()) => true,
            Err(problem) => {
                if let Self::Named(_) = self {
                    note(&format!("the pager `{command}` cannot be used: {problem}"));
                }
                false
            }
        }
    }
}

impl TerminalSize {
    /// Tells whether the text fits, with a line to spare for the prompt.
    fn fits(self, text: &str) -> bool {
        let rows = |line: &str| measure_text_width(line).div_ceil(self.columns).max(1);
        let mut left = self.rows.saturating_sub(1);
        text.lines().all(|line| match left.checked_sub(rows(line)) {
            Some(rest) => {
                left = rest;
                true
            }
            None => false,
        })
    }
}

/// Returns the size of the terminal that is stdout.
fn terminal_size() -> Option<TerminalSize> {
    let size = tcgetwinsize(std::io::stdout()).ok()?;
    let (rows, columns) = (usize::from(size.ws_row), usize::from(size.ws_col));
    (rows > 0 && columns > 0).then_some(TerminalSize { rows, columns })
}

/// Runs a pager on a text until the person leaves it. It is no error to leave it before the end of the text.
fn run(command: &str, text: &str) -> Result<(), String> {
    let words = shell_words::split(command).map_err(|error| error.to_string())?;
    let (program, args) = words.split_first().ok_or("it has no name")?;
    let mut pager = Command::new(program)
        .args(args)
        .stdin(Stdio::piped())
        .spawn()
        .map_err(|error| error.to_string())?;
    // An interrupt belongs to the pager: it ends a search there. It is registered after the pager was started, which so has
    // the usual handling of it.
    let _ = signal_hook::flag::register(SIGINT, Arc::new(AtomicBool::new(false)));
    let mut input = pager.stdin.take().ok_or("it has no input")?;
    let written = input
        .write_all(text.as_bytes())
        .and_then(|()| input.write_all(b"\n"));
    drop(input);
    let ended = pager.wait().map_err(|error| error.to_string())?;
    match written {
        // The person left, or the pager failed. Only the latter leaves the text unread.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => match ended.code() {
            Some(0) | None => Ok(()),
            Some(_) => Err(ended.to_string()),
        },
        Ok(()) | Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn of(variables: &[(&str, &str)]) -> Pager {
        let terminal = [("TERM", "xterm")];
        let variables = [&terminal[..], variables].concat();
        Pager::of(&Env::from_parts(&variables, Path::new("/"), 0, 0))
    }

    #[test]
    fn the_own_variable_is_asked_first_and_may_mean_none() {
        assert_eq!(of(&[]), Pager::Usual);
        let named = |name: &str| Pager::Named(name.to_owned());
        assert_eq!(of(&[("PAGER", "more")]), named("more"));
        assert_eq!(
            of(&[("PAGER", "more"), ("UWF_PAGER", "most -s")]),
            named("most -s")
        );
        assert_eq!(of(&[("PAGER", "more"), ("UWF_PAGER", "")]), Pager::None);
        assert_eq!(of(&[("PAGER", "cat")]), Pager::None);
        assert_eq!(of(&[("TERM", "dumb"), ("PAGER", "more")]), Pager::None);
    }

    #[test]
    fn a_text_fits_with_its_broken_lines_and_a_line_to_spare() {
        let size = TerminalSize {
            rows: 4,
            columns: 5,
        };
        assert!(size.fits("a\nb\nc"));
        assert!(!size.fits("a\nb\nc\nd"));
        assert!(size.fits("123456\nb"));
        assert!(!size.fits("123456\n\nc"));
        assert!(!size.fits("日本語日本語日本語"));
    }
}
