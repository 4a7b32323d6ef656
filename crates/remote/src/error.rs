//! Why a remote gave no answer, by what the caller can do about it.

/// Why a call failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RemoteError {
    /// No answer came. Whether the call was done is unknown: it can be repeated.
    #[error("the remote cannot be reached: {0}")]
    Away(String),
    /// The remote does not let this user do that.
    #[error("the remote refuses this user: {0}")]
    Denied(String),
    /// The server lets nobody in by this name, from here, in this way.
    #[error("the remote refuses this user: {1}")]
    NotLetIn(Entry, String),
    /// The server has no such database.
    #[error("the server has no such database: {0}")]
    NoDatabase(String),
    /// Nothing of a remote is there.
    #[error("there is no remote there yet")]
    NotMade,
    /// An older version of this program made the remote, and did not make all that this one needs.
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
    /// The answer makes no sense.
    #[error("what the remote answers makes no sense: {0}")]
    Broken(String),
}

/// What keeps a user out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    /// The password is missing or wrong. A server may not tell that from a user that is not there.
    Password,
    /// There is no such user, or it must not log in.
    User,
    /// The server has no rule that lets this user in from this machine.
    Rule,
    /// The keys of an object storage are wrong, or do not open this.
    Keys,
    /// The way there is not encrypted as it must be, or the server is not who it must be.
    Way,
}
