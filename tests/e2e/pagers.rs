//! Long texts on a terminal go to a pager; short ones, and those in a pipe, do not.

use crate::pty::run_on_terminal;
use crate::world::{REVIEW, Run, World};

/// A thread whose document is longer than a screen, and a pager that says that it was there.
fn world() -> (World, String) {
    let world = World::new();
    world.put(REVIEW);
    let body: String = (0..60).map(|line| format!("line {line}\n")).collect();
    let body = serde_json::to_string(&body).unwrap();
    world.mock(&format!(
        "roles:\n  writer: [{{ output: {{ plan: p }}, body: {body} }}]\n"
    ));
    let thread = world.start("review");
    world.step(&thread).exits(0);
    world.script("pager.sh", "echo PAGED $1; cat");
    (world, thread)
}

fn read(world: &World, thread: &str, pager: &str, more: &[&str]) -> Run {
    let args = [&["thread", "read", thread], more].concat();
    let variables = [("TERM", "xterm"), ("PAGER", "false"), ("UWF_PAGER", pager)];
    run_on_terminal(world, 80, &args, &variables).exits(0)
}

#[test]
fn a_long_document_goes_through_the_pager_with_its_arguments() {
    let (world, thread) = world();
    let screen = read(&world, &thread, "./pager.sh 'a b'", &[]).stdout;
    assert!(screen.starts_with("PAGED a b\n# Thread `"), "{screen}");
    assert!(screen.contains("line 59"), "{screen}");
    let step = ["step", "read", &format!("{thread}@1")];
    let variables = [("TERM", "xterm"), ("PAGER", "./pager.sh")];
    let screen = run_on_terminal(&world, 80, &step, &variables)
        .exits(0)
        .stdout;
    assert!(screen.starts_with("PAGED"), "{screen}");
}

#[test]
fn nothing_is_paged_in_a_pipe_or_against_the_will_of_a_person_or_if_it_fits() {
    let (world, thread) = world();
    let mut piped = world.command(&["thread", "read", &thread]);
    piped.env("TERM", "xterm").env("UWF_PAGER", "./pager.sh");
    let piped = Run::from(piped.output().unwrap()).exits(0).stdout;
    assert!(piped.starts_with("# Thread"), "{piped}");
    for (pager, more) in [("./pager.sh", &["--no-pager"][..]), ("", &[]), ("cat", &[])] {
        let screen = read(&world, &thread, pager, more).stdout;
        assert!(screen.starts_with("# Thread"), "{pager}: {screen}");
    }
    let list = ["thread", "list", "--all"];
    let variables = [("TERM", "xterm"), ("UWF_PAGER", "./pager.sh")];
    let screen = run_on_terminal(&world, 80, &list, &variables)
        .exits(0)
        .stdout;
    assert!(!screen.contains("PAGED"), "{screen}");
}

#[test]
fn a_pager_that_cannot_be_used_leaves_the_text_on_the_screen() {
    let (world, thread) = world();
    for pager in ["./no-such-pager", "'unclosed"] {
        let screen = read(&world, &thread, pager, &[]).stdout;
        assert!(
            screen.contains(&format!("note: the pager `{pager}` cannot be used")),
            "{screen}"
        );
        assert!(screen.contains("line 59"), "{screen}");
    }
    // No one has asked for the usual pager, so nobody is told that it is missing.
    let path = world.project();
    let variables = [("TERM", "xterm"), ("PATH", path.to_str().unwrap())];
    let screen = run_on_terminal(&world, 80, &["thread", "read", &thread], &variables);
    let screen = screen.exits(0).stdout;
    assert!(screen.starts_with("# Thread"), "{screen}");
}

#[test]
fn leaving_the_pager_early_is_no_error() {
    let (world, thread) = world();
    let body = "x".repeat(300_000);
    let asked = format!(
        "roles:\n  reviewer: [{{ output: {{ $status: ask, question: q }}, body: {body} }}]\n"
    );
    world.mock(&asked);
    world.step(&thread).exits(0);
    let more = ["--quota", "all"];
    let screen = read(&world, &thread, "head -n 1", &more).stdout;
    assert_eq!(screen, format!("# Thread `{thread}`\n"));
}
