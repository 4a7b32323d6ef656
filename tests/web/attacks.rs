//! Those who ask too much, and what must outlive the server.

use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::json;

use crate::events::Stream;
use crate::forms::Person;
use crate::scene::Scene;
use crate::web_client::{Server, TOKEN, bearer};
use crate::world::wait_until;

/// How many streams there may be.
const STREAMS: usize = 1024;

/// How soon a request is given up that does not come.
const GIVEN_UP: Duration = Duration::from_secs(20);

/// How many commands there are at once.
pub(crate) const COMMANDS: usize = 8;

/// Returns how many processes the threads of a process have started.
pub(crate) fn children_of(process: u32) -> usize {
    let threads = std::fs::read_dir(format!("/proc/{process}/task")).unwrap();
    let of = |thread: std::io::Result<std::fs::DirEntry>| {
        let file = thread.unwrap().path().join("children");
        // A thread may have ended.
        let children = std::fs::read_to_string(file).unwrap_or_default();
        children.split_whitespace().count()
    };
    threads.map(of).sum()
}

fn pid(server: &Server) -> Pid {
    Pid::from_raw(server.child.id().try_into().unwrap())
}

#[test]
fn a_thousand_streams_hear_what_happens_and_one_too_many_is_refused() {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        ..limit
    };
    setrlimit(Resource::Nofile, raised).unwrap();
    let scene = Scene::new(&[]);
    let thread = scene.thread();
    let mut streams: Vec<Stream> = (0..STREAMS)
        .map(|_| Stream::ask(&scene.server, ""))
        .collect();
    for stream in &mut streams {
        assert_eq!(stream.next().unwrap().0, "hello");
    }
    assert_eq!(Stream::ask(&scene.server, "").status(), 503);
    // Pages are answered beside them.
    assert_eq!(scene.server.get(&format!("/threads/{thread}")).status, 200);
    scene.world.step(&thread).exits(0);
    for stream in &mut streams {
        while stream.next().unwrap().0 != "thread" {}
    }
    // Those who leave make room.
    drop(streams);
    wait_until("there is room for a stream again", || {
        let mut stream = Stream::ask(&scene.server, "");
        stream.next().is_some_and(|(name, _)| name == "hello")
    });
}

#[test]
fn clients_that_are_slow_keep_nobody_out() {
    let scene = Scene::new(&[]);
    let thread = scene.thread();
    // Half a head, half a body, and answers that nobody reads.
    let mut slow = Vec::new();
    let begun = Instant::now();
    for nth in 0..60 {
        let mut stream = scene.server.connect();
        let at = &scene.server.at;
        let text = match nth % 3 {
            0 => format!("GET / HTTP/1.1\r\nHost: {at}\r\n"),
            1 => format!(
                "POST /login HTTP/1.1\r\nHost: {at}\r\nOrigin: http://{at}\r\nContent-Length: 999\r\n\r\ntoken="
            ),
            _ => format!(
                "GET /threads/{thread} HTTP/1.1\r\nHost: {at}\r\n{}\r\n\r\n",
                bearer()
            )
            .repeat(20),
        };
        stream.write_all(text.as_bytes()).unwrap();
        slow.push(stream);
    }
    assert_eq!(scene.server.get("/").status, 200);
    // The half of a head is given up after five seconds, and the half of a body after ten.
    let body = slow.swap_remove(1);
    let head = slow.swap_remove(0);
    for (half, line) in [(head, ""), (body, "HTTP/1.1 408 Request Timeout\r\n")] {
        let mut said = String::new();
        BufReader::new(half).read_line(&mut said).unwrap();
        assert_eq!(said, line);
    }
    assert!(begun.elapsed() < GIVEN_UP, "{:?}", begun.elapsed());
    assert_eq!(scene.server.get("/").status, 200);
}

#[test]
fn a_client_that_reads_nothing_is_given_up() {
    let scene = Scene::new(&[]);
    let mut stream = scene.server.connect();
    stream.set_nonblocking(true).unwrap();
    let request = format!(
        "GET /workflows/{} HTTP/1.1\r\nHost: {}\r\n{}\r\n\r\n",
        scene.workflow,
        scene.server.at,
        bearer()
    );
    // More answers than all buffers between us hold. Then nothing more can be sent, until the server gives the connection up.
    let many = request.repeat(200_000);
    let mut sent = 0;
    let mut refused = None;
    let begun = Instant::now();
    wait_until("the server gives the connection up", || {
        match stream.write(&many.as_bytes()[sent..]) {
            Ok(more) => sent += more,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => refused = Some(error.kind()),
        }
        refused.is_some()
    });
    assert!(sent < many.len(), "everything was sent");
    assert!(begun.elapsed() < 2 * GIVEN_UP, "{:?}", begun.elapsed());
    assert_eq!(scene.server.get("/").status, 200);
}

#[test]
fn commands_that_wait_keep_no_page_and_only_so_many_commands_out() {
    let scene = Scene::new(&[]);
    let thread = scene.thread();
    let state = File::open(scene.world.root().join("locks/state.lock")).unwrap();
    state.lock().unwrap();
    let at = format!("threads/{thread}/pause");
    let (done, refused) = std::thread::scope(|scope| {
        let pause = || scope.spawn(|| scene.act(&at, &json!({})));
        let waiting: Vec<_> = (0..COMMANDS).map(|_| pause()).collect();
        wait_until("all of them wait", || {
            children_of(scene.server.child.id()) == COMMANDS
        });
        assert_eq!(scene.server.get(&format!("/threads/{thread}")).status, 200);
        let refused = pause().join().unwrap();
        state.unlock().unwrap();
        let done = waiting.into_iter().map(|one| one.join().unwrap().status);
        (done.collect::<Vec<_>>(), refused)
    });
    assert_eq!(done, [200; COMMANDS]);
    assert_eq!(refused.status, 503, "{}", refused.body);
    let error = &refused.json()["error"];
    assert_eq!(error["code"], "busy");
    assert!(error["hint"].as_str().unwrap().contains("in a moment"));
}

#[test]
fn who_is_not_known_sends_little() {
    let scene = Scene::new(&[]);
    let form = |bytes: usize| format!("token={}", "x".repeat(bytes));
    let sent = |bytes: usize| scene.server.post("/login", &[], &form(bytes)).status;
    assert_eq!([sent(7 * 1024), sent(9 * 1024)], [401, 413]);
    let person = Person::of(&scene.server);
    let left = scene
        .server
        .post("/logout", &[person.cookie()], &form(9 * 1024));
    assert_eq!(left.status, 413);
}

/// Each line is a request and its refusal: the status, the code, the method, the path, and the header that matters.
const REFUSALS: &str = "
    404 not-found GET    /api/nothing                  token
    404 not-found GET    /api/v1                       token
    404 not-found GET    /api/v1/x/y/z                 token
    404 not-found GET    /api/v1/threads/%ff           token
    404 request   GET    /api/v1/cas/0000000000000     token
    405 method    DELETE /api/v1/threads/ID            token
    405 method    POST   /api/v1/events                token
    405 method    GET    /api/v1/threads/ID/step       token
    413 body      POST   /api/v1/threads/ID/step       token
    401 unknown   GET    /api/v1/threads/ID            Authorization: Bearer wrong
    401 unknown   POST   /api/v1/threads/ID/step       Authorization: Bearer wrong
    403 origin    POST   /api/v1/threads/ID/step       Origin: http://evil.example
    421 host      GET    /api/v1/threads/ID            Host: evil.example
";

#[test]
fn a_program_reads_every_refusal() {
    let scene = Scene::new(&[]);
    let thread = scene.thread();
    for line in REFUSALS.trim().lines() {
        let mut words = line.split_whitespace();
        let mut word = || words.next().unwrap();
        let (status, code, method) = (word(), word(), word());
        let path = word().replace("ID", &thread);
        let header = words
            .collect::<Vec<_>>()
            .join(" ")
            .replace("token", &bearer());
        let body = match status {
            "413" => "x".repeat(1024 * 1024 + 1),
            _ => String::new(),
        };
        let answer = scene.server.ask(method, &path, &[&header], &body);
        assert_eq!(answer.status.to_string(), status, "{line}: {}", answer.body);
        let kind = answer.header("content-type");
        assert_eq!(kind, Some("application/json"), "{line}");
        assert_eq!(answer.header("allow").is_some(), status == "405", "{line}");
        let error = &answer.json()["error"];
        assert_eq!(error["code"], code, "{line}");
        assert!(!error["message"].as_str().unwrap().is_empty());
    }
    let page = scene.server.ask("DELETE", "/", &[&bearer()], "");
    assert_eq!(page.status, 405);
    assert!(page.body.contains("no such method"), "{}", page.body);
}

#[test]
fn a_body_that_does_not_come_whole_is_not_called_large() {
    let scene = Scene::new(&[]);
    let thread = scene.thread();
    let head = format!(
        "POST /api/v1/threads/{thread}/kill HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n{}\r\n\
         Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n",
        scene.server.at,
        bearer()
    );
    let broken = scene
        .server
        .send(&format!("{head}2\r\n{{}}\r\nno length\r\n\r\n"));
    assert_eq!(broken.status, 400, "{}", broken.body);
    assert_eq!(broken.json()["error"]["code"], "body");
    let size = 1024 * 1024 + 1;
    let large = format!("{head}{size:x}\r\n{}\r\n0\r\n\r\n", "x".repeat(size));
    assert_eq!(scene.server.send(&large).status, 413);
    assert_eq!(scene.world.show(&thread)["status"], "idle");
}

#[test]
fn paths_lead_nowhere_else() {
    let scene = Scene::new(&[]);
    let thread = scene.thread();
    for path in [
        "/assets/../../../../etc/passwd",
        "/assets/..%2f..%2fetc%2fpasswd",
        "/threads/..%2f..%2fetc%2fpasswd",
        "/threads/--help",
        "/threads/--help/do/step",
        "/cas/..%2fthreads.yaml",
        "/api/v1/threads/..%2f..%2fconfig.yaml",
        "/api/v1/cas/%2e%2e%2fconfig.yaml",
        "//evil.example/",
    ] {
        let answer = scene.server.get(path);
        assert!(
            matches!(answer.status, 400 | 404),
            "{path}: {}",
            answer.status
        );
        assert!(!answer.body.contains("root:"), "{path}");
    }
    let path = format!("/threads/{thread}/do/..%2fkill");
    assert_eq!(scene.server.get(&path).status, 404);
}

#[test]
fn the_token_acts_from_any_origin_and_no_foreign_page_may_send_it() {
    let scene = Scene::new(&[]);
    let thread = scene.thread();
    let path = format!("/api/v1/threads/{thread}/pause");
    let origin = "Origin: http://evil.example";
    // A browser asks this before a page may send the token to another origin. Nothing allows that.
    let asks = [
        origin,
        "Access-Control-Request-Method: POST",
        "Access-Control-Request-Headers: authorization",
    ];
    let bearer = bearer();
    let sent = [origin, &bearer];
    for (method, headers) in [
        ("OPTIONS", &asks[..]),
        ("POST", &sent[..]),
        ("GET", &sent[..]),
    ] {
        let answer = scene.server.ask(method, &path, headers, "");
        assert_eq!(
            answer.status == 200,
            method == "POST",
            "{method}: {}",
            answer.body
        );
        for header in [
            "access-control-allow-origin",
            "access-control-allow-headers",
        ] {
            assert_eq!(answer.header(header), None, "{method}");
        }
    }
    assert_eq!(scene.world.show(&thread)["status"], "paused");
}

#[test]
fn a_foreign_page_cannot_act_whatever_it_sends() {
    let scene = Scene::new(&[]);
    let person = Person::of(&scene.server);
    let thread = scene.thread();
    let path = format!("/threads/{thread}/do/kill");
    let key = crate::forms::hidden(&person.look(&path).body, "key").unwrap();
    let form = format!("key={key}");
    let port = scene.server.at.rsplit_once(':').unwrap().1;
    for origin in [
        "Origin: http://evil.example",
        "Origin: null",
        "Origin: http://127.0.0.1:1",
        &format!("Origin: https://127.0.0.1:{port}"),
        "X-None: 1",
    ] {
        let headers = [
            origin,
            person.cookie(),
            "Content-Type: application/x-www-form-urlencoded",
        ];
        let sent = scene.server.ask("POST", &path, &headers, &form);
        assert_eq!(sent.status, 403, "{origin}");
        let api = format!("/api/v1/threads/{thread}/kill");
        assert_eq!(
            scene.server.ask("POST", &api, &headers, &form).status,
            403,
            "{origin}"
        );
    }
    let rebound = [
        "Host: evil.example",
        person.cookie(),
        "Origin: http://evil.example",
    ];
    assert_eq!(scene.server.ask("POST", &path, &rebound, &form).status, 421);
    // Nor does a page that was made to have our address read anything.
    for path in ["/", "/login", &path, "/api/v1/threads", "/healthz"] {
        let read = scene
            .server
            .ask("GET", path, &["Host: evil.example", person.cookie()], "");
        assert_eq!(read.status, 421, "{path}");
    }
    // The origin alone is not enough.
    assert_eq!(
        scene.server.post(&path, &[person.cookie()], "key=x").status,
        403
    );
    assert_eq!(scene.world.show(&thread)["status"], "idle");
}

#[test]
fn a_step_goes_on_when_the_server_is_killed_or_told_to_end() {
    let mut scene = Scene::held();
    for signal in [Signal::SIGKILL, Signal::SIGTERM] {
        let thread = scene.thread();
        let sent = scene.act(&format!("threads/{thread}/step"), &json!({}));
        assert_eq!(sent.status, 202, "{}", sent.body);
        scene.world.agent_at_work(&thread);
        kill(pid(&scene.server), signal).unwrap();
        let status = scene.server.child.wait().unwrap();
        assert_eq!(status.success(), signal == Signal::SIGTERM, "{status}");
        assert_eq!(scene.world.show(&thread)["status"], "running");
        File::create(scene.go()).unwrap();
        wait_until("the step is recorded", || {
            scene.world.show(&thread)["steps"] == 1
        });
        std::fs::remove_file(scene.go()).unwrap();
        scene.server = Server::start(&scene.world, &[]);
    }
}

#[test]
fn a_step_that_has_ended_leaves_no_process_behind() {
    let scene = Scene::new(&[]);
    let thread = scene.thread();
    let sent = scene.act(&format!("threads/{thread}/run"), &json!({}));
    assert_eq!(sent.status, 202, "{}", sent.body);
    scene.wait_for(&thread, "suspended", 2);
    let server = scene.server.child.id();
    wait_until("the process is gone", || children_of(server) == 0);
}

#[test]
fn nothing_secret_is_in_an_address_a_page_or_the_arguments_of_a_process() {
    let scene = Scene::held();
    let person = Person::of(&scene.server);
    let thread = scene.thread();
    let secret = "words of a person that others cannot see";
    let folder = scene.world.project();
    let fields = [
        ("workflow", "review"),
        ("prompt", secret),
        ("cwd", folder.to_str().unwrap()),
    ];
    let started = person.fill("/new", &fields);
    assert_eq!(started.status, 303, "{}", started.body);
    let sent = scene.act(&format!("threads/{thread}/step"), &json!({}));
    assert_eq!(sent.status, 202, "{}", sent.body);
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).into_owned();
        assert!(!line.contains(secret) && !line.contains(TOKEN), "{line}");
    }
    for path in ["/", &format!("/threads/{thread}"), "/machine", "/new"] {
        assert!(!person.look(path).body.contains(TOKEN), "{path}");
    }
    File::create(scene.go()).unwrap();
    scene.wait_for(&thread, "idle", 1);
}
