//! Picks the recorded attempt that answers a task. Pure.

use uwf_agent_kit::Task;

use crate::recording::Recorded;

/// The recorded attempt for a task.
#[derive(Debug, PartialEq)]
pub(super) struct Match<'a> {
    pub(super) recorded: &'a Recorded,
    /// How the instruction differs from the recorded one, if it does.
    pub(super) changed: Option<String>,
}

/// Picks an attempt of the same role with the same instruction, at the same visit if there is one; else an attempt of
/// the same role at the same visit. `failures` is the number of failed attempts at this step, since recorded failures
/// are replayed in their order.
pub(super) fn pick<'a>(
    recording: &'a [Recorded],
    task: &Task,
    failures: usize,
) -> Result<Match<'a>, String> {
    let of_role = || recording.iter().filter(|one| one.role == task.role);
    let same = || of_role().filter(|one| one.instruction == task.edge_prompt);
    let (visit, changed) = match same().find(|one| one.visit == task.visit).or(same().next()) {
        Some(one) => (one.visit, None),
        None => {
            let Some(other) = of_role().find(|one| one.visit == task.visit) else {
                return Err(missing(recording, task));
            };
            let changed = difference(&other.instruction, &task.edge_prompt);
            (other.visit, Some(changed))
        }
    };
    let attempts = of_role().filter(|one| {
        one.visit == visit && (changed.is_some() || one.instruction == task.edge_prompt)
    });
    let mut attempts: Vec<&Recorded> = attempts.collect();
    // Attempts after an answer belong to another thread.
    if let Some(answered) = attempts.iter().position(|one| one.answer.is_some()) {
        attempts.truncate(answered + 1);
    }
    let recorded = attempts[failures.min(attempts.len() - 1)];
    Ok(Match { recorded, changed })
}

fn missing(recording: &[Recorded], task: &Task) -> String {
    let visits = recording.iter().filter(|one| one.role == task.role);
    match visits.map(|one| one.visit).max() {
        Some(last) => format!(
            "the recording has {last} visits of `{}`, this is visit {} with another instruction",
            task.role, task.visit
        ),
        None => format!("the recording has no answer of `{}`", task.role),
    }
}

/// Says where two instructions differ first.
fn difference(recorded: &str, now: &str) -> String {
    let (mut before, mut after) = (recorded.lines(), now.lines());
    let mut line = 1;
    loop {
        match (before.next(), after.next()) {
            (None, None) => return "line ends: other ones were recorded".to_owned(),
            (one, other) if one == other => line += 1,
            (one, other) => {
                let text = |text: Option<&str>| match text {
                    Some(text) => format!("`{text}`"),
                    None => "nothing".to_owned(),
                };
                return format!(
                    "in line {line}, {} was recorded, now it is {}",
                    text(one),
                    text(other)
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::test_task;

    fn recorded(role: &str, visit: u64, instruction: &str, answer: Option<&str>) -> Recorded {
        Recorded {
            role: role.parse().unwrap(),
            visit,
            instruction: instruction.to_owned(),
            agent: None,
            prompt: None,
            duration_ms: None,
            usage: None,
            exit: answer.is_none().then_some(3),
            read_by: None,
            answer: answer.map(ToOwned::to_owned),
        }
    }

    fn check(
        recording: &[Recorded],
        (role, visit, instruction): (&str, u64, &str),
        failures: usize,
        expected: Result<(Option<&str>, Option<&str>), &str>,
    ) {
        let task = Task {
            role: role.parse().unwrap(),
            visit,
            edge_prompt: instruction.to_owned(),
            ..test_task::task(Path::new("/"))
        };
        let found = pick(recording, &task, failures);
        match (&found, expected) {
            (Ok(found), Ok((answer, changed))) => {
                assert_eq!(found.recorded.answer.as_deref(), answer);
                assert_eq!(found.changed.as_deref(), changed);
            }
            (Err(error), Err(part)) => assert!(error.contains(part), "{error}"),
            _ => panic!("{found:?}, not {expected:?}"),
        }
    }

    #[test]
    fn the_instruction_counts_more_than_the_visit() {
        let recording = [
            recorded("a", 1, "Begin", Some("1")),
            recorded("a", 2, "Again", Some("2")),
            recorded("a", 3, "Again", Some("3")),
            recorded("b", 1, "Begin", Some("b")),
        ];
        check(&recording, ("a", 1, "Begin"), 0, Ok((Some("1"), None)));
        check(&recording, ("a", 3, "Again"), 0, Ok((Some("3"), None)));
        check(&recording, ("a", 9, "Again"), 0, Ok((Some("2"), None)));
        check(&recording, ("b", 1, "Begin"), 0, Ok((Some("b"), None)));
        let changed = "in line 1, `Again` was recorded, now it is `Anew`";
        check(
            &recording,
            ("a", 2, "Anew"),
            0,
            Ok((Some("2"), Some(changed))),
        );
        check(&recording, ("a", 4, "Anew"), 0, Err("has 3 visits"));
        check(&recording, ("c", 1, "Begin"), 0, Err("no answer of `c`"));
    }

    #[test]
    fn failed_attempts_are_played_in_their_turn() {
        let recording = [
            recorded("a", 1, "Go", None),
            recorded("a", 1, "Go", Some("yes")),
            recorded("a", 1, "Go", Some("of another thread")),
        ];
        check(&recording, ("a", 1, "Go"), 0, Ok((None, None)));
        check(&recording, ("a", 1, "Go"), 1, Ok((Some("yes"), None)));
        check(&recording, ("a", 1, "Go"), 2, Ok((Some("yes"), None)));
    }

    #[test]
    fn a_difference_is_told_by_its_first_line() {
        assert_eq!(
            difference("a\nb", "a\nc"),
            "in line 2, `b` was recorded, now it is `c`"
        );
        assert_eq!(
            difference("a", "a\nc"),
            "in line 2, nothing was recorded, now it is `c`"
        );
        assert!(difference("a\n", "a").contains("line ends"));
    }
}
