//! Answers of models over HTTP: whatever a server sends as its body, the call ends with an answer or with an error.
//!
//! The reader of events is no public part of the kit, so the bytes come from a server on this machine.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{LazyLock, Mutex};
use std::time::Duration;

use uwf_agent_kit::llm::{Answer, CallLimits, ChatRequest, Client, Endpoint, Message};
use uwf_storage::Env;

/// What the server answers next: the type and the body.
static ANSWER: Mutex<(&str, Vec<u8>)> = Mutex::new(("", Vec::new()));

static CLIENT: LazyLock<Mutex<Client>> = LazyLock::new(|| {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("it is bound").port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // A client that goes away early is no matter.
            let _ = answer(stream);
        }
    });
    let endpoint = Endpoint {
        alias: None,
        provider: "local".to_owned(),
        model: "model".to_owned(),
        api: uwf_agent_kit::llm::Api::Chat,
        base_url: format!("http://127.0.0.1:{port}/v1"),
        key: None,
        format: None,
    };
    let limits = CallLimits {
        connect: Duration::from_secs(5),
        timeout: Duration::from_secs(10),
        idle: Duration::from_secs(10),
        tries: 1,
        first_wait: Duration::ZERO,
        max_response: 1 << 20,
    };
    let env = Env::from_parts(&[], ".", 0, 0);
    Mutex::new(Client::new(endpoint, limits, &env))
});

/// Takes the bytes after the first as a body: of events if the first is even, else of JSON.
///
/// # Panics
/// When something does not hold.
pub fn check(data: &[u8]) {
    let Some((first, body)) = data.split_first() else {
        return;
    };
    let is_stream = first % 2 == 0;
    let kind = match is_stream {
        true => "text/event-stream",
        false => "application/json",
    };
    let mut client = CLIENT.lock().expect("no call has panicked");
    *ANSWER.lock().expect("no call has panicked") = (kind, body.to_vec());
    let request = ChatRequest {
        messages: &[Message::User("hello".to_owned())],
        tools: &[],
        answer: Answer::Text,
        stream: is_stream,
        max_tokens: None,
    };
    if let Err(error) = client.chat(&request, &mut |_| ()) {
        assert!(!error.to_string().is_empty());
    }
}

/// Reads a request to its end and answers it.
fn answer(mut stream: TcpStream) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        if line.trim().is_empty() {
            break;
        }
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    reader.take(length).read_to_end(&mut Vec::new())?;
    let (kind, body) = &*ANSWER.lock().expect("no call has panicked");
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body)
}
