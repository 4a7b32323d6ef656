//! The one place that speaks with a model's server. What is said is decided in `wire`, `sse` and `retry`.

use std::error::Error;
use std::time::Duration;

use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION, RETRY_AFTER};
use reqwest::redirect::Policy;
use reqwest::{NoProxy, RequestBuilder, Response};
use tokio::runtime::{Builder, Runtime};
use tokio::time::{sleep, timeout};
use uwf_storage::Env;

use super::error::Refusal;
use super::proxy::proxy_for;
use super::sse::{Assembly, Events};
use super::wire::{Dialect, WireError};
use super::{
    Answer, CallLimits, ChatReply, ChatRequest, Endpoint, LlmError, Message, retry, tls, wire,
};

/// How much of an error's body is read, in bytes.
const REFUSAL_LIMIT: usize = 64 * 1024;

/// How long the smallest call may take.
const PROBE_LIMIT: Duration = Duration::from_secs(15);

/// Calls the model of one endpoint. Nothing is built before the first call.
#[derive(Debug)]
pub struct Client {
    endpoint: Endpoint,
    limits: CallLimits,
    env: Env,
    dialect: Dialect,
    machinery: Option<Machinery>,
}

#[derive(Debug)]
struct Machinery {
    runtime: Runtime,
    http: reqwest::Client,
}

/// A try that failed.
struct Failed {
    error: LlmError,
    /// Whether another try may do.
    is_passing: bool,
    /// How long the endpoint asks to wait.
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

impl Client {
    /// Returns a client that has not connected yet. The environment tells proxies, time and randomness.
    #[must_use]
    pub fn new(endpoint: Endpoint, limits: CallLimits, env: &Env) -> Self {
        Self {
            dialect: Dialect::first(endpoint.format),
            endpoint,
            limits,
            env: env.clone(),
            machinery: None,
        }
    }

    /// Returns whom it calls.
    #[must_use]
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Asks the model, and calls back with each piece of a streamed answer. A call that is tried again begins
    /// its text anew. How JSON is asked for is found out at the first call and kept.
    ///
    /// # Errors
    /// When there is no answer, after as many tries as the limits allow.
    pub fn chat(
        &mut self,
        request: &ChatRequest<'_>,
        on_text: &mut dyn FnMut(&str),
    ) -> Result<ChatReply, LlmError> {
        let started_ms = self.env.now_ms();
        let mut reply = loop {
            let body = wire::request(&self.endpoint.model, request, self.dialect).to_string();
            match self.ask(&body, request.stream, on_text) {
                Err(LlmError::Refused { status, says, .. })
                    if matches!(status, 400 | 422)
                        && let Some(simpler) = self.dialect.simpler(request, &says) =>
                {
                    self.dialect = simpler;
                }
                result => break result?,
            }
        };
        reply.usage.turns = Some(1);
        reply.usage.duration_ms = u64::try_from(self.env.now_ms() - started_ms).ok();
        Ok(reply)
    }

    /// Returns the names of the models that the endpoint says it has.
    ///
    /// # Errors
    /// When it does not answer, or not with a list of models.
    pub fn models(&mut self) -> Result<Vec<String>, LlmError> {
        let url = format!("{}/models", self.endpoint.base_url);
        let (machinery, talk) = self.prepare()?;
        machinery.runtime.block_on(talk.patiently(async |tries| {
            let response = talk.send(machinery.http.get(&url), tries, None).await?;
            let body = talk.body(response, tries).await?;
            wire::models(&body).map_err(|error| talk.wrong(&error, tries))
        }))
    }

    /// Finds out whether the model answers at all: the smallest call, tried once.
    ///
    /// # Errors
    /// When it does not.
    pub fn probe(&mut self) -> Result<(), LlmError> {
        let limits = self.limits;
        self.limits.timeout = limits.timeout.min(PROBE_LIMIT);
        self.limits.tries = 1;
        let messages = [Message::User("Answer with the word ok.".to_owned())];
        let request = ChatRequest {
            messages: &messages,
            tools: &[],
            answer: Answer::Text,
            stream: false,
            max_tokens: None,
        };
        let result = self.chat(&request, &mut |_| ());
        self.limits = limits;
        result.map(|_| ())
    }

    fn ask(
        &mut self,
        body: &str,
        stream: bool,
        on_text: &mut dyn FnMut(&str),
    ) -> Result<ChatReply, LlmError> {
        let url = format!("{}/chat/completions", self.endpoint.base_url);
        let (machinery, talk) = self.prepare()?;
        let idle = stream.then_some(talk.limits.idle);
        machinery.runtime.block_on(talk.patiently(async |tries| {
            let request = machinery
                .http
                .post(&url)
                .header(CONTENT_TYPE, "application/json")
                .body(body.to_owned());
            let response = talk.send(request, tries, idle).await?;
            if is_event_stream(&response) {
                return talk.stream(response, tries, on_text).await;
            }
            let body = talk.body(response, tries).await?;
            wire::reply(&body).map_err(|error| talk.wrong(&error, tries))
        }))
    }

    fn prepare(&mut self) -> Result<(&Machinery, Talk<'_>), LlmError> {
        if self.machinery.is_none() {
            self.machinery = Some(self.build()?);
        }
        let machinery = self.machinery.as_ref().expect("it was just built");
        let talk = Talk {
            endpoint: &self.endpoint,
            limits: &self.limits,
            env: &self.env,
        };
        Ok((machinery, talk))
    }

    fn build(&self) -> Result<Machinery, LlmError> {
        let not_callable = |problem: String| LlmError::NotCallable {
            endpoint: self.endpoint.place(),
            problem,
        };
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| not_callable(error.to_string()))?;
        // Whoever was first has installed the same one.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let builder = reqwest::Client::builder()
            .redirect(Policy::none())
            .connect_timeout(self.limits.connect)
            .user_agent(concat!("uwf/", env!("CARGO_PKG_VERSION")))
            .default_headers(self.headers().map_err(not_callable)?)
            .no_proxy();
        let proxy = proxy_for(&self.endpoint.base_url, &self.env).map_err(not_callable)?;
        let builder = match proxy {
            None => builder,
            Some(proxy) => {
                let except = proxy.except.as_deref().and_then(NoProxy::from_string);
                // The error would show the URL, and with it a password.
                let proxy = reqwest::Proxy::all(proxy.url)
                    .map_err(|_| not_callable("the proxy is not understood".to_owned()))?;
                builder.proxy(proxy.no_proxy(except))
            }
        };
        let http = builder
            .build()
            .map_err(|error| not_callable(deepest(&error)))?;
        Ok(Machinery { runtime, http })
    }

    fn headers(&self) -> Result<HeaderMap, String> {
        let mut headers = HeaderMap::new();
        if let Some(key) = &self.endpoint.key {
            let mut value = HeaderValue::try_from(format!("Bearer {}", key.reveal()))
                .map_err(|_| "the key has characters that no header can hold".to_owned())?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        Ok(headers)
    }
}

/// What a conversation over the wire has to know.
struct Talk<'a> {
    endpoint: &'a Endpoint,
    limits: &'a CallLimits,
    env: &'a Env,
}

impl Talk<'_> {
    /// Tries until it succeeds, cannot succeed, or the limits are reached.
    async fn patiently<T>(
        &self,
        mut attempt: impl AsyncFnMut(u32) -> Result<T, Failed>,
    ) -> Result<T, LlmError> {
        let all = async {
            let mut tries = 1;
            loop {
                match attempt(tries).await {
                    Err(failed) if failed.is_passing && tries < self.limits.tries => {
                        let first = self.limits.first_wait;
                        sleep(retry::wait(failed.asked, first, tries, self.env.random())).await;
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
    async fn send(
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
        if response.status().is_success() {
            return Ok(response);
        }
        let status = response.status().as_u16();
        let header = |name| response.headers().get(name)?.to_str().ok();
        let asked =
            header(RETRY_AFTER).and_then(|text| retry::retry_after(text, self.env.now_ms()));
        let location = header(LOCATION).map(ToOwned::to_owned);
        let body = self.refusal(response).await;
        let refusal = Refusal {
            status,
            body: &String::from_utf8_lossy(&body),
            location,
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

    async fn body(&self, mut response: Response, tries: u32) -> Result<Vec<u8>, Failed> {
        let mut body = Vec::new();
        while let Some(piece) = self.piece(&mut response, tries).await? {
            self.check_size(body.len() + piece.len())?;
            body.extend_from_slice(&piece);
        }
        Ok(body)
    }

    async fn stream(
        &self,
        mut response: Response,
        tries: u32,
        on_text: &mut dyn FnMut(&str),
    ) -> Result<ChatReply, Failed> {
        let mut events = Events::default();
        let mut assembly = Assembly::default();
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
    ) -> Result<Option<impl std::ops::Deref<Target = [u8]>>, Failed> {
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
            endpoint: self.endpoint.place(),
            limit: self.limits.max_response,
        })
    }

    fn timed_out(&self, after: Duration) -> LlmError {
        LlmError::Timeout {
            endpoint: self.endpoint.place(),
            after,
        }
    }

    /// Returns what a failed connection is about.
    fn broken(&self, error: &reqwest::Error, tries: u32) -> Failed {
        let endpoint = self.endpoint.place();
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

    /// Returns what an answer that is none is about.
    fn wrong(&self, error: &WireError, tries: u32) -> Failed {
        match error {
            WireError::Provider { status, body } => Failed {
                error: self.endpoint.refused(
                    Refusal {
                        status: *status,
                        body,
                        location: None,
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

fn is_event_stream(response: &Response) -> bool {
    let kind = response.headers().get(CONTENT_TYPE);
    kind.and_then(|kind| kind.to_str().ok())
        .is_some_and(|kind| kind.starts_with("text/event-stream"))
}

/// Returns what lies under all that was wrapped around it: the outer texts repeat the URL and say no more.
fn deepest(error: &dyn Error) -> String {
    let mut deepest = error;
    while let Some(source) = deepest.source() {
        deepest = source;
    }
    deepest.to_string()
}
