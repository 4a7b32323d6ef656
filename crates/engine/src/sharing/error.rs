//! Errors about threads that several machines work on.

use std::time::Duration;

use uwf_protocol::exit::Exit;
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_remote::{Owner, RemoteError};
use uwf_util::printable::printable;
use uwf_util::time::format_duration;

/// Why a thread cannot be shared, or not be worked on here.
#[derive(Debug, thiserror::Error)]
pub enum SharingError {
    /// The config names no remote.
    #[error("no remote is configured")]
    NoRemote,
    /// The thread is shared, and the config names no remote.
    #[error("thread `{0}` is shared, and no remote is configured")]
    NoRemoteOf(ThreadId),
    /// The address or the schema of the remote cannot be used.
    #[error("the remote cannot be used: {0}")]
    BadRemote(String),
    /// A call of the remote failed.
    #[error(transparent)]
    Remote(#[from] RemoteError),
    /// A step is finished, and the remote did not get it. It is on record here.
    #[error("a finished step of thread `{thread}` waits here: {error}")]
    Waits {
        /// The thread.
        thread: ThreadId,
        /// Why the remote did not get it.
        error: RemoteError,
    },
    /// This root may lack records of shared threads, and the remote could not be asked.
    #[error("it is not known whether thread `{thread}` is shared: {error}")]
    Unasked {
        /// The thread.
        thread: ThreadId,
        /// Why the remote could not be asked.
        error: RemoteError,
    },
    /// The thread is shared by another remote than that of the config.
    #[error(
        "thread `{thread}` {} shared by the remote with the id `{known}`; the remote of the config has the id `{found}`",
        if *presumed { "may be" } else { "is" }
    )]
    OtherRemote {
        /// The thread.
        thread: ThreadId,
        /// The id of the remote that shares it.
        known: String,
        /// The id of the remote of the config.
        found: String,
        /// Whether that is only presumed, because that remote could not be asked.
        presumed: bool,
    },
    /// The remote does not know the thread.
    #[error("thread `{0}` is not at the remote: it was never pushed, or the remote has lost it")]
    Unknown(ThreadId),
    /// A record here says that the thread is shared, and the thread is neither here nor at the remote.
    #[error(
        "a record here says that thread `{0}` is shared, and it is neither here nor at the remote"
    )]
    OnlyRecord(ThreadId),
    /// Another machine works on the thread.
    #[error(
        "thread `{thread}` is busy: {} works on it; its lease ends in {} unless it is renewed",
        machine_of(owner),
        format_duration(u64::try_from(left.as_millis()).unwrap_or(u64::MAX))
    )]
    Busy {
        /// The thread.
        thread: ThreadId,
        /// Who works on it.
        owner: Box<Owner>,
        /// How long its lease still lasts.
        left: Duration,
    },
    /// The thread went on here and elsewhere.
    #[error(
        "thread `{thread}` has gone on in two ways: here it is at `{here}`, and at the remote at `{there}`"
    )]
    Diverged {
        /// The thread.
        thread: ThreadId,
        /// Its head here.
        here: CasRef,
        /// Its head at the remote.
        there: CasRef,
    },
    /// The thread is ahead of the remote.
    #[error("thread `{thread}` is at `{here}`, and at the remote still at `{there}`")]
    Ahead {
        /// The thread.
        thread: ThreadId,
        /// Its head here.
        here: CasRef,
        /// Its head at the remote.
        there: CasRef,
    },
    /// Different nodes are at the remote under these hashes.
    #[error("the remote has other content under `{}`", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("`, `"))]
    Clash(Vec<CasRef>),
    /// Other machines would not find a child of the thread.
    #[error(
        "thread `{thread}` cannot be shared now: other machines would not find thread `{child}`, which works for it"
    )]
    HiddenChild {
        /// The thread.
        thread: ThreadId,
        /// The child.
        child: ThreadId,
    },
    /// The thread works for another one, which is not shared.
    #[error("thread `{thread}` cannot be shared alone: it works for thread `{parent}`")]
    IsChild {
        /// The thread.
        thread: ThreadId,
        /// The thread at the top of the family.
        parent: ThreadId,
    },
    /// The lease of a thread ended while this process worked on it.
    #[error(
        "thread `{0}` is no longer leased to this machine: another one has taken it over, or a person has ended the lease"
    )]
    TakenOver(ThreadId),
    /// The remote has no such name.
    #[error("no workflow has the name `{0}` at the remote")]
    UnknownName(String),
    /// The name cannot be that of a workflow.
    #[error("the name cannot be shared: {0}")]
    BadName(String),
    /// A name stands for different workflows here and at the remote, and it is unknown which of them is newer.
    #[error("the name `{name}` stands for `{here}` here, and for `{there}` at the remote")]
    NameDiffers {
        /// The name.
        name: String,
        /// What it stands for here.
        here: CasRef,
        /// What it stands for at the remote.
        there: CasRef,
        /// Whether it stood at the remote for what it stands for here.
        had: bool,
    },
    /// The thread was pushed, and the remote refused the new label.
    #[error("thread `{thread}` keeps its label: the remote refuses this user: {why}")]
    LabelDenied {
        /// The thread.
        thread: ThreadId,
        /// What the remote says.
        why: String,
    },
    /// A person wants to end the thread, and the remote does not let this user end it. It has not ended here, either.
    #[error("thread `{thread}` goes on, here and at the remote: {error}")]
    EndDenied {
        /// The thread.
        thread: ThreadId,
        /// What the remote says.
        error: RemoteError,
    },
    /// A person has ended the thread here, and the remote was not told. So it cannot be forgotten here, or others have gone on with
    /// it.
    #[error("thread `{0}` was ended here, and the other machines do not know it yet")]
    EndNotTold(ThreadId),
    /// The command would move the head of a shared thread only here.
    #[error("thread `{thread}` is shared, and `{command}` would change it only here")]
    OnlyHere {
        /// The thread.
        thread: ThreadId,
        /// The command.
        command: &'static str,
    },
}

impl SharingError {
    /// Returns the error for a thread on which another machine works.
    pub(crate) fn busy(thread: ThreadId, owner: Owner, left: Duration) -> Self {
        Self::Busy {
            thread,
            owner: Box::new(owner),
            left,
        }
    }

    /// Says that the thread is shared, if this says that there is no remote.
    pub(crate) fn about(self, thread: ThreadId) -> Self {
        match self {
            Self::NoRemote => Self::NoRemoteOf(thread),
            other => other,
        }
    }

    /// Says that a finished step of a thread waits here, if this is an error of the remote.
    pub(crate) fn while_step_waits(self, thread: ThreadId) -> Self {
        match self {
            Self::Remote(error) => Self::Waits { thread, error },
            other => other,
        }
    }

    /// Says that it is not known whether a thread is shared, if this is an error of the remote.
    pub(crate) fn while_unasked(self, thread: ThreadId) -> Self {
        match self {
            Self::Remote(error) => Self::Unasked { thread, error },
            other => other,
        }
    }

    /// Returns the error for a remote that removes nodes again and again that were just sent.
    pub(crate) fn forgets() -> Self {
        let problem = "it forgets nodes that were just sent".to_owned();
        Self::Remote(RemoteError::Broken(problem))
    }

    /// Returns the error of the remote, if this is one: of a call, or of one that has left a finished step here.
    #[must_use]
    pub fn of_remote(&self) -> Option<&RemoteError> {
        match self {
            Self::Remote(error)
            | Self::Waits { error, .. }
            | Self::Unasked { error, .. }
            | Self::EndDenied { error, .. } => Some(error),
            Self::NoRemote
            | Self::NoRemoteOf(_)
            | Self::BadRemote(_)
            | Self::OtherRemote { .. }
            | Self::Unknown(_)
            | Self::OnlyRecord(_)
            | Self::Busy { .. }
            | Self::Diverged { .. }
            | Self::Ahead { .. }
            | Self::Clash(_)
            | Self::HiddenChild { .. }
            | Self::IsChild { .. }
            | Self::TakenOver(_)
            | Self::UnknownName(_)
            | Self::BadName(_)
            | Self::NameDiffers { .. }
            | Self::LabelDenied { .. }
            | Self::EndNotTold(_)
            | Self::OnlyHere { .. } => None,
        }
    }

    /// Returns the exit of a call that fails with this error.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Busy { .. } | Self::TakenOver(_) => Exit::Busy,
            Self::Remote(error)
            | Self::Waits { error, .. }
            | Self::Unasked { error, .. }
            | Self::EndDenied { error, .. } => exit_of(error),
            Self::Clash(_) => Exit::Store,
            Self::NoRemote
            | Self::NoRemoteOf(_)
            | Self::BadRemote(_)
            | Self::OtherRemote { .. }
            | Self::Unknown(_)
            | Self::OnlyRecord(_)
            | Self::Diverged { .. }
            | Self::Ahead { .. }
            | Self::HiddenChild { .. }
            | Self::IsChild { .. }
            | Self::UnknownName(_)
            | Self::BadName(_)
            | Self::NameDiffers { .. }
            | Self::LabelDenied { .. }
            | Self::EndNotTold(_)
            | Self::OnlyHere { .. } => Exit::Request,
        }
    }
}

/// Returns the exit of a call that fails because the remote failed.
fn exit_of(error: &RemoteError) -> Exit {
    match error {
        RemoteError::Away(_) | RemoteError::Contended(_) | RemoteError::Cancelled(_) => Exit::Busy,
        RemoteError::Broken(_) => Exit::Store,
        RemoteError::Denied(..)
        | RemoteError::Refused(_)
        | RemoteError::NotLetIn(..)
        | RemoteError::NotSafe(..)
        | RemoteError::Unprepared(_)
        | RemoteError::NoDatabase(_)
        | RemoteError::NoBucket
        | RemoteError::NotMade
        | RemoteError::NotMigrated
        | RemoteError::TooOld { .. }
        | RemoteError::Unable(_) => Exit::Request,
    }
}

/// Returns what people call the machine of an owner: its name, or its number if it has none.
#[must_use]
pub fn machine_of(owner: &Owner) -> String {
    match printable(&owner.name) {
        name if name.is_empty() => format!("machine {}", owner.machine),
        name => format!("machine `{name}`"),
    }
}
