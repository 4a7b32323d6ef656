//! What a process does when it stops working on a run.

use uwf_pipeline::state::RunStatus;

use super::commit::Moved;
use super::picture::{cancelled, error_of};
use super::session::Session;
use super::{RunEnd, RunEvent, RunReport};
use crate::EngineError;
use crate::pipelines::route::in_general;
use crate::read::report::StepReport;
use crate::read::thread_state::ThreadState;

impl Session<'_, '_> {
    /// Moves the head to the newest step. Returns how the process ends: a person may have ended the thread meanwhile.
    pub(super) fn settle(&mut self, end: RunEnd) -> Result<RunEnd, EngineError> {
        let moved = match &end {
            RunEnd::Completed(_) => self.chain.complete(self.workflow)?,
            RunEnd::Cancelled => Moved::Ended,
            _ => match self.chain.move_head()? {
                Moved::Yes => self.is_active()?,
                Moved::Ended => Moved::Ended,
            },
        };
        let end = match moved {
            Moved::Yes => end,
            Moved::Ended => RunEnd::Cancelled,
        };
        // An interrupted attempt stays on record: the next process names it.
        if !matches!(end, RunEnd::Interrupted(_)) {
            self.worker.run.lease.clear_record()?;
        }
        Ok(end)
    }

    /// Writes the last picture of this process, whose work has settled.
    pub(super) fn finish(&mut self, end: RunEnd) -> Result<RunReport, EngineError> {
        let (status, error) = match &end {
            RunEnd::Completed(_) | RunEnd::NothingToDo => (RunStatus::Completed, None),
            RunEnd::Failed(stop) => (RunStatus::Failed, stop.result.error.clone()),
            RunEnd::Cancelled => (RunStatus::Failed, Some(cancelled())),
            RunEnd::Held(held) => (RunStatus::Interrupted, Some(error_of(held.failure()))),
            RunEnd::Interrupted(_) | RunEnd::Paused | RunEnd::StepDone => {
                (RunStatus::Interrupted, None)
            }
        };
        if !matches!(end, RunEnd::Cancelled) {
            self.records.write_last(&self.course.next());
        }
        self.picture.write_durably(&self.course, status, error)?;
        let step = StepReport {
            head: self.chain.newest(),
            state: self.report().state,
            ..self.step.clone()
        };
        if let RunEnd::Completed(_) = &end {
            self.tell_of_claimed_tasks()?;
        }
        let worker = self.worker;
        worker.tell(&RunEvent::Ends {
            run_id: &worker.run_id,
            status,
        })?;
        let report = RunReport::new(
            worker.thread,
            &worker.run_id,
            &worker.root,
            end,
            (worker.began.elapsed(), step),
        );
        Ok(RunReport {
            max_transitions: self.course.steering().max_transitions,
            ..report
        })
    }

    /// Says which tasks a completed run has claimed and not put anywhere: nobody else finds them.
    fn tell_of_claimed_tasks(&self) -> Result<(), EngineError> {
        let (queues, run_id) = (&self.course.pipeline().queues, &self.worker.run_id);
        let Some(folder) = queues.claimed_dir(run_id) else {
            return Ok(());
        };
        let tasks = match self.around.workspace.tasks(&folder, &queues.task_extension) {
            Ok(tasks) => tasks.paths,
            Err(failure) => return self.worker.tell(&RunEvent::Warning(&failure.message)),
        };
        let Some(first) = tasks.first() else {
            return Ok(());
        };
        let left = match tasks.len() {
            1 => format!("`{first}`, which it claimed, is left"),
            count => format!("{count} tasks that it claimed are left, such as `{first}`"),
        };
        self.worker.tell(&RunEvent::Warning(&format!(
            "the run is completed, and {left}; `uwf orchestrate task list {folder}` shows what is left"
        )))
    }

    /// Tells whether the thread is active, even if nothing moved its head: a person may have ended it.
    fn is_active(&self) -> Result<Moved, EngineError> {
        match self.worker.check_active() {
            Ok(()) => Ok(Moved::Yes),
            Err(EngineError::Ended { .. }) => Ok(Moved::Ended),
            Err(error) => Err(error),
        }
    }

    /// Returns the report of a run as it stands, without a step.
    pub(super) fn report(&self) -> StepReport {
        let at = (self.worker.thread, self.workflow);
        let state = ThreadState::of_active(&in_general(&self.course.next()));
        StepReport::of_nothing(at, self.chain.newest(), state)
    }
}
