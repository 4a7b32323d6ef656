//! One call over the wire: send, wait, read, retry. The bodies are made and read in `wire` and `sse`, `retry` decides
//! about retries, and `client` has the connection.

use std::error::Error;
use std::ops::Deref;
use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, LOCATION, RETRY_AFTER};
use reqwest::{RequestBuilder, Response};
use tokio::time::{Instant, sleep, timeout};
use uwf_storage::Env;

use super::api::Assembly;
use super::error::Refusal;
use super::sse::Events;
use super::wire::WireError;
use super::{CallLimits, ChatReply, Endpoint, LlmError, retry, tls};

/// How much of an error's body is read, in bytes.
const REFUSAL_LIMIT: usize = 64 * 1024;

/// What a call needs to know.
pub(super) struct Talk<'a> {
    pub(super) endpoint: &'a Endpoint,
    pub(super) limits: &'a CallLimits,
    pub(super) env: &'a Env,
}

/// A try that failed.
pub(super) struct Failed {
    error: LlmError,
    /// Whether another try may succeed.
    is_passing: bool,
    /// How long the endpoint asks us to wait.
    asked: Option<Duration>,
}

impl From<LlmError> for Failed {
    fn from(error: LlmError) -> Self {
        Self {
            error,
            is_passing: false,
            asked: None,
        }
    }
}

impl Talk<'_> {
    /// Retries until a try succeeds, fails for good, or the limits are reached.
    pub(super) async fn with_retries<T>(
        &self,
        mut attempt: impl AsyncFnMut(u32) -> Result<T, Failed>,
    ) -> Result<T, LlmError> {
        let deadline = Instant::now() + self.limits.timeout;
        let all = async {
            let mut tries = 1;
            loop {
                match attempt(tries).await {
                    Err(failed) if failed.is_passing && tries < self.limits.tries => {
                        let first = self.limits.first_wait;
                        // Without random bits all callers wait equally long, which is no reason to fail.
                        let jitter = self.env.random().unwrap_or_default();
                        let wait = retry::wait(failed.asked, first, tries, jitter);
                        // A refusal says more than that the time was over.
                        let left = deadline.saturating_duration_since(Instant::now());
                        let Some(wait) = wait.filter(|wait| *wait < left) else {
                            return Err(failed.error);
                        };
                        tracing::debug!(tag = "E5H8R2Q7", ?wait, "tries again: {}", failed.error);
                        sleep(wait).await;
                        tries += 1;
                    }
                    result => return result.map_err(|failed| failed.error),
                }
            }
        };
        match timeout(self.limits.timeout, all).await {
            Ok(result) => result,
            Err(_) => Err(self.timed_out(self.limits.timeout)),
        }
    }

    /// Sends a request and returns the answer if its status is a success.
    pub(super) async fn send(
        &self,
        request: RequestBuilder,
        tries: u32,
        idle: Option<Duration>,
    ) -> Result<Response, Failed> {
        let idle = idle.unwrap_or(self.limits.timeout);
        let response = timeout(idle, request.send())
            .await
            .map_err(|_| self.timed_out(idle))?
            .map_err(|error| self.broken(&error, tries))?;
        let status = response.status().as_u16();
        tracing::debug!(tag = "V8C3P6D1", status, tries, "{}", self.endpoint.name());
        if response.status().is_success() {
            return Ok(response);
        }
        let header = |name| response.headers().get(name)?.to_str().ok();
        let asked =
            header(RETRY_AFTER).and_then(|text| retry::retry_after(text, self.env.now_ms()));
        let location = header(LOCATION).map(ToOwned::to_owned);
        let body = self.refusal(response).await;
        let refusal = Refusal {
            status,
            body: &String::from_utf8_lossy(&body),
            location,
            asked,
        };
        Err(Failed {
            error: self.endpoint.refused(refusal, tries),
            is_passing: retry::is_passing(status),
            asked,
        })
    }

    /// Reads as much of an error's body as a message needs.
    async fn refusal(&self, mut response: Response) -> Vec<u8> {
        let mut body = Vec::new();
        while body.len() < REFUSAL_LIMIT {
            match timeout(self.limits.connect, response.chunk()).await {
                Ok(Ok(Some(piece))) => body.extend_from_slice(&piece),
                _ => break,
            }
        }
        body.truncate(REFUSAL_LIMIT);
        body
    }

    pub(super) async fn body(&self, mut response: Response, tries: u32) -> Result<Vec<u8>, Failed> {
        let mut body = Vec::new();
        while let Some(piece) = self.piece(&mut response, tries).await? {
            self.check_size(body.len() + piece.len())?;
            body.extend_from_slice(&piece);
        }
        Ok(body)
    }

    pub(super) async fn stream(
        &self,
        mut response: Response,
        tries: u32,
        on_text: &mut dyn FnMut(&str),
    ) -> Result<ChatReply, Failed> {
        let mut events = Events::default();
        let mut assembly = Assembly::of(self.endpoint.api);
        let mut size = 0;
        loop {
            let piece = self.piece(&mut response, tries).await?;
            let found = match &piece {
                Some(piece) => {
                    size += piece.len();
                    self.check_size(size)?;
                    events.push(piece)
                }
                None => events.end().into_iter().collect(),
            };
            for data in found {
                let text = assembly.take(&data);
                if let Some(text) = text.map_err(|error| self.wrong(&error, tries))? {
                    on_text(&text);
                }
            }
            if piece.is_none() {
                let reply = assembly.finish();
                return reply.map_err(|error| self.wrong(&error, tries));
            }
        }
    }

    async fn piece(
        &self,
        response: &mut Response,
        tries: u32,
    ) -> Result<Option<impl Deref<Target = [u8]>>, Failed> {
        match timeout(self.limits.idle, response.chunk()).await {
            Ok(Ok(piece)) => Ok(piece),
            Ok(Err(error)) => Err(self.broken(&error, tries)),
            Err(_) => Err(self.timed_out(self.limits.idle).into()),
        }
    }

    fn check_size(&self, size: usize) -> Result<(), LlmError> {
        if size <= self.limits.max_response {
            return Ok(());
        }
        Err(LlmError::TooLarge {
            endpoint: self.endpoint.name(),
            limit: self.limits.max_response,
        })
    }

    fn timed_out(&self, after: Duration) -> LlmError {
        LlmError::Timeout {
            endpoint: self.endpoint.name(),
            after,
        }
    }

    /// Converts a connection error to the error to report.
    fn broken(&self, error: &reqwest::Error, tries: u32) -> Failed {
        let endpoint = self.endpoint.name();
        if let Some((reason, advice)) = tls::explain(error) {
            return LlmError::Tls {
                endpoint,
                reason,
                advice,
            }
            .into();
        }
        let reason = match error.is_timeout() {
            true => format!("no connection within {} s", self.limits.connect.as_secs()),
            false => deepest(error),
        };
        Failed {
            error: LlmError::Connection {
                endpoint,
                tries,
                reason,
            },
            is_passing: true,
            asked: None,
        }
    }

    /// Converts an unusable response to the error to report.
    pub(super) fn wrong(&self, error: &WireError, tries: u32) -> Failed {
        match error {
            WireError::Provider { status, body } => Failed {
                error: self.endpoint.refused(
                    Refusal {
                        status: *status,
                        body,
                        location: None,
                        asked: None,
                    },
                    tries,
                ),
                is_passing: retry::is_passing(*status),
                asked: None,
            },
            WireError::Truncated => Failed {
                error: self.endpoint.not_understood(&error.to_string()),
                is_passing: true,
                asked: None,
            },
            _ => self.endpoint.not_understood(&error.to_string()).into(),
        }
    }
}

pub(super) fn is_event_stream(response: &Response) -> bool {
    let kind = response.headers().get(CONTENT_TYPE);
    kind.and_then(|kind| kind.to_str().ok())
        .is_some_and(|kind| kind.starts_with("text/event-stream"))
}

/// Returns the text of the innermost cause. The outer texts only repeat the URL.
pub(super) fn deepest(error: &dyn Error) -> String {
    let mut deepest = error;
    while let Some(source) = deepest.source() {
        deepest = source;
    }
    deepest.to_string()
}
