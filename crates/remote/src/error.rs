//! Why a call of a remote failed, by what the caller can do about it.

/// Why a call failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RemoteError {
    /// No answer came. Whether the call was done is unknown. It can be repeated.
    #[error("the remote cannot be reached: {0}")]
    Away(String),
    /// The remote answers, and other calls were in the way. The call can be repeated.
    #[error("other calls were in the way at the remote: {0}")]
    Contended(String),
    /// The server ended the call before it was done, because the call took too long, or because somebody wanted it. The call can be
    /// repeated.
    #[error("the server has cancelled the call: {0}")]
    Cancelled(String),
    /// The remote does not let this user do that, because the user lacks a right.
    #[error("the remote refuses this user: {1}")]
    Denied(Right, String),
    /// The remote lets nobody in by this name, with this key, or from here.
    #[error("the remote refuses this user: {1}")]
    NotLetIn(Entry, String),
    /// This machine refuses the server: the server does not prove that it is the right one, or the connection would not be encrypted
    /// as it must be. No password was sent.
    #[error("no safe connection to the server: {1}")]
    NotSafe(Distrust, String),
    /// Something is wrong on this machine. Nothing was sent.
    #[error("this machine cannot ask the remote: {0}")]
    Unprepared(String),
    /// The service refuses the request itself, so its address is not one that can be served.
    #[error("the remote refuses the request: {0}")]
    Refused(String),
    /// The server has no such database.
    #[error("the server has no such database: {0}")]
    NoDatabase(String),
    /// The object storage has no such bucket or container.
    #[error("there is no such bucket or container")]
    NoBucket,
    /// The place is reached, and no remote is there.
    #[error("there is no remote there yet")]
    NotMade,
    /// An older version of this program made the remote, without something that this version needs.
    #[error("an older version of uwf made the remote, and did not make what this needs")]
    NotMigrated,
    /// This program is too old for what is stored there.
    #[error("the remote needs version {least} of its clients, and this program has version {ours}")]
    TooOld {
        /// The least version that it accepts.
        least: u32,
        /// The version of this program.
        ours: u32,
    },
    /// A remote of this kind cannot do that.
    #[error("this remote cannot do that: {0}")]
    Unable(String),
    /// The answer, or what is stored at the remote, makes no sense.
    #[error("the answer of the remote makes no sense: {0}")]
    Broken(String),
}

impl RemoteError {
    /// Says that a call needs this right, if the remote does not let the user make it.
    #[must_use]
    pub fn needing(self, right: Right) -> Self {
        match self {
            Self::Denied(_, said) => Self::Denied(right, said),
            other => other,
        }
    }

    /// Tells whether the same call can succeed later, although nobody changes anything for it.
    #[must_use]
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Away(_) | Self::Contended(_) | Self::Cancelled(_) => true,
            Self::Denied(..)
            | Self::Refused(_)
            | Self::NotLetIn(..)
            | Self::NotSafe(..)
            | Self::Unprepared(_)
            | Self::NoDatabase(_)
            | Self::NoBucket
            | Self::NotMade
            | Self::NotMigrated
            | Self::TooOld { .. }
            | Self::Unable(_)
            | Self::Broken(_) => false,
        }
    }
}

/// What a user of a database lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Right {
    /// A role of the remote, which the owner of its schema grants.
    Role {
        /// The name of the schema. The names of the roles begin with it.
        schema: String,
        /// Whether the user may read all the same. If that is not known, it is false.
        only_reads: bool,
    },
    /// To be the owner of the schema.
    Owner,
    /// To make a schema in the database.
    NewSchema,
}

/// What keeps a user out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    /// The password is missing or wrong. A server may say the same of a user that does not exist.
    Password,
    /// There is no such user, or the user may not log in.
    User,
    /// The server lets in only the user of the system with the same name.
    Peer,
    /// The server has no rule that lets this user in from this machine.
    Rule,
    /// The server has no rule that lets this user in from this machine over a connection that is not encrypted.
    Plain,
    /// The keys of an object storage are missing or wrong, their time is over, or they do not allow this.
    Keys,
}

/// Why a machine does not trust a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Distrust {
    /// An authority that is not known here has signed its certificate.
    Authority,
    /// Its certificate is for another name.
    Name,
    /// The time of its certificate is over, or has not come.
    Time,
    /// Its certificate is of another kind than that of a server.
    Form,
    /// It offers no encryption.
    NoTls,
    /// Both sides agree on no encryption.
    Other,
}
