//! Any program can be an agent, and any program can be a bad one: what it may do wrong fails its step, is put on
//! record, and leaves the thread where it was.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::processes::{is_running, signal};
use crate::world::{ONE_STEP, Run, World, binary, wait_until};

/// The schema of steps, and the one of texts.
const STEP: &str = "108DB063KRQWW";

/// A world whose agent is a shell script; `$uwf` is the binary and `$dir` the project.
fn world(body: &str) -> (World, String) {
    let world = World::new();
    world.put(ONE_STEP);
    become_agent(&world, body);
    let thread = world.start("one");
    (world, thread)
}

fn become_agent(world: &World, body: &str) {
    world.write(
        "note.yaml",
        "roles:\n  writer:\n    - output: { $status: more, note: n }\n",
    );
    world.scripted_agent(&with_names(world, body));
}

fn with_names(world: &World, body: &str) -> String {
    format!(
        "uwf={}\ndir={}\n{body}",
        binary().display(),
        world.project().display()
    )
}

/// The line with which a script does its step properly.
const WORK: &str = "\"$uwf\" agent mock \"$dir/note.yaml\" \"$@\"";

/// Asserts that a step failed in a phase, is on record with its words, and that the thread stays where it was;
/// then that a good agent goes on.
#[track_caller]
fn failed(world: &World, thread: &str, run: Run, phase: &str, words: &[&str]) {
    let run = run.exits(3).says("error: `writer` failed: ");
    assert_eq!(run.json()["phase"], json!(phase));
    let shown = world.show(thread);
    assert_eq!(
        (&shown["status"], &shown["steps"]),
        (&json!("failed"), &json!(0))
    );
    let attempts = shown["attempts"].as_array().unwrap();
    let attempt = attempts.last().unwrap();
    assert_eq!(attempt["phase"], json!(phase), "{attempt}");
    let error = attempt["error"].as_str().unwrap();
    for words in words {
        assert!(error.contains(words), "no `{words}` in {error}");
        assert!(run.stderr.contains(words), "no `{words}` in {}", run.stderr);
    }
    run.says("hint: ");
    become_agent(world, WORK);
    assert_eq!(world.step(thread).exits(0).json()["done"], json!(true));
}

#[test]
fn an_agent_that_exits_with_an_error_is_shown_with_what_it_said() {
    let (world, thread) = world("echo out of money >&2; exit 3");
    let run = world.step(&thread).exits(3);
    assert!(
        run.stderr.contains("cause: stderr: out of money"),
        "{}",
        run.stderr
    );
    assert_eq!(
        world.show(&thread)["attempts"][0]["stderrTail"],
        json!("out of money\n")
    );
    let hint = format!("hint: `uwf thread step {thread}` tries again");
    assert!(run.stderr.contains(&hint), "{}", run.stderr);
    failed(
        &world,
        &thread,
        run,
        "agent",
        &["the agent exited with code 3"],
    );
}

#[test]
fn an_agent_that_a_signal_ends_is_told_as_such() {
    let (world, thread) = world("kill -9 $$");
    let run = world.step(&thread);
    failed(
        &world,
        &thread,
        run,
        "agent",
        &["ended from outside", "signal: 9"],
    );
}

#[test]
fn an_answer_that_names_no_step_is_refused() {
    for (body, words) in [
        ("", "printed no answer"),
        ("printf '\\n \\n'", "printed no answer"),
        ("echo done", "neither the hash of a step nor a JSON object"),
        ("printf '\\377\\376\\000'", "neither the hash"),
        ("echo '{}'", "neither the hash"),
        ("echo '{\"stepHash\": 7}'", "neither the hash"),
        ("echo '0123456789ABC'; echo bye", "neither the hash"),
        ("echo 0123456789abc", "neither the hash"),
        ("echo 0123456789ABC", "`0123456789ABC` is not in the store"),
        ("exec >&-; exit 0", "printed no answer"),
    ] {
        let (world, thread) = world(body);
        let run = world.step(&thread);
        failed(&world, &thread, run, "answer", &[words]);
    }
}

#[test]
fn a_node_that_is_no_step_of_this_thread_is_refused() {
    let (world, thread) = world("cat \"$dir/answer\"");
    let workflow = world.show(&thread)["workflow"].as_str().unwrap().to_owned();
    world.write("answer", &workflow);
    let run = world.step(&thread);
    failed(
        &world,
        &thread,
        run,
        "answer",
        &["is not a step", &workflow],
    );
}

#[test]
fn another_threads_step_is_refused() {
    let (world, thread) = world(WORK);
    let other = world
        .uwf(&["thread", "start", "one", "-p", "another task"])
        .exits(0)
        .json();
    let other = other["thread"].as_str().unwrap().to_owned();
    let step = world.step(&other).exits(0).json()["step"]
        .as_str()
        .unwrap()
        .to_owned();
    become_agent(&world, &format!("echo {step}"));
    let run = world.step(&thread);
    failed(
        &world,
        &thread,
        run,
        "answer",
        &[&step, "belongs to a thread that starts at"],
    );
}

/// A workflow whose writer goes on until it is done.
const ENDLESS: &str = r#"
name: endless
description: Writes on
roles:
  writer:
    description: Writes
    goal: You write.
    capabilities: []
    procedure: Write.
    output: A note.
    frontmatter: { type: object, properties: { $status: { enum: [more, done] } }, required: [$status] }
graph:
  $START: { _: { role: writer, prompt: "Write." } }
  writer: { more: { role: writer, prompt: "Write on." }, done: { role: $END } }
"#;

#[test]
fn a_step_of_the_same_thread_is_not_taken_twice() {
    let (world, _) = world(WORK);
    world.put(ENDLESS);
    let thread = world.start("endless");
    let step = world.step(&thread).exits(0).json()["step"]
        .as_str()
        .unwrap()
        .to_owned();
    become_agent(&world, &format!("echo {step}"));
    world
        .step(&thread)
        .exits(3)
        .says(&step)
        .says("does not follow the thread's head");
    assert_eq!(world.show(&thread)["head"], json!(step));
    become_agent(&world, WORK);
    world.step(&thread).exits(0);
    assert_eq!(world.show(&thread)["steps"], json!(2));
}

/// Puts a step into the store as any program could, and returns its hash.
fn handmade(
    world: &World,
    thread: &str,
    change: impl FnOnce(&mut Value),
    output: &Value,
) -> String {
    let shown = world.show(thread);
    let workflow = world
        .uwf(&["cas", "get", shown["workflow"].as_str().unwrap()])
        .json();
    let schema = workflow["payload"]["roles"]["writer"]["frontmatter"].clone();
    let put = |kind: &str, payload: &Value| {
        let args = ["cas", "put", "--no-validate", kind, &payload.to_string()];
        let put = world.uwf(&args).exits(0).json();
        put["hash"].as_str().unwrap().to_owned()
    };
    let detail = world.uwf(&["cas", "put-text", "what I did"]).json()["hash"].clone();
    let mut step = json!({
        "start": shown["head"], "prev": null, "role": "writer",
        "output": put(schema.as_str().unwrap(), output), "detail": detail,
        "agent": "by hand", "startedAtMs": 1, "completedAtMs": 2, "cwd": "/",
    });
    change(&mut step);
    put(STEP, &step)
}

#[test]
fn any_program_that_writes_a_step_and_prints_its_hash_is_an_agent() {
    let answers: [fn(&str) -> String; 3] = [
        |step| format!("echo working; echo {step}; echo"),
        |step| format!("echo '{{\"stepHash\":\"{step}\",\"frontmatter\":{{}},\"more\":[1]}}'"),
        |step| format!("printf %s {step}"),
    ];
    for answer in answers {
        let (world, thread) = world("exit 1");
        let step = handmade(&world, &thread, |_| {}, &json!({ "note": "n" }));
        become_agent(&world, &answer(&step));
        let report = world.step(&thread).exits(0).json();
        assert_eq!(
            (&report["step"], &report["done"]),
            (&json!(step), &json!(true))
        );
        let steps = world.uwf(&["thread", "steps", &thread]).exits(0).json();
        assert_eq!(steps["steps"][1]["agent"], json!("by hand"));
        world.uwf(&["cas", "verify"]).exits(0);
    }
}

/// Puts something wrong into a step; gets the hash of a node that is not there.
type Spoil = fn(&mut Value, &Value);

#[test]
fn a_step_whose_parts_do_not_fit_is_refused() {
    let absent = json!("0123456789ABC");
    let cases: [(Spoil, Value, &str); 5] = [
        (
            |step, _| step["role"] = json!("reader"),
            json!({ "note": "n" }),
            "was done by `reader`",
        ),
        (
            |step, absent| step["detail"] = absent.clone(),
            json!({ "note": "n" }),
            "its detail node",
        ),
        (
            |step, absent| step["output"] = absent.clone(),
            json!({ "note": "n" }),
            "its output node",
        ),
        (
            |step, _| step["output"] = step["detail"].clone(),
            json!({ "note": "n" }),
            "is not the schema of",
        ),
        (
            |_, _| {},
            json!({ "note": 7 }),
            "does not fit the schema of `writer`",
        ),
    ];
    for (change, output, words) in cases {
        let (world, thread) = world("exit 1");
        let step = handmade(&world, &thread, |step| change(step, &absent), &output);
        become_agent(&world, &format!("echo {step}"));
        let run = world.step(&thread);
        failed(&world, &thread, run, "answer", &[words]);
    }
}

#[test]
fn limits_end_the_agent_and_all_that_it_started() {
    for (key, words) in [
        ("timeout", "time limit of 400ms"),
        ("idleTimeout", "printed nothing for 400ms"),
    ] {
        // One child ignores TERM; another is a child's child.
        let body = "(trap '' TERM; echo $$ >/dev/null; sh -c 'echo $$ >> \"$0/pids\"; trap \"\" TERM; while :; do sleep 0.05; done' \"$dir\") &
            sh -c 'echo $$ >> \"$0/pids\"; sleep 1000' \"$dir\" & wait";
        let (world, thread) = world(body);
        world.configure(&format!("agents.default.{key}"), "400ms");
        let run = world.step(&thread);
        let pids = fs::read_to_string(world.project().join("pids")).unwrap();
        assert_eq!(pids.lines().count(), 2);
        wait_until("the agent's processes are gone", || {
            !pids.lines().any(is_running)
        });
        failed(&world, &thread, run, "agent", &[words]);
    }
}

#[test]
fn an_agent_that_ignores_term_is_killed() {
    let (world, thread) =
        world("trap '' TERM; echo $$ > \"$dir/pids\"; while :; do sleep 0.05; done");
    world.configure("agents.default.timeout", "200ms");
    let run = world.step(&thread);
    let pid = fs::read_to_string(world.project().join("pids")).unwrap();
    assert!(!is_running(pid.trim()));
    failed(&world, &thread, run, "agent", &["time limit"]);
}

/// Bash handles SIGINT while it waits for a program.
#[test]
fn a_script_of_bash_does_not_go_on_when_it_is_ended() {
    let script = "echo $$ > pid; sleep 1000\ntouch went-on\n";
    let waits_for_a_program = |world: &World| {
        let pid = fs::read_to_string(world.project().join("pid")).unwrap_or_default();
        let pid = pid.trim();
        let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
        children.is_ok_and(|children| !children.is_empty())
    };
    for limit in [None, Some("1s")] {
        let (world, thread) = world("cd \"$dir\"; exec bash work.sh");
        world.write("work.sh", script);
        if let Some(limit) = limit {
            world.configure("agents.default.timeout", limit);
        }
        let engine = world.spawn(&["thread", "step", &thread]);
        wait_until("bash waits", || waits_for_a_program(&world));
        if limit.is_none() {
            signal("TERM", engine.id());
        }
        assert!(!engine.wait_with_output().unwrap().status.success());
        let pid = fs::read_to_string(world.project().join("pid")).unwrap();
        assert!(!is_running(pid.trim()));
        assert!(!world.project().join("went-on").exists(), "{limit:?}");
    }
}

#[test]
fn an_agent_that_prints_now_and_then_is_not_idle() {
    let (world, thread) = world(&format!(
        "for i in 1 2 3 4 5 6; do sleep 0.2; echo $i >&2; done; {WORK}"
    ));
    world.configure("agents.default.idleTimeout", "700ms");
    world.step(&thread).exits(0);
}

#[test]
fn sixty_mebibytes_on_either_stream_do_no_harm() {
    for stream in ["", ">&2"] {
        let flood = format!("head -c 62914560 /dev/zero | tr '\\0' x {stream}; echo {stream}");
        let (world, thread) = world(&format!("{flood}; {WORK}"));
        world.step(&thread).exits(0);
    }
    let (world, thread) = world("head -c 62914560 /dev/zero | tr '\\0' x >&2; exit 1");
    let run = world.step(&thread);
    assert!(run.stderr.len() < 100_000, "{} bytes", run.stderr.len());
    failed(&world, &thread, run, "agent", &["exited with code 1"]);
}

#[test]
fn the_answer_at_the_end_of_too_much_output_is_taken() {
    let (world, thread) = world("exit 1");
    let step = handmade(&world, &thread, |_| {}, &json!({ "note": "n" }));
    become_agent(
        &world,
        &format!("head -c 146800640 /dev/zero | tr '\\0' x; echo; echo {step}; sleep 0.5"),
    );
    let report = world.step(&thread).exits(0).json();
    assert_eq!(report["step"], json!(step));
}

#[test]
fn an_answer_may_carry_all_that_the_agent_wrote() {
    let (world, thread) = world("exit 1");
    let step = handmade(&world, &thread, |_| {}, &json!({ "note": "n" }));
    let answer = json!({ "stepHash": step, "body": "x".repeat(2 * 1024 * 1024) });
    world.write("answer", &format!("working\n{answer}\n\n"));
    become_agent(&world, "cat \"$dir/answer\"");
    let report = world.step(&thread).exits(0).json();
    assert_eq!(report["step"], json!(step));
}

#[test]
fn an_agent_that_closes_its_output_may_live_on() {
    let (world, thread) = world(&format!(
        "{WORK}; exec >&- 2>&-; sleep 0.5; echo late > \"$dir/late\""
    ));
    world.step(&thread).exits(0);
    assert!(world.project().join("late").exists());
}

#[test]
fn a_background_process_that_is_left_behind_is_ended_and_does_not_hold_the_thread() {
    let (world, _) = world(&format!("sleep 30 & echo $! > \"$dir/pid\"; {WORK}"));
    world.put(ENDLESS);
    let thread = world.start("endless");
    let begun = Instant::now();
    world.step(&thread).exits(0);
    assert!(begun.elapsed() < Duration::from_secs(5));
    let left = fs::read_to_string(world.project().join("pid")).unwrap();
    assert!(!is_running(left.trim()));
    assert_eq!(world.show(&thread)["status"], json!("idle"));
    become_agent(&world, WORK);
    world.step(&thread).exits(0);
}

#[test]
fn a_failed_agent_leaves_nothing_behind_that_goes_on_with_its_work() {
    for end in ["kill -9 $$", "exit 1"] {
        let child = "sh -c 'echo $$ > \"$0/pid\"; exec sleep 1000' \"$dir\" &";
        let (world, thread) = world(&format!(
            "{child}\nwhile [ ! -s \"$dir/pid\" ]; do sleep 0.01; done\n{end}"
        ));
        world.step(&thread).exits(3);
        let pid = fs::read_to_string(world.project().join("pid")).unwrap();
        wait_until("the agent's child is gone", || !is_running(pid.trim()));
    }
}
