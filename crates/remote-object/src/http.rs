//! The way to a server: the HTTP client of the project, and the time that each answer tells.

use std::error::Error;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse,
    HttpResponseBody, HttpService,
};
use reqwest::header::DATE;
use reqwest::redirect::Policy;
use uwf_remote::RemoteError;

use crate::clock::Dates;

/// How long connecting may take.
const CONNECT: Duration = Duration::from_secs(10);
/// How long a request may take. It brings one node at most.
const REQUEST: Duration = Duration::from_secs(120);

/// How long a connection is kept that is not used. A step takes longer.
const IDLE: Duration = Duration::from_secs(20);

/// A client that remembers the date of the last answer.
#[derive(Debug, Clone)]
pub(crate) struct Http {
    client: reqwest::Client,
    dates: Arc<Dates>,
}

impl Http {
    /// Prepares a client. Nothing is sent. A way that is not encrypted leads to this machine, so it needs no authorities and
    /// no proxy.
    pub(crate) fn new(is_encrypted: bool, dates: Arc<Dates>) -> Result<Self, RemoteError> {
        // An error means that an earlier client has installed the same provider.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let builder = reqwest::Client::builder()
            .redirect(Policy::none())
            .connect_timeout(CONNECT)
            .timeout(REQUEST)
            .pool_idle_timeout(IDLE)
            .user_agent(concat!("uwf/", env!("CARGO_PKG_VERSION")));
        let builder = match is_encrypted {
            true => builder,
            false => builder.no_proxy().tls_certs_only([]),
        };
        let client = builder
            .build()
            .map_err(|problem| RemoteError::Denied(deepest(&problem)))?;
        Ok(Self { client, dates })
    }

    async fn answer(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let (parts, body) = request.into_parts();
        let url = parts.uri.to_string().parse();
        let url =
            url.map_err(|problem| HttpError::new(HttpErrorKind::Unknown, Plain::of(&problem)))?;
        let mut request = reqwest::Request::new(parts.method, url);
        *request.headers_mut() = parts.headers;
        *request.body_mut() = Some(reqwest::Body::wrap(body));
        let response = self.client.execute(request).await.map_err(broken)?;
        if let Some(Ok(date)) = response.headers().get(DATE).map(|date| date.to_str()) {
            self.dates.tell(date);
        }
        let mut head = HttpResponse::new(HttpResponseBody::from(String::new()));
        *head.status_mut() = response.status();
        *head.headers_mut() = response.headers().clone();
        let body = response.bytes().await.map_err(broken)?;
        *head.body_mut() = HttpResponseBody::from(body);
        Ok(head)
    }
}

impl HttpService for Http {
    fn call<'a, 'b>(
        &'a self,
        request: HttpRequest,
    ) -> Pin<Box<dyn Future<Output = Result<HttpResponse, HttpError>> + Send + 'b>>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(self.answer(request))
    }
}

impl HttpConnector for Http {
    fn connect(&self, _options: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(self.clone()))
    }
}

/// What is said about a request that had no answer. It does not repeat the address.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Plain(String);

impl Plain {
    fn of(problem: &dyn Error) -> Self {
        Self(deepest(problem))
    }
}

fn broken(problem: reqwest::Error) -> HttpError {
    let kind = match () {
        () if problem.is_timeout() => HttpErrorKind::Timeout,
        () if problem.is_connect() => HttpErrorKind::Connect,
        () => HttpErrorKind::Interrupted,
    };
    HttpError::new(kind, Plain::of(&problem.without_url()))
}

/// Returns the first cause of an error.
fn deepest(problem: &dyn Error) -> String {
    let mut cause = problem;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}
