//! The signals of a supervisor as events to wait for: a child has ended, or this process is told to stop.

use std::cell::{Cell, OnceCell, RefCell, RefMut};
use std::io;
use std::marker::PhantomData;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Signal;
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag::register_conditional_default;
use signal_hook::iterator::backend::SignalDelivery;
use signal_hook::iterator::exfiltrator::WithOrigin;

use uwf_protocol::agent::env::SUPERVISORS;

use crate::snapshot::is_ignored_here;

type Delivery = SignalDelivery<UnixStream, WithOrigin>;

/// The signals of this process. They are watched from the first [`watch`](Self::watch) until the process ends, so that
/// a signal between two steps stops the next one. HUP stays ignored in a process that was started with `nohup`.
#[derive(Debug, Default)]
pub struct Signals {
    delivery: OnceCell<RefCell<Delivery>>,
    /// The first signal that told us to stop. It stays, also when another caller has waited for it.
    stopped: Cell<Option<Stop>>,
    /// Whether signals have their default effect now; `None` if they never have it again.
    idle: Option<Arc<AtomicBool>>,
    /// How many callers hold the signals back.
    holders: Cell<usize>,
}

/// A signal that tells this process to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stop {
    /// The signal's number.
    pub signal: i32,
    /// Whether a supervisor above us sent it. It has sent the same signal to everything that we started.
    pub by_supervisor: bool,
}

/// What ended a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A child ended or changed its state. The caller finds out which one.
    Child,
    /// This process is told to stop.
    Stop(Stop),
    /// The time is over.
    Tick,
}

/// Makes a write beyond the limit on the size of files an error. Otherwise the signal that comes with it ends this process.
/// Programs that this process starts get the signal as usual.
///
/// # Errors
/// When the system cannot install the handler.
pub fn survive_file_limit() -> io::Result<()> {
    if !is_ignored_here(Signal::XFSZ) {
        signal_hook::flag::register(Signal::XFSZ.as_raw(), Arc::default())?;
    }
    Ok(())
}

impl Signals {
    /// Returns signals that are held back only between [`hold`](Self::hold) and [`release`](Self::release). At other
    /// times they end this process as usual.
    fn held_on_demand() -> Self {
        Self {
            idle: Some(Arc::new(AtomicBool::new(true))),
            ..Self::default()
        }
    }

    /// Starts to watch the signals, unless they are watched already.
    ///
    /// # Errors
    /// When the system cannot install the handlers.
    pub fn watch(&self) -> io::Result<()> {
        if self.delivery.get().is_some() {
            return Ok(());
        }
        let hangup = Some(SIGHUP).filter(|_| !is_ignored_here(Signal::HUP));
        let stops: Vec<i32> = [SIGINT, SIGTERM].into_iter().chain(hangup).collect();
        if let Some(idle) = &self.idle {
            for signal in &stops {
                register_conditional_default(*signal, Arc::clone(idle))?;
            }
        }
        let (read, write) = UnixStream::pair()?;
        let signals = stops.into_iter().chain([SIGCHLD]);
        let delivery = SignalDelivery::with_pipe(read, write, WithOrigin::default(), signals)?;
        // The value is not shared between threads, so nobody else can have set it.
        let _ = self.delivery.set(RefCell::new(delivery));
        Ok(())
    }

    /// Watches the signals and holds them back until [`release`](Self::release) was called as often as this.
    fn hold(&self) -> io::Result<()> {
        self.watch()?;
        self.holders.set(self.holders.get() + 1);
        if let Some(idle) = &self.idle {
            idle.store(false, Ordering::SeqCst);
        }
        Ok(())
    }

    /// Gives signals [held on demand](Self::held_on_demand) their default effect again when no other caller holds them.
    fn release(&self) {
        self.holders.set(self.holders.get() - 1);
        if let Some(idle) = &self.idle
            && self.holders.get() == 0
        {
            idle.store(true, Ordering::SeqCst);
        }
    }

    /// Returns the first signal that told us to stop, also if a [wait](Self::wait) has returned it before.
    pub fn stop(&self) -> Option<Stop> {
        let _ = self.next_event(&mut *self.delivery()?);
        self.stopped.get()
    }

    /// Waits for a signal, for `most` at the longest.
    pub fn wait(&self, most: Duration) -> Event {
        let Some(mut delivery) = self.delivery() else {
            std::thread::sleep(most);
            return Event::Tick;
        };
        let timeout = Timespec {
            tv_sec: i64::try_from(most.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: most.subsec_nanos().into(),
        };
        let mut ready = [PollFd::new(delivery.get_read(), PollFlags::IN)];
        // A signal may interrupt the call. It is read below.
        let _ = poll(&mut ready, Some(&timeout));
        self.next_event(&mut delivery)
    }

    /// Waits for this time, or until a signal has told us to stop. The end of a child does not end the wait.
    pub fn sleep(&self, time: Duration) -> Option<Stop> {
        let started = Instant::now();
        loop {
            if let Some(stop) = self.stop() {
                return Some(stop);
            }
            let left = time.saturating_sub(started.elapsed());
            if left.is_zero() {
                return None;
            }
            if let Event::Stop(stop) = self.wait(left) {
                return Some(stop);
            }
        }
    }

    fn next_event(&self, delivery: &mut Delivery) -> Event {
        let mut event = Event::Tick;
        for origin in delivery.pending() {
            if origin.signal != SIGCHLD {
                let sender = origin.process.map(|process| process.pid);
                let stop = Stop {
                    signal: origin.signal,
                    by_supervisor: sender.is_some_and(|pid| supervisors().contains(&pid)),
                };
                self.stopped.set(self.stopped.get().or(Some(stop)));
                return Event::Stop(stop);
            }
            event = Event::Child;
        }
        event
    }

    fn delivery(&self) -> Option<RefMut<'_, Delivery>> {
        self.delivery.get().map(RefCell::borrow_mut)
    }
}

thread_local! {
    /// The signals of a process that runs programs now and then, from one thread.
    static ON_DEMAND: Signals = Signals::held_on_demand();
}

/// As long as a value of this type lives, signals do not end this process, so that the caller can end its program
/// first. It cannot be sent to another thread: each thread counts its own.
#[derive(Debug)]
pub struct HeldSignals(PhantomData<*const ()>);

impl HeldSignals {
    /// Holds the signals back.
    ///
    /// # Errors
    /// When the system cannot install the handlers.
    pub fn new() -> io::Result<Self> {
        ON_DEMAND.with(Signals::hold)?;
        Ok(Self(PhantomData))
    }

    /// Calls a function with the signals.
    pub fn with<T>(&self, function: impl FnOnce(&Signals) -> T) -> T {
        ON_DEMAND.with(function)
    }
}

/// Returns the signal that told this process to stop while signals were [held back](HeldSignals) in this thread. It has ended
/// what was running then; a caller that would go on asks whether it may.
#[must_use]
pub fn told_to_stop() -> Option<Stop> {
    ON_DEMAND.with(Signals::stop)
}

impl Drop for HeldSignals {
    fn drop(&mut self) {
        ON_DEMAND.with(Signals::release);
    }
}

/// Tells whether the parent of this process is its supervisor, which ends everything that this process leaves running.
#[must_use]
pub fn is_supervised() -> bool {
    let parent = rustix::process::getppid().map(rustix::process::Pid::as_raw_pid);
    parent.is_some() && supervisors().last().copied() == parent
}

/// Returns the process ids of the supervisors above us, outermost first.
pub(crate) fn supervisors() -> Vec<i32> {
    let listed = std::env::var(SUPERVISORS).unwrap_or_default();
    let numbers = listed.split_ascii_whitespace();
    numbers.filter_map(|number| number.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_are_held_back_until_the_last_holder_is_gone() {
        let is_idle = || {
            let idle = |signals: &Signals| Some(signals.idle.as_ref()?.load(Ordering::SeqCst));
            ON_DEMAND.with(idle).unwrap_or(false)
        };
        let outer = HeldSignals::new().unwrap();
        let inner = HeldSignals::new().unwrap();
        drop(inner);
        assert!(!is_idle());
        let inner = HeldSignals::new().unwrap();
        drop(outer);
        assert!(!is_idle());
        drop(inner);
        assert!(is_idle());
        let _again = HeldSignals::new().unwrap();
        assert!(!is_idle());
    }
}
