//! The terminal during the wizard: an interrupt ends the program with its own exit code, and leaves the terminal as
//! it was, also while a secret is typed.

use std::io::{self, Write as _, stdin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// As long as this lives, signals that end the program restore the terminal first.
pub(super) struct Terminal {
    writing: Arc<Mutex<()>>,
}

impl Terminal {
    /// Remembers how the terminal is set.
    pub(super) fn guard() -> io::Result<Self> {
        let saved = tcgetattr(stdin())?;
        let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
        let writing = Arc::new(Mutex::new(()));
        let written = Arc::clone(&writing);
        thread::Builder::new().spawn(move || {
            if let Some(signal) = signals.forever().next() {
                // What is being written is written to its end.
                let _written = written.lock().unwrap_or_else(PoisonError::into_inner);
                let _ = tcsetattr(stdin(), OptionalActions::Now, &saved);
                let _ = writeln!(io::stderr());
                std::process::exit(128 + signal);
            }
        })?;
        Ok(Self { writing })
    }

    /// Puts a signal off until the files are written.
    pub(super) fn hold(&self) -> MutexGuard<'_, ()> {
        self.writing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
