//! The checks of a role: commands that must succeed before an answer counts, and what came of them.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use uwf_util::shell_words;
use uwf_util::text::counted;

use crate::answer::STATUS_FIELD;
use crate::ids::{CasRef, RoleName, Status};
use crate::limits::Span;
use crate::workflow::{Edges, NodeName, Workflow};

/// The status of a step whose checks failed to the end, if the role has an edge for it.
pub const CHECKS_FAILED: &str = "checks-failed";
/// How often an agent may correct its work if the workflow does not say it.
pub const ATTEMPTS: u32 = 2;
/// The largest number of corrections.
pub const MAX_ATTEMPTS: u32 = 100;
/// How long a check may run if the workflow does not say it, in milliseconds.
pub const TIMEOUT_MS: u64 = 10 * 60 * 1000;

/// The checks of a role.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checks {
    /// The commands, in the order in which they run. There is at least one.
    pub run: Vec<Check>,
    /// How often failed checks go back to the agent.
    pub attempts: u32,
}

/// One check: a command that must end with exit code 0.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// Its name, which no other check of the role has.
    pub name: String,
    /// The program and its arguments. There is no shell in between.
    pub command: Vec<String>,
    /// How long it may run, if the workflow says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Span>,
    /// The files that must stay as they were when the thread started; `None` means those that the command names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<Vec<String>>,
}

/// A file of a check, as it was when the thread started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PinnedFile {
    /// Its path, as the workflow writes it. A relative one starts at the directory of the thread.
    pub path: String,
    /// The SHA-256 checksum of its content.
    pub sha256: String,
}

/// What came of a check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CheckResult {
    /// The check.
    pub name: String,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Why it did not pass; `None` if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// The exit code, if the program ran and ended by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// How long it ran.
    pub duration_ms: u64,
    /// The end of what it printed, on both of its outputs.
    pub output: String,
    /// The text node with more of what it printed, if that is longer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub more_output: Option<CasRef>,
}

impl Check {
    /// Returns how long it may run, in milliseconds.
    #[must_use]
    pub fn timeout_ms(&self) -> u64 {
        self.timeout.map_or(TIMEOUT_MS, Span::ms)
    }

    /// Returns the command as one line.
    #[must_use]
    pub fn line(&self) -> String {
        line(&self.command)
    }

    /// Returns what may be the path of a file that belongs to the check: what `files` lists, or else the program, if it is a
    /// path, and every argument that is no option.
    #[must_use]
    pub fn paths(&self) -> Vec<&str> {
        if let Some(files) = &self.files {
            return files.iter().map(String::as_str).collect();
        }
        let program = self.command.first().filter(|word| word.contains('/'));
        let arguments = self.command.iter().skip(1);
        let arguments = arguments.filter(|word| !word.is_empty() && !word.starts_with('-'));
        program
            .into_iter()
            .chain(arguments)
            .map(String::as_str)
            .collect()
    }
}

impl CheckResult {
    /// Tells whether the check passed.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.problem.is_none()
    }

    /// Returns a note for people, such as "2 checks passed" or "check `tests` failed: exit code 1"; `None` without checks.
    #[must_use]
    pub fn note(results: &[Self]) -> Option<String> {
        let failed: Vec<&Self> = results.iter().filter(|one| !one.passed()).collect();
        match (failed.as_slice(), results.len()) {
            ([], 0) => None,
            ([], passed) => Some(format!("{} passed", counted(passed, "check"))),
            ([one], _) => {
                let problem = one.problem.as_deref().unwrap_or_default();
                Some(format!("check `{}` failed: {problem}", one.name))
            }
            (several, all) => {
                let names: Vec<String> = several
                    .iter()
                    .map(|one| format!("`{}`", one.name))
                    .collect();
                let failed = several.len();
                Some(format!(
                    "{failed} of {all} checks failed: {}",
                    names.join(", ")
                ))
            }
        }
    }

    /// Returns one line about the check, such as "`tests` failed: exit code 1 (12.0s)".
    #[must_use]
    pub fn summary(&self) -> String {
        let took = uwf_util::time::format_duration(self.duration_ms);
        match &self.problem {
            None => format!("`{}` passed ({took})", self.name),
            Some(problem) => format!("`{}` failed: {problem} ({took})", self.name),
        }
    }

    /// Tells whether these are results of exactly these checks.
    #[must_use]
    pub fn are_of(results: &[Self], checks: &[Check]) -> bool {
        let is_of = |(result, check): (&Self, &Check)| {
            (&result.name, &result.command) == (&check.name, &check.command)
        };
        results.len() == checks.len() && results.iter().zip(checks).all(is_of)
    }
}

/// Returns a command as one line, as a shell reads it.
#[must_use]
pub fn line(command: &[String]) -> String {
    shell_words::join(command.iter().map(String::as_str))
}

/// Tells whether the graph has an edge for a role whose checks failed.
#[must_use]
pub fn has_edge<S>(workflow: &Workflow<S>, role: &RoleName) -> bool {
    match workflow.graph.get(&NodeName::Role(role.clone())) {
        Some(Edges::ByStatus(targets)) => targets.contains_key(&Status::new(CHECKS_FAILED)),
        Some(Edges::InOrder(_)) | None => false,
    }
}

/// Returns the output of a step whose checks failed: the failed ones, and the data that the agent answered.
#[must_use]
pub fn failed_output(results: &[CheckResult], answer: &Value) -> Value {
    let failed = results.iter().filter(|result| !result.passed());
    let failed = failed.map(|result| {
        json!({
            "name": result.name,
            "command": line(&result.command),
            "problem": result.problem.clone().unwrap_or_default(),
            "output": result.output,
        })
    });
    json!({ STATUS_FIELD: CHECKS_FAILED, "failed": failed.collect::<Value>(), "answer": answer })
}

/// Returns the schema of [`failed_output`]. `answer` is the schema of the role's data.
#[must_use]
pub fn schema_of_failed(answer: &Value) -> Value {
    let text = json!({ "type": "string" });
    json!({
        "title": "uwf checks failed",
        "type": "object",
        "required": [STATUS_FIELD, "failed", "answer"],
        "additionalProperties": false,
        "properties": {
            STATUS_FIELD: { "type": "string", "enum": [CHECKS_FAILED] },
            "failed": {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["name", "command", "problem", "output"],
                    "additionalProperties": false,
                    "properties": { "name": text, "command": text, "problem": text, "output": text },
                },
            },
            "answer": answer,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(command: &[&str]) -> Check {
        Check {
            name: "tests".to_owned(),
            command: command.iter().map(|word| (*word).to_owned()).collect(),
            timeout: None,
            files: None,
        }
    }

    fn result(name: &str, problem: Option<&str>) -> CheckResult {
        CheckResult {
            name: name.to_owned(),
            command: vec!["cargo".to_owned(), "test".to_owned()],
            problem: problem.map(str::to_owned),
            exit_code: Some(i32::from(problem.is_some())),
            duration_ms: 12_000,
            output: String::new(),
            more_output: None,
        }
    }

    #[test]
    fn a_check_names_its_program_if_that_is_a_path_and_its_arguments() {
        assert_eq!(check(&["cargo", "test", "--all"]).paths(), ["test"]);
        assert_eq!(
            check(&["./ci/check.sh", "-x", "a/b"]).paths(),
            ["./ci/check.sh", "a/b"]
        );
        let listed = Check {
            files: Some(vec!["rules".to_owned()]),
            ..check(&["./ci/check.sh"])
        };
        assert_eq!(listed.paths(), ["rules"]);
    }

    #[test]
    fn a_note_names_what_failed() {
        let note = |results: &[CheckResult]| CheckResult::note(results);
        assert_eq!(note(&[]), None);
        assert_eq!(note(&[result("a", None)]).unwrap(), "1 check passed");
        let failed = result("a", Some("exit code 1"));
        assert_eq!(
            note(&[failed.clone(), result("b", None)]).unwrap(),
            "check `a` failed: exit code 1"
        );
        assert_eq!(
            note(&[failed.clone(), result("b", Some("x"))]).unwrap(),
            "2 of 2 checks failed: `a`, `b`"
        );
        assert_eq!(failed.summary(), "`a` failed: exit code 1 (12.0s)");
    }

    #[test]
    fn results_belong_to_the_same_names_and_commands_only() {
        let tests = [check(&["cargo", "test"])];
        let good = [result("tests", None)];
        assert!(CheckResult::are_of(&good, &tests));
        assert!(!CheckResult::are_of(&[], &tests));
        assert!(!CheckResult::are_of(&[result("other", None)], &tests));
        assert!(!CheckResult::are_of(&good, &[check(&["true"])]));
    }

    #[test]
    fn the_output_of_failed_checks_fits_its_schema() {
        let results = [result("a", Some("exit code 1")), result("b", None)];
        let output = failed_output(&results, &json!({ "note": "x" }));
        assert_eq!(output["failed"].as_array().unwrap().len(), 1);
        let schema = schema_of_failed(&json!({ "type": "object" }));
        let validator = uwf_schema::Validator::new(&schema).unwrap();
        assert_eq!(validator.validate(&output), Ok(()));
    }
}
