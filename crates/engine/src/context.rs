//! What every operation does with the engine itself: make the store, draw an id, write a log line.

use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_storage::{ProcessLog, Tag, users};

use crate::thread::Thread;
use crate::{Engine, EngineError};

impl Engine {
    /// Makes the storage root and the store if they are not there.
    ///
    /// # Errors
    /// When they cannot be made.
    pub fn create(&self) -> Result<(), EngineError> {
        self.root.create()?;
        self.store.create(self.env.now_ms())?;
        self.enlist()
    }

    /// Puts the root on the list of those who use the store, if it is not its own: whoever collects garbage asks them.
    pub(crate) fn enlist(&self) -> Result<(), EngineError> {
        Ok(users::enlist(self.store.dir(), &self.root)?)
    }

    pub(crate) fn new_thread_id(&self) -> ThreadId {
        let now = u64::try_from(self.env.now_ms()).unwrap_or(0);
        ThreadId::new(now, self.env.random())
    }

    pub(crate) fn log(&self, thread: &Thread, tag: Tag, message: &str) {
        self.log_line(tag, message, Some(thread.id), Some(thread.start.workflow));
    }

    pub(crate) fn log_line(
        &self,
        tag: Tag,
        message: &str,
        thread: Option<ThreadId>,
        workflow: Option<CasRef>,
    ) {
        ProcessLog::new(&self.root, &self.env).write(tag, message, thread, workflow);
    }
}
