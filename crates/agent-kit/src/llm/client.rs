//! The client of one endpoint: how it is built, at the first call, and what can be asked. How a call is made is in
//! `talk`.

use std::time::Duration;

use reqwest::NoProxy;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::redirect::Policy;
use tokio::runtime::{Builder, Runtime};
use uwf_storage::Env;

use super::proxy::{Proxy, proxy_for};
use super::talk::{Talk, deepest, is_event_stream};
use super::wire::Dialect;
use super::{Answer, CallLimits, ChatReply, ChatRequest, Endpoint, LlmError, Message, tls, wire};

/// How long the smallest call may take.
const PROBE_LIMIT: Duration = Duration::from_secs(15);

/// Calls the model of one endpoint. Nothing is built before the first call.
///
/// It is not printed: its environment may hold keys.
pub struct Client {
    endpoint: Endpoint,
    limits: CallLimits,
    env: Env,
    dialect: Dialect,
    machinery: Option<Machinery>,
}

struct Machinery {
    runtime: Runtime,
    http: reqwest::Client,
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
        // The first caller has installed the same one.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let builder = reqwest::Client::builder()
            .redirect(Policy::none())
            .connect_timeout(self.limits.connect)
            .user_agent(concat!("uwf/", env!("CARGO_PKG_VERSION")))
            .default_headers(self.headers().map_err(not_callable)?)
            .no_proxy();
        let proxy = proxy_for(&self.endpoint.base_url, &self.env).map_err(not_callable)?;
        let urls = [
            Some(&self.endpoint.base_url),
            proxy.as_ref().map(|proxy| &proxy.url),
        ];
        let needs_tls = urls
            .into_iter()
            .flatten()
            .any(|url| url.starts_with("https:"));
        let builder = match proxy {
            Some(proxy) => builder.proxy(through(proxy).map_err(not_callable)?),
            None => builder,
        };
        if !needs_tls {
            // Reading what the machine trusts takes time, and fails where there is nothing of the kind.
            let http = builder.tls_certs_only([]).build();
            let http = http.map_err(|error| not_callable(deepest(&error)))?;
            return Ok(Machinery { runtime, http });
        }
        let http = builder.build().map_err(|error| LlmError::Tls {
            endpoint: self.endpoint.place(),
            reason: deepest(&error),
            advice: tls::NO_AUTHORITIES.to_owned(),
        })?;
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

/// Returns a proxy as the client takes it. What goes wrong is not repeated: it would show the URL, and with it a
/// password.
fn through(proxy: Proxy) -> Result<reqwest::Proxy, String> {
    let except = proxy.except.as_deref().and_then(NoProxy::from_string);
    let proxy = reqwest::Proxy::all(proxy.url);
    let proxy = proxy.map_err(|_| "the proxy is not understood".to_owned())?;
    Ok(proxy.no_proxy(except))
}
