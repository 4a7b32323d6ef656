//! Waiting before an agent is started: for a slot, or for the working tree. The thread is locked meanwhile, and its lease
//! record says that it waits.

use std::time::{Duration, Instant};

use uwf_process::{Event, process_identity};
use uwf_protocol::ids::{RoleName, ThreadId};
use uwf_protocol::run::LeaseRecord;
use uwf_storage::RunDir;
use uwf_util::time;

use crate::pause::refuse_if_paused;
use crate::run::observer::{Doing, Line};
use crate::{EngineError, Runner, thread};

/// How often to look whether the wait is over.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// How often to check that the thread still has to wait.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// How often to repeat the "waiting" message.
const REMINDER_INTERVAL: Duration = Duration::from_secs(60);

/// Who waits.
#[derive(Clone, Copy)]
pub(crate) struct Who<'a> {
    pub(crate) thread: ThreadId,
    pub(crate) role: &'a RoleName,
    /// The label of the agent.
    pub(crate) agent: &'a str,
}

/// A wait.
pub(super) struct Wait<'a> {
    runner: &'a Runner,
    run: &'a RunDir,
    who: Who<'a>,
    /// What is waited for, such as `a free slot`.
    goal: &'static str,
    /// The times of the wait; `None` until the first pause.
    times: Option<Times<'a>>,
}

/// The times of a wait.
struct Times<'a> {
    line: Line<'a>,
    started: Instant,
    /// When the thread was last checked.
    checked: Instant,
    /// When the last message was shown.
    notified: Instant,
}

impl<'a> Wait<'a> {
    pub(super) fn new(
        runner: &'a Runner,
        run: &'a RunDir,
        who: Who<'a>,
        goal: &'static str,
    ) -> Self {
        Self {
            runner,
            run,
            who,
            goal,
            times: None,
        }
    }

    /// Ends the wait. If there was one, fails if the thread was ended or paused during it.
    pub(super) fn end<T>(self, result: Result<T, EngineError>) -> Result<T, EngineError> {
        if self.times.is_none() {
            return result;
        }
        let result = result.and_then(|got| self.check_thread().map(|()| got));
        if result.is_err() {
            self.run.lease.clear_record()?;
        }
        result
    }

    /// Waits for one interval. Shows a message with the reason when one is due.
    pub(super) fn pause(&mut self, reason: &str) -> Result<(), EngineError> {
        let now = Instant::now();
        let Some(times) = &mut self.times else {
            self.start(reason)?;
            self.times = Some(Times {
                line: Line::new(self.runner.observer, self.who.role, self.who.agent),
                started: now,
                checked: now,
                notified: now,
            });
            return Ok(());
        };
        if now.duration_since(times.notified) >= REMINDER_INTERVAL {
            times.notified = now;
            let waited = u64::try_from(times.started.elapsed().as_millis()).unwrap_or(u64::MAX);
            let waited = time::format_duration(waited);
            (self.runner.notice)(&format!("still waiting after {waited}: {reason}"));
        }
        times.line.look(|| Doing::Waiting);
        if now.duration_since(times.checked) >= CHECK_INTERVAL {
            times.checked = now;
            self.check_thread()?;
        }
        match self.runner.signals.wait(POLL_INTERVAL) {
            Event::Stop(stop) => {
                // The signal may come from `thread kill`: then the error is that the thread has ended.
                thread::active_head(&self.runner.site, self.who.thread)?;
                Err(EngineError::WaitInterrupted(stop.signal))
            }
            Event::Child | Event::Tick => Ok(()),
        }
    }

    /// Records that the thread waits, and shows a message.
    fn start(&self, reason: &str) -> Result<(), EngineError> {
        self.runner
            .signals
            .watch()
            .map_err(|source| EngineError::Io {
                action: "watch for signals".to_owned(),
                source,
            })?;
        if let Some(own) = process_identity(self.runner.site.env.process_id()) {
            let (role, now_ms) = (self.who.role.clone(), self.runner.site.env.now_ms());
            self.run.lease.write_record(&LeaseRecord {
                waiting: true,
                ..LeaseRecord::before_agent(own, role, now_ms)
            })?;
        }
        (self.runner.notice)(&format!("waiting for {}: {reason}", self.goal));
        Ok(())
    }

    /// Fails if the thread was ended or paused during the wait.
    fn check_thread(&self) -> Result<(), EngineError> {
        thread::active_head(&self.runner.site, self.who.thread)?;
        refuse_if_paused(&self.runner.site, self.run, self.who.thread)
    }
}
