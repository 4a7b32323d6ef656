//! What is said about keys of other programs: which key does the same here, or that nothing does.

use crate::common::{lines, read};

/// Returns a file with one more line in a mapping: `file`, `step`, or the key of one within a step.
fn with(place: &str, line: &str) -> String {
    let step = "steps:\n- name: A\n  command: [a]\n";
    match place {
        "file" => format!("{line}\n{step}"),
        "step" => format!("{step}  {line}\n"),
        "provider" => format!("providers:\n  p:\n    command: [a]\n    {line}\n{step}"),
        "for_each" => {
            "steps:\n- name: A\n  for_each:\n    steps: [{name: B, command: [b]}]\n    items: [1]\n    "
                .to_owned()
                + line
                + "\n"
        }
        "wait_for" => format!("steps:\n- name: A\n  wait_for:\n    glob: a\n    {line}\n"),
        within => format!("{step}  {within}:\n    {line}\n"),
    }
}

/// Returns the hint for an unknown key.
#[track_caller]
fn hint(place: &str, key: &str) -> String {
    let text = with(place, &format!("{key}: x"));
    let problems = read(&text).unwrap_err();
    let told = format!("unknown key `{key}`");
    let problem = problems.iter().find(|it| it.message.contains(&told));
    let problem = problem.unwrap_or_else(|| panic!("{}\n{text}", lines(&problems)));
    problem.hint.clone().unwrap()
}

/// The mapping, its foreign keys, and what a hint for each of them says.
const WORDS: &[(&str, &[&str], &str)] = &[
    (
        "step",
        &["then", "next", "on_success"],
        "`on: {success: {goto: STEP}}`",
    ),
    (
        "step",
        &["on_failure", "on_error"],
        "`on: {failure: {goto: STEP}}`",
    ),
    ("step", &["always"], "`on: {always: {goto: STEP}}`"),
    ("step", &["args"], "`command: [PROGRAM, ARGUMENT]`"),
    (
        "step",
        &["parallel", "concurrency"],
        "steps and items are done one at a time",
    ),
    (
        "step",
        &[
            "allow_failure",
            "continue-on-error",
            "continue_on_error",
            "ignore_errors",
        ],
        "`on: {failure: {goto: STEP}}` with the step that follows; `strict_flow: false`",
    ),
    ("step", &["until", "while"], "with `max_visits: 10`"),
    ("step", &["only"], "`when: {equals: {left: …, right: …}}`"),
    (
        "step",
        &["else"],
        "a step whose `when` does not hold is skipped",
    ),
    (
        "step",
        &["cwd", "workdir", "working-directory"],
        "a step works in the workspace",
    ),
    ("step", &["stderr"], "`logs/STEP.stderr`"),
    (
        "step",
        &["max_attempts"],
        "`retries: {max: 2, delay_ms: 1000}`; the first",
    ),
    ("step", &["interval"], "poll_ms: 500"),
    ("step", &["uses"], "there are no ready-made steps"),
    ("step", &["with"], "`provider_params: {…}`"),
    ("step", &["parameters"], "`provider_params: {model: …}`"),
    ("step", &["var"], "`env: {NAME: VALUE}`"),
    ("step", &["count"], "`for_each: {items: [1, 2, 3]"),
    ("step", &["timeout"], "`timeout_sec: SECONDS`"),
    ("step", &["steps"], "a step has none of its own"),
    ("step", &["comment"], "a comment begins with `#`"),
    (
        "step",
        &["inputs", "outputs", "return"],
        "`${steps.NAME.output}`",
    ),
    ("step", &["end"], "`on: {success: {goto: _end}}`"),
    ("step", &["on_timeout"], "`on: {failure: {goto: STEP}}`"),
    ("step", &["pre", "parent"], "in the order of the file"),
    ("file", &["step", "tasks"], "write `steps`"),
    ("file", &["start"], "the first step"),
    ("when", &["exit_code"], "${steps.NAME.exit_code}"),
    (
        "file",
        &["timeout", "timeout_sec"],
        "`uwf orchestrate run --timeout SECONDS`",
    ),
    ("file", &["env"], "each step has an `env` of its own"),
    (
        "file",
        &["parameters", "var", "args"],
        "`context: {NAME: VALUE}`",
    ),
    (
        "file",
        &["concurrency", "parallel"],
        "steps and items are done one at a time",
    ),
    (
        "file",
        &["continue-on-error", "ignore_errors"],
        "`strict_flow: false`",
    ),
    ("file", &["interval"], "from cron"),
    (
        "file",
        &["cwd", "workdir"],
        "`uwf orchestrate run --workspace DIR`",
    ),
    (
        "file",
        &["uses", "with"],
        "a file cannot include another file",
    ),
    ("file", &["max_attempts"], "each step has `retries:"),
    ("on", &["error", "failed"], "write `failure`"),
    ("on", &["ok"], "write `success`"),
    ("on", &["skipped"], "a skipped step asks no handler"),
    ("when", &["not_equals", "not"], "let a step test it"),
    ("when", &["then", "else"], "`when` only says"),
    ("for_each", &["var", "loop_var"], "write `as: NAME`"),
    ("for_each", &["count"], "write `items: [1, 2, 3]`"),
    (
        "for_each",
        &["parallel", "concurrency"],
        "steps and items are done one at a time",
    ),
    ("wait_for", &["interval"], "write `poll_ms: MILLISECONDS`"),
    ("wait_for", &["count"], "write `min_count: 1`"),
    ("retries", &["count", "max_attempts"], "write `max`"),
    ("retries", &["interval"], "write `delay_ms: MILLISECONDS`"),
    ("provider", &["args"], "`command: [PROGRAM, ARGUMENT]`"),
    ("provider", &["cwd"], "a provider works in the workspace"),
];

#[test]
fn keys_of_other_programs_are_known() {
    for (place, keys, said) in WORDS {
        for key in *keys {
            let hint = hint(place, key);
            assert!(hint.contains(said), "{key} in {place}: {hint}");
        }
    }
}

/// Many hints begin with "write `KEY`". The file is read without "unknown key" when KEY is written so.
#[test]
fn what_a_hint_says_to_write_is_a_key_there() {
    let mut tried = 0;
    for (place, keys, _) in WORDS {
        for key in *keys {
            let hint = hint(place, key);
            let Some((line, _)) = hint
                .strip_prefix("write `")
                .and_then(|it| it.split_once('`'))
            else {
                continue;
            };
            let line = match line.contains(':') {
                true => line.to_owned(),
                false => format!("{line}: 1"),
            };
            if let Err(problems) = read(&with(place, &line)) {
                let all = lines(&problems);
                assert!(!all.contains("unknown key"), "{key} in {place}: {all}");
            }
            tried += 1;
        }
    }
    assert!(tried > 20, "{tried}");
}
