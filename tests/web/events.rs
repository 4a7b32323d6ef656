//! Streams of events: their content, their listeners, and their end.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::scene::Scene;
use crate::web_client::{Server, bearer};

/// How long an event may take.
const SOON: Duration = Duration::from_secs(1);

/// A stream that is read.
pub(crate) struct Stream {
    lines: BufReader<TcpStream>,
}

impl Stream {
    /// Opens a stream as a program does, and reads until it says hello.
    #[track_caller]
    pub(crate) fn open(server: &Server, query: &str) -> Self {
        let mut stream = Self::ask(server, query);
        let (name, data) = stream.next().unwrap();
        assert_eq!(name, "hello");
        assert_eq!(data["readOnly"], false);
        stream
    }

    /// Asks for a stream, and reads nothing.
    pub(crate) fn ask(server: &Server, query: &str) -> Self {
        let mut stream = server.connect();
        let request = format!(
            "GET /api/v1/events{query} HTTP/1.1\r\nHost: {}\r\n{}\r\n\r\n",
            server.at,
            bearer()
        );
        stream.write_all(request.as_bytes()).unwrap();
        Self {
            lines: BufReader::new(stream),
        }
    }

    /// Returns the next event; nothing at the end of the stream.
    pub(crate) fn next(&mut self) -> Option<(String, Value)> {
        let mut name = String::new();
        loop {
            let mut line = String::new();
            if self.lines.read_line(&mut line).ok()? == 0 {
                return None;
            }
            if let Some(found) = line.strip_prefix("event: ") {
                name = found.trim().to_owned();
            }
            if let Some(data) = line.strip_prefix("data: ") {
                return Some((name, serde_json::from_str(data).unwrap()));
            }
        }
    }

    /// Reads until an event is of this kind, and about this thread if it is about one.
    #[track_caller]
    fn until(&mut self, name: &str, thread: &str) -> Value {
        loop {
            let (found, data) = self.next().expect("the stream goes on");
            if found == name && (data["thread"].is_null() || data["thread"] == thread) {
                return data;
            }
        }
    }
}

#[test]
fn what_another_process_does_is_told_within_a_second() {
    let scene = Scene::new(&[]);
    let thread = scene.thread();
    let mut all = Stream::open(&scene.server, "");
    all.until("reset", &thread);
    let begun = Instant::now();
    let other = scene.thread();
    all.until("threads", &other);
    all.until("thread", &other);
    scene.world.step(&thread).exits(0);
    let done = Instant::now();
    let head = scene.world.show(&thread)["head"].clone();
    while all.until("thread", &thread)["head"] != head {}
    assert!(done.elapsed() < SOON, "{:?}", done.elapsed());
    scene.world.uwf(&["thread", "kill", &thread]).exits(0);
    while !all.until("thread", &thread)["head"].is_null() {}
    assert!(begun.elapsed() < Duration::from_secs(60));
}

#[test]
fn who_asks_for_one_thread_hears_of_no_other_and_of_each_line() {
    let scene = Scene::held();
    let thread = scene.thread();
    let other = scene.thread();
    let query = format!("?thread={thread}");
    let mut one = Stream::open(&scene.server, &query);
    one.until("reset", &thread);
    let child = scene.world.spawn(&["thread", "step", &thread]);
    let mut kinds = Vec::new();
    while !kinds.contains(&"turn".to_owned()) {
        let (name, data) = one.next().unwrap();
        assert_ne!(data["thread"], *other);
        kinds.push(name);
        // The line may be part of what the first event about the thread told.
        if kinds.contains(&"thread".to_owned()) {
            let said = scene.server.get(&format!("/threads/{thread}/live")).body;
            if said.contains("a line &lt;b&gt;while&lt;/b&gt; it works") {
                break;
            }
        }
    }
    std::fs::write(scene.go(), "").unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let head = scene.world.show(&thread)["head"].clone();
    while one.until("thread", &thread)["head"] != head {}
    let wrong = scene.server.get("/api/v1/events?thread=--help");
    assert_eq!(wrong.status, 404);
    assert_eq!(
        scene.server.ask("GET", "/api/v1/events", &[], "").status,
        401
    );
}

#[test]
fn the_end_of_the_server_is_told_and_comes_within_a_second() {
    let mut scene = Scene::new(&[]);
    let mut streams: Vec<Stream> = (0..20).map(|_| Stream::open(&scene.server, "")).collect();
    let begun = Instant::now();
    let server = Pid::from_raw(scene.server.child.id().try_into().unwrap());
    kill(server, Signal::SIGTERM).unwrap();
    for stream in &mut streams {
        stream.until("bye", "");
        while stream.next().is_some() {}
    }
    let status = scene.server.child.wait().unwrap();
    assert!(status.success(), "{status}");
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
}
