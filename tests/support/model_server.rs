//! A model's server on this machine that answers from a script and remembers what it was asked. Included by
//! every test crate that needs one.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::{Value, json};

/// What the server does with one request.
#[derive(Debug, Clone)]
pub(crate) enum Scripted {
    /// Answers with a status, headers and a body.
    Answer {
        status: u16,
        headers: Vec<(String, String)>,
        body: String,
    },
    /// Sends events, one by one, then ends the stream.
    Stream(Vec<String>),
    /// Sends events and then nothing more, with the connection open.
    Stall(Vec<String>),
    /// Says nothing, with the connection open.
    Hang,
    /// Promises more than it sends.
    Truncate(String),
    /// Resets the connection.
    Reset,
    /// Sends blanks until nobody reads them.
    Endless,
}

impl Scripted {
    /// A good answer that says a text.
    pub(crate) fn says(text: &str) -> Self {
        Self::message(&json!({ "role": "assistant", "content": text }))
    }

    /// A good answer that wants tools to be called: names and arguments.
    pub(crate) fn calls(calls: &[(&str, Value)]) -> Self {
        let call = |(at, (name, arguments)): (usize, &(&str, Value))| {
            json!({
                "id": format!("call-{at}"),
                "type": "function",
                "function": { "name": name, "arguments": arguments.to_string() },
            })
        };
        let calls: Vec<_> = calls.iter().enumerate().map(call).collect();
        Self::message(&json!({ "role": "assistant", "content": null, "tool_calls": calls }))
    }

    /// A good answer with any message. It used 10 tokens, 2 of them cached, wrote 5 and cost a quarter dollar.
    pub(crate) fn message(message: &Value) -> Self {
        let body = json!({
            "id": "chat-1",
            "object": "chat.completion",
            "model": "served-model",
            "choices": [{ "index": 0, "message": message, "finish_reason": "stop" }],
            "usage": {
                "prompt_tokens": 10,
                "completion_tokens": 5,
                "prompt_tokens_details": { "cached_tokens": 2 },
                "cost": 0.25,
            },
        });
        Self::body(200, &body.to_string())
    }

    /// An answer with any status and body.
    pub(crate) fn body(status: u16, body: &str) -> Self {
        Self::Answer {
            status,
            headers: Vec::new(),
            body: body.to_owned(),
        }
    }

    /// The same with a header; of a scripted answer only.
    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        let Self::Answer { headers, .. } = &mut self else {
            panic!("only answers have headers");
        };
        headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The same with another usage; of a good answer only.
    pub(crate) fn using(mut self, usage: &Value) -> Self {
        let Self::Answer { body, .. } = &mut self else {
            panic!("only answers tell what they used");
        };
        let mut answer: Value = serde_json::from_str(body).expect("a good answer is JSON");
        answer["usage"] = usage.clone();
        *body = answer.to_string();
        self
    }

    /// A good answer that comes in pieces of text.
    pub(crate) fn streams(pieces: &[&str]) -> Self {
        let mut events: Vec<String> = pieces.iter().map(|piece| delta(piece)).collect();
        events.push(json!({ "choices": [{ "delta": {}, "finish_reason": "stop" }] }).to_string());
        events.push(
            json!({ "choices": [], "usage": { "prompt_tokens": 10, "completion_tokens": 5 } })
                .to_string(),
        );
        events.push("[DONE]".to_owned());
        Self::Stream(events)
    }
}

/// Returns the data of an event that adds a piece of text.
pub(crate) fn delta(text: &str) -> String {
    json!({ "model": "served-model", "choices": [{ "delta": { "content": text } }] }).to_string()
}

/// What the server was asked.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) method: String,
    /// The target as it stands in the first line; a whole URL when the server is used as a proxy.
    pub(crate) target: String,
    headers: Vec<(String, String)>,
    body: String,
}

impl Request {
    /// Returns the body as JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    /// Returns a header by its name in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// The server. It ends with this value.
pub(crate) struct ModelServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: Option<JoinHandle<()>>,
}

struct Shared {
    script: Script,
    requests: Mutex<Vec<Request>>,
    is_over: AtomicBool,
}

/// What chooses the answers.
enum Script {
    /// One after the other.
    InOrder(Mutex<Vec<Scripted>>),
    /// By what is asked.
    By(Box<dyn Fn(&Request) -> Scripted + Send + Sync>),
}

impl ModelServer {
    /// Starts a server that answers each request with the next of a script; the last one repeats.
    pub(crate) fn start(script: Vec<Scripted>) -> Self {
        assert!(!script.is_empty(), "a script has a last answer");
        Self::serving(Script::InOrder(Mutex::new(script)))
    }

    /// Starts a server that chooses each answer by the request. It cannot reset connections.
    pub(crate) fn answering(by: impl Fn(&Request) -> Scripted + Send + Sync + 'static) -> Self {
        Self::serving(Script::By(Box::new(by)))
    }

    fn serving(script: Script) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            script,
            requests: Mutex::new(Vec::new()),
            is_over: AtomicBool::new(false),
        });
        let accepted = Arc::clone(&shared);
        let accepting = thread::spawn(move || {
            for stream in listener.incoming() {
                if accepted.is_over.load(Ordering::SeqCst) {
                    break;
                }
                let shared = Arc::clone(&accepted);
                // If the client has gone, the write fails; the test does not care.
                thread::spawn(move || stream.and_then(|stream| shared.serve(stream)));
            }
        });
        Self {
            address,
            shared,
            accepting: Some(accepting),
        }
    }

    /// Returns the base URL.
    pub(crate) fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Returns where the server is, as a proxy variable names it.
    pub(crate) fn proxy_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns what was asked so far.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.shared.requests.lock().unwrap().clone()
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::SeqCst);
        // Wakes the thread that accepts.
        let _ = TcpStream::connect(self.address);
        if let Some(accepting) = self.accepting.take() {
            let _ = accepting.join();
        }
    }
}

impl Shared {
    fn serve(&self, mut stream: TcpStream) -> std::io::Result<()> {
        let mut reader = BufReader::new(stream.try_clone()?);
        if self.script.resets() {
            // What was sent and is not read makes the kernel reset the connection when it is closed.
            let mut byte = [0];
            stream.peek(&mut byte)?;
            return Ok(());
        }
        let request = read_request(&mut reader)?;
        let next = self.script.next(&request);
        self.requests.lock().unwrap().push(request);
        match next {
            Scripted::Answer {
                status,
                headers,
                body,
            } => answer(&mut stream, status, &headers, &body),
            Scripted::Stream(events) => send_events(&mut stream, &events),
            Scripted::Stall(events) => {
                send_events(&mut stream, &events)?;
                self.wait();
                Ok(())
            }
            Scripted::Hang => {
                self.wait();
                Ok(())
            }
            Scripted::Truncate(body) => {
                let head = format!(
                    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
                    body.len() + 100
                );
                stream.write_all(head.as_bytes())
            }
            Scripted::Endless => {
                stream.write_all(
                    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n",
                )?;
                loop {
                    stream.write_all(&[b' '; 64 * 1024])?;
                }
            }
            Scripted::Reset => unreachable!("a reset is done before the request is read"),
        }
    }

    fn wait(&self) {
        while !self.is_over.load(Ordering::SeqCst) {
            thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Script {
    /// Returns what the next request gets.
    fn next(&self, request: &Request) -> Scripted {
        match self {
            Self::InOrder(script) => taken(&mut script.lock().unwrap()),
            Self::By(by) => by(request),
        }
    }

    /// Tells whether the next connection is reset, and takes that from the script.
    fn resets(&self) -> bool {
        let Self::InOrder(script) = self else {
            return false;
        };
        let mut script = script.lock().unwrap();
        let resets = matches!(script.first(), Some(Scripted::Reset));
        if resets {
            taken(&mut script);
        }
        resets
    }
}

/// Takes the next of a script; the last one stays.
fn taken(script: &mut Vec<Scripted>) -> Scripted {
    match script.len() {
        1 => script[0].clone(),
        _ => script.remove(0),
    }
}

fn read_request(reader: &mut impl BufRead) -> std::io::Result<Request> {
    let mut first = String::new();
    reader.read_line(&mut first)?;
    let mut words = first.split_whitespace().map(ToOwned::to_owned);
    let (method, target) = (
        words.next().unwrap_or_default(),
        words.next().unwrap_or_default(),
    );
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            // Whoever asked was killed.
            return Err(ErrorKind::UnexpectedEof.into());
        }
        let Some((name, value)) = line.trim_end().split_once(':') else {
            break;
        };
        headers.push((name.to_lowercase(), value.trim().to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length = length.map_or(0, |(_, length)| length.parse().unwrap_or(0));
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(Request {
        method,
        target,
        headers,
        body: String::from_utf8_lossy(&body).into_owned(),
    })
}

fn answer(
    stream: &mut TcpStream,
    status: u16,
    headers: &[(String, String)],
    body: &str,
) -> std::io::Result<()> {
    let mut head = format!(
        "HTTP/1.1 {status} Status\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n",
        body.len()
    );
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    stream.write_all(format!("{head}\r\n{body}").as_bytes())
}

/// Sends events as servers do, cut in the middle of a line.
fn send_events(stream: &mut TcpStream, events: &[String]) -> std::io::Result<()> {
    stream.write_all(
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n: hello\n\n",
    )?;
    for event in events {
        let text = format!("data: {event}\n\n");
        let (one, two) = text.as_bytes().split_at(text.len() / 2);
        stream.write_all(one)?;
        stream.flush()?;
        stream.write_all(two)?;
    }
    stream.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(server: &ModelServer, body: &str) -> String {
        let mut stream = TcpStream::connect(server.address).unwrap();
        let head = format!(
            "POST /v1/chat HTTP/1.1\r\nX-Key: k\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = String::new();
        // A reset connection has no answer.
        let _ = stream.read_to_string(&mut answer);
        answer
    }

    #[test]
    fn the_script_is_followed_and_its_last_answer_repeats() {
        let server = ModelServer::start(vec![
            Scripted::body(429, "{}").header("retry-after", "0"),
            Scripted::Reset,
            Scripted::Truncate("{".to_owned()),
            Scripted::streams(&["a", "b"]),
            Scripted::calls(&[("ls", json!({}))]),
            Scripted::says("hi"),
        ]);
        assert!(ask(&server, r#"{"n":1}"#).contains("retry-after: 0"));
        assert_eq!(ask(&server, "{}"), "");
        assert!(ask(&server, "{}").ends_with("\r\n\r\n{"));
        assert!(ask(&server, "{}").ends_with("data: [DONE]\n\n"));
        assert!(ask(&server, "{}").contains("call-0"));
        assert!(ask(&server, "{}").contains("hi"));
        assert!(ask(&server, "{}").contains("hi"));
        let requests = server.requests();
        assert_eq!(requests.len(), 6);
        assert_eq!(requests[0].json(), json!({ "n": 1 }));
        assert_eq!(requests[0].header("x-key"), Some("k"));
        assert_eq!(
            (requests[0].method.as_str(), requests[0].target.as_str()),
            ("POST", "/v1/chat")
        );
        assert!(server.base_url().starts_with(&server.proxy_url()));
    }

    #[test]
    fn an_answer_may_depend_on_what_is_asked() {
        let server =
            ModelServer::answering(|request| Scripted::says(&request.json()["n"].to_string()));
        assert!(ask(&server, r#"{"n":17}"#).contains("17"));
        assert!(ask(&server, r#"{"n":4}"#).contains("\"4\""));
    }

    #[test]
    fn a_server_that_says_nothing_or_no_end_ends_with_the_test() {
        for script in [
            Scripted::Hang,
            Scripted::Stall(vec![delta("a")]),
            Scripted::Endless,
        ] {
            let server = ModelServer::start(vec![script]);
            let mut stream = TcpStream::connect(server.address).unwrap();
            stream.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
            drop(server);
        }
    }
}
