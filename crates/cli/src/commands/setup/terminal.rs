//! Restores the terminal if a signal ends the wizard, also while a secret is typed without echo.

use std::io::{self, Write as _, stdin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// A guard: from its creation on, signals restore the terminal before they end the program.
pub(super) struct Terminal {
    writing: Arc<Mutex<()>>,
}

impl Terminal {
    /// Saves the settings of the terminal, and starts the thread that waits for signals.
    pub(super) fn guard() -> io::Result<Self> {
        let saved = tcgetattr(stdin())?;
        let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
        let writing = Arc::new(Mutex::new(()));
        let written = Arc::clone(&writing);
        thread::Builder::new().spawn(move || {
            if let Some(signal) = signals.forever().next() {
                // Files that are being written are completed first.
                let _written = written.lock().unwrap_or_else(PoisonError::into_inner);
                let _ = tcsetattr(stdin(), OptionalActions::Now, &saved);
                let _ = writeln!(io::stderr());
                std::process::exit(128 + signal);
            }
        })?;
        Ok(Self { writing })
    }

    /// Delays signals until the returned guard is dropped.
    pub(super) fn hold(&self) -> MutexGuard<'_, ()> {
        self.writing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
