//! Large files that nobody reads keep nobody out, and no more than a few of them are in memory. A large text makes no large page.

use std::io::Write;

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
