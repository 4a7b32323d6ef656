//! Shared threads that are paused on this machine. It leaves them to others when it asks for the next thread, and says so.

use std::collections::HashSet;

use uwf_protocol::ids::ThreadId;
use uwf_util::text::counted;

use crate::failure::note;

/// The paused threads that a worker has told.
#[derive(Default)]
pub(super) struct PausedHere {
    told: HashSet<ThreadId>,
}

impl PausedHere {
    /// Says which threads are paused, each pause once.
    pub(super) fn tell(&mut self, paused: &[ThreadId]) {
        let new = paused.iter().copied();
        let new: Vec<ThreadId> = new.filter(|thread| !self.told.contains(thread)).collect();
        self.told = paused.iter().copied().collect();
        if let Some(text) = left_to_others(&new) {
            note(&text);
        }
    }
}

/// Returns what is said of threads that are paused here, if there are any.
pub(super) fn left_to_others(paused: &[ThreadId]) -> Option<String> {
    match paused {
        [] => None,
        [thread] => Some(format!(
            "thread `{thread}` is paused here and left to other machines; `uwf thread unpause {thread}` lets this one work on it"
        )),
        several => Some(format!(
            "{} are paused here and left to other machines; `uwf thread list --status paused` shows them",
            counted(several.len(), "shared thread")
        )),
    }
}
