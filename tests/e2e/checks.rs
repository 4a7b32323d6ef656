//! The checks of a role: commands that run after an answer and before it counts. What fails goes back to the agent.

use std::fs;

use serde_json::{Value, json};

use crate::processes::is_running;
use crate::world::{Run, World};

/// A role with checks. `CHECKS` and `FAILED` are replaced.
const CHECKED: &str = r#"
name: checked
roles:
  writer:
    goal: You write.
    checks: CHECKS
    frontmatter: { type: object, properties: { note: { type: string } }, required: [note] }
  fixer:
    goal: You fix.
    frontmatter: { type: object, properties: { note: { type: string } }, required: [note] }
graph:
  $START: { _: { role: writer, prompt: "Write." } }
  writer: { _: { role: fixer, prompt: "It is good: {{note}}" }FAILED }
  fixer: { _: { role: $END, prompt: "{{note}}" } }
"#;
/// The edge of a role whose checks failed.
pub(crate) const EDGE: &str = r#", checks-failed: { role: fixer, prompt: "{{#failed}}{{name}}: {{problem}}, {{output}}{{/failed}} of {{answer.note}}" }"#;
/// An agent with sessions. It keeps what it is asked, and does at each call what the file `do-<call>` says.
const AGENT: &str = r"n=$(ls asked-* 2>/dev/null | wc -l); cat > asked-$n; echo 'session: s1' >&2
[ -e do-$n ] && . ./do-$n
printf -- '---\nnote: n%s\n---\n' $n";

/// Returns the workflow with these checks and these further edges.
pub(crate) fn checked(checks: &str, edges: &str) -> String {
    CHECKED.replace("CHECKS", checks).replace("FAILED", edges)
}

/// A world with a role that has these checks, and an agent with sessions.
pub(crate) fn world(checks: &str, edges: &str) -> (World, String) {
    let world = World::new();
    world.put(&checked(checks, edges));
    let agent = world.script("agent.sh", AGENT);
    let agent = agent.to_str().unwrap();
    let session = [
        "--session-regex",
        "session: (\\S+)",
        "--resume-args",
        "again",
    ];
    world.agent("uwf-command", &[&session[..], &["--", agent]].concat());
    let thread = world.start("checked");
    (world, thread)
}

pub(crate) fn asked(world: &World) -> Vec<String> {
    let read = |at: usize| fs::read_to_string(world.project().join(format!("asked-{at}"))).ok();
    (0..).map_while(read).collect()
}

/// Returns the data of the newest step.
pub(crate) fn output(world: &World, thread: &str) -> Value {
    let steps = world.uwf(&["thread", "steps", thread]).exits(0).json();
    steps["steps"].as_array().unwrap().last().unwrap()["output"].clone()
}

/// Returns the failed attempt that a call reports.
fn failed(run: &Run) -> Value {
    let failed = run.json();
    assert_eq!(failed["class"], json!("checks-failed"), "{failed}");
    assert_eq!(failed["phase"], json!("checks"), "{failed}");
    failed
}

#[test]
fn checks_that_pass_are_part_of_the_step_and_shown_everywhere() {
    let checks =
        r#"["true", { name: greets, command: [sh, -c, "echo hello; echo you >&2"], timeout: 1m }]"#;
    let (world, thread) = world(checks, "");
    let done = world.step(&thread).exits(0).json();
    let told = done["checks"].clone();
    assert_eq!(told[0]["name"], json!("true"));
    assert_eq!(told[1]["name"], json!("greets"));
    assert_eq!(told[1]["exitCode"], json!(0));
    assert_eq!(told[1]["output"], json!("hello\nyou\n"));
    assert_eq!(told[1].get("problem"), None);
    assert_eq!(told[1]["command"][0], json!("sh"));
    assert!(
        asked(&world)[0].contains("## Checks"),
        "{:?}",
        asked(&world)
    );
    let steps = world.uwf(&["thread", "steps", &thread]).exits(0).json();
    assert_eq!(steps["steps"][1]["checks"], told);
    let step = done["step"].as_str().unwrap();
    let read = world.uwf(&["step", "read", "--format", "json", step]);
    assert_eq!(read.exits(0).json()["checks"], told);
    let says = |args: &[&str], text: &str| {
        let shown = world.uwf(args).exits(0).stdout;
        assert!(shown.contains(text), "{args:?}: {shown}");
    };
    says(&["step", "read", step], "**Checks:** 2 checks passed");
    says(&["step", "read", step], "## Check `greets` passed");
    says(&["thread", "read", &thread], "**Checks:** 2 checks passed");
    says(
        &["thread", "steps", "--format", "text", &thread],
        "2 checks passed",
    );
    says(
        &["thread", "tail", "--format", "text", &thread],
        ", 2 checks passed: step ",
    );
    says(&["thread", "read", "--html", &thread], "2 checks passed");
    let dry = world.start("checked");
    says(
        &["thread", "step", "--dry-run", "--format", "text", &dry],
        "- greets: `sh -c",
    );
}

#[test]
fn what_fails_goes_back_to_the_agent_in_its_session() {
    let checks = r#"{ run: ["test -e fixed", "true"], attempts: 2 }"#;
    let (world, thread) = world(checks, "");
    world.write("do-1", "echo here");
    world.write("do-2", "touch fixed");
    let done = world.step(&thread).exits(0).json();
    assert_eq!(done["checks"][0]["exitCode"], json!(0));
    let asked = asked(&world);
    assert_eq!(asked.len(), 3, "{asked:?}");
    for message in &asked[1..] {
        assert!(
            message.contains("Your work did not pass the checks."),
            "{message}"
        );
        assert!(
            message.contains("The check `test -e fixed` failed: exit code 1."),
            "{message}"
        );
        assert!(message.contains("## Deliverable"), "{message}");
        assert!(!message.contains("`true`"), "{message}");
    }
    let shown = world.uwf(&["thread", "read", &thread]).exits(0).stdout;
    assert!(shown.contains("n2"), "the last answer counts: {shown}");
}

#[test]
fn without_an_edge_the_attempt_fails_and_the_next_one_is_told_why() {
    let checks = r#"{ run: [{ name: says, command: [sh, -c, "echo too bad; test -e fixed"] }], attempts: 1 }"#;
    let (world, thread) = world(checks, "");
    let run = world
        .step(&thread)
        .exits(3)
        .says("check `says` failed: exit code 1, after 1 correction")
        .says("`checks-failed`");
    assert_eq!(failed(&run)["exitCode"], json!(1), "{}", run.stdout);
    let raw = failed(&run)["raw"].as_str().unwrap().to_owned();
    let kept = world.uwf(&["cas", "cat", &raw]).exits(0).stdout;
    assert!(
        kept.contains("note: n1") && kept.contains("too bad"),
        "{kept}"
    );
    assert_eq!(asked(&world).len(), 2);
    world.write("do-2", "touch fixed");
    world.step(&thread).exits(0);
    let asked = asked(&world);
    assert!(asked[2].contains("too bad"), "{}", asked[2]);
}

#[test]
fn an_edge_for_failed_checks_leads_on_and_its_template_says_what_failed() {
    let checks = r#"{ run: [[sh, -c, "echo no; exit 7"], "true"], attempts: 0 }"#;
    let (world, thread) = world(checks, EDGE);
    let done = world.step(&thread).exits(0).json();
    let data = output(&world, &thread);
    assert_eq!(data["$status"], json!("checks-failed"), "{data}");
    assert_eq!(data["answer"]["note"], json!("n0"));
    assert_eq!(data["failed"].as_array().unwrap().len(), 1);
    assert_eq!(done["checks"].as_array().unwrap().len(), 2);
    assert_eq!(asked(&world).len(), 1, "no correction was allowed");
    world.step(&thread).exits(0);
    let prompt = &asked(&world)[1];
    let told = "sh -c 'echo no; exit 7': exit code 7, no\n of n0";
    assert!(prompt.contains(told), "{prompt}");
    assert_eq!(world.show(&thread)["status"], json!("completed"));
    let shown = world.uwf(&["thread", "read", &thread]).exits(0).stdout;
    assert!(
        shown.contains("**Checks:** check `sh -c 'echo no; exit 7'` failed: exit code 7"),
        "{shown}"
    );
}

#[test]
fn the_mock_corrects_what_failed() {
    let (world, thread) = world(r#"["test -e fixed"]"#, EDGE);
    world.mock("roles: { writer: [{ output: { note: a }, corrections: [{ note: b }] }] }");
    world.step(&thread).exits(0);
    let data = output(&world, &thread);
    assert_eq!(data["$status"], json!("checks-failed"), "{data}");
    assert_eq!(data["answer"]["note"], json!("b"));
}

#[test]
fn a_check_that_takes_too_long_is_ended_with_all_that_it_started() {
    let checks = r#"{ run: [{ name: slow, command: ["./slow.sh"], timeout: 1s }], attempts: 0 }"#;
    let (world, thread) = world(checks, "");
    world.script(
        "slow.sh",
        "(trap '' TERM; exec sleep 1000) & echo $! > child; wait",
    );
    world.configure("grace", "1s");
    let run = world
        .step(&thread)
        .exits(3)
        .says("check `slow` failed: it was ended after its time limit of 1s");
    failed(&run);
    let child = fs::read_to_string(world.project().join("child")).unwrap();
    assert!(!is_running(child.trim()));
}

#[test]
fn what_a_check_leaves_running_is_ended() {
    let (world, thread) = world(r#"["./leaves.sh"]"#, "");
    world.script("leaves.sh", "sleep 1000 >/dev/null 2>&1 & echo $! > child");
    world.step(&thread).exits(0);
    let child = fs::read_to_string(world.project().join("child")).unwrap();
    assert!(!is_running(child.trim()));
}

#[test]
fn a_silent_check_is_no_silence_of_the_agent() {
    let (world, thread) = world(r#"["sleep 3"]"#, "");
    world.configure("agents.default.idleTimeout", "1s");
    world.step(&thread).exits(0);
}

#[test]
fn the_output_of_a_check_is_bounded() {
    let checks = r#"[[sh, -c, "yes 0123456789abcde | head -c 1073741824; echo the end"]]"#;
    let (world, thread) = world(checks, "");
    let done = world.step(&thread).exits(0).json();
    let check = &done["checks"][0];
    let output = check["output"].as_str().unwrap();
    assert!(output.len() <= 16 * 1024, "{}", output.len());
    assert!(output.starts_with("0123456789abcde\n"));
    assert!(output.ends_with("the end\n"));
    let more = check["moreOutput"].as_str().unwrap();
    let more = world.uwf(&["cas", "cat", more]).exits(0).stdout;
    assert!(
        (16 * 1024..=1 << 20).contains(&more.len()),
        "{}",
        more.len()
    );
    assert!(more.ends_with("the end\n"));
    let run = world.root().join("runs").join(&thread);
    let space = |path: std::path::PathBuf| {
        use std::os::unix::fs::MetadataExt;
        path.metadata().map_or(0, |meta| meta.blocks() * 512)
    };
    let used: u64 = fs::read_dir(run)
        .unwrap()
        .map(|file| space(file.unwrap().path()))
        .sum();
    assert!(used < 16 << 20, "{used}");
}

#[test]
fn secrets_in_the_output_of_checks_are_masked() {
    let (world, thread) = world(r#"[[sh, -c, "echo key=$MY_SETTING; exit 1"]]"#, EDGE);
    fs::write(world.root().join(".env"), "MY_SETTING=s3cr3t-s3cr3t\n").unwrap();
    let run = world.step(&thread).exits(0);
    assert!(run.stdout.contains("key=***\\n"), "{}", run.stdout);
    assert!(output(&world, &thread).to_string().contains("key=***"));
    assert!(!run.stdout.contains("s3cr3t"), "{}", run.stdout);
    assert!(asked(&world).iter().all(|asked| !asked.contains("s3cr3t")));
}

#[test]
fn a_question_to_a_person_is_not_checked() {
    let (world, thread) = world(r#"["false"]"#, "");
    world.mock("roles: { writer: [{ output: { $status: $SUSPEND, reason: 'which one?' } }] }");
    world.step(&thread).exits(0);
    assert_eq!(world.show(&thread)["status"], json!("suspended"));
}

#[test]
fn checks_are_written_out_and_compared() {
    let world = World::new();
    world.put(&checked(
        r#"["cargo test", { name: style, command: [./style.sh], timeout: 90s, files: [rules] }]"#,
        EDGE,
    ));
    let exported = world
        .uwf(&["workflow", "export", "checked"])
        .exits(0)
        .stdout;
    for part in ["checks:", "style", "timeout: 1m30s", "rules", "attempts: 2"] {
        assert!(exported.contains(part), "{exported}");
    }
    world.write("again/checked.yaml", &exported);
    let compared = |file: &str| world.uwf(&["workflow", "diff", "checked", file]).stdout;
    let same = compared("again/checked.yaml");
    assert!(!same.contains("checks"), "{same}");
    world.write("other/checked.yaml", &checked(r#"["true"]"#, EDGE));
    let differs = compared("other/checked.yaml");
    assert!(differs.contains("checks"), "{differs}");
}

#[test]
fn mistakes_in_checks_are_named_with_their_places() {
    let world = World::new();
    let refused = |checks: &str, edges: &str, says: &str| {
        world.write("checked.yaml", &checked(checks, edges));
        let run = world
            .uwf(&["workflow", "validate", "checked.yaml"])
            .exits(1);
        let told = run.stdout + &run.stderr;
        assert!(told.contains(says), "{checks}: {told}");
    };
    refused("[]", "", "`checks` of role `writer` are empty");
    refused("{ attempts: 2 }", "", "has no `run`");
    refused(
        r#"{ run: ["true"], attempt: 2 }"#,
        "",
        "did you mean `attempts`?",
    );
    refused(
        r#"{ run: ["true"], attempts: -1 }"#,
        "",
        "a whole number from 0 to 100",
    );
    refused(r#"[{ name: x }]"#, "", "has no `command`");
    refused(r#"["true", "true"]"#, "", "two checks named `true`");
    refused(
        r#"["cargo test && cargo fmt"]"#,
        "",
        "has a `&`, and runs without a shell",
    );
    refused(
        r#"["cargo test && cargo fmt"]"#,
        "",
        r#"command: ["sh","-c","cargo test && cargo fmt"]"#,
    );
    refused(
        r#"[{ command: "true", timeout: soon }]"#,
        "",
        "a duration such as",
    );
    refused(r#"["a\nb"]"#, "", "has several lines");
    refused(
        r#"["true"]"#,
        EDGE.replace("name", "nam").as_str(),
        "is not in the answer",
    );
    let unchecked = checked("CHECKS", EDGE).replace("    checks: CHECKS\n", "");
    world.write("checked.yaml", &unchecked);
    let run = world
        .uwf(&["workflow", "validate", "checked.yaml"])
        .exits(1);
    let told = run.stdout + &run.stderr;
    assert!(
        told.contains("never answers `checks-failed`: it has no `checks`"),
        "{told}"
    );
}
