//! The fields of steps, and what a run does beside its steps.

use std::fs;
use std::os::unix::fs::symlink;

use rustix::process::Signal;
use serde_json::{Value, json};

use super::runs::{command, ran, resume, run, start, state_in, text_of, wait_for_file};
use crate::world::{World, binary};

#[test]
fn words_of_a_command_are_texts_and_no_shell_reads_them() {
    let world = World::new();
    let pipeline = r#"
steps:
- name: Words
  command: [printf, "%s,", 1.0, true, 0x10, yes, "*", "$HOME", ""]
- name: Text
  command: printf '%s,' 'a b' "c d" e\ f | > out
- name: Override
  command_override: [printf, "%s", 2.5]
"#;
    let ran = run(&world, pipeline, &[]).exits(0);
    assert_eq!(ran.output("Words"), "1.0,true,16,yes,*,$HOME,,");
    assert_eq!(ran.output("Text"), "a b,c d,e f,|,>,out,");
    assert_eq!(ran.output("Override"), "2.5");
    assert!(ran.run.stderr.contains(" W01: "), "{}", ran.run.stderr);
    assert!(!world.project().join("out").exists());
}

#[test]
fn what_cannot_be_an_argument_starts_nothing() {
    let world = World::new();
    let data = json!({"zero": "a\0b", "long": "x".repeat(131_072), "fits": "x".repeat(131_071)});
    world.write("data.json", &data.to_string());
    let pipeline = r#"
strict_flow: false
steps:
- name: Data
  command: [cat, data.json]
  output_capture: json
- name: Zero
  command: [touch, started, "${steps.Data.json.zero}"]
- name: Long
  command: [touch, started, "${steps.Data.json.long}"]
- name: Fits
  command: ["true", "${steps.Data.json.fits}"]
- name: Nothing
  command: ["${steps.Fits.output}"]
- name: Folder
  command: [/]
"#;
    let ran = run(&world, pipeline, &[]).exits(0);
    assert_eq!(ran.failure("Zero"), (2, "invalid_argument"));
    assert_eq!(ran.failure("Long"), (2, "argument_too_long"));
    assert_eq!(ran.step("Fits")["status"], "completed");
    assert_ne!(ran.step("Nothing")["exit_code"], 0);
    assert_eq!(ran.failure("Folder"), (126, "command_not_executable"));
    assert!(!world.project().join("started").exists());
}

#[test]
fn a_prompt_may_begin_with_the_files_that_it_is_about() {
    let world = World::new();
    world.write("in/a.md", "A\n");
    world.write("in/b.md", "B\n");
    world.write("prompt", "Compare them");
    let ask = |inject: &str| {
        let pipeline = format!(
            "version: 1.1.1\nproviders: {{echo: {{command: [cat], input_mode: stdin}}}}\nsteps:\n- name: Ask\n  provider: echo\n  input_file: prompt\n  depends_on: {{required: ['in/*.md'], inject: {inject}}}\n"
        );
        run(&world, &pipeline, &[])
            .exits(0)
            .output("Ask")
            .to_owned()
    };
    assert_eq!(ask("none"), "Compare them");
    let list = ask("list");
    assert!(
        list.contains("in/a.md") && list.ends_with("Compare them"),
        "{list}"
    );
    let content = ask("content");
    assert!(content.contains("=== in/a.md ===\nA\n"), "{content}");
    assert!(content.ends_with("Compare them"), "{content}");
}

#[test]
fn a_file_may_be_the_input_and_the_output_of_one_step() {
    let world = World::new();
    world.write("note", "first");
    let pipeline = "providers: {p: {command: [sh, -c, 'cat note; printf \", %s again\" \"$0\"', '${PROMPT}']}}\nsteps:\n- {name: A, provider: p, input_file: note, output_file: note}\n- {name: Folder, command: [touch, started], output_file: .}\n";
    let ran = run(&world, pipeline, &[]).exits(2);
    assert_eq!(text_of(&world, "note"), "first, first again");
    assert_eq!(ran.summary["failed_step"], "Folder");
    assert!(!world.project().join("started").exists());
}

#[test]
fn a_signal_ends_the_delay_before_another_attempt() {
    let world = World::new();
    let pipeline = "steps:\n- name: A\n  command: [sh, -c, 'echo x >> tries; test -e ready']\n  retries: {max: 1, delay_ms: 600000}\n";
    let running = start(&world, pipeline, &[]);
    wait_for_file(&world, "tries");
    std::thread::sleep(std::time::Duration::from_millis(300));
    running.signal(Signal::TERM);
    let ran = running.wait().exits(143);
    assert_eq!(ran.state["status"], "interrupted");
    world.write("ready", "");
    let ran = resume(&world, ran.id(), &[]).exits(0);
    // The first attempt had failed before the signal, and the second one is the last.
    assert_eq!(ran.step("A")["attempts"], 2);
    assert_eq!(text_of(&world, "tries"), "x\nx\n");
}

#[test]
fn the_time_of_a_run_also_ends_waits_and_delays() {
    let world = World::new();
    let wait = "steps:\n- name: A\n  wait_for: {glob: 'in/*', timeout_sec: 600}\n  on: {failure: {goto: B}}\n- {name: B, command: [touch, rescued]}\n";
    let ran = run(&world, wait, &["--timeout", "0.3"]).exits(124);
    assert_eq!(ran.failure("A"), (124, "run_timeout"));
    let delay = "steps:\n- name: A\n  command: ['false']\n  retries: {max: 1, delay_ms: 600000}\n  on: {failure: {goto: B}}\n- {name: B, command: [touch, rescued]}\n";
    let ran = run(&world, delay, &["--timeout", "0.3"]).exits(124);
    assert_eq!(ran.failure("A"), (124, "run_timeout"));
    assert!(!world.project().join("rescued").exists());
    for time in ["0", "-1", "soon"] {
        let words = ["orchestrate", "run", "flow.yaml", "--timeout", time];
        world.uwf(&words).exits(2);
    }
}

#[test]
fn runs_in_one_workspace_do_not_collide() {
    let world = World::new();
    let pipeline = "steps:\n- name: A\n  command: [sh, -c, 'sleep 0.2; echo $ORCHESTRATE_RUN_ID']\n- name: B\n  command: [printf, '%s', '${run.id}']\n";
    let running: Vec<_> = (0..5).map(|_| start(&world, pipeline, &[])).collect();
    let mut ids: Vec<String> = Vec::new();
    for run in running {
        let ran = run.wait().exits(0);
        assert_eq!(ran.output("A"), format!("{}\n", ran.id()));
        assert_eq!(ran.output("B"), ran.id());
        ids.push(ran.id().to_owned());
    }
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 5);
}

#[test]
fn large_output_of_finished_items_gives_way_to_references() {
    let world = World::new();
    let pipeline = "steps:\n- name: List\n  command: [seq, '200']\n  output_capture: lines\n- name: Each\n  for_each:\n    items_from: steps.List.lines\n    steps:\n    - {name: Much, command: [sh, -c, 'yes \"$0\" | head -c 8192', '${item}']}\n- name: Last\n  command: [printf, x]\n";
    let ran = run(&world, pipeline, &[]).exits(0);
    let file = ran.root().join("state.json");
    assert!(fs::metadata(file).unwrap().len() < 2 << 20);
    let items = ran.step("Each").as_array().unwrap();
    let item = items
        .iter()
        .find(|item| item["Much"]["output_ref"].is_string());
    let item = &item.unwrap()["Much"];
    assert!(item.get("output").is_none(), "{item}");
    let node = item["output_ref"].as_str().unwrap();
    let stored = world.uwf(&["cas", "get", node]).exits(0).stdout;
    assert!(stored.contains("\\n"), "{stored}");
    assert_eq!(ran.output("Last"), "x");
}

#[test]
fn logs_of_steps_with_long_names_have_names_of_their_own() {
    let world = World::new();
    let name = |last: char| format!("{}{last}", "a b ".repeat(24));
    let pipeline = format!(
        "steps:\n- name: \"{}\"\n  command: [printf, one]\n- name: \"{}\"\n  command: [printf, two]\n",
        name('x'),
        name('y')
    );
    let ran = run(&world, &pipeline, &[]).exits(0);
    let logs = fs::read_dir(ran.root().join("logs")).unwrap();
    let logs = logs.map(|log| log.unwrap());
    let mut texts: Vec<String> = logs
        .filter(|log| log.file_name().to_string_lossy().ends_with(".stdout"))
        .map(|log| {
            assert!(log.file_name().len() <= 220);
            fs::read_to_string(log.path()).unwrap()
        })
        .collect();
    texts.sort();
    assert_eq!(texts, ["one", "two"]);
}

#[test]
fn the_program_called_orchestrate_runs_pipelines_where_the_environment_says() {
    let world = World::new();
    symlink(binary(), world.dir().join("orchestrate")).unwrap();
    world.write("flow.yaml", "steps:\n- {name: A, command: [printf, a]}\n");
    let mut orchestrate = world.command_of(world.dir().join("orchestrate"));
    orchestrate
        .args(["run", "flow.yaml", "--json"])
        .env("ORCHESTRATE_STATE_DIR", world.dir().join("runs"));
    let ran = ran(&mut orchestrate).exits(0);
    assert_eq!(ran.output("A"), "a");
    assert!(ran.root().starts_with(world.dir().join("runs")));
    assert!(!world.project().join(".orchestrate").exists());
}

#[test]
fn results_alone_are_printed_and_the_rest_is_said() {
    let world = World::new();
    let pipeline = "steps:\n- {name: A, command: [sh, -c, 'echo out; echo err >&2']}\n";
    world.write("flow.yaml", pipeline);
    let run = world.uwf(&["orchestrate", "run", "flow.yaml"]).exits(0);
    assert_eq!(run.stdout, "");
    assert!(
        !run.stderr.contains("out") && !run.stderr.contains("err\n"),
        "{}",
        run.stderr
    );
    let first = run.stderr.lines().next().unwrap();
    assert!(first.contains("run 20"), "{first}");
    let run = world
        .uwf(&["orchestrate", "run", "flow.yaml", "--stream-output"])
        .exits(0);
    assert_eq!(run.stdout, "");
    run.says("out\n").says("err\n");
    let mut command = command(&world, pipeline, &[]);
    let ran = ran(&mut command).exits(0);
    let keys: Vec<_> = ran.summary.as_object().unwrap().keys().collect();
    for key in [
        "run_id",
        "status",
        "exit_code",
        "failed_step",
        "failed_steps",
        "duration_ms",
        "state_file",
    ] {
        assert!(keys.iter().any(|one| *one == key), "{keys:?}");
    }
    assert_eq!(ran.summary["failed_step"], Value::Null);
    assert_eq!(state_in(ran.root()), ran.state);
}
