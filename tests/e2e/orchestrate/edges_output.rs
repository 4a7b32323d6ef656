//! Output: what becomes data, what is cut, and what is kept whole.

use std::fs;

use serde_json::json;

use super::runs::{Ran, command, run};
use crate::world::World;

/// Runs steps that go on after failures.
#[track_caller]
fn steps(world: &World, steps: &str) -> Ran {
    run(world, &format!("strict_flow: false\nsteps:\n{steps}"), &[]).exits(0)
}

#[test]
fn text_is_cut_at_8_kib_and_whole_in_the_log() {
    let world = World::new();
    let ran = steps(
        &world,
        "- {name: Fits, command: [sh, -c, 'head -c 8192 /dev/zero | tr \"\\0\" x']}\n\
         - {name: Longer, command: [sh, -c, 'head -c 8193 /dev/zero | tr \"\\0\" x']}\n\
         - {name: Within, command: [sh, -c, 'head -c 8191 /dev/zero | tr \"\\0\" x; printf é']}\n",
    );
    for (name, length, truncated) in [
        ("Fits", 8192, false),
        ("Longer", 8192, true),
        ("Within", 8191, true),
    ] {
        assert_eq!(ran.output(name).len(), length, "{name}");
        assert_eq!(ran.step(name)["truncated"], truncated, "{name}");
    }
    assert_eq!(ran.log("Longer.stdout").len(), 8193);
}

#[test]
fn bytes_that_are_no_text_are_replaced_in_the_state_and_kept_elsewhere() {
    let world = World::new();
    let ran = steps(
        &world,
        "- name: Bytes\n  command: [printf, '\\377\\376\\000abc']\n  output_file: out\n",
    );
    let bytes = ran.step("Bytes");
    assert_eq!(bytes["output"], "\u{fffd}\u{fffd}\0abc");
    assert_eq!(bytes["debug"]["invalid_utf8"], true);
    let text = fs::read_to_string(ran.root().join("state.json")).unwrap();
    assert!(text.contains("\\u0000abc"));
    assert_eq!(
        fs::read(world.project().join("out")).unwrap(),
        b"\xff\xfe\0abc"
    );
}

#[test]
fn lines_are_cut_at_10_000_or_8_mib() {
    let world = World::new();
    let line = |name: &str, command: &str| {
        format!("- {{name: {name}, output_capture: lines, command: [sh, -c, '{command}']}}\n")
    };
    let ran = steps(
        &world,
        &[
            line("Most", "seq 10000"),
            line("More", "seq 10001"),
            line("Wide", "head -c 20000000 /dev/zero | tr \"\\0\" x"),
            line("Open", "printf \"a\\r\\n\\nb\""),
            line("Blank", "echo"),
            line("Empty", "true"),
        ]
        .concat(),
    );
    let lines = |name: &str| ran.step(name)["lines"].as_array().unwrap().clone();
    for (name, count, truncated) in [
        ("Most", 10_000, false),
        ("More", 10_000, true),
        ("Wide", 1, true),
    ] {
        assert_eq!(lines(name).len(), count, "{name}");
        assert_eq!(ran.step(name)["truncated"], truncated, "{name}");
    }
    assert_eq!(lines("More")[9_999], "10000");
    assert_eq!(lines("Wide")[0].as_str().unwrap().len(), 8 << 20);
    assert_eq!(ran.log("Wide.stdout").len(), 20_000_000);
    assert_eq!(lines("Open"), ["a", "", "b"]);
    assert_eq!(lines("Blank"), [""]);
    assert!(lines("Empty").is_empty());
}

#[test]
fn json_is_one_value_and_nothing_else() {
    let world = World::new();
    let json = |name: &str, rest: &str, command: &str| {
        format!("- {{name: {name}, output_capture: json, {rest}command: [sh, -c, '{command}']}}\n")
    };
    let ran = steps(
        &world,
        &[
            json(
                "Bom",
                "",
                "printf \"\\357\\273\\277 \\n {\\\"a\\\": 1, \\\"a\\\": 2} \\n\"",
            ),
            json("Scalar", "", "printf null"),
            json("Empty", "", "true"),
            json("Nan", "", "printf NaN"),
            json("Two", "", "printf \"1 2\""),
            json("Invalid", "", "printf \"{\\n  oops\""),
            json("OwnCode", "", "printf \"{\\\"a\\\": 1}\"; exit 3"),
            json("OwnCodeInvalid", "", "printf oops; exit 3"),
            json("Allowed", "allow_parse_error: true, ", "printf oops"),
            json(
                "AllowedFails",
                "allow_parse_error: true, ",
                "printf oops; exit 1",
            ),
        ]
        .concat(),
    );
    assert_eq!(ran.step("Bom")["json"], json!({"a": 2}));
    assert!(ran.step("Scalar").as_object().unwrap().contains_key("json"));
    for name in ["Empty", "Nan", "Two", "Invalid"] {
        assert_eq!(ran.failure(name), (2, "json_parse_error"), "{name}");
    }
    let message = ran.step("Invalid")["error"]["message"].as_str().unwrap();
    assert!(message.contains("line 2 column 3"), "{message}");
    assert_eq!(ran.failure("OwnCode"), (3, "command_failed"));
    assert_eq!(ran.step("OwnCode")["json"], json!({"a": 1}));
    assert_eq!(ran.failure("OwnCodeInvalid"), (3, "command_failed"));
    let allowed = ran.step("Allowed");
    assert_eq!(allowed["status"], "completed");
    assert_eq!(allowed["output"], "oops");
    assert!(allowed.get("json").is_none());
    assert_eq!(allowed["debug"]["json_parse_error"]["reason"], "invalid");
    assert_eq!(ran.failure("AllowedFails"), (1, "command_failed"));
}

#[test]
fn no_integer_is_rounded_on_its_way() {
    const LONG: &str = "123456789012345678901234567890";
    let world = World::new();
    world.write("context.json", &format!("{{\"id\": {LONG}}}"));
    let pipeline = format!(
        "steps:\n\
         - {{name: Json, command: [echo, '{{\"id\": [{LONG}, 18446744073709551615]}}'], output_capture: json}}\n\
         - {{name: Text, command: [printf, '%s %s %s %s %s', {LONG}, '${{steps.Json.json.id.0}}', '${{steps.Json.json.id.1}}', '${{context.id}}', '${{steps.Json.json}}']}}\n"
    );
    let ran = run(&world, &pipeline, &["--context-file", "context.json"]).exits(0);
    assert_eq!(
        ran.output("Text"),
        format!(
            "{LONG} {LONG} 18446744073709551615 {LONG} {{\"id\":[\"{LONG}\",18446744073709551615]}}"
        )
    );
    world.write("flow.yaml", &format!("context: {{id: {LONG}}}\n{pipeline}"));
    let run = world.uwf(&["orchestrate", "run", "flow.yaml"]).exits(2);
    run.says(&format!(
        "flow.yaml:1:15: V03: the integer `{LONG}` has more than 64 bits (write `\"{LONG}\"`: a text keeps all digits)"
    ));
}

#[test]
fn an_output_file_has_the_whole_stream_also_after_a_failure() {
    let world = World::new();
    world.write("old", "old\n");
    let ran = steps(
        &world,
        "- {name: Fails, command: [sh, -c, 'echo partial; exit 1'], output_file: deep/er/out}\n\
         - {name: Refused, command: [no-such-program-here], output_file: old}\n\
         - {name: Lines, command: [printf, 'a\\nb'], output_capture: lines, output_file: lines}\n\
         - {name: Slow, command: [sh, -c, 'echo begun; sleep 60'], timeout_sec: 0.2, output_file: slow}\n",
    );
    let text = |name: &str| fs::read_to_string(world.project().join(name)).unwrap();
    assert_eq!(text("deep/er/out"), "partial\n");
    assert_eq!(text("old"), "old\n");
    assert_eq!(text("lines"), "a\nb");
    assert_eq!(text("slow"), "begun\n");
    assert_eq!(ran.step("Lines")["lines"], json!(["a", "b"]));
    // No draft is left beside the files.
    assert_eq!(
        fs::read_dir(world.project().join("deep/er"))
            .unwrap()
            .count(),
        1
    );
}

#[test]
fn errors_show_the_last_lines_and_logs_have_all_of_them() {
    let world = World::new();
    let ran = steps(
        &world,
        "- {name: A b.c, command: [sh, -c, 'seq 30; seq 40 >&2; exit 1']}\n- {name: Quiet, command: ['true']}\n",
    );
    let error = &ran.step("A b.c")["error"];
    let tail = |name: &str| error[name].as_array().unwrap().clone();
    assert_eq!(
        (tail("stdout_tail").len(), tail("stdout_tail")[0].as_str()),
        (10, Some("21"))
    );
    assert_eq!(
        (tail("stderr_tail").len(), tail("stderr_tail")[19].as_str()),
        (20, Some("40"))
    );
    assert_eq!(
        ran.log("A%20b.c.stderr")
            .split(|byte| *byte == b'\n')
            .count(),
        41
    );
    let logs = fs::read_dir(ran.root().join("logs")).unwrap();
    let logs = logs.map(|log| log.unwrap().file_name().into_string().unwrap());
    assert!(logs.filter(|name| name.starts_with("Quiet")).count() == 0);
}

#[test]
fn a_log_ends_at_its_limit_and_the_step_goes_on() {
    let world = World::new();
    let pipeline =
        "steps:\n- name: Much\n  command: [sh, -c, 'seq 100000; touch done']\n  output_file: out\n";
    let ran = run(&world, pipeline, &["--max-log-bytes", "1000"]).exits(0);
    let log = ran.log("Much.stdout");
    assert!((1000..1200).contains(&log.len()), "{}", log.len());
    assert!(world.project().join("done").exists());
    let out = fs::metadata(world.project().join("out")).unwrap().len();
    assert_eq!(out, 588_895);
}

#[test]
fn a_closed_output_of_ours_does_not_end_the_run() {
    let world = World::new();
    let pipeline = "steps:\n- {name: A, command: [echo, a]}\n- {name: B, command: [touch, b]}\n";
    let mut run = command(&world, pipeline, &["--stream-output"]);
    let binary = run.get_program().to_owned();
    let args: Vec<_> = run.get_args().map(ToOwned::to_owned).collect();
    run = world.command_of("sh");
    run.args(["-c", "exec \"$0\" \"$@\" >&- 2>&-"])
        .arg(binary)
        .args(args);
    assert_eq!(run.output().unwrap().status.code(), Some(0));
    assert!(world.project().join("b").exists());
    assert_eq!(status_of_only_run(&world), "completed");
}

#[test]
fn a_reader_of_our_output_that_goes_away_does_not_end_the_run() {
    let world = World::new();
    // The second step begins when nobody reads any more.
    let pipeline = "steps:\n- {name: A, command: [sh, -c, 'while [ ! -e gone ]; do sleep 0.02; done; yes | head -c 300000']}\n- {name: B, command: [touch, b]}\n";
    let run = command(&world, pipeline, &["--stream-output"]);
    let binary = run.get_program().to_owned();
    let args: Vec<_> = run.get_args().map(ToOwned::to_owned).collect();
    let mut piped = world.command_of("sh");
    piped
        .args([
            "-c",
            "{ \"$0\" \"$@\" 2>&1; echo $? > code; } | { exec <&-; touch gone; }",
        ])
        .arg(binary)
        .args(args);
    assert!(piped.output().unwrap().status.success());
    let code = fs::read_to_string(world.project().join("code")).unwrap();
    assert_eq!(code.trim(), "0");
    assert!(world.project().join("b").exists());
    assert_eq!(status_of_only_run(&world), "completed");
}

fn status_of_only_run(world: &World) -> String {
    let status = world.uwf(&["orchestrate", "status", "--json"]).exits(0);
    status.json()["status"].as_str().unwrap().to_owned()
}
