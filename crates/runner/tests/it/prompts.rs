//! What a program gets as its prompt, and which files it needs before.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use uwf_pipeline::course::{Dependencies, RunTask};
use uwf_pipeline::{Captured, ErrorKind, Inject, InputMode, StepResult};

use crate::steps::{Steps, provider, sh};

const ARGV: InputMode = InputMode::Argv;
const STDIN: InputMode = InputMode::Stdin;

fn output(result: StepResult) -> String {
    match result.captured {
        Some(Captured::Text { output, .. }) => output,
        other => panic!("{other:?}, {:?}", result.error),
    }
}

#[test]
fn a_prompt_is_the_file_unchanged() {
    let steps = Steps::new();
    steps.world.write("prompt", "a \"b\" $(c)\n\n");
    let (result, report) =
        steps.attempt(&provider(&["printf", "%s", "PROMPT"], ARGV, Some("prompt")));
    assert_eq!(output(result), "a \"b\" $(c)\n\n");
    assert_eq!(report.reads, ["prompt"]);
    assert_eq!(report.prompt.as_deref(), Some("a \"b\" $(c)\n\n"));
    let result = steps.result(&provider(&["cat"], STDIN, Some("prompt")));
    assert_eq!(output(result), "a \"b\" $(c)\n\n");
    steps.world.write("prompt", "");
    let words = ["printf", "<%s>", "PROMPT"];
    assert_eq!(
        output(steps.result(&provider(&words, ARGV, Some("prompt")))),
        "<>"
    );
    assert_eq!(output(steps.result(&provider(&words, ARGV, None))), "<>");
}

#[test]
fn a_large_prompt_is_refused_as_an_argument_and_fine_on_stdin() {
    let steps = Steps::new();
    for (bytes, code) in [(131_071, 0), (131_072, 2), (3_000_000, 2)] {
        steps.world.write("prompt", "x".repeat(bytes));
        let result = steps.result(&provider(&["true", "PROMPT"], ARGV, Some("prompt")));
        assert_eq!(result.exit_code, code, "{bytes}");
        if let Some(error) = result.error {
            assert_eq!(error.kind, ErrorKind::ArgumentTooLong);
            assert_eq!(error.context["hint"], "input_mode: stdin");
        }
    }
    steps.world.write("prompt", "x".repeat(16 << 20));
    let result = steps.result(&provider(&["wc", "-c"], STDIN, Some("prompt")));
    assert_eq!(output(result).trim(), "16777216");
    // A program need not read it.
    let result = steps.result(&provider(&["true"], STDIN, Some("prompt")));
    assert_eq!(result.exit_code, 0);
    steps.world.write("prompt", "x".repeat((16 << 20) + 1));
    let (code, kind, _) = steps.failure(&provider(&["true"], STDIN, Some("prompt")));
    assert_eq!((code, kind), (2, ErrorKind::InputFileError));
}

#[test]
fn arguments_that_are_too_long_together_are_refused() {
    let steps = Steps::new();
    let long = "x".repeat(130_000);
    let words: Vec<&str> = std::iter::once("true")
        .chain(std::iter::repeat_n(&*long, 60))
        .collect();
    let (code, kind, _) = steps.failure(&crate::steps::command(&words));
    assert_eq!((code, kind), (2, ErrorKind::ArgumentTooLong));
}

#[test]
fn a_prompt_that_cannot_be_read_starts_nothing() {
    let steps = Steps::new();
    fs::create_dir(steps.world.inside("folder")).unwrap();
    steps.world.write("bytes", b"\xff");
    let secret = steps.world.outside("secret");
    fs::write(&secret, "secret").unwrap();
    steps.world.link("link", secret);
    for (file, expected) in [
        ("missing", ErrorKind::InputFileError),
        ("folder", ErrorKind::InputFileError),
        ("bytes", ErrorKind::InputFileError),
        ("link", ErrorKind::PathViolation),
        ("../outside/secret", ErrorKind::PathViolation),
    ] {
        let task = provider(&["touch", "started", "PROMPT"], ARGV, Some(file));
        let (code, kind, message) = steps.failure(&task);
        assert_eq!((code, kind), (2, expected), "{message}");
    }
    assert!(!steps.world.inside("started").exists());
    let result = steps.result(&provider(&["wc", "-c"], STDIN, Some("bytes")));
    assert_eq!(output(result).trim(), "1");
}

#[test]
fn a_prompt_without_permission_is_refused() {
    let steps = Steps::new();
    steps.world.write("prompt", "x");
    let path = steps.world.inside("prompt");
    fs::set_permissions(&path, PermissionsExt::from_mode(0o000)).unwrap();
    // A user with all capabilities may read everything.
    if fs::read(&path).is_err() {
        let (code, kind, _) = steps.failure(&provider(&["cat"], STDIN, Some("prompt")));
        assert_eq!((code, kind), (2, ErrorKind::InputFileError));
    }
}

fn depending(required: &[&str], optional: &[&str], inject: Inject) -> Dependencies {
    let owned = |globs: &[&str]| globs.iter().map(|glob| (*glob).to_owned()).collect();
    Dependencies {
        required: owned(required),
        optional: owned(optional),
        inject,
    }
}

#[test]
fn files_that_a_step_depends_on_must_be_there() {
    let steps = Steps::new();
    let task = |required: &[&str], optional: &[&str]| RunTask {
        depends_on: depending(required, optional, Inject::None),
        ..sh("touch started")
    };
    let error = steps
        .result(&task(&["in/*.md", "closed", "x"], &[]))
        .error
        .unwrap();
    assert_eq!((error.exit_code, error.kind), (2, ErrorKind::FailedDeps));
    assert_eq!(error.message, "no file matches `in/*.md`, `x`");
    assert_eq!(
        error.context["required"],
        serde_json::json!(["in/*.md", "x"])
    );
    assert!(!steps.world.inside("started").exists());
    steps.world.write("in/b.md", "");
    steps.world.write("in/a.md", "");
    let (result, report) = steps.attempt(&task(&["in/*.md"], &["in/*", "none/*"]));
    assert_eq!(result.exit_code, 0);
    assert_eq!(report.reads, ["in/a.md", "in/b.md"]);
}

#[test]
fn a_prompt_names_or_contains_the_files() {
    let steps = Steps::new();
    steps.world.write("in/a", "content of a");
    steps.world.write("in/b/c", "");
    steps.world.write("prompt", "Do it.");
    let prompt = |inject| {
        let task = RunTask {
            depends_on: depending(&["in/*"], &[], inject),
            ..provider(&["cat"], STDIN, Some("prompt"))
        };
        let (result, report) = steps.attempt(&task);
        assert_eq!(report.reads, ["in/a", "in/b", "prompt"]);
        output(result)
    };
    assert_eq!(prompt(Inject::None), "Do it.");
    let list = "The files for this task:\n- in/a\n- in/b\n\nDo it.";
    assert_eq!(prompt(Inject::List), list);
    let content = "=== in/a ===\ncontent of a\n=== in/b ===\n\nDo it.";
    assert_eq!(prompt(Inject::Content), content);
    steps.world.write("in/a", "ü".repeat(200_000));
    let (task, _) = steps.attempt(&RunTask {
        depends_on: depending(&["in/*"], &[], Inject::Content),
        ..provider(&["wc", "-c"], STDIN, Some("prompt"))
    });
    let bytes: usize = output(task).trim().parse().unwrap();
    assert!((256 * 1024..257 * 1024).contains(&bytes), "{bytes}");
}
