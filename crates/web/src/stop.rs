//! The signals that end a server: INT and TERM.

use std::io;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use tokio::sync::watch;

/// Becomes `true` when the server is to end.
pub(crate) type Closing = watch::Receiver<bool>;

/// Starts a thread that waits for a signal to end. From then on these signals do not end the process.
///
/// # Errors
/// When the system cannot install the handlers or start the thread.
pub(crate) fn on_signal() -> io::Result<Closing> {
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    let (close, closing) = watch::channel(false);
    std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            if signals.forever().next().is_some() {
                let _ = close.send(true);
            }
        })?;
    Ok(closing)
}
