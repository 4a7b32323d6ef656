//! What a person can do to a thread now. Pure: the state of a thread says it.

use std::str::FromStr;

use serde::Serialize;

use crate::read::show::ThreadView;
use crate::read::thread_state::ThreadStatus;
use crate::unknown_word::{UnknownWord, value_of};

/// Something that a person does to a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// Answer it, raise its limits, or enter it again.
    Resume,
    /// Do steps until it stops.
    Run,
    /// Do a step.
    Step,
    /// Do its last step again.
    Poke,
    /// Let it go on.
    Unpause,
    /// Start no further step.
    Pause,
    /// Begin another thread at one of its steps.
    Fork,
    /// Give it a name and labels.
    Label,
    /// End it.
    Kill,
}

impl Action {
    /// Every action, the most wanted first.
    pub const ALL: [Self; 9] = [
        Self::Resume,
        Self::Run,
        Self::Step,
        Self::Poke,
        Self::Unpause,
        Self::Pause,
        Self::Fork,
        Self::Label,
        Self::Kill,
    ];

    /// Returns its word, which is that of the command.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Resume => "resume",
            Self::Run => "run",
            Self::Step => "step",
            Self::Poke => "poke",
            Self::Unpause => "unpause",
            Self::Pause => "pause",
            Self::Fork => "fork",
            Self::Label => "label",
            Self::Kill => "kill",
        }
    }
}

impl FromStr for Action {
    type Err = UnknownWord;

    fn from_str(word: &str) -> Result<Self, UnknownWord> {
        value_of(word, Self::ALL, Self::as_str)
    }
}

/// What matters of a thread here.
#[derive(Debug, Clone, Copy)]
struct Standing {
    status: ThreadStatus,
    /// Whether a step was done.
    has_steps: bool,
    /// Whether it is a run of a pipeline, whose steps are never replaced.
    is_run: bool,
    /// Whether it is a run whose child needs the answer: a run takes none.
    is_child_asked: bool,
    /// Whether it has ended and can be entered again.
    resumable: bool,
    /// Whether it is paused, also while a step goes on to its end.
    is_paused: bool,
}

/// Returns what can be done to a thread in its present state, the most wanted first. A command may still refuse: the thread
/// may have changed meanwhile.
#[must_use]
pub fn possible_actions(view: &ThreadView) -> Vec<Action> {
    let standing = Standing {
        status: view.state.status,
        has_steps: view.steps > 0,
        is_run: view.run.is_some(),
        is_child_asked: view.run.is_some() && view.state.caused_by.is_some(),
        resumable: view.outline.resumable,
        is_paused: view.state.paused.is_some(),
    };
    let all = Action::ALL.into_iter();
    all.filter(|action| is_possible(*action, standing))
        .collect()
}

fn is_possible(action: Action, at: Standing) -> bool {
    use ThreadStatus as Is;
    let is_active = !at.status.is_ended() && at.status != Is::Corrupt;
    match action {
        Action::Step | Action::Run => matches!(at.status, Is::Idle | Is::Failed | Is::Waiting),
        Action::Resume => {
            let asks = at.status == Is::Suspended && !at.is_child_asked;
            asks || (at.status.is_ended() && at.resumable)
        }
        Action::Poke => {
            let stands = matches!(
                at.status,
                Is::Idle | Is::Failed | Is::Waiting | Is::Suspended | Is::Blocked
            );
            stands && at.has_steps && !at.is_run
        }
        Action::Pause => is_active && !at.is_paused,
        Action::Unpause => is_active && at.is_paused,
        Action::Kill => is_active,
        Action::Fork | Action::Label => at.status != Is::Corrupt,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(at: Standing) -> String {
        let all = Action::ALL.into_iter();
        let possible = all.filter(|action| is_possible(*action, at));
        let words: Vec<&str> = possible.map(Action::as_str).collect();
        words.join(" ")
    }

    /// The status, and what can be done then.
    const TABLE: [(ThreadStatus, &str); 10] = [
        (ThreadStatus::Idle, "run step poke pause fork label kill"),
        (ThreadStatus::Running, "pause fork label kill"),
        (ThreadStatus::Suspended, "resume poke pause fork label kill"),
        (ThreadStatus::Blocked, "poke pause fork label kill"),
        (ThreadStatus::Failed, "run step poke pause fork label kill"),
        (ThreadStatus::Waiting, "run step poke pause fork label kill"),
        (ThreadStatus::Paused, "unpause fork label kill"),
        (ThreadStatus::Completed, "fork label"),
        (ThreadStatus::Cancelled, "fork label"),
        (ThreadStatus::Corrupt, ""),
    ];

    #[test]
    fn the_status_says_what_can_be_done() {
        for (status, expected) in TABLE {
            let at = Standing {
                status,
                has_steps: true,
                is_run: false,
                is_child_asked: false,
                resumable: false,
                is_paused: status == ThreadStatus::Paused,
            };
            assert_eq!(words(at), expected, "{}", status.as_str());
            let first = Standing {
                has_steps: false,
                ..at
            };
            assert!(!words(first).contains("poke"));
            let run = Standing { is_run: true, ..at };
            assert!(!words(run).contains("poke"));
            let of_child = Standing {
                is_child_asked: true,
                ..run
            };
            assert!(!words(of_child).contains("resume"));
        }
    }

    #[test]
    fn an_ended_thread_may_be_entered_again_and_a_running_one_may_be_paused_already() {
        let at = Standing {
            status: ThreadStatus::Completed,
            has_steps: true,
            is_run: false,
            is_child_asked: false,
            resumable: true,
            is_paused: false,
        };
        assert_eq!(words(at), "resume fork label");
        let paused = Standing {
            status: ThreadStatus::Running,
            is_paused: true,
            ..at
        };
        assert_eq!(words(paused), "unpause fork label kill");
    }
}
