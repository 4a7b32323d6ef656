//! Secrets: they must be there, and what we write does not show them.

use uwf_pipeline::ErrorKind;
use uwf_pipeline::course::RunTask;
use uwf_runner::OutputText;

use crate::steps::{Steps, command, into_file, sh};

const SECRET: &str = "s3cr3tvalue";

fn steps() -> Steps {
    let mut steps = Steps::new();
    steps.ours.push(("TOK".into(), SECRET.into()));
    steps.ours.push(("EMPTY".into(), "".into()));
    steps.secrets = vec![SECRET.into()];
    steps
}

fn with_secrets(names: &[&str], task: RunTask) -> RunTask {
    RunTask {
        secrets: names.iter().map(|name| (*name).to_owned()).collect(),
        ..task
    }
}

#[test]
fn all_missing_secrets_are_named_and_nothing_is_started() {
    let steps = steps();
    let task = with_secrets(&["B", "EMPTY", "A", "TOK"], sh("touch started"));
    let error = steps.result(&task).error.unwrap();
    assert_eq!(
        (error.exit_code, error.kind),
        (2, ErrorKind::MissingSecrets)
    );
    assert_eq!(
        error.context["missing_secrets"],
        serde_json::json!(["B", "A"])
    );
    assert!(!steps.world.inside("started").exists());
    let there = with_secrets(&["TOK", "EMPTY"], sh("test \"$TOK\" = s3cr3tvalue"));
    assert_eq!(steps.result(&there).exit_code, 0);
}

#[test]
fn a_secret_stands_in_no_log_result_or_error() {
    let steps = steps();
    let scripts = [
        "echo $TOK; echo $TOK >&2; exit 1",
        "printf $TOK | base64; printf %s $TOK | base64 >&2; exit 1",
        "printf s3cr; printf s3cr >&2; sleep 0.2; echo 3tvalue; echo 3tvalue >&2; exit 1",
        "printf %s $TOK; printf %s $TOK >&2; exit 1",
    ];
    for script in scripts {
        let (result, report) = steps.attempt(&sh(script));
        let shown = format!("{result:?} {report:?}");
        for name in ["stdout", "stderr"] {
            let log = String::from_utf8(steps.log(name).unwrap()).unwrap();
            assert!(
                log.starts_with("***") && !log.contains("s3cr"),
                "{name}: {log}"
            );
        }
        assert!(shown.contains("***") && !shown.contains(SECRET), "{shown}");
        assert!(!shown.contains("czNjcjN0dmFsdWU"), "{shown}");
    }
}

#[test]
fn a_secret_in_an_argument_a_prompt_or_a_path_is_masked() {
    let steps = steps();
    let (_, report) = steps.attempt(&command(&["true", "--token=s3cr3tvalue"]));
    assert_eq!(report.argv, ["true", "--token=***"]);
    steps.world.write("prompt", "use s3cr3tvalue");
    let stdin = uwf_pipeline::InputMode::Stdin;
    let task = crate::steps::provider(&["cat"], stdin, Some("prompt"));
    let (_, report) = steps.attempt(&task);
    assert_eq!(report.prompt.as_deref(), Some("use ***"));
    let task = crate::steps::provider(&["cat"], stdin, Some("s3cr3tvalue"));
    let error = steps.result(&task).error.unwrap();
    assert_eq!(error.message, "there is no `***`");
    assert_eq!(error.context["path"], "***");
}

#[test]
fn an_output_file_is_exact_unless_it_is_to_be_masked() {
    let mut steps = steps();
    let task = into_file("out", sh("printf %s a$TOK"));
    steps.result(&task);
    assert_eq!(steps.world.read("out"), "as3cr3tvalue");
    steps.output_text = OutputText::Masked;
    steps.result(&task);
    assert_eq!(steps.world.read("out"), "a***");
}
