//! Large files that nobody reads keep nobody out, and no more than a few of them are in memory. A large text makes no large page.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::time::{Duration, Instant};

use crate::scene::Scene;
use crate::web_client::{Server, bearer};
use crate::world::{ONE_STEP, World, wait_until};

/// How many files are given at once.
const FILES: usize = 4;

#[test]
fn of_large_files_that_nobody_reads_only_a_few_are_in_memory() {
    let world = World::new();
    let workflow = world.put(ONE_STEP);
    let script = world.script(
        "agent.sh",
        "head -c 33554432 /dev/zero > \"$UWF_ARTIFACTS/large\"; printf -- '---\\nnote: n\\n---\\n'",
    );
    world.agent("uwf-command", &["--", script.to_str().unwrap()]);
    let thread = world.start(&workflow);
    world.step(&thread).exits(0);
    let head = world.show(&thread)["head"].as_str().unwrap().to_owned();
    let server = Server::start(&world, &[]);
    let path = format!("/steps/{head}/artifact?path=large");
    let readers: Vec<_> = (0..FILES)
        .map(|_| {
            let mut stream = server.connect();
            let (at, bearer) = (&server.at, bearer());
            let request = format!("GET {path} HTTP/1.1\r\nHost: {at}\r\n{bearer}\r\n\r\n");
            stream.write_all(request.as_bytes()).unwrap();
            // Its answer is on the way, so it has its place.
            let mut first = [0; 1];
            stream.peek(&mut first).unwrap();
            stream
        })
        .collect();
    let refused = server.get(&path);
    assert_eq!(refused.status, 503, "{}", refused.head);
    assert!(refused.body.contains("files are being read"));
    assert_eq!(server.get(&format!("/threads/{thread}")).status, 200);
    drop(readers);
    wait_until("there is room again", || server.get(&path).status == 200);
}

/// How large a page is at most, whatever it shows.
const PAGE: usize = 400 << 10;

/// The size of a large answer.
const LARGE: usize = 3_000_000;

#[test]
fn a_page_shows_the_beginning_of_a_large_text_and_leads_to_the_whole() {
    let world = World::new();
    let workflow = world.put(ONE_STEP);
    for (nth, script) in [
        // The text is large, then the data.
        "printf -- '---\\nnote: n\\n---\\n'; head -c 3000000 /dev/zero | tr '\\0' '<'",
        "printf -- '---\\nnote: '; head -c 3000000 /dev/zero | tr '\\0' 'x'; printf -- '\\n---\\n'",
    ]
    .into_iter()
    .enumerate()
    {
        let script = world.script(&format!("agent{nth}.sh"), script);
        world.agent("uwf-command", &["--", script.to_str().unwrap()]);
        let thread = world.start(&workflow);
        world.step(&thread).exits(0);
        let head = world.show(&thread)["head"].as_str().unwrap().to_owned();
        let server = Server::start(&world, &[]);
        let whole = format!("/steps/{head}/text/answer");
        for path in [
            format!("/threads/{thread}"),
            format!("/steps/{head}"),
            format!("/cas/{head}"),
            "/".to_owned(),
        ] {
            let page = server.get(&path);
            assert_eq!(page.status, 200, "{path}");
            assert!(page.body.len() < PAGE, "{path}: {}", page.body.len());
            if path.contains("threads") || path.contains("steps") {
                assert!(page.body.contains(&format!("href=\"{whole}\"")), "{path}");
            }
        }
        let answer = server.get(&whole);
        assert_eq!(answer.status, 200);
        assert!(answer.body.len() > LARGE, "{}", answer.body.len());
        let kind = answer.header("content-type").unwrap();
        assert_eq!(kind, "text/plain; charset=utf-8");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(
            server.get(&format!("/steps/{head}/text/nothing")).status,
            404
        );
    }
}

#[test]
fn a_page_shows_the_first_lines_in_which_large_texts_differ() {
    let world = World::new();
    let workflow = world.put(ONE_STEP);
    let heads = ["a", "b"].map(|line| {
        let body = format!("printf -- '---\\nnote: n\\n---\\n'; yes '{line}' | head -n 300000");
        let script = world.script("agent.sh", &body);
        world.agent("uwf-command", &["--", script.to_str().unwrap()]);
        let thread = world.start(&workflow);
        world.step(&thread).exits(0);
        world.show(&thread)["head"].as_str().unwrap().to_owned()
    });
    let server = Server::start(&world, &[]);
    let [a, b] = &heads;
    let page = server.get(&format!("/diff?a={a}&b={b}"));
    assert_eq!(page.status, 200);
    assert!(page.body.len() < PAGE, "{}", page.body.len());
    assert!(
        page.body.contains("more lines are not shown"),
        "{}",
        page.body
    );
}

/// How much an agent prints.
const PRINTED: u64 = 4 << 30;
/// How much memory the server may need, in KiB.
const MOST_KIB: u64 = 100 << 10;
/// How soon a few pages come.
const SOON: Duration = Duration::from_secs(10);

/// Returns how much memory a process needed at most, in KiB.
fn peak_kib(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let peak = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
    peak.unwrap().parse().unwrap()
}

#[test]
fn of_what_an_agent_prints_only_the_newest_lines_are_read() {
    let scene = Scene::held();
    let thread = scene.thread();
    let mut step = scene.world.spawn(&["thread", "step", &thread]);
    let live = format!("/threads/{thread}/live");
    let shows = |text: &str| scene.server.get(&live).body.contains(text);
    wait_until("the agent speaks", || shows("it works"));
    let file = scene.world.root().join(format!("runs/{thread}/stderr"));
    // The second has no line of its own: nothing ends one.
    for (size, end) in [(PRINTED, "\nthe newest <i>\n"), (2 * PRINTED, "")] {
        let mut printed = OpenOptions::new().append(true).open(&file).unwrap();
        printed.set_len(size).unwrap();
        printed.write_all(end.as_bytes()).unwrap();
        let before = Instant::now();
        let page = scene.server.get(&format!("/threads/{thread}"));
        assert_eq!(page.status, 200, "{}", page.body);
        assert_eq!(shows("the newest &lt;i&gt;"), !end.is_empty());
        let tail = scene.world.uwf(&["thread", "tail", &thread]).exits(0);
        assert_eq!(tail.stdout.contains("the newest <i>"), !end.is_empty());
        assert!(before.elapsed() < SOON, "{:?}", before.elapsed());
    }
    let peak = peak_kib(scene.server.child.id());
    assert!(peak < MOST_KIB, "{peak} KiB");
    fs::write(&file, "").unwrap();
    fs::write(scene.go(), "").unwrap();
    assert!(step.wait().unwrap().success());
}
