//! A storage root with its store, and what every operation needs of it: creating it, drawing an id, logging.

use uwf_cas_fs::Store;
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_storage::{Env, LastUsed, Root, State, Tag, shared_roots};
use uwf_util::mask::Masks;

use crate::thread::Thread;
use crate::{EngineError, tags};

/// A storage root with its store. Operations on it start no agent. The threads of a process may share it.
pub struct Site {
    /// The machine: variables, directory, clock.
    pub env: Env,
    /// The storage root.
    pub root: Root,
    /// The content-addressed store.
    pub store: Store,
}

impl Site {
    /// Creates the storage root and the store unless they exist.
    ///
    /// # Errors
    /// When they cannot be created.
    pub fn create(&self) -> Result<(), EngineError> {
        self.root.create()?;
        self.store.create(self.env.now_ms())?;
        self.enlist()
    }

    /// Makes sure that the result of what is paid for next can be recorded.
    ///
    /// # Errors
    /// When the disk is full, or the files of the state have lost something.
    pub(crate) fn ready_to_record(&self) -> Result<(), EngineError> {
        self.root.set_room_aside()?;
        Ok(State::new(&self.root).check_if_changed()?)
    }

    /// Puts the root on the list of a store that it shares: the garbage collector asks every root on the list.
    pub(crate) fn enlist(&self) -> Result<(), EngineError> {
        Ok(shared_roots::register(self.store.dir(), &self.root)?)
    }

    pub(crate) fn new_thread_id(&self) -> Result<ThreadId, EngineError> {
        let now = u64::try_from(self.env.now_ms()).unwrap_or(0);
        let random = self.env.random().map_err(|source| EngineError::Io {
            action: "get random bits from the kernel".to_owned(),
            source,
        })?;
        Ok(ThreadId::new(now, random))
    }

    /// Records that a person, or a program, works on a thread in our directory: `-` stands for it from now on.
    pub(crate) fn note_use(&self, thread: ThreadId) {
        LastUsed::of(&self.root).record(thread, self.env.cwd());
    }

    /// Logs why an operation on a thread was refused. A failed attempt has its own log line already.
    pub(crate) fn log_refusal(&self, thread: ThreadId, error: &EngineError) {
        if matches!(
            error,
            EngineError::Agent(_) | EngineError::Interrupted { .. } | EngineError::TakenOver(_)
        ) {
            return;
        }
        let message = format!(
            "exit={} error={}",
            error.exit().code(),
            self.loggable(error)
        );
        self.log_line(tags::REFUSED, &message, Some(thread), None);
    }

    /// Returns a problem as the log may show it: one line, without the known secrets, which the text of an agent may have.
    pub(crate) fn loggable(&self, problem: &impl ToString) -> String {
        let text = self.secrets().text(&problem.to_string());
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// Returns the masks for the known secrets: the values of `.env`, and the keys of the config.
    pub(crate) fn secrets(&self) -> Masks {
        uwf_config::secrets(&self.root, &self.env)
    }

    /// Returns the masks for what programs show of themselves, such as their command lines.
    pub(crate) fn secrets_in_output(&self) -> Masks {
        uwf_config::secrets_in_output(&self.root, &self.env)
    }

    /// Logs an event of a thread.
    pub(crate) fn log(&self, thread: &Thread, tag: Tag, message: &str) {
        self.log_line(tag, message, Some(thread.id), Some(thread.start.workflow));
    }

    /// Emits an event of the process log. The caller of the engine decides where it is written.
    pub(crate) fn log_line(
        &self,
        tag: Tag,
        message: &str,
        thread: Option<ThreadId>,
        workflow: Option<CasRef>,
    ) {
        tracing::info!(
            tag = tag.as_str(),
            event = tag.name(),
            thread = thread.as_ref().map(ThreadId::as_str),
            workflow = workflow.as_ref().map(CasRef::as_str),
            "{message}"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_of_a_process_may_share_a_site() {
        fn is_shared<T: Send + Sync>() {}
        is_shared::<Site>();
    }
}
