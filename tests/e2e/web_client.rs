//! A server of pages over a world, and a client that sends it exact bytes.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::world::World;

/// The token of every server here.
pub(crate) const TOKEN: &str = "a-token-of-the-tests-0123456789";

/// A running server. It ends with the value.
pub(crate) struct Server {
    pub(crate) child: Child,
    /// Its address: a host and a port.
    pub(crate) at: String,
    /// What it printed first.
    pub(crate) first: Value,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An answer.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    /// Returns the value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    /// Returns the body as data.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }
}

impl Server {
    /// Starts a server with the token of the tests, at a free port.
    #[track_caller]
    pub(crate) fn start(world: &World, more: &[&str]) -> Self {
        let mut command = world.command(&["serve"]);
        command.args(more);
        Self::of(world, command)
    }

    /// Starts a server by a command, to which the usual options are added.
    #[track_caller]
    pub(crate) fn of(world: &World, mut command: Command) -> Self {
        let file = world.write("token", TOKEN);
        command.args([
            "--listen",
            "127.0.0.1:0",
            "--format",
            "json",
            "--token-file",
        ]);
        command.arg(file);
        let command = command.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        let mut printed = BufReader::new(child.stdout.take().unwrap());
        printed.read_line(&mut line).unwrap();
        let first: Value = serde_json::from_str(&line).unwrap();
        let at = first["listen"].as_str().unwrap().to_owned();
        Self { child, at, first }
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.at).unwrap();
        let limit = Some(Duration::from_secs(60));
        stream.set_read_timeout(limit).unwrap();
        stream
    }

    /// Sends a request as it is, and reads until the server closes the connection.
    #[track_caller]
    pub(crate) fn send(&self, request: &str) -> Answer {
        let mut stream = self.connect();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        parsed(&answer)
    }

    /// Sends a request with these headers besides the usual ones.
    #[track_caller]
    pub(crate) fn ask(&self, method: &str, path: &str, headers: &[&str], body: &str) -> Answer {
        let host = format!("Host: {}", self.at);
        let has_host = headers.iter().any(|line| line.starts_with("Host:"));
        let mut lines = vec![
            format!("{method} {path} HTTP/1.1"),
            "Connection: close".to_owned(),
        ];
        lines.extend((!has_host).then_some(host));
        lines.extend(headers.iter().map(ToString::to_string));
        lines.push(format!("Content-Length: {}", body.len()));
        self.send(&format!("{}\r\n\r\n{body}", lines.join("\r\n")))
    }

    /// Reads as a program that has the token.
    #[track_caller]
    pub(crate) fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, &[&bearer()], "")
    }

    /// Sends a form as a page of the server does.
    #[track_caller]
    pub(crate) fn post(&self, path: &str, headers: &[&str], form: &str) -> Answer {
        let origin = format!("Origin: http://{}", self.at);
        let mut all = vec![&*origin, "Content-Type: application/x-www-form-urlencoded"];
        all.extend(headers);
        self.ask("POST", path, &all, form)
    }

    /// Logs in, and returns the header with the cookie.
    #[track_caller]
    pub(crate) fn log_in(&self) -> String {
        let answer = self.post("/login", &[], &format!("token={TOKEN}"));
        assert_eq!(answer.status, 303, "{}", answer.body);
        let cookie = answer.header("set-cookie").unwrap();
        format!("Cookie: {}", cookie.split_once(';').unwrap().0)
    }
}

/// Returns the header with the token.
pub(crate) fn bearer() -> String {
    format!("Authorization: Bearer {TOKEN}")
}

fn parsed(answer: &[u8]) -> Answer {
    let text = String::from_utf8_lossy(answer);
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|word| word.parse().ok());
    Answer {
        status: status.unwrap_or(0),
        head: head.to_owned(),
        body: body.to_owned(),
    }
}
