//! What is said of a run that does not go on: why, and the command that helps.

use serde_json::{Value, json};

use crate::world::{Run, World};

pub(super) fn orchestrate(world: &World, args: &[&str]) -> Run {
    world.uwf(&[&["orchestrate"], args].concat())
}

pub(super) fn flow(text: &str) -> World {
    let world = World::new();
    world.write("flow.yaml", text);
    world
}

/// Returns the commands within a text, as words of the line of a shell.
pub(super) fn commands(text: &str) -> Vec<String> {
    let quoted = text.split('`').skip(1).step_by(2);
    let commands = quoted.filter(|text| text.starts_with("uwf "));
    commands.map(str::to_owned).collect()
}

pub(super) const FAILS: &str = "
steps:
- name: A step
  command: [sh, -c, 'echo what it lacks >&2; exit 4']
";

#[test]
fn a_failed_run_says_which_step_failed_why_and_what_to_type() {
    let world = flow(FAILS);
    let said = orchestrate(&world, &["run", "flow.yaml", "--run-id", "r", "--quiet"])
        .exits(4)
        .stderr;
    let expected = [
        "step `A step` failed: the program ended with exit code 4\n",
        "cause: stderr: what it lacks\n",
        "hint: `uwf orchestrate logs r 'A step'` shows what it printed; `uwf orchestrate resume r` does the step again\n",
    ];
    for text in expected {
        assert!(said.contains(text), "{text}: {said}");
    }
    let said = orchestrate(&world, &["resume", "r", "--json"]).exits(4);
    assert_eq!(said.json()["next"], json!("uwf orchestrate resume r"));
    let mut args = vec!["--format", "json", "orchestrate", "resume", "r"];
    args.push("--quiet");
    let record: Value = serde_json::from_str(world.uwf(&args).exits(4).stderr.trim()).unwrap();
    assert_eq!(record["exitCode"], json!(4));
    assert_eq!(record["causes"], json!(["stderr: what it lacks"]));
    let logs = world.uwf(&["orchestrate", "logs", "r", "A step"]).exits(0);
    assert!(logs.stdout.ends_with("what it lacks\n"), "{}", logs.stdout);
}

#[test]
fn the_failure_of_an_archive_is_said_at_every_level() {
    let world = flow("steps: [{name: A, command: [touch, file]}]");
    let args = ["run", "flow.yaml", "--archive-processed", "file/x.zip"];
    let said = orchestrate(&world, &[&args[..], &["--log-level", "error"]].concat()).exits(1);
    said.says("step `_archive` failed: the archive `")
        .says("file/x.zip");
}

#[test]
fn what_helps_keeps_the_options_that_find_the_run() {
    let world = flow(FAILS);
    let elsewhere = world.dir().join("elsewhere");
    std::fs::create_dir_all(&elsewhere).unwrap();
    let said = |args: &[&str]| {
        let args = [&["orchestrate"], args].concat();
        let mut command = world.command(&args);
        Run::from(command.current_dir(&elsewhere).output().unwrap()).exits(4)
    };
    let project = world.project().display().to_string();
    let flow = format!("{project}/flow.yaml");
    let run = said(&["run", &flow, "--workspace", &project, "--run-id", "r"]);
    let resume = format!("uwf orchestrate resume r --workspace {project}");
    let logs = format!("uwf orchestrate logs r 'A step' --workspace {project}");
    assert_eq!(commands(&run.stderr), [logs, resume.clone()]);
    let run = said(&["resume", "r", "--workspace", &project]);
    assert_eq!(commands(&run.stderr)[1], resume);
    let run = said(&["run", &flow, "--state-dir", "runs dir", "--run-id", "s"]);
    let resume = "uwf orchestrate resume s --state-dir 'runs dir'";
    assert_eq!(commands(&run.stderr)[1], resume);
    // A run that was found by its thread is elsewhere.
    let thread = run_thread(&world, &project, "r");
    let run = said(&["resume", &thread]);
    assert_eq!(
        commands(&run.stderr)[1],
        format!("uwf orchestrate resume {thread}")
    );
}

fn run_thread(world: &World, workspace: &str, run: &str) -> String {
    let args = ["orchestrate", "status", run, "--json", "--workspace"];
    let status = world.uwf(&[&args[..], &[workspace]].concat()).exits(0);
    status.json()["thread"].as_str().unwrap().to_owned()
}

/// Runs a pipeline as the run `r`, and returns what it says.
pub(super) fn failing(world: &World, code: i32, args: &[&str]) -> Run {
    let args = [&["run", "flow.yaml", "--run-id", "r", "--quiet"], args].concat();
    orchestrate(world, &args).exits(code)
}

#[test]
fn a_failure_names_the_program_and_the_pattern() {
    let world = World::new();
    world.write("plain", "");
    for (step, code, message) in [
        (
            "command: [no-such-program]",
            127,
            "there is no program `no-such-program` on PATH",
        ),
        ("command: [./gone]", 127, "there is no program `./gone`\n"),
        (
            "command: [./plain]",
            126,
            "the file `./plain` cannot be executed",
        ),
        (
            "wait_for: {glob: 'in/*.task', timeout_sec: 0.1, poll_ms: 10, min_count: 2}",
            124,
            "0 files match `in/*.task` after 1",
        ),
    ] {
        world.write("flow.yaml", &format!("steps: [{{name: A, {step}}}]"));
        let said = orchestrate(&world, &["run", "flow.yaml", "--quiet"]).exits(code);
        let said = said.says("step `A` failed: ").says(message);
        assert!(!said.stderr.contains("orchestrate logs"), "{}", said.stderr);
    }
}

#[test]
fn a_secret_in_the_name_of_a_program_is_masked() {
    let world = flow("secrets: [TOKEN]\nsteps: [{name: A, command: [./s3cr3t-value]}]");
    let mut command = world.command(&["orchestrate", "run", "flow.yaml"]);
    let ran = Run::from(command.env("TOKEN", "s3cr3t-value").output().unwrap()).exits(127);
    let said = ran.says("there is no program `./***`");
    assert!(!said.stderr.contains("s3cr3t"), "{}", said.stderr);
}

#[test]
fn a_run_is_named_by_its_whole_id_before_the_beginning_of_another() {
    let world = flow("steps: [{name: A, command: ['false']}]");
    let run = |id: &str| orchestrate(&world, &["run", "flow.yaml", "--run-id", id]).exits(1);
    for id in ["job-12", "job-13"] {
        run(id);
    }
    for command in ["resume", "status", "report", "logs"] {
        let said = orchestrate(&world, &[command, ""]).exits(2);
        said.says("no run is named").says("uwf orchestrate list");
    }
    let several = orchestrate(&world, &["resume", "job-1"]).exits(2);
    for text in ["cause: `job-12`", "cause: `job-13`", "type more"] {
        assert!(several.stderr.contains(text), "{}", several.stderr);
    }
    // A process that was killed while it made the run leaves a folder without a record of the thread.
    std::fs::remove_dir_all(world.project().join(".orchestrate/runs/job-13")).unwrap();
    std::fs::create_dir(world.project().join(".orchestrate/runs/job-1")).unwrap();
    for command in ["resume", "status", "report", "logs"] {
        let said = orchestrate(&world, &[command, "job-1"]).exits(2);
        said.says("has no record `thread`")
            .says("nothing was run in it");
    }
    assert_eq!(commands(&several.stderr), Vec::<String>::new());
    run("job-1");
    let status = orchestrate(&world, &["status", "job-1", "--json"]).exits(0);
    assert_eq!(status.json()["run_id"], json!("job-1"));
}

#[test]
fn a_workspace_that_is_not_there_is_refused_by_every_command() {
    let world = flow(FAILS);
    for args in [
        &["list"][..],
        &["status"],
        &["status", "r"],
        &["report"],
        &["logs", "r"],
        &["resume", "r"],
        &["run", "flow.yaml"],
        &["run-step", "A step", "--workflow", "flow.yaml"],
        &["watch", "flow.yaml"],
        &["clean", "--older-than", "1d"],
        &["task", "list"],
    ] {
        let said = orchestrate(&world, &[args, &["--workspace", "nosuch"]].concat());
        said.exits(2).says("cannot use the workspace `");
    }
    let said = orchestrate(&world, &["list", "--workspace", "flow.yaml"]).exits(2);
    said.says("it is no folder");
}

const ROLES: &str = "
name: roles
roles:
  writer: { goal: g, frontmatter: { type: object } }
graph:
  $START: { _: { role: writer, prompt: Go. } }
  writer: { _: { role: $END, prompt: '' } }
";

#[test]
fn a_file_of_the_other_language_names_the_command_for_it() {
    let world = flow(FAILS);
    world.write("roles.yaml", ROLES);
    for args in [
        &["run", "roles.yaml"][..],
        &["validate", "roles.yaml"],
        &["graph", "roles.yaml"],
        &["run-step", "A", "--workflow", "roles.yaml"],
    ] {
        let said = orchestrate(&world, args).exits(2);
        let said = said.says("the file is a workflow of roles, and not a pipeline");
        let expected = [
            "uwf run ./roles.yaml -p \"…\"",
            "uwf workflow validate ./roles.yaml",
        ];
        assert_eq!(commands(&said.stderr), expected, "{args:?}");
    }
    world
        .uwf(&["workflow", "validate", "./roles.yaml"])
        .exits(0);
    for args in [
        &["run", "./flow.yaml", "-p", "x"][..],
        &["thread", "start", "./flow.yaml", "-p", "x"],
        &["workflow", "add", "flow.yaml"],
        &["workflow", "validate", "./flow.yaml"],
        &["workflow", "graph", "./flow.yaml"],
    ] {
        let said = world.uwf(args).exits(1);
        let said = said.says("flow.yaml` is a pipeline, and not a workflow of roles");
        let found = commands(&said.stderr);
        assert_eq!(found.len(), 2, "{args:?}: {found:?}");
        assert!(found[0].starts_with("uwf orchestrate run "), "{found:?}");
    }
    let invalid = world.uwf(&["workflow", "validate", "flow.yaml"]).exits(1);
    assert_eq!(invalid.json()["valid"], json!(false));
    orchestrate(&world, &["validate", "flow.yaml"]).exits(0);
}

#[test]
fn the_help_of_watch_has_no_option_that_watch_refuses() {
    let world = flow(FAILS);
    let help = orchestrate(&world, &["watch", "--help"]).exits(0).stdout;
    assert!(help.contains("--restart"), "{help}");
    for option in ["--run-id", "--dry-run"] {
        assert!(!help.contains(option), "{help}");
        let args = ["watch", "flow.yaml", option, "x"];
        let args = &args[..if option == "--run-id" { 4 } else { 3 }];
        orchestrate(&world, args).exits(2).says("leave it out");
    }
}

const LOOP: &str = "
steps:
- name: List
  command: [echo, list]
- name: Each
  for_each:
    items: [a, b]
    steps:
    - name: Inner
      command: [test, -e, '${item}']
    - name: Show
      command: [echo, '${steps.List.output}']
";

#[test]
fn a_step_that_cannot_be_run_alone_says_how_it_can() {
    let world = flow(LOOP);
    let step = |args: &[&str]| {
        let args = [&["run-step", "--workflow", "flow.yaml"], args].concat();
        orchestrate(&world, &args).exits(2)
    };
    step(&["Inner"]).says("did you mean `Each.Inner`?");
    step(&["Each.Iner"]).says("did you mean `Each.Inner`?");
    step(&["Each.Inner"]).says("add `--item JSON`");
}

#[test]
fn a_step_alone_that_needs_results_names_the_option_that_gives_them() {
    let world = flow(
        "steps:\n- name: A\n  command: [echo, a]\n- name: B\n  command: [echo, '${steps.A.output}']\n",
    );
    let args = ["run-step", "B", "--workflow", "flow.yaml"];
    orchestrate(&world, &args)
        .exits(2)
        .says("hint: `--from-run RUN` lets the step see the results of a run");
    orchestrate(&world, &["run", "flow.yaml", "--run-id", "r"]).exits(0);
    orchestrate(&world, &[&args[..], &["--from-run", "r"]].concat()).exits(0);
    let world = flow(
        "steps:\n- name: A\n  command: [echo, a]\n  output_capture: lines\n- name: L\n  for_each:\n    items_from: steps.A.lines\n    steps: [{name: B, command: ['true']}]\n",
    );
    orchestrate(&world, &["run-step", "L", "--workflow", "flow.yaml"])
        .exits(2)
        .says("hint: `--from-run RUN` lets the step see the results of a run");
    let world = flow(
        "steps:\n- name: L\n  for_each:\n    items: [1]\n    steps:\n    - {name: A, command: [echo, a], output_capture: lines}\n    - {name: I, for_each: {items_from: steps.A.lines, steps: [{name: B, command: ['true']}]}}\n",
    );
    let args = ["run-step", "L.I", "--workflow", "flow.yaml", "--item", "1"];
    orchestrate(&world, &args)
        .exits(2)
        .says("but none of those within its loops; `uwf orchestrate run-step L --workflow FILE`");
    let args = ["run-step", "L", "--workflow", "flow.yaml"];
    orchestrate(&world, &args).exits(0);
}

#[test]
fn a_parameter_that_the_command_line_does_not_mention_is_told_to_those_who_look() {
    let world = flow(
        "providers: {p: {command: [echo, '${used}'], defaults: {used: u}}}\nsteps: [{name: A, provider: p, provider_params: {used: x, extra: y}}]\n",
    );
    let says = "A: the command line of provider:p does not mention the parameter `extra`";
    let args = [
        "run",
        "flow.yaml",
        "--run-id",
        "loud",
        "--log-level",
        "debug",
    ];
    orchestrate(&world, &args).exits(0).says(says);
    let quiet = orchestrate(&world, &["run", "flow.yaml", "--run-id", "r"]).exits(0);
    assert!(!quiet.stderr.contains("extra"), "{}", quiet.stderr);
    let log = world
        .project()
        .join(".orchestrate/runs/r/logs/orchestrator.log");
    let log = std::fs::read_to_string(log).unwrap();
    assert!(log.contains(&format!("debug {says}")), "{log}");
}

#[test]
fn a_run_that_a_limit_of_cycles_stopped_goes_on_when_the_limit_is_raised() {
    for (guard, limit) in [("max_visits", 2), ("max_transitions", 1)] {
        let text = |limit: u32| {
            let (whole, step) = match guard {
                "max_visits" => (String::new(), format!("\n  max_visits: {limit}")),
                _ => (format!("max_transitions: {limit}\n"), String::new()),
            };
            format!(
                "{whole}steps:\n- name: A\n  command: ['true']{step}\n- name: B\n  command: [sh, -c, 'echo x >> log; test $(wc -l < log) -ge 3']\n  on: {{failure: {{goto: A}}}}\n"
            )
        };
        let world = flow(&text(limit));
        let run = orchestrate(&world, &["run", "flow.yaml", "--run-id", "r", "--json"]).exits(3);
        let next = "uwf orchestrate resume r --accept-changed-workflow";
        assert_eq!(run.json()["next"], next);
        run.says(&format!(
            "raise `{guard}` in the workflow file, then `{next}` goes on"
        ));
        world.write("flow.yaml", &text(9));
        orchestrate(&world, &["resume", "r", "--accept-changed-workflow"]).exits(0);
        let log = std::fs::read_to_string(world.project().join("log")).unwrap();
        assert_eq!(log.lines().count(), 3, "{guard}");
    }
}

#[test]
fn a_report_tells_failures_that_were_mended_from_those_that_stand() {
    let world = flow(LOOP);
    world.write("a", "");
    failing(&world, 1, &[]);
    let report = || orchestrate(&world, &["report", "r"]).exits(0).stdout;
    let before = report();
    assert!(before.contains("failed steps: Each[1].Inner"), "{before}");
    assert!(
        before.contains("### Each[1].Inner (exit code 1)\n"),
        "{before}"
    );
    world.write("b", "");
    orchestrate(&world, &["resume", "r"]).exits(0);
    let after = report();
    assert!(!after.contains("failed steps:"), "{after}");
    let heading = "### Each[1].Inner (exit code 1; completed in visit 2)\n";
    assert!(after.contains(heading), "{after}");
}
