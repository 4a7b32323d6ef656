//! Visits of steps that run a program: its attempts, one after the other.

use std::cell::RefCell;
use std::ffi::OsString;
use std::time::Duration;

use uwf_pipeline::course::{Agent, RunTask};
use uwf_pipeline::nodes::LogRecord;
use uwf_pipeline::{env, log_name, retry_after};
use uwf_process::{Stop, process_identity};
use uwf_protocol::agent::env::ATTEMPT;
use uwf_protocol::run::LeaseRecord;
use uwf_runner::{Attempt, AttemptEnd, AttemptSpec, NotWanted, Report, Stream, Watcher, attempt};
use uwf_storage::{RunRoot, Slot};

use super::commit::Moved;
use super::glimpse::doing;
use super::progress::Progress;
use super::visit::{MAX_PROMPT, VisitEnd, Visiting};
use super::{Prompts, RunEvent};
use crate::EngineError;
use crate::run::slots::{NoSlot, take_for_run};
use crate::run::waiting::Who;

/// How large a log may be that is also kept as a node, in bytes.
const MAX_TEXT: u64 = 64 << 10;

impl Visiting<'_, '_, '_> {
    /// Runs a program, again after a failure that another attempt may mend.
    pub(super) fn run(
        &mut self,
        task: &RunTask,
        mut progress: Progress,
    ) -> Result<VisitEnd, EngineError> {
        self.tell_unused(task)?;
        let mut tried = None;
        loop {
            self.worker.runner.site.ready_to_record()?;
            let number = progress.next_number();
            // It is ours until the attempt is over: dropping it frees it.
            let slot = match self.slot()? {
                Ok(slot) => slot,
                Err(stop) => return Ok(VisitEnd::Interrupted(stop)),
            };
            // The wait for a slot, or for the next attempt, may have been long.
            self.worker.check_leased()?;
            let record = self.starts(&progress)?;
            let files = tried.get_or_insert_with(|| self.files_before(&record));
            let started_at_ms = record.started_at_ms;
            let attempt = self.attempt(task, &record)?;
            let result = match attempt.end {
                AttemptEnd::Interrupted(stop) => return Ok(VisitEnd::Interrupted(stop)),
                AttemptEnd::Settled(result) => result,
            };
            progress.add(&result, &attempt.report, started_at_ms);
            self.keep(&attempt.report, &mut progress)?;
            drop(slot);
            let Some(delay) = retry_after(&result, number, task.retries) else {
                progress.detail.files = self.files_after(&record, files.take());
                return Ok(progress.settled(*result));
            };
            // A kill from now on does not bring the failed attempt back.
            self.worker.run.lease.write_record(&LeaseRecord {
                number: Some(progress.next_number()),
                failed: progress.detail.attempts.clone(),
                ..record
            })?;
            self.settle_down()?;
            if let Some(stop) = self.sleep(Duration::from_millis(delay)) {
                return Ok(VisitEnd::Interrupted(stop));
            }
        }
    }

    /// Tells of parameters that do nothing: the command line of the provider does not mention them.
    fn tell_unused(&self, task: &RunTask) -> Result<(), EngineError> {
        if task.unused_params.is_empty() {
            return Ok(());
        }
        let (key, agent) = (&self.assignment.key, &self.assignment.agent);
        let unused = task.unused_params.join("`, `");
        self.worker.tell(&RunEvent::Detail(&format!(
            "{key}: the command line of {agent} does not mention the parameter `{unused}`"
        )))
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
        let until = worker.deadline();
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

    /// Returns the variables that tell a program about its run.
    fn told(&self, record: &LeaseRecord) -> Vec<(OsString, OsString)> {
        let worker = self.worker;
        let key = self.assignment.key.to_string();
        // It stays the same when the step is done again after a kill or a failure.
        let entry = log_name(&key, self.assignment.first_visit);
        [
            (env::RUN_ID, worker.run_id.clone().into()),
            (env::STEP, key.into()),
            (env::ENTRY, entry.into()),
            (env::RUN_ROOT, worker.root.path().into()),
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
            run_time: worker.run_time(),
            show: &settings.show,
        };
        let mut line = self.line(record);
        let doing = doing(course, &self.assignment.key);
        let mut failed = None;
        let picture = RefCell::new(&mut *self.picture);
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
            let leased = written.and_then(|()| worker.check_leased());
            let moved = leased.and_then(|()| chain.move_meanwhile());
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
