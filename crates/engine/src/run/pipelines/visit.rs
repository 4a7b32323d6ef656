//! One visit of a step: its task is done on the machine, again if it may be repeated, and its result comes back.

use std::ffi::OsString;
use std::time::{Duration, Instant};

use uwf_pipeline::course::{Agent, Assignment, Course, RunTask, Task, Todo, WorkflowTask};
use uwf_pipeline::nodes::{AttemptRecord, LogRecord, VisitDebug, VisitNode};
use uwf_pipeline::state::CurrentStep;
use uwf_pipeline::{Ended, ErrorKind, StepResult, log_name, retry_after};
use uwf_process::{Stop, process_identity};
use uwf_protocol::agent::engine_mark;
use uwf_protocol::agent::env::ATTEMPT;
use uwf_protocol::ids::RoleName;
use uwf_protocol::run::LeaseRecord;
use uwf_runner::{
    Attempt, AttemptEnd, AttemptSpec, NotWanted, Report, Stream, Surroundings, Watcher, attempt,
    wait,
};
use uwf_storage::{RunRoot, Slot};
use uwf_util::time::format_iso;

use super::commit::{Chain, Moved};
use super::glimpse::doing;
use super::picture::Picture;
use super::played::{HeldStep, PlayEnd, Playing};
use super::session::Worker;
use super::{Prompts, RunEvent};
use crate::EngineError;
use crate::run::observer::{Line, Observer};
use crate::run::slots::{NoSlot, Who, take_for_run};

/// How large a log may be that is also kept as a node, in bytes.
const MAX_TEXT: u64 = 64 << 10;
/// How large a prompt may be that is also kept as a node, in bytes.
const MAX_PROMPT: usize = 1 << 20;

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

/// The result of a visit, and how it came.
pub(super) struct SettledTask {
    pub(super) result: StepResult,
    pub(super) detail: VisitNode,
    pub(super) prompt: Option<String>,
    pub(super) started_at_ms: i64,
    pub(super) duration_ms: u64,
}

/// One visit.
pub(super) struct Visiting<'v, 'c, 'p> {
    pub(super) worker: &'v Worker<'v>,
    pub(super) around: &'v Surroundings<'v>,
    pub(super) chain: &'v mut Chain<'c>,
    pub(super) picture: &'v mut Picture<'p>,
    pub(super) course: &'v Course,
    pub(super) assignment: &'v Assignment,
}

/// What is known of a visit after each of its attempts.
struct Progress {
    detail: VisitNode,
    prompt: Option<String>,
    began: Instant,
    started_at_ms: i64,
}

impl Visiting<'_, '_, '_> {
    /// Does what the step says.
    pub(super) fn visit(mut self) -> Result<VisitEnd, EngineError> {
        let progress = Progress {
            detail: VisitNode::new(self.assignment.visit),
            prompt: None,
            began: Instant::now(),
            started_at_ms: self.now_ms(),
        };
        if let Todo::Task(_) = self.assignment.todo {
            let key = self.assignment.key.to_string();
            self.picture
                .back_up(&log_name(&key, self.assignment.visit), self.course)?;
        }
        match &self.assignment.todo {
            Todo::Settled(result) => Ok(progress.settled((**result).clone())),
            Todo::Task(task) => match &**task {
                Task::Run(task) => self.run(task, progress),
                Task::Wait(task) => {
                    let record = self.starts(1)?;
                    self.settle_down()?;
                    let left = self.worker.time_left();
                    let mut line = self.line(&record);
                    let doing = doing(self.course, &self.assignment.key);
                    let attempt =
                        wait(self.around, task, left, &mut || line.look(|| doing.clone()))?;
                    Ok(end_of(attempt, progress))
                }
                Task::Workflow(task) => self.play(task, progress),
                Task::Move(task) => {
                    let result = self.around.workspace.move_item(task, self.around.masks);
                    Ok(progress.settled(result))
                }
            },
        }
    }

    fn now_ms(&self) -> i64 {
        self.worker.runner.site.env.now_ms()
    }

    /// Steps the child thread of a step that starts a workflow.
    fn play(
        &mut self,
        task: &WorkflowTask,
        mut progress: Progress,
    ) -> Result<VisitEnd, EngineError> {
        let record = self.starts(1)?;
        self.picture.write(self.course)?;
        let playing = Playing {
            worker: self.worker,
            around: self.around,
            task,
            key: record.role,
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
        let started_at_ms = progress.started_at_ms;
        progress.add(&settled.result, &report, started_at_ms);
        progress.detail.played = settled.played;
        progress.prompt = Some(task.prompt()).filter(|prompt| prompt.len() <= MAX_PROMPT);
        Ok(progress.settled(settled.result))
    }

    /// Runs a program, again after a failure that another attempt may mend.
    fn run(&mut self, task: &RunTask, mut progress: Progress) -> Result<VisitEnd, EngineError> {
        loop {
            // What a program is paid for must not be lost because the disk fills up meanwhile.
            self.worker.runner.site.root.set_room_aside()?;
            let number = progress.detail.attempts.len() as u64 + 1;
            // It is ours until the attempt is over: dropping it frees it.
            let slot = match self.slot()? {
                Ok(slot) => slot,
                Err(stop) => return Ok(VisitEnd::Interrupted(stop)),
            };
            let record = self.starts(number)?;
            let started_at_ms = self.now_ms();
            let attempt = self.attempt(task, &record)?;
            let result = match attempt.end {
                AttemptEnd::Interrupted(stop) => return Ok(VisitEnd::Interrupted(stop)),
                AttemptEnd::Settled(result) => result,
            };
            progress.add(&result, &attempt.report, started_at_ms);
            self.keep(&attempt.report, &mut progress)?;
            drop(slot);
            let Some(delay) = retry_after(&result, number, task.retries) else {
                return Ok(progress.settled(*result));
            };
            self.settle_down()?;
            if let Some(stop) = self.sleep(Duration::from_millis(delay)) {
                return Ok(VisitEnd::Interrupted(stop));
            }
        }
    }

    /// Brings picture and head up to date, because nothing will happen for a while.
    fn settle_down(&mut self) -> Result<(), EngineError> {
        self.picture.write(self.course)?;
        match self.chain.move_head()? {
            Moved::Yes => Ok(()),
            Moved::Ended => self.worker.check_active(),
        }
    }

    /// Takes a slot for the program of a provider: it counts as an agent. Returns the signal that ended the wait for one.
    fn slot(&mut self) -> Result<Result<Option<Slot>, Stop>, EngineError> {
        if !matches!(self.assignment.agent, Agent::Provider(_)) {
            return Ok(Ok(None));
        }
        let (worker, label) = (self.worker, self.assignment.agent.to_string());
        let role = self.role()?;
        let who = Who {
            thread: worker.thread,
            role: &role,
            agent: &label,
        };
        let until = worker.time_left().map(|left| Instant::now() + left);
        let take = |choice| take_for_run(worker.runner, worker.run, who, (choice, until));
        let mut taken = take(NoSlot::GiveUp);
        if let Err(EngineError::NoSlot { .. }) = &taken {
            self.settle_down()?;
            taken = take(NoSlot::Wait);
        }
        match taken {
            Ok(slot) => Ok(Ok(slot)),
            // The attempt finds that the time of the run is over.
            Err(EngineError::NoSlot { .. }) => Ok(Ok(None)),
            Err(EngineError::WaitInterrupted(signal)) => Ok(Err(Stop {
                signal,
                by_supervisor: false,
            })),
            Err(error) => Err(error),
        }
    }

    fn role(&self) -> Result<RoleName, EngineError> {
        let key = self.assignment.key.to_string();
        crate::pipelines::route::role(&key).map_err(|source| EngineError::Blocked {
            thread: self.worker.thread,
            source,
        })
    }

    /// Puts on record that an attempt begins.
    fn starts(&mut self, number: u64) -> Result<LeaseRecord, EngineError> {
        let worker = self.worker;
        let key = self.assignment.key.to_string();
        let started_at_ms = self.now_ms();
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
    fn line<'r>(&self, record: &'r LeaseRecord) -> Line<'r> {
        let observer = Observer {
            stderr: None,
            progress: self.worker.settings.progress,
        };
        Line::new(observer, &record.role, &record.label)
    }

    /// Returns the variables that tell a program about its run.
    fn told(&self, record: &LeaseRecord) -> Vec<(OsString, OsString)> {
        let worker = self.worker;
        [
            ("ORCHESTRATE_RUN_ID", worker.run_id.clone().into()),
            ("ORCHESTRATE_STEP", self.assignment.key.to_string().into()),
            ("ORCHESTRATE_RUN_ROOT", worker.root.path().into()),
            (ATTEMPT, record.attempt.clone().unwrap_or_default().into()),
        ]
        .map(|(name, value): (&str, OsString)| (name.into(), value))
        .into()
    }

    fn attempt(&mut self, task: &RunTask, record: &LeaseRecord) -> Result<Attempt, EngineError> {
        let (worker, course) = (self.worker, self.course);
        let key = self.assignment.key.to_string();
        let name = log_name(&key, self.assignment.visit);
        let told = self.told(record);
        let settings = worker.settings;
        let spec = AttemptSpec {
            told: &told,
            stdout_log: worker.root.log(&format!("{name}.stdout")),
            max_stdout_log: settings.max_log_bytes,
            stderr_log: worker.root.log(&format!("{name}.stderr")),
            output_text: settings.output_text,
            run_time: worker.time_left(),
            show: &settings.show,
        };
        let mut line = self.line(record);
        let doing = doing(course, &self.assignment.key);
        let mut failed = None;
        let picture = std::cell::RefCell::new(&mut *self.picture);
        let mut started = |pid| {
            picture.borrow_mut().runs(pid);
            let record = LeaseRecord {
                agent: process_identity(pid),
                ..record.clone()
            };
            let recorded = worker.run.lease.write_record(&record);
            let recorded = recorded.map_err(EngineError::from);
            recorded
                .and_then(|()| worker.check_active())
                .map_err(|error| {
                    failed = Some(error);
                    NotWanted
                })
        };
        let mut unwritten = None;
        let chain = &mut *self.chain;
        let mut tick = || {
            line.look(|| doing.clone());
            let written = picture.borrow_mut().write_if_due(course);
            // The steps before this one become durable while it runs.
            let moved = written.and_then(|()| chain.move_if_due());
            let active = moved.and_then(|moved| match moved {
                Moved::Yes => Ok(()),
                Moved::Ended => worker.check_active(),
            });
            active.map_err(|error| {
                unwritten = Some(error);
                NotWanted
            })
        };
        let mut watcher = Watcher {
            started: &mut started,
            tick: &mut tick,
        };
        let attempted = attempt(self.around, task, &spec, &mut watcher);
        match failed.or(unwritten) {
            Some(error) => Err(error),
            None => Ok(attempted?),
        }
    }

    /// Keeps the logs and the prompt of an attempt.
    fn keep(&self, report: &Report, progress: &mut Progress) -> Result<(), EngineError> {
        let (root, run_id) = (&self.worker.root, &self.worker.run_id);
        let mut logs = Vec::new();
        for (stream, log) in &report.logs {
            let text = match log.bytes <= MAX_TEXT {
                true => RunRoot::read_log(&log.path),
                false => None,
            };
            let text = text.map(|text| String::from_utf8_lossy(&text).into_owned());
            let text = text.map(|text| self.chain.put_text(&text)).transpose()?;
            let path = log.path.strip_prefix(root.path()).unwrap_or(&log.path);
            logs.push(LogRecord {
                stream: match stream {
                    Stream::Stdout => uwf_pipeline::nodes::Stream::Stdout,
                    Stream::Stderr => uwf_pipeline::nodes::Stream::Stderr,
                },
                run_id: run_id.clone(),
                path: path.display().to_string(),
                bytes: log.bytes,
                text: text.map(|text| text.as_str().to_owned()),
            });
        }
        progress.detail.logs = logs;
        let Some(prompt) = &report.prompt else {
            return Ok(());
        };
        if self.worker.settings.prompts == Prompts::Kept {
            let name = log_name(&self.assignment.key.to_string(), self.assignment.visit);
            root.write_log(&format!("{name}.prompt.txt"), prompt.as_bytes())?;
        }
        if prompt.len() <= MAX_PROMPT {
            progress.prompt = Some(prompt.clone());
        }
        Ok(())
    }

    /// Waits before the next attempt, or until this process is told to stop. The time of the run does not stop with it.
    fn sleep(&self, delay: Duration) -> Option<Stop> {
        let delay = self
            .worker
            .time_left()
            .map_or(delay, |left| left.min(delay));
        self.worker.runner.signals.sleep(delay)
    }
}

impl Progress {
    fn add(&mut self, result: &StepResult, report: &Report, started_at_ms: i64) {
        self.detail.argv.clone_from(&report.argv);
        self.detail.reads.clone_from(&report.reads);
        self.detail.writes = report.writes.iter().cloned().collect();
        self.detail.debug = VisitDebug {
            cwd: report.ended.map(|_| ".".to_owned()),
            env_count: report.env_count,
            leaked_processes: !report.leaked.is_empty(),
            capture: report.debug.clone(),
        };
        let refused = || match result.error.as_ref().map(|error| error.kind) {
            Some(ErrorKind::Timeout) => Ended::TimedOut,
            Some(ErrorKind::RunTimeout) => Ended::RunTimedOut,
            _ => Ended::Exit(i32::try_from(result.exit_code).unwrap_or(1)),
        };
        self.detail.attempts.push(AttemptRecord {
            ended: report.ended.unwrap_or_else(refused),
            exit_code: result.exit_code,
            started_at_ms,
            duration_ms: whole_ms(report.duration),
            error: result.error.clone(),
        });
    }

    fn settled(self, result: StepResult) -> VisitEnd {
        VisitEnd::Settled(Box::new(SettledTask {
            result,
            detail: self.detail,
            prompt: self.prompt,
            started_at_ms: self.started_at_ms,
            duration_ms: whole_ms(self.began.elapsed()),
        }))
    }
}

/// Returns what came of a task that is not repeated.
fn end_of(attempt: Attempt, mut progress: Progress) -> VisitEnd {
    match attempt.end {
        AttemptEnd::Interrupted(stop) => VisitEnd::Interrupted(stop),
        AttemptEnd::Settled(result) => {
            let started_at_ms = progress.started_at_ms;
            progress.add(&result, &attempt.report, started_at_ms);
            progress.settled(*result)
        }
    }
}

pub(super) fn whole_ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
