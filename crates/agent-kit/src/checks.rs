//! The checks of a role: they run after an answer was accepted and before it counts. What fails goes back to the agent, as
//! often as the workflow allows it.
//!
//! An answer is on record before its checks run, so an agent that dies meanwhile has not worked in vain.

mod command;

use std::path::PathBuf;

use uwf_process::Stop;
use uwf_protocol::answer::is_suspension;
use uwf_protocol::check_files::{CheckPlace, find};
use uwf_protocol::checks::{self, Check, CheckResult, Checks, PinnedFile};
use uwf_protocol::nodes::Extraction;
use uwf_protocol::run::{Answered, RunningCheck};
use uwf_protocol::schemas;
use uwf_storage::{Env, Scratch, StorageError};
use uwf_util::mask::Masks;
use uwf_util::text::counted;

use crate::KitError;
use crate::adapter::{Adapter, Task};
use crate::conversation::{Conversation, Unfinished};
use crate::extract::{Extracted, RoleSchema};
use crate::extractor::Reading;
use crate::notes::note;
use command::Place;

/// How much of the end of its output a check shows to the agent and in the step, in bytes.
const SHOWN: usize = 16 * 1024;

/// What came of one check, and all that was kept of its output if that is longer than what the result shows.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Checked {
    pub(crate) result: CheckResult,
    pub(crate) more: Option<String>,
}

/// An answer that was accepted, and what came of its checks.
pub(crate) struct Accepted {
    pub(crate) extracted: Extracted,
    pub(crate) extraction: Extraction,
    pub(crate) checks: Vec<Checked>,
}

impl Accepted {
    /// Returns an answer that needs no checks.
    pub(crate) fn unchecked((extracted, extraction): (Extracted, Extraction)) -> Self {
        Self {
            extracted,
            extraction,
            checks: Vec::new(),
        }
    }
}

/// The checks of a role, and where they run.
pub(crate) struct Checking<'a> {
    pub(crate) env: &'a Env,
    pub(crate) scratch: &'a Scratch,
    pub(crate) checks: &'a Checks,
    /// The files of the checks as they were when the thread started.
    pub(crate) pinned: &'a [PinnedFile],
    /// Those in folders that were made later, as they were when a role first worked there.
    pub(crate) late: &'a [PinnedFile],
    /// The directory of the thread: its own, and the one in its worktree.
    pub(crate) own: Vec<PathBuf>,
    /// What must not be seen in their output.
    pub(crate) masks: Masks,
    /// Whether the graph has an edge for checks that failed.
    pub(crate) has_edge: bool,
    /// When the attempt began, in milliseconds since 1970.
    pub(crate) started_at_ms: i64,
    /// The number that it gets if it fails.
    pub(crate) attempt: u64,
}

/// What the agent is asked with.
pub(crate) struct Asking<'a> {
    pub(crate) adapter: &'a mut dyn Adapter,
    pub(crate) task: &'a Task,
    pub(crate) schema: &'a RoleSchema,
    pub(crate) read: &'a mut dyn FnMut(&str) -> Reading,
}

impl Checking<'_> {
    /// Runs the checks until they pass. Failed ones go back to the agent. If checks still fail after the last correction, there are two
    /// ways: with an edge for failed checks the step is done, and its output names them; without one the attempt fails. The outer
    /// error is the kit's, the inner one the agent's.
    pub(crate) fn until_passed(
        &self,
        conversation: &mut Conversation,
        asking: &mut Asking<'_>,
        mut done: (Extracted, Extraction),
    ) -> Result<Result<Accepted, Unfinished>, KitError> {
        let mut sent_back = 0;
        loop {
            // A question to a person is no work that could be checked.
            if is_suspension(&done.0.output).is_some() {
                return Ok(Ok(Accepted::unchecked(done)));
            }
            if conversation.has_news() {
                self.keep(conversation, asking.task, &done);
            }
            let checked = match self.run_all(asking.task)? {
                Ok(checked) => checked,
                Err(stop) => return Ok(Err(Unfinished::Stopped(stop.signal))),
            };
            let failed = failed(&checked);
            if failed.is_empty() {
                return Ok(Ok(accepted(done, checked)));
            }
            if sent_back < self.checks.attempts {
                sent_back += 1;
                done = match conversation.send_back(asking, &failed) {
                    Ok(done) => done,
                    Err(unfinished) => return Ok(Err(unfinished)),
                };
                continue;
            }
            return Ok(match self.has_edge {
                true => Ok(as_output(done, checked)),
                false => Err(Unfinished::ChecksFailed { failed, sent_back }),
            });
        }
    }

    /// Records the answer, so that the next attempt can use it. It is best effort: without the record, the agent is asked
    /// again after a crash.
    fn keep(
        &self,
        conversation: &Conversation,
        task: &Task,
        (extracted, extraction): &(Extracted, Extraction),
    ) {
        let before = conversation.restored();
        let now_ms = self.env.now_ms();
        let mut attempts = conversation.earlier_attempts.clone();
        attempts.push(self.attempt);
        let answered = Answered {
            head: task.head,
            replaces: task.replaces,
            role: task.role.clone(),
            agent: task.agent.clone(),
            prompt: task.masks.text(&task.prompt),
            attempts,
            started_at_ms: before.map_or(self.started_at_ms, |before| before.started_at_ms),
            worked_ms: before.map_or(0, |before| before.worked_ms)
                + (now_ms - self.started_at_ms).max(0),
            exchanges: conversation.said(),
            session_id: conversation.session_id.clone(),
            model: conversation.model.clone(),
            usage: conversation.usage.clone(),
            refused: conversation.refused().to_vec(),
            type_hash: extracted.type_hash,
            output: extracted.output.clone(),
            body: extracted.body.clone(),
            extraction: extraction.clone(),
        };
        let _ = self.scratch.write_answered(&answered);
        // If this process is killed now, its engine learns from here what the answer has cost.
        conversation.record_usage();
    }

    /// Runs every check once, in order.
    fn run_all(&self, task: &Task) -> Result<Result<Vec<Checked>, Stop>, KitError> {
        let mut checked = Vec::new();
        for check in &self.checks.run {
            let running = RunningCheck {
                name: check.name.clone(),
                started_at_ms: self.env.now_ms(),
            };
            // Best effort: it is for people who watch, and for a limit of silence.
            let _ = self.scratch.write_running_check(&running);
            let one = self.run(check, task);
            // On every way out: what the check printed may have secrets.
            let _ = self.scratch.clear_running_check();
            match one? {
                Ok(one) => {
                    note(&format!("check {}", one.result.summary()));
                    checked.push(one);
                }
                Err(stop) => return Ok(Err(stop)),
            }
        }
        Ok(Ok(checked))
    }

    fn run(&self, check: &Check, task: &Task) -> Result<Result<Checked, Stop>, KitError> {
        if let Some(problem) = self.changed_file(check, task) {
            let result = CheckResult {
                name: check.name.clone(),
                command: check.command.clone(),
                problem: Some(problem),
                exit_code: None,
                duration_ms: 0,
                output: String::new(),
                more_output: None,
            };
            return Ok(Ok(Checked { result, more: None }));
        }
        let place = Place {
            cwd: &task.cwd,
            output: self.scratch.check_output_file(),
            grace: task.supervision.grace,
        };
        let ended = command::run(check, &place).map_err(KitError::Checks)?;
        Ok(ended.map(|ended| {
            let whole = match ended.is_cut {
                false => self.masks.text(&ended.output),
                true => self.masks.text_after_cut(&ended.output),
            };
            let output = end_of(&whole, SHOWN).to_owned();
            Checked {
                more: (output.len() < whole.len()).then_some(whole),
                result: CheckResult {
                    name: check.name.clone(),
                    command: check.command.clone(),
                    problem: ended.problem,
                    exit_code: ended.exit_code,
                    duration_ms: u64::try_from(ended.took.as_millis()).unwrap_or(u64::MAX),
                    output,
                    more_output: None,
                },
            }
        }))
    }

    /// Returns which file of a check is not as it was recorded. Then the check says nothing.
    fn changed_file(&self, check: &Check, task: &Task) -> Option<String> {
        let place = CheckPlace {
            own: &self.own,
            cwd: &task.cwd,
        };
        for path in check.paths() {
            let of_start = place
                .pinned(path, self.pinned)
                .map(|it| (it, "the thread started"));
            let of_first = || {
                let late = find(self.late, &task.cwd.join(path));
                late.map(|it| (it, "a role first worked in its folder"))
            };
            let Some((pinned, when)) = of_start.or_else(of_first) else {
                continue;
            };
            let what = match uwf_durable::sha256(&task.cwd.join(path)) {
                Ok(Some(sha256)) if sha256 == pinned.sha256 => continue,
                Ok(Some(_)) => format!("was changed since {when}"),
                Ok(None) => format!("was there when {when}, and is gone"),
                Err(error) => format!("cannot be read: {error}"),
            };
            return Some(format!(
                "the file `{path}` belongs to the check and {what}, so nothing was run: put it back as it was"
            ));
        }
        None
    }
}

/// Returns the results of checks that failed.
fn failed(checked: &[Checked]) -> Vec<CheckResult> {
    let results = checked.iter().map(|one| &one.result);
    results.filter(|result| !result.passed()).cloned().collect()
}

fn accepted((extracted, extraction): (Extracted, Extraction), checks: Vec<Checked>) -> Accepted {
    Accepted {
        extracted,
        extraction,
        checks,
    }
}

/// Returns a step whose output says which checks failed.
fn as_output(done: (Extracted, Extraction), checks: Vec<Checked>) -> Accepted {
    let results: Vec<CheckResult> = checks.iter().map(|one| one.result.clone()).collect();
    let mut accepted = accepted(done, checks);
    let output = checks::failed_output(&results, &accepted.extracted.output);
    accepted.extracted.type_hash = schemas::CHECKS_FAILED;
    accepted.extracted.output = output;
    accepted
}

/// Returns the end of a text, of at most so many bytes. It begins with a whole line if one begins there.
fn end_of(text: &str, limit: usize) -> &str {
    if text.len() <= limit {
        return text;
    }
    let start = text.ceil_char_boundary(text.len() - limit);
    let end = &text[start..];
    match end.split_once('\n') {
        Some((_, lines)) if !lines.is_empty() => lines,
        Some(_) | None => end,
    }
}

/// Returns how the attempt failed, as people read it.
pub(crate) fn failure(failed: &[CheckResult], sent_back: u32) -> String {
    let what = CheckResult::note(failed).unwrap_or_default();
    match sent_back {
        0 => what,
        times => format!("{what}, after {}", counted(u64::from(times), "correction")),
    }
}

/// Clears the record of the answer, and what is left of a check.
///
/// # Errors
/// When a record cannot be removed.
pub(crate) fn clear(scratch: &Scratch) -> Result<(), StorageError> {
    scratch.clear_running_check()?;
    scratch.clear_answered()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_text_begins_with_a_whole_line() {
        assert_eq!(end_of("short", 10), "short");
        assert_eq!(end_of("one\ntwo\nthree\n", 12), "two\nthree\n");
        assert_eq!(end_of("aaaaaaaaaa", 4), "aaaa");
        assert_eq!(end_of("ééé", 3), "é");
    }
}
