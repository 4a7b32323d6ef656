//! The errors of an exchange.

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum AcpError {
    /// The agent uses another version of the protocol.
    #[error(
        "the agent speaks version {version} of the agent client protocol, and `uwf` speaks version 1"
    )]
    OtherVersion {
        /// The version, as JSON.
        version: String,
    },
    /// A person must log in first.
    #[error("the agent wants a login: {message}")]
    NotLoggedIn {
        /// What the agent says.
        message: String,
    },
    /// The session to continue does not exist any more.
    #[error("session `{session}` cannot go on: {message}")]
    SessionGone {
        /// The session.
        session: String,
        /// What the agent says.
        message: String,
    },
    /// The agent has no such mode.
    #[error("the agent has no session mode `{mode}`; it has `{offered}`")]
    NoSuchMode {
        /// The mode that was asked for.
        mode: String,
        /// The modes that there are.
        offered: String,
    },
    /// The agent refused a request.
    #[error("`{method}` was refused: {message}")]
    Refused {
        /// The request.
        method: &'static str,
        /// What the agent says.
        message: String,
    },
    /// The agent stopped before it was done.
    #[error("the agent stopped before it was done (stop reason `{reason}`)")]
    Stopped {
        /// The reason, in the words of the protocol.
        reason: String,
    },
}
