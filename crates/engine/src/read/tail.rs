//! The newest turns of a thread's agents, of recorded steps and of the running attempt, and what comes after them.
//!
//! To see whether somebody works, a tail asks whether the processes of the lease record live, and does not try the lock of
//! the thread: it looks often, and must not make a step *busy*. Only if nobody works and something has changed does it look
//! at the state of the thread as `show` does.

use std::collections::VecDeque;
use std::time::Duration;

use uwf_protocol::ids::{CasRef, RoleName, ThreadId};
use uwf_protocol::nodes::{StartNode, StepNode};
use uwf_protocol::run::LeaseRecord;
use uwf_storage::{RunDir, RunWatch};
use uwf_thread::{Stored, Turn, read_start, read_turns, steps};

use crate::project::config_for;
use crate::read::activity::AttemptView;
use crate::read::copies::Past;
use crate::read::detail_summary::DetailSummary;
use crate::read::running_turns::RunningTurns;
use crate::read::show::show;
use crate::read::tail_event::{
    Stopped, TailEvent, TailStep, TailTurn, Working, count_turns, newest,
};
use crate::read::thread_state::ThreadStatus;
use crate::read::visit_story::VisitStory;
use crate::{EngineError, Site, thread};

/// A reader that follows a thread.
pub(super) struct Tail<'a> {
    site: &'a Site,
    thread: ThreadId,
    run: RunDir,
    watch: RunWatch,
    seen: Seen,
    /// The attempt that is running, or that ran last if its end was not seen yet.
    running: Option<RunningTurns>,
    /// What the last state was found for.
    judged: Option<Seen>,
}

/// What was seen of a thread: if nothing of it changes, its state is the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Seen {
    head: CasRef,
    has_ended: bool,
    /// The number of the newest failed attempt.
    attempt: u64,
    /// When the running attempt began, and whether it waits for a slot.
    running: Option<(i64, bool)>,
}

impl<'a> Tail<'a> {
    /// Begins to follow a thread. Returns the newest turns, at most so many, with what happened after the oldest of them.
    ///
    /// # Errors
    /// When the thread is unknown, or a step cannot be read.
    pub(super) fn begin(
        site: &'a Site,
        thread: ThreadId,
        turns: usize,
    ) -> Result<(Self, Vec<TailEvent>), EngineError> {
        let run = site.root.run(thread);
        let watch = run.watch();
        let (head, has_ended) = place(site, thread)?;
        let mut tail = Self {
            site,
            thread,
            watch,
            seen: Seen {
                head,
                has_ended,
                attempt: 0,
                running: None,
            },
            run,
            running: None,
            judged: None,
        };
        let mut events = VecDeque::new();
        for step in steps(&site.store, head) {
            if count_turns(events.iter()) >= turns {
                break;
            }
            for event in tail.of_step(&step?, 0)?.into_iter().rev() {
                events.push_front(event);
            }
        }
        let mut events = Vec::from(events);
        events.extend(tail.of_failures_at(head, turns));
        events.extend(tail.of_running(turns));
        Ok((tail, newest(events, turns)))
    }

    /// Returns what happened since the last call. The last event is [`TailEvent::Stopped`] if nothing follows.
    ///
    /// # Errors
    /// When a new step cannot be read.
    pub(super) fn next_events(&mut self) -> Result<Vec<TailEvent>, EngineError> {
        // The turns of an attempt are read before its end is looked for: they came before.
        let running = self.running.as_mut();
        let mut events = running.map_or_else(Vec::new, |running| running.new_events(usize::MAX));
        let (head, has_ended) = place(self.site, self.thread)?;
        self.seen.has_ended = has_ended;
        events.extend(self.new_failures());
        if head != self.seen.head {
            events.extend(self.of_new_steps(head)?);
        }
        events.extend(self.of_running(usize::MAX));
        if let Some(stopped) = self.stop() {
            // An attempt that was ended together with its thread failed after we looked.
            events.extend(self.new_failures());
            events.push(stopped);
        }
        Ok(events)
    }

    /// Returns the thread.
    pub(super) fn thread(&self) -> ThreadId {
        self.thread
    }

    /// Returns the head that was seen last.
    pub(super) fn head(&self) -> CasRef {
        self.seen.head
    }

    /// Lets the next call look at the state of the thread, although nothing of the thread itself has changed.
    pub(super) fn judge_again(&mut self) {
        self.judged = None;
    }

    /// Tells whether an agent is at work.
    pub(super) fn is_running(&self) -> bool {
        self.seen.running.is_some()
    }

    /// Waits until something may have happened, or the time is over.
    pub(super) fn wait(&mut self, at_most: Duration) {
        self.watch.wait(at_most);
    }

    /// Returns the events of the steps that are new since the head that was seen. Turns that were read while the first of
    /// them was running are not repeated.
    fn of_new_steps(&mut self, head: CasRef) -> Result<Vec<TailEvent>, EngineError> {
        self.follow_migration(head)?;
        let mut new = Vec::new();
        for step in steps(&self.site.store, head) {
            let step = step?;
            if step.hash == self.seen.head {
                break;
            }
            let is_in_place = step.node.prev.is_none_or(|prev| prev == self.seen.head);
            new.push(step);
            // A step that was done again follows the step before the one that it replaced.
            if is_in_place || self.replaces_the_seen_head(new.last()) {
                break;
            }
        }
        self.seen.head = head;
        let mut read = self.running.take();
        let mut events = Vec::new();
        for step in new.iter().rev() {
            let own = read.take().filter(|read| read.role() == &step.node.role);
            events.extend(self.of_step(step, own.map_or(0, |read| read.turns()))?);
        }
        Ok(events)
    }

    /// Takes the copy of the head that was seen in its place, if the thread was migrated since. The copies are no news.
    fn follow_migration(&mut self, head: CasRef) -> Result<(), EngineError> {
        let store = &self.site.store;
        let start = |head| uwf_thread::Head::read(store, head).map(|head| head.start());
        if start(head)? != start(self.seen.head)? {
            self.seen.head = Past::read(self.site, self.thread, head)?.now(self.seen.head);
        }
        Ok(())
    }

    /// Tells whether the step stands where the head that was seen stood.
    fn replaces_the_seen_head(&self, step: Option<&Stored<StepNode>>) -> bool {
        let Ok(Some(seen)) = uwf_thread::Head::read(&self.site.store, self.seen.head)
            .map(uwf_thread::Head::into_step)
        else {
            return false;
        };
        step.is_some_and(|step| step.node.prev == seen.node.prev)
    }

    /// Returns the turns of a step, without the first `skipped`, and that it was recorded. If no turns were recorded, the
    /// answer is the only one.
    fn of_step(
        &self,
        step: &Stored<StepNode>,
        skipped: usize,
    ) -> Result<Vec<TailEvent>, EngineError> {
        let store = &self.site.store;
        let node = &step.node;
        let detail = store.need(node.detail)?;
        let mut turns = read_turns(store, &detail.payload)?;
        if turns.is_empty() {
            let answer = uwf_thread::answer(store, &detail.payload)?;
            turns.extend(answer.map(spoken));
            let visit = VisitStory::read(store, node)?;
            turns.extend(visit.map(|visit| spoken(visit.in_short())));
        }
        let turns = turns.into_iter().skip(skipped);
        let turns = turns.filter(|turn| !turn.is_empty()).map(|turn| {
            TailEvent::Turn(TailTurn {
                role: node.role.clone(),
                step: Some(step.hash),
                turn,
            })
        });
        let summary = DetailSummary::of(detail.type_hash, &detail.payload);
        let recorded = TailEvent::Step(TailStep {
            step: step.hash,
            role: node.role.clone(),
            agent: node.agent.clone(),
            timestamp: step.timestamp_ms,
            duration_ms: node.duration_ms(),
            usage: summary.usage,
            checks: summary.checks,
            children: summary.children,
        });
        Ok(turns.chain([recorded]).collect())
    }

    /// Returns the failed attempts at a head, with the newest turns of the last one if nothing has run since then.
    fn of_failures_at(&mut self, head: CasRef, most: usize) -> Vec<TailEvent> {
        let mut events = self.new_failures();
        events.retain(|event| matches!(event, TailEvent::Failed(attempt) if attempt.at() == head));
        let is_running = self
            .run
            .lease
            .read_record()
            .is_some_and(|record| is_at_work(&record));
        if let Some(TailEvent::Failed(last)) = events.last()
            && !is_running
        {
            let mut turns = self.turns_of(&last.role, last.started_at_ms);
            let place = events.len() - 1;
            events.splice(place..place, turns.new_events(most));
        }
        events
    }

    /// Returns the turns of an attempt. A config that cannot be read has no secrets: no agent was started with it.
    fn turns_of(&self, role: &RoleName, started_at_ms: i64) -> RunningTurns {
        let Site { root, env, .. } = self.site;
        let config = self
            .start()
            .and_then(|start| config_for(self.site, &start).ok());
        let masks =
            config.and_then(|(config, _)| uwf_config::secret_masks(&config, root, env).ok());
        let masks = masks.unwrap_or_default();
        RunningTurns::of(role, started_at_ms, &self.run.scratch, &masks)
    }

    fn start(&self) -> Option<StartNode> {
        let store = &self.site.store;
        let head = uwf_thread::Head::read(store, self.seen.head).ok()?;
        Some(read_start(store, head.start()).ok()?.node)
    }

    /// Returns the attempts that failed since the last call.
    fn new_failures(&mut self) -> Vec<TailEvent> {
        let seen = self.seen.attempt;
        let attempts = self.run.ledger.attempts().into_iter();
        let new = attempts.filter(|attempt| attempt.number > seen);
        let new: Vec<AttemptView> = new.map(AttemptView::from).collect();
        if let Some(newest) = new.last() {
            self.seen.attempt = newest.number;
        }
        // The turns that were read belong to the attempt that failed, and not to the step that follows.
        let failed = |running: &RunningTurns| new.iter().any(|attempt| running.is_of(attempt));
        self.running = self.running.take().filter(|running| !failed(running));
        let event = |attempt| TailEvent::Failed(Box::new(attempt));
        new.into_iter().map(event).collect()
    }

    /// Returns that an attempt has begun, and the newest turns of it.
    fn of_running(&mut self, most: usize) -> Vec<TailEvent> {
        let record = self.run.lease.read_record().filter(is_at_work);
        let running = record.as_ref();
        let running = running.map(|record| (record.started_at_ms, record.waiting));
        let is_known = running == self.seen.running;
        self.seen.running = running;
        match record {
            // Its turns are known until its step is seen: the head may have moved after we looked.
            None => Vec::new(),
            Some(_) if is_known => Vec::new(),
            Some(record) => {
                let working = TailEvent::Working(Working {
                    role: record.role.clone(),
                    agent: record.label.clone(),
                    started_at_ms: record.started_at_ms,
                    waiting: record.waiting,
                    usage: self.run.scratch.usage(),
                });
                let mut running = self.turns_of(&record.role, record.started_at_ms);
                let events = running.new_events(most);
                self.running = Some(running);
                std::iter::once(working).chain(events).collect()
            }
        }
    }

    /// Returns that nothing follows, if so. The state is looked for only after something has changed.
    fn stop(&mut self) -> Option<TailEvent> {
        if self.seen.running.is_some() || self.judged == Some(self.seen) {
            return None;
        }
        self.judged = Some(self.seen);
        // A thread that cannot be read now may be read later; `thread show` tells what is wrong.
        let view = show(self.site, self.thread).ok()?;
        if view.head != self.seen.head {
            // A step was recorded after we looked. It is told first.
            self.judged = None;
            return None;
        }
        let is_over = match view.state.status {
            ThreadStatus::Suspended
            | ThreadStatus::Paused
            | ThreadStatus::Blocked
            | ThreadStatus::Completed
            | ThreadStatus::Cancelled
            | ThreadStatus::Corrupt => true,
            ThreadStatus::Idle
            | ThreadStatus::Running
            | ThreadStatus::Failed
            | ThreadStatus::Waiting => false,
        };
        is_over.then(|| {
            TailEvent::Stopped(Box::new(Stopped {
                thread: view.thread,
                state: view.state,
                blocked_reason: view.blocked_reason,
            }))
        })
    }
}

/// Returns the head of a thread, and whether the thread has ended.
fn place(site: &Site, id: ThreadId) -> Result<(CasRef, bool), EngineError> {
    let place = thread::find(site, id)?;
    Ok((place.head(), place.end().is_some()))
}

/// Tells whether the engine or the agent of a lease record lives. The record may be left from an attempt that is over.
fn is_at_work(record: &LeaseRecord) -> bool {
    let processes = std::iter::once(&record.engine).chain(&record.agent);
    processes.into_iter().any(uwf_process::is_alive)
}

/// Returns an answer as the only turn of its session.
fn spoken(answer: String) -> Turn {
    Turn {
        index: 0,
        role: "assistant".to_owned(),
        content: answer,
        calls: Vec::new(),
        answers: None,
    }
}
