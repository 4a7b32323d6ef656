//! Programs: how they end, time limits, retries, signals, and prompts of every size.

use std::fs;

use rustix::process::Signal;
use serde_json::json;

use super::runs::{ran, resume, root_of_only_run, run, start, state_in, text_of, wait_for_file};
use crate::processes::that_were_started_with;
use crate::world::{World, binary, wait_until};

#[test]
fn exit_codes_are_those_of_a_shell_and_no_such_failure_is_retried() {
    let world = World::new();
    world.write("plain", "no program");
    let pipeline = r#"
strict_flow: false
steps:
- name: NotFound
  command: [no-such-program-here]
  retries: {max: 3, delay_ms: 1}
- name: NotExecutable
  command: [./plain]
  retries: {max: 3, delay_ms: 1}
- name: Killed
  command: [sh, -c, "kill -9 $$$$"]
  retries: {max: 3, delay_ms: 1}
- name: Wraps
  command: [sh, -c, "exit 300"]
  retries: {max: 3, delay_ms: 1}
- name: Two
  command: [sh, -c, "exit 2"]
  retries: {max: 3, delay_ms: 1}
"#;
    let ran = run(&world, pipeline, &[]).exits(0);
    for (name, failure) in [
        ("NotFound", (127, "command_not_found")),
        ("NotExecutable", (126, "command_not_executable")),
        ("Killed", (137, "signal")),
        ("Wraps", (44, "command_failed")),
        ("Two", (2, "command_failed")),
    ] {
        assert_eq!(ran.failure(name), failure, "{name}");
        assert_eq!(ran.step(name)["attempts"], 1, "{name}");
    }
    // A command ends with a code that programs can have; the state has the real one.
    let killed = "steps:\n- name: A\n  command: [sh, -c, \"kill -9 $$$$\"]\n";
    let ran = run(&world, killed, &[]).exits(1);
    assert_eq!(ran.failure("A"), (137, "signal"));
    let high = "steps:\n- name: A\n  command: [sh, -c, 'exit 200']\n";
    let ran = run(&world, high, &[]).exits(1);
    assert_eq!(ran.failure("A"), (200, "command_failed"));
    let not_found = "steps:\n- name: A\n  command: [no-such-program-here]\n";
    run(&world, not_found, &[]).exits(127);
}

#[test]
fn only_exit_code_1_and_time_limits_are_retried() {
    let world = World::new();
    let pipeline = r#"
strict_flow: false
providers:
  flaky: {command: [sh, -c, 'echo x >> "$0"; test $(wc -l < "$0") -ge 3', "${log}"], defaults: {log: p}}
steps:
- name: Provider
  provider: flaky
- name: Own
  provider: flaky
  provider_params: {log: q}
  retries: {max: 1, delay_ms: 1}
- name: Command
  command: [sh, -c, 'echo x >> c; exit 1']
- name: Slow
  command: [sh, -c, 'echo x >> s; sleep 60']
  timeout_sec: 0.1
  retries: {max: 1, delay_ms: 1}
"#;
    let args = ["--max-retries", "2", "--retry-delay", "1"];
    let ran = run(&world, pipeline, &args).exits(0);
    assert_eq!(ran.step("Provider")["status"], "completed");
    assert_eq!(ran.step("Provider")["attempts"], 3);
    assert_eq!(ran.failure("Own"), (1, "command_failed"));
    assert_eq!(ran.step("Own")["attempts"], 2);
    assert_eq!(ran.step("Command")["attempts"], 1);
    assert_eq!(ran.failure("Slow"), (124, "timeout"));
    assert_eq!(ran.step("Slow")["attempts"], 2);
    assert_eq!(text_of(&world, "s"), "x\nx\n");
}

#[test]
fn a_time_limit_ends_everything_that_the_step_started() {
    let world = World::new();
    let pipeline = r#"
steps:
- name: Slow
  command: [sh, -c, 'echo before; setsid sleep 60.125 & sleep 60.125']
  timeout_sec: 0.5
"#;
    let ran = run(&world, pipeline, &[]).exits(124);
    assert_eq!(ran.failure("Slow"), (124, "timeout"));
    assert_eq!(ran.output("Slow"), "before\n");
    assert_eq!(that_were_started_with("sleep 60.125"), Vec::<String>::new());
}

#[test]
fn the_time_of_the_run_ends_it_and_asks_no_handler() {
    let world = World::new();
    let pipeline = "steps:\n- name: Slow\n  command: [sleep, '60.25']\n  on: {failure: {goto: Rescue}}\n- name: Rescue\n  command: [touch, rescued]\n";
    let ran = run(&world, pipeline, &["--timeout", "0.3"]).exits(124);
    assert_eq!(ran.failure("Slow"), (124, "run_timeout"));
    assert!(!world.project().join("rescued").exists());
}

#[test]
fn what_keeps_the_output_open_is_ended_and_recorded() {
    let world = World::new();
    let pipeline = "steps:\n- name: Leaks\n  command: [sh, -c, 'sleep 60.375 & echo out']\n- name: Next\n  command: ['true']\n";
    let ran = run(&world, pipeline, &[]).exits(0);
    assert_eq!(ran.output("Leaks"), "out\n");
    assert_eq!(ran.step("Leaks")["debug"]["leaked_processes"], true);
    assert_eq!(that_were_started_with("sleep 60.375"), Vec::<String>::new());
}

/// Waits until a step of the only run is the current one.
fn wait_for_step(world: &World, key: &str) {
    wait_until(&format!("`{key}` runs"), || {
        state_in(&root_of_only_run(world))["current_step"]["key"] == key
    });
}

#[test]
fn a_signal_during_a_wait_interrupts_the_run_which_can_go_on() {
    for (signal, code) in [(Signal::TERM, 143), (Signal::HUP, 129), (Signal::INT, 130)] {
        let world = World::new();
        let pipeline = "steps:\n- name: Reply\n  wait_for: {glob: 'in/*', timeout_sec: 60, poll_ms: 60000}\n- name: After\n  command: [touch, after]\n";
        let running = start(&world, pipeline, &[]);
        wait_for_step(&world, "Reply");
        running.signal(signal);
        let ran = running.wait().exits(code);
        assert_eq!(ran.summary["status"], "interrupted");
        assert_eq!(ran.state["status"], "interrupted");
        assert!(!world.project().join("after").exists());
        world.write("in/reply", "");
        let ran = resume(&world, ran.id(), &[]).exits(0);
        assert_eq!(ran.state["status"], "completed");
        assert_eq!(ran.step("Reply")["files"], json!(["in/reply"]));
    }
}

#[test]
fn a_signal_goes_to_the_program_of_the_step_and_nothing_settles() {
    let world = World::new();
    let pipeline = r#"
steps:
- name: Works
  command: [sh, -c, 'trap "touch asked; exit 0" TERM; echo x >> tries; touch ready; test -e again || { sleep 60.5 & wait; }']
"#;
    let running = start(&world, pipeline, &[]);
    wait_for_file(&world, "ready");
    running.signal(Signal::TERM);
    let ran = running.wait().exits(143);
    wait_for_file(&world, "asked");
    assert_eq!(that_were_started_with("sleep 60.5"), Vec::<String>::new());
    assert_eq!(ran.state["status"], "interrupted");
    world.write("again", "");
    let ran = resume(&world, ran.id(), &[]).exits(0);
    assert_eq!(text_of(&world, "tries"), "x\nx\n");
    assert_eq!(ran.step("Works")["status"], "completed");
}

/// A provider that says how many bytes its prompt has, as an argument and as standard input.
const COUNTS: &str = r#"
strict_flow: false
providers:
  arg: {command: [sh, -c, 'printf %s "$0" | wc -c', "${PROMPT}"]}
  stdin: {command: [wc, -c], input_mode: stdin}
steps:
- name: Arg
  provider: arg
  input_file: prompt
- name: Stdin
  provider: stdin
  input_file: prompt
"#;

#[test]
fn a_prompt_has_the_size_that_a_program_can_get() {
    let world = World::new();
    let prompt = |bytes: usize| {
        world.write("prompt", &"x".repeat(bytes));
        run(&world, COUNTS, &[]).exits(0)
    };
    for bytes in [0, 131_071] {
        let ran = prompt(bytes);
        assert_eq!(ran.output("Arg").trim(), bytes.to_string());
        assert_eq!(ran.output("Stdin").trim(), bytes.to_string());
    }
    for bytes in [131_072, 3 << 20, 16 << 20] {
        let ran = prompt(bytes);
        assert_eq!(ran.failure("Arg"), (2, "argument_too_long"));
        let error = ran.step("Arg")["error"].to_string();
        assert!(error.contains("input_mode: stdin"), "{error}");
        assert_eq!(ran.output("Stdin").trim(), bytes.to_string());
    }
    let ran = prompt((16 << 20) + 1);
    assert_eq!(ran.failure("Stdin"), (2, "input_file_error"));
}

#[test]
fn a_prompt_is_the_bytes_of_its_file() {
    let world = World::new();
    fs::write(world.project().join("prompt"), b"a\xffb\n\n").unwrap();
    let ran = run(&world, COUNTS, &[]).exits(0);
    assert_eq!(ran.step("Arg")["exit_code"], 2);
    assert_eq!(ran.output("Stdin").trim(), "5");
    world.write("prompt", "a\0b");
    let ran = run(&world, COUNTS, &[]).exits(0);
    assert_eq!(ran.step("Arg")["exit_code"], 2);
    assert_eq!(ran.output("Stdin").trim(), "3");
}

#[test]
fn a_prompt_that_cannot_be_read_starts_nothing() {
    let world = World::new();
    fs::create_dir(world.project().join("folder")).unwrap();
    world.write("empty", "");
    let asks = |file: &str| {
        let pipeline = format!(
            "providers: {{p: {{command: [sh, -c, 'touch started; printf \"<%s>\" \"$0\"', \"${{PROMPT}}\"]}}}}\nsteps:\n- name: Ask\n  provider: p\n  input_file: {file}\n"
        );
        run(&world, &pipeline, &[])
    };
    for file in ["missing", "folder"] {
        let ran = asks(file).exits(2);
        assert_eq!(ran.failure("Ask"), (2, "input_file_error"));
    }
    assert!(!world.project().join("started").exists());
    assert_eq!(asks("empty").exits(0).output("Ask"), "<>");
}

#[test]
fn files_that_a_step_depends_on_are_checked_just_before_it() {
    let world = World::new();
    let step = |depends_on: &str| {
        let pipeline = format!(
            "steps:\n- name: Make\n  command: [sh, -c, 'mkdir -p made && touch made/1.md']\n- name: Use\n  command: [touch, used]\n  depends_on: {depends_on}\n"
        );
        run(&world, &pipeline, &[])
    };
    let ran = step("{required: ['made/*.md', 'missing/*']}").exits(2);
    assert_eq!(ran.failure("Use"), (2, "failed_deps"));
    let required = &ran.step("Use")["error"]["context"]["required"];
    assert_eq!(required, &json!(["missing/*"]));
    assert!(!world.project().join("used").exists());
    step("{optional: ['missing/*']}").exits(0);
    step("{required: ['made/*.md']}").exits(0);
}

#[test]
fn a_file_that_the_caller_has_open_stays_with_the_caller() {
    let world = World::new();
    let looks = "steps:\n- name: Look\n  command: [sh, -c, 'ls -l /proc/$$$$/fd']\n";
    world.write("flow.yaml", looks);
    // As in a script that holds a lock while it runs the pipeline.
    let script = "exec 9>held; \"$0\" orchestrate run flow.yaml --json && test -e /proc/$$/fd/9";
    let mut shell = world.command_of("sh");
    let ran = ran(shell.arg("-c").arg(script).arg(binary())).exits(0);
    let files = ran.output("Look");
    assert!(
        files.contains(" 0 -> ") && !files.contains("held"),
        "{files}"
    );
}
