//! What to type next about a thread in its present status.

use uwf_engine::{
    AgentChoice, HeldBy, HeldChild, ThreadState, ThreadStatus, ThreadView, WaitingAnswer,
    message_option,
};
use uwf_protocol::ids::ThreadId;
use uwf_protocol::limits::Reached;

use super::fix;
use super::run_name::RunName;

/// Returns the same as [`hint`], with commands that mean this root.
pub(crate) fn hint_here(view: &ThreadView) -> Option<String> {
    hint(view).map(|hint| super::here(&hint).into_owned())
}

/// Returns what a person has to do, if the thread waits for a person.
pub(crate) fn hint(view: &ThreadView) -> Option<String> {
    let (thread, state) = (view.thread, &view.state);
    if let (Some(command), Some(run)) = (of_child_of_run(view), &view.run) {
        let resume = RunName::of_thread(&run.id, thread.as_str()).command("resume");
        return Some(format!(
            "the child of the next step waits: `{command}` lets it go on, then `{resume}` goes on"
        ));
    }
    if state.status == ThreadStatus::Paused {
        return Some(format!(
            "the thread is paused: `uwf thread unpause {thread}` lets it go on"
        ));
    }
    if view.finished_step.is_some() {
        return Some(format!(
            "a finished step waits: `uwf thread step {thread}` commits it"
        ));
    }
    if let Some(answer) = &view.waiting_answer {
        let (role, uses) = (&answer.role, use_answer(thread, answer));
        return Some(format!("an answer of `{role}` has no step yet: {uses}"));
    }
    if !state.reached.is_empty() {
        let command = raise_command("resume", thread, &state.reached);
        return Some(format!("a limit is reached: `{command}` goes on"));
    }
    match state.status {
        ThreadStatus::Suspended => Some(match state.held_by {
            Some(HeldBy::Supervisor) => {
                format!("the supervisor suspended the thread: `uwf thread resume {thread}` goes on")
            }
            Some(HeldBy::Failure) => format!(
                "a step failed, and that stopped the run: `uwf thread resume {thread}` does it again"
            ),
            Some(HeldBy::Limit) | None => format!(
                "the thread waits for an answer: `uwf thread resume {thread} -p \"…\"` gives it"
            ),
        }),
        ThreadStatus::Blocked => Some(fix::hint(view.fix.as_ref()?, thread)),
        ThreadStatus::Waiting => Some(before_its_time(thread)),
        ThreadStatus::Idle
        | ThreadStatus::Running
        | ThreadStatus::Failed
        | ThreadStatus::Paused
        | ThreadStatus::Completed
        | ThreadStatus::Cancelled
        | ThreadStatus::Corrupt => None,
    }
}

/// Returns what can be done with a thread that waits for its next attempt.
pub(crate) fn before_its_time(thread: ThreadId) -> String {
    format!(
        "`uwf thread run {thread}` waits for it and goes on; `uwf thread step {thread} --now` tries at once, with `--agent <agent>` another one"
    )
}

/// Returns what makes a step of an answer that waits.
pub(crate) fn use_answer(thread: ThreadId, answer: &WaitingAnswer) -> String {
    let words = answer.words.as_deref().map(message_option);
    let said = words.is_some();
    let options = answer.choice().options() + &words.unwrap_or_default();
    let command = match (answer.replaces, said) {
        (Some(_), _) => format!("`uwf thread poke {thread}{options}`"),
        (None, true) => format!("`uwf thread resume {thread}{options}`"),
        (None, false) => format!(
            "`uwf thread step {thread}{options}` (`uwf thread resume {thread}{options}` if it is suspended)"
        ),
    };
    format!("{command} uses it if it is complete")
}

/// Returns the command that a child needs before its run can go on, if it needs one.
pub(crate) fn next_of_held(child: &HeldChild) -> Option<String> {
    needed_by_child(child.thread, &child.state)
}

/// Returns the command that lets a thread go on now: that of its child, if it is a run whose child waits.
pub(crate) fn next_of(view: &ThreadView) -> Option<String> {
    of_child_of_run(view).or_else(|| next(view.thread, &view.state))
}

fn of_child_of_run(view: &ThreadView) -> Option<String> {
    if view.run.is_none() || view.state.caused_by.is_none() || view.state.paused.is_some() {
        return None;
    }
    let child = view.children.first()?;
    needed_by_child(child.thread?, child.state.as_ref()?)
}

fn needed_by_child(child: ThreadId, state: &ThreadState) -> Option<String> {
    match state.status {
        // A step of the run does one of the child.
        ThreadStatus::Idle | ThreadStatus::Failed | ThreadStatus::Waiting => None,
        _ => next(child, state),
    }
}

/// Returns the next command, if there is one.
pub(crate) fn next(thread: ThreadId, state: &ThreadState) -> Option<String> {
    match state.status {
        ThreadStatus::Idle | ThreadStatus::Failed => Some(format!("uwf thread step {thread}")),
        ThreadStatus::Waiting => Some(format!("uwf thread run {thread}")),
        ThreadStatus::Suspended => {
            let command = raise_command("resume", thread, &state.reached);
            Some(match state.held_by {
                Some(_) => command,
                None => format!("{command} -p \"…\""),
            })
        }
        ThreadStatus::Paused => Some(format!("uwf thread unpause {thread}")),
        ThreadStatus::Running
        | ThreadStatus::Blocked
        | ThreadStatus::Completed
        | ThreadStatus::Cancelled
        | ThreadStatus::Corrupt => None,
    }
}

/// Returns the next command with what a person chose for the agent. The failed step of a run has no agent.
pub(crate) fn next_with(
    thread: ThreadId,
    state: &ThreadState,
    choice: &AgentChoice,
) -> Option<String> {
    let is_of_run = state.held_by == Some(HeldBy::Failure) && state.waiting_child.is_none();
    let next = next(thread, state)?;
    Some(match is_of_run {
        true => next,
        false => next + &choice.options(),
    })
}

/// Returns a command on a thread with the options that raise the reached limits.
pub(crate) fn raise_command(command: &str, thread: ThreadId, reached: &[Reached]) -> String {
    let mut options: Vec<String> = Vec::new();
    for one in reached {
        let option = match one.accept.as_slice() {
            [] => format!(" --raise {}", one.raise),
            attempts => {
                let numbers: Vec<String> = attempts.iter().map(u64::to_string).collect();
                format!(" --accept-unknown {}", numbers.join(","))
            }
        };
        if !options.contains(&option) {
            options.push(option);
        }
    }
    format!("uwf thread {command} {thread}{}", options.concat())
}
