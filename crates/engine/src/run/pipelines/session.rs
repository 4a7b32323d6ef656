//! What one process does for a run: it takes up what earlier ones left, does steps until it has to stop, and leaves the picture
//! of the run.

use std::path::Path;
use std::time::Instant;

use uwf_moderator::head_status;
use uwf_pipeline::course::{Assignment, Outcome, Task, Todo, Visit};
use uwf_pipeline::nodes::{AttemptRecord, RunNode, VisitNode, result_payload};
use uwf_pipeline::state::RunStatus;
use uwf_pipeline::{Course, Event, Route, StepResult};
use uwf_process::{keep_inherited_files, process_identity};
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_protocol::schemas;
use uwf_runner::{GRACE, Surroundings};

use super::adopt::adopt;
use super::commit::{Added, Chain, Moved, NewStep};
use super::journal::Journal;
use super::only::outcome;
use super::open::{
    Lost, end_lost, lost_attempt, need_folder, need_workspace, open_workspace, our_variables, show,
    write_origin,
};
use super::picture::{Picture, SettledVisit};
use super::played::end_left_behind;
use super::progress::SettledTask;
use super::records::Records;
use super::visit::{VisitEnd, Visiting};
use super::wish::ResumeWish;
use super::worker::Worker;
use super::{RunEnd, RunEvent, RunReport, RunSettings};
use crate::pipelines::chain::{self, RunChain};
use crate::pipelines::error::PipelineError;
use crate::pipelines::folder::run_root;
use crate::pipelines::loop_times::LoopTimes;
use crate::pipelines::route::{in_general, role};
use crate::pipelines::secrets::masks;
use crate::read::report::StepReport;
use crate::read::thread_state::{ThreadState, ThreadStatus};
use crate::run::owned::OwnedRun;
use crate::thread::active_head;
use crate::{EngineError, Runner};

/// How a process takes a run up.
pub(super) struct Entry<'e> {
    /// The command, for people.
    pub(super) name: &'static str,
    /// How a person wants the run to go on; `None` if nobody resumes it.
    pub(super) resume: Option<&'e ResumeWish>,
    /// How far this process goes.
    pub(super) far: Far<'e>,
    pub(super) settings: &'e RunSettings,
}

/// How far a process goes.
#[derive(Clone, Copy)]
pub(super) enum Far<'e> {
    ToTheEnd,
    OneStep,
    /// To the end. The function gets a report of each step.
    Telling(&'e dyn Fn(&StepReport)),
}

/// A run that a process works on.
pub(super) struct Session<'s, 'a> {
    pub(super) worker: &'s Worker<'a>,
    pub(super) around: &'s Surroundings<'s>,
    pub(super) chain: Chain<'s>,
    pub(super) picture: Picture<'s>,
    pub(super) course: Course,
    pub(super) workflow: CasRef,
    /// The checksum of the workflow file that the run follows.
    pub(super) checksum: String,
    /// What the run was made with.
    run: &'s RunNode,
    pub(super) records: Records<'s>,
    /// The report of the newest step that this process did.
    pub(super) step: StepReport,
    /// When the open loops began.
    pub(super) loops: LoopTimes,
    /// The key of the attempt that was lost, and the attempts that had failed before it.
    failed: Option<(String, Vec<AttemptRecord>)>,
}

/// Works on a run whose lock this process has.
pub(super) fn work(
    runner: &Runner,
    run: &OwnedRun,
    thread: ThreadId,
    entry: &Entry<'_>,
) -> Result<RunReport, EngineError> {
    let site = &runner.site;
    let head = active_head(site, thread)?;
    let start = uwf_thread::Head::read(&site.store, head)?.start();
    let lost = lost_attempt(runner, run, head)?;
    let head = adopt(runner, (run, run.shared.as_ref()), (thread, start, head))?;
    let lost = end_lost(runner, run, (thread, head), lost)?;
    let opened = chain::open(&site.store, (thread, head))?;
    let begun = opened.begun();
    let run_id = chain::id_of(&begun.run, thread);
    let cwd = begun.start.cwd.clone().unwrap_or_default();
    let root = run_root(Path::new(&cwd), &begun.run.state_dir, &run_id);
    need_workspace(site, &cwd)?;
    let notes = need_folder((&root, thread), entry.resume, head == start)?;
    let ours = our_variables(&site.env, &opened);
    let other = entry.resume.and_then(ResumeWish::acceptable);
    let masks = masks(
        &opened,
        other.map(|file| &file.pipeline),
        site.env.variables(),
    );
    let own = process_identity(site.env.process_id()).ok_or(EngineError::NoProc)?;
    let worker = Worker {
        runner,
        run,
        thread,
        run_id,
        journal: Journal::open(&root, &site.env, &masks)?,
        root,
        settings: entry.settings,
        own,
        depth: crate::children::parent_of(thread, &begun.start).map_or(0, |above| above.depth),
        waits: matches!(entry.far, Far::ToTheEnd),
        began: Instant::now(),
    };
    worker.root.remove_drafts()?;
    keep_inherited_files();
    let workspace = open_workspace(runner, &cwd, &worker.root)?;
    let begun = opened.begun();
    let run_node = begun.run.clone();
    let of_run = (thread, worker.run_id.as_str(), &run_node);
    let checksum = opened.checksum();
    let mut picture = Picture::new(&site.env, &worker.root, &masks, of_run, &checksum, head);
    let mut loops = LoopTimes::default();
    let chain = opened.fold(&site.store, thread, &mut |seen| {
        loops.seen(seen);
        show(&site.store, &mut picture, seen)
    })?;
    let around = Surroundings {
        workspace: &workspace,
        ours: &ours,
        masks: &masks,
        signals: &runner.signals,
        grace: GRACE,
    };
    let at = (head, checksum);
    let mut session = Session::begin(&worker, &around, picture, chain, &run_node, at)?;
    session.loops = loops;
    session.work(entry, (lost, &notes))
}

impl<'s, 'a> Session<'s, 'a> {
    /// Returns a session that is about to go on with a run. `at` is its head, and the checksum of the file that it follows.
    fn begin(
        worker: &'s Worker<'a>,
        around: &'s Surroundings<'s>,
        picture: Picture<'s>,
        chain: RunChain,
        run: &'s RunNode,
        (head, checksum): (CasRef, String),
    ) -> Result<Self, EngineError> {
        let (thread, workflow) = (worker.thread, chain.start.workflow);
        let idle = ThreadState::plain(ThreadStatus::Idle);
        Ok(Self {
            worker,
            around,
            chain: Chain::new(
                worker.runner,
                (worker.run, &worker.root),
                (thread, chain.start_hash, head),
                chain.start.cwd.unwrap_or_default(),
            ),
            picture,
            workflow,
            checksum,
            run,
            records: Records::at(&worker.runner.site, &worker.run.ledger, head)?,
            step: StepReport::of_nothing((thread, workflow), head, idle),
            course: chain.course,
            loops: LoopTimes::default(),
            failed: None,
        })
    }
}

impl Session<'_, '_> {
    fn work(
        &mut self,
        entry: &Entry<'_>,
        (lost, notes): (Option<Lost>, &[String]),
    ) -> Result<RunReport, EngineError> {
        if entry.resume.is_none()
            && lost.is_none()
            && let Route::Suspend(stop) = self.course.next()
        {
            let (thread, message) = (self.worker.thread, stop.message());
            return Err(PipelineError::Stopped { thread, message }.into());
        }
        self.worker.tell(&RunEvent::Begins {
            run_id: &self.worker.run_id,
            entry: entry.name,
        })?;
        for note in notes {
            self.worker.tell(&RunEvent::Note(note))?;
        }
        self.picture.begin(entry.name, self.worker.settings.backups);
        if entry.resume.is_some() {
            self.picture.write_if_missing(&self.course)?;
        }
        let goes_on = entry.resume.is_some() || lost.is_some();
        let lost = lost.map(|lost| {
            self.failed = Some((lost.attempt.key.clone(), lost.failed));
            lost.attempt
        });
        self.resume(entry.resume, lost)?;
        if goes_on {
            // The resume is what makes children needless, so it comes first.
            self.chain.move_head()?;
            end_left_behind(self.worker, self.chain.newest(), &self.course.next())?;
        }
        self.picture
            .write_durably(&self.course, RunStatus::Running, None)?;
        write_origin(self.worker, &self.run.source, self.around.masks)?;
        match self.go_on(entry.far).and_then(|end| self.settle(end)) {
            Ok(end) => self.finish(end),
            Err(error) => {
                self.stop_for(&error);
                Err(error)
            }
        }
    }

    /// Leaves the run as it is after an error. What is done is done: the head follows it as far as it can. A remote that gave no answer
    /// is not asked again, and steps that lost a race are kept already.
    fn stop_for(&mut self, error: &EngineError) {
        let is_settled = matches!(
            error,
            EngineError::Sharing(_) | EngineError::HeadMoved { .. }
        );
        if !is_settled {
            let _ = self.chain.move_head();
        }
        let _ = (self.worker.journal).add(&RunEvent::Warning(&error.to_string()));
        let picture = &mut self.picture;
        let _ = picture.write_durably(&self.course, RunStatus::Interrupted, None);
    }

    /// Does steps until there is a reason to stop.
    fn go_on(&mut self, far: Far<'_>) -> Result<RunEnd, EngineError> {
        let signals = &self.worker.runner.signals;
        signals.watch().map_err(|source| EngineError::Io {
            action: "watch for signals".to_owned(),
            source,
        })?;
        loop {
            if let Some(stop) = signals.stop() {
                return Ok(RunEnd::Interrupted(stop.signal));
            }
            if self.worker.run.pause.read()?.is_some() {
                return Ok(RunEnd::Paused);
            }
            let done = match self.course.next() {
                Route::Suspend(stop) => return Ok(RunEnd::Failed(stop)),
                Route::End(end) => {
                    let outcome = outcome(self.run, &self.course, end);
                    return Ok(RunEnd::Completed(outcome));
                }
                Route::Archive { destination } => self.archive(destination.as_deref())?,
                route => match self.looked(route)? {
                    Ok(assignment) => self.visit(&assignment)?,
                    Err(end) => Some(end),
                },
            };
            if let Some(end) = done {
                return Ok(end);
            }
            match far {
                Far::OneStep if self.is_open() => return Ok(RunEnd::StepDone),
                Far::Telling(tell) => {
                    tell(&self.step);
                    self.step.step = None;
                }
                Far::OneStep | Far::ToTheEnd => {}
            }
        }
    }

    fn is_open(&self) -> bool {
        !matches!(self.course.next(), Route::Suspend(_) | Route::End(_))
    }

    /// Follows the conditions that only the disk knows, up to a step.
    fn looked(&self, mut route: Route) -> Result<Result<Box<Assignment>, RunEnd>, EngineError> {
        loop {
            route = match route {
                Route::To(assignment) => return Ok(Ok(assignment)),
                Route::Look {
                    test, holds, fails, ..
                } => match self.around.workspace.holds(&test) {
                    Ok(true) => *holds,
                    Ok(false) => *fails,
                    Err(failure) => fails.refused(failure),
                },
                Route::Suspend(stop) => return Ok(Err(RunEnd::Failed(stop))),
                Route::End(outcome) => return Ok(Err(RunEnd::Completed(outcome))),
                // Nothing asks before the archive.
                Route::Archive { .. } => return Ok(Err(RunEnd::Completed(Outcome::default()))),
            };
        }
    }

    /// Does one step, and adds it to the chain. Returns why the process stops, if it does.
    fn visit(&mut self, assignment: &Assignment) -> Result<Option<RunEnd>, EngineError> {
        self.course.started(&assignment.key);
        if self.move_before(assignment)? == Moved::Ended {
            return Ok(Some(RunEnd::Cancelled));
        }
        let key = assignment.key.to_string();
        let failed = self.failed_before(&key);
        let visiting = Visiting {
            worker: self.worker,
            around: self.around,
            chain: &mut self.chain,
            picture: &mut self.picture,
            course: &self.course,
            assignment,
            failed,
        };
        let task = match visiting.visit() {
            Ok(VisitEnd::Settled(task)) => *task,
            Ok(VisitEnd::Interrupted(stop)) => return Ok(Some(RunEnd::Interrupted(stop.signal))),
            Ok(VisitEnd::Paused) => return Ok(Some(RunEnd::Paused)),
            Ok(VisitEnd::Held(held)) => return Ok(Some(RunEnd::Held(held))),
            Err(EngineError::Ended { .. }) => return Ok(Some(RunEnd::Cancelled)),
            Err(EngineError::Paused { .. }) => return Ok(Some(RunEnd::Paused)),
            Err(error) => return Err(error),
        };
        let warnings = task.warnings(&key);
        let SettledTask {
            result,
            detail,
            prompt,
            started_at_ms,
            duration_ms,
        } = task;
        let (role, agent) = (self.role(&key)?, assignment.agent.to_string());
        let step = NewStep {
            role: role.clone(),
            agent: agent.clone(),
            output: (schemas::RESULT, result_payload(&result)),
            detail: detail.clone(),
            prompt,
            started_at_ms,
            duration_ms,
        };
        let added = self.chain.add(&step)?;
        self.records.add(&step, self.chain.newest());
        let visit = Visit {
            key: assignment.key.clone(),
            result,
            duration_ms,
        };
        let took_ms = self.loops.took(&visit, started_at_ms);
        self.tell_settled(&key, &visit.result, (took_ms, &warnings))?;
        let end = self.settled(&visit, &detail, started_at_ms, &added)?;
        self.step = StepReport {
            step: Some(self.chain.newest()),
            role: Some(role),
            agent: Some(agent),
            duration_ms: Some(duration_ms),
            ..self.report()
        };
        Ok(end)
    }

    /// Moves the head, if the step needs that: a child thread is told the head of the run.
    fn move_before(&mut self, assignment: &Assignment) -> Result<Moved, EngineError> {
        match &assignment.todo {
            Todo::Task(task) => match **task {
                Task::Workflow(_) => self.chain.move_head(),
                Task::Run(_) => self.chain.move_before_program(),
                Task::Wait(_) | Task::Move(_) => Ok(Moved::Yes),
            },
            Todo::Settled(_) => Ok(Moved::Yes),
        }
    }

    /// Returns the attempts at a step that had failed before a process was killed.
    fn failed_before(&mut self, key: &str) -> Vec<AttemptRecord> {
        match self.failed.take() {
            Some((lost, failed)) if lost == key => failed,
            _ => Vec::new(),
        }
    }

    fn tell_settled(
        &self,
        key: &str,
        result: &StepResult,
        (duration_ms, warnings): (u64, &[String]),
    ) -> Result<(), EngineError> {
        self.worker.tell(&RunEvent::Settled {
            key,
            result,
            duration_ms,
        })?;
        for warning in warnings {
            self.worker.tell(&RunEvent::Warning(warning))?;
        }
        Ok(())
    }

    /// Adds a step of the chain to the course and to the picture.
    fn settled(
        &mut self,
        visit: &Visit,
        detail: &VisitNode,
        started_at_ms: i64,
        added: &Added,
    ) -> Result<Option<RunEnd>, EngineError> {
        self.push(Event::Visit(Box::new(visit.clone())))?;
        let settled = SettledVisit {
            visit,
            detail,
            started_at_ms,
            completed_at_ms: added.completed_at_ms,
            output: added.output,
        };
        self.picture
            .settled(&settled, self.chain.newest(), &self.course);
        self.picture.write_if_due(&self.course)?;
        let moved = self.chain.move_if_due()?;
        if self.chain.is_moved() {
            self.records.write_if_due();
        }
        Ok(match moved {
            Moved::Yes => None,
            Moved::Ended => Some(RunEnd::Cancelled),
        })
    }

    pub(super) fn push(&mut self, event: Event) -> Result<(), EngineError> {
        let pushed = self.course.push(event);
        pushed.map_err(|misfit| EngineError::Blocked {
            thread: self.worker.thread,
            source: uwf_moderator::RouteError::Misfit(misfit.to_string()),
        })?;
        if self.worker.run.shared.is_some() {
            let status = head_status(&in_general(&self.course.next()));
            self.chain.leads_to(status);
        }
        Ok(())
    }

    pub(super) fn role(&self, key: &str) -> Result<uwf_protocol::ids::RoleName, EngineError> {
        role(key).map_err(|source| EngineError::Blocked {
            thread: self.worker.thread,
            source,
        })
    }
}
