//! The errors of calling a model, sorted by what the caller can do about them.

use std::fmt;
use std::time::Duration;

use serde_json::Value;
use uwf_protocol::failure::FailureClass;
use uwf_util::printable::printable;
use uwf_util::{size, time};

use super::{Endpoint, Secret};

/// How much of a provider's message an error quotes, in characters.
const EXCERPT: usize = 500;

/// The endpoint as messages and hints name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndpointName {
    alias: Option<String>,
    provider: String,
    url: String,
}

impl fmt::Display for EndpointName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.alias {
            Some(alias) => write!(f, "model `{alias}` at {}", self.url),
            None => write!(f, "provider `{}` at {}", self.provider, self.url),
        }
    }
}

/// Why a model gave no answer. `endpoint` names the alias and the address, and never holds a secret. `says` is the
/// provider's message, shortened, without the key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LlmError {
    /// The key is missing, wrong, or not allowed to do this.
    #[error("{endpoint} refused the key (HTTP {status}){}", said(says))]
    Unauthorized {
        /// The endpoint.
        endpoint: Box<EndpointName>,
        /// The HTTP status.
        status: u16,
        /// What the provider says.
        says: String,
    },
    /// The endpoint or the model does not exist.
    #[error("{endpoint} was not found (HTTP 404){}", said(says))]
    NotFound {
        /// The endpoint.
        endpoint: Box<EndpointName>,
        /// What the provider says.
        says: String,
    },
    /// Too many calls, even after waiting.
    #[error("{endpoint} asks to wait (HTTP 429, {}){}", tried(*tries), said(says))]
    RateLimited {
        /// The endpoint.
        endpoint: Box<EndpointName>,
        /// How often it was called.
        tries: u32,
        /// What the provider says.
        says: String,
        /// How long it asks to wait.
        asked: Option<Duration>,
    },
    /// The request is longer than the model's context.
    #[error("{endpoint} cannot read that much (HTTP {status}){}", said(says))]
    ContextTooLong {
        /// The endpoint.
        endpoint: Box<EndpointName>,
        /// The HTTP status.
        status: u16,
        /// What the provider says.
        says: String,
    },
    /// The endpoint refuses the request.
    #[error("{endpoint} refused the request (HTTP {status}){}", said(says))]
    Refused {
        /// The endpoint.
        endpoint: Box<EndpointName>,
        /// The HTTP status.
        status: u16,
        /// What the provider says.
        says: String,
    },
    /// The endpoint fails.
    #[error("{endpoint} failed (HTTP {status}, {}){}", tried(*tries), said(says))]
    Unavailable {
        /// The endpoint.
        endpoint: Box<EndpointName>,
        /// The HTTP status.
        status: u16,
        /// How often it was called.
        tries: u32,
        /// What the provider says.
        says: String,
        /// How long it asks to wait.
        asked: Option<Duration>,
    },
    /// The endpoint has moved. No redirect is followed, since the key would go with it.
    #[error("{endpoint} redirects (HTTP {status}){}", location.as_ref().map_or(String::new(), |to| format!(" to {to}")))]
    Redirected {
        /// The endpoint.
        endpoint: Box<EndpointName>,
        /// The HTTP status.
        status: u16,
        /// Where to.
        location: Option<String>,
    },
    /// No connection, or one that broke.
    #[error("{endpoint} cannot be reached ({}): {reason}", tried(*tries))]
    Connection {
        /// The endpoint.
        endpoint: Box<EndpointName>,
        /// How often it was called.
        tries: u32,
        /// Why not.
        reason: String,
    },
    /// The connection is not safe.
    #[error("{endpoint} cannot be trusted: {reason}")]
    Tls {
        /// The endpoint.
        endpoint: Box<EndpointName>,
        /// Why not.
        reason: String,
        /// What to do about it.
        advice: String,
    },
    /// The endpoint took too long.
    #[error("{endpoint} did not answer within {}", time::format_duration(u64::try_from(after.as_millis()).unwrap_or(u64::MAX)))]
    Timeout {
        /// The endpoint.
        endpoint: Box<EndpointName>,
        /// The limit that was reached.
        after: Duration,
    },
    /// The answer is larger than allowed.
    #[error("the answer of {endpoint} is larger than {}", size::format(*limit as u64))]
    TooLarge {
        /// The endpoint.
        endpoint: Box<EndpointName>,
        /// The limit in bytes.
        limit: usize,
    },
    /// The answer does not have the expected form.
    #[error("the answer of {endpoint} is not understood: {problem}")]
    BadShape {
        /// The endpoint.
        endpoint: Box<EndpointName>,
        /// What is wrong with it.
        problem: String,
    },
    /// The call cannot be made: a proxy, or a key that no header can hold.
    #[error("{endpoint} cannot be called: {problem}")]
    NotCallable {
        /// The endpoint.
        endpoint: Box<EndpointName>,
        /// Why.
        problem: String,
    },
}

impl LlmError {
    /// Returns a stable word for the kind of error.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unauthorized { .. } => "unauthorized",
            Self::NotFound { .. } => "not_found",
            Self::RateLimited { .. } => "rate_limited",
            Self::ContextTooLong { .. } => "context_too_long",
            Self::Refused { .. } => "refused",
            Self::Unavailable { .. } => "unavailable",
            Self::Redirected { .. } => "redirected",
            Self::Connection { .. } => "connection_failed",
            Self::Tls { .. } => "tls",
            Self::Timeout { .. } => "timeout",
            Self::TooLarge { .. } => "too_large",
            Self::BadShape { .. } => "bad_shape",
            Self::NotCallable { .. } => "not_callable",
        }
    }

    /// Returns the failure class of a step that fails because of it.
    #[must_use]
    pub fn class(&self) -> FailureClass {
        match self {
            Self::Unauthorized { .. } => FailureClass::Auth,
            Self::RateLimited { .. } | Self::Refused { status: 402, .. } => FailureClass::RateLimit,
            Self::ContextTooLong { .. } => FailureClass::ContextTooLong,
            Self::Unavailable { .. } | Self::Connection { .. } => FailureClass::Overloaded,
            Self::Timeout { .. } => FailureClass::Timeout,
            Self::TooLarge { .. } => FailureClass::BadAnswer,
            Self::NotFound { .. }
            | Self::Refused { .. }
            | Self::Redirected { .. }
            | Self::Tls { .. }
            | Self::BadShape { .. }
            | Self::NotCallable { .. } => FailureClass::Crash,
        }
    }

    /// Tells whether the call used up nothing for certain: it was refused, or never arrived.
    #[must_use]
    pub fn used_nothing(&self) -> bool {
        match self {
            Self::Unauthorized { .. }
            | Self::RateLimited { .. }
            | Self::Refused { .. }
            | Self::ContextTooLong { .. }
            | Self::Unavailable { .. }
            | Self::NotFound { .. }
            | Self::Redirected { .. }
            | Self::Tls { .. }
            | Self::NotCallable { .. } => true,
            Self::Connection { .. }
            | Self::Timeout { .. }
            | Self::TooLarge { .. }
            | Self::BadShape { .. } => false,
        }
    }

    /// Returns how long the provider asks to wait before the next call.
    #[must_use]
    pub fn asked(&self) -> Option<Duration> {
        match self {
            Self::RateLimited { asked, .. } | Self::Unavailable { asked, .. } => *asked,
            _ => None,
        }
    }

    /// Returns what the user can do about it.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Unauthorized { .. } => {
                "check the provider's key: `providers.<name>.apiKey`, or the variable that `apiKeyEnv` names, in the environment or in `.env`"
            }
            Self::NotFound { .. } => {
                "check `models.<alias>.name`, and that `providers.<name>.baseUrl` ends where `/chat/completions` (or what `providers.<name>.api` names) begins, usually with `/v1`"
            }
            Self::RateLimited { .. } => "try again later, or look at your quota with the provider",
            Self::ContextTooLong { .. } => {
                "the next `uwf thread step` begins a new session with the whole task; a model that can read more, or a role with less to do, helps for longer"
            }
            Self::Refused { .. } => {
                "the request does not suit this endpoint or model; `models.<alias>.responseFormat` fixes how JSON is asked for"
            }
            Self::Unavailable { .. } => "try again later; the provider has a problem",
            Self::Redirected { .. } => "set `providers.<name>.baseUrl` to where it leads",
            Self::Connection { .. } => {
                "check `providers.<name>.baseUrl`, that the server runs, and the variables `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY`"
            }
            Self::Tls { advice, .. } => advice,
            Self::Timeout { .. } => "try again; a smaller or a nearer model may be faster",
            Self::TooLarge { .. } => "ask for less, or look at what the endpoint sends",
            Self::BadShape { .. } => {
                "`providers.<name>.baseUrl` must lead to an OpenAI-compatible API, or to what `providers.<name>.api` names, usually with `/v1` at its end"
            }
            Self::NotCallable { .. } => "correct the config or the environment",
        }
        .replace("<name>", &self.endpoint().provider)
        .replace("<alias>", self.endpoint().alias.as_deref().unwrap_or("<alias>"))
    }

    /// Returns the endpoint that was called, or was to be called.
    fn endpoint(&self) -> &EndpointName {
        match self {
            Self::Unauthorized { endpoint, .. }
            | Self::NotFound { endpoint, .. }
            | Self::RateLimited { endpoint, .. }
            | Self::ContextTooLong { endpoint, .. }
            | Self::Refused { endpoint, .. }
            | Self::Unavailable { endpoint, .. }
            | Self::Redirected { endpoint, .. }
            | Self::Connection { endpoint, .. }
            | Self::Tls { endpoint, .. }
            | Self::Timeout { endpoint, .. }
            | Self::TooLarge { endpoint, .. }
            | Self::BadShape { endpoint, .. }
            | Self::NotCallable { endpoint, .. } => endpoint,
        }
    }
}

/// A response with an HTTP status that is not a success.
pub(super) struct Refusal<'a> {
    pub(super) status: u16,
    pub(super) body: &'a str,
    pub(super) location: Option<String>,
    pub(super) asked: Option<Duration>,
}

impl Endpoint {
    /// Returns how messages name the endpoint.
    pub(super) fn name(&self) -> Box<EndpointName> {
        Box::new(EndpointName {
            alias: self.alias.clone(),
            provider: self.provider.clone(),
            url: self.base_url.clone(),
        })
    }

    /// Returns a provider's message, shortened and without secrets.
    fn excerpt(&self, body: &str) -> String {
        excerpt(body, self.key.as_ref())
    }

    /// Returns the error that an HTTP status stands for.
    pub(super) fn refused(&self, refusal: Refusal<'_>, tries: u32) -> LlmError {
        let endpoint = self.name();
        let says = self.excerpt(refusal.body);
        match refusal.status {
            status @ (401 | 403) => LlmError::Unauthorized {
                endpoint,
                status,
                says,
            },
            404 => LlmError::NotFound { endpoint, says },
            429 => LlmError::RateLimited {
                endpoint,
                tries,
                says,
                asked: refusal.asked,
            },
            status @ 300..=399 => LlmError::Redirected {
                endpoint,
                status,
                location: refusal.location.map(|to| self.excerpt(&to)),
            },
            status @ 400..=499 if is_too_long(status, refusal.body) => LlmError::ContextTooLong {
                endpoint,
                status,
                says,
            },
            status @ 400..=499 => LlmError::Refused {
                endpoint,
                status,
                says,
            },
            status => LlmError::Unavailable {
                endpoint,
                status,
                tries,
                says,
                asked: refusal.asked,
            },
        }
    }

    /// Returns the error of an answer that is not understood.
    pub(super) fn not_understood(&self, problem: &str) -> LlmError {
        LlmError::BadShape {
            endpoint: self.name(),
            problem: self.excerpt(problem),
        }
    }
}

/// Tells whether a request was refused because it is longer than the model's context. There is no HTTP status for that;
/// providers say it in a code or a message.
fn is_too_long(status: u16, body: &str) -> bool {
    const SIGNS: [&str; 9] = [
        "context_length_exceeded",
        "context length",
        "context window",
        "context size",
        "prompt is too long",
        "input is too long",
        "too many tokens",
        "maximum number of tokens",
        "reduce the length of the messages",
    ];
    let body = body.to_lowercase();
    status == 413 || SIGNS.iter().any(|sign| body.contains(sign))
}

/// Returns the message within a provider's error, or all of it, on one line and cut short.
fn excerpt(body: &str, key: Option<&Secret>) -> String {
    let parsed: Option<Value> = serde_json::from_str(body).ok();
    let message = parsed.as_ref().and_then(message);
    let text = message.unwrap_or(body).split_whitespace();
    let text = text.collect::<Vec<_>>().join(" ");
    let text = key.map_or_else(|| text.clone(), |key| key.strike(&text));
    let text = printable(&text);
    match text.char_indices().nth(EXCERPT) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.into_owned(),
    }
}

/// Finds the message in the shapes that providers give their errors.
fn message(body: &Value) -> Option<&str> {
    let error = body.get("error").unwrap_or(body);
    let candidates = [error.get("message"), Some(error), body.get("detail")];
    candidates.into_iter().flatten().find_map(Value::as_str)
}

fn said(says: &str) -> String {
    match says {
        "" => String::new(),
        says => format!(": {says}"),
    }
}

fn tried(tries: u32) -> String {
    match tries {
        1 => "1 try".to_owned(),
        tries => format!("{tries} tries"),
    }
}

#[cfg(test)]
mod tests;
