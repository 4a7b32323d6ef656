//! Secrets: they reach the programs, and stand in nothing that a run leaves, says or shows.

use std::path::Path;

use serde_json::json;

use super::runs::{command, ran, run, text_of};
use crate::world::World;

/// A secret without letters that its other forms change.
const PLAIN: &str = "s3cr3tvalue";
/// A secret that looks different in JSON and in addresses.
const ODD: &str = "p\"ss/w+rd =é";

/// Returns every file below a folder with its bytes.
fn files_below(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(files_below(&path));
        } else {
            files.push((path.display().to_string(), std::fs::read(&path).unwrap()));
        }
    }
    files
}

fn contains(bytes: &[u8], part: &str) -> bool {
    bytes
        .windows(part.len())
        .any(|window| window == part.as_bytes())
}

/// Asserts that no file below a folder has one of these texts, and that some have the mask. Returns how many were read.
#[track_caller]
fn assert_masked(folder: &Path, secrets: &[&str]) -> usize {
    let files = files_below(folder);
    for (path, bytes) in &files {
        for secret in secrets {
            let text = String::from_utf8_lossy(bytes);
            assert!(!contains(bytes, secret), "{secret} is in {path}: {text}");
        }
    }
    assert!(files.iter().any(|(_, bytes)| contains(bytes, "***")));
    files.len()
}

/// The forms of the two secrets that would give them away.
const FORMS: [&str; 9] = [
    PLAIN,
    // What base64 makes of it alone, after one byte, and after two.
    "czNjcjN0dmFsdW",
    "MzY3IzdHZhbHVl",
    "zM2NyM3R2YWx1Z",
    ODD,
    "ss/w+rd",
    "p\\\"ss/w+rd",
    "p%22ss%2Fw%2Brd",
    "cCJzcy93K3Jk",
];

#[test]
fn a_secret_is_in_no_form_in_the_files_of_a_run_and_in_no_node() {
    let world = World::new();
    let pipeline = r#"
secrets: [ODD]
strict_flow: false
providers:
  fake: {command: [sh, -c, 'printf "%s\n" "$0"; exit 1', "${PROMPT}"]}
steps:
- name: Prints
  secrets: [TOK]
  command: [sh, -c, 'printf "out %s %s\n" "$TOK" "$ODD"; printf "err %s %s\n" "$TOK" "$ODD" >&2']
- name: Encodes
  command: [sh, -c, 'printf %s "$TOK" | base64; printf "x%s" "$TOK" | base64; printf "xy%s" "$TOK" | base64; printf %s "$ODD" | base64']
- name: Escapes
  command: [cat, escaped]
- name: Splits
  command: [sh, -c, 'printf %.4s "$TOK"; sleep 0.2; printf "%s\n" "$${TOK#????}"']
- name: Undeclared
  command: [printenv, TOK]
- name: Lines
  command: [sh, -c, 'printf "a\n%s\n" "$TOK"']
  output_capture: lines
- name: Json
  command: [sh, -c, 'printf "{\"token\": \"x%s\", \"%s\": [\"%s\"]}" "$TOK" "$TOK" "$TOK"']
  output_capture: json
- name: BadJson
  command: [sh, -c, 'printf "{\"token\": \"%s\"" "$TOK"']
  output_capture: json
- name: Fails
  command: [sh, -c, 'echo "out $TOK"; echo "err $TOK" >&2; exit 1']
- name: Asks
  provider: fake
  input_file: prompt.md
- name: Each
  for_each:
    items_from: steps.Lines.lines
    steps:
    - name: Passes
      command: [printf, "%s", "${item}"]
- name: Waits
  wait_for: {glob: "in/*"}
- name: Skipped
  command: ["true"]
  when: {exists: nothing}
- name: Missing
  command: [cat, "${steps.Skipped.output}", "in/s3cr3t"]
"#;
    world.write(
        "escaped",
        "p%22ss%2Fw%2Brd%20%3D%C3%A9 p\\\"ss/w+rd =\u{e9}\n",
    );
    world.write("prompt.md", &format!("Use {PLAIN} for {ODD}\n"));
    world.write(&format!("in/{PLAIN}"), "");
    let args = ["--debug", "--stream-output"];
    let mut command = command(&world, pipeline, &args);
    command.env("TOK", PLAIN).env("ODD", ODD);
    let ran = ran(&mut command).exits(0);
    assert_eq!(ran.output("Prints"), "out *** ***\n");
    assert_eq!(ran.output("Splits"), "***\n");
    assert_eq!(ran.output("Undeclared"), "***\n");
    assert_eq!(ran.step("Lines")["lines"], json!(["a", "***"]));
    assert_eq!(ran.step("Json")["json"]["token"], "x***");
    assert_eq!(
        ran.step("Fails")["error"]["stdout_tail"],
        json!(["out ***"])
    );
    assert_eq!(
        ran.step("Fails")["error"]["stderr_tail"],
        json!(["err ***"])
    );
    assert_eq!(ran.step("Each")[1]["Passes"]["output"], "***");
    assert_eq!(ran.step("Waits")["files"], json!(["in/***"]));
    assert_eq!(ran.log("Prints.stderr"), b"err *** ***\n");
    assert!(contains(&ran.log("Asks.prompt.txt"), "Use *** for ***"));
    assert!(assert_masked(ran.root(), &FORMS) > 10);
    assert!(assert_masked(&world.root(), &FORMS) > 30);
    for said in [&ran.run.stdout, &ran.run.stderr] {
        for form in FORMS {
            assert!(!said.contains(form), "{form}: {said}");
        }
    }
    assert!(ran.run.stderr.contains("err *** ***"), "{}", ran.run.stderr);
}

#[test]
fn missing_secrets_are_named_together_and_nothing_is_started() {
    let world = World::new();
    let pipeline = r#"
secrets: [A_TOKEN]
steps:
- name: Build
  secrets: [B_TOKEN, EMPTY]
  command: [touch, started]
"#;
    let mut command = command(&world, pipeline, &[]);
    command.env("EMPTY", "");
    let ran = ran(&mut command).exits(2);
    assert_eq!(ran.failure("Build"), (2, "missing_secrets"));
    let missing = &ran.step("Build")["error"]["context"]["missing_secrets"];
    assert_eq!(missing, &json!(["A_TOKEN", "B_TOKEN"]));
    assert!(!world.project().join("started").exists());
}

#[test]
fn an_output_file_is_exact_unless_it_is_to_be_masked() {
    let world = World::new();
    let pipeline =
        "steps:\n- name: A\n  secrets: [TOK]\n  command: [printenv, TOK]\n  output_file: out\n";
    let output = |args: &[&str]| {
        let mut command = command(&world, pipeline, args);
        let ran = ran(command.env("TOK", PLAIN)).exits(0);
        assert_eq!(ran.output("A"), "***\n");
        let warned = ran
            .run
            .stderr
            .contains("output files of `A` may contain secrets");
        (text_of(&world, "out"), warned)
    };
    assert_eq!(output(&[]), (format!("{PLAIN}\n"), true));
    let masked = output(&["--mask-output-files"]);
    assert_eq!(masked, ("***\n".to_owned(), false));
}

#[test]
fn variables_of_a_step_are_literal_and_reach_its_program() {
    let world = World::new();
    let pipeline = r#"
steps:
- name: A
  env: {X: "${run.id}", Y: 1.0, ORCHESTRATE_STEP: mine, HOME: "$HOME"}
  command: [sh, -c, 'printf "%s|" "$X" "$Y" "$HOME" "$ORCHESTRATE_STEP" "$ORCHESTRATE_RUN_ID"; cat; test -d "$ORCHESTRATE_RUN_ROOT" && pwd']
- name: B
  command: [sh, -c, 'printf "%s" "$${X-unset} $OURS"']
"#;
    let mut command = command(&world, pipeline, &[]);
    let ran = ran(command.env("OURS", "inherited")).exits(0);
    let project = world.project().canonicalize().unwrap();
    let expected = format!(
        "${{run.id}}|1.0|$HOME|A|{}|{}\n",
        ran.id(),
        project.display()
    );
    assert_eq!(ran.output("A"), expected);
    assert_eq!(ran.output("B"), "unset inherited");
    // What is not declared is not masked.
    let shown = run(
        &world,
        "steps:\n- name: A\n  command: [printenv, HOME]\n",
        &[],
    );
    assert_eq!(shown.output("A"), format!("{}\n", world.dir().display()));
}

#[test]
fn a_short_secret_is_not_masked_and_the_run_says_so() {
    let world = World::new();
    let pipeline = "steps:\n- name: A\n  secrets: [PIN]\n  command: [printenv, PIN]\n";
    let mut command = command(&world, pipeline, &[]);
    let ran = ran(command.env("PIN", "123")).exits(0);
    assert_eq!(ran.output("A"), "123\n");
    assert!(ran.run.stderr.contains("warning: "), "{}", ran.run.stderr);
    assert!(ran.run.stderr.contains("PIN"), "{}", ran.run.stderr);
}

#[test]
fn a_secret_in_context_or_workflow_is_masked_where_it_is_shown() {
    let world = World::new();
    let pipeline = format!(
        "context: {{a: x{PLAIN}}}\nsteps:\n- name: A\n  secrets: [TOK]\n  command: [printf, \"%s\", \"${{context.a}} ${{context.b}}\"]\n"
    );
    let option = format!("b={PLAIN}");
    let mut command = command(&world, &pipeline, &["--context", &option]);
    let ran = ran(command.env("TOK", PLAIN)).exits(0);
    assert_eq!(ran.output("A"), "x*** ***");
    assert_eq!(ran.state["context"], json!({"a": "x***", "b": "***"}));
    assert_masked(ran.root(), &FORMS);
    assert!(ran.run.stderr.contains("warning: "), "{}", ran.run.stderr);
}

#[test]
fn a_secret_of_several_lines_is_masked_before_the_lines_are_cut() {
    let world = World::new();
    let pipeline = r#"
secrets: [KEY]
steps:
- name: Lines
  command: [sh, -c, 'echo before; echo "$KEY"; echo after']
  output_capture: lines
- name: Json
  command: [sh, -c, 'printf "[\"%s\"]" "-----BEGIN\\nc2VjcmV0\\n-----END"']
  output_capture: json
"#;
    let mut command = command(&world, pipeline, &[]);
    command.env("KEY", "-----BEGIN\nc2VjcmV0\n-----END");
    let ran = ran(&mut command).exits(0);
    assert_eq!(
        ran.step("Lines")["lines"],
        json!(["before", "***", "after"])
    );
    assert_eq!(ran.step("Json")["json"], json!(["***"]));
    assert_eq!(ran.log("Lines.stdout"), b"before\n***\nafter\n");
}

#[test]
fn a_secret_that_is_filled_in_is_not_in_the_error_of_a_step_that_cannot_be_done() {
    let world = World::new();
    let pipeline = r#"
secrets: [TOK]
strict_flow: false
steps:
- {name: Undefined, command: [x, "${context.t}", "${steps.Later.output}"]}
- {name: Path, command: ['true'], output_file: "${context.up}"}
- {name: When, command: ['true'], when: {exists: "${context.up}"}}
- {name: Flow, workflow: {name: "./${context.t}.yaml", task: "${context.t}"}}
- {name: Later, command: ['true']}
"#;
    let (context, up) = (format!("t={PLAIN}"), format!("up=../{PLAIN}"));
    let args = [
        "--context",
        &context,
        "--context",
        &up,
        "--log-level",
        "debug",
    ];
    let mut command = command(&world, pipeline, &args);
    let ran = ran(command.env("TOK", PLAIN)).exits(0);
    for step in ["Undefined", "Path", "When", "Flow"] {
        assert_eq!(ran.step(step)["exit_code"], 2, "{step}");
    }
    assert!(assert_masked(ran.root(), &[PLAIN]) > 3);
    assert!(ran.run.stderr.contains("***"), "{}", ran.run.stderr);
    for said in [&ran.run.stdout, &ran.run.stderr] {
        assert!(!said.contains(PLAIN), "{said}");
    }
}
