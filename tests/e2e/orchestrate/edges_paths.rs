//! Paths: nothing of a pipeline leads out of the workspace, whatever stands in variables and links.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use serde_json::json;

use super::runs::{ran, run, text_of};
use crate::world::{Run, World, binary};

/// Returns a world with a folder beside the workspace that nothing may be written to.
fn with_outside() -> (World, std::path::PathBuf) {
    let world = World::new();
    let outside = world.dir().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("secret.md"), "secret").unwrap();
    (world, outside)
}

#[test]
fn a_path_that_a_variable_leads_out_starts_nothing() {
    let (world, outside) = with_outside();
    for out in [
        "../outside/x",
        outside.to_str().unwrap(),
        "a/../../outside/x",
        "",
    ] {
        for field in [
            "command: [touch, started]\n  output_file: ${context.out}",
            "provider: p\n  input_file: ${context.out}",
            "command: [touch, started]\n  depends_on: {required: ['${context.out}']}",
            "command: [touch, started]\n  depends_on: {optional: ['${context.out}']}",
            "wait_for: {glob: '${context.out}', timeout_sec: 60}",
        ] {
            let pipeline = format!(
                "providers: {{p: {{command: [touch, started]}}}}\nsteps:\n- name: A\n  {field}\n"
            );
            let ran = run(&world, &pipeline, &["--context", &format!("out={out}")]).exits(2);
            assert_eq!(ran.failure("A"), (2, "path_violation"), "{out}: {field}");
        }
    }
    assert!(!world.project().join("started").exists());
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
}

#[test]
fn a_folder_that_a_step_replaces_by_a_link_gets_nothing() {
    let (world, outside) = with_outside();
    let pipeline = r#"
steps:
- name: Before
  command: [echo, before]
  output_file: out/x
- name: Swap
  command: [sh, -c, 'mv out old && ln -s ../outside out']
- name: After
  command: [touch, started]
  output_file: out/x
"#;
    let ran = run(&world, pipeline, &[]).exits(2);
    assert_eq!(ran.failure("After"), (2, "path_violation"));
    assert!(!world.project().join("started").exists());
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
    assert_eq!(text_of(&world, "old/x"), "before\n");
}

#[test]
fn links_within_the_workspace_are_followed_and_others_are_not() {
    let (world, _) = with_outside();
    world.write("real/prompt.md", "inside");
    symlink("real", world.project().join("in")).unwrap();
    symlink("../outside", world.project().join("out")).unwrap();
    symlink(
        "../../outside/secret.md",
        world.project().join("real/out.md"),
    )
    .unwrap();
    let pipeline = r#"
strict_flow: false
providers: {say: {command: [printf, "%s", "${PROMPT}"]}}
steps:
- {name: In, provider: say, input_file: in/prompt.md, output_file: in/answer}
- {name: Out, provider: say, input_file: out/secret.md}
- {name: OutFile, provider: say, input_file: real/out.md}
- {name: Dropped, wait_for: {glob: "real/*.md", timeout_sec: 1}}
- {name: None, wait_for: {glob: "out/*", timeout_sec: 0.1}}
- {name: Depends, command: ["true"], depends_on: {required: ["out/*.md"]}}
"#;
    let ran = run(&world, pipeline, &[]).exits(0);
    assert_eq!(ran.output("In"), "inside");
    assert_eq!(text_of(&world, "real/answer"), "inside");
    assert_eq!(ran.failure("Out"), (2, "path_violation"));
    assert_eq!(ran.failure("OutFile"), (2, "path_violation"));
    assert_eq!(ran.step("Dropped")["files"], json!(["real/prompt.md"]));
    assert_eq!(ran.failure("None").0, 124);
    assert_eq!(ran.failure("Depends"), (2, "failed_deps"));
}

#[test]
fn nothing_is_written_where_the_records_of_runs_and_the_store_are() {
    let world = World::new();
    for place in [
        ".orchestrate/runs/x",
        ".orchestrate/runs/${run.id}/state.json",
        "link/x",
    ] {
        fs::create_dir_all(world.root()).unwrap();
        let _ = symlink(".orchestrate/runs", world.project().join("link"));
        let pipeline =
            format!("steps:\n- name: A\n  command: [touch, started]\n  output_file: {place}\n");
        let ran = run(&world, &pipeline, &[]).exits(2);
        assert_eq!(ran.failure("A"), (2, "path_violation"), "{place}");
    }
    let pipeline = "steps:\n- name: A\n  command: [touch, started]\n  output_file: root/x\n";
    let mut command = super::runs::command(&world, pipeline, &[]);
    command.env("UWF_STORAGE_ROOT", world.project().join("root"));
    let ran = ran(&mut command).exits(2);
    assert_eq!(ran.failure("A"), (2, "path_violation"));
    assert!(!world.project().join("started").exists());
}

#[test]
fn a_wait_sees_variables_and_counts_only_finished_files() {
    let world = World::new();
    for name in ["in/a.task", "in/b.task.tmp", "in/c.tmp", "in/.d.task"] {
        world.write(name, "");
    }
    fs::create_dir(world.project().join("in/folder.task")).unwrap();
    let pipeline = r#"
context: {dir: in}
steps:
- name: All
  wait_for: {glob: "${context.dir}/*", timeout_sec: 1}
- name: Drafts
  wait_for: {glob: "in/*.tmp", timeout_sec: 1}
- name: Each
  for_each:
    items: [a, c]
    as: name
    steps:
    - name: One
      wait_for: {glob: "in/${name}.t*", timeout_sec: 0.1}
"#;
    let ran = run(&world, pipeline, &["--on-error", "continue"]).exits(0);
    assert_eq!(ran.step("All")["files"], json!(["in/a.task"]));
    assert_eq!(
        ran.step("Drafts")["files"],
        json!(["in/b.task.tmp", "in/c.tmp"])
    );
    let each = ran.step("Each");
    assert_eq!(each[0]["One"]["files"], json!(["in/a.task"]));
    assert_eq!(each[1]["One"]["timed_out"], true);
}

/// Returns what a command does that obeys permissions, although tests may run as a user that need not.
fn as_a_usual_user(world: &World, pipeline: &str) -> Run {
    world.write("flow.yaml", pipeline);
    let words = ["orchestrate", "run", "flow.yaml", "--json"];
    let mut command = match rustix::process::geteuid().is_root() {
        false => world.command(&words),
        true => {
            let mut command = world.command_of("setpriv");
            let no_override = "-dac_override,-dac_read_search";
            command.args(["--bounding-set", no_override, "--inh-caps", no_override]);
            command.arg(binary()).args(words);
            command
        }
    };
    command.output().unwrap().into()
}

#[test]
fn files_and_folders_without_permission_are_errors_of_the_step_or_of_the_run() {
    let world = World::new();
    let lock = |name: &str, mode: u32| {
        let path = world.project().join(name);
        fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    };
    world.write("prompt.md", "x");
    fs::create_dir(world.project().join("locked")).unwrap();
    lock("prompt.md", 0o000);
    lock("locked", 0o500);
    let kind = |run: &Run| {
        let file = run.json()["state_file"].as_str().unwrap().to_owned();
        let state = fs::read_to_string(file).unwrap();
        let state: serde_json::Value = serde_json::from_str(&state).unwrap();
        state["error"]["type"].as_str().unwrap().to_owned()
    };
    let provider = "providers: {p: {command: [touch, started]}}\n";
    let reads = format!("{provider}steps:\n- {{name: A, provider: p, input_file: prompt.md}}\n");
    let run = as_a_usual_user(&world, &reads).exits(2);
    assert_eq!(kind(&run), "input_file_error");
    let writes = "steps:\n- {name: A, command: [touch, started], output_file: locked/out}\n";
    let run = as_a_usual_user(&world, writes).exits(2);
    assert_eq!(kind(&run), "path_error");
    fs::rename(
        world.project().join(".orchestrate"),
        world.dir().join("moved"),
    )
    .unwrap();
    fs::create_dir(world.project().join(".orchestrate")).unwrap();
    lock(".orchestrate", 0o500);
    let plain = "steps:\n- {name: A, command: [touch, started]}\n";
    as_a_usual_user(&world, plain).exits(1).says(".orchestrate");
    lock(".orchestrate", 0o700);
    assert!(!world.project().join("started").exists());
}

#[test]
fn a_run_whose_folder_cannot_be_made_does_no_step() {
    let world = World::new();
    world.write(".orchestrate", "a file");
    world.write(
        "flow.yaml",
        "steps:\n- {name: A, command: [touch, started]}\n",
    );
    let run = world.uwf(&["orchestrate", "run", "flow.yaml"]).exits(1);
    assert!(run.stderr.contains(".orchestrate"), "{}", run.stderr);
    assert!(!world.project().join("started").exists());
    assert_eq!(world.uwf(&["thread", "list"]).json(), json!([]));
}

#[test]
fn a_workspace_may_have_any_name_and_depth() {
    let world = World::new();
    let names = ["with blank", "ünï ©", "-dash", "a'b\"c", "$HOME"].map(str::to_owned);
    let long = std::iter::repeat_n("d".repeat(200), 14);
    let mut deep = world.project();
    for name in names.into_iter().chain(long) {
        deep.push(name);
        fs::create_dir(&deep).unwrap();
    }
    assert!(deep.as_os_str().len() > 2800);
    let pipeline = "steps:\n- {name: A, command: [sh, -c, 'pwd; echo x > made'], output_file: out/a}\n- {name: B, wait_for: {glob: 'ma?e', timeout_sec: 1}}\n- {name: C, command: [cat, out/a]}\n";
    let ran = run(&world, pipeline, &["--workspace", deep.to_str().unwrap()]).exits(0);
    let deep = deep.canonicalize().unwrap();
    assert_eq!(ran.output("C"), format!("{}\n", deep.display()));
    assert!(ran.root().starts_with(&deep));
    world
        .uwf(&["orchestrate", "run", "flow.yaml", "--workspace", "nowhere"])
        .exits(2)
        .says("nowhere");
}

#[test]
fn an_output_file_that_a_failed_step_lost_is_named_in_its_error() {
    let world = World::new();
    let away = "steps:\n- {name: A, command: [sh, -c, 'echo x; mv out ../gone; exit 3'], output_file: out/a}\n";
    let ran = run(&world, away, &[]).exits(3);
    assert_eq!(ran.failure("A"), (3, "command_failed"));
    let lost = ran.step("A")["error"]["context"]["output_file"].as_str();
    assert!(lost.unwrap().contains("out/a"), "{}", ran.step("A"));
    assert!(!world.project().join("out").exists());
}
