//! The texts about actions for people.

use uwf_engine::{Action, HeldBy, ThreadStatus, ThreadView};

/// The texts of a page about an action.
pub(crate) struct About {
    /// The title, which is also on the button.
    pub(crate) title: &'static str,
    /// What happens.
    pub(crate) does: String,
    /// What the action may cost, or what cannot be undone.
    pub(crate) mind: &'static str,
}

/// The text about the cost of actions that do steps.
const PAID: &str = "Agents work, and that may cost money. They go on if you close this page, and if the server ends.";
const FREE: &str = "It costs nothing.";

/// Returns the texts about an action on a thread.
pub(crate) fn about(action: Action, view: &ThreadView) -> About {
    let state = &view.state;
    let next = state
        .current_role
        .as_ref()
        .or(state.suspended_role.as_ref());
    let next = next.map_or("the next role", |role| role.as_str());
    let is_waiting = state.status == ThreadStatus::Waiting;
    let (title, does, mind) = match action {
        Action::Step if is_waiting => (
            "Step now",
            format!("`{next}` is tried again now, not at the planned time."),
            PAID,
        ),
        Action::Step => ("Step", format!("`{next}` does one step, or as many as you say."), PAID),
        Action::Run => (
            "Run",
            "Steps are done until the thread ends, asks a person, is blocked, or fails.".to_owned(),
            PAID,
        ),
        Action::Resume => resume(view, next),
        Action::Poke => (
            "Redo",
            "The last step is done again, with its old answer and your text. The new step replaces the old one, which stays in the store."
                .to_owned(),
            PAID,
        ),
        Action::Pause => (
            "Pause",
            "A step that is being done goes on to its end. No further step is started until somebody unpauses the thread.".to_owned(),
            FREE,
        ),
        Action::Unpause => ("Unpause", "Steps can be done again. This does not start one.".to_owned(), FREE),
        Action::Kill if view.running.is_some() => (
            "Kill",
            "The agent is ended with everything that it started, and the thread ends as cancelled. Its steps stay, and it can be forked.".to_owned(),
            "It cannot be undone. What the agent did in this step is lost for the thread, but paid for.",
        ),
        Action::Kill => (
            "Kill",
            "The thread ends as cancelled. Its steps stay, and it can be forked.".to_owned(),
            "It cannot be undone.",
        ),
        Action::Fork => (
            "Fork",
            "A new thread starts at a step of this one. This thread does not change, and no step is done.".to_owned(),
            FREE,
        ),
        Action::Label => ("Name and labels", "The thread gets the name and the labels below.".to_owned(), FREE),
    };
    About { title, does, mind }
}

fn resume(view: &ThreadView, next: &str) -> (&'static str, String, &'static str) {
    let state = &view.state;
    if state.status.is_ended() {
        let does = "The thread goes on where its workflow says that ended threads go on.";
        return ("Resume", does.to_owned(), PAID);
    }
    match state.held_by {
        Some(HeldBy::Limit) => (
            "Raise and go on",
            format!("The limits are raised to what is below, and `{next}` does its step."),
            PAID,
        ),
        Some(HeldBy::Supervisor) => (
            "Go on",
            format!(
                "The thread goes on although its supervisor suspended it: `{next}` does its step."
            ),
            PAID,
        ),
        Some(HeldBy::Failure) => (
            "Do it again",
            format!("`{next}`, which stopped the run, is done again."),
            PAID,
        ),
        None => (
            "Answer",
            format!(
                "`{next}` gets its question with your answer, and does its step. Without an answer, it is told to go on."
            ),
            PAID,
        ),
    }
}

/// Returns the short word on a button that leads to an action.
pub(crate) fn button(action: Action, view: &ThreadView) -> String {
    match action {
        Action::Label => "Name".to_owned(),
        action => about(action, view).title.to_owned(),
    }
}
