//! The content of `history.jsonl`: one line for each end of a thread, for each replaced step, for each removed thread, and
//! for each that came back with less than it had used up.
//! Lines are only added, never changed. The line of a removed thread makes its earlier lines void, so that these can be
//! left out when the file is written anew.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer, Serialize};
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_protocol::limits::Used;

use crate::BadLine;

/// The end of a thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HistoryRecord {
    /// The thread.
    pub thread: ThreadId,
    /// Its workflow.
    pub workflow: CasRef,
    /// The last node of its chain.
    pub head: CasRef,
    /// When it ended, in milliseconds since 1970.
    pub completed_at: i64,
    /// How it ended. Older lines do not have it.
    #[serde(default, deserialize_with = "null_is_completed")]
    pub reason: Reason,
}

impl HistoryRecord {
    /// Tells whether a person has ended the thread.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.reason == Reason::Cancelled
    }
}

/// How a thread ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reason {
    /// It reached the end of its workflow.
    #[default]
    Completed,
    /// Somebody ended it.
    Cancelled,
}

/// A step that was done again. It is in no chain any more; only this line refers to it. Its keys differ from those of a
/// [`HistoryRecord`], so that no program mistakes it for the end of a thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReplacedStep {
    /// The step.
    pub replaced: CasRef,
    /// The step that takes its place. It never did if the call ended too early.
    pub by: CasRef,
    /// The thread.
    pub in_thread: ThreadId,
    /// When it was replaced, in milliseconds since 1970.
    pub replaced_at: i64,
    /// The workflow of the new chain, if the thread was migrated: `replaced` is the head of the chain that was copied, and
    /// `by` that of the copy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow: Option<CasRef>,
}

impl ReplacedStep {
    /// Tells whether a whole chain was replaced by its copy under another workflow, and not one step by another.
    #[must_use]
    pub fn is_migration(&self) -> bool {
        self.workflow.is_some()
    }
}

/// A thread that a person removed. The ends of it that are recorded before this line do not count.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RemovedThread {
    /// The thread.
    pub removed: ThreadId,
    /// The head that it had. It is garbage, unless something else refers to it.
    pub head: CasRef,
    /// When it was removed, in milliseconds since 1970.
    pub removed_at: i64,
    /// What its runs used up, without steps that other threads still had; `None` if that could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used: Option<Used>,
    /// The digests of the steps that `used` counts. A fork that has such a step counts it instead.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<CasRef>,
}

/// A removed thread that came back by an import which knows less of its runs. The difference counts as long as the thread is
/// here: the next line about it that says so, or its removal, takes its place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReturnedThread {
    /// The thread.
    pub returned: ThreadId,
    /// When it had been removed, in milliseconds since 1970.
    pub removed_at: i64,
    /// What it used up before, beyond what came back of it.
    pub missing: Used,
    /// The digests of the steps that `missing` counts. A thread that has such a step counts it instead.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<CasRef>,
}

fn null_is_completed<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Reason, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// The content of the file, in its order. A thread may have several lines; the last one counts.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct History {
    /// The ends of threads.
    pub records: Vec<HistoryRecord>,
    /// The steps that were done again.
    pub replaced: Vec<ReplacedStep>,
    /// The threads that were removed and did not end after that. One that is active was not removed: the call was
    /// interrupted.
    pub removed: Vec<RemovedThread>,
    /// The threads that came back with less than they used up, each once. One that is not here did not come back: the call
    /// was interrupted.
    pub returned: Vec<ReturnedThread>,
    /// All other lines, except an unfinished last one.
    pub damaged: Vec<BadLine>,
    /// The last line, if it is unfinished. A power cut may leave one; then its thread is still where it was.
    pub torn: Option<BadLine>,
    /// Whether the unfinished last line was complete once. Then the file has lost its end.
    pub is_cut: bool,
    /// How many complete lines the file has lost since it was written last.
    pub missing: u64,
}

/// A line of the file.
enum Line {
    Ended(HistoryRecord),
    Replaced(ReplacedStep),
    Removed(RemovedThread),
    Returned(ReturnedThread),
}

impl Line {
    /// Parses a line. The error is that of the most frequent kind of line.
    fn parse(line: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(line)
            .map(Self::Ended)
            .or_else(|error| {
                let replaced = || serde_json::from_str(line).map(Self::Replaced);
                let removed = || serde_json::from_str(line).map(Self::Removed);
                let returned = || serde_json::from_str(line).map(Self::Returned);
                let others = replaced().or_else(|_| removed()).or_else(|_| returned());
                others.map_err(|_| error)
            })
    }

    /// Returns the thread that the line is about.
    fn thread(&self) -> ThreadId {
        match self {
            Self::Ended(record) => record.thread,
            Self::Replaced(step) => step.in_thread,
            Self::Removed(removed) => removed.removed,
            Self::Returned(returned) => returned.returned,
        }
    }
}

/// Parses the content of the file.
pub(crate) fn parse(text: &str, path: &Path) -> History {
    let mut history = History::default();
    let mut ended = Vec::new();
    // The thread and how many ends were recorded before it was removed.
    let mut removed_after: HashMap<ThreadId, usize> = HashMap::new();
    for (number, line) in (1..).zip(text.split_inclusive('\n')) {
        if line.trim().is_empty() {
            continue;
        }
        match Line::parse(line) {
            Ok(Line::Ended(record)) => ended.push(record),
            Ok(Line::Replaced(step)) => history.replaced.push(step),
            Ok(Line::Removed(removed)) => {
                removed_after.insert(removed.removed, ended.len());
                let is_other = |one: &ReturnedThread| one.returned != removed.removed;
                history.returned.retain(is_other);
                history.removed.push(removed);
            }
            Ok(Line::Returned(returned)) => {
                let is_other = |one: &ReturnedThread| one.returned != returned.returned;
                history.returned.retain(is_other);
                history.returned.push(returned);
            }
            Err(error) => {
                let bad = BadLine {
                    path: path.to_owned(),
                    line: number,
                    problem: error.to_string(),
                };
                if line.ends_with('\n') {
                    history.damaged.push(bad);
                } else {
                    history.torn = Some(bad);
                }
            }
        }
    }
    let counts = |place: usize, record: &HistoryRecord| {
        let removed = removed_after.get(&record.thread);
        removed.is_none_or(|removed| place >= *removed)
    };
    let ended = ended.into_iter().enumerate();
    let ended = ended.filter(|(place, record)| counts(*place, record));
    history.records = ended.map(|(_, record)| record).collect();
    // A thread that ended after its removal was interrupted has gone on.
    let ended: HashSet<ThreadId> = history.records.iter().map(|one| one.thread).collect();
    history.removed.retain(|one| !ended.contains(&one.removed));
    history
}

/// Returns the content without the lines that removals made void. The lines of an active thread are kept. So are those of a
/// thread that ended after its removal: the removal was interrupted, and the thread still needs its replaced steps.
pub(crate) fn without_void(content: &str, is_active: impl Fn(ThreadId) -> bool) -> String {
    let lines = || (0..).zip(content.split_inclusive('\n'));
    let mut removed_at: HashMap<ThreadId, usize> = HashMap::new();
    for (number, line) in lines() {
        match Line::parse(line) {
            Ok(Line::Removed(removed)) => {
                removed_at.insert(removed.removed, number);
            }
            Ok(Line::Ended(record)) => {
                removed_at.remove(&record.thread);
            }
            Ok(Line::Replaced(_) | Line::Returned(_)) | Err(_) => {}
        }
    }
    let is_void = |number: usize, line: &str| {
        let thread = Line::parse(line).ok().map(|line| line.thread());
        let thread = thread.filter(|thread| !is_active(*thread));
        let removed = thread.and_then(|thread| removed_at.get(&thread));
        removed.is_some_and(|removed| number < *removed)
    };
    let kept = lines().filter(|(number, line)| !is_void(*number, line));
    kept.map(|(_, line)| line).collect()
}

/// Counts the lines that are not blank.
pub(crate) fn count_lines(content: &[u8]) -> u64 {
    let lines = content.split(|byte| *byte == b'\n');
    lines.filter(|line| !line.trim_ascii().is_empty()).count() as u64
}

/// Returns where an unfinished last line begins, if there is one. A line that lacks only its line feed is finished.
pub(crate) fn unfinished(content: &[u8]) -> Option<usize> {
    let start = content.iter().rposition(|byte| *byte == b'\n');
    let start = start.map_or(0, |end| end + 1);
    let line = &content[start..];
    let is_whole = line.is_empty() || serde_json::from_slice::<IgnoredAny>(line).is_ok();
    (!is_whole).then_some(start)
}

/// What an unfinished line was about.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Unfinished {
    /// The end of this thread.
    Ended(ThreadId),
    /// The replacement of this step.
    Replaced(CasRef),
    /// It is too short to tell, or is about a removal: what a removal changes afterwards does not show whether its line was
    /// complete, as the thread may have ended before.
    Unknown,
}

impl Unfinished {
    /// Reads the beginning of a line that this program wrote.
    pub(crate) fn of(line: &[u8]) -> Self {
        let first = |key: &str| {
            let rest = str::from_utf8(line).ok()?.strip_prefix(key)?;
            Some(rest.split_once('"')?.0)
        };
        let ended = first(r#"{"thread":""#).and_then(|id| id.parse().ok());
        let replaced = first(r#"{"replaced":""#).and_then(|hash| hash.parse().ok());
        match (ended, replaced) {
            (Some(thread), _) => Self::Ended(thread),
            (None, Some(step)) => Self::Replaced(step),
            (None, None) => Self::Unknown,
        }
    }
}

/// Returns the last record of a thread, unless the thread was removed after it. It parses only the lines that contain the thread's id.
pub(crate) fn last_of(text: &str, thread: ThreadId) -> Option<HistoryRecord> {
    let mut rest = text;
    while let Some(at) = rest.rfind(thread.as_str()) {
        let start = text[..at].rfind('\n').map_or(0, |end| end + 1);
        let end = text[at..].find('\n').map_or(text.len(), |end| at + end);
        match Line::parse(&text[start..end]) {
            Ok(Line::Ended(record)) if record.thread == thread => return Some(record),
            Ok(Line::Removed(removed)) if removed.removed == thread => return None,
            _ => rest = &text[..start],
        }
    }
    // Another program may have written the id in another way, such as in lower case.
    let mut records = parse(text, Path::new("")).records.into_iter().rev();
    records.find(|record| record.thread == thread)
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "01J7K9Z000000000000000000A";
    const B: &str = "01J7K9Z000000000000000000B";

    fn line(thread: &str, completed_at: i64) -> String {
        format!(
            r#"{{"thread":"{thread}","workflow":"CTS5P6RD8HMCS","head":"0123456789012","completedAt":{completed_at},"reason":"cancelled"}}"#
        )
    }

    fn times(history: &History) -> Vec<i64> {
        let records = history.records.iter();
        records.map(|record| record.completed_at).collect()
    }

    #[test]
    fn a_record_has_the_keys_of_the_format_in_its_order() {
        let record: HistoryRecord = serde_json::from_str(&line(A, 7)).unwrap();
        assert_eq!(record.reason, Reason::Cancelled);
        assert_eq!(serde_json::to_string(&record).unwrap(), line(A, 7));
    }

    #[test]
    fn a_thread_without_a_reason_was_completed() {
        let absent = line(A, 1).replace(r#","reason":"cancelled""#, r#","later":{}"#);
        let null = line(A, 2).replace(r#""cancelled""#, "null");
        let history = parse(&format!("{absent}\n\n{null}\n"), Path::new("h"));
        assert_eq!(history.damaged, []);
        assert_eq!(history.records[0].reason, Reason::Completed);
        assert_eq!(history.records[1].reason, Reason::Completed);
    }

    #[test]
    fn a_replaced_step_is_no_end_of_a_thread() {
        let text = format!(
            r#"{{"replaced":"0123456789012","by":"CTS5P6RD8HMCS","inThread":"{A}","replacedAt":3}}"#
        );
        let history = parse(&format!("{}\n{text}\n", line(A, 1)), Path::new("h"));
        assert_eq!((times(&history), history.damaged), (vec![1], vec![]));
        let [step] = &history.replaced[..] else {
            panic!("{:?}", history.replaced)
        };
        assert_eq!(serde_json::to_string(step).unwrap(), text);
        let text = format!("{}\n{text}\n", line(A, 1));
        let last = last_of(&text, A.parse().unwrap());
        assert_eq!(last.unwrap().completed_at, 1);
        assert_eq!(last_of(&text, B.parse().unwrap()), None);
    }

    #[test]
    fn a_migration_is_a_replacement_that_names_its_workflow() {
        let text = format!(
            r#"{{"replaced":"0123456789012","by":"CTS5P6RD8HMCS","inThread":"{A}","replacedAt":3,"workflow":"0123456789013"}}"#
        );
        let history = parse(&format!("{text}\n"), Path::new("h"));
        assert!(history.replaced[0].is_migration());
        assert_eq!(serde_json::to_string(&history.replaced[0]).unwrap(), text);
    }

    #[test]
    fn a_bad_line_is_reported_and_hides_no_other() {
        let text = format!("{}\n{{\"thread\n{}\nnonsense", line(A, 1), line(B, 2));
        let history = parse(&text, Path::new("h"));
        assert_eq!(times(&history), [1, 2]);
        let lines: Vec<u64> = history.damaged.iter().map(|bad| bad.line).collect();
        assert_eq!(lines, [2], "the unfinished last line is told apart");
        assert_eq!(history.torn.unwrap().line, 4);
    }

    #[test]
    fn the_last_line_of_a_thread_counts() {
        let text = format!(
            "{}\n{}\n{}\n{A} torn\n{}",
            line(A, 1),
            line(A, 2),
            line(B, 3),
            &line(A, 4)[..60]
        );
        let last = |thread: &str| last_of(&text, thread.parse().unwrap());
        assert_eq!(last(A).unwrap().completed_at, 2);
        assert_eq!(last(B).unwrap().completed_at, 3);
        assert_eq!(last("01J7K9Z000000000000000000C"), None);
    }

    #[test]
    fn an_unfinished_line_tells_what_it_is_about_as_soon_as_that_is_whole() {
        let of = |text: &str| Unfinished::of(text.as_bytes());
        let (ended, replaced) = (line(A, 1), r#"{"replaced":"0123456789012","by":"CTS"#);
        assert_eq!(of(&ended[..50]), Unfinished::Ended(A.parse().unwrap()));
        assert_eq!(of(&ended[..30]), Unfinished::Unknown);
        let step = "0123456789012".parse().unwrap();
        assert_eq!(of(replaced), Unfinished::Replaced(step));
        assert_eq!(of(&replaced[..25]), Unfinished::Unknown);
    }

    fn removed(thread: &str, at: i64) -> String {
        format!(r#"{{"removed":"{thread}","head":"0123456789012","removedAt":{at}}}"#)
    }

    #[test]
    fn a_removal_makes_the_earlier_ends_of_its_thread_void_and_no_other() {
        let lines = [line(A, 1), line(B, 2), removed(A, 3)].join("\n") + "\n";
        let history = parse(&lines, Path::new("h"));
        assert_eq!((times(&history), history.damaged), (vec![2], vec![]));
        assert_eq!(history.removed[0].removed, A.parse().unwrap());
        assert_eq!(
            serde_json::to_string(&history.removed[0]).unwrap(),
            removed(A, 3)
        );
        assert_eq!(last_of(&lines, A.parse().unwrap()), None);
        assert!(last_of(&lines, B.parse().unwrap()).is_some());
        let again = lines + &line(A, 4) + "\n";
        assert_eq!(parse(&again, Path::new("h")).removed, []);
        assert_eq!(times(&parse(&again, Path::new("h"))), [2, 4]);
        assert_eq!(last_of(&again, A.parse().unwrap()).unwrap().completed_at, 4);
    }

    #[test]
    fn void_lines_can_be_left_out_without_a_change_of_the_others() {
        let replaced = format!(
            r#"{{"replaced":"0123456789012","by":"CTS5P6RD8HMCS","inThread":"{A}","replacedAt":3}}"#
        );
        let odd = line(B, 2).replace(":", ": ");
        let lines = [
            line(A, 1),
            replaced,
            removed(A, 2),
            odd.clone(),
            removed(A, 3),
        ];
        let text = lines.join("\n") + "\n";
        let kept = without_void(&text, |_| false);
        assert_eq!(kept, format!("{odd}\n{}\n", removed(A, 3)));
        assert_eq!(
            without_void(&text, |thread| thread == A.parse().unwrap()),
            text
        );
    }

    #[test]
    fn a_thread_that_ended_after_its_removal_was_interrupted_keeps_its_lines() {
        let replaced = format!(
            r#"{{"replaced":"0123456789012","by":"CTS5P6RD8HMCS","inThread":"{A}","replacedAt":3}}"#
        );
        let went_on = [replaced, removed(A, 3), line(A, 4)].join("\n") + "\n";
        assert_eq!(without_void(&went_on, |_| false), went_on);
        let gone = removed(A, 5) + "\n";
        assert_eq!(without_void(&(went_on + &gone), |_| false), gone);
    }

    fn returned(thread: &str, runs: u64) -> String {
        format!(
            r#"{{"returned":"{thread}","removedAt":3,"missing":{{"runs":{runs},"costUsd":0.0,"costUnknown":0,"tokens":0,"tokensUnknown":0,"durationMs":0,"durationUnknown":0}}}}"#
        )
    }

    #[test]
    fn the_last_line_about_a_thread_that_returned_counts_until_its_removal() {
        let missing = |lines: &[String]| {
            let history = parse(&(lines.join("\n") + "\n"), Path::new("h"));
            assert_eq!(history.damaged, []);
            let returned = history.returned.iter();
            returned.map(|one| one.missing.runs).collect::<Vec<_>>()
        };
        let lines = [
            removed(A, 3),
            returned(A, 2),
            returned(B, 1),
            returned(A, 1),
        ];
        assert_eq!(missing(&lines), [1, 1]);
        let (ended, gone) = ([line(A, 4)], [removed(A, 5)]);
        assert_eq!(missing(&[&lines[..], &ended].concat()), [1, 1]);
        assert_eq!(missing(&[&lines[..], &gone].concat()), [1]);
        let text = [&lines[..2], &gone].concat().join("\n") + "\n";
        let [gone] = gone;
        assert_eq!(without_void(&text, |_| false), gone + "\n");
    }

    #[test]
    fn a_complete_last_line_counts_without_its_end() {
        assert_eq!(times(&parse(&line(A, 5), Path::new("h"))), [5]);
        assert!(last_of(&line(A, 5), A.parse().unwrap()).is_some());
    }
}
