//! A step that starts a workflow: its child thread is found or made, and stepped until it has ended or cannot go on.

use std::collections::HashSet;
use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, Instant};

use serde_json::json;
use uwf_config::project::looks_like_path;
use uwf_moderator::end_status;
use uwf_pipeline::course::{WorkflowEnd, WorkflowTask};
use uwf_pipeline::nodes::{PlayedNode, PlayerNode};
use uwf_pipeline::{ErrorKind, Failure, Limits, Route, StepResult};
use uwf_process::Stop;
use uwf_protocol::child::Parent;
use uwf_protocol::ids::{CasRef, RoleName, ThreadId};
use uwf_protocol::nodes::StartNode;
use uwf_runner::{RunTime, Surroundings};
use uwf_storage::{HistoryRecord, Located, Reason, State};

use super::RunEvent;
use super::played_run::put_start;
use super::worker::Worker;
use crate::children::answer::answer_of;
use crate::children::of_step::{StepChild, active, find, for_step, head_for_child};
use crate::children::used::used_by_thread;
use crate::describe::utc;
use crate::limits::config_for_views;
use crate::pipelines::route::in_general;
use crate::planned_try::PlannedTry;
use crate::register::{Finder, Place, put_pipeline, store};
use crate::run::cycle::{Pace, StepOptions, step_untold};
use crate::run::kill::kill;
use crate::run::patience::wait_for_next_try;
use crate::run::shared::family::add_children;
use crate::thread::Thread;
use crate::{EngineError, Runner, check_files, tags};

/// How often a wait looks whether somebody has paused or ended the run.
const LOOK: Duration = Duration::from_secs(1);

/// The status of a child that a person ended.
const CANCELLED: &str = "cancelled";

/// What came of a step that starts a workflow.
pub(super) enum PlayEnd {
    /// Its child has ended, or could not be made.
    Settled(Box<Settled>),
    /// This process was told to stop.
    Interrupted(Stop),
    /// A person paused the run.
    Paused,
    /// The child cannot go on for now.
    Held(Box<HeldStep>),
}

/// A result, with the child that did the step, if one did.
pub(super) struct Settled {
    pub(super) result: StepResult,
    pub(super) played: Option<PlayedNode>,
    /// The files that the step needed.
    pub(super) reads: Vec<String>,
}

/// A step whose child thread cannot go on for now. The step has no result yet.
#[derive(Debug)]
pub struct HeldStep {
    /// The key of the step.
    pub key: String,
    /// The child.
    pub child: ThreadId,
    /// Why it cannot go on.
    pub error: EngineError,
}

impl HeldStep {
    /// Returns what the picture of the run says about it.
    pub(super) fn failure(&self) -> Failure {
        Failure::new(ErrorKind::WorkflowStopped, self.error.to_string())
            .fact("step", self.key.as_str())
            .fact("thread", self.child.as_str())
    }
}

/// A step that starts a workflow.
pub(super) struct Playing<'p> {
    pub(super) worker: &'p Worker<'p>,
    pub(super) around: &'p Surroundings<'p>,
    pub(super) task: &'p WorkflowTask,
    /// The key of the step.
    pub(super) key: RoleName,
    /// The head of the run. It is that of the state, too.
    pub(super) head: CasRef,
}

impl Playing<'_> {
    /// Steps the child until it has ended, or cannot go on. What earlier processes made of it is found again.
    pub(super) fn play(&self) -> Result<PlayEnd, EngineError> {
        let site = &self.worker.runner.site;
        let prompt = self.task.prompt();
        self.worker.check_leased()?;
        let run = (self.worker.thread, self.worker.depth);
        let parent = for_step(&site.store, run, self.head, self.key.clone())?;
        let mut reads = Vec::new();
        let (mut is_told, mut asked) = (false, HashSet::new());
        loop {
            let child = self.find(&parent, &prompt, &mut asked)?;
            match &child.place {
                None => match self.make(&child, &prompt)? {
                    Ok(files) => reads = files,
                    Err(failure) => {
                        let result = StepResult::refused(failure.masked(self.around.masks));
                        return Ok(settled(result, None, reads));
                    }
                },
                Some(Located::Archived(record)) => return self.ended(&child, record, reads),
                Some(Located::Active(_)) if !child.has_task => {
                    end(self.worker.runner, child.thread)?;
                }
                Some(Located::Active(_)) => {
                    if !is_told {
                        // The child may be that of an earlier process.
                        if reads.is_empty() {
                            reads = self.files().unwrap_or_default();
                        }
                        self.tell(child.thread)?;
                        is_told = true;
                    }
                    if let Some(end) = self.advance(&child, reads.clone())? {
                        return Ok(end);
                    }
                }
            }
        }
    }

    /// Finds the child of the step. That of a shared run may be at the remote, which is asked once for each.
    fn find(
        &self,
        parent: &Parent,
        prompt: &str,
        asked: &mut HashSet<ThreadId>,
    ) -> Result<StepChild, EngineError> {
        let site = &self.worker.runner.site;
        loop {
            let child = find(site, parent.clone(), prompt)?;
            let Some(shared) = &self.worker.run.shared else {
                return Ok(child);
            };
            let has_ended = matches!(child.place, Some(Located::Archived(_)));
            if has_ended
                || !asked.insert(child.thread)
                || !shared.bring_child(site, child.thread)?
            {
                return Ok(child);
            }
        }
    }

    fn tell(&self, child: ThreadId) -> Result<(), EngineError> {
        self.worker.tell(&RunEvent::Played {
            key: self.key.as_str(),
            thread: child,
        })
    }

    /// Does one cycle of the child. Returns why the step does not go on, if it does not.
    fn advance(
        &self,
        child: &StepChild,
        reads: Vec<String>,
    ) -> Result<Option<PlayEnd>, EngineError> {
        let (worker, thread) = (self.worker, child.thread);
        let signals = &worker.runner.signals;
        // The signal may come from `thread kill`: then the error is that the run has ended.
        worker.check_active()?;
        worker.check_leased()?;
        if let Some(stop) = signals.stop() {
            return Ok(Some(PlayEnd::Interrupted(stop)));
        }
        if worker.run.pause.read()?.is_some() {
            return Ok(Some(PlayEnd::Paused));
        }
        let is_over = || worker.time_left().is_some_and(|left| left.is_zero());
        if is_over() {
            return self.timed_out(child, reads).map(Some);
        }
        let options = StepOptions {
            pace: Pace::ToTheEnd(Rc::new(|_| {})),
            until: worker.deadline(),
            ..StepOptions::default()
        };
        match step_untold(worker.runner, thread, &options) {
            Ok(_) => Ok(None),
            // Its place says how it ended.
            Err(EngineError::Ended { thread: ended, .. }) if ended == thread => Ok(None),
            Err(error) => match (signals.stop(), error.planned_try()) {
                (Some(stop), _) => {
                    worker.check_active()?;
                    Ok(Some(PlayEnd::Interrupted(stop)))
                }
                (None, _) if is_over() => self.timed_out(child, reads).map(Some),
                (None, Some(next)) if worker.waits => self.wait(next).map(|()| None),
                (None, _) => Ok(Some(PlayEnd::Held(Box::new(HeldStep {
                    key: self.key.to_string(),
                    child: thread,
                    error,
                })))),
            },
        }
    }

    /// Waits for the next attempt in the child. A signal, a pause and the end of the time end the wait, too: the next cycle
    /// finds them.
    fn wait(&self, next: &PlannedTry) -> Result<(), EngineError> {
        let worker = self.worker;
        let message = format!(
            "thread `{}` waits until {}, then agent `{}` makes the next attempt",
            next.thread,
            utc(next.at_ms),
            next.agent
        );
        (worker.runner.notice)(&message);
        while worker.run.pause.read()?.is_none()
            && worker.time_left().is_none_or(|left| !left.is_zero())
        {
            worker.check_active()?;
            worker.check_leased()?;
            let soon = Instant::now().checked_add(LOOK);
            match wait_for_next_try(worker.runner, next, soon, &mut || {}) {
                Ok(false) => {}
                Ok(true) | Err(EngineError::NotStarted(_)) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Ends the child because the time of the run is over.
    fn timed_out(&self, child: &StepChild, reads: Vec<String>) -> Result<PlayEnd, EngineError> {
        end(self.worker.runner, child.thread)?;
        let site = &self.worker.runner.site;
        let place = State::new(&site.root).find(child.thread)?;
        let played = match &place {
            // Another process has completed it meanwhile.
            Some(Located::Archived(record)) if record.reason == Reason::Completed => {
                return self.ended(child, record, reads);
            }
            Some(place) => Some(self.played(child.thread, place.head(), CANCELLED)?),
            None => None,
        };
        let end = WorkflowEnd::RunTimedOut {
            thread: child.thread.to_string(),
            limits: Limits {
                step_ms: None,
                run_ms: self.worker.run_time().map(RunTime::whole_ms),
            },
        };
        Ok(settled(self.task.ended(end), played, reads))
    }

    /// Returns the result of a step whose child has ended.
    fn ended(
        &self,
        child: &StepChild,
        record: &HistoryRecord,
        reads: Vec<String>,
    ) -> Result<PlayEnd, EngineError> {
        let site = &self.worker.runner.site;
        let (end, status) = match record.reason {
            Reason::Cancelled => {
                let end = WorkflowEnd::Failed {
                    thread: child.thread.to_string(),
                    reason: format!("thread `{}` was ended by a person", child.thread),
                };
                (end, CANCELLED.to_owned())
            }
            Reason::Completed => {
                let thread = Thread::load(&site.store, child.thread, record.head)?;
                let last = thread.last();
                let answer = self.around.masks.json(&answer_of(&site.store, &thread)?);
                let status = last.map(|last| end_status(&thread.program, last));
                let status = status.map_or_else(String::new, |status| status.as_str().to_owned());
                (WorkflowEnd::Completed(answer), status)
            }
        };
        let played = self.played(child.thread, record.head, &status)?;
        Ok(settled(self.task.ended(end), Some(played), reads))
    }

    /// Returns what the detail of the step says about the child.
    fn played(
        &self,
        thread: ThreadId,
        head: CasRef,
        status: &str,
    ) -> Result<PlayedNode, EngineError> {
        let is_open = status == CANCELLED;
        let used = used_by_thread(&self.worker.runner.site, thread, head, is_open)?;
        Ok(PlayedNode {
            children: vec![PlayerNode {
                key: String::new(),
                thread: thread.to_string(),
                head: head.to_string(),
                status: status.to_owned(),
                steps: used.child_steps,
            }],
            used: json!(used),
        })
    }

    /// Returns the files that the step needs.
    fn files(&self) -> Result<Vec<String>, Failure> {
        uwf_runner::needs(self.around, &self.task.secrets, &self.task.depends_on)
    }

    /// Makes the child, and returns the files that the step needs. Nobody else makes it: this process has the lock of the run.
    fn make(
        &self,
        child: &StepChild,
        prompt: &str,
    ) -> Result<Result<Vec<String>, Failure>, EngineError> {
        let files = match self.files() {
            Ok(files) => files,
            Err(failure) => return Ok(Err(failure)),
        };
        let site = &self.worker.runner.site;
        let _hold = site.store.hold()?;
        let workflow = match self.workflow(child.parent.depth)? {
            Ok(workflow) => workflow,
            Err(failure) => return Ok(Err(failure)),
        };
        let cwd = self.around.workspace.path().display().to_string();
        let start = StartNode {
            check_files: check_files::pin(&site.store, workflow, Some(&cwd), &[])?,
            workflow,
            prompt: prompt.to_owned(),
            cwd: Some(cwd),
            parent: Some(child.parent.clone()),
            run: None,
        };
        let mut batch = site.store.batch();
        let start = put_start(site, &mut batch, child.thread, start, Some(workflow))?;
        batch.commit()?;
        let run = self.worker.thread;
        let made = [(child.thread, start)];
        let shared = self.worker.run.shared.as_ref();
        if !add_children(site, shared, (run, self.head), &made)? {
            self.worker.check_active()?;
            return Err(crate::thread::busy(run, None));
        }
        let message = format!("thread created head={start} parent={run}");
        site.log_line(tags::THREAD_CREATED, &message, Some(child.thread), None);
        Ok(Ok(files))
    }

    /// Finds and stores the workflow of a child with so many threads above it.
    fn workflow(&self, depth: u64) -> Result<Result<CasRef, Failure>, EngineError> {
        let site = &self.worker.runner.site;
        let name = self.task.name.as_str();
        let invalid = |problem: String| {
            Failure::new(ErrorKind::WorkflowInvalid, problem).fact("workflow", name)
        };
        let workspace: &Path = self.around.workspace.path();
        // A file may be a link that leads out of the workspace. What is there must not be in a message.
        if looks_like_path(name)
            && workspace.join(name).exists()
            && let Err(failure) = self.around.workspace.read(name, 0)
        {
            return Ok(Err(failure));
        }
        let found = match Finder::in_folder(site, workspace).find(name) {
            Ok(found) => found,
            Err(problem) => return Ok(Err(invalid(problem))),
        };
        let most = u64::from(config_for_views(site).depth_limit());
        let deepest = depth + found.levels;
        if deepest > most {
            return Ok(Err(invalid(format!(
                "the workflow `{name}` needs a child thread with {deepest} threads above it, and `maxDepth` in the config allows {most}"
            ))));
        }
        Ok(Ok(match found.place {
            Place::Stored(hash) | Place::Registered(hash) => hash,
            Place::File(checked) => store(site, *checked)?.hash,
            Place::Pipeline(pipeline) => {
                let mut batch = site.store.batch();
                let hash = put_pipeline(&mut batch, &pipeline, site.env.now_ms())?;
                batch.commit()?;
                hash
            }
        }))
    }
}

/// Ends the children of a run that work for another step than the next one: a person went back in the run, or changed its
/// pipeline.
pub(super) fn end_left_behind(
    worker: &Worker<'_>,
    newest: CasRef,
    next: &Route,
) -> Result<(), EngineError> {
    let runner = worker.runner;
    let wanted = match in_general(next) {
        Ok(uwf_moderator::Route::To(next)) => Some(next.role),
        _ => None,
    };
    let head = head_for_child(&runner.site.store, newest)?;
    for (child, parent) in active(&runner.site, worker.thread)? {
        if parent.head != head || Some(parent.role) != wanted {
            end(runner, child)?;
        }
    }
    Ok(())
}

/// Ends a child, unless it has ended meanwhile.
fn end(runner: &Runner, child: ThreadId) -> Result<(), EngineError> {
    match kill(runner, child) {
        Ok(_) | Err(EngineError::Ended { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}

fn settled(result: StepResult, played: Option<PlayedNode>, reads: Vec<String>) -> PlayEnd {
    PlayEnd::Settled(Box::new(Settled {
        result,
        played,
        reads,
    }))
}
