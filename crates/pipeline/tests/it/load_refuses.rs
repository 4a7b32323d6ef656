//! What the loader refuses, rule by rule: the form of files and of single values.

use crate::common::{STEP, accepts, lines, read, refuses, step_accepts, step_refuses};

#[test]
fn v01_what_is_no_yaml_or_no_mapping() {
    refuses("", &["1:1 V01"]);
    refuses("- a\n", &["1:1 V01"]);
    refuses("null\n", &["1:1 V01"]);
    refuses("steps: [\n", &["1:8 V01"]);
    refuses("steps:\n\t- name: A\n", &["2:2 V01"]);
    refuses(
        "steps:\n- name: A\n  command: [a]\n  command: [b]\n",
        &["4:3 V01"],
    );
    refuses(&format!("{STEP}---\n{STEP}"), &["4:1 V01"]);
    accepts(&format!("\u{feff}{STEP}"));
    accepts(&STEP.replace('\n', "\r\n"));
}

#[test]
fn v01_what_is_too_large() {
    let comment = format!("# {}\n", "x".repeat(99));
    let large = |bytes: usize| format!("{STEP}{}", comment.repeat(bytes / comment.len()));
    refuses(&large(5 << 20), &["1:1 V01"]);
    accepts(&large(3 << 20));
    let list = |count: usize| format!("{STEP}context: {{a: [{}]}}\n", "1,".repeat(count));
    refuses(&list(100_000), &["1:1 V01"]);
    accepts(&list(99_000));
    let bomb = "x-a: &a [1,1,1,1,1,1,1,1,1,1]\nx-b: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\n";
    accepts(&format!("{bomb}{STEP}"));
    let more = "x-c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nx-d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\n";
    let more = format!("{bomb}{more}x-e: [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\n");
    refuses(&format!("{more}{STEP}"), &["1:1 V01"]);
}

#[test]
fn v02_unknown_keys_at_every_level() {
    refuses(&format!("{STEP}stepz: 1\n"), &["4:1 V02"]);
    step_refuses("  comand: [x]\n", &["4:3 V02"]);
    step_refuses("  on: {sucess: {goto: A}}\n", &["4:8 V02"]);
    step_refuses(
        "  when: {equals: {left: a, right: b, mid: c}}\n",
        &["4:38 V02"],
    );
    refuses(
        &format!("providers: {{p: {{command: [a], default: {{}}}}}}\n{STEP}"),
        &["1:31 V02"],
    );
    step_accepts("  x-note: {any: [thing]}\n");
    accepts(&format!("{STEP}x-owner: me\n"));
}

#[test]
fn v02_names_the_key_that_was_meant() {
    let problems = read(&format!("{STEP}  comand: [x]\n")).unwrap_err();
    assert_eq!(
        problems[0].to_string(),
        "flow.yaml:4:3: V02: unknown key `comand` in step `A`"
    );
    assert_eq!(problems[0].hint.as_deref(), Some("did you mean `command`?"));
}

#[test]
fn v03_values_of_a_wrong_type() {
    refuses("steps: {a: 1}\n", &["1:8 V03"]);
    refuses("steps: [a]\n", &["1:9 V03"]);
    refuses(&format!("{STEP}strict_flow: yes\n"), &["4:14 V03"]);
    refuses(&format!("name: Null\n{STEP}"), &["1:7 V03"]);
    refuses(&format!("context: [a]\n{STEP}"), &["1:10 V03"]);
    step_refuses("  env: {A: [x]}\n", &["4:12 V03"]);
    step_refuses("  timeout_sec: 1s\n", &["4:16 V03"]);
    step_refuses("  max_visits: 1.5\n", &["4:15 V03"]);
    step_refuses("  output_capture: line\n", &["4:19 V03"]);
    step_refuses("  on: {success: {}}\n", &["4:8 V03"]);
    refuses("steps: [{name: A, command: []}]\n", &["1:28 V03"]);
    refuses("steps: [{name: A, command: [[a]]}]\n", &["1:29 V03"]);
    refuses("steps: [{name: A, command: \"a 'b\"}]\n", &["1:28 V03"]);
    refuses("steps: [{name: A, command: ''}]\n", &["1:28 V03"]);
    refuses(
        "steps: [{name: A, wait_for: {poll_ms: 10}}]\n",
        &["1:19 V03"],
    );
    accepts("version: 1.1\nname: 7\nsteps: [{name: 1, command: [sleep, 1, true]}]\n");
    step_accepts("  env: {A: 1, B: true}\n  timeout_sec: 0.5\n  retries: 3\n");
}

#[test]
fn v03_integers_that_no_number_can_hold() {
    const LONG: &str = "18446744073709551616";
    refuses(
        &format!("context: {{a: 1, b: [{LONG}, {{c: -{LONG}}}]}}\n{STEP}"),
        &["1:21 V03", "1:47 V03"],
    );
    for data in [
        "steps: [{name: A, provider: codex, input_file: p, provider_params: {a: LONG}}]",
        "steps: [{name: A, provider: p}]\nproviders: {p: {command: [a], defaults: {a: [LONG]}}}",
        "steps: [{name: L, for_each: {items: [LONG], steps: [{name: B, command: [b]}]}}]",
        "steps: [{name: A, workflow: {name: a, task: b, context: {c: LONG}}}]",
    ] {
        let last = data.lines().last().unwrap();
        let place = (data.lines().count(), last.find("LONG").unwrap() + 1);
        let expected = format!("{}:{} V03", place.0, place.1);
        refuses(&data.replace("LONG", LONG), &[&expected]);
    }
    // Only decimal digits are the text of a number.
    step_refuses("  env: {A: 0x10000000000000000}\n", &["4:12 V03"]);
    accepts(&format!(
        "context: {{a: 18446744073709551615, b: -9223372036854775808, c: '{LONG}', d: 1.5e30}}\n{STEP}"
    ));
    let problems = read(&format!("context: {{a: {LONG}}}\n{STEP}")).unwrap_err();
    assert_eq!(
        lines(&problems),
        format!("flow.yaml:1:14: V03: the integer `{LONG}` has more than 64 bits")
    );
    let hint = format!("write `\"{LONG}\"`: a text keeps all digits");
    assert_eq!(problems[0].hint, Some(hint));
}

#[test]
fn v18_integers_that_no_number_can_hold() {
    let problems = read(&format!("max_transitions: 18446744073709551616\n{STEP}")).unwrap_err();
    assert_eq!(
        lines(&problems),
        "flow.yaml:1:18: V18: `max_transitions` of the workflow must be from 1 to 18446744073709551615, not 18446744073709551616"
    );
    step_refuses("  retries: 18446744073709551616\n", &["4:12 V18"]);
    step_refuses("  timeout_sec: 18446744073709551616\n", &["4:16 V18"]);
}

#[test]
fn v03_says_how_a_null_is_meant_as_text() {
    let problems = read(&format!("name: Null\n{STEP}")).unwrap_err();
    let hint = problems[0].hint.as_deref();
    assert_eq!(hint, Some("write `\"Null\"` if it is meant as text"));
}

#[test]
fn v04_lists_without_steps() {
    refuses("name: x\n", &["1:1 V04"]);
    refuses("steps: []\n", &["1:8 V04"]);
    refuses("steps:\n", &["1:6 V04"]);
    refuses(
        "steps: [{name: A, for_each: {items: [1]}}]\n",
        &["1:19 V04"],
    );
    refuses(
        "steps: [{name: A, for_each: {items: [1], steps: []}}]\n",
        &["1:49 V04"],
    );
    accepts(STEP);
}

#[test]
fn v05_names_of_steps_and_secrets() {
    let named = |name: &str| format!("steps:\n- name: {name}\n  command: [a]\n");
    for name in [
        "_end",
        "-a",
        "a/b",
        "' a'",
        "'a '",
        "a.",
        "ä",
        "''",
        "a\u{2028}b",
    ] {
        refuses(&named(name), &["2:9 V05"]);
    }
    refuses(&named(&"x".repeat(101)), &["2:9 V05"]);
    for name in ["A", "a b", "a.b-c_d", "0", "lifecycle", &"x".repeat(100)] {
        accepts(&named(name));
    }
    refuses("steps: [{command: [a]}]\n", &["1:9 V05"]);
    refuses(&format!("{STEP}- name: A\n  command: [b]\n"), &["4:9 V05"]);
    step_refuses("  secrets: [A-B, 1X]\n", &["4:13 V05", "4:18 V05"]);
    step_accepts("  secrets: [_A1, B]\n");
    step_refuses("  env: {A=B: x}\n", &["4:9 V05"]);
}

#[test]
fn v05_names_in_loops() {
    let body = |name: &str| {
        format!(
            "steps:\n- name: L\n  for_each: {{items: [], steps: [{{name: {name}, command: [a]}}]}}\n"
        )
    };
    refuses(&body("lifecycle"), &["3:40 V05"]);
    accepts(&body("L"));
    let nested = |length: usize| {
        let (outer, inner) = ("o".repeat(length), "i".repeat(92));
        format!(
            "steps:\n- name: {outer}\n  for_each: {{items: [], steps: [{{name: {inner}, command: [a]}}]}}\n"
        )
    };
    // 100 + 7 + 1 + 92 bytes.
    accepts(&nested(100));
    let inner = nested(100).replace(&"i".repeat(92), &"i".repeat(93));
    refuses(&inner, &["3:40 V05"]);
}

#[test]
fn v06_keys_that_exclude_each_other() {
    step_refuses("  wait_for: {glob: a}\n", &["4:3 V06"]);
    step_refuses("  provider: claude\n  input_file: a\n", &["4:3 V06"]);
    step_refuses("  allow_parse_error: true\n", &["4:3 V06"]);
    refuses("steps: [{name: A}]\n", &["1:9 V06"]);
    refuses(
        "steps: [{name: A, wait_for: {glob: a}, timeout_sec: 1}]\n",
        &["1:40 V06"],
    );
    accepts("steps: [{name: A, provider: claude, command_override: [a]}]\n");
    step_accepts("  allow_parse_error: false\n");
    step_accepts("  output_capture: json\n  allow_parse_error: true\n");
}

/// Checks a file of one step `A` that starts a workflow and has more keys, from column 57 on.
#[track_caller]
fn with_workflow(more: &str, expected: &[&str]) {
    let text = format!("steps: [{{name: A, workflow: {{name: review, task: look}}, {more}}}]\n");
    refuses(&text, expected);
}

#[test]
fn v06_keys_that_a_step_with_a_workflow_cannot_have() {
    for more in [
        "timeout_sec: 1",
        "retries: 1",
        "input_file: a",
        "output_file: a",
        "env: {A: b}",
        "secrets: [A]",
        "allow_parse_error: false",
        "provider_params: {}",
        "output_capture: text",
        "output_capture: lines",
    ] {
        with_workflow(more, &["1:57 V06"]);
    }
    for other in [
        "command: [a]",
        "provider: claude",
        "command_override: [a]",
        "wait_for: {glob: a}",
        "for_each: {items: [1], steps: [{name: B, command: [b]}]}",
    ] {
        with_workflow(other, &["1:19 V06"]);
    }
    accepts("steps: [{name: A, workflow: {name: a, task: b}, output_capture: json}]\n");
}

#[test]
fn workflows_that_a_step_cannot_start() {
    let called = |call: &str| format!("steps: [{{name: A, workflow: {call}}}]\n");
    refuses(&called("review"), &["1:29 V03"]);
    refuses(&called("{}"), &["1:19 V03", "1:19 V03"]);
    refuses(&called("{name: a}"), &["1:19 V03"]);
    refuses(&called("{name: a, task: ' '}"), &["1:45 V03"]);
    refuses(&called("{name: a, task: [b]}"), &["1:45 V03"]);
    refuses(&called("{name: a, task: b, context: [c]}"), &["1:57 V03"]);
    refuses(&called("{name: a, task: b, prompt: c}"), &["1:48 V02"]);
    for name in ["/a.yaml", "../a.yaml", "a/../../b.yaml", "''"] {
        let text = called(&format!("{{name: {name}, task: b}}"));
        refuses(&text, &["1:36 V11"]);
    }
    refuses(&called("{name: a, task: '${env.X}'}"), &["1:45 V08"]);
    refuses(&called("{name: a, task: '${PROMPT}'}"), &["1:45 V13"]);
    let nested = "{name: a, task: b, context: {c: [{d: '${steps.No.output}'}]}}";
    refuses(&called(nested), &["1:66 V10"]);
}

#[test]
fn v18_numbers_out_of_range() {
    step_refuses("  timeout_sec: 0\n", &["4:16 V18"]);
    step_refuses("  timeout_sec: -1\n", &["4:16 V18"]);
    step_refuses("  timeout_sec: 2678401\n", &["4:16 V18"]);
    step_accepts("  timeout_sec: 2678400\n");
    step_refuses("  retries: 101\n", &["4:12 V18"]);
    step_refuses("  retries: {max: 1, delay_ms: -1}\n", &["4:31 V18"]);
    step_accepts("  retries: {max: 100, delay_ms: 0}\n");
    step_refuses("  max_visits: 0\n", &["4:15 V18"]);
    refuses(&format!("max_transitions: 0\n{STEP}"), &["1:18 V18"]);
    let wait = |more: &str| format!("steps: [{{name: A, wait_for: {{glob: a, {more}}}}}]\n");
    refuses(&wait("poll_ms: 9"), &["1:48 V18"]);
    refuses(&wait("min_count: 0"), &["1:50 V18"]);
    refuses(&wait("timeout_sec: 0"), &["1:52 V18"]);
    accepts(&wait("poll_ms: 10, min_count: 1, timeout_sec: 0.001"));
}

#[test]
fn v19_conditions_that_are_not_exactly_one() {
    step_refuses("  when: {}\n", &["4:3 V19"]);
    step_refuses("  when: {exists: a, not_exists: b}\n", &["4:3 V19"]);
    step_refuses("  when: {equals: {left: a}}\n", &["4:10 V19"]);
    step_accepts("  when: {exists: 'a/*'}\n");
    step_accepts("  when: {equals: {left: 1, right: true}}\n");
}

#[test]
fn v20_later_versions() {
    refuses(&format!("version: 2\n{STEP}"), &["1:10 V20"]);
    refuses(&format!("version: '1.2'\n{STEP}"), &["1:10 V20"]);
    let inject = "  depends_on: {required: [a], inject: list}\n";
    step_refuses(inject, &["4:31 V20", "4:31 W04"]);
    accepts(&format!("version: 1.1.1\n{STEP}{inject}"));
    for version in ["1.0", "1.1", "1.1.1"] {
        accepts(&format!("version: {version}\n{STEP}"));
    }
}

#[test]
fn all_problems_come_at_once_sorted_by_place() {
    let text = "stepz: 1\nmax_transitions: 0\nsteps:\n- name: A\n  command: ['${env.X}', '${x y}']\n  on: {success: {goto: Nowhere}}\n- name: A\n  provider: nobody\n";
    refuses(
        text,
        &[
            "1:1 V02", "2:18 V18", "5:13 V08", "5:25 V09", "6:24 V07", "7:9 V05", "8:13 V12",
        ],
    );
}
