//! Who may ask `uwf serve` for what, and how the server stands those who ask wrongly.

use std::fs::Permissions;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::web_client::{Server, TOKEN, bearer};
use crate::world::{ONE_STEP, World};

/// A thread of every test here.
fn world() -> (World, String) {
    let world = World::new();
    world.mock("roles: { writer: [ { output: { note: fine } } ] }");
    let workflow = world.put(ONE_STEP);
    let thread = world.start(&workflow);
    world.step(&thread).exits(0);
    (world, thread)
}

/// Returns the addresses that are not for everybody.
fn closed(server: &Server, thread: &str) -> Vec<String> {
    let shown = server.get(&format!("/api/v1/threads/{thread}")).json();
    let (workflow, head) = (&shown["workflow"], &shown["head"]);
    let (workflow, head) = (workflow.as_str().unwrap(), head.as_str().unwrap());
    let pages = [
        "/".to_owned(),
        format!("/threads/{thread}"),
        format!("/steps/{head}"),
        format!("/steps/{head}/text/answer"),
        format!("/diff?a={head}&b={head}"),
        format!("/diff?a={thread}&b={thread}"),
        format!("/workflows/{workflow}/since/{workflow}"),
        "/costs".to_owned(),
        format!("/threads/{thread}/costs"),
        "/workflows".to_owned(),
        format!("/workflows/{workflow}"),
        format!("/cas/{head}?uses=all"),
        "/machine".to_owned(),
        "/machine/checks".to_owned(),
        "/help".to_owned(),
    ];
    let data = [
        "threads".to_owned(),
        format!("threads/{thread}"),
        format!("threads/{thread}/steps"),
        format!("threads/{thread}/graph"),
        format!("steps/{head}"),
        format!("steps/{head}/prompt"),
        format!("diff/{head}/{head}"),
        format!("thread-diff/{thread}/{thread}"),
        format!("workflow-diff/{workflow}/{workflow}"),
        "costs".to_owned(),
        format!("threads/{thread}/costs"),
        "workflows".to_owned(),
        format!("workflows/{workflow}"),
        "workflow-history/one".to_owned(),
        format!("cas/{head}"),
        format!("cas/{head}/uses"),
        "machine".to_owned(),
        "machine/checks".to_owned(),
    ];
    let data = data.map(|path| format!("/api/v1/{path}"));
    pages.into_iter().chain(data).collect()
}

#[test]
fn the_address_has_the_token_unless_a_person_chose_it() {
    let (world, _) = world();
    let server = Server::start(&world, &["--read-only"]);
    assert_eq!(server.first["url"], format!("http://{}/login", server.at));
    assert_eq!(server.first["readOnly"], true);
    let mut child = world.spawn(&["serve", "--listen", "127.0.0.1:0", "--format", "json"]);
    let mut printed = String::new();
    let stdout = child.stdout.take().unwrap();
    BufReader::new(stdout).read_line(&mut printed).unwrap();
    let printed: Value = serde_json::from_str(&printed).unwrap();
    let url = printed["url"].as_str().unwrap();
    let (page, token) = url.split_once('#').unwrap();
    assert!(page.ends_with("/login"), "{url}");
    assert_eq!(token.len(), 64, "{url}");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_token_that_every_user_can_read_is_warned_of() {
    let world = World::new();
    let file = world.write("token", "too short");
    let serve = ["serve", "--token-file", file.to_str().unwrap()];
    for (mode, is_open) in [(0o644, true), (0o604, true), (0o640, false), (0o600, false)] {
        std::fs::set_permissions(&file, Permissions::from_mode(mode)).unwrap();
        let run = world.uwf(&serve).exits(1);
        let warning = "warning: every user of this machine can read the token";
        assert_eq!(
            run.stderr.contains(warning),
            is_open,
            "{mode:o}: {}",
            run.stderr
        );
    }
}

#[test]
fn every_address_needs_the_token_or_a_session_and_a_host_of_ours() {
    let (world, thread) = world();
    let server = Server::start(&world, &["--allow-host", "box.example:80"]);
    let cookie = server.log_in();
    for path in closed(&server, &thread) {
        let is_data = path.starts_with("/api/");
        assert_eq!(server.get(&path).status, 200, "{path}");
        assert_eq!(
            server.ask("GET", &path, &[&cookie], "").status,
            200,
            "{path}"
        );
        let stranger = server.ask("GET", &path, &[], "");
        match is_data {
            true => assert_eq!(stranger.json()["error"]["code"], "unknown", "{path}"),
            false => assert!(
                stranger
                    .header("location")
                    .unwrap()
                    .starts_with("/login?next=")
            ),
        }
        let wrong = server.ask("GET", &path, &["Authorization: Bearer wrong"], "");
        assert_ne!(wrong.status, 200, "{path}");
        // What a proxy asks its own visitors for shuts nobody out who has a session.
        let proxied = ["Authorization: Bearer of-a-proxy", &cookie];
        let proxied = server.ask("GET", &path, &proxied, "");
        assert_eq!(proxied.status, 200, "{path}");
        for host in ["Host: evil.example", "Host: 127.0.0.1", "Host: box.example"] {
            let rebound = server.ask("GET", &path, &[host, &bearer()], "");
            assert_eq!(rebound.status, 421, "{path} {host}");
        }
        let allowed = server.ask("GET", &path, &["Host: BOX.example:80", &bearer()], "");
        assert_eq!(allowed.status, 200, "{path}");
    }
    // The host of an absolute address counts.
    let absolute =
        "GET http://evil.example/login HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    assert_eq!(server.send(absolute).status, 421);
    assert_eq!(server.send("GET / HTTP/1.0\r\n\r\n").status, 421);
}

#[test]
fn every_answer_forbids_a_browser_everything_else() {
    let (world, thread) = world();
    let server = Server::start(&world, &[]);
    let open = ["/login", "/healthz", "/assets/none.js", "/nothing"];
    let open = open.map(str::to_owned);
    for path in closed(&server, &thread).into_iter().chain(open) {
        for answer in [server.get(&path), server.ask("GET", &path, &[], "")] {
            let policy = answer.header("content-security-policy").unwrap();
            assert!(
                policy.starts_with("default-src 'none'; script-src 'self';"),
                "{path}"
            );
            assert!(
                policy.contains("require-trusted-types-for 'script'"),
                "{path}"
            );
            assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
            assert_eq!(
                answer.header("cross-origin-opener-policy"),
                Some("same-origin")
            );
            assert!(answer.header("cache-control").is_some(), "{path}");
        }
    }
    assert_eq!(server.get("/").header("cache-control"), Some("no-store"));
}

#[test]
fn a_form_needs_our_origin_and_the_key_of_its_session() {
    let (world, _) = world();
    let server = Server::start(&world, &[]);
    let cookie = server.log_in();
    let form = format!("token={TOKEN}");
    for origin in [
        "Origin: null",
        "Origin: http://127.0.0.1:1",
        "Origin: http://evil.example",
        "X-No: 1",
    ] {
        let foreign = server.ask("POST", "/login", &[origin], &form);
        assert_eq!(foreign.status, 403, "{origin}");
        let foreign = server.ask("POST", "/logout", &[origin, &cookie], "");
        assert_eq!(foreign.status, 403, "{origin}");
    }
    assert_eq!(server.post("/logout", &[&cookie], "key=wrong").status, 403);
    let page = server.ask("GET", "/", &[&cookie], "").body;
    let (_, after) = page.split_once("name=\"key\" value=\"").unwrap();
    let key = after.split_once('"').unwrap().0;
    let left = server.post("/logout", &[&cookie], &format!("key={key}"));
    assert_eq!(left.status, 303);
    assert_eq!(server.ask("GET", "/", &[&cookie], "").status, 303);
}

#[test]
fn a_wrong_token_takes_time_and_opens_nothing() {
    let (world, _) = world();
    let server = Server::start(&world, &["--read-only"]);
    let begin = Instant::now();
    let wrong = server.post("/login", &[], "token=wrong");
    assert_eq!(wrong.status, 401);
    assert!(wrong.header("set-cookie").is_none());
    assert!(begin.elapsed() >= Duration::from_millis(400));
    let right = server.post("/login", &[], &format!("token={TOKEN}&next=//evil.example"));
    assert_eq!(right.header("location"), Some("/"));
    let cookie = right.header("set-cookie").unwrap();
    assert!(
        cookie.ends_with("; Path=/; HttpOnly; SameSite=Strict"),
        "{cookie}"
    );
    let port = server.at.rsplit_once(':').unwrap().1;
    assert!(cookie.starts_with(&format!("uwf-{port}=")), "{cookie}");
}

#[test]
fn a_server_for_looking_refuses_what_would_act() {
    let (world, thread) = world();
    let server = Server::start(&world, &["--read-only"]);
    for method in ["POST", "PUT", "DELETE", "PATCH"] {
        for path in ["/", &*format!("/threads/{thread}"), "/api/v1/threads"] {
            let refused = server.ask(method, path, &[&bearer()], "");
            assert_eq!(refused.status, 403, "{method} {path}");
        }
    }
}

#[test]
fn what_is_no_id_is_at_no_address() {
    let (world, thread) = world();
    let server = Server::start(&world, &[]);
    for path in [
        "/threads/--help",
        "/threads/@",
        "/threads/..%2f..%2fetc%2fpasswd",
        "/threads/01M8H85S0Y8FGKN70E5YKS24Q8",
        "/cas/--all",
        "/cas/0123456789ABC",
        "/steps/-",
        "/workflows/one",
        "/workflows/.%2fone.yaml",
        "/assets/..%2f..%2fCargo.toml",
        "/assets/app.css",
        "/../../etc/passwd",
        "//etc/passwd",
        "/api/v1/threads/-h",
        "/api/v1/cas/..",
        "/api/v1/workflow-history/..%2fx",
        "/api/v2/threads",
    ] {
        assert_eq!(server.get(path).status, 404, "{path}");
    }
    for path in [
        "/?status=nothing",
        "/?children=all",
        "/?before=x",
        "/diff?a=--x&b=y",
        &format!("/diff?a={thread}&b=y"),
        "/?label=%3d",
    ] {
        assert_eq!(server.get(path).status, 400, "{path}");
    }
    assert_eq!(
        server
            .get(&format!("/threads/{}", thread.to_lowercase()))
            .status,
        200
    );
}

#[test]
fn slow_and_large_requests_end_and_hold_up_nobody() {
    let (world, _) = world();
    let server = Server::start(&world, &[]);
    let mut slow: Vec<_> = (0..40).map(|_| server.connect()).collect();
    for stream in &mut slow {
        stream
            .write_all(b"GET / HTTP/1.1\r\nHost: x\r\nA: ")
            .unwrap();
    }
    assert_eq!(server.get("/").status, 200);
    let begin = Instant::now();
    for stream in &mut slow {
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest);
    }
    assert!(begin.elapsed() < Duration::from_secs(30));
    let large = format!("token={}", "x".repeat(1024 * 1024));
    assert_eq!(server.post("/login", &[], &large).status, 413);
    let endless = format!("GET /{} HTTP/1.1\r\n", "x".repeat(1024 * 1024));
    let mut stream = server.connect();
    let _ = stream.write_all(endless.as_bytes());
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    assert_eq!(server.get("/healthz").body, "ok\n");
}

#[test]
fn a_signal_ends_the_server_at_once_also_with_open_connections() {
    let (world, _) = world();
    for signal in [Signal::SIGTERM, Signal::SIGINT] {
        let mut server = Server::start(&world, &[]);
        let mut idle = server.connect();
        idle.write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            .unwrap();
        let _half = server.connect().write_all(b"GET / HT");
        let pid = Pid::from_raw(i32::try_from(server.child.id()).unwrap());
        let begin = Instant::now();
        kill(pid, signal).unwrap();
        let status = server.child.wait().unwrap();
        assert_eq!(status.code(), Some(0), "{signal}");
        assert!(begin.elapsed() < Duration::from_secs(10), "{signal}");
    }
}

#[test]
fn what_a_browser_never_sends_as_a_host_is_refused() {
    let world = World::new();
    for host in ["http://x", "x/y", "x:0", "*.x"] {
        world
            .uwf(&["serve", "--allow-host", host])
            .exits(2)
            .says("write a name or an address, with its port");
    }
}

#[test]
fn the_server_stays_on_this_machine_unless_a_proxy_is_named() {
    let (world, _) = world();
    for open in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0", "[::ffff:127.0.0.1]:0"] {
        world
            .uwf(&["serve", "--listen", open])
            .exits(1)
            .says("other machines can reach")
            .says("--behind-proxy --public-url")
            .says("ssh -L");
        // A proxy without encryption is enough for the browsers of this machine alone.
        let plain = ["--behind-proxy", "--public-url", "http://localhost:8080"];
        world
            .uwf(&[&["serve", "--listen", open], &plain[..]].concat())
            .exits(1)
            .says("the proxy must encrypt");
    }
    // What a name means may change.
    for name in ["localhost:0", "uwf.example:80", "0.0.0.0", "*:80"] {
        world
            .uwf(&["serve", "--listen", name])
            .exits(2)
            .says("write an IP address and a port: `127.0.0.1:8930`");
    }
    world.uwf(&["serve", "--behind-proxy"]).exits(2);
    let wrong = [
        "serve",
        "--behind-proxy",
        "--public-url",
        "http://uwf.example",
    ];
    world.uwf(&wrong).exits(1).says("it is not encrypted");
    let short = world.write("short", "abc\n");
    let short = ["serve", "--token-file", short.to_str().unwrap()];
    world.uwf(&short).exits(1).says("16 to 256 characters");
    let server = Server::start(
        &world,
        &[
            "--behind-proxy",
            "--public-url",
            "https://uwf.example",
            "--allow-host",
            "other.example",
        ],
    );
    let proxied = ["Host: uwf.example", "Origin: https://uwf.example"];
    let right = server.ask("POST", "/login", &proxied, &format!("token={TOKEN}"));
    let cookie = right.header("set-cookie").unwrap();
    assert!(
        cookie.starts_with("__Host-uwf-") && cookie.contains("; Secure"),
        "{cookie}"
    );
    let allowed = ["Host: other.example", "Origin: https://other.example"];
    let allowed = server.ask("POST", "/login", &allowed, &format!("token={TOKEN}"));
    assert_eq!(allowed.status, 303, "{}", allowed.body);
    world
        .uwf(&["serve", "--listen", &server.at])
        .exits(5)
        .says("cannot listen");
}
