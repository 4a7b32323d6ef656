//! Streams of events: their content, their listeners, and their end.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::forms::{Person, hidden};
use crate::scene::Scene;
use crate::web_client::{Server, bearer};
use crate::world::{REVIEW, World, binary};

/// How long an event may take.
const SOON: Duration = Duration::from_secs(1);

/// How often a stream says that it goes on.
const BEATS: Duration = Duration::from_secs(15);

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
        Self::ask_as(&bearer(), server, query)
    }

    /// Asks for a stream with a header that says who asks.
    fn ask_as(header: &str, server: &Server, query: &str) -> Self {
        let mut stream = server.connect();
        let request = format!(
            "GET /api/v1/events{query} HTTP/1.1\r\nHost: {}\r\n{header}\r\n\r\n",
            server.at,
        );
        stream.write_all(request.as_bytes()).unwrap();
        Self {
            lines: BufReader::new(stream),
        }
    }

    /// Returns the status of the answer, whose head is not read yet.
    #[track_caller]
    pub(crate) fn status(&mut self) -> u16 {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        let status = line.split(' ').nth(1);
        status.unwrap_or_else(|| panic!("{line}")).parse().unwrap()
    }

    /// Returns the next event; nothing at the end of the stream.
    pub(crate) fn next(&mut self) -> Option<(String, Value)> {
        let mut name = String::new();
        loop {
            let mut line = String::new();
            // The connection may stay after the last piece, whose length is 0.
            if self.lines.read_line(&mut line).ok()? == 0 || line == "0\r\n" {
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
fn a_look_at_a_thread_that_works_is_no_event() {
    let scene = Scene::held();
    let thread = scene.thread();
    let child = scene.world.spawn(&["thread", "step", &thread]);
    scene.world.agent_at_work(&thread);
    let mut stream = Stream::open(&scene.server, "");
    stream.until("reset", "");
    let limit = |time| stream.lines.get_ref().set_read_timeout(Some(time)).unwrap();
    limit(SOON);
    let mut line = String::new();
    // What the agent said just before is told yet.
    while stream.lines.read_line(&mut line).is_ok() {}
    for path in ["", "/live", "/costs", "/do/kill"] {
        let page = scene.server.get(&format!("/threads/{thread}{path}"));
        assert_eq!(page.status, 200, "{}", page.body);
    }
    for path in ["/", "/machine"] {
        assert_eq!(scene.server.get(path).status, 200);
    }
    line.clear();
    let heard = stream.lines.read_line(&mut line);
    assert!(heard.is_err(), "{line}");
    std::fs::write(scene.go(), "").unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn a_stream_tells_nothing_after_the_end_of_its_session() {
    let scene = Scene::new(&[]);
    let person = Person::of(&scene.server);
    let mut stream = Stream::ask_as(person.cookie(), &scene.server, "");
    stream.until("reset", "");
    let key = hidden(&person.look("/").body, "key").unwrap();
    let left = scene
        .server
        .post("/logout", &[person.cookie()], &format!("key={key}"));
    assert_eq!(left.status, 303, "{}", left.body);
    let begun = Instant::now();
    assert_eq!(stream.next(), None);
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
}

#[test]
fn a_stream_goes_on_by_its_beats_also_while_other_threads_work() {
    let scene = Scene::new(&[]);
    let (thread, other) = (scene.thread(), scene.thread());
    let mut stream = Stream::open(&scene.server, &format!("?thread={thread}"));
    stream.until("reset", "");
    let is_over = std::sync::atomic::AtomicBool::new(false);
    let beat = std::thread::scope(|scope| {
        // Its name does not change, but the file of names does.
        scope.spawn(|| {
            for nth in 0.. {
                if is_over.load(std::sync::atomic::Ordering::Relaxed) {
                    break;
                }
                let label = format!("nth={nth}");
                scene
                    .world
                    .uwf(&["thread", "label", &other, &label])
                    .exits(0);
                std::thread::sleep(Duration::from_secs(2));
            }
        });
        let begun = Instant::now();
        let mut line = String::new();
        while begun.elapsed() < BEATS + SOON {
            line.clear();
            // After the end of the stream there is no beat.
            let read = stream.lines.read_line(&mut line);
            if line == "event: beat\n" || !matches!(read, Ok(1..)) {
                break;
            }
        }
        is_over.store(true, std::sync::atomic::Ordering::Relaxed);
        line
    });
    assert_eq!(beat, "event: beat\n");
}

#[test]
fn a_state_that_cannot_be_read_is_no_end_of_threads() {
    let scene = Scene::new(&[]);
    let thread = scene.thread();
    let mut stream = Stream::open(&scene.server, "");
    stream.until("reset", "");
    let file = scene.world.root().join("threads.yaml");
    let state = std::fs::read(&file).unwrap();
    std::fs::write(&file, "{{{").unwrap();
    let (name, data) = stream.next().unwrap();
    assert_eq!(name, "reset", "{data}");
    let page = scene.server.get("/");
    assert_eq!(page.status, 500, "{}", page.body);
    assert!(page.body.contains("threads.yaml"), "{}", page.body);
    std::fs::write(&file, state).unwrap();
    scene.world.step(&thread).exits(0);
    let head = scene.world.show(&thread)["head"].clone();
    while stream.until("thread", &thread)["head"] != head {}
}

#[test]
fn without_watches_of_the_kernel_files_are_looked_at_and_the_page_says_so() {
    let allow_none = "echo 0 > /proc/sys/user/max_inotify_instances && exec \"$@\"";
    let limited = ["--user", "--map-root-user", "sh", "-c", allow_none, "sh"];
    let world = World::new();
    let tried = world
        .command_of("unshare")
        .args(limited)
        .arg("true")
        .status();
    if !tried.is_ok_and(|status| status.success()) {
        eprintln!("skipped: this user may not set limits of its own for watches of the kernel");
        return;
    }
    world.mock("roles: { writer: [ { output: { plan: p } } ] }");
    let workflow = world.put(REVIEW);
    let thread = world.start(&workflow);
    let mut command = world.command_of("unshare");
    command.args(limited).arg(binary()).arg("serve");
    let server = Server::of(&world, command);
    let mut stream = Stream::open(&server, "");
    stream.until("reset", "");
    assert!(server.get("/").body.contains("checks the files every"));
    world.step(&thread).exits(0);
    let head = world.show(&thread)["head"].clone();
    while stream.until("thread", &thread)["head"] != head {}
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
