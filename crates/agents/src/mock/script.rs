//! The script of the mock agent: its answers by visit of a role, or by position in the thread.
//!
//! ```yaml
//! roles:                  # or `steps:`, a list of entries that each say their `role`
//!   writer:               # one entry for each visit; the last one repeats
//!     - output: { $status: done, text: first }
//!       body: The Markdown after the front matter.
//!     - output: the whole answer as text
//!       corrections: [{ $status: done }]  # when the kit asks again, in turn
//!       continued: { $status: done }      # when a later process goes on with the session
//!     - { exit: 3, stderr: out of money, sleepMs: 10, usage: { inputTokens: 90, costUsd: 0.2 } }
//!     - { exit: 1, class: rate-limit, retryAfterMs: 500, failures: 2, output: { $status: done } }
//!     - { output: { $status: done }, model: gpt-5, usage: { inputTokens: 90, outputTokens: 7 } }
//! ```
//!
//! A recording is a script, too: see [`crate::recording`].

use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::Value;
use uwf_agent_kit::Task;
use uwf_protocol::failure::FailureClass;
use uwf_protocol::nodes::Usage;

use crate::answer;
use crate::recording::Recorded;

/// A script. It has either roles, steps, or a recording.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Script {
    #[serde(default)]
    roles: IndexMap<String, Vec<Entry>>,
    #[serde(default)]
    steps: Vec<Entry>,
    /// What agents answered in real runs.
    #[serde(default)]
    pub(super) recording: Vec<Recorded>,
    /// Whether an instruction that is not the recorded one is a failure.
    #[serde(default)]
    pub(super) strict: bool,
}

/// What happens on one visit.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Entry {
    /// The role of the step; only under `steps`.
    role: Option<String>,
    output: Option<Output>,
    /// The Markdown after an `output` that is a mapping.
    #[serde(default)]
    body: String,
    /// The exit code; an answer is given only with 0.
    #[serde(default)]
    pub(super) exit: u8,
    /// The class of the failure.
    pub(super) class: Option<FailureClass>,
    /// How long the provider is said to ask to wait, in milliseconds.
    pub(super) retry_after_ms: Option<u64>,
    /// How many attempts at the step fail with the exit code before one answers; all of them if absent.
    failures: Option<usize>,
    /// How long the answer takes, in milliseconds.
    #[serde(default)]
    pub(super) sleep_ms: u64,
    /// What is printed on stderr.
    #[serde(default)]
    pub(super) stderr: String,
    #[serde(default)]
    corrections: Vec<Output>,
    continued: Option<Output>,
    /// The model that is said to have answered.
    pub(super) model: Option<String>,
    /// The reported usage of each answer.
    pub(super) usage: Option<Usage>,
}

/// An answer: its text, or the data of its front matter.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Output {
    Text(String),
    Data(serde_json::Map<String, Value>),
}

impl Script {
    /// Reads a script.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut options = serde_saphyr::Options::default();
        options.strict_booleans = true;
        let script: Self = serde_saphyr::from_str_with_options(text, options)
            .map_err(|error| error.to_string())?;
        script.check()?;
        Ok(script)
    }

    fn check(&self) -> Result<(), String> {
        let parts = [
            self.roles.is_empty(),
            self.steps.is_empty(),
            self.recording.is_empty(),
        ];
        if parts.iter().filter(|is_empty| !**is_empty).count() != 1 {
            return Err("it must have either `roles`, `steps` or a `recording`".to_owned());
        }
        if self.strict && self.recording.is_empty() {
            return Err("`strict` belongs to a `recording`".to_owned());
        }
        for (at, recorded) in self.recording.iter().enumerate() {
            if let Some(problem) = recorded.problem() {
                return Err(format!("`recording[{at}]` {problem}"));
            }
        }
        for (role, entries) in &self.roles {
            if entries.is_empty() {
                return Err(format!("`roles.{role}` has no entry"));
            }
            for (at, entry) in entries.iter().enumerate() {
                entry.check(&format!("roles.{role}[{at}]"))?;
                if entry.role.is_some() {
                    return Err(format!(
                        "`roles.{role}[{at}]` has a `role`, which belongs under `steps`"
                    ));
                }
            }
        }
        for (at, entry) in self.steps.iter().enumerate() {
            entry.check(&format!("steps[{at}]"))?;
            if entry.role.is_none() {
                return Err(format!("`steps[{at}]` does not say its `role`"));
            }
        }
        Ok(())
    }

    /// Returns the entry for a task.
    pub(super) fn entry(&self, task: &Task) -> Result<&Entry, String> {
        if self.steps.is_empty() {
            let entries = self.roles.get(task.role.as_str());
            let entries =
                entries.ok_or_else(|| format!("the script has no role `{}`", task.role))?;
            let last = entries.len() - 1;
            return Ok(&entries[index(task.visit).min(last)]);
        }
        let entry = self.steps.get(index(task.step)).ok_or_else(|| {
            format!(
                "the script ends after step {}, this is step {}",
                self.steps.len(),
                task.step
            )
        })?;
        match &entry.role {
            Some(role) if role != task.role.as_str() => Err(format!(
                "the script has `{role}` at step {}, the thread has `{}`",
                task.step, task.role
            )),
            _ => Ok(entry),
        }
    }

    /// Tells whether any entry answers more than once.
    pub(super) fn has_sessions(&self) -> bool {
        let mut entries = self.roles.values().flatten().chain(&self.steps);
        entries.any(Entry::has_session)
    }
}

/// Returns the index of a position that counts from 1.
fn index(position: u64) -> usize {
    usize::try_from(position.saturating_sub(1)).unwrap_or(usize::MAX)
}

impl Entry {
    fn check(&self, place: &str) -> Result<(), String> {
        if self.output.is_none() && self.exit == 0 {
            return Err(format!("`{place}` has neither `output` nor an `exit` code"));
        }
        if self.exit == 0 && (self.class.is_some() || self.failures.is_some()) {
            return Err(format!("`{place}` has no `exit` code, so it does not fail"));
        }
        if self.failures.is_some() && self.output.is_none() {
            return Err(format!(
                "`{place}` has `failures` and no `output` after them"
            ));
        }
        if !self.body.is_empty() && !matches!(self.output, Some(Output::Data(_))) {
            return Err(format!(
                "`{place}` has a `body` without an `output` that is a mapping"
            ));
        }
        Ok(())
    }

    /// Returns the exit code of an attempt that follows so many failed ones; 0 if it answers.
    pub(super) fn exit_after(&self, failed: impl FnOnce() -> usize) -> u8 {
        match self.failures {
            Some(failures) if failed() >= failures => 0,
            Some(_) | None => self.exit,
        }
    }

    /// Tells whether the agent can be asked again.
    pub(super) fn has_session(&self) -> bool {
        !self.corrections.is_empty() || self.continued.is_some()
    }

    /// Returns the answer to the prompt.
    pub(super) fn answer(&self) -> Option<String> {
        self.output.as_ref().map(|output| output.render(&self.body))
    }

    /// Returns the answer to another message, after so many answers of this process. The last one repeats.
    pub(super) fn next_answer(&self, answers: usize) -> Option<String> {
        let last = self.corrections.last();
        let output = match answers.checked_sub(1) {
            None => self.continued.as_ref().or(last),
            Some(at) => self.corrections.get(at).or(last),
        };
        output.map(|output| output.render(&self.body))
    }
}

impl Output {
    fn render(&self, body: &str) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Data(data) => answer::render(data, body),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::test_task;

    fn task(role: &str, visit: u64, step: u64) -> Task {
        Task {
            role: role.parse().unwrap(),
            visit,
            step,
            ..test_task::task(Path::new("/"))
        }
    }

    fn refused(text: &str, part: &str) {
        let error = Script::parse(text).unwrap_err();
        assert!(error.contains(part), "{text}: {error}");
    }

    #[test]
    fn the_visit_picks_the_entry_and_the_last_one_repeats() {
        let script = Script::parse("roles: { a: [{ output: one }, { output: two }] }").unwrap();
        let answer = |visit| {
            script
                .entry(&task("a", visit, 9))
                .unwrap()
                .answer()
                .unwrap()
        };
        assert_eq!([answer(1), answer(2), answer(3)], ["one", "two", "two"]);
        assert!(
            script
                .entry(&task("b", 1, 1))
                .unwrap_err()
                .contains("no role `b`")
        );
    }

    #[test]
    fn the_position_picks_the_entry_and_must_be_of_the_same_role() {
        let script =
            Script::parse("steps: [{ role: a, output: one }, { role: b, output: two }]").unwrap();
        assert_eq!(
            script.entry(&task("b", 1, 2)).unwrap().answer().unwrap(),
            "two"
        );
        assert!(
            script
                .entry(&task("a", 2, 2))
                .unwrap_err()
                .contains("has `b` at step 2")
        );
        assert!(
            script
                .entry(&task("a", 2, 3))
                .unwrap_err()
                .contains("ends after step 2")
        );
    }

    #[test]
    fn a_mapping_becomes_front_matter() {
        let script =
            Script::parse("steps: [{ role: a, output: { $status: done, id: '012' }, body: Hi. }]")
                .unwrap();
        let answer = script.entry(&task("a", 1, 1)).unwrap().answer().unwrap();
        let parts = uwf_util::front_matter::split(&answer).unwrap();
        let data: Value = serde_saphyr::from_str(&parts.block).unwrap();
        assert_eq!(data, serde_json::json!({ "$status": "done", "id": "012" }));
        assert_eq!(parts.body, "Hi.");
    }

    #[test]
    fn corrections_are_given_in_turn_and_a_continued_session_has_its_own_answer() {
        let script =
            Script::parse("steps: [{ role: a, output: x, corrections: [y, z], continued: w }]")
                .unwrap();
        let entry = script.entry(&task("a", 1, 1)).unwrap();
        let next = |answers| entry.next_answer(answers).unwrap();
        assert_eq!([next(0), next(1), next(2), next(3)], ["w", "y", "z", "z"]);
    }

    #[test]
    fn mistakes_in_a_script_are_named_with_their_place() {
        refused("roles:\n  a:\n    - output: x\n      sleep: 3\n", "line 4");
        refused("roles:\n  a:\n    - output: x\n      sleep: 3\n", "sleep");
        refused("roles: { a: [{ exit: -1 }] }", "line 1");
        refused("roles: { a: [{ sleepMs: 3 }] }", "roles.a[0]");
        refused("roles: { a: [{ output: x, class: auth }] }", "`exit`");
        refused("roles: { a: [{ output: x, failures: 1 }] }", "`exit`");
        refused("roles: { a: [{ exit: 1, failures: 1 }] }", "`output`");
        refused("roles: { a: [{ exit: 1, class: later }] }", "line 1");
        refused("roles: { a: [] }", "roles.a");
        refused(
            "roles: { a: [{ role: a, output: x }] }",
            "belongs under `steps`",
        );
        refused("steps: [{ output: x }]", "`role`");
        refused("steps: []", "either");
        refused("steps: [{ role: a, output: x }]\nstrict: true", "strict");
        refused(
            "recording: [{ role: a, visit: 1, instruction: x }]",
            "recording[0]",
        );
        refused("steps: [{ role: a, output: x, body: y }]", "body");
    }
}
