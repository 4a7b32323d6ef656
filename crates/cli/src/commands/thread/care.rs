//! `uwf thread kill`, `pause`, `unpause`, `rm` and `prune`.

use uwf_cas_fs::Collect;
use uwf_engine::{
    Children, EngineError, GcOptions, ListFilter, Prune, PruneOptions, Removable, Removed,
    ThreadStatus, USUAL_GRACE_MS, UnkeptChanges, WaitingAnswer, has_remote, is_shared,
};
use uwf_protocol::exit::Exit;
use uwf_protocol::ids::ThreadId;

use super::listing::{about, statuses};
use super::stepping::refuse_head_of_many;
use crate::args::{KillArgs, PauseArgs, PruneArgs, RmArgs, ThreadsArgs};
use crate::commands::{Context, orchestrate};
use crate::failure::{Failure, note, warn};
use crate::hints;
use crate::input::message_text;
use crate::output::{Show, print};
use crate::text::{
    CollectedView, KilledView, PausedView, PrunedView, RemovedView, UnpausedView, unkept_line,
};

pub(super) fn kill(context: &Context, args: &KillArgs) -> Result<Exit, Failure> {
    refuse_head_of_many(&args.at, args.which.threads.len())?;
    let find = |name: &str| orchestrate::thread_or_run(context, name);
    let threads = args.which.threads.iter().map(|name| find(name));
    each_of(context, threads.collect(), |id| {
        let at = context.thread_at(id, &args.at)?;
        let waiting = uwf_engine::waiting_answer(context.site(), id);
        let killed = uwf_engine::kill(&context.runner, at)?;
        note_given_up(id, waiting);
        Ok(KilledView::from(killed))
    })
}

pub(super) fn pause(context: &Context, args: &PauseArgs) -> Result<Exit, Failure> {
    let message = args.message.clone().map(message_text).transpose()?;
    each(context, &args.which, |id| {
        let paused = uwf_engine::pause(context.site(), id, message.clone())?;
        Ok(PausedView::new(paused, is_shared(context.site(), id)))
    })
}

pub(super) fn unpause(context: &Context, args: &ThreadsArgs) -> Result<Exit, Failure> {
    each(context, args, |id| {
        Ok(UnpausedView::from(uwf_engine::unpause(context.site(), id)?))
    })
}

pub(super) fn rm(context: &Context, args: &RmArgs) -> Result<Exit, Failure> {
    let which = if args.force {
        Removable::Any
    } else {
        Removable::Ended
    };
    let changes = if args.drop_worktree {
        UnkeptChanges::Drop
    } else {
        UnkeptChanges::Refuse
    };
    each(context, &args.which, |id| {
        let waiting = uwf_engine::waiting_answer(context.site(), id);
        let finished = uwf_engine::waiting_step(context.site(), id);
        let was_shared = is_shared(context.site(), id) && has_remote(&context.site().root);
        let removed = uwf_engine::remove(context.site(), id, which, changes)?;
        note_given_up(id, waiting);
        if let Ok(Some(step)) = finished {
            note(&format!(
                "step `{step}` was finished and waited in {id}; until `uwf cas gc` removes it, `uwf thread fork {step}` makes a thread with it"
            ));
        }
        Ok(match removed {
            Removed::Thread(removed) => {
                let is_readable = context.site().store.get(removed.head).is_ok();
                RemovedView::new(&removed, is_readable, was_shared)
            }
            Removed::Record(thread) => RemovedView::of_record(thread),
        })
    })
}

/// Says that a thread has ended or is gone with an answer that no step has.
fn note_given_up(thread: ThreadId, waiting: Option<WaitingAnswer>) {
    if let Some(WaitingAnswer { role, .. }) = waiting {
        note(&format!(
            "an answer of `{role}` waited in {thread} and is given up"
        ));
    }
}

/// Does something with each thread that is named.
fn each<V: Show>(
    context: &Context,
    args: &ThreadsArgs,
    operation: impl Fn(ThreadId) -> Result<V, Failure>,
) -> Result<Exit, Failure> {
    // `@2` means the same thread before and after another one was removed.
    let found = args.threads.iter().map(|thread| context.thread(thread));
    each_of(context, found.collect(), operation)
}

/// Does something with each thread, and prints each result as soon as it is there. A failure does not keep the others from
/// being tried. The first one decides the exit code. A signal ends it all.
fn each_of<V: Show>(
    context: &Context,
    found: Vec<Result<ThreadId, Failure>>,
    operation: impl Fn(ThreadId) -> Result<V, Failure>,
) -> Result<Exit, Failure> {
    let mut first = Exit::Done;
    for id in found {
        let done = id.and_then(&operation);
        match done {
            Ok(view) => print(&view, context.format)?,
            Err(failure) => {
                failure.print();
                if matches!(failure.exit, Exit::Signal(_)) {
                    return Ok(failure.exit);
                }
                if first == Exit::Done {
                    first = failure.exit;
                }
            }
        }
    }
    Ok(first)
}

pub(super) fn prune(context: &Context, args: &PruneArgs) -> Result<Exit, Failure> {
    context.note_empty_root();
    let now_ms = context.site().env.now_ms();
    let before = |age: u64| now_ms.saturating_sub(i64::try_from(age).unwrap_or(i64::MAX));
    let options = PruneOptions {
        statuses: ended_statuses(args.status.as_deref())?,
        ended_before_ms: args.older_than.map(before),
        about: ListFilter {
            children: Children::Listed,
            ..about(context.site(), &args.about)?
        },
        mode: if args.dry_run {
            Prune::Look
        } else {
            Prune::Remove
        },
    };
    let pruned = uwf_engine::prune(context.site(), &options)?;
    let collected = args.gc.then(|| collect(context)).transpose();
    // The threads are gone, also if the garbage cannot be collected.
    let (collected, failure) = match collected {
        Ok(collected) => (collected, None),
        Err(error) => (None, Some(error)),
    };
    for warning in &pruned.warnings {
        warn(warning);
    }
    for thread in &pruned.untold {
        warn(&format!(
            "thread {thread} stays: the other machines do not know yet that it was ended; `{}` tells them",
            hints::here(&format!("uwf push {thread}"))
        ));
    }
    for unkept in &pruned.unkept {
        note(&unkept_line(unkept));
    }
    for left in &pruned.left {
        let (thread, reason) = (left.thread, &left.reason);
        warn(&format!(
            "of the removed thread {thread}, something is left: {reason}; `uwf thread rm {thread}` removes it when that is fixed"
        ));
    }
    let exit = match pruned.left.as_slice() {
        [] => Exit::Done,
        _ => Exit::Request,
    };
    let view = PrunedView::new(pruned, options.mode, collected);
    print(&view, context.format)?;
    match failure {
        Some(error) => Err(error.into()),
        None => Ok(exit),
    }
}

/// Collects garbage as `uwf cas gc` does without options.
fn collect(context: &Context) -> Result<CollectedView, EngineError> {
    let options = GcOptions {
        older_than_ms: USUAL_GRACE_MS,
        mode: Collect::Remove,
        lost: Vec::new(),
        used_by: Vec::new(),
    };
    let collected = uwf_engine::gc(context.site(), &options)?;
    Ok(CollectedView::new(&collected, options.mode))
}

/// Parses a comma list of statuses, all of which must be of ended threads.
fn ended_statuses(text: Option<&str>) -> Result<Vec<ThreadStatus>, Failure> {
    let ended = || {
        ThreadStatus::ALL
            .into_iter()
            .filter(|status| status.is_ended())
    };
    let chosen = match text {
        None => ended().collect(),
        Some(text) => statuses(text)?,
    };
    let Some(other) = chosen.iter().find(|status| !status.is_ended()) else {
        return Ok(chosen);
    };
    let known: Vec<&str> = ended().map(ThreadStatus::as_str).collect();
    Err(Failure::request(format!(
        "`{}` is not a status of threads that have ended",
        other.as_str()
    ))
    .hint(format!(
        "those are {}; `uwf thread rm --force` removes a thread that has not ended",
        known.join(" and ")
    )))
}
