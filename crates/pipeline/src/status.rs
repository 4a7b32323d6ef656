//! `status/v1`: the file by which an agent tells another what came of its work. Nothing here acts on it.

use serde_json::{Map, Value};
use uwf_util::time::is_rfc3339;

use crate::path_problem;

/// The value of `schema`.
const SCHEMA: &str = "status/v1";
/// The keys that every file has.
const REQUIRED: [&str; 4] = ["schema", "timestamp", "success", "exit_code"];
/// The keys that are texts.
const TEXTS: [&str; 5] = ["correlation_id", "agent", "run_id", "step", "message"];

/// One thing that is wrong with a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusProblem {
    /// The keys that lead to it, such as `outputs[1]`; empty for the file itself.
    pub path: String,
    /// What is wrong, in lower case and without a full stop.
    pub message: String,
}

/// Returns everything that is wrong with a file. Keys that the format does not have are ignored.
#[must_use]
pub fn status_problems(text: &[u8]) -> Vec<StatusProblem> {
    let mut check = Check(Vec::new());
    let text = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text);
    match serde_json::from_slice(text) {
        Ok(Value::Object(status)) => check.status(&status),
        Ok(_) => check.fail("", "it must be one JSON object"),
        Err(error) => check.fail("", format!("it is not JSON: {error}")),
    }
    check.0
}

/// The problems so far.
struct Check(Vec<StatusProblem>);

impl Check {
    fn fail(&mut self, path: &str, message: impl Into<String>) {
        self.0.push(StatusProblem {
            path: path.to_owned(),
            message: message.into(),
        });
    }

    fn status(&mut self, status: &Map<String, Value>) {
        for key in REQUIRED {
            if !status.contains_key(key) {
                self.fail(key, "it is required");
            }
        }
        for (key, value) in status {
            match key.as_str() {
                "schema" if value != SCHEMA => {
                    self.fail(key, format!("it must be `{SCHEMA}`"));
                }
                "timestamp" if !value.as_str().is_some_and(is_rfc3339) => {
                    self.fail(key, "it must be a time such as `2026-11-23T10:30:00Z`");
                }
                "success" if !value.is_boolean() => self.fail(key, "it must be true or false"),
                "exit_code" if !is_integer(value) => self.fail(key, "it must be a whole number"),
                "outputs" => self.list(key, value, Self::path),
                "metrics" => self.metrics(key, value),
                "next_actions" => self.list(key, value, Self::action),
                key if TEXTS.contains(&key) => self.text(key, value),
                _ => {}
            }
        }
    }

    fn text(&mut self, path: &str, value: &Value) {
        if !value.is_string() {
            self.fail(path, "it must be a text");
        }
    }

    fn list(&mut self, path: &str, value: &Value, item: fn(&mut Self, &str, &Value)) {
        let Value::Array(items) = value else {
            return self.fail(path, "it must be a list");
        };
        for (index, value) in items.iter().enumerate() {
            item(self, &format!("{path}[{index}]"), value);
        }
    }

    fn path(&mut self, path: &str, value: &Value) {
        match value.as_str().map(path_problem) {
            None => self.fail(path, "it must be a path"),
            Some(Some(why)) => {
                self.fail(path, format!("it must be a path in the workspace: {why}"));
            }
            Some(None) => {}
        }
    }

    fn metrics(&mut self, path: &str, value: &Value) {
        let Value::Object(metrics) = value else {
            return self.fail(path, "it must be an object of numbers");
        };
        for (name, value) in metrics {
            if !value.is_number() {
                self.fail(&format!("{path}.{name}"), "it must be a number");
            }
        }
    }

    fn action(&mut self, path: &str, value: &Value) {
        let (Some(agent), Some(file)) = (value.get("agent"), value.get("file")) else {
            return self.fail(path, "it must have an `agent` and a `file`");
        };
        self.text(&format!("{path}.agent"), agent);
        self.path(&format!("{path}.file"), file);
    }
}

fn is_integer(value: &Value) -> bool {
    value.is_i64() || value.is_u64()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn problems(status: &Value) -> Vec<String> {
        let problems = status_problems(status.to_string().as_bytes());
        problems.into_iter().map(|problem| problem.path).collect()
    }

    #[test]
    fn the_example_of_the_specification_has_no_problem() {
        let status = json!({
            "schema": "status/v1", "correlation_id": "x", "agent": "engineer", "run_id": "uuid", "step": "ImplementFeature",
            "timestamp": "2025-01-15T10:30:00Z", "success": true, "exit_code": 0, "outputs": ["artifacts/implementation.py"],
            "metrics": {"files_modified": 3, "lines_added": 150.5},
            "next_actions": [{"agent": "qa", "file": "inbox/qa/review_implementation.task"}],
            "message": "Feature implemented successfully", "x-more": null,
        });
        assert_eq!(problems(&status), [""; 0]);
    }

    #[test]
    fn all_violations_are_told_at_once() {
        assert_eq!(
            problems(&json!({})),
            ["schema", "timestamp", "success", "exit_code"]
        );
        let status = json!({
            "schema": "status/v2", "timestamp": "yesterday", "success": "yes", "exit_code": 1.5, "agent": 7,
            "outputs": ["ok", "/abs", "../up", 7], "metrics": {"a": "1"},
            "next_actions": [{"agent": "qa"}, {"agent": 1, "file": "/x"}], "message": null,
        });
        let expected = [
            "schema",
            "timestamp",
            "success",
            "exit_code",
            "agent",
            "outputs[1]",
            "outputs[2]",
            "outputs[3]",
            "metrics.a",
            "next_actions[0]",
            "next_actions[1].agent",
            "next_actions[1].file",
            "message",
        ];
        assert_eq!(problems(&status), expected);
        assert_eq!(problems(&json!([])), [""]);
        assert_eq!(status_problems(b"{").len(), 1);
    }
}
