//! What is typed by mistake is answered with what to type instead, and what is chosen silently is said.

use serde_json::json;

use crate::gates::{NOTE, at_work, gated_agent, open_gate, wait_for_ends};
use crate::processes::kill;
use crate::pty::on_terminal;
use crate::world::{ONE_STEP, REVIEW, World};

/// A thread with one step, and the step.
fn stepped() -> (World, String, String) {
    let world = World::new();
    world.put(REVIEW);
    world.mock("roles:\n  writer: [{ output: { plan: p } }]\n");
    let thread = world.start("review");
    let step = world.step(&thread).exits(0).json()["step"].clone();
    (world, thread, step.as_str().unwrap().to_owned())
}

#[test]
fn a_hash_in_the_place_of_a_thread_is_told_with_its_thread() {
    let (world, thread, step) = stepped();
    for command in ["show", "step", "steps", "read", "kill", "resume", "poke"] {
        let run = world.uwf(&["thread", command, &step]).exits(1);
        run.says("is a hash; a thread is expected")
            .says(&format!("it belongs to thread `{thread}`"));
    }
    let unknown = world.uwf(&["thread", "show", "0000000000000"]).exits(1);
    unknown.says("uwf thread list --all");
}

#[test]
fn advice_about_the_command_line_is_right() {
    let (world, thread, _) = stepped();
    let unknown = world
        .uwf(&["thread", "step", &thread, "--rehearse"])
        .exits(2);
    assert!(!unknown.stderr.contains("as a value"), "{}", unknown.stderr);
    let near = world
        .uwf(&["thread", "step", &thread, "--agnet", "x"])
        .exits(2);
    near.says("--agent");
    world.uwf(&["-vv", "thread", "show", &thread]).exits(0);
}

#[test]
fn a_config_that_is_not_there_is_listed_as_empty() {
    let world = World::new();
    let listed = world.uwf(&["config", "list"]).exits(0);
    assert_eq!(listed.json(), json!({}));
    let text = world.uwf(&["config", "list", "--format", "text"]).exits(0);
    assert!(text.stdout.contains("uwf setup"), "{}", text.stdout);
    assert!(!world.root().exists());
}

#[test]
fn a_failed_step_names_its_thread_and_says_its_reason_once() {
    let world = World::new();
    world.put(ONE_STEP);
    let script = world.script("fails.sh", "echo disk is full >&2; exit 9");
    world.agent("uwf-command", &["--", script.to_str().unwrap()]);
    let thread = world.start("one");
    let run = world.step(&thread).exits(3);
    assert_eq!(
        run.stderr.matches("disk is full").count(),
        1,
        "{}",
        run.stderr
    );
    run.says(&format!("of thread {thread}: "));
}

#[test]
fn a_file_that_hides_a_registered_workflow_is_told() {
    let world = World::new();
    let registered = world.put(ONE_STEP);
    world.write(
        ".workflow/one.yaml",
        &ONE_STEP.replace("You write.", "You write here."),
    );
    let start = ["thread", "start", "one", "-p", "x"];
    let run = world.uwf(&start).exits(0);
    run.says(".workflow/one.yaml` is used").says(&registered);
    // The same workflow hides nothing.
    world.write(".workflow/one.yaml", ONE_STEP);
    assert_eq!(world.uwf(&start).exits(0).stderr, "");
}

#[test]
fn the_secrets_file_says_nothing_about_the_contract_with_agents() {
    let world = World::new();
    world.put(ONE_STEP);
    world.script(
        "tells.sh",
        "env | grep -c EVIL; echo '---'; echo \"note: $SECRET\"; echo '---'",
    );
    world.agent("uwf-command", &["--", "./tells.sh"]);
    let thread = world.start("one");
    let names = [
        "UWF_REPLACES",
        "UWF_ENGINE",
        "UWF_HEAD",
        "UWF_THREAD_ID",
        "UWF_ROLE",
        "UWF_EDGE_PROMPT",
        "UWF_EDGE_PROMPT_REF",
    ];
    let evil = names.map(|name| format!("{name}=EVIL0EVIL0EVI\n")).concat();
    let secrets = format!("SECRET=kept\n{evil}");
    std::fs::write(world.root().join(".env"), secrets).unwrap();
    world.step(&thread).exits(0);
    let steps = world.uwf(&["thread", "read", &thread]).exits(0).stdout;
    assert!(steps.contains("<output>\n0\n---\nnote: kept\n"), "{steps}");
}

#[test]
fn the_doctor_tells_a_relative_program_and_a_place_that_cannot_be_read() {
    let world = World::new();
    world.agent("uwf-command", &["--", "./elsewhere.sh"]);
    let doctor = world.uwf(&["doctor", "--offline", "--format", "text"]);
    assert!(
        doctor
            .stdout
            .contains("looked for in the folder of each step"),
        "{}",
        doctor.stdout
    );
    let file = world.write("file", "");
    let mut command = world.command(&["doctor", "--offline", "--format", "text"]);
    command.env("UWF_STORAGE_ROOT", file.join("root"));
    let run: crate::world::Run = command.output().unwrap().into();
    assert!(run.stdout.contains("cannot be read: "), "{}", run.stdout);
}

#[test]
fn tables_and_values_fit_the_terminal() {
    let world = World::new();
    world.put(REVIEW);
    let plan = "many words ".repeat(40);
    world.mock(&format!(
        "roles:\n  writer: [{{ output: {{ plan: {plan} }} }}]\n  reviewer: [{{ exit: 1, stderr: e }}, {{ output: {{ $status: ask, question: {plan} }} }}]\n"
    ));
    let thread = world.start("review");
    world.step(&thread).exits(0);
    world.step(&thread).exits(3);
    let commands: [&[&str]; 4] = [
        &["thread", "steps", &thread],
        &["thread", "show", &thread],
        &["thread", "list"],
        &["workflow", "show", "review"],
    ];
    let widest = |columns: u16, args: &[&str]| {
        let screen = on_terminal(&world, columns, args);
        screen
            .lines()
            .map(|line| line.chars().count())
            .max()
            .unwrap()
    };
    for args in commands {
        let is_narrow = widest(80, args);
        assert!(is_narrow <= 80, "{args:?}: {is_narrow}");
    }
    assert!(widest(200, commands[0]) > 180, "a wide terminal is used");
}

#[test]
fn a_file_that_is_not_there_is_told_with_the_one_beside_it() {
    let world = World::new();
    world.write("one.yaml", ONE_STEP);
    for (command, file) in [
        ("put", "one"),
        ("put", "onne.yaml"),
        ("validate", "one.yml"),
    ] {
        let path = world.project().canonicalize().unwrap().join(file);
        world
            .uwf(&["workflow", command, file])
            .exits(1)
            .says(&format!("error: cannot read `{file}`\n"))
            .says(&format!(
                "cause: no such file or directory: `{}`",
                path.display()
            ))
            .says("hint: did you mean `one.yaml`?");
    }
    let far = world.uwf(&["workflow", "put", "./zzz.yaml"]).exits(1);
    assert!(!far.stderr.contains("hint:"), "{}", far.stderr);
    world.put(ONE_STEP);
    world.agent("uwf-mock", &["no-script.yaml"]);
    let thread = world.start("one");
    world
        .step(&thread)
        .exits(3)
        .says("no-script.yaml`: there is no such file");
}

#[test]
fn who_keeps_a_thread_busy_is_named_with_its_processes() {
    let world = World::new();
    world.put(ONE_STEP);
    gated_agent(&world, NOTE);
    let thread = world.start("one");
    let mut engine = [at_work(&world, &["thread", "step", &thread])];
    let agent = world.agent_at_work(&thread);
    let busy = format!(
        "`writer` is at work (process {} runs agent `",
        engine[0].id()
    );
    world
        .step(&thread)
        .exits(5)
        .says(&busy)
        .says(&format!("agent.sh`, process {agent})"));
    open_gate(&world);
    wait_for_ends(&mut engine, 1);
}

#[test]
fn an_attempt_is_accepted_by_its_number() {
    let world = World::new();
    let args = [
        "thread",
        "resume",
        "01J7K9Z000000000000000000A",
        "--accept-unknown",
        "x",
    ];
    world
        .uwf(&args)
        .exits(2)
        .says("the number of a failed attempt is expected; `uwf thread steps <thread>` lists them");
}

#[test]
fn an_agent_whose_engine_is_gone_is_named_as_that() {
    let world = World::new();
    world.put(ONE_STEP);
    gated_agent(&world, NOTE);
    let thread = world.start("one");
    let engine = at_work(&world, &["thread", "step", &thread]);
    let agent = world.agent_at_work(&thread);
    let gone = format!(
        "the engine that started it is gone (process {})",
        engine.id()
    );
    kill(engine);
    world
        .step(&thread)
        .exits(5)
        .says(&format!("process {agent}), though {gone}"));
    open_gate(&world);
    world.wait_until_free(&thread);
    assert_eq!(world.step(&thread).exits(0).json()["adopted"], json!(true));
}

#[test]
fn what_is_proposed_works_on_the_root_that_was_named() {
    let world = World::new();
    let file = world.write("one.yaml", ONE_STEP);
    let (file, root) = (file.to_str().unwrap(), world.dir().join("another root"));
    let uwf = format!("uwf --root '{}' thread", root.display());
    let call = |args: &[&str], format: &str| {
        let global = ["--root", root.to_str().unwrap(), "--format", format];
        world.uwf(&[&global[..], args].concat())
    };
    let started = call(&["thread", "start", file, "-p", "x"], "text").exits(0);
    let thread = started.stdout.lines().next().unwrap().to_owned();
    let next = format!("next: {uwf} step {thread}");
    assert!(started.stdout.contains(&next), "{}", started.stdout);
    let failing = ["thread", "step", &thread, "--agent", "uwf-command -- false"];
    let failed = call(&failing, "json").exits(3);
    let command = format!("`{uwf} step {thread} --agent 'uwf-command -- false'`");
    let hint = failed.json()["hint"].as_str().unwrap().to_owned();
    assert!(hint.contains(&command), "{hint}");
    failed.says(&command);
    let shown = call(&["thread", "show", &thread], "text").exits(0).stdout;
    assert!(shown.contains(&format!("{uwf} step {thread}")), "{shown}");
}

#[test]
fn the_dots_of_a_hint_are_no_words() {
    let (world, thread, _) = stepped();
    for command in ["resume", "poke"] {
        let dots = world.uwf(&["thread", command, &thread, "-p", "…"]).exits(2);
        dots.says("error: `…` stands for your own words")
            .says("hint: put them in its place");
    }
    let none = world.uwf(&["thread", "start", "review", "-p", "…"]);
    none.exits(2).says("stands for your own words");
}

#[test]
fn a_list_that_chooses_threads_says_that_none_matches() {
    let (world, thread, _) = stepped();
    let text = |args: &[&str]| {
        let list = [&["thread", "list", "--format", "text"], args].concat();
        world.uwf(&list).exits(0).stdout
    };
    assert!(text(&["--status", "active,completed"]).contains(&thread));
    for args in [&["--status", "failed"][..], &["--all", "--skip", "100"]] {
        assert!(text(args).contains("no thread matches"), "{}", text(args));
    }
}

#[test]
fn an_empty_answer_is_refused_before_an_agent_starts() {
    let (world, thread, _) = stepped();
    for command in ["resume", "poke"] {
        let run = world.uwf(&["thread", command, &thread, "-p", " "]).exits(1);
        run.says("the text of `-p` is empty");
    }
}

#[test]
fn a_push_of_nothing_says_how_threads_are_named() {
    let world = World::new();
    world
        .uwf(&["push"])
        .exits(2)
        .says("tip: name threads, as in `uwf push @`")
        .says("`uwf push --all`");
}
