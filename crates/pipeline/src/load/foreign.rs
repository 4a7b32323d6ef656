//! V02: keys of other programs that no single key replaces here, with words that say what does the same, or that nothing does.

/// Words for the keys of one mapping of the format.
struct Mapping {
    /// A key that tells this mapping from the others.
    key: &'static str,
    /// Keys of other programs, with `_` for `-`, and what is said about them.
    words: &'static [(&'static [&'static str], &'static str)],
}

const MAPPINGS: [Mapping; 9] = [
    Mapping {
        key: "max_visits",
        words: OF_STEP,
    },
    Mapping {
        key: "strict_flow",
        words: OF_FILE,
    },
    Mapping {
        key: "input_mode",
        words: OF_PROVIDER,
    },
    Mapping {
        key: "failure",
        words: OF_HANDLERS,
    },
    Mapping {
        key: "goto",
        words: OF_HANDLER,
    },
    Mapping {
        key: "not_exists",
        words: OF_WHEN,
    },
    Mapping {
        key: "items_from",
        words: OF_LOOP,
    },
    Mapping {
        key: "poll_ms",
        words: OF_WAIT,
    },
    Mapping {
        key: "delay_ms",
        words: OF_RETRIES,
    },
];

const ONE_AT_A_TIME: &str = "steps and items are done one at a time; what shall be done side by side is a role with branches in a workflow, which a step starts: `workflow: {name: NAME, task: TEXT}`";
const NO_MACHINES: &str = "every program runs on this machine, in the workspace";
const CONDITION: &str = "write `when: {equals: {left: …, right: …}}`";
const TEST: &str = "let a step test it: `command: [test, …]` with `on: {success: {goto: STEP}, failure: {goto: OTHER}}`";

const OF_STEP: &[(&[&str], &str)] = &[
    (
        &["then", "next", "on_success", "success"],
        "the step below follows; for another one, write `on: {success: {goto: STEP}}`",
    ),
    (
        &[
            "on_failure",
            "on_error",
            "on_timeout",
            "failure",
            "rescue",
            "catch",
        ],
        "write `on: {failure: {goto: STEP}}`",
    ),
    (
        &["always", "finally", "ensure", "on_exit"],
        "write `on: {always: {goto: STEP}}`",
    ),
    (
        &["else", "otherwise"],
        "a step whose `when` does not hold is skipped, and nothing else is done for it; let a step test it: `command: [test, …]` with `on: {success: {goto: STEP}, failure: {goto: OTHER}}`",
    ),
    (
        &["only", "except", "rules", "skip", "skip_if", "run_if"],
        CONDITION,
    ),
    (
        &[
            "allow_failure",
            "continue_on_error",
            "continue_on_failure",
            "ignore_errors",
            "ignore_error",
            "ignore_failure",
            "soft_fail",
            "failed_when",
            "optional",
        ],
        "write `on: {failure: {goto: STEP}}` with the step that follows; `strict_flow: false` at the top of the file is for all steps",
    ),
    (
        &["while", "until", "repeat_until"],
        "let a step test it and lead back: `on: {failure: {goto: STEP}}`, with `max_visits: 10`; `wait_for: {glob: …}` waits for files",
    ),
    (
        &["max_attempts", "max_tries"],
        "write `retries: {max: 2, delay_ms: 1000}`; the first attempt is not counted",
    ),
    (
        &["interval", "delay", "retry_delay", "backoff"],
        "`retries: {max: 2, delay_ms: 1000}` waits before each repeat, `wait_for: {glob: …, poll_ms: 500}` between two looks",
    ),
    (&["sleep", "pause"], "write `command: [sleep, \"5\"]`"),
    (
        &["count", "times", "repeat"],
        "write `for_each: {items: [1, 2, 3], steps: […]}`; for repeats after a failure, `retries: {max: 2}`",
    ),
    (
        &["args", "arguments", "argv", "entrypoint"],
        "the arguments stand behind the program: `command: [PROGRAM, ARGUMENT]`; `provider_params` are for providers",
    ),
    (
        &["with"],
        "what a program gets stands in its `command` or in `env`; a provider has `provider_params: {…}`",
    ),
    (
        &["uses", "action", "plugin", "module"],
        "there are no ready-made steps: `command` runs a program, `workflow: {name: NAME, task: TEXT}` starts a workflow",
    ),
    (
        &["var", "set", "let"],
        "`env: {NAME: VALUE}` sets variables of the environment; `context` of the file has values for `${context.NAME}`",
    ),
    (
        &[
            "cwd",
            "workdir",
            "working_directory",
            "working_dir",
            "dir",
            "directory",
            "chdir",
        ],
        "a step works in the workspace: `command: [\"sh\", \"-c\", \"cd DIR && …\"]`",
    ),
    (
        &["stderr", "error_file", "capture_stderr"],
        "the error output is in `logs/STEP.stderr` of the run's folder; `command: [\"sh\", \"-c\", \"… 2>&1\"]` adds it to the output",
    ),
    (
        &[
            "parallel",
            "concurrency",
            "max_parallel",
            "parallelism",
            "async",
            "background",
        ],
        ONE_AT_A_TIME,
    ),
    (
        &["image", "container", "runs_on", "docker", "host"],
        NO_MACHINES,
    ),
    (
        &["steps", "block", "group"],
        "steps stand under `steps` of the file, or of `for_each`: a step has none of its own",
    ),
    (
        &["comment", "comments", "note", "notes"],
        "a comment begins with `#`; keys that start with `x-` are ignored",
    ),
    (
        &["inputs", "outputs", "return", "returns", "result"],
        "a later step has what this one printed, as `${steps.NAME.output}`",
    ),
    (
        &["end", "stop", "exit"],
        "write `on: {success: {goto: _end}}`",
    ),
    (
        &["pre", "post", "before", "parent", "prev", "previous"],
        "steps are done in the order of the file; `on: {success: {goto: STEP}}` leads to another one",
    ),
    (
        &["commit", "services"],
        "a step does what its `command` says, and nothing else",
    ),
];

const OF_FILE: &[(&[&str], &str)] = &[
    (&["step"], "write `steps`"),
    (
        &["start", "start_at", "entry", "entrypoint"],
        "the first step of the list is done first",
    ),
    (
        &["timeout", "timeout_sec", "timeout_seconds", "time_limit"],
        "a whole run has a time limit with `uwf orchestrate run --timeout SECONDS`; a step has `timeout_sec: SECONDS`",
    ),
    (
        &["env", "environment", "environ"],
        "each step has an `env` of its own; all of them get the environment of `uwf orchestrate run`, too",
    ),
    (
        &["parameters", "args", "arguments", "var"],
        "write `context: {NAME: VALUE}`; `--context NAME=VALUE` changes a value",
    ),
    (
        &[
            "parallel",
            "concurrency",
            "max_parallel",
            "parallelism",
            "strategy",
        ],
        ONE_AT_A_TIME,
    ),
    (
        &[
            "allow_failure",
            "continue_on_error",
            "ignore_errors",
            "on_error",
            "fail_fast",
        ],
        "`strict_flow: false` goes on after failures that have no handler",
    ),
    (
        &["retry", "max_retries", "max_attempts", "attempts"],
        "each step has `retries: {max: 2, delay_ms: 1000}` of its own; `uwf orchestrate run --max-retries N` is for all calls of providers",
    ),
    (
        &[
            "cwd",
            "workdir",
            "working_directory",
            "working_dir",
            "dir",
            "workspace",
        ],
        "`uwf orchestrate run --workspace DIR` names the folder that all steps work in",
    ),
    (
        &["schedule", "cron", "trigger", "triggers", "interval"],
        "nothing starts by itself: call `uwf orchestrate run` from cron; `uwf orchestrate watch` runs again when files change",
    ),
    (
        &[
            "uses", "include", "includes", "import", "imports", "extends", "with",
        ],
        "a file cannot include another file; a step can start a workflow: `workflow: {name: NAME, task: TEXT}`",
    ),
    (&["image", "container", "runs_on", "services"], NO_MACHINES),
    (
        &["model", "models", "agents"],
        "write `providers: {NAME: {command: […]}}`",
    ),
];

const OF_PROVIDER: &[(&[&str], &str)] = &[
    (
        &["args", "arguments", "argv"],
        "the arguments stand behind the program: `command: [PROGRAM, ARGUMENT]`",
    ),
    (
        &["model", "params", "parameters", "with", "provider_params"],
        "write `defaults: {NAME: VALUE}`, and `${NAME}` in `command`",
    ),
    (
        &["cwd", "workdir", "working_directory", "working_dir", "dir"],
        "a provider works in the workspace: `command: [\"sh\", \"-c\", \"cd DIR && …\"]`",
    ),
    (
        &["timeout", "time_limit"],
        "each step has `timeout_sec: SECONDS` of its own",
    ),
    (
        &["concurrency", "parallel", "max_parallel"],
        "`concurrency.maxRunning` of the config limits how many providers run at once",
    ),
];

const OF_HANDLERS: &[(&[&str], &str)] = &[
    (
        &[
            "error",
            "fail",
            "failed",
            "on_failure",
            "on_error",
            "exception",
        ],
        "write `failure`",
    ),
    (
        &["timeout", "timed_out"],
        "write `failure`: a step that took too long has failed, with exit code 124",
    ),
    (
        &["ok", "done", "passed", "succeeded", "on_success"],
        "write `success`",
    ),
    (
        &["finally", "any", "complete", "completed", "default"],
        "write `success` and `failure`; `on` of a step has `always`, too",
    ),
    (
        &["skipped", "skip"],
        "a skipped step asks no handler: the step below follows",
    ),
];

const OF_HANDLER: &[(&[&str], &str)] = &[
    (&["next", "then", "jump"], "write `goto: STEP`"),
    (
        &["stop", "abort", "exit", "fail"],
        "a failure without a handler stops the run; `goto: _end` completes it",
    ),
    (
        &["retry", "retries", "max_attempts"],
        "`retries` is a key of a step",
    ),
];

const OF_WHEN: &[(&[&str], &str)] = &[
    (
        &["exit_code", "status", "code"],
        "write `equals: {left: \"${steps.NAME.exit_code}\", right: 0}`",
    ),
    (
        &["equal", "eq", "is"],
        "write `equals: {left: …, right: …}`",
    ),
    (
        &["file_exists", "file", "path", "glob"],
        "write `exists: PATTERN`",
    ),
    (&["missing", "absent"], "write `not_exists: PATTERN`"),
    (
        &[
            "not_equals",
            "not_equal",
            "ne",
            "neq",
            "not",
            "and",
            "or",
            "all",
            "any",
            "contains",
            "matches",
            "regex",
            "in",
            "gt",
            "lt",
        ],
        TEST,
    ),
    (
        &["then", "else", "otherwise", "goto"],
        "`when` only says whether its step is done or skipped; `on: {success: {goto: STEP}}` of a step leads on",
    ),
];

const OF_LOOP: &[(&[&str], &str)] = &[
    (
        &["var", "variable", "loop_var", "item", "iterator", "alias"],
        "write `as: NAME`",
    ),
    (&["count", "times", "range"], "write `items: [1, 2, 3]`"),
    (
        &[
            "parallel",
            "concurrency",
            "max_parallel",
            "parallelism",
            "batch_size",
        ],
        ONE_AT_A_TIME,
    ),
    (
        &["glob", "files", "pattern"],
        "let a step list the files, with `output_capture: lines`, and write `items_from: steps.NAME.lines`",
    ),
    (
        &["until", "while", "break", "break_if"],
        "a loop has a fixed list of items; a step leads back with `on: {failure: {goto: STEP}}`",
    ),
];

const OF_WAIT: &[(&[&str], &str)] = &[
    (
        &["interval", "interval_ms", "poll", "poll_interval", "delay"],
        "write `poll_ms: MILLISECONDS`",
    ),
    (&["count", "min", "minimum"], "write `min_count: 1`"),
    (
        &["command", "until", "url", "port"],
        "a step waits for files only; a command that fails is done again with `retries: {max: 10, delay_ms: 1000}`",
    ),
];

const OF_RETRIES: &[(&[&str], &str)] = &[
    (
        &[
            "count",
            "times",
            "attempts",
            "max_attempts",
            "max_retries",
            "limit",
        ],
        "write `max`; the first attempt is not counted",
    ),
    (
        &["interval", "delay", "delay_sec", "wait", "backoff", "sleep"],
        "write `delay_ms: MILLISECONDS`",
    ),
    (
        &["on", "when", "if", "exit_codes"],
        "an exit code of 1 and a time-out are repeated, and nothing else",
    ),
];

/// Returns what to say about an unknown key of the mapping with these keys.
pub(super) fn words(key: &str, known: &[&str]) -> Option<&'static str> {
    let key = key.replace('-', "_");
    let mut mappings = MAPPINGS.iter();
    let mapping = mappings.find(|mapping| known.contains(&mapping.key))?;
    let mut words = mapping.words.iter();
    let (_, said) = words.find(|(keys, _)| keys.contains(&&*key))?;
    Some(said)
}
