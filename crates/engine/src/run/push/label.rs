//! The labels of pushed threads.

use serde::{Serialize, Serializer};
use uwf_protocol::ids::ThreadId;
use uwf_protocol::naming::Label;
use uwf_remote::{Listed, Remote, RemoteError};
use uwf_storage::State;

use crate::children::has_children;
use crate::sharing::error::SharingError;
use crate::sharing::family::{has_diverged, there};
use crate::sharing::fetch::fetch;
use crate::thread::{self, Thread};
use crate::{EngineError, Outcome, Runner};

/// Which label the pushed threads get.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NewLabel<'a> {
    /// A thread that is shared already keeps its label, and a new one gets none.
    Kept,
    /// This one.
    Set(&'a Label),
    /// None.
    Removed,
}

impl NewLabel<'_> {
    /// Tells whether the label of a thread that is shared already may change.
    pub(super) fn is_change(self) -> bool {
        self != Self::Kept
    }

    /// Returns the label of a new thread.
    pub(super) fn of_new(self) -> Option<Label> {
        match self {
            Self::Set(label) => Some(label.clone()),
            Self::Kept | Self::Removed => None,
        }
    }
}

/// What became of the label of a thread that was shared before and was to get another label or none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub enum Relabelled {
    /// The thread has the new label.
    #[serde(rename = "relabelled", serialize_with = "yes")]
    Set,
    /// The thread has no label any more.
    #[serde(rename = "unlabelled", serialize_with = "yes")]
    Removed,
    /// The thread keeps its label, because the remote does not let this user change it. This is what the remote says. The push
    /// itself was done.
    #[serde(rename = "labelDenied")]
    Denied(String),
}

fn yes<S: Serializer>(serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_bool(true)
}

/// Brings the steps that other machines have done in a thread with children. The ids of the children follow from its head, so a machine
/// that is behind would not know which threads get the label, too.
pub(super) fn bring_new_steps(
    runner: &Runner,
    remote: &mut dyn Remote,
    id: ThreadId,
) -> Result<(), EngineError> {
    let site = &runner.site;
    let Some(head) = State::new(&site.root).head(id)? else {
        // It has ended here, so no child of it is worked on.
        return Ok(());
    };
    let thread = Thread::load(&site.store, id, head)?;
    let may_have_children = has_children(&thread.program) || thread.is_run();
    if !may_have_children || there(remote, id, None)?.is_none() {
        return Ok(());
    }
    match fetch(site, remote, id) {
        Ok(fetched) if fetched.outcome == Outcome::Busy => Err(thread::busy(id, None)),
        Ok(fetched) if fetched.outcome == Outcome::AnswerWaits => {
            (runner.notice)(&format!(
                "others have gone on with thread `{id}`, and an answer to it waits here: children that are only at the remote keep their labels"
            ));
            Ok(())
        }
        // The push says that it has diverged.
        Err(error) if !has_diverged(&error) => Err(error),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Gives a shared thread the wanted label, or takes its own away. Returns `None` if no change was asked for.
pub(super) fn relabel(
    remote: &mut dyn Remote,
    listed: &Listed,
    label: NewLabel<'_>,
) -> Result<Option<Relabelled>, EngineError> {
    let wanted = match label {
        NewLabel::Kept => return Ok(None),
        NewLabel::Set(label) => Some(label),
        NewLabel::Removed => None,
    };
    if listed.label.as_ref() == wanted {
        return Ok(None);
    }
    match remote.set_label(listed.thread, wanted) {
        Ok(()) if wanted.is_some() => Ok(Some(Relabelled::Set)),
        Ok(()) => Ok(Some(Relabelled::Removed)),
        Err(RemoteError::Denied(_, why) | RemoteError::NotLetIn(_, why)) => {
            Ok(Some(Relabelled::Denied(why)))
        }
        Err(error) => Err(SharingError::from(error).into()),
    }
}
