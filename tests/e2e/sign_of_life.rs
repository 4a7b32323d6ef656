//! While an agent works, a terminal shows one line about it; a pipe shows nothing.

use std::process::Stdio;

use crate::gates::{NOTE, close_gate, gated_agent, open_gate, runs};
use crate::pty::{Terminal, on_terminal};
use crate::world::{ONE_STEP, Run, World, wait_until};

const ERASED: &str = "\r\u{1b}[K";

fn world() -> (World, String) {
    let world = World::new();
    world.put(ONE_STEP);
    gated_agent(&world, NOTE);
    let thread = world.start("one");
    (world, thread)
}

#[test]
fn a_running_step_shows_a_line_that_is_gone_when_the_step_is_done() {
    let (world, thread) = world();
    close_gate(&world);
    let mut terminal = Terminal::start(&world, &["thread", "step", &thread], &[]);
    terminal
        .shows("\rwriter by ")
        .shows("0:01")
        .shows("\u{1b}[K");
    // It is drawn again, over the one before.
    terminal.shows("\rwriter by ").shows("0:02");
    open_gate(&world);
    let run = terminal.end().exits(0);
    assert!(run.stderr.ends_with(ERASED), "{:?}", run.stderr);
    assert!(run.json()["step"].is_string(), "stdout is data");
}

#[test]
fn tokens_and_cost_are_shown_as_soon_as_they_are_known() {
    let (world, thread) = world();
    close_gate(&world);
    let args = ["thread", "step", &thread];
    let mut terminal = Terminal::start(&world, &args, &[]);
    wait_until("the agent works", || runs(&world) == 1);
    let usage = r#"{"inputTokens":12000,"outputTokens":345,"costUsd":0.42}"#;
    let file = world.root().join("runs").join(&thread).join("usage.json");
    std::fs::write(file, usage).unwrap();
    terminal.shows("12k tokens  $0.42");
    open_gate(&world);
    terminal.end().exits(0);
}

#[test]
fn what_is_written_meanwhile_takes_the_place_of_the_line() {
    let (world, thread) = world();
    close_gate(&world);
    let args = ["-v", "thread", "step", &thread];
    world.scripted_agent(&format!(
        "while [ -e wait ]; do sleep 0.02; done\necho heard >&2\ntouch said\nwhile [ -e said ]; do sleep 0.02; done\n\
         exec {} agent mock answers.yaml \"$@\"",
        crate::world::binary().display(),
    ));
    let mut terminal = Terminal::start(&world, &args, &[]);
    terminal.shows("0:01").shows("no output yet");
    open_gate(&world);
    terminal.shows(&format!("{ERASED}| heard\r\n"));
    terminal.shows("last output 0:0");
    std::fs::remove_file(world.project().join("said")).unwrap();
    terminal.end().exits(0);
}

#[test]
fn an_interrupt_erases_the_line_before_the_error() {
    let (world, thread) = world();
    close_gate(&world);
    let mut terminal = Terminal::start(&world, &["thread", "step", &thread], &[]);
    terminal.shows("0:01").interrupts();
    terminal.shows(&format!("{ERASED}error: interrupted"));
    terminal.end().exits(130);
}

#[test]
fn a_quiet_call_and_a_terminal_that_cannot_redraw_show_no_line() {
    for (args, variables) in [(&["-q"][..], &[][..]), (&[], &[("TERM", "dumb")])] {
        let (world, thread) = world();
        world.scripted_agent(&format!(
            "sleep 1.5\nexec {} agent mock answers.yaml \"$@\"",
            crate::world::binary().display(),
        ));
        let args = [&["thread", "step", &thread][..], args].concat();
        let run = Terminal::start(&world, &args, variables).end().exits(0);
        assert_eq!(run.stderr, "");
    }
}

#[test]
fn in_a_pipe_nothing_is_shown_however_long_it_takes() {
    let (world, thread) = world();
    world.scripted_agent(&format!(
        "sleep 1.5\nexec {} agent mock answers.yaml \"$@\"",
        crate::world::binary().display(),
    ));
    let mut command = world.command(&["thread", "step", &thread]);
    let run = Run::from(command.stdin(Stdio::null()).output().unwrap()).exits(0);
    assert_eq!(run.stderr, "");
}

#[test]
fn threads_that_work_at_once_share_a_line() {
    let (world, first) = world();
    close_gate(&world);
    let last = world.start("one");
    let args = ["thread", "step", &first, &last, "--jobs", "2"];
    let mut terminal = Terminal::start(&world, &args, &[]);
    terminal.shows("\r2 threads at work, 0 of 2 done  0:01");
    terminal.shows("0:02");
    open_gate(&world);
    terminal.shows(ERASED).shows("note: 2 threads: 2 stepped");
    let run = terminal.end().exits(0);
    assert!(!run.stderr.contains("writer by"), "{:?}", run.stderr);
}

#[test]
fn the_line_fits_a_narrow_terminal() {
    let (world, thread) = world();
    world.scripted_agent(&format!(
        "sleep 1.5\nexec {} agent mock answers.yaml \"$@\"",
        crate::world::binary().display(),
    ));
    let screen = on_terminal(&world, 30, &["thread", "step", &thread]);
    let drawn = screen.split('\r').filter(|part| part.ends_with("\u{1b}[K"));
    let drawn: Vec<usize> = drawn.map(|part| part.chars().count() - 3).collect();
    assert!(drawn.iter().any(|width| *width > 20), "{screen:?}");
    assert!(drawn.iter().all(|width| *width < 30), "{screen:?}");
}
