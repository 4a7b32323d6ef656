//! What ends a server: INT and TERM.

use std::io;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use tokio::sync::watch;

/// Tells whether the server is to end. Streams end as soon as it is.
pub(crate) type Closing = watch::Receiver<bool>;

/// Starts to wait for a signal that tells this process to stop.
///
/// # Errors
/// When the system cannot install the handlers, or start the thread that waits.
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
