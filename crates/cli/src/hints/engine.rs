//! What to type next after an error of the engine. `hint` sends each error to the function of its theme.

use uwf_engine::{
    CheckError, ChildError, ChildProblem, EngineError, Fix, PipelineError, PlannedTry, ReviewError,
    WorkflowUseError, message_option,
};
use uwf_protocol::exit::Exit;
use uwf_util::{shell_words, time};

use super::thread::{before_its_time, raise_command, use_answer};
use super::{Given, files, fix};

/// Returns what to type next, if there is something, after a call that was given this: the next one keeps it.
#[expect(clippy::too_many_lines, reason = "it is a list of all errors")]
pub(super) fn hint(error: &EngineError, given: Given<'_>) -> Option<String> {
    match error {
        EngineError::UnknownThread(_)
        | EngineError::Removed(_)
        | EngineError::NotEnded { .. }
        | EngineError::Ended { .. }
        | EngineError::NoStep(_)
        | EngineError::NoAttempt { .. }
        | EngineError::Raise(_)
        | EngineError::NotSuspended(_)
        | EngineError::OtherHead { .. }
        | EngineError::HeadMoved { .. }
        | EngineError::StepNotInThread { .. }
        | EngineError::EmptyPrompt => of_thread(error),
        EngineError::Paused { .. }
        | EngineError::Suspended { .. }
        | EngineError::Limit { .. }
        | EngineError::Review(_)
        | EngineError::Checks(_)
        | EngineError::Blocked { .. }
        | EngineError::Unrouted { .. }
        | EngineError::Child(_) => of_stop(error, given),
        EngineError::NoWayOn { .. }
        | EngineError::Misfit { .. }
        | EngineError::AnswerWaits { .. } => of_migration(error),
        EngineError::NoSlot { .. }
        | EngineError::Busy { .. }
        | EngineError::Waiting(_)
        | EngineError::Survivors { .. }
        | EngineError::NoProc
        | EngineError::Agent(_)
        | EngineError::Interrupted { .. }
        | EngineError::TakenOver(_)
        | EngineError::NotStarted(_)
        | EngineError::WaitInterrupted(_)
        | EngineError::RouteInterrupted(_)
        | EngineError::NotEvaluated(_)
        | EngineError::NoDirectory(_)
        | EngineError::NoLocation { .. } => of_run(error),
        EngineError::NoAgent { .. }
        | EngineError::UnknownAgent { .. }
        | EngineError::NoProgram { .. }
        | EngineError::AgentWords(_)
        | EngineError::EmptyAgent
        | EngineError::NoArgument { .. }
        | EngineError::Config { .. } => of_agent(error),
        EngineError::Workflow(_)
        | EngineError::WorkflowUse(_)
        | EngineError::UnknownWorkflow { .. }
        | EngineError::NoFile { .. } => of_workflow(error),
        EngineError::WrongType { .. }
        | EngineError::StartIsNoStep { .. }
        | EngineError::NoThreads(_)
        | EngineError::NothingInUse(_)
        | EngineError::SharedStore(_)
        | EngineError::NoRoot { .. }
        | EngineError::ForeignState(_)
        | EngineError::NoNodes(_)
        | EngineError::Foreign(_)
        | EngineError::Bundle(_)
        | EngineError::Store(_)
        | EngineError::ConfigFile(_)
        | EngineError::Storage(_)
        | EngineError::Io { .. } => of_store(error),
        EngineError::Files(error) => files::hint(error),
        EngineError::Pipeline(error) => super::pipeline::hint(error),
        EngineError::Workspace(error) => Some(super::workspace::hint(error)),
        EngineError::Sharing(error) => super::sharing::hint(error),
    }
}

/// Returns the command that lets a thread go on, if a person has to type it first.
pub(super) fn command(error: &EngineError, given: Given<'_>) -> Option<String> {
    let option = given.options();
    match error {
        EngineError::Paused { thread, .. } => Some(format!("uwf thread unpause {thread}")),
        EngineError::Suspended { thread, .. } => {
            Some(format!("uwf thread resume {thread}{option} -p \"…\""))
        }
        EngineError::Limit {
            thread,
            reached,
            command,
        } => {
            let command = raise_command(command, *thread, reached);
            let message = given.message.map(message_option).unwrap_or_default();
            Some(format!("{command}{option}{message}"))
        }
        EngineError::Review(ReviewError::Held { thread, .. }) => {
            Some(format!("uwf thread resume {thread}{option}"))
        }
        EngineError::Pipeline(error) => match &**error {
            PipelineError::Stopped { thread, .. } => Some(format!("uwf thread resume {thread}")),
            _ => None,
        },
        EngineError::Child(error) => match &error.problem {
            ChildProblem::Waits { .. } => {
                let thread = error.resumed();
                Some(format!("uwf thread resume {thread}{option} -p \"…\""))
            }
            ChildProblem::Limit { reached, .. } => {
                let command = raise_command("resume", error.resumed(), reached);
                Some(format!("{command}{option}"))
            }
            ChildProblem::Stopped { .. } => {
                Some(format!("uwf thread resume {}{option}", error.resumed()))
            }
            ChildProblem::Failed { source, .. } => command(source, given),
            _ => None,
        },
        _ => None,
    }
}

/// Returns the hint of an error about a thread that cannot go on as it stands.
fn of_stop(error: &EngineError, given: Given<'_>) -> Option<String> {
    let option = given.options();
    let needed = || command(error, given);
    Some(match error {
        EngineError::Paused { .. } => format!("`{}` lets it go on", needed()?),
        EngineError::Suspended { .. } => format!("answer with `{}`", needed()?),
        EngineError::Limit { .. } => format!("`{}` goes on", needed()?),
        EngineError::Review(ReviewError::Held { thread, .. }) => format!(
            "`uwf thread resume {thread}{option}` goes on; `uwf thread read {thread}` shows what was done"
        ),
        EngineError::Review(ReviewError::NotSummarized { failure, .. }) => failure.hint.clone()?,
        EngineError::Checks(error) => of_checks(error),
        EngineError::Blocked { thread, source } => fix::hint(&Fix::of(source), *thread),
        EngineError::Unrouted { report, .. } => {
            format!("`uwf thread step {}` goes on", report.thread)
        }
        EngineError::Child(child) => return of_child(child, given, needed),
        _ => return None,
    })
}

/// Returns the hint for a thread that was to be removed and has not ended.
fn of_removal(error: &EngineError) -> Option<String> {
    let &EngineError::NotEnded {
        thread,
        is_shared,
        has_finished_step,
        ..
    } = error
    else {
        return None;
    };
    if !is_shared {
        return Some(format!(
            "`uwf thread kill {thread}` ends it and keeps it; `uwf thread rm --force {thread}` removes it"
        ));
    }
    let first = match has_finished_step {
        true => format!("`uwf push {thread}` shares what waits here; "),
        false => format!("`uwf push {thread}` sends what the remote does not have; "),
    };
    Some(format!(
        "{first}`uwf thread rm --force {thread}` forgets it here, and `uwf fetch {thread}` brings it again; `uwf thread kill {thread}` ends it for all machines"
    ))
}

/// Returns the hint of an error about what a thread is, or which of its steps was asked for.
fn of_thread(error: &EngineError) -> Option<String> {
    let hint = match error {
        EngineError::UnknownThread(thread) => {
            super::sharing::or_fetch("`uwf thread list --all` shows every thread", thread)
        }
        EngineError::Ended { thread, .. } => format!(
            "`uwf thread read {thread}` shows it; `uwf thread fork <step>` goes on from one of its steps"
        ),
        EngineError::Removed(removed) => super::sharing::of_removed(removed),
        EngineError::NotEnded { .. } => of_removal(error)?,
        EngineError::NoStep(thread) => format!("`uwf thread step {thread}` does the first"),
        EngineError::NoAttempt { thread, .. } => {
            format!("`uwf thread steps {thread}` lists the failed attempts with their numbers")
        }
        EngineError::Raise(_) => {
            "`uwf thread show <thread>` tells which limit is reached; `uwf config get limits` and `uwf workflow show <workflow>` show all".to_owned()
        }
        EngineError::NotSuspended(thread) => {
            format!("`uwf thread show {thread}` tells its status; `uwf thread step {thread}` goes on")
        }
        EngineError::OtherHead { thread, .. } => {
            format!("`uwf thread show {thread}` tells where it stands now")
        }
        EngineError::HeadMoved { step, .. } => {
            format!("the work is not lost: `uwf thread fork {step}` goes on from it")
        }
        EngineError::EmptyPrompt => "say what is to be done: `-p \"…\"`".to_owned(),
        EngineError::StepNotInThread { thread, .. } => {
            format!("`uwf thread steps {thread}` lists its steps")
        }
        _ => return None,
    };
    Some(hint)
}

/// Returns the hint of an error about the checks of a role.
fn of_checks(error: &CheckError) -> String {
    match error {
        CheckError::OtherProgram { .. } => {
            "choose an agent that `uwf` brings: `uwf-command -- <program>` runs any program that reads a prompt and prints an answer".to_owned()
        }
        CheckError::NoFile { path, .. } => {
            format!("put `{path}` there, or take it out of `files` of the check in the workflow")
        }
        CheckError::NotCommitted {
            path, directory, ..
        } => {
            let directory = directory.display().to_string();
            let (directory, path) = (shell_words::quote(&directory), shell_words::quote(path));
            format!(
                "`git -C {directory} add --force -- {path} && git -C {directory} commit --message checks -- {path}` commits it; then run the same command again"
            )
        }
        CheckError::OtherCommitted { path, .. } => format!(
            "`uwf thread start` starts a thread that takes `{path}` as it is now; or commit it as it was, and run the same command again"
        ),
    }
}

/// Returns the hint of an error about the children of a thread: the commands name the thread that they work for.
fn of_child(
    error: &ChildError,
    given: Given<'_>,
    needed: impl Fn() -> Option<String>,
) -> Option<String> {
    let option = given.options();
    let thread = error.thread;
    let again = || {
        format!(
            "`uwf thread step {thread}{option}` tries again; what is finished is kept, and not paid for again"
        )
    };
    let hint = match &error.problem {
        ChildProblem::Waits { .. } => format!("answer with `{}`", needed()?),
        ChildProblem::Limit { .. } => format!("`{}` goes on", needed()?),
        ChildProblem::Stopped { child, .. } => format!(
            "`{}` does that step again; `uwf thread read {child}` shows what it printed",
            needed()?
        ),
        ChildProblem::TooDeep { depth, .. } => allow_depth(*depth),
        ChildProblem::AtWork { child, ended } => {
            let give_up = if *ended { "rm --force" } else { "kill" };
            format!(
                "`uwf thread step {thread}` goes on with it; `uwf thread {give_up} {child}` gives it up"
            )
        }
        ChildProblem::Several(_) | ChildProblem::Elsewhere(_) => {
            format!("`uwf thread fork {thread}~1` does it again in a thread of its own")
        }
        ChildProblem::DoneAgain(child) => format!(
            "`uwf thread poke {thread}` takes what comes of it; `uwf thread kill {child}` keeps the old result"
        ),
        ChildProblem::Needed(child) => {
            format!("`uwf thread rm --force {child}` removes it all the same")
        }
        ChildProblem::Misfit { .. } | ChildProblem::Unknown(_) => format!(
            "change the workflow, then `uwf thread migrate {thread} <workflow>` goes on with it"
        ),
        ChildProblem::Failed { source, .. } => match source.planned_try() {
            Some(next) => after_failure(&PlannedTry {
                thread,
                ..next.clone()
            }),
            None => return hint(source, given),
        },
        ChildProblem::Stands { child, .. } => format!("`uwf thread show {child}` says why"),
        ChildProblem::NotDone { child, exit, .. } => match exit {
            // Something must be done first, and what that is depends on the error.
            Exit::Request | Exit::Store => format!(
                "`uwf thread step {child}{option}` tries that thread alone, and says what to do first; then {}",
                again()
            ),
            Exit::Done
            | Exit::Usage
            | Exit::Agent
            | Exit::Busy
            | Exit::Suspended
            | Exit::Ended
            | Exit::Run(_)
            | Exit::Signal(_) => again(),
        },
        ChildProblem::Interrupted(_) => again(),
    };
    Some(hint)
}

fn allow_depth(depth: u64) -> String {
    format!("`uwf config set maxDepth {depth}` allows it")
}

/// Returns the hint of an error about going on under another workflow.
fn of_migration(error: &EngineError) -> Option<String> {
    let hint = match error {
        EngineError::NoWayOn {
            thread, workflow, ..
        } => format!(
            "`uwf workflow show {workflow}` shows its edges; `uwf thread fork <step> --workflow {workflow}` goes on from an earlier step that `uwf thread steps {thread}` lists"
        ),
        EngineError::Misfit {
            workflow, misfit, ..
        } => format!(
            "`uwf thread fork {} --workflow {workflow}` does that step anew; or let the schema of `{}` allow what was answered",
            misfit.before, misfit.role
        ),
        EngineError::AnswerWaits { thread, answer, .. } => {
            let uses = use_answer(*thread, answer);
            format!(
                "{uses}, and then pays nothing; after that, run the same command again. `step`, `resume` and `poke` give the answer up with `--new-session`"
            )
        }
        _ => return None,
    };
    Some(hint)
}

/// Returns the hint of an error about a run: a busy thread, a failed agent.
fn of_run(error: &EngineError) -> Option<String> {
    let hint = match error {
        EngineError::NoSlot { .. } => "the same command without `--no-wait` waits for one".to_owned(),
        EngineError::Busy { thread, .. } => {
            format!(
                "try again later; `uwf thread pause {thread}` stops it after the step that is being done, `uwf thread kill {thread}` ends it"
            )
        }
        EngineError::Survivors { .. } => {
            "wait until it ends, or end it with `kill <number>`; then run the same command again".to_owned()
        }
        EngineError::NotEvaluated(_) => "run the same command again, later: the machine lacks processes, memory or time (`ulimit -a`, `free -m`)".to_owned(),
        EngineError::NoProc => "mount it: `mount -t proc proc /proc`".to_owned(),
        EngineError::Waiting(waiting) => before_its_time(waiting.planned.thread),
        EngineError::Agent(failure) => match &failure.next_try {
            Some(next) => after_failure(next),
            None => failure.hint.clone(),
        },
        EngineError::Interrupted { attempt, .. } => attempt.hint.clone(),
        EngineError::TakenOver(_) => "`uwf thread list --remote` shows who works on it; `uwf fetch` brings what is done there".to_owned(),
        EngineError::NoDirectory(_) => "create it, or start a thread with another `--cwd`".to_owned(),
        EngineError::NoLocation { .. } => "create it: it comes from the `location` of an edge of the workflow, or from an earlier answer that the edge quotes".to_owned(),
        EngineError::NotStarted(_) | EngineError::WaitInterrupted(_) | EngineError::RouteInterrupted(_) => "run the same command again to continue".to_owned(),
        _ => return None,
    };
    Some(hint)
}

/// Returns the hint after a failed attempt that another one follows by itself.
fn after_failure(next: &PlannedTry) -> String {
    let PlannedTry {
        thread,
        at_ms,
        agent,
    } = next;
    let at = time::format_utc(*at_ms);
    format!(
        "agent `{agent}` makes the next attempt at {at} UTC: `uwf thread run {thread}` waits for that and goes on; `uwf thread step {thread} --now` tries at once"
    )
}

/// Returns the hint of an error about the choice of an agent.
fn of_agent(error: &EngineError) -> Option<String> {
    let hint = match error {
        EngineError::NoAgent { .. } => {
            "`uwf setup --agent <name>` chooses one, `uwf setup` asks for everything; or pass `--agent`"
                .to_owned()
        }
        EngineError::UnknownAgent { near: Some(near), .. }
        | EngineError::NoProgram { near: Some(near), .. } => format!("did you mean `{near}`?"),
        EngineError::UnknownAgent { alias, near: None } => {
            format!("`uwf config set agents.{alias}.command <program>` defines it")
        }
        EngineError::NoProgram { near: None, .. } => "`--agent` takes an alias of the config, a path, or a program on PATH with its arguments".to_owned(),
        EngineError::AgentWords(_) => "its words are split as a shell splits them: `--agent \"uwf-command -- sh -c 'echo it works'\"`".to_owned(),
        EngineError::EmptyAgent => "`--agent` takes an alias of the config, or a command line".to_owned(),
        EngineError::NoArgument { .. } => {
            "`uwf config set agents.<alias>.protocol positional` lets the agent read it from the store"
                .to_owned()
        }
        EngineError::Config { key, .. } => format!("`uwf config set {key} …` fixes it"),
        _ => return None,
    };
    Some(hint)
}

/// Returns the hint of an error about workflows.
fn of_workflow(error: &EngineError) -> Option<String> {
    Some(match error {
        EngineError::Workflow(_) => return None,
        EngineError::UnknownWorkflow { near: Some(near), .. }
        | EngineError::NoFile { near: Some(near), .. } => format!("did you mean `{near}`?"),
        EngineError::NoFile { near: None, .. } => return None,
        EngineError::WorkflowUse(error) => of_workflow_use(error),
        EngineError::UnknownWorkflow { near: None, .. } => {
            "`uwf workflow list` shows what can be started; a file needs its path, such as `./demo.yaml`".to_owned()
        }
        _ => return None,
    })
}

/// Returns the hint of an error about the use of a workflow or its name.
fn of_workflow_use(error: &WorkflowUseError) -> String {
    match error {
        WorkflowUseError::TooDeep { depth, .. } => allow_depth(*depth),
        WorkflowUseError::NotLocal(name) => format!(
            "name both: `uwf workflow diff {name} <file, name or hash>`; `uwf workflow which {name}` tells what the name means here"
        ),
        WorkflowUseError::NothingEarlier(name) | WorkflowUseError::NoVersion { name, .. } => {
            format!("`uwf workflow history {name}` lists its versions")
        }
        WorkflowUseError::Foreign(name) => {
            format!("remove it there; `uwf workflow which {name}` shows the file")
        }
    }
}

/// Returns the hint of an error about the store and the files under the root.
fn of_store(error: &EngineError) -> Option<String> {
    Some(match error {
        EngineError::WrongType { hash, .. } => format!("`uwf cas get {hash}` shows what it is"),
        EngineError::StartIsNoStep { start } => format!(
            "`uwf cas get {start}` shows it; `uwf thread steps <thread>` lists the steps after it"
        ),
        EngineError::NoThreads(start) => format!(
            "bring `threads.yaml` and `history.jsonl` back from a copy; without one, `uwf thread fork {start}` makes a thread of it, and `uwf cas gc --lost {start}` gives it up"
        ),
        EngineError::NothingInUse(_) => "`--root` or UWF_STORAGE_ROOT names the root whose threads and workflows use the store".to_owned(),
        EngineError::SharedStore(_) => "`--used-by <root>` names the roots that use it; a root that makes threads in it is known from then on".to_owned(),
        EngineError::NoRoot { list, .. } => format!(
            "a root has a `threads.yaml`, a `history.jsonl` or a `registry.yaml`; one that is gone for good is struck from `{}`",
            list.display()
        ),
        EngineError::ForeignState(_) => "collect garbage with that program; this one does not know what it uses".to_owned(),
        EngineError::NoNodes(_) => "name a root, the `cas` folder of one, or a bundle of `uwf thread export`".to_owned(),
        EngineError::Foreign(error) => return super::foreign::hint(error),
        EngineError::Bundle(error) => return super::bundle::hint(error),
        EngineError::Store(error) => return super::store::hint(error),
        EngineError::ConfigFile(error) => return super::config::hint(error),
        EngineError::Storage(error) => return super::storage::hint(error),
        EngineError::Io { .. } => return None,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    /// Returns the variants that a source text names.
    fn variants(source: &str) -> BTreeSet<&str> {
        let after = source.split("EngineError::").skip(1);
        let name = |text| str::split(text, |c: char| !c.is_alphanumeric()).next();
        after.filter_map(name).collect()
    }

    /// The compiler demands that `hint` names a new error, and this test that the function of its theme decides about it.
    #[test]
    fn the_function_of_each_theme_names_every_error_that_it_gets() {
        let source = include_str!("engine.rs");
        let (code, _) = source.split_once("#[cfg(test)]").unwrap();
        let mut functions = code.split("\nfn of_");
        let sent = functions.next().unwrap();
        let decided: BTreeMap<&str, BTreeSet<&str>> = functions
            .map(|function| (function.split('(').next().unwrap(), variants(function)))
            .collect();
        // The variants of an arm stand before the function that it calls.
        let arms: Vec<&str> = sent.split("=> of_").collect();
        let missing = arms.windows(2).flat_map(|pair| {
            let theme = pair[1].split('(').next().unwrap();
            let sent = variants(pair[0]);
            let missing = sent.difference(&decided[theme]).copied();
            missing.map(|variant| (theme, variant)).collect::<Vec<_>>()
        });
        assert_eq!(missing.collect::<Vec<_>>(), []);
        assert!(arms.len() > 3, "{} arms were found", arms.len());
    }
}
