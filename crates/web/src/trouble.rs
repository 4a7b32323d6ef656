//! Why a request failed or was refused, for people and for programs.

use axum::http::StatusCode;
use serde::Serialize;
use uwf_engine::EngineError;
use uwf_protocol::exit::Exit;

use crate::order::Order;

/// An error of the engine or of a command, in the words of the command line.
#[derive(Debug, Clone)]
pub struct Explained {
    /// The exit code that the command has, or would have.
    pub exit: Exit,
    /// What happened.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl Explained {
    /// Returns the message and the hint in one line.
    pub(crate) fn whole(&self) -> String {
        match &self.hint {
            Some(hint) => format!("{}; {hint}", self.message),
            None => self.message.clone(),
        }
    }
}

/// Why a request failed: an error of the engine, which is not explained yet, or a refusal.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// An error of the engine.
    Engine(Box<EngineError>),
    /// The server refused the request itself, or a command did.
    Refused(Refusal),
}

impl From<EngineError> for Trouble {
    fn from(error: EngineError) -> Self {
        Self::Engine(Box::new(error))
    }
}

impl From<Refusal> for Trouble {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// Why a request failed, as programs read it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Refusal {
    #[serde(skip)]
    pub(crate) status: StatusCode,
    /// The kind of the problem. Programs may compare it: it does not change.
    pub(crate) code: &'static str,
    /// What happened.
    pub(crate) message: String,
    /// What to do about it.
    pub(crate) hint: Option<String>,
    /// Whether the visitor may not do that. Then the log has a line about it.
    #[serde(skip)]
    pub(crate) is_of_access: bool,
    /// The address of the thread to which its page leads back.
    #[serde(skip)]
    pub(crate) back: Option<String>,
}

/// Why a request was refused, as its answer carries it to the guard, which logs it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Refused {
    /// The kind of the problem.
    pub(crate) code: &'static str,
    /// Whether the visitor may not do that.
    pub(crate) is_of_access: bool,
}

impl Refused {
    /// Returns the refusal of something that the visitor may not do.
    pub(crate) fn of_access(code: &'static str) -> Self {
        Self {
            code,
            is_of_access: true,
        }
    }
}

impl From<&Refusal> for Refused {
    fn from(refusal: &Refusal) -> Self {
        Self {
            code: refusal.code,
            is_of_access: refusal.is_of_access,
        }
    }
}

impl Refusal {
    pub(crate) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self {
            status,
            code,
            message: message.into(),
            hint: None,
            is_of_access: false,
            back: None,
        }
    }

    /// Returns the refusal of something that the visitor may not do.
    pub(crate) fn of_access(
        status: StatusCode,
        code: &'static str,
        message: impl Into<String>,
    ) -> Self {
        Self {
            is_of_access: true,
            ..Self::new(status, code, message)
        }
    }

    /// Adds what to do about it.
    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds the address of the thread that it is about.
    #[must_use]
    pub(crate) fn back_to(mut self, thread: String) -> Self {
        self.back = Some(thread);
        self
    }

    /// Returns the refusal of an address without content, or of an unknown id.
    pub(crate) fn not_found(what: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not-found", what)
    }

    /// Returns the refusal of a method that an address does not have.
    pub(crate) fn method_not_allowed() -> Self {
        let message = "this address has no such method";
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "method", message)
            .hint("the header `Allow` of the answer has those that it has")
    }

    /// Returns the refusal for an error of the server itself: a panic, or an answer that cannot be written.
    pub(crate) fn bug() -> Self {
        let message = "the server failed at this";
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "bug", message)
            .hint("its own output says more; please report it")
    }

    /// Returns the refusal of an act by a server that is `--read-only`.
    pub(crate) fn read_only() -> Self {
        let message = "this server is for looking only";
        Self::of_access(StatusCode::FORBIDDEN, "read-only", message)
            .hint("start `uwf serve` without `--read-only` to act")
    }

    /// Returns the refusal for a command that failed. Its thread exists, so [`Exit::Request`] does not mean "not found" here: the
    /// status is 422.
    pub(crate) fn of_command(explained: Explained) -> Self {
        let is_request = explained.exit == Exit::Request;
        let refusal = Self::of_engine(explained);
        match is_request {
            true => Self {
                status: StatusCode::UNPROCESSABLE_ENTITY,
                ..refusal
            },
            false => refusal,
        }
    }

    /// Adds which command was done before the refusal, if one was.
    #[must_use]
    pub(crate) fn after(self, done: Option<&Order>) -> Self {
        let Some(done) = done else {
            return self;
        };
        let (done, why) = (done.shown(), &self.message);
        Self {
            message: format!("`{done}` was done, but the rest was refused: {why}"),
            ..self
        }
    }

    /// Returns the refusal for an error of the engine.
    pub(crate) fn of_engine(explained: Explained) -> Self {
        let (status, code) = match explained.exit {
            Exit::Request => (StatusCode::NOT_FOUND, "request"),
            Exit::Usage => (StatusCode::BAD_REQUEST, "usage"),
            Exit::Agent | Exit::Run(_) => (StatusCode::BAD_GATEWAY, "agent"),
            Exit::Busy => (StatusCode::CONFLICT, "busy"),
            Exit::Suspended => (StatusCode::CONFLICT, "suspended"),
            Exit::Ended => (StatusCode::GONE, "ended"),
            Exit::Store | Exit::Signal(_) | Exit::Done => {
                (StatusCode::INTERNAL_SERVER_ERROR, "store")
            }
        };
        Self {
            hint: explained.hint,
            ..Self::new(status, code, explained.message)
        }
    }
}

impl Trouble {
    /// Returns the refusal that people and programs read.
    pub(crate) fn explained(self, explain: fn(EngineError) -> Explained) -> Refusal {
        match self {
            Self::Engine(error) => Refusal::of_engine(explain(*error)),
            Self::Refused(refusal) => refusal,
        }
    }
}
