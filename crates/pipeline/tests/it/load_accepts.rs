//! What the loader makes of files that it accepts: normal forms, defaults and warnings.

use serde_json::json;
use uwf_pipeline::{Capture, Pipeline, load};

use crate::common::{EXAMPLE, STEP, codes, lines, pipeline, read};

#[test]
fn the_example_of_the_specification_loads() {
    let loaded = read(EXAMPLE).unwrap();
    let pipeline = &loaded.pipeline;
    assert_eq!(pipeline.name, "multi_agent_feature_dev");
    let names: Vec<&str> = pipeline.steps.iter().map(|step| &*step.name).collect();
    assert_eq!(
        names,
        ["CheckEngineerInbox", "ProcessEngineerTasks", "NoTasks"]
    );
    let body = pipeline.steps[1].body().unwrap();
    assert_eq!(body.alias, "task_file");
    assert_eq!(body.steps.len(), 4);
    // The JSON of `WriteStatus` breaks if the name of a task has quotes.
    let warnings = loaded.warnings;
    assert_eq!(codes(&warnings), ["37:29 W03"]);
}

#[test]
fn a_pipeline_without_a_name_is_called_like_its_file() {
    let text = b"steps: [{name: A, command: [a]}]";
    let name = |file: &str| load(text, file).unwrap().pipeline.name;
    assert_eq!(name("flows/review.yaml"), "review");
    assert_eq!(name("a.b.yml"), "a.b");
    assert_eq!(name("flow"), "flow");
}

#[test]
fn a_text_command_is_split_into_words_and_warned_of_shell_words() {
    let argv = |command: &str| {
        let text = format!("steps:\n- name: A\n  command: {command}\n");
        let loaded = read(&text).unwrap();
        let step = serde_json::to_value(&loaded.pipeline.steps[0]).unwrap();
        (
            step["work"]["run"]["program"]["command"].clone(),
            codes(&loaded.warnings),
        )
    };
    let none: [&str; 0] = [];
    let (words, warnings) = argv("echo 'a b' ${run.id} \"c d\"");
    assert_eq!(words, json!(["echo", "a b", "${run.id}", "c d"]));
    assert_eq!(warnings, none);
    for line in ["a | b", "a > b", "a 2>&1", "a && b", "a; b", "a & b"] {
        assert_eq!(argv(line).1, ["3:12 W01"], "{line}");
    }
    assert_eq!(argv("find . -exec rm {} \\;").1, none);
    assert_eq!(argv("[a, '|', b]").1, none);
}

#[test]
fn what_is_probably_not_meant_gives_warnings() {
    let check = |step: &str, expected: &[&str]| {
        let loaded = read(&format!("steps: [{{name: A, {step}}}]\n")).unwrap();
        assert_eq!(codes(&loaded.warnings), expected, "{step}");
    };
    check("command_override: [a]", &["1:19 W02"]);
    check("command: [a, '{\"x\": \"${run.id}\"}']", &["1:32 W03"]);
    check("command: [a, '{\"x\": 1}']", &[]);
    check("command: [a, '${run.id}']", &[]);
    check("command: [a], input_file: x", &["1:33 W04"]);
    check("wait_for: {glob: a}, output_file: b", &["1:40 W04"]);
    check("provider: claude", &["1:29 W05"]);
    check("provider: claude, input_file: x", &[]);
}

/// Checks the warnings of a file of the newest version that has one step with these keys.
#[track_caller]
fn warns(step: &str, expected: &[&str]) {
    let loaded = read(&format!("version: 1.1.1\nsteps:\n- name: A\n  {step}\n"));
    let loaded = loaded.unwrap_or_else(|problems| panic!("{}\n{step}", lines(&problems)));
    assert_eq!(codes(&loaded.warnings), expected, "{step}");
}

#[test]
fn what_is_injected_is_a_prompt_and_has_no_effect_elsewhere() {
    warns(
        "provider: claude\n  depends_on: {required: [a], inject: list}",
        &[],
    );
    warns(
        "provider: codex\n  depends_on: {optional: [a], inject: content}",
        &[],
    );
    let nothing = "provider: claude\n  depends_on: {required: [a], inject: none}";
    warns(nothing, &["4:13 W05"]);
    let no_files = "provider: claude\n  depends_on: {required: [], inject: list}";
    warns(no_files, &["4:13 W05"]);
    let depends = "depends_on: {required: [a], inject: list}";
    for work in [
        "command: [a]",
        "wait_for: {glob: a}",
        "workflow: {name: a, task: b}",
        "for_each: {items: [], steps: [{name: B, command: [b]}]}",
    ] {
        warns(&format!("{work}\n  {depends}"), &["5:31 W04"]);
    }
    warns(
        "command: [a]\n  depends_on: {required: [a], inject: none}",
        &[],
    );
}

#[test]
fn a_secret_that_is_written_into_the_file_gives_a_warning() {
    warns("command: [a]\n  env: {GH_TOKEN: abc}", &["5:9 W06"]);
    warns("command: [a]\n  env: {DB_PASSWORD: 1234}", &["5:9 W06"]);
    warns("command: [a]\n  env: {GH_TOKEN: '', MAX_TOKENS: 5}", &[]);
    // The value of `env` wins over the one of the environment.
    let declared = "command: [a]\n  secrets: [PIN]\n  env: {PIN: 1234}";
    warns(declared, &["6:9 W06"]);
    let params = "provider: p\n  input_file: a\n  provider_params: {auth: {apiKey: abc}}";
    let provider = "providers: {p: {command: [a], defaults: {token: abc}}}";
    let text =
        format!("steps:\n- name: A\n  {params}\n{provider}\ncontext: {{api_key: a, key: T-17}}\n");
    let loaded = read(&text).unwrap();
    assert_eq!(
        codes(&loaded.warnings),
        ["5:28 W06", "6:42 W06", "7:11 W06"]
    );
    let filled = text
        .replace("abc", "'${context.a}'")
        .replace("api_key: a", "a: b");
    assert_eq!(read(&filled).unwrap().warnings, []);
    let all = format!("secrets: [PIN]\n{STEP}  env: {{PIN: 1234}}\n");
    assert_eq!(codes(&read(&all).unwrap().warnings), ["5:9 W06"]);
}

#[test]
fn what_looks_like_a_variable_in_the_environment_gives_a_warning() {
    warns("command: [a]\n  env: {A: '${run.id}'}", &["5:12 W07"]);
    warns("command: [a]\n  env: {A: 'x ${env.HOME}'}", &["5:12 W07"]);
    warns("command: [a]\n  env: {A: '$HOME $(x) ${'}", &[]);
}

#[test]
fn two_stars_in_a_pattern_give_a_warning() {
    for step in [
        "wait_for: {glob: 'a/**/b'}",
        "command: [a]\n  when: {exists: '**'}",
        "command: [a]\n  when: {not_exists: 'a/**'}",
        "command: [a]\n  depends_on: {required: ['a/**/*.rs']}",
        "command: [a]\n  depends_on: {optional: ['**/${run.id}']}",
    ] {
        let line = step.lines().count() + 3;
        let column = step.lines().last().unwrap().find('\'').unwrap() + 1;
        let column = if step.contains('\n') {
            column
        } else {
            column + 2
        };
        warns(step, &[&format!("{line}:{column} W08")]);
    }
    warns("wait_for: {glob: 'a/*/b*'}", &[]);
    // This is the name of a file.
    warns("command: [a]\n  output_file: 'a**b'", &[]);
}

#[test]
fn defaults_are_written_out_and_layout_does_not_count() {
    let short = pipeline(
        "steps:\n- name: A # first\n  command: 'a  b'\n- {name: W, wait_for: {glob: x}}\n",
    );
    let long = pipeline(
        "version: '1.1'\nname: flow\nstrict_flow: true\ncontext: {}\nsecrets: []\ninbox_dir: inbox\nmax_transitions: 1000\nsteps:\n- command: [a, b]\n  output_capture: text\n  name: A\n- name: W\n  wait_for: {min_count: 1, poll_ms: 500, timeout_sec: 300, glob: x}\n",
    );
    assert_eq!(short, long);
    let other = pipeline(
        "name: x\ndescription: y\nsteps: [{name: A, agent: z, command: [a, b]}, {name: W, wait_for: {glob: x}}]",
    );
    assert_ne!(short, other);
    assert!(short.means_the_same_as(&other));
}

#[test]
fn a_step_with_a_workflow_has_json_and_an_empty_context_is_none() {
    let short = "steps: [{name: A, workflow: {name: a, task: b}}]";
    let long =
        "steps: [{output_capture: json, workflow: {context: {}, task: b, name: a}, name: A}]";
    assert_eq!(pipeline(short), pipeline(long));
    let stored = serde_json::to_value(&pipeline(short).steps[0]).unwrap();
    let expected = json!({"name": "A", "work": {"workflow": {"name": "a", "task": "b"}}});
    assert_eq!(stored, expected);
    pipeline(
        "steps: [{name: A, workflow: {name: a, task: b}}, {name: L, for_each: {items_from: steps.A.json.list, steps: [{name: B, command: [b]}]}}]",
    );
}

#[test]
fn a_stored_pipeline_is_the_same_pipeline_again() {
    for text in [
        EXAMPLE,
        "steps:\n- name: A\n  provider: codex\n  input_file: '${context.a}'\n  provider_params: {b: [1, null, '${run.id}', {c: 1.0}]}\n  output_capture: json\n  allow_parse_error: true\n  retries: 2\n  when: {not_exists: x}\n  depends_on: {required: [a]}\n  on: {always: {goto: _end}}\n  max_visits: 3\n",
        "steps: [{name: F, workflow: {name: review, task: 'look at ${run.id}', context: {a: ['${run.root}', null]}}}]",
        "steps: [{name: L, for_each: {items: [1, {a: '${run.id}'}], on_item_complete: {success: {move_to: d}}, steps: [{name: B, command: [b]}]}}]",
    ] {
        let pipeline = pipeline(text);
        let stored = serde_json::to_value(&pipeline).unwrap();
        let again: Pipeline = serde_json::from_value(stored.clone()).unwrap();
        assert_eq!(again, pipeline, "{stored}");
    }
}

#[test]
fn a_built_in_provider_is_part_of_the_pipeline_and_a_declared_one_replaces_it() {
    let used = pipeline("steps: [{name: A, provider: codex, input_file: x}]");
    assert_eq!(used.providers.keys().collect::<Vec<_>>(), ["codex"]);
    let replaced =
        pipeline("providers: {claude: {command: [mine]}}\nsteps: [{name: A, provider: claude}]");
    assert_eq!(replaced.providers["claude"].command[0].source(), "mine");
    assert!(replaced.providers["claude"].defaults.0.is_empty());
}

#[test]
fn a_long_integer_that_is_meant_as_text_keeps_its_digits() {
    let text = "name: 18446744073709551616\nsteps:\n- name: A\n  command: [echo, 123456789012345678901234567890, -9223372036854775809, +018446744073709551616, 18446744073709551615]\n  env: {ID: 340282366920938463463374607431768211455}\n";
    let pipeline = pipeline(text);
    assert_eq!(pipeline.name, "18446744073709551616");
    let stored = serde_json::to_value(&pipeline.steps[0]).unwrap();
    let run = &stored["work"]["run"];
    assert_eq!(
        run["program"]["command"],
        json!([
            "echo",
            "123456789012345678901234567890",
            "-9223372036854775809",
            "18446744073709551616",
            "18446744073709551615"
        ])
    );
    assert_eq!(run["env"]["ID"], "340282366920938463463374607431768211455");
}

#[test]
fn words_of_yaml_1_1_are_strings() {
    let pipeline = pipeline(
        "steps:\n- name: yes\n  command: [on, no]\n  output_capture: lines\n  on: {success: {goto: yes}}\n",
    );
    assert_eq!(pipeline.steps[0].name, "yes");
    let stored = serde_json::to_value(&pipeline.steps[0]).unwrap();
    assert_eq!(
        stored["work"]["run"]["program"]["command"],
        json!(["on", "no"])
    );
    assert_eq!(stored["work"]["run"]["capture"], json!("lines"));
    assert_eq!(
        Capture::Lines,
        serde_json::from_value(json!("lines")).unwrap()
    );
}
