//! `uwf work`: a worker, which does steps of the threads at the remote.
//!
//! The worker takes one ready thread after the other. Each step is done by a process of its own, `uwf thread step`, which has the
//! lease. So a worker that dies loses no step.

use std::collections::HashMap;
use std::time::Instant;

use uwf_engine::{
    EngineError, Taken, is_free, is_paused, pause_before_question, take_next, waiting_threads,
};
use uwf_process::Stop;
use uwf_protocol::exit::Exit;
use uwf_protocol::head_status::HeadStatus;
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_remote::{Listed, Remote, RemoteError};
use uwf_util::text::counted;

use super::chosen_remote::ChosenRemote;
use super::idle::Idle;
use super::jobs::{Jobs, Next};
use super::next::ended_for_all;
use super::paused_here::PausedHere;
use super::resting::{LOOK_HERE, PAUSE, Resting};
use super::tally::is_skipped;
use super::worker_count::Count;
use crate::args::WorkerArgs;
use crate::commands::{Context, own_program, sharing};
use crate::failure::{Failure, note, warn};

/// How many answers in turn may make no sense before a worker gives up: each is about a thread that is damaged at the remote.
const DAMAGED_IN_TURN: u32 = 5;

/// Works until the worker is told to stop, or nothing was ready for as long as the caller wants to wait.
pub(crate) fn work(context: &Context, args: &WorkerArgs) -> Result<Exit, Failure> {
    let jobs = Jobs::new(context)?;
    let chosen = ChosenRemote::of(context.site());
    let mut remote = sharing::open(context.site())?;
    // What is wrong with the remote is said before the worker waits for anything.
    let answer = remote.hello();
    if context.runner.signals.stop().is_some() {
        return Ok(Exit::Done);
    }
    let away = match sharing::answer(answer) {
        Ok(_) => None,
        Err(error) if may_pass(&error) => {
            warn(&format!("{error}; trying again"));
            Some(error.into())
        }
        Err(error) => {
            warn_of(&waiting_threads(context.site()).unwrap_or_default());
            return Err(error.into());
        }
    };
    let mut worker = Worker {
        context,
        args,
        remote,
        chosen,
        jobs,
        resting: Resting::new(args.idle),
        paused: PausedHere::default(),
        taken: HashMap::new(),
        count: Count::default(),
        look_at: Instant::now(),
        look_here_at: Instant::now(),
        idle: Idle::new(Instant::now()),
        away,
        is_unsure: false,
        damaged_in_turn: 0,
        has_seen_damage: false,
        unread: None,
        takes_no_more: false,
        is_told: false,
        failure: None,
    };
    let result = worker.until_the_end();
    if !args.quiet {
        note(&worker.count.summary());
    }
    result
}

/// A worker.
struct Worker<'a> {
    context: &'a Context,
    args: &'a WorkerArgs,
    remote: Box<dyn Remote + Send>,
    chosen: ChosenRemote,
    jobs: Jobs<'a>,
    /// The threads that it leaves to others for a while.
    resting: Resting,
    /// The threads that are paused here, as far as it has said so.
    paused: PausedHere,
    /// The threads at work, by which those are given back whose step never began.
    taken: HashMap<ThreadId, Taken>,
    count: Count,
    /// When it asks for the next thread.
    look_at: Instant,
    /// When it looks for finished steps that wait here.
    look_here_at: Instant,
    /// For how long it has had nothing to do.
    idle: Idle,
    /// Why the remote did not answer the last time, if it did not.
    away: Option<Failure>,
    /// Whether it may be away, because a step was busy since the last answer.
    is_unsure: bool,
    /// How many of the last answers made no sense, without another one in between.
    damaged_in_turn: u32,
    /// Whether an answer made no sense.
    has_seen_damage: bool,
    /// The exit of a worker that could not read which finished steps wait here.
    unread: Option<Exit>,
    /// Whether it begins nothing more: it was told to stop, or something is wrong. What it has begun is paid for.
    takes_no_more: bool,
    /// Whether it was told to stop. The next signal ends what it has begun.
    is_told: bool,
    /// Why it ends, if something is wrong.
    failure: Option<Failure>,
}

impl Worker<'_> {
    fn until_the_end(&mut self) -> Result<Exit, Failure> {
        loop {
            while self.has_room() && Instant::now() >= self.look_at {
                self.look();
            }
            if self.jobs.len() == 0
                && let Some(end) = self.end_of_idle()
            {
                return end;
            }
            match self.jobs.next() {
                Next::Nothing => {}
                Next::Ended(thread, exit, shown) => {
                    self.ended(thread, exit);
                    if let Err(failure) = shown {
                        self.fail(failure);
                    }
                }
                Next::Stopped(stop) if self.is_told => return self.end(stop),
                Next::Stopped(stop) => self.stop_when_done(stop),
            }
        }
    }

    /// Returns how the worker ends that has nothing at work, if it does.
    fn end_of_idle(&mut self) -> Option<Result<Exit, Failure>> {
        if let Some(failure) = self.failure.take() {
            warn_of(&self.waiting());
            return Some(Err(failure));
        }
        let has_waited = |idle| self.idle.time(Instant::now()) >= idle;
        let is_over = self.args.idle.is_some_and(has_waited);
        let exit = match () {
            () if self.is_told => Exit::Done,
            () if self.has_failed_enough() => {
                warn(&format!(
                    "{} in turn: the worker ends (--max-failures)",
                    counted(self.count.in_a_row, "failed step")
                ));
                self.count.last
            }
            () if is_over => return Some(self.without_work()),
            () => return None,
        };
        warn_of(&self.waiting());
        Some(Ok(exit))
    }

    /// Returns how a worker ends that found nothing to do for the time of `--idle`.
    fn without_work(&mut self) -> Result<Exit, Failure> {
        match self.away.take() {
            None => Ok(self.left_undone()),
            Some(away) => {
                warn_of(&self.waiting());
                Err(away)
            }
        }
    }

    /// Returns the threads whose finished steps wait here. It says so if the records cannot be read, and remembers that.
    fn waiting(&mut self) -> Vec<ThreadId> {
        let waiting = waiting_threads(self.context.site());
        waiting.unwrap_or_else(|error| {
            warn(&error.to_string());
            self.unread = Some(error.exit());
            Vec::new()
        })
    }

    /// Returns the exit of a worker that found nothing to do any more: that of damage at the remote or here, or of the first thread whose
    /// finished step still waits here, or whose step has failed and that is still ready.
    fn left_undone(&mut self) -> Exit {
        let mut left = self.has_seen_damage.then_some(Exit::Store);
        let waiting = self.waiting();
        warn_of(&waiting);
        left = left.or(self.unread);
        for thread in &waiting {
            // A thread that a person has paused waits for that person.
            let exit = self.resting.exit(*thread).unwrap_or(Exit::Busy);
            if exit != Exit::Suspended && !is_paused(self.context.site(), *thread) {
                left.get_or_insert(exit);
            }
        }
        let mut failed = self.resting.failed();
        failed.retain(|(thread, _)| !waiting.contains(thread));
        for (thread, exit) in failed {
            let found = self.remote.find(thread, CasRef::from_u64(0));
            match sharing::answer(found) {
                Ok(Some(found)) if is_left(&found.listed) => {
                    warn(&format!(
                        "thread `{thread}` is still ready at the remote, and its step has failed here"
                    ));
                    left.get_or_insert(exit);
                }
                Ok(_) => {}
                Err(error) => {
                    warn(&format!(
                        "{error}: thread `{thread}`, whose step has failed here, may still be ready"
                    ));
                    return left.unwrap_or_else(|| error.exit());
                }
            }
        }
        left.unwrap_or(Exit::Done)
    }

    fn has_room(&self) -> bool {
        !self.takes_no_more && self.jobs.len() < self.args.jobs && !self.has_failed_enough()
    }

    fn has_failed_enough(&self) -> bool {
        self.count.in_a_row >= self.args.max_failures.get()
    }

    /// Begins the next step, if there is one. A finished step that waits here comes first: it is paid for, and the remote gives its
    /// thread to nobody as long as this machine has the lease.
    fn look(&mut self) {
        let was_away = self.away.is_some();
        if let Err(failure) = self.chosen.check(self.context.site()) {
            return self.fail(failure);
        }
        if !self.answers() {
            return self.look_later();
        }
        if let Some(thread) = self.waiting_here() {
            return self.start(thread, None);
        }
        if self.away.is_some() {
            return self.look_later();
        }
        let taken = take_next(self.context.site(), self.remote.as_mut(), &self.args.labels);
        match taken {
            Ok(next) => {
                self.damaged_in_turn = 0;
                if !self.args.quiet {
                    self.paused.tell(&next.paused);
                }
                match next.taken {
                    Some(taken) if self.resting.rests(taken.thread(), Instant::now()) => {
                        self.look_later();
                        self.give_back(&taken);
                    }
                    Some(taken) => self.begin(taken),
                    None => self.look_later(),
                }
            }
            Err(error) => {
                self.look_later();
                self.not_taken(error, was_away);
            }
        }
    }

    /// Tells whether the remote answers. It is asked if it may be away: a step would wait for it as long, for each thread.
    fn answers(&mut self) -> bool {
        if self.away.is_none() && !self.is_unsure {
            return true;
        }
        self.is_unsure = false;
        match sharing::answer(self.remote.hello()) {
            Err(error) if may_pass(&error) => self.wait_for_remote(error, self.away.is_some()),
            // What is wrong otherwise is told by the call that meets it.
            Ok(_) | Err(_) => self.away = None,
        }
        self.away.is_none()
    }

    /// A thread whose row is damaged is leased by the call that finds that out, so the next call gets another one.
    fn not_taken(&mut self, error: EngineError, was_away: bool) {
        if may_pass(&error) {
            self.wait_for_remote(error, was_away);
        } else if is_damage(&error) && self.damaged_in_turn < DAMAGED_IN_TURN {
            warn(&format!("{error}; trying another thread"));
            self.damaged_in_turn += 1;
            self.has_seen_damage = true;
        } else {
            self.fail(error.into());
        }
    }

    /// Returns a thread with a finished step that waits here. One that was busy comes again as soon as nobody works on it.
    fn waiting_here(&mut self) -> Option<ThreadId> {
        let now = Instant::now();
        if now < self.look_here_at {
            return None;
        }
        let mut waiting = self.waiting();
        let is_at_work = |thread| self.jobs.threads().any(|one| one == thread);
        let site = self.context.site();
        waiting.retain(|thread| !is_at_work(*thread) && !is_paused(site, *thread));
        if let Some(found) = waiting
            .iter()
            .find(|thread| !self.resting.rests(**thread, now))
        {
            return Some(*found);
        }
        waiting.retain(|thread| self.resting.ask_at(*thread).is_some());
        self.look_here_at = match waiting.is_empty() {
            true => now + LOOK_HERE,
            false => now + PAUSE,
        };
        waiting.retain(|thread| self.resting.ask_at(*thread).is_some_and(|at| now >= at));
        let remote = self.remote.as_mut();
        let free = self.resting.first_free(&waiting, |thread| {
            match is_free(site, remote, thread) {
                // When the thread has rested, its next step says what is wrong.
                Err(error) if !may_pass(&error) => Ok(false),
                answer => answer,
            }
        });
        free.unwrap_or_else(|error| {
            self.wait_for_remote(error, false);
            None
        })
    }

    fn wait_for_remote(&mut self, error: EngineError, was_away: bool) {
        if !was_away {
            warn(&format!("{error}; trying again"));
        }
        self.away = Some(error.into());
    }

    /// Ends the worker when its steps are done, with the first of such failures. They may take hours, so it is told at once.
    fn fail(&mut self, failure: Failure) {
        let left = self.jobs.len();
        if self.failure.is_none() && left > 0 {
            warn(&format!(
                "{}; nothing more is begun, and {} at work will be finished",
                failure.what,
                counted(left, "step")
            ));
        }
        self.takes_no_more = true;
        self.failure.get_or_insert(failure);
    }

    /// Brings a thread and begins its step. What goes wrong with it is left to others for a while.
    fn begin(&mut self, taken: Taken) {
        let thread = taken.thread();
        match taken.bring(&self.context.runner, self.remote.as_mut()) {
            Ok(true) => self.start(thread, Some(taken)),
            Ok(false) => note(&ended_for_all(thread)),
            Err(error) => {
                self.look_later();
                self.give_back(&taken);
                if may_pass(&error) {
                    return self.wait_for_remote(error, false);
                }
                // A person has just paused it: the next look leaves it out, and says so.
                if matches!(error, EngineError::Paused { .. }) {
                    return;
                }
                let failure = Failure::from(error);
                failure.print();
                self.rest(thread, failure.exit);
            }
        }
    }

    /// Starts the process of a step.
    fn start(&mut self, thread: ThreadId, taken: Option<Taken>) {
        let arguments = own_program::one_of_many(&self.args.agent, thread);
        match self.jobs.start(thread, &arguments) {
            Ok(()) => {
                self.idle.begin(Instant::now());
                self.taken.extend(taken.map(|taken| (thread, taken)));
            }
            Err(failure) => {
                if let Some(taken) = taken {
                    self.give_back(&taken);
                }
                self.fail(failure);
            }
        }
    }

    /// Gives a thread back. If the remote does not answer, the lease ends by itself.
    fn give_back(&mut self, taken: &Taken) {
        let _ = taken.give_back(self.context.site(), self.remote.as_mut());
    }

    fn look_later(&mut self) {
        self.look_at = Instant::now() + pause_before_question(self.context.site());
    }

    fn ended(&mut self, thread: ThreadId, exit: Exit) {
        let now = Instant::now();
        self.idle.end(now, is_skipped(exit));
        self.look_at = now;
        let taken = self.taken.remove(&thread);
        if exit == Exit::Done {
            taken.into_iter().for_each(Taken::finish);
            self.resting.remove(thread);
            self.count.done();
            return;
        }
        // Its step may be finished and not shared.
        self.look_here_at = Instant::now();
        self.is_unsure |= exit == Exit::Busy;
        // A step that never began has not given the lease back.
        if let Some(taken) = taken {
            self.give_back(&taken);
        }
        self.rest(thread, exit);
    }

    /// Leaves a thread to others for a while, because of how its step ended here.
    fn rest(&mut self, thread: ThreadId, exit: Exit) {
        self.resting.add(thread, exit, Instant::now());
        if !is_skipped(exit) {
            self.count.failed(exit);
        }
    }

    fn stop_when_done(&mut self, stop: Stop) {
        self.takes_no_more = true;
        self.is_told = true;
        let left = self.jobs.len();
        if left > 0 && !self.args.quiet {
            note(&format!(
                "told to stop by signal {}: {} at work, which will be finished; the same signal again ends them",
                stop.signal,
                counted(left, "step")
            ));
        }
    }

    /// Ends all steps, with their agents.
    fn end(&mut self, stop: Stop) -> Result<Exit, Failure> {
        for (exit, shown) in self.jobs.end(stop) {
            match exit {
                Exit::Done => self.count.done(),
                exit => self.count.failed(exit),
            }
            if let Err(failure) = shown {
                failure.print();
            }
        }
        if let Some(failure) = self.failure.take() {
            failure.print();
        }
        warn_of(&self.waiting());
        Ok(Exit::Signal(stop.signal))
    }
}

/// Names the threads whose finished steps wait here.
fn warn_of(waiting: &[ThreadId]) {
    for thread in waiting {
        warn(&format!(
            "a finished step of thread `{thread}` still waits here: `uwf push {thread}` shares it"
        ));
    }
}

/// Tells whether a thread waits for somebody who does its next step, and nobody does it now.
fn is_left(listed: &Listed) -> bool {
    listed.status == HeadStatus::Ready && listed.busy.is_none()
}

/// Tells whether an error is one of the remote that may pass, such as that it cannot be reached.
fn may_pass(error: &EngineError) -> bool {
    of_remote(error).is_some_and(RemoteError::may_pass)
}

/// Tells whether an error is that an answer of the remote makes no sense.
fn is_damage(error: &EngineError) -> bool {
    matches!(of_remote(error), Some(RemoteError::Broken(_)))
}

fn of_remote(error: &EngineError) -> Option<&RemoteError> {
    let EngineError::Sharing(problem) = error else {
        return None;
    };
    problem.of_remote()
}
