//! The HTTP client, which remembers the time that each answer tells.

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
/// How long a request may take at most, even while data is coming. It has one node at most.
const REQUEST: Duration = Duration::from_secs(30 * 60);
/// How long the store may be silent. An upload adds to that.
const SILENCE: Duration = Duration::from_secs(20);
/// The slowest upload that is waited for, in bytes per second. The store is silent until it has the whole request.
const SLOW: u64 = 64 * 1024;
/// How long an unused connection is kept. A step takes longer than that.
const IDLE: Duration = Duration::from_secs(20);

/// A client that remembers the date of the last answer.
#[derive(Debug, Clone)]
pub(crate) struct Http {
    client: reqwest::Client,
    dates: Arc<Dates>,
    silence: Duration,
}

impl Http {
    /// Prepares a client. Nothing is sent. A connection that is not encrypted leads to this machine, so it needs no authorities and
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
            .map_err(|problem| RemoteError::Unprepared(deepest(&problem)))?;
        Ok(Self {
            client,
            dates,
            silence: SILENCE,
        })
    }

    async fn answer(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let (parts, body) = request.into_parts();
        let limit = first_answer(self.silence, body.content_length() as u64);
        let url = parts.uri.to_string().parse();
        let url =
            url.map_err(|problem| HttpError::new(HttpErrorKind::Unknown, Plain::of(&problem)))?;
        let mut request = reqwest::Request::new(parts.method, url);
        *request.headers_mut() = parts.headers;
        *request.body_mut() = Some(reqwest::Body::wrap(body));
        let answering = self.client.execute(request);
        let mut response = within(limit, answering).await?;
        let date = response.headers().get(DATE);
        self.dates.tell(date.and_then(|date| date.to_str().ok()));
        let mut head = HttpResponse::new(HttpResponseBody::from(String::new()));
        *head.status_mut() = response.status();
        *head.headers_mut() = response.headers().clone();
        let mut body = Vec::new();
        while let Some(piece) = within(self.silence, response.chunk()).await? {
            body.extend_from_slice(&piece);
        }
        *head.body_mut() = HttpResponseBody::from(body);
        Ok(head)
    }
}

/// Returns how long the first byte of an answer may take after a request that sends so many bytes.
fn first_answer(silence: Duration, length: u64) -> Duration {
    silence + Duration::from_secs(length / SLOW)
}

/// Waits for a store, but not longer than this.
async fn within<T>(
    limit: Duration,
    answering: impl Future<Output = Result<T, reqwest::Error>>,
) -> Result<T, HttpError> {
    match tokio::time::timeout(limit, answering).await {
        Ok(answer) => answer.map_err(broken),
        Err(_) => {
            let said = format!("no answer within {} seconds", limit.as_secs_f64());
            Err(HttpError::new(HttpErrorKind::Timeout, Plain(said)))
        }
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

/// What is said about a request that had no answer. It leaves out the address.
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

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    use super::*;

    /// Sends so many bytes to a server that behaves like this.
    fn send(
        bytes: u64,
        silence: Duration,
        serve: fn(TcpStream),
    ) -> Result<HttpResponse, HttpError> {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = listener.local_addr().expect("it has an address");
        std::thread::spawn(move || {
            for client in listener.incoming() {
                serve(client.expect("a client comes"));
            }
        });
        let mut http = Http::new(false, Arc::default()).expect("there is a client");
        http.silence = silence;
        let body = "x".repeat(usize::try_from(bytes).expect("it is small"));
        let mut request = HttpRequest::new(body.into());
        *request.uri_mut() = format!("http://{address}/").parse().expect("it is one");
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime can be made");
        runtime.block_on(http.answer(request))
    }

    #[test]
    fn a_store_that_says_nothing_is_not_waited_for_for_long() {
        let silent = |mut client: TcpStream| drop(client.read_to_end(&mut Vec::new()));
        let away = send(0, Duration::from_millis(200), silent).expect_err("it says nothing");
        assert_eq!(away.kind(), HttpErrorKind::Timeout);
        let said = deepest(&away);
        assert!(said.contains("no answer within 0.2 seconds"), "{said}");
    }

    #[test]
    fn an_answer_that_always_goes_on_may_take_longer() {
        let slow = |mut client: TcpStream| {
            // An answer that comes before the question is none.
            let _ = client.read(&mut [0; 4096]);
            let _ = client.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n");
            for _ in 0..8 {
                std::thread::sleep(Duration::from_secs(1));
                let _ = client.write_all(b"x");
            }
        };
        let answer = send(0, Duration::from_secs(5), slow).expect("it answers");
        assert_eq!(answer.status(), 200);
    }

    #[test]
    fn a_store_has_the_time_to_take_a_large_request() {
        assert_eq!(first_answer(SILENCE, 0), SILENCE);
        assert_eq!(first_answer(SILENCE, 1000), SILENCE);
        let large = first_answer(SILENCE, 64 << 20);
        assert_eq!(large, SILENCE + Duration::from_secs(1024));
        assert!(large < REQUEST);
    }

    /// No header says how long it is: not every service sets one.
    #[test]
    fn a_store_that_takes_a_large_request_slowly_is_waited_for() {
        const LARGE: u64 = 8 * SLOW;
        let slow = |mut client: TcpStream| {
            std::thread::sleep(Duration::from_secs(2));
            let (mut taken, mut piece) = (0, [0; 4096]);
            while taken < LARGE {
                match client.read(&mut piece) {
                    Ok(count @ 1..) => taken += count as u64,
                    _ => return,
                }
            }
            let _ = client.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
        };
        let answer = send(LARGE, Duration::from_secs(1), slow).expect("it answers");
        assert_eq!(answer.status(), 200);
    }
}
