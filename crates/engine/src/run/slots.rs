//! Waiting for a slot to start an agent in.
//!
//! A thread takes the slot of the agent before the slot of the root: while it waits for the first, it keeps no slot that
//! another agent could use. All threads take slots in this order, so they cannot deadlock.

use std::time::Instant;

use uwf_protocol::config::Config;
use uwf_protocol::ids::ThreadId;
use uwf_storage::{Pool, RunDir, Slot, Taken};
use uwf_util::text::counted;

use crate::run::agent_run::AgentRun;
use crate::run::waiting::{Wait, Who};
use crate::{EngineError, Runner};

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
    let who = agent_run.who();
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
    let search = Search {
        thread: who.thread,
        pool,
        whose,
        choice,
        until,
    };
    let mut wait = Wait::new(runner, run, who, "a free slot");
    let slot = search.for_slot(&mut wait);
    wait.end(slot)
}

/// A search for a slot of one pool.
struct Search<'a> {
    thread: ThreadId,
    pool: &'a Pool,
    whose: &'a str,
    choice: NoSlot,
    /// When to give up.
    until: Option<Instant>,
}

impl Search<'_> {
    fn for_slot(&self, wait: &mut Wait<'_>) -> Result<Slot, EngineError> {
        let mut turn = None;
        loop {
            if turn.is_none() {
                turn = self.pool.turn()?;
            }
            let holders = match &turn {
                None => self.pool.holders(),
                Some(turn) => match turn.take(self.thread)? {
                    Taken::Slot(slot) => return Ok(slot),
                    Taken::Full(holders) => holders,
                },
            };
            let full = self.full(&holders);
            let is_over = self.until.is_some_and(|until| Instant::now() >= until);
            if self.choice == NoSlot::GiveUp || is_over {
                let thread = self.thread;
                return Err(EngineError::NoSlot { thread, full });
            }
            wait.pause(&full)?;
        }
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
