//! Large files that nobody reads keep nobody out, and no more than a few of them are in memory.

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
