//! Colours: a few words on a terminal, none where nobody looks or wants them, and nothing that others wrote.

use crate::pty::{Terminal, on_terminal};
use crate::world::{ONE_STEP, World};

const RED_FAILED: &str = "\u{1b}[31mfailed\u{1b}[0m";

/// A world with a failed thread whose failure, role and task want to be obeyed.
fn world() -> (World, String) {
    let world = World::new();
    world.put(ONE_STEP);
    world.scripted_agent("printf '\\033[2J\\033[31mfailed' >&2; exit 3");
    let args = ["thread", "start", "one", "-p", "\u{1b}[31mfailed\u{1b}[0m"];
    let started = world.uwf(&args).exits(0).json();
    let thread = started["thread"].as_str().unwrap().to_owned();
    world.step(&thread).exits(3);
    (world, thread)
}

/// Returns a text without the sequences that give words a colour.
fn without_colours(text: &str) -> String {
    let codes = ["[31m", "[32m", "[33m", "[36m", "[0m"];
    codes.iter().fold(text.to_owned(), |text, code| {
        text.replace(&format!("\u{1b}{code}"), "")
    })
}

#[test]
fn the_status_has_a_colour_on_a_terminal_and_what_others_wrote_has_none() {
    let (world, thread) = world();
    for args in [
        &["thread", "list"][..],
        &["thread", "show", &thread],
        &["thread", "top"],
    ] {
        let args = [args, &["--color", "always", "--format", "text"]].concat();
        let shown = world.uwf(&args).exits(0).stdout;
        assert_eq!(shown.matches(RED_FAILED).count(), 1, "{shown:?}");
        assert!(!without_colours(&shown).contains('\u{1b}'), "{shown:?}");
        assert!(shown.contains(" [31mfailed [0m"), "the task: {shown:?}");
    }
}

#[test]
fn a_coloured_table_is_aligned_like_a_plain_one() {
    let (world, _) = world();
    let plain = on_terminal(&world, 80, &["thread", "list"]);
    let coloured = on_terminal(&world, 80, &["thread", "list", "--color", "always"]);
    assert!(!plain.contains('\u{1b}'), "NO_COLOR is set: {plain:?}");
    assert_eq!(without_colours(&coloured), plain);
    assert_ne!(coloured, plain);
}

#[test]
fn labels_have_a_colour_only_on_a_terminal() {
    let (world, _) = world();
    let args = ["thread", "show", "nope"];
    let on = |variables: &[(&str, &str)]| Terminal::start(&world, &args, variables).end().stderr;
    assert!(on(&[("NO_COLOR", "")]).contains("\u{1b}[31merror\u{1b}[0m: "));
    for quiet in [
        &[("NO_COLOR", "1")][..],
        &[("NO_COLOR", ""), ("TERM", "dumb")],
    ] {
        assert!(on(quiet).contains("error: no thread is named `nope`"));
    }
    let piped = world
        .command(&args)
        .env_remove("NO_COLOR")
        .output()
        .unwrap();
    assert!(!piped.stderr.contains(&0x1b));
    let never = [&args[..], &["--color", "never"]].concat();
    let never = Terminal::start(&world, &never, &[("NO_COLOR", "")]).end();
    assert!(!never.stderr.contains('\u{1b}'), "{}", never.stderr);
}

#[test]
fn data_has_no_colours() {
    let (world, thread) = world();
    for format in ["json", "yaml"] {
        let args = [
            "thread", "show", &thread, "--color", "always", "--format", format,
        ];
        assert!(!world.uwf(&args).exits(0).stdout.contains('\u{1b}'));
    }
}
