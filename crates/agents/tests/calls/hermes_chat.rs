//! The hermes agent in its chat mode, with a shell script as hermes.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use uwf_protocol::run::Phase;

use crate::world::{World, says};

const ANSWER: &str = r"printf -- '---\n$status: done\ntext: x\n---\nbody\n'";

/// Makes a hermes whose `chat` is the script, and which exports the file `export-<n>` at its n-th call for one.
/// It notes each call: `args-<n>`, one argument a line.
fn hermes(world: &World, chat: &str) -> String {
    let folder = world.path("");
    let body = format!(
        r#"cd '{}'
if [ "$1" = sessions ]; then
  n=$(ls exported-* 2>/dev/null | wc -l); echo "$@" > exported-$n
  cat export-$n 2>/dev/null || echo "Session not found."
  exit 0
fi
n=$(ls args-* 2>/dev/null | wc -l); printf '%s\n' "$@" > args-$n; cat > stdin
{chat}"#,
        folder.display()
    );
    world.script("hermes", &body)
}

fn args(world: &World, call: usize) -> Vec<String> {
    let args = world.read(&format!("args-{call}"));
    args.lines().map(ToOwned::to_owned).collect()
}

/// Gives hermes a home with a database, which is what it is asked to export.
fn with_database(world: &World) {
    fs::create_dir_all(world.path("home/.hermes/sessions")).unwrap();
    world.write("home/.hermes/state.db", "");
}

fn message(role: &str, content: &str) -> Value {
    json!({ "role": role, "content": content, "tool_calls": null })
}

fn export(messages: &[Value], tokens: u64) -> String {
    let session = json!({ "id": "s-1", "model": "some-model", "messages": messages, "input_tokens": tokens,
        "output_tokens": tokens / 10, "api_call_count": messages.len() / 2 });
    format!("a warning\n{session}\n")
}

#[test]
fn hermes_is_asked_as_its_manual_says() {
    let mut world = World::new();
    let program = hermes(&world, &format!("echo 'session_id: s-1' >&2; {ANSWER}"));
    let step = world.step("hermes", &["--program", &program], "writer");
    assert_eq!(step.node.agent, "uwf-hermes");
    assert_eq!(step.output["text"], "x");
    assert_eq!(step.detail.session_id.as_deref(), Some("s-1"));
    let usage = step.detail.usage.unwrap();
    assert_eq!((step.detail.model, usage.input_tokens), (None, None));
    let expected = format!(
        "chat\n-q\n{}\n--yolo\n--max-turns\n90\n--quiet\n",
        step.prompt
    );
    assert_eq!(world.read("args-0"), expected);
    assert_eq!(world.read("stdin"), "");
    assert!(
        !world.path("exported-0").exists(),
        "there is nothing to export"
    );
}

#[test]
fn options_become_arguments() {
    let mut world = World::new();
    let program = hermes(&world, ANSWER);
    let own = [
        "--program",
        &program,
        "--no-yolo",
        "--max-turns",
        "7",
        "--model",
        "m-1",
    ];
    let step = world.step("hermes", &own, "writer");
    let given = args(&world, 0);
    let end = given.len() - 5;
    assert_eq!(
        given[end..],
        ["--max-turns", "7", "--quiet", "--model", "m-1"]
    );
    assert!(!given.contains(&"--yolo".to_owned()));
    assert_eq!(step.detail.model.as_deref(), Some("m-1"));
    assert_eq!(step.detail.session_id, None);
}

#[test]
fn the_session_may_be_named_on_stdout_and_is_no_part_of_the_answer() {
    let mut world = World::new();
    let program = hermes(&world, &format!("echo 'Session_ID: s-1'; {ANSWER}"));
    let step = world.step("hermes", &["--program", &program], "writer");
    assert_eq!(step.detail.session_id.as_deref(), Some("s-1"));
    assert!(!world.text(step.detail.raw).contains("s-1"));
}

#[test]
fn the_export_of_the_session_is_the_answer() {
    let mut world = World::new();
    with_database(&world);
    let call = json!([{ "function": { "name": "terminal", "arguments": "{}" } }]);
    let messages = [
        message("user", "the prompt"),
        json!({ "role": "assistant", "content": "Let me see.", "tool_calls": call }),
        message("tool", "a.txt"),
        message("assistant", "---\n$status: done\ntext: exported\n---\n"),
    ];
    world.write("export-0", &export(&messages, 100));
    let program = hermes(&world, "echo noise; echo 'session_id: s-1' >&2");
    let step = world.step("hermes", &["--program", &program], "writer");
    assert_eq!(step.output["text"], "exported");
    assert_eq!(step.detail.turns.len(), 3);
    assert_eq!(step.detail.model.as_deref(), Some("some-model"));
    let usage = step.detail.usage.unwrap();
    assert_eq!(
        (usage.input_tokens, usage.output_tokens),
        (Some(100), Some(10))
    );
    assert_eq!((usage.cached_tokens, usage.cost_usd), (None, None));
    assert!(usage.duration_ms.is_some());
    let live = fs::read_to_string(world.run_dir().scratch.live_file()).unwrap();
    assert_eq!(live.lines().count(), 3);
    assert_eq!(
        world.read("exported-0"),
        "sessions export - --session-id s-1\n"
    );
}

#[test]
fn the_session_file_of_older_versions_is_read_too() {
    let mut world = World::new();
    fs::create_dir_all(world.path("home/.hermes/sessions")).unwrap();
    let messages = [
        message("user", "p"),
        message("assistant", "---\n$status: done\ntext: filed\n---\n"),
    ];
    let file = json!({ "session_id": "s-1", "model": "some-model", "messages": messages });
    world.write("home/.hermes/sessions/session_s-1.json", &file.to_string());
    let program = hermes(&world, &format!("echo 'session_id: s-1' >&2; {ANSWER}"));
    let step = world.step("hermes", &["--program", &program], "writer");
    assert_eq!(step.output["text"], "filed");
    assert_eq!(
        (
            step.detail.turns.len(),
            step.detail.usage.unwrap().input_tokens
        ),
        (1, None)
    );
}

#[test]
fn a_correction_goes_to_the_session_and_counts_only_what_is_new() {
    let mut world = World::new();
    with_database(&world);
    let bad = [
        message("user", "p"),
        message("assistant", "forgot the form"),
    ];
    let good = [
        message("user", "again"),
        message("assistant", "---\n$status: done\ntext: corrected\n---\n"),
    ];
    world.write("export-0", &export(&bad, 100));
    world.write("export-1", &export(&bad, 100));
    world.write("export-2", &export(&[bad, good].concat(), 250));
    let program = hermes(&world, "echo 'session_id: s-1' >&2");
    let step = world.step("hermes", &["--program", &program], "writer");
    assert_eq!(step.output["text"], "corrected");
    assert_eq!(step.detail.extraction.attempts, 2);
    assert_eq!(step.detail.usage.unwrap().input_tokens, Some(250));
    let given = args(&world, 1);
    assert!(
        given[2].starts_with("Your answer was not accepted"),
        "{given:?}"
    );
    assert_eq!(
        given[given.len() - 3..],
        ["--resume", "s-1", "--no-restore-cwd"]
    );
    // The first answer, the message that asks again, and the second answer.
    assert_eq!(step.detail.turns.len(), 3);
}

#[test]
fn a_later_visit_goes_on_with_the_session_or_begins_a_new_one() {
    let mut world = World::new();
    let script = format!(
        "case \"$*\" in *--resume*) [ -e gone ] && {{ echo 'Session not found: s-1' >&2; exit 1; }};; esac
         echo \"session_id: s-$n\" >&2; {ANSWER}"
    );
    let program = hermes(&world, &script);
    let own = ["--program", &program];
    world.step("hermes", &own, "writer");
    world.step("hermes", &own, "writer");
    assert!(args(&world, 1).contains(&"s-0".to_owned()));
    world.write("gone", "");
    let step = world.step("hermes", &own, "writer");
    assert!(args(&world, 2).contains(&"--resume".to_owned()));
    assert!(!args(&world, 3).contains(&"--resume".to_owned()));
    assert_eq!(step.detail.session_id.as_deref(), Some("s-3"));
}

#[test]
fn a_failed_attempt_whose_session_is_gone_begins_anew_with_the_whole_prompt() {
    let mut world = World::new();
    let program = hermes(&world, "echo 'session_id: s-1' >&2; echo bad model; exit 1");
    let own = ["--program", &program];
    let failure = world.fail("hermes", &own, "writer");
    assert_eq!(failure.session_id.as_deref(), Some("s-1"));
    hermes(
        &world,
        &format!(
            "case \"$*\" in *--resume*) echo 'Session not found: s-1' >&2; exit 1;; esac; {ANSWER}"
        ),
    );
    let step = world.step("hermes", &own, "writer");
    assert!(args(&world, 1).contains(&"--resume".to_owned()));
    assert_eq!(
        args(&world, 2)[2..][..2],
        step.prompt.lines().collect::<Vec<_>>()[..2]
    );
}

#[test]
fn error_messages_on_stdout_and_stderr_are_quoted() {
    let world = World::new();
    let check = |script: &str, words: &str| {
        let program = hermes(&world, script);
        let failure = world.fail("hermes", &["--program", &program], "writer");
        assert_eq!(failure.phase, Phase::Agent);
        says(&failure, words);
    };
    check(
        "echo 'HTTP 401: Invalid API key'; printf '\\nsession_id: s-1\\n' >&2; exit 1",
        "exited with code 1: HTTP 401: Invalid API key",
    );
    check(
        "echo 'no such model' >&2; echo noise; exit 3",
        "exited with code 3: no such model",
    );
    check("kill -9 $$", "ended from outside");
}

#[test]
fn a_hermes_that_is_missing_is_named() {
    let world = World::new();
    let failure = world.fail("hermes", &["--program", "no-such-hermes"], "writer");
    assert_eq!(failure.phase, Phase::Spawn);
    says(&failure, "`no-such-hermes` could not be started");
}

#[test]
fn a_prompt_that_no_argument_can_hold_starts_nothing() {
    let mut world = World::new();
    let program = hermes(&world, ANSWER);
    for (instruction, problem) in [
        ("x".repeat(200_000), "too long for an argument"),
        ("x\0".to_owned(), "zero byte"),
    ] {
        world.instruction = instruction;
        let failure = world.fail("hermes", &["--program", &program], "writer");
        assert_eq!(failure.phase, Phase::Spawn);
        says(&failure, problem);
        let hint = failure.hint.unwrap();
        assert!(
            hint.contains("`hermes chat`") && hint.contains("`--mode acp`"),
            "{hint}"
        );
    }
    assert!(!world.path("args-0").exists());
}

#[test]
fn limits_of_time_and_output_hold() {
    let world = World::new();
    let program = hermes(&world, "exec sleep 30");
    let began = Instant::now();
    let failure = world.fail(
        "hermes",
        &["--program", &program, "--timeout", "300ms"],
        "writer",
    );
    says(&failure, "time limit of 0.3 s");
    assert!(began.elapsed() < Duration::from_secs(10));
    let program = hermes(&world, "yes 0123456789 | head -c 100000");
    let failure = world.fail(
        "hermes",
        &["--program", &program, "--max-output", "1KiB"],
        "writer",
    );
    says(&failure, "more than 1.0 KiB");
}

#[test]
fn a_broken_or_missing_export_costs_the_turns_and_not_the_step() {
    let mut world = World::new();
    with_database(&world);
    world.write("export-0", "{\"id\": \"s-1\", \"messages\": [{\"ro");
    let program = hermes(&world, &format!("echo 'session_id: s-1' >&2; {ANSWER}"));
    for _ in 0..2 {
        let step = world.step("hermes", &["--program", &program], "writer");
        assert_eq!(step.output["text"], "x");
        assert_eq!(
            (
                step.detail.turns.len(),
                step.detail.usage.unwrap().input_tokens
            ),
            (0, None)
        );
    }
}

#[test]
fn wrong_options_are_usage_errors() {
    let world = World::new();
    assert_eq!(world.call("hermes", &["--mode", "tui"], "writer"), 2);
    assert_eq!(
        world.call("hermes", &["--permissions", "deny"], "writer"),
        2
    );
}
