//! The command agent, with shell scripts as programs.

use std::time::{Duration, Instant};

use uwf_protocol::run::Phase;

use crate::world::{World, says};

const ANSWER: &str = r"printf -- '---\n$status: done\ntext: x\n---\nbody\n'";

fn shell(script: &str) -> [&str; 4] {
    ["--", "sh", "-c", script]
}

/// Returns the arguments of a shell with sessions: what it does first, and what with `$1`, a session that goes on.
fn with_sessions<'a>(first: &'a str, again: &'a str) -> Vec<&'a str> {
    let resumed = ["-c", again, "sh", "{session}"];
    let resumed = resumed.into_iter().flat_map(|arg| ["--resume-arg", arg]);
    let sessions = ["--session-regex", "session=(\\w+)"].into_iter();
    sessions.chain(resumed).chain(shell(first)).collect()
}

#[test]
fn the_prompt_goes_to_stdin_and_stdout_is_the_answer() {
    let mut world = World::new();
    let step = world.step("command", &shell(&format!("cat > got; {ANSWER}")), "writer");
    assert_eq!(step.output["text"], "x");
    assert_eq!(step.node.agent, "uwf-command");
    assert_eq!(world.read("got"), step.prompt);
    assert_eq!(step.detail.session_id, None);
}

#[test]
fn arguments_can_ask_for_the_prompt_and_other_values() {
    let mut world = World::new();
    let script =
        format!("cat > stdin; printf %s \"$1\" > arg; printf %s \"$2\" > values; {ANSWER}");
    let own = [
        "--",
        "sh",
        "-c",
        &script,
        "sh",
        "{prompt}",
        "{role}/{visit}/{step}",
    ];
    let step = world.step("command", &own, "writer");
    assert_eq!(world.read("arg"), step.prompt);
    assert_eq!(world.read("values"), "writer/1/1");
    assert_eq!(world.read("stdin"), "");
    let script = format!("cp \"$1\" file; {ANSWER}");
    let step = world.step(
        "command",
        &["--", "sh", "-c", &script, "sh", "{promptFile}"],
        "writer",
    );
    assert_eq!(world.read("file"), step.prompt);
}

#[test]
fn a_program_need_not_read_its_prompt() {
    let mut world = World::new();
    world.instruction = "x".repeat(300_000);
    world.step("command", &shell(ANSWER), "writer");
    let own = ["--", "sh", "-c", ANSWER, "sh", "{prompt}"];
    for (instruction, problem) in [
        ("x".repeat(300_000), "too long for an argument"),
        ("x\0".to_owned(), "zero byte"),
    ] {
        world.instruction = instruction;
        let failure = world.fail("command", &own, "writer");
        assert_eq!(failure.phase, Phase::Spawn);
        says(&failure, problem);
        assert!(failure.hint.unwrap().contains("`{promptFile}`"));
    }
}

#[test]
fn a_correction_goes_to_the_session_that_was_named() {
    let mut world = World::new();
    let first = "cat > first; echo session=s1 >&2; echo garbage";
    let again = format!("cat > again; printf %s \"$1\" > session; {ANSWER}");
    let own = with_sessions(first, &again);
    let step = world.step("command", &own, "writer");
    assert_eq!(step.output["text"], "x");
    assert_eq!(step.detail.session_id.as_deref(), Some("s1"));
    assert_eq!(step.detail.extraction.attempts, 2);
    assert_eq!(world.read("session"), "s1");
    assert!(
        world
            .read("again")
            .starts_with("Your answer was not accepted")
    );
}

#[test]
fn another_program_does_not_go_on_with_the_session_of_the_first() {
    let mut world = World::new();
    let program = |name: &str, answer: &str| {
        let body = format!(
            "cat > asked-{name}; echo \"$@\" > args-{name}; echo session={name} >&2; {answer}"
        );
        world.script(name, &body)
    };
    let (first, second) = (program("first", "exit 1"), program("second", ANSWER));
    let own = |program| {
        let sessions = ["--session-regex", "session=(\\w+)", "--resume-arg", program];
        [&sessions[..], &["--resume-arg", "{session}", "--", program]].concat()
    };
    let failure = world.fail("command", &own(&first), "writer");
    assert_eq!(failure.session_id.as_deref(), Some("first"));
    let step = world.step("command", &own(&second), "writer");
    assert_eq!(step.node.agent, "uwf-command");
    assert_eq!(world.read("args-second"), "\n");
    assert!(world.read("asked-second").contains("## Task"));
}

#[test]
fn after_a_failed_attempt_the_session_gets_only_a_correction() {
    let world = World::new();
    // Each answer is garbage until `good` exists; everything that is asked is kept.
    let script = format!(
        "n=$(ls asked-* 2>/dev/null | wc -l); cat > asked-$n; echo \"$@\" > args-$n; \
         echo session=s1 >&2; if [ -e good ]; then {ANSWER}; else echo garbage; fi"
    );
    let own = with_sessions(&script, &script);
    let failure = world.fail("command", &own, "writer");
    assert_eq!(failure.session_id.as_deref(), Some("s1"));
    let failure = world.fail("command", &own, "writer");
    assert_eq!(failure.session_id.as_deref(), Some("s1"));
    world.write("good", "");
    let mut world = world;
    let step = world.step("command", &own, "writer");
    let asked = |n: u32| world.read(&format!("asked-{n}"));
    assert!(asked(0).contains("## Task"));
    for n in 1..=6 {
        assert!(!asked(n).contains("## Task"), "message {n}");
        assert_eq!(world.read(&format!("args-{n}")), "s1\n");
    }
    assert!(
        asked(3).starts_with("Your last attempt at this step failed"),
        "{}",
        asked(3)
    );
    assert!(
        asked(6).starts_with("Your last attempt at this step failed"),
        "{}",
        asked(6)
    );
    assert!(step.prompt.contains("## Task"));
}

#[test]
fn a_session_that_keeps_failing_is_given_up() {
    let world = World::new();
    let first = "cat > first; rm -f resumed; echo session=s1 >&2; exit 4";
    let own = with_sessions(first, "touch resumed; exit 5");
    for _ in 0..3 {
        world.fail("command", &own, "writer");
    }
    assert!(world.path("resumed").exists());
    world.fail("command", &own, "writer");
    assert!(!world.path("resumed").exists());
}

#[test]
fn a_later_visit_goes_on_with_the_session_or_begins_a_new_one() {
    let mut world = World::new();
    let first = format!("cat > first; echo session=s1 >&2; {ANSWER}");
    let again = format!("cat > again; {ANSWER}");
    let good = with_sessions(&first, &again);
    world.step("command", &good, "writer");
    let second = world.step("command", &good, "writer");
    assert_eq!(world.read("again"), second.prompt);
    let gone = with_sessions(&first, "echo no such session >&2; exit 1");
    let third = world.step("command", &gone, "writer");
    assert_eq!(world.read("first"), third.prompt);
}

#[test]
fn an_answer_of_sixty_mebibytes_is_kept_whole() {
    let mut world = World::new();
    let script = format!("{ANSWER}; head -c 62914560 /dev/zero | tr '\\0' 'y'");
    let step = world.step("command", &shell(&script), "writer");
    assert_eq!(world.text(step.detail.raw).len(), 62_914_560 + 35);
    let step = world.step("command", &shell(ANSWER), "reviewer");
    assert!(step.prompt.chars().count() < 40_000);
}

#[test]
fn an_answer_above_the_cap_is_a_failure() {
    let world = World::new();
    let own = ["--max-output", "1MiB", "--", "sh", "-c", "yes"];
    let failure = world.fail("command", &own, "writer");
    says(&failure, "more than 1.0 MiB");
}

#[test]
fn a_program_that_fails_is_quoted() {
    let world = World::new();
    let failure = world.fail("command", &shell("echo out of money >&2; exit 7"), "writer");
    assert_eq!(failure.phase, Phase::Agent);
    says(&failure, "`sh` exited with code 7: out of money");
    let failure = world.fail("command", &["--", "no-such-program-here"], "writer");
    assert_eq!(failure.phase, Phase::Spawn);
    says(&failure, "could not be started");
    let failure = world.fail("command", &shell("head -c 1000 /dev/urandom"), "writer");
    assert_eq!(failure.phase, Phase::Extract);
    assert!(failure.raw.is_some());
}

#[test]
fn a_program_that_hangs_is_ended() {
    let world = World::new();
    let began = Instant::now();
    let own = ["--timeout", "200ms", "--", "sh", "-c", "exec sleep 30"];
    let failure = world.fail("command", &own, "writer");
    says(&failure, "time limit of 0.2 s");
    assert!(began.elapsed() < Duration::from_secs(10));
}

#[test]
fn wrong_options_are_usage_errors() {
    let world = World::new();
    assert_eq!(world.call("command", &["sh"], "writer"), 2);
    assert_eq!(
        world.call("command", &["--bogus", "1", "--", "sh"], "writer"),
        2
    );
}
