//! One visit of a step: its task is done on the machine, again if it may be repeated, and its result comes back.

use uwf_pipeline::course::{Assignment, Course, Task, Todo, WorkflowTask};
use uwf_pipeline::log_name;
use uwf_pipeline::nodes::AttemptRecord;
use uwf_pipeline::state::CurrentStep;
use uwf_process::Stop;
use uwf_protocol::agent::engine_mark;
use uwf_protocol::ids::RoleName;
use uwf_protocol::run::LeaseRecord;
use uwf_runner::{Attempt, AttemptEnd, NotWanted, Report, Surroundings, wait};
use uwf_util::time::format_iso;

use super::RunEvent;
use super::commit::{Chain, Moved};
use super::glimpse::doing;
use super::picture::Picture;
use super::played::{HeldStep, PlayEnd, Playing};
use super::progress::{Progress, SettledTask};
use super::worker::Worker;
use crate::EngineError;
use crate::run::observer::{Line, Observer};

/// How large a prompt may be that is also kept as a node, in bytes.
pub(super) const MAX_PROMPT: usize = 1 << 20;

/// What came of a visit.
pub(super) enum VisitEnd {
    /// It settled.
    Settled(Box<SettledTask>),
    /// This process was told to stop. The attempt stays on record as lost.
    Interrupted(Stop),
    /// A person paused the run.
    Paused,
    /// The child thread of the step cannot go on for now.
    Held(Box<HeldStep>),
}

/// One visit.
pub(super) struct Visiting<'v, 'c, 'p> {
    pub(super) worker: &'v Worker<'v>,
    pub(super) around: &'v Surroundings<'v>,
    pub(super) chain: &'v mut Chain<'c>,
    pub(super) picture: &'v mut Picture<'p>,
    pub(super) course: &'v Course,
    pub(super) assignment: &'v Assignment,
    /// The attempts that failed before a process was killed.
    pub(super) failed: Vec<AttemptRecord>,
}

impl Visiting<'_, '_, '_> {
    /// Does what the step says. What comes of it has no secrets.
    pub(super) fn visit(mut self) -> Result<VisitEnd, EngineError> {
        let failed = std::mem::take(&mut self.failed);
        let progress = Progress::begin(self.assignment.visit, failed, self.now_ms());
        if let Todo::Task(_) = self.assignment.todo {
            let key = self.assignment.key.to_string();
            self.picture
                .back_up(&log_name(&key, self.assignment.visit), self.course)?;
        }
        let masks = self.around.masks;
        let mut end = self.end_of(progress)?;
        if let VisitEnd::Settled(task) = &mut end {
            task.mask(masks);
        }
        Ok(end)
    }

    fn end_of(&mut self, progress: Progress) -> Result<VisitEnd, EngineError> {
        match &self.assignment.todo {
            Todo::Settled(result) => Ok(progress.settled((**result).clone())),
            Todo::Task(task) => match &**task {
                Task::Run(task) => self.run(task, progress),
                Task::Wait(task) => {
                    let record = self.starts(&progress)?;
                    self.settle_down()?;
                    let left = self.worker.run_time();
                    let mut line = self.line(&record);
                    let doing = doing(self.course, &self.assignment.key);
                    let mut lost = None;
                    let mut tick = || {
                        line.look(|| doing.clone());
                        self.worker.check_leased().map_err(|error| {
                            lost = Some(error);
                            NotWanted
                        })
                    };
                    let waited = wait(self.around, task, left, &mut tick);
                    match lost {
                        Some(error) => Err(error),
                        None => Ok(end_of_one(waited?, progress, record.started_at_ms)),
                    }
                }
                Task::Workflow(task) => self.play(task, progress),
                Task::Move(task) => {
                    let result = self.around.workspace.move_item(task, self.around.masks)?;
                    Ok(progress.settled(result))
                }
            },
        }
    }

    pub(super) fn now_ms(&self) -> i64 {
        self.worker.runner.site.env.now_ms()
    }

    /// Steps the child thread of a step that starts a workflow.
    fn play(
        &mut self,
        task: &WorkflowTask,
        mut progress: Progress,
    ) -> Result<VisitEnd, EngineError> {
        let record = self.starts(&progress)?;
        self.picture.write(self.course)?;
        let playing = Playing {
            worker: self.worker,
            around: self.around,
            task,
            key: record.role.clone(),
            head: self.chain.newest(),
        };
        let settled = match playing.play()? {
            PlayEnd::Interrupted(stop) => return Ok(VisitEnd::Interrupted(stop)),
            PlayEnd::Paused => return Ok(VisitEnd::Paused),
            PlayEnd::Held(held) => return Ok(VisitEnd::Held(held)),
            PlayEnd::Settled(settled) => *settled,
        };
        let report = Report {
            duration: progress.began.elapsed(),
            reads: settled.reads,
            ..Report::default()
        };
        progress.add(&settled.result, &report, record.started_at_ms);
        progress.detail.played = settled.played;
        let prompt = self.around.masks.text(&task.prompt());
        progress.prompt = Some(prompt).filter(|prompt| prompt.len() <= MAX_PROMPT);
        Ok(progress.settled(settled.result))
    }

    /// Brings picture and head up to date, because nothing will happen for a while.
    pub(super) fn settle_down(&mut self) -> Result<(), EngineError> {
        self.picture.write(self.course)?;
        match self.chain.move_head()? {
            Moved::Yes => Ok(()),
            Moved::Ended => self.worker.check_active(),
        }
    }

    pub(super) fn role(&self) -> Result<RoleName, EngineError> {
        let key = self.assignment.key.to_string();
        crate::pipelines::route::role(&key).map_err(|source| EngineError::Blocked {
            thread: self.worker.thread,
            source,
        })
    }

    /// Puts on record that an attempt begins.
    pub(super) fn starts(&mut self, progress: &Progress) -> Result<LeaseRecord, EngineError> {
        let worker = self.worker;
        let key = self.assignment.key.to_string();
        let (number, started_at_ms) = (progress.next_number(), self.now_ms());
        let record = LeaseRecord {
            engine: worker.own.clone(),
            agent: None,
            label: self.assignment.agent.to_string(),
            // No other attempt has this mark.
            attempt: Some(format!(
                "{}/{}/{number}",
                engine_mark(&worker.own),
                self.chain.newest()
            )),
            head: Some(self.chain.newest()),
            replaces: None,
            keep_running: false,
            role: self.role()?,
            started_at_ms,
            waiting: false,
            words: None,
            number: Some(number),
            failed: progress.detail.attempts.clone(),
            chosen: None,
        };
        worker.run.lease.write_record(&record)?;
        let event = RunEvent::Started {
            key: &key,
            attempt: number,
        };
        worker.tell(&event)?;
        let current = CurrentStep {
            key,
            attempt: number,
            visit: self.assignment.visit,
            pid: None,
            started_at: format_iso(started_at_ms),
        };
        self.picture
            .started(&self.assignment.key, current, started_at_ms, self.course);
        Ok(record)
    }

    /// Returns the line that shows how far an attempt is.
    pub(super) fn line<'r>(&self, record: &'r LeaseRecord) -> Line<'r> {
        let observer = Observer {
            stderr: None,
            progress: self.worker.settings.progress,
        };
        Line::new(observer, &record.role, &record.label)
    }
}

/// Returns what came of a task that is not repeated.
fn end_of_one(attempt: Attempt, mut progress: Progress, started_at_ms: i64) -> VisitEnd {
    match attempt.end {
        AttemptEnd::Interrupted(stop) => VisitEnd::Interrupted(stop),
        AttemptEnd::Settled(result) => {
            progress.add(&result, &attempt.report, started_at_ms);
            progress.settled(*result)
        }
    }
}
