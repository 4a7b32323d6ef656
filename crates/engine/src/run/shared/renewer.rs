//! Renews a lease while this process works.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use uwf_protocol::ids::ThreadId;
use uwf_remote::{Lease, Remote, RemoteError, Renewed};

use super::connection::{IDLE, SharedConnection};

/// How often a lease is renewed during the time that it lasts.
const RENEWALS: u32 = 4;

/// A thread of this process that renews a lease while the agent works, by a connection of its own. It also closes the other
/// connection when that is idle.
pub(super) struct Renewer {
    stop: RefCell<Option<(Sender<()>, JoinHandle<()>)>>,
    is_lost: Arc<AtomicBool>,
}

impl Renewer {
    /// Begins to renew a lease. If a renewal fails for a reason that does not pass by itself, `notice` says so once, and again only after
    /// a renewal has succeeded.
    pub(super) fn start(
        (mut remote, connection): (Box<dyn Remote + Send>, SharedConnection),
        lease: Lease,
        notice: fn(&str),
    ) -> Self {
        let (stop, stopped) = mpsc::channel();
        let mut pause = lease.lasts / RENEWALS;
        let is_lost = Arc::new(AtomicBool::new(false));
        let tell_lost = Arc::clone(&is_lost);
        let renew = move || {
            let (mut is_told, mut renewed) = (false, Instant::now());
            loop {
                let wait = IDLE.min(pause.saturating_sub(renewed.elapsed()));
                if stopped.recv_timeout(wait) != Err(RecvTimeoutError::Timeout) {
                    return;
                }
                connection.close_if_idle();
                if renewed.elapsed() < pause {
                    continue;
                }
                renewed = Instant::now();
                match remote.renew(&lease) {
                    Ok(Renewed::Yes) => is_told = false,
                    Ok(Renewed::Lost) => {
                        tell_lost.store(true, Ordering::Relaxed);
                        // Nothing is left to renew.
                        pause = Duration::MAX;
                    }
                    // If the remote does not answer, or refuses this user, the work goes on, because it is paid for. The remote
                    // decides about the step when it gets it.
                    Err(error) if !error.may_pass() && !is_told => {
                        notice(&not_renewed(lease.thread, &error));
                        is_told = true;
                    }
                    Err(_) => {}
                }
                remote.rest();
            }
        };
        let renewing = std::thread::spawn(renew);
        Self {
            stop: RefCell::new(Some((stop, renewing))),
            is_lost,
        }
    }

    /// Tells whether the remote has said that the lease is lost.
    pub(super) fn is_lost(&self) -> bool {
        self.is_lost.load(Ordering::Relaxed)
    }

    /// Stops renewing the lease, and waits for a call that is under way.
    pub(super) fn stop(&self) {
        if let Some((stop, renewing)) = self.stop.take() {
            drop(stop);
            let _ = renewing.join();
        }
    }
}

/// Says that a lease cannot be renewed, and what to do.
fn not_renewed(thread: ThreadId, error: &RemoteError) -> String {
    format!(
        "the lease of thread `{thread}` cannot be renewed: {error}; the work goes on, because it is paid for; put this right before the lease ends, or another machine may go on with the thread; if the remote refuses the finished step, too, it is kept here, and `uwf thread step {thread}` shares it later"
    )
}

impl Drop for Renewer {
    fn drop(&mut self) {
        self.stop();
    }
}
