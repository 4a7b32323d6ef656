//! `uwf run` and `uwf thread run`: from a task to the end in one command, and exit codes that say how it stopped.

use serde_json::{Value, json};

use crate::gates::{NOTE, at_work, gated_agent, open_gate};
use crate::processes::signal;
use crate::pty::on_terminal;
use crate::world::{ONE_STEP, REVIEW, Run, World};

const APPROVED: &str = "
roles:
  writer: [{ output: { plan: p } }]
  reviewer: [{ output: { $status: approved, summary: good } }]
";
const ASKED: &str = "
roles:
  writer: [{ output: { plan: p } }]
  reviewer: [{ output: { $status: ask, question: which } }]
";

/// A world with the workflow `review`, whose roles answer from a script.
fn world(script: &str) -> World {
    let world = World::new();
    world.put(REVIEW);
    world.mock(script);
    world
}

/// Returns the JSON lines of a command, of which there must be some.
#[track_caller]
fn lines(run: &Run) -> Vec<Value> {
    let lines = run.stdout.lines();
    let lines: Vec<Value> = lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(!lines.is_empty(), "{}", run.stderr);
    lines
}

/// Asserts how a run stopped, and returns its last line.
#[track_caller]
fn stopped(run: &Run, word: &str) -> Value {
    let end = lines(run).pop().unwrap();
    assert_eq!(end["stopped"], json!(word), "{end}");
    assert_eq!(end["exit"], json!(run.code));
    end
}

#[test]
fn a_run_goes_from_the_task_to_the_end_in_one_command() {
    let world = world(APPROVED);
    let run = world.uwf(&["run", "review", "-p", "the task"]).exits(0);
    let end = stopped(&run, "completed");
    let thread = end["thread"].as_str().unwrap();
    assert!(run.stderr.contains(thread), "{}", run.stderr);
    assert_eq!(end["steps"], json!(2));
    assert_eq!(end["next"], json!(format!("uwf thread read {thread}")));
    let lines = lines(&run);
    let roles: Vec<&Value> = lines[..2].iter().map(|line| &line["role"]).collect();
    assert_eq!(roles, ["writer", "reviewer"]);
    assert_eq!(lines[0]["thread"], json!(thread));
    assert_eq!(lines.len(), 3);
    world.uwf(&["thread", "run", thread]).exits(7);
}

#[test]
fn the_text_of_a_run_begins_with_the_thread_and_ends_with_what_to_type_next() {
    let world = world(ASKED);
    let args = ["run", "review", "-p", "t", "--format", "text"];
    let run = world.uwf(&args).exits(6);
    let text: Vec<&str> = run.stdout.lines().collect();
    let thread = text[0];
    assert_eq!(world.show(thread)["status"], json!("suspended"));
    assert!(text[1].contains("writer by uwf-mock"), "{}", run.stdout);
    assert!(text[2].contains("reviewer by uwf-mock"), "{}", run.stdout);
    let rest = text[3..].join("\n");
    assert!(
        rest.contains("suspended, reviewer asks, after 2 steps"),
        "{rest}"
    );
    assert!(rest.contains("Need: which"), "{rest}");
    let next = format!("uwf thread resume {thread} -p");
    assert!(rest.contains(&next), "{rest}");
}

#[test]
fn a_quiet_run_prints_the_thread_and_the_result() {
    let world = world(APPROVED);
    let quiet = ["run", "review", "-p", "t", "-q"];
    let text = world
        .uwf(&[&quiet[..], &["--format", "text"]].concat())
        .exits(0);
    let printed: Vec<&str> = text.stdout.lines().collect();
    assert_eq!(printed.len(), 3, "{}", text.stdout);
    assert_eq!(world.show(printed[0])["status"], json!("completed"));
    assert!(printed[1].contains("completed, after 2 steps"));
    assert_eq!(printed[2], "result   Done: good");
    assert_eq!(text.stderr, "");
    let data = world.uwf(&quiet).exits(0);
    assert_eq!(data.stderr, "");
    let lines = lines(&data);
    assert_eq!(lines[0]["thread"], lines[1]["thread"]);
    assert_eq!(lines.len(), 2);
}

#[test]
fn the_exit_code_says_how_the_run_stopped() {
    let asked = world(ASKED);
    let run = asked.uwf(&["run", "review", "-p", "t"]).exits(6);
    let end = stopped(&run, "suspended");
    assert_eq!(end["message"], json!("Need: which"));
    let thread = end["thread"].as_str().unwrap();
    stopped(&asked.uwf(&["thread", "run", thread]).exits(6), "suspended");

    let failing = world("roles: { writer: [{ exit: 9, stderr: boom }] }");
    let run = failing
        .uwf(&["run", "review", "-p", "t"])
        .exits(3)
        .says("exit: 9");
    let end = stopped(&run, "failed");
    let thread = end["thread"].as_str().unwrap();
    assert_eq!(end["next"], json!(format!("uwf thread run {thread}")));
    assert_eq!(lines(&run)[0]["class"], json!("crash"));
    let quiet = failing.uwf(&["run", "review", "-p", "t", "-q"]).exits(3);
    assert_eq!(
        lines(&quiet).len(),
        2,
        "the thread and the result: {}",
        quiet.stdout
    );
    stopped(&quiet, "failed");

    let unknown = World::new();
    unknown.put(ONE_STEP);
    let run = unknown
        .uwf(&["run", "one", "-p", "t"])
        .exits(1)
        .says("no agent");
    let end = stopped(&run, "refused");
    let thread = end["thread"].as_str().unwrap();
    run.says(&format!("is kept: `uwf thread run {thread}` goes on"));
}

#[test]
fn a_run_stops_at_a_limit_and_goes_on_beyond_it() {
    let world = world(APPROVED);
    world.configure("limits.maxSteps", "1");
    let run = world.uwf(&["run", "review", "-p", "t"]).exits(6);
    let end = stopped(&run, "suspended");
    assert_eq!(end["steps"], json!(1));
    let next = end["next"].as_str().unwrap();
    assert!(next.ends_with("--raise maxSteps=2"), "{next}");
    world.configure("limits.maxSteps", "9");
    let thread = end["thread"].as_str().unwrap();
    let run = world.uwf(&["thread", "run", thread]).exits(0);
    assert_eq!(stopped(&run, "completed")["steps"], json!(1));
}

#[test]
fn a_run_of_a_paused_thread_says_so_and_how_it_goes_on() {
    let world = world(APPROVED);
    let thread = world.start("review");
    world.uwf(&["thread", "pause", &thread]).exits(0);
    let run = world.uwf(&["thread", "run", &thread]).exits(6);
    let last = stopped(&run, "paused");
    assert_eq!(last["next"], json!(format!("uwf thread unpause {thread}")));
}

#[test]
fn a_blocked_run_exits_with_1_and_says_why() {
    let world = World::new();
    let edge = r#"writer: { _: { role: $END, prompt: "Done: {{note}}" } }"#;
    let never = ONE_STEP
        .replace(edge, "writer: [{ role: $END, condition: never }]")
        .replace(
            "graph:",
            "conditions: { never: { expression: \"1 = 2\" } }\ngraph:",
        );
    world.write("one.yaml", &never);
    world.mock(NOTE);
    let run = world.uwf(&["run", "one.yaml", "-p", "t"]).exits(1);
    let end = stopped(&run, "blocked");
    assert_eq!(end["steps"], json!(1));
    assert!(end["message"].is_string(), "{end}");
    let thread = end["thread"].as_str().unwrap();
    stopped(&world.uwf(&["thread", "run", thread]).exits(1), "blocked");
}

#[test]
fn an_interrupted_run_ends_its_agent_and_names_the_command_that_goes_on() {
    let world = World::new();
    world.put(ONE_STEP);
    gated_agent(&world, NOTE);
    let engine = at_work(&world, &["run", "one", "-p", "t"]);
    signal("INT", engine.id());
    let run = Run::from(engine.wait_with_output().unwrap()).exits(130);
    let end = stopped(&run, "interrupted");
    let thread = end["thread"].as_str().unwrap();
    let next = format!("uwf thread run {thread}");
    assert!(
        run.stderr.contains(&format!("hint: `{next}` goes on")),
        "{}",
        run.stderr
    );
    open_gate(&world);
    world.uwf(&["thread", "run", thread]).exits(0);
}

#[test]
fn a_task_comes_from_a_file_or_begins_with_an_at_sign() {
    let world = world(APPROVED);
    world.write("task.md", "from a file\n");
    let task = |text: &str| {
        let run = world
            .uwf(&["thread", "start", "review", "-p", text])
            .exits(0);
        let thread = run.json()["thread"].as_str().unwrap().to_owned();
        world.uwf(&["thread", "steps", &thread]).json()["steps"][0]["prompt"].clone()
    };
    assert_eq!(task("@task.md"), json!("from a file\n"));
    assert_eq!(task("@@task.md"), json!("@task.md"));
    let none = world.uwf(&["thread", "start", "review", "-p", "@none.md"]);
    none.exits(1)
        .says("cannot read `none.md`")
        .says("-p @@none.md");
    std::fs::write(world.project().join("bin"), b"\xff").unwrap();
    let binary = world.uwf(&["thread", "start", "review", "-p", "@bin"]);
    let binary = binary.exits(1).says("name the file in it");
    assert!(!binary.stderr.contains("@@bin"), "{}", binary.stderr);
    let lacks = world.uwf(&["run", "review"]).exits(2);
    lacks.says("-p @task.md");
}

#[test]
fn resume_and_poke_take_the_text_of_a_file() {
    let world = world(
        "
roles:
  writer: [{ output: { plan: p } }, { output: { plan: q } }]
  reviewer: [{ output: { $status: ask, question: which } }, { output: { $status: ask, question: again } }, { output: { $status: approved, summary: s } }]
",
    );
    let run = world.uwf(&["run", "review", "-p", "t"]).exits(6);
    let end = stopped(&run, "suspended");
    let thread = end["thread"].as_str().unwrap();
    world.write("answer.md", "the blue one");
    let at = ["-p", "@answer.md"];
    for verb in ["resume", "poke"] {
        world
            .uwf(&[&["thread", verb, thread][..], &at].concat())
            .exits(0);
        let story = world.uwf(&["thread", "read", thread]).exits(0).stdout;
        assert!(story.contains("the blue one"), "{verb}: {story}");
    }
}

#[test]
fn a_proposed_command_repeats_a_text_that_begins_with_an_at_sign() {
    let world = world(ASKED);
    let run = world.uwf(&["run", "review", "-p", "t"]).exits(6);
    let end = stopped(&run, "suspended");
    let thread = end["thread"].as_str().unwrap();
    let answer = [
        "thread", "resume", thread, "-p", "@@home", "--agent", "false",
    ];
    world.uwf(&answer).exits(3).says("-p @@home");
}

#[test]
fn on_a_terminal_a_run_prints_text() {
    let world = world(APPROVED);
    let screen = on_terminal(&world, 80, &["run", "review", "-p", "t"]);
    assert!(
        screen.contains("stopped  completed, after 2 steps"),
        "{screen}"
    );
    assert!(!screen.contains('{'), "{screen}");
}

#[test]
fn a_text_that_does_not_end_or_is_no_text_is_refused() {
    let world = world(APPROVED);
    let start = ["thread", "start", "review", "-p"];
    let zeros = || std::fs::File::open("/dev/zero").unwrap();
    let fed = |args: &[&str]| -> Run {
        let mut command = world.command(args);
        command.stdin(zeros()).output().unwrap().into()
    };
    fed(&[&start[..], &["@/dev/zero"]].concat())
        .exits(1)
        .says("`/dev/zero` is longer than 16.0 MiB")
        .says("name a large file in it");
    fed(&[&start[..], &["-"]].concat())
        .exits(1)
        .says("standard input is longer than 16.0 MiB");
    fed(&["workflow", "put", "-"])
        .exits(1)
        .says("standard input is longer than 256.0 MiB");
    std::fs::write(world.project().join("bytes"), b"a\xff").unwrap();
    let bytes = std::fs::File::open(world.project().join("bytes")).unwrap();
    let mut command = world.command(&[&start[..], &["-"]].concat());
    let run = Run::from(command.stdin(bytes).output().unwrap()).exits(1);
    let run = run.says("cannot read standard input").says("utf-8");
    assert!(!run.stderr.contains("hint: "), "{}", run.stderr);
    // The longest text is a text like others.
    let longest = "x".repeat(16 << 20);
    world.write("longest", &longest);
    world.uwf(&[&start[..], &["@longest"]].concat()).exits(0);
    world.write("longer", &(longest + "x"));
    world.uwf(&[&start[..], &["@longer"]].concat()).exits(1);
}
