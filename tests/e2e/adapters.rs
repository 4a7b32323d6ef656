//! The command adapter: any program that reads a prompt and prints an answer plays a role.

use std::fs;

use serde_json::{Value, json};

use crate::world::{ONE_STEP, Run, World};

const GOOD: &str = "printf -- '---\\nnote: n\\n---\\nBody.\\n'";

/// A world whose agent is the command adapter over a shell script that runs in the project.
fn world(script: &str) -> World {
    let world = World::new();
    world.put(ONE_STEP);
    command(&world, script, &[], &[]);
    world
}

/// Sets the adapter's options, and what follows the program.
fn command(world: &World, script: &str, options: &[&str], args: &[&str]) {
    let program = world.script("program.sh", script);
    let program = ["--", program.to_str().unwrap()];
    world.agent("uwf-command", &[options, &program, args].concat());
}

fn left(world: &World, name: &str) -> String {
    fs::read_to_string(world.project().join(name)).unwrap_or_default()
}

fn start(world: &World, task: &str) -> String {
    let started = world.uwf(&["thread", "start", "one", "-p", task]).exits(0);
    started.json()["thread"].as_str().unwrap().to_owned()
}

/// Returns the prompt that a step's agent got, as it is on record.
fn recorded_prompt(world: &World, run: &Run) -> String {
    let step = run.json()["step"].clone();
    let node = world
        .uwf(&["cas", "get", step.as_str().unwrap()])
        .exits(0)
        .json();
    let prompt = node["payload"]["assembledPrompt"]
        .as_str()
        .unwrap()
        .to_owned();
    let text = world.uwf(&["cas", "get", &prompt]).exits(0).json();
    text["payload"].as_str().unwrap().to_owned()
}

#[test]
fn the_prompt_goes_to_stdin_to_an_argument_or_to_a_file() {
    let world = world(GOOD);
    for (script, args) in [
        ("cat > got", &[][..]),
        ("printf '%s' \"$1\" > got; cat > stdin", &["{prompt}"]),
        ("cp \"$1\" got; cat > stdin", &["{promptFile}"]),
        (
            "printf '%s' \"${1#--prompt=}\" > got; cat > stdin",
            &["--prompt={prompt}"],
        ),
    ] {
        command(&world, &format!("{script}; {GOOD}"), &[], args);
        let thread = start(&world, "write about {role} and $HOME");
        let run = world.step(&thread).exits(0);
        let got = left(&world, "got");
        assert_eq!(got, recorded_prompt(&world, &run), "{args:?}");
        assert!(got.contains("write about {role} and $HOME"));
        assert_eq!(left(&world, "stdin"), "");
    }
}

#[test]
fn placeholders_are_filled_and_nothing_else_is_touched() {
    let world = world(GOOD);
    let args = [
        "{thread}",
        "a-{role}-b",
        "{cwd}",
        "{visit}/{step}",
        "[{session}]",
        "{other} {",
        "two words",
    ];
    command(
        &world,
        &format!("printf '%s\\n' \"$@\" > got; {GOOD}"),
        &[],
        &args,
    );
    let thread = start(&world, "x");
    world.step(&thread).exits(0);
    let project = world.project();
    let expected = format!(
        "{thread}\na-writer-b\n{}\n1/1\n[]\n{{other}} {{\ntwo words\n",
        project.display()
    );
    assert_eq!(left(&world, "got"), expected);
}

#[test]
fn a_long_prompt_goes_to_stdin_and_is_refused_as_an_argument() {
    let world = world(&format!("cat > got; {GOOD}"));
    let task = format!("{}the end", "a long task ".repeat(9_000));
    // The task itself comes as an argument of ours, so it is below the limit; the prompt need not be.
    let thread = start(&world, &task);
    world.step(&thread).exits(0);
    assert!(left(&world, "got").contains(&task));

    let file = world.write("task", &"a long task ".repeat(20_000));
    let node = json!({ "workflow": world.put(ONE_STEP), "prompt": fs::read_to_string(file).unwrap(), "cwd": world.project() });
    world.write("node.json", &node.to_string());
    let put = world
        .uwf(&["cas", "put", "44P8EP6N3NXZ5", "node.json"])
        .exits(0)
        .json();
    let fork = || {
        let forked = world
            .uwf(&["thread", "fork", put["hash"].as_str().unwrap()])
            .exits(0)
            .json();
        forked["thread"].as_str().unwrap().to_owned()
    };
    world.step(&fork()).exits(0);
    assert!(left(&world, "got").len() > 240_000);
    command(
        &world,
        &format!("wc -c < \"$1\" > got; {GOOD}"),
        &[],
        &["{promptFile}"],
    );
    world.step(&fork()).exits(0);
    assert!(left(&world, "got").trim().parse::<usize>().unwrap() > 240_000);
    command(&world, GOOD, &[], &["{prompt}"]);
    let thread = fork();
    world
        .step(&thread)
        .exits(3)
        .says("the prompt is too long for an argument")
        .says("hint: use `{promptFile}`");
    assert_eq!(world.show(&thread)["attempts"][0]["phase"], json!("spawn"));
}

#[test]
fn a_program_that_does_not_read_its_prompt_may_answer() {
    let world = world(&format!("exec 0<&-; {GOOD}"));
    let thread = start(&world, &"a long task ".repeat(9_000));
    world.step(&thread).exits(0);
}

#[test]
fn a_failing_program_fails_the_step_with_what_it_said() {
    for (script, words) in [
        (
            "echo no credit >&2; exit 7",
            "exited with code 7: no credit",
        ),
        ("exit 1", "exited with code 1"),
        ("kill -9 $$", "ended from outside"),
        ("", "front matter"),
        ("echo hello", "front matter"),
    ] {
        let world = world(script);
        let thread = start(&world, "x");
        world.step(&thread).exits(3).says(words).says("hint: ");
        let attempt = world.show(&thread)["attempts"][0].clone();
        assert!(
            attempt["error"].as_str().unwrap().contains(words),
            "{attempt}"
        );
        command(&world, GOOD, &[], &[]);
        world.step(&thread).exits(0);
    }
}

#[test]
fn a_program_that_is_missing_is_named_with_what_can_be_done() {
    let world = world(GOOD);
    let thread = start(&world, "x");
    let text = world.write("text", "no program").display().to_string();
    for (program, words, hint) in [
        (
            "no-such-model",
            "`no-such-model` could not be started",
            "hint: install it",
        ),
        (
            text.as_str(),
            "/text` could not be started",
            "hint: it must be an executable file",
        ),
    ] {
        world.agent("uwf-command", &["--", program]);
        world.step(&thread).exits(3).says(words).says(hint);
        let attempts = world.show(&thread)["attempts"].clone();
        assert_eq!(
            attempts.as_array().unwrap().last().unwrap()["phase"],
            json!("spawn")
        );
    }
    command(&world, GOOD, &[], &[]);
    world.step(&thread).exits(0);
}

#[test]
fn wrong_options_are_told_with_the_right_ones() {
    let world = world(GOOD);
    let thread = start(&world, "x");
    for (options, words) in [
        (&["cat"][..], "arguments stand after a `--`"),
        (&[], "a `--` is expected before the program"),
        (&["--"], "a program is expected after `--`"),
        (
            &["--timout", "3s", "--", "cat"],
            "did you mean `--timeout`?",
        ),
        (&["--timeout", "soon", "--", "cat"], "not a duration"),
        (&["--session-regex", "(", "--", "cat"], "--session-regex"),
        (&["--session-regex", "x", "--", "cat"], "need each other"),
    ] {
        world.agent("uwf-command", options);
        world
            .step(&thread)
            .exits(3)
            .says(words)
            .says("usage: uwf-command");
    }
}

#[test]
fn a_time_limit_of_the_adapter_ends_the_program() {
    let script = "echo $$ > pid; exec sleep 1000";
    let world = world(script);
    command(&world, script, &["--timeout", "300ms"], &[]);
    let thread = start(&world, "x");
    world.step(&thread).exits(3).says("time limit");
    let pid = left(&world, "pid");
    assert!(!fs::exists(format!("/proc/{}", pid.trim())).unwrap());
}

#[test]
fn a_huge_answer_is_taken_and_one_above_the_limit_is_refused() {
    let flood = "head -c 62914560 /dev/zero | tr '\\0' x";
    let world = world(&format!("{GOOD}; {flood}"));
    let thread = start(&world, "x");
    let report = world.step(&thread).exits(0).json();
    let details = world
        .uwf(&["step", "show", report["step"].as_str().unwrap()])
        .exits(0);
    assert!(details.stdout.len() > 60 << 20);
    world
        .uwf(&["cas", "verify", report["step"].as_str().unwrap()])
        .exits(0);

    command(
        &world,
        &format!("{GOOD}; {flood}"),
        &["--max-output", "1MiB"],
        &[],
    );
    let thread = start(&world, "x");
    world
        .step(&thread)
        .exits(3)
        .says("more than 1.0 MiB")
        .says("--max-output");
}

#[test]
fn bytes_that_are_no_text_do_not_spoil_an_answer() {
    let world = world(&format!("{GOOD}; printf '\\377\\376\\000'"));
    let thread = start(&world, "x");
    world.step(&thread).exits(0);
}

/// A program with sessions. It notes every call: `-r` and the session, or the session that it began, and the
/// prompt; and it answers from the files `answer1`, `answer2` and so on.
const SESSIONS: &str = r#"
n=$(($(cat count 2>/dev/null || echo 0) + 1)); echo $n > count
cat > "prompt$n"
printf '%s\n' "$*" > "args$n"
echo "session: s-42" >&2
cat "answer$n"
"#;

fn with_sessions(answers: &[&str]) -> (World, String) {
    let world = world(GOOD);
    let options = [
        "--session-regex",
        "session: (\\S+)",
        "--resume-args",
        "-r {session}",
    ];
    command(&world, SESSIONS, &options, &["begin"]);
    for (at, answer) in answers.iter().enumerate() {
        world.write(&format!("answer{}", at + 1), answer);
    }
    let thread = start(&world, "a task to remember");
    (world, thread)
}

#[test]
fn a_correction_goes_to_the_same_session_without_the_task() {
    let (world, thread) = with_sessions(&["no front matter", "---\nnote: good\n---\n"]);
    world.step(&thread).exits(0);
    assert_eq!(
        (left(&world, "args1"), left(&world, "args2")),
        ("begin\n".into(), "-r s-42\n".into())
    );
    assert!(left(&world, "prompt1").contains("a task to remember"));
    let correction = left(&world, "prompt2");
    assert!(correction.contains("front matter"), "{correction}");
    assert!(!correction.contains("a task to remember"), "{correction}");
    assert_eq!(left(&world, "count"), "2\n");
}

#[test]
fn after_a_failed_step_the_next_call_continues_the_session_with_only_a_correction() {
    let bad = "---\nnota: x\n---\n";
    let (world, thread) = with_sessions(&[bad, bad, bad, bad, bad, bad, "---\nnote: good\n---\n"]);
    world
        .step(&thread)
        .exits(3)
        .says("not accepted after 3 attempts")
        .says("note");
    world
        .step(&thread)
        .exits(3)
        .says("not accepted after 3 attempts");
    let attempts = world.show(&thread)["attempts"].clone();
    let sessions: Vec<&Value> = attempts
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["sessionId"])
        .collect();
    assert_eq!(sessions, [&json!("s-42"), &json!("s-42")]);
    world.step(&thread).exits(0);
    for call in 2..=7 {
        assert_eq!(
            left(&world, &format!("args{call}")),
            "-r s-42\n",
            "call {call}"
        );
        let prompt = left(&world, &format!("prompt{call}"));
        assert!(
            !prompt.contains("a task to remember"),
            "call {call}: {prompt}"
        );
        assert!(prompt.contains("note"), "call {call}: {prompt}");
    }
    assert_eq!(left(&world, "count"), "7\n");
    assert_eq!(world.show(&thread)["status"], json!("completed"));
}

#[test]
fn a_program_that_dies_after_it_began_a_session_is_continued() {
    let world = world(GOOD);
    let script = format!(
        "[ -e died ] || {{ touch died; echo 'session: s-7' >&2; exit 9; }}; echo \"$@\" > args; cat > prompt; {GOOD}"
    );
    let options = [
        "--session-regex",
        "session: (\\S+)",
        "--resume-args",
        "-r {session}",
    ];
    command(&world, &script, &options, &["begin"]);
    let thread = start(&world, "a task to remember");
    world.step(&thread).exits(3).says("exited with code 9");
    world.step(&thread).exits(0);
    assert_eq!(left(&world, "args"), "-r s-7\n");
    assert!(!left(&world, "prompt").contains("a task to remember"));
}

#[test]
fn an_empty_answer_is_called_empty() {
    let world = world("echo");
    let thread = start(&world, "x");
    let run = world.step(&thread).exits(3).says("the answer is empty");
    assert!(!run.stderr.contains("no front matter"), "{}", run.stderr);
}

#[test]
fn without_sessions_a_failed_step_begins_anew() {
    let world = world("cat > got; echo no answer");
    let thread = start(&world, "a task to remember");
    world
        .step(&thread)
        .exits(3)
        .says("not accepted after 1 attempt");
    command(&world, &format!("cat > got; {GOOD}"), &[], &[]);
    world.step(&thread).exits(0);
    assert!(left(&world, "got").contains("a task to remember"));
}

#[test]
fn an_agent_that_is_run_by_hand_leaves_a_step_that_the_next_call_takes_in() {
    let world = world(GOOD);
    let program = world.project().join("program.sh").display().to_string();
    let thread = start(&world, "x");
    let run = world
        .uwf(&["agent", "command", "--", &program, &thread, "writer"])
        .exits(0);
    command(&world, "exit 1", &[], &[]);
    let report = world.step(&thread).exits(0).json();
    assert_eq!(report["step"], json!(run.stdout.trim()));
    assert_eq!(report["adopted"], json!(true));
    world
        .uwf(&["agent", "comand", "x"])
        .exits(1)
        .says("hint: did you mean `command`?");
}
