//! The client of one endpoint. It is built at the first call. `talk` makes the calls.

use std::time::Duration;

use reqwest::NoProxy;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::redirect::Policy;
use tokio::runtime::{Builder, Runtime};
use uwf_storage::Env;

use super::proxy::{Proxy, proxy_for};
use super::talk::{Talk, deepest, is_event_stream};
use super::wire::Dialect;
use super::{CallLimits, ChatReply, ChatRequest, Endpoint, LlmError, Message, api, tls, wire};

/// How long the smallest call may take.
const PROBE_LIMIT: Duration = Duration::from_secs(15);

/// Calls the model of one endpoint. Nothing is built before the first call.
///
/// It has no `Debug`, since its environment may hold keys.
pub struct Client {
    endpoint: Endpoint,
    limits: CallLimits,
    env: Env,
    dialect: Dialect,
    connection: Option<Connection>,
}

/// What is built at the first call.
struct Connection {
    runtime: Runtime,
    http: reqwest::Client,
}

impl Client {
    /// Returns a client that has not connected yet. The environment has the proxies, time and randomness.
    #[must_use]
    pub fn new(endpoint: Endpoint, limits: CallLimits, env: &Env) -> Self {
        Self {
            dialect: Dialect::first(endpoint.format),
            endpoint,
            limits,
            env: env.clone(),
            connection: None,
        }
    }

    /// Returns the endpoint.
    #[must_use]
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Asks the model, and calls `on_text` with each piece of a streamed answer. A retry sends the text from its start.
    /// How the endpoint wants to be asked for JSON is found out at the first call and kept.
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
            let body = api::request(
                self.endpoint.api,
                &self.endpoint.model,
                request,
                self.dialect,
            )
            .to_string();
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
        let (connection, talk) = self.prepare()?;
        connection
            .runtime
            .block_on(talk.with_retries(async |tries| {
                let response = talk.send(connection.http.get(&url), tries, None).await?;
                let body = talk.body(response, tries).await?;
                wire::models(&body).map_err(|error| talk.wrong(&error, tries))
            }))
    }

    /// Checks that the model answers, with one small call and no retry.
    ///
    /// # Errors
    /// When it does not answer.
    pub fn probe(&mut self) -> Result<(), LlmError> {
        let limits = self.limits;
        self.limits.timeout = limits.timeout.min(PROBE_LIMIT);
        self.limits.tries = 1;
        let messages = [Message::User("Answer with the word ok.".to_owned())];
        let result = self.chat(&ChatRequest::plain(&messages), &mut |_| ());
        self.limits = limits;
        result.map(|_| ())
    }

    fn ask(
        &mut self,
        body: &str,
        stream: bool,
        on_text: &mut dyn FnMut(&str),
    ) -> Result<ChatReply, LlmError> {
        let url = format!(
            "{}/{}",
            self.endpoint.base_url,
            api::path(self.endpoint.api)
        );
        let (connection, talk) = self.prepare()?;
        let idle = stream.then_some(talk.limits.idle);
        connection
            .runtime
            .block_on(talk.with_retries(async |tries| {
                let request = connection
                    .http
                    .post(&url)
                    .header(CONTENT_TYPE, "application/json")
                    .body(body.to_owned());
                let response = talk.send(request, tries, idle).await?;
                if is_event_stream(&response) {
                    return talk.stream(response, tries, on_text).await;
                }
                let body = talk.body(response, tries).await?;
                api::reply(talk.endpoint.api, &body).map_err(|error| talk.wrong(&error, tries))
            }))
    }

    fn prepare(&mut self) -> Result<(&Connection, Talk<'_>), LlmError> {
        if self.connection.is_none() {
            self.connection = Some(self.build()?);
        }
        let connection = self.connection.as_ref().expect("it was just built");
        let talk = Talk {
            endpoint: &self.endpoint,
            limits: &self.limits,
            env: &self.env,
        };
        Ok((connection, talk))
    }

    fn build(&self) -> Result<Connection, LlmError> {
        let not_callable = |problem: String| LlmError::NotCallable {
            endpoint: self.endpoint.name(),
            problem,
        };
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| not_callable(error.to_string()))?;
        // An error means that an earlier client has installed the same provider.
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
            // Without TLS, the certificates of the machine are not read: that takes time, and fails where there are
            // none.
            let http = builder.tls_certs_only([]).build();
            let http = http.map_err(|error| not_callable(deepest(&error)))?;
            return Ok(Connection { runtime, http });
        }
        let http = builder.build().map_err(|error| LlmError::Tls {
            endpoint: self.endpoint.name(),
            reason: deepest(&error),
            advice: tls::NO_AUTHORITIES.to_owned(),
        })?;
        Ok(Connection { runtime, http })
    }

    fn headers(&self) -> Result<HeaderMap, String> {
        let mut headers = HeaderMap::new();
        if let Some(key) = &self.endpoint.key {
            let (name, value) = api::key_header(self.endpoint.api, key.reveal());
            let mut value = HeaderValue::try_from(value)
                .map_err(|_| "the key has characters that no header can hold".to_owned())?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        if let Some((name, value)) = api::version_header(self.endpoint.api) {
            headers.insert(name, HeaderValue::from_static(value));
        }
        Ok(headers)
    }
}

/// Converts a proxy for the HTTP client. The error does not repeat the cause: that would show the URL with its
/// password.
fn through(proxy: Proxy) -> Result<reqwest::Proxy, String> {
    let except = proxy.except.as_deref().and_then(NoProxy::from_string);
    let proxy = reqwest::Proxy::all(proxy.url);
    let proxy = proxy.map_err(|_| "the proxy is not understood".to_owned())?;
    Ok(proxy.no_proxy(except))
}
