//! The labels of threads that are pushed.

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

/// What became of the label of a shared thread.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Relabelled {
    /// Whether it got another one.
    pub(super) relabelled: bool,
    /// Whether it lost its own.
    pub(super) unlabelled: bool,
    /// Why it kept its own, if this user must not change it: what was pushed is pushed.
    pub(super) denied: Option<String>,
}

/// Gives a shared thread its new label.
pub(super) fn relabel(
    remote: &mut dyn Remote,
    listed: &Listed,
    label: NewLabel<'_>,
) -> Result<Relabelled, EngineError> {
    let wanted = match label {
        NewLabel::Kept => listed.label.as_ref(),
        NewLabel::Set(label) => Some(label),
        NewLabel::Removed => None,
    };
    if listed.label.as_ref() == wanted {
        return Ok(Relabelled::default());
    }
    match remote.set_label(listed.thread, wanted) {
        Ok(()) => Ok(Relabelled {
            relabelled: wanted.is_some(),
            unlabelled: wanted.is_none(),
            denied: None,
        }),
        Err(RemoteError::Denied(why) | RemoteError::NotLetIn(_, why)) => Ok(Relabelled {
            denied: Some(why),
            ..Relabelled::default()
        }),
        Err(error) => Err(SharingError::from(error).into()),
    }
}
