//! The labels of threads that are pushed.

use serde::{Serialize, Serializer};
use uwf_protocol::naming::Label;
use uwf_remote::{Listed, Remote, RemoteError};

use crate::EngineError;
use crate::sharing::error::SharingError;

/// Which label the threads get that are pushed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NewLabel<'a> {
    /// A thread that is shared already keeps what it has, and a new one gets none.
    Kept,
    /// This one.
    Set(&'a Label),
    /// None.
    Removed,
}

impl NewLabel<'_> {
    /// Tells whether threads that are shared already may change.
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

/// What became of the label of a thread that was shared before, if another one was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub enum Relabelled {
    /// It has that one now.
    #[serde(rename = "relabelled", serialize_with = "yes")]
    Set,
    /// It has none any more.
    #[serde(rename = "unlabelled", serialize_with = "yes")]
    Removed,
    /// It has kept its own, for this reason: the remote does not let this user change it. What was pushed is pushed.
    #[serde(rename = "labelDenied")]
    Denied(String),
}

fn yes<S: Serializer>(serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_bool(true)
}

/// Gives a shared thread the label that is asked for, or takes its own away. Returns `None` if nothing else was asked for than it has.
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
        Err(RemoteError::Denied(why) | RemoteError::NotLetIn(_, why)) => {
            Ok(Some(Relabelled::Denied(why)))
        }
        Err(error) => Err(SharingError::from(error).into()),
    }
}
