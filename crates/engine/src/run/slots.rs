//! Waiting for a slot to start an agent in.
//!
//! A thread takes the slot of the agent before the slot of the root: while it waits for the first, it keeps no slot that
//! another agent could use. All threads take slots in this order, so they cannot deadlock.

use std::time::{Duration, Instant};

use uwf_process::{Event, process_identity};
use uwf_protocol::config::Config;
use uwf_protocol::ids::{RoleName, ThreadId};
use uwf_protocol::run::LeaseRecord;
use uwf_storage::{Pool, RunDir, Slot, Taken};
use uwf_util::text::counted;
use uwf_util::time;

use crate::pause::refuse_if_paused;
use crate::run::agent_run::AgentRun;
use crate::run::observer::{Doing, Line};
use crate::{EngineError, Runner, thread};

/// How often to look for a free slot.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// How often to check that the thread still needs a slot.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// How often to repeat the "waiting" message.
const REMINDER_INTERVAL: Duration = Duration::from_secs(60);

/// What to do when no slot is free.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum NoSlot {
    /// Wait for one.
    #[default]
    Wait,
    /// Give up at once.
    GiveUp,
}

/// Takes a slot of each pool that the agent counts in; no slot if nothing is limited.
pub(crate) fn take(
    runner: &Runner,
    run: &RunDir,
    agent_run: &AgentRun<'_>,
    config: &Config,
    choice: NoSlot,
) -> Result<Vec<Slot>, EngineError> {
    let agent = agent_run.agent;
    let of_agent = agent.alias.as_ref().zip(agent.max_running);
    let of_agent = of_agent.map(|(alias, max)| {
        let pool = Pool::of_agent(&runner.site.root, alias, max);
        (pool, format!("of agent `{alias}`"))
    });
    let who = Who {
        thread: agent_run.thread.id,
        role: &agent_run.assignment.role,
        agent: &agent.label,
    };
    let of_root = of_root(runner, config);
    let pools = of_agent.into_iter().chain(of_root);
    pools
        .map(|pool| take_of(runner, run, who, &pool, (choice, None)))
        .collect()
}

/// Takes a slot of the root for a program that a run starts as agents are started; no slot if nothing is limited.
///
/// # Errors
/// [`EngineError::NoSlot`] when none was free, or none until this time.
pub(crate) fn take_for_run(
    runner: &Runner,
    run: &RunDir,
    who: Who<'_>,
    patience: (NoSlot, Option<Instant>),
) -> Result<Option<Slot>, EngineError> {
    let config = uwf_config::load(&runner.site.root)?.unwrap_or_default();
    let pool = of_root(runner, &config);
    pool.map(|pool| take_of(runner, run, who, &pool, patience))
        .transpose()
}

/// Returns the pool of everything that works under the root, if it is limited, and its name.
fn of_root(runner: &Runner, config: &Config) -> Option<(Pool, String)> {
    let max = config.concurrency.max_running?;
    let pool = Pool::of_root(&runner.site.root, max);
    Some((pool, "under this root".to_owned()))
}

/// Takes a slot of a pool.
fn take_of(
    runner: &Runner,
    run: &RunDir,
    who: Who<'_>,
    (pool, whose): &(Pool, String),
    (choice, until): (NoSlot, Option<Instant>),
) -> Result<Slot, EngineError> {
    let mut wait = Wait {
        runner,
        run,
        thread: who.thread,
        role: who.role,
        agent: who.agent,
        pool,
        whose,
        until,
        times: None,
    };
    let slot = wait.for_slot(choice);
    if wait.times.is_some() && slot.is_err() {
        run.lease.clear_record()?;
    }
    slot
}

/// Who needs a slot.
#[derive(Clone, Copy)]
pub(crate) struct Who<'a> {
    pub(crate) thread: ThreadId,
    pub(crate) role: &'a RoleName,
    /// The label of the agent.
    pub(crate) agent: &'a str,
}

/// A wait for a slot of one pool.
struct Wait<'a> {
    runner: &'a Runner,
    run: &'a RunDir,
    thread: ThreadId,
    role: &'a RoleName,
    agent: &'a str,
    pool: &'a Pool,
    whose: &'a str,
    /// When to give up.
    until: Option<Instant>,
    /// The times of the wait; `None` until no slot was free once.
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

impl Wait<'_> {
    fn for_slot(&mut self, choice: NoSlot) -> Result<Slot, EngineError> {
        let mut turn = None;
        loop {
            if turn.is_none() {
                turn = self.pool.turn()?;
            }
            let holders = match &turn {
                None => self.pool.holders(),
                Some(turn) => match turn.take(self.thread)? {
                    Taken::Slot(slot) => {
                        if self.times.is_some() {
                            check_thread(self.runner, self.run, self.thread)?;
                        }
                        return Ok(slot);
                    }
                    Taken::Full(holders) => holders,
                },
            };
            let is_over = self.until.is_some_and(|until| Instant::now() >= until);
            if choice == NoSlot::GiveUp || is_over {
                return Err(EngineError::NoSlot {
                    thread: self.thread,
                    full: self.full(&holders),
                });
            }
            self.pause(&holders)?;
        }
    }

    /// Waits for one interval. Shows a message when one is due.
    fn pause(&mut self, holders: &[ThreadId]) -> Result<(), EngineError> {
        let now = Instant::now();
        let Some(times) = &mut self.times else {
            self.start(holders)?;
            self.times = Some(Times {
                line: Line::new(self.runner.observer, self.role, self.agent),
                started: now,
                checked: now,
                notified: now,
            });
            return Ok(());
        };
        if now.duration_since(times.checked) >= CHECK_INTERVAL {
            times.checked = now;
            check_thread(self.runner, self.run, self.thread)?;
        }
        if now.duration_since(times.notified) >= REMINDER_INTERVAL {
            times.notified = now;
            let waited = u64::try_from(times.started.elapsed().as_millis()).unwrap_or(u64::MAX);
            let waited = time::format_duration(waited);
            let full = self.full(holders);
            (self.runner.notice)(&format!("still waiting after {waited}: {full}"));
        }
        if let Some(times) = &mut self.times {
            times.line.look(|| Doing::Waiting);
        }
        match self.runner.signals.wait(POLL_INTERVAL) {
            Event::Stop(stop) => {
                // The signal may come from `thread kill`: then the error is that the thread has ended.
                thread::active_head(&self.runner.site, self.thread)?;
                Err(EngineError::WaitInterrupted(stop.signal))
            }
            Event::Child | Event::Tick => Ok(()),
        }
    }

    /// Records that the thread waits, and shows a message.
    fn start(&self, holders: &[ThreadId]) -> Result<(), EngineError> {
        self.runner
            .signals
            .watch()
            .map_err(|source| EngineError::Io {
                action: "watch for signals".to_owned(),
                source,
            })?;
        if let Some(own) = process_identity(self.runner.site.env.process_id()) {
            self.run.lease.write_record(&LeaseRecord {
                engine: own,
                agent: None,
                label: String::new(),
                attempt: None,
                head: None,
                replaces: None,
                keep_running: false,
                role: self.role.clone(),
                started_at_ms: self.runner.site.env.now_ms(),
                waiting: true,
                words: None,
                number: None,
                failed: Vec::new(),
                chosen: None,
            })?;
        }
        let full = self.full(holders);
        (self.runner.notice)(&format!("waiting for a free slot: {full}"));
        Ok(())
    }

    /// Says which pool is full, and who works.
    fn full(&self, holders: &[ThreadId]) -> String {
        let (max, whose) = (self.pool.max(), self.whose);
        let agents = counted(max, "agent");
        let at_work = match holders {
            [] => String::new(),
            [one] => format!(" (thread {one})"),
            many => {
                let many: Vec<String> = many.iter().map(ToString::to_string).collect();
                format!(" (threads {})", many.join(", "))
            }
        };
        format!("at most {agents} {whose} may work at once{at_work}")
    }
}

/// Fails if the thread was ended or paused during the wait.
fn check_thread(runner: &Runner, run: &RunDir, id: ThreadId) -> Result<(), EngineError> {
    thread::active_head(&runner.site, id)?;
    refuse_if_paused(&runner.site, run, id)
}
