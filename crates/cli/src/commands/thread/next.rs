//! `uwf thread step --next`: the thread that is ready at the remote.

use uwf_engine::{EngineError, NextThread, is_paused, take_next, waiting_threads};
use uwf_protocol::exit::Exit;
use uwf_protocol::ids::ThreadId;
use uwf_protocol::naming::{Label, LabelSelector};

use super::paused_here::left_to_others;
use crate::args::StepArgs;
use crate::commands::{Context, sharing};
use crate::failure::{Failure, note};

/// Takes the next thread and does its step. Exits with *busy* if there is none: there may be one later.
pub(super) fn step(
    context: &Context,
    args: &StepArgs,
    step: impl Fn(ThreadId) -> Result<(), Failure>,
) -> Result<(), Failure> {
    // A finished step that waits here is paid for, and the remote gives its thread to nobody as long as this machine has the lease.
    let mut remote = sharing::open(context.site())?;
    let mut waiting = waiting_threads(context.site())?;
    waiting.retain(|thread| !is_paused(context.site(), *thread));
    if !waiting.is_empty() {
        // If it cannot be reached, that is said once.
        sharing::answer(remote.hello())?;
        remote.rest();
    }
    for thread in waiting {
        match step(thread) {
            Ok(()) => return Ok(()),
            Err(failure) => failure.print(),
        }
    }
    let labels = labels("--next", &args.filter.about.labels)?;
    let (taken, brought) = loop {
        let NextThread { taken, paused } = take_next(context.site(), remote.as_mut(), &labels)?;
        let taken = taken.ok_or_else(|| nothing_is_ready(&paused))?;
        match taken.bring(&context.runner, remote.as_mut()) {
            Ok(false) => note(&ended_for_all(taken.thread())),
            // A person has just paused it.
            Err(EngineError::Paused { .. }) => taken.give_back(context.site(), remote.as_mut())?,
            brought => break (taken, brought),
        }
    };
    remote.rest();
    let done = brought.map_err(Failure::from).and_then(|_| {
        note(&format!("thread {} is next", taken.thread()));
        step(taken.thread())
    });
    match &done {
        Ok(()) => taken.finish(),
        // A step that never began has not given the lease back. If this fails, the lease ends by itself.
        Err(_) => drop(taken.give_back(context.site(), remote.as_mut())),
    }
    done
}

fn nothing_is_ready(paused: &[ThreadId]) -> Failure {
    let nothing = Failure {
        exit: Exit::Busy,
        note: left_to_others(paused).map(String::into_boxed_str),
        ..Failure::request("no thread is ready at the remote")
    };
    nothing.hint("`uwf thread list --remote` shows the threads there, and who works on them; a thread with a label is next only with `--label`; run the same command again later")
}

/// Says that a thread was taken that a person had ended on this machine, while the remote could not be told.
pub(super) fn ended_for_all(thread: ThreadId) -> String {
    format!("thread {thread} was ended here before; now it has ended for all machines")
}

/// Returns labels with their values: the remote looks for no label without one.
pub(super) fn labels(option: &str, given: &[LabelSelector]) -> Result<Vec<Label>, Failure> {
    let label = |one: &LabelSelector| match &one.value {
        Some(value) => Ok(Label {
            key: one.key.clone(),
            value: value.clone(),
        }),
        None => Err(Failure::usage(format!(
            "`{option} --label {0}` needs a value: `{0}=<value>`",
            one.key.as_str()
        ))),
    };
    given.iter().map(label).collect()
}
