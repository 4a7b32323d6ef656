//! Mistakes in workflows: all told at once with their places, and none of them costs a step that was done.

use serde_json::json;

use crate::world::{ONE_STEP, World};

/// Asserts that a text is refused by every command that takes a workflow file, with these causes and no others.
#[track_caller]
fn refused(name: &str, yaml: &str, causes: &[&str]) {
    let world = World::new();
    let file = format!("{name}.yaml");
    world.write(&file, yaml);
    let path = format!("./{file}");
    for args in [
        &["workflow", "put", &file][..],
        &["workflow", "validate", &file],
        &["thread", "start", &path, "-p", "x"],
    ] {
        let run = world.uwf(args).exits(1);
        if args[1] == "validate" {
            assert_eq!(run.json()["valid"], json!(false));
        } else {
            assert_eq!(run.stdout, "");
        }
        assert!(
            run.stderr.starts_with("error: workflow has "),
            "{}",
            run.stderr
        );
        for cause in causes {
            assert!(
                run.stderr.contains(&format!("{file}:{cause}")),
                "no `{cause}` in\n{}",
                run.stderr
            );
        }
        assert_eq!(
            run.stderr.matches("cause: ").count(),
            causes.len(),
            "{}",
            run.stderr
        );
    }
    assert_eq!(
        world.state("registry.yaml") + &world.state("threads.yaml"),
        ""
    );
}

#[test]
fn what_is_not_yaml_is_told_with_line_and_column() {
    refused("one", "name: one\nroles: [\n", &["2:8: invalid YAML"]);
    refused(
        "one",
        "name: one\n\tdescription: x\n",
        &["1:7: invalid YAML"],
    );
    refused(
        "one",
        "name: \"one\ndescription: x\n",
        &["2:1: invalid YAML"],
    );
}

#[test]
fn a_key_that_is_given_twice_is_told_with_both_lines() {
    let yaml = ONE_STEP.trim_start().replace(
        "    goal: You write.\n",
        "    goal: You write.\n    goal: You do not.\n",
    );
    refused(
        "one",
        &yaml,
        &["7:5: the key `goal` is given twice, first on line 6"],
    );
}

#[test]
fn all_mistakes_are_told_at_once() {
    let yaml = ONE_STEP
        .trim_start()
        .replace("capabilities", "capabilitys")
        .replace("role: writer", "role: writr")
        .replace("{{note}}", "{{nota}}");
    refused(
        "one",
        &yaml,
        &[
            "7:5: unknown key `capabilitys` in role `writer` (did you mean `capabilities`?)",
            "12:24: the edge leads to `writr`, which is not a role; did you mean `writer`?",
            "13:3: the role `writer` cannot be reached",
            "13:38: `{{nota}}`",
        ],
    );
    // What is missing makes the rest seem wrong: it is told alone.
    let headless = yaml.replace("    goal: You write.\n", "");
    refused(
        "one",
        &headless,
        &[
            "4:3: role `writer` has no `goal`",
            "6:5: unknown key `capabilitys`",
        ],
    );
}

#[test]
fn the_name_must_be_that_of_the_file() {
    let world = World::new();
    world.write("two.yaml", ONE_STEP);
    let run = world.uwf(&["workflow", "put", "two.yaml"]).exits(1);
    run.says("two.yaml:").says("`one`").says("`two`");
    assert_eq!(world.state("registry.yaml"), "");
}

#[test]
fn a_bad_new_version_leaves_the_registered_one_alone() {
    let world = World::new();
    let hash = world.put(ONE_STEP);
    world.mock("roles:\n  writer:\n    - output: { note: n }\n");
    let thread = world.start("one");
    world.write("one.yaml", "name: one\n");
    world.uwf(&["workflow", "put", "one.yaml"]).exits(1);
    assert!(world.state("registry.yaml").contains(&hash));
    let shown = world.uwf(&["workflow", "show", "one"]).exits(0).json();
    assert_eq!(shown["hash"], json!(hash));
    world.step(&thread).exits(0);
}

/// A workflow whose second edge depends on a condition that may hold nowhere.
const CONDITIONS: &str = r#"
name: conditional
description: Edges with conditions
roles:
  writer:
    description: Writes
    goal: You write.
    capabilities: []
    procedure: Write.
    output: A note.
    frontmatter: { type: object, properties: { note: { type: string } }, required: [note] }
conditions:
  isShort: { description: The note is short, expression: "$length(steps[-1].output.note) < 3" }
graph:
  $START: [{ role: writer, prompt: Write. }]
  writer: [{ role: $END, condition: isShort }]
"#;

#[test]
fn an_answer_that_no_edge_fits_is_recorded_and_blocks_the_thread() {
    let world = World::new();
    world.put(CONDITIONS);
    world.mock("roles:\n  writer:\n    - output: { note: long }\n    - output: { note: n }\n");
    let thread = world.start("conditional");
    let start = world.show(&thread)["head"].as_str().unwrap().to_owned();
    let report = world
        .step(&thread)
        .exits(0)
        .says("warning: the step is recorded, but the graph gives no next step");
    assert_eq!(report.json()["status"], json!("blocked"));
    let step = report.json()["step"].as_str().unwrap().to_owned();
    let shown = world.show(&thread);
    assert_eq!(
        (&shown["status"], &shown["head"]),
        (&json!("blocked"), &json!(step))
    );
    assert!(shown["blockedReason"].as_str().unwrap().contains("writer"));
    let again = world.step(&thread).exits(1);
    again
        .says(&format!("error: thread `{thread}` is blocked"))
        .says("cause: ")
        .says(&format!("hint: `uwf thread poke {thread} -p \"…\"`"))
        .says(&format!("`uwf thread steps {thread}`"));
    // What was done can be gone back to.
    let fork = world.uwf(&["thread", "fork", &start]).exits(0).json();
    assert_eq!(
        world.step(fork["thread"].as_str().unwrap()).exits(0).json()["status"],
        json!("blocked")
    );
    world.uwf(&["step", "show", &step]).exits(0);
}

#[test]
fn a_status_that_the_graph_does_not_know_is_never_taken_for_another() {
    let world = World::new();
    let hash = world.put(ONE_STEP);
    world.mock("roles:\n  writer:\n    - output: { note: n }\n");
    // Another program may store what this one would refuse.
    let mut node = world.uwf(&["cas", "get", &hash]).exits(0).json();
    let edge = node["payload"]["graph"]["writer"]["_"].clone();
    node["payload"]["graph"]["writer"] = json!({ "done": edge, "again": edge });
    let kind = node["type"].as_str().unwrap().to_owned();
    let put = world.uwf(&["cas", "put", &kind, &node["payload"].to_string()]);
    let thread = world.start(put.exits(0).json()["hash"].as_str().unwrap());
    let run = world
        .step(&thread)
        .exits(0)
        .says("warning: the step is recorded");
    assert_eq!(run.json()["status"], json!("blocked"));
    let again = world
        .step(&thread)
        .exits(1)
        .says("is blocked")
        .says("cause: ");
    assert!(
        again.stderr.contains("done") && again.stderr.contains("again"),
        "{}",
        again.stderr
    );
}

/// A coder and a tester who go on until nothing fails, three times at most.
const UNTIL_IT_PASSES: &str = r#"
name: until
roles:
  coder: { goal: You code., frontmatter: { type: object, properties: { branch: { type: string } }, required: [branch] } }
  tester: { goal: You test., frontmatter: { type: object, properties: { failures: { type: integer } }, required: [failures] } }
conditions:
  passed: { expression: "$last('tester').failures = 0" }
  enough: { expression: "$count(steps[role = 'coder']) >= 3" }
graph:
  $START: [{ role: coder }]
  coder: [{ role: tester }]
  tester:
    - { role: $END, condition: passed }
    - { role: $SUSPEND, condition: enough, prompt: "What now?" }
    - { role: coder }
"#;

#[test]
fn a_slip_in_a_condition_is_found_before_anything_runs() {
    let world = World::new();
    world.put(UNTIL_IT_PASSES);
    let slips = [
        (
            "$last('tester')",
            "$last('testr')",
            ":7:25: the expression looks for `testr`, which is not a role; did you mean `tester`?",
        ),
        (
            ".failures = 0",
            ".failure = 0",
            ":7:25: `failure` is always undefined: it is not in the answer of `tester`; did you mean `failures`?",
        ),
        (
            "role = 'coder'",
            "role = 'codr'",
            ":8:25: the expression looks for `codr`, which is not a role; did you mean `coder`?",
        ),
        (
            "failures = 0",
            "failures == 0",
            "`==` at character 26 is no operator: equality is `=`",
        ),
        (
            "{ type: object, properties: { failures",
            "{ type: array, properties: { failures",
            "is of type `array`, which no answer has",
        ),
    ];
    for (right, wrong, message) in slips {
        assert!(UNTIL_IT_PASSES.contains(right), "{right}");
        world.write("until.yaml", &UNTIL_IT_PASSES.replace(right, wrong));
        for command in [
            ["workflow", "validate", "until.yaml"],
            ["workflow", "put", "until.yaml"],
        ] {
            world.uwf(&command).exits(1).says(message);
        }
        world
            .uwf(&["thread", "start", "./until.yaml", "-p", "x"])
            .exits(1)
            .says(message);
    }
}

#[test]
fn what_is_probably_not_meant_is_a_warning() {
    let world = World::new();
    let open = UNTIL_IT_PASSES
        .replace("    - { role: coder }\n", "")
        .replace("[failures]", "[failure]");
    world.write("until.yaml", &open);
    let required = "until.yaml:5:30: `required` names `failure`, which is not among the `properties`; did you mean `failures`?";
    let ended = "until.yaml:12:3: every edge of `tester` has a condition: where none holds, the thread is blocked; let the last edge have none";
    let calls: [&[&str]; 3] = [
        &["workflow", "validate", "until.yaml"],
        &["workflow", "put", "until.yaml"],
        &["thread", "start", "./until.yaml", "-p", "x"],
    ];
    for call in calls {
        let run = world.uwf(call).exits(0);
        let run = run.says(required).says(ended);
        let warnings: Vec<String> = serde_json::from_value(run.json()["warnings"].clone()).unwrap();
        let path = if call[0] == "thread" { "./" } else { "" };
        assert_eq!(
            warnings,
            [format!("{path}{required}"), format!("{path}{ended}")]
        );
    }
    world.write("until.yaml", UNTIL_IT_PASSES);
    let run = world.uwf(calls[0]).exits(0);
    assert_eq!(run.stderr, "");
    assert!(run.json().get("warnings").is_none());
}

#[test]
fn what_is_no_yaml_is_shown_with_its_line() {
    let world = World::new();
    world.write(
        "until.yaml",
        &UNTIL_IT_PASSES.replace("  coder: { goal", "   coder: { goal"),
    );
    let run = world.uwf(&["workflow", "validate", "until.yaml"]).exits(1);
    let run = run.says("until.yaml:4:4: invalid YAML: this is indented by 3, and line 5, which goes on after it, by 2");
    let line = run
        .stderr
        .lines()
        .position(|line| line.contains("4 |    coder: { goal"));
    let mark = run.stderr.lines().nth(line.unwrap() + 1).unwrap();
    let above = run.stderr.lines().nth(line.unwrap()).unwrap();
    assert_eq!(mark.find('^'), above.find("coder"), "{}", run.stderr);
}
