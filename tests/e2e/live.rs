//! What changes while one looks at it: the terminal is restored however it ends, and a pipe gets each change once.

use std::io::{BufRead, BufReader};

use serde_json::{Value, json};

use crate::processes::signal;
use crate::pty::Terminal;
use crate::world::{REVIEW, Run, World};

/// What gives the terminal its cursor and its first screen back.
const CLOSE: &str = "\u{1b}[?25h\u{1b}[?1049l";

/// A world with a thread that asks, and one that does not run.
fn world() -> (World, String, String) {
    let world = World::new();
    world.put(REVIEW);
    world.mock(
        "roles:\n  writer:\n    - output: { plan: p }\n  reviewer:\n    - output: { $status: ask, question: which? }\n",
    );
    let asks = world.start("review");
    world.uwf(&["thread", "step", &asks, "-c", "all"]).exits(6);
    let idle = world.start("review");
    (world, asks, idle)
}

/// Watches on a terminal, and does something that ends it once the page is shown.
fn ended_by(args: &[&str], end: impl FnOnce(&mut Terminal)) -> Run {
    let (world, asks, _) = world();
    let mut terminal = Terminal::start_with_stdout(&world, args);
    terminal.shows(&asks).shows("Need: which?").hides();
    end(&mut terminal);
    let run = terminal.end();
    assert!(run.stderr.ends_with(CLOSE), "{}", run.stderr.escape_debug());
    run
}

#[test]
fn a_key_or_a_signal_ends_top_and_the_terminal_is_as_before() {
    ended_by(&["thread", "top"], |terminal| {
        terminal.types("q");
    })
    .exits(0);
    ended_by(&["thread", "top"], |terminal| {
        terminal.interrupts();
    })
    .exits(130);
    ended_by(&["thread", "top"], |terminal| {
        signal("TERM", terminal.pid());
    })
    .exits(143);
}

#[test]
fn a_watched_list_is_drawn_again_when_it_changes() {
    let (world, _, idle) = world();
    let mut terminal = Terminal::start_with_stdout(&world, &["thread", "list", "--watch"]);
    terminal.shows("writer");
    world.step(&idle).exits(0);
    terminal.shows(&idle).shows("reviewer").types("q");
    terminal.end().exits(0);
}

#[test]
fn top_in_a_pipe_is_one_list_of_what_needs_attention() {
    let (world, asks, idle) = world();
    let top = world.uwf(&["thread", "top"]).exits(0).json();
    let threads: Vec<&Value> = top
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["thread"])
        .collect();
    assert_eq!(threads, [&json!(asks)], "{idle} waits for nobody");
    let text = world
        .uwf(&["thread", "top", "--format", "text"])
        .exits(0)
        .stdout;
    assert!(
        text.starts_with("0 running, 1 waits for a person\n"),
        "{text}"
    );
}

#[test]
fn a_watched_list_in_a_pipe_has_a_line_for_each_change() {
    let (world, _, idle) = world();
    let mut child = world.spawn(&["thread", "list", "--watch"]);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = || -> Value { serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap() };
    assert_eq!(next()[0]["currentRole"], json!("writer"));
    world.step(&idle).exits(0);
    assert_eq!(next()[0]["currentRole"], json!("reviewer"));
    drop(lines);
    assert!(child.wait().unwrap().success(), "it ends when nobody reads");
}

#[test]
fn a_watched_list_in_a_pipe_is_not_repeated_because_its_ages_grow() {
    let (world, asks, idle) = world();
    let mut child = world.spawn(&["thread", "list", "--watch", "--format", "text"]);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = || -> Vec<String> { (0..3).map(|_| lines.next().unwrap().unwrap()).collect() };
    let first = next();
    assert!(first[1].contains(&idle) && first[2].contains(&asks));
    // Within this time it looks at least once more.
    std::thread::sleep(std::time::Duration::from_secs(5));
    world.step(&idle).exits(0);
    let second = next();
    assert!(second[1].contains("reviewer"), "{second:?}");
    drop(lines);
    assert!(child.wait().unwrap().success());
}
