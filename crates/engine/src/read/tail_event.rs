//! What a reader who follows a thread sees, one event after the other, and how many of the newest. Pure.

use serde::Serialize;
use uwf_protocol::checks::CheckResult;
use uwf_protocol::child::EndedChild;
use uwf_protocol::ids::{CasRef, RoleName, ThreadId};
use uwf_protocol::nodes::Usage;
use uwf_thread::Turn;

use crate::read::activity::AttemptView;
use crate::read::thread_state::ThreadState;

/// Something that happened in a thread, as its readers see it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum TailEvent {
    /// What a child thread is to do: it is followed from now on.
    Task(TailTask),
    /// An agent is at work.
    Working(Working),
    /// A turn of an agent.
    Turn(TailTurn),
    /// A line of an agent that records no turns.
    Line(TailLine),
    /// A step was recorded.
    Step(TailStep),
    /// An attempt failed.
    Failed(Box<AttemptView>),
    /// Nothing follows: the thread has ended, is blocked, or waits for a person.
    Stopped(Box<Stopped>),
}

/// The task of a child thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TailTask {
    /// Its first line.
    pub task: String,
}

/// An agent at work.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Working {
    /// The role.
    pub role: RoleName,
    /// The label of the agent.
    pub agent: String,
    /// When the attempt began, in milliseconds since 1970.
    pub started_at_ms: i64,
    /// Whether it still waits for a slot.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub waiting: bool,
    /// What it has used up so far, as far as it is known.
    pub usage: Option<Usage>,
}

/// A turn and who took it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TailTurn {
    /// The role.
    pub role: RoleName,
    /// The step; `None` while it is not recorded.
    pub step: Option<CasRef>,
    /// The turn.
    pub turn: Turn,
}

/// A line that an agent printed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TailLine {
    /// The role.
    pub role: RoleName,
    /// Where it was printed.
    pub stream: OutputStream,
    /// A number by which it is known again: a later line of the attempt on the same stream has a larger one.
    #[serde(skip)]
    pub number: u64,
    /// The line.
    pub text: String,
}

/// The two outputs of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum OutputStream {
    /// Its answer.
    Stdout,
    /// Its messages.
    Stderr,
}

/// A recorded step.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TailStep {
    /// The step.
    pub step: CasRef,
    /// Who did it.
    pub role: RoleName,
    /// The label of the agent.
    pub agent: String,
    /// When it was stored, in milliseconds since 1970.
    pub timestamp: i64,
    /// How long it took, in milliseconds, if it is known.
    pub duration_ms: Option<u64>,
    /// What it used up, if anything is known.
    pub usage: Option<Usage>,
    /// What came of the checks of the role.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<CheckResult>,
    /// The child threads that did it.
    #[serde(skip)]
    pub children: Vec<EndedChild>,
}

/// Why nothing follows.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Stopped {
    /// The thread.
    pub thread: ThreadId,
    /// Its state.
    #[serde(flatten)]
    pub state: ThreadState,
    /// Why it is blocked, if it is.
    pub blocked_reason: Option<String>,
}

fn is_turn(event: &TailEvent) -> bool {
    matches!(event, TailEvent::Turn(_) | TailEvent::Line(_))
}

/// Counts the turns among some events; a line of an agent without turns is one.
pub(super) fn count_turns<'a>(events: impl Iterator<Item = &'a TailEvent>) -> usize {
    events.filter(|event| is_turn(event)).count()
}

/// Returns the events from the `turns`-th newest turn on.
pub(super) fn newest(mut events: Vec<TailEvent>, turns: usize) -> Vec<TailEvent> {
    let surplus = count_turns(events.iter()).saturating_sub(turns);
    if surplus > 0 {
        let places = events.iter().enumerate();
        let mut places = places.filter(|(_, event)| is_turn(event)).map(|(at, _)| at);
        let last_dropped = places.nth(surplus - 1).unwrap_or(0);
        events.drain(..=last_dropped);
    }
    events
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> TailEvent {
        TailEvent::Line(TailLine {
            role: "writer".parse().unwrap(),
            stream: OutputStream::Stdout,
            number: 0,
            text: text.to_owned(),
        })
    }

    fn working() -> TailEvent {
        TailEvent::Working(Working {
            role: "writer".parse().unwrap(),
            agent: "a".to_owned(),
            started_at_ms: 0,
            waiting: false,
            usage: None,
        })
    }

    #[test]
    fn only_turns_count_and_what_came_after_the_oldest_stays() {
        let events = || {
            vec![
                line("a"),
                working(),
                line("b"),
                working(),
                line("c"),
                working(),
            ]
        };
        assert_eq!(newest(events(), 9), events());
        assert_eq!(newest(events(), 2), events()[1..]);
        assert_eq!(newest(events(), 1), events()[3..]);
        assert_eq!(newest(events(), 0), events()[5..]);
    }
}
