//! The signals that concern us, as values that can be waited for: our agent ended, or we are told to stop.

use std::cell::{OnceCell, RefCell, RefMut};
use std::io;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::backend::SignalDelivery;
use signal_hook::iterator::exfiltrator::SignalOnly;

use crate::process::fork::is_ignored;

type Delivery = SignalDelivery<UnixStream, SignalOnly>;

/// The signals of this process. They are watched from the first use until the process ends: one that comes
/// between two steps stops the next. Whoever starts us with `nohup` wants us to outlive the terminal: its signal is
/// left alone then.
#[derive(Debug, Default)]
pub struct Signals {
    delivery: OnceCell<RefCell<Delivery>>,
}

/// What a wait brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    /// A child ended, or changed otherwise; which one is for the caller to find out.
    Child,
    /// We are told to stop, by this signal.
    Stop(i32),
    /// The time is over.
    Tick,
}

impl Signals {
    /// Begins to watch, unless that was done before.
    pub(crate) fn watch(&self) -> io::Result<()> {
        if self.delivery.get().is_none() {
            let (read, write) = UnixStream::pair()?;
            let hangup = Some(SIGHUP).filter(|signal| !is_ignored(*signal));
            let signals = [SIGCHLD, SIGINT, SIGTERM].into_iter().chain(hangup);
            let delivery = SignalDelivery::with_pipe(read, write, SignalOnly, signals)?;
            // Nobody else can have set it: the value is not shared between threads.
            let _ = self.delivery.set(RefCell::new(delivery));
        }
        Ok(())
    }

    /// Returns the signal that told us to stop, if one has come.
    pub(crate) fn stop(&self) -> Option<i32> {
        let mut delivery = self.delivery()?;
        delivery.pending().find(|signal| *signal != SIGCHLD)
    }

    /// Waits for a signal, but not longer than this.
    pub(crate) fn wait(&self, most: Duration) -> Event {
        let Some(mut delivery) = self.delivery() else {
            std::thread::sleep(most);
            return Event::Tick;
        };
        let timeout = Timespec {
            tv_sec: i64::try_from(most.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: most.subsec_nanos().into(),
        };
        let mut ready = [PollFd::new(delivery.get_read(), PollFlags::IN)];
        // An interrupted wait is one that a signal ended: it is looked at below.
        let _ = poll(&mut ready, Some(&timeout));
        let mut event = Event::Tick;
        for signal in delivery.pending() {
            if signal != SIGCHLD {
                return Event::Stop(signal);
            }
            event = Event::Child;
        }
        event
    }

    fn delivery(&self) -> Option<RefMut<'_, Delivery>> {
        self.delivery.get().map(RefCell::borrow_mut)
    }
}
