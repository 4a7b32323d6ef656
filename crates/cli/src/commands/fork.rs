//! Commands that go on elsewhere: `uwf thread fork`, in another thread, and `uwf thread migrate`, under another workflow.

use uwf_engine::{EngineError, ForkFiles, ForkPoint, Forked, MovedOn, Visit};
use uwf_protocol::exit::Exit;
use uwf_protocol::ids::ThreadId;
use uwf_util::shell_words;

use crate::args::{ForkArgs, MigrateArgs};
use crate::commands::Context;
use crate::commands::workflow::{note_hidden, warn_all};
use crate::failure::{Failure, note};
use crate::hints::run_name::RunName;
use crate::hints::stopped_runs::restarts;
use crate::output::print;
use crate::text::ForkedView;

pub(crate) fn fork(context: &Context, args: ForkArgs) -> Result<Exit, Failure> {
    let point = point(context, &args)?;
    let (workflow, naming) = (args.workflow.as_deref(), args.naming.into());
    let (forked, files) = match args.restore {
        true => {
            let made = uwf_engine::fork_with_files(&context.runner, point, workflow, naming)?;
            (made.0, Some(made.1))
        }
        false => {
            let made = uwf_engine::fork(context.site(), point, workflow, naming)?;
            (made, None)
        }
    };
    if let Some(moved) = &forked.moved {
        tell(moved);
    }
    note_left_out(&forked);
    let thread = forked.thread;
    print(&ForkedView::from(forked), context.format)?;
    files.map_or(Ok(()), |files| tell_files(thread, files))?;
    Ok(Exit::Done)
}

/// Names the finished step that waits in the old thread, because the fork does not have it.
fn note_left_out(forked: &Forked) {
    if let (Some(step), Some(thread)) = (forked.left_out, forked.from.thread) {
        note(&format!(
            "step `{step}` of thread `{thread}` is finished and waits there, and the fork does not have it; `uwf thread fork {step}` makes one that does"
        ));
    }
}

/// Tells which files a fork begins with.
fn tell_files(fork: ThreadId, files: Result<ForkFiles, EngineError>) -> Result<(), Failure> {
    let files = files.map_err(|error| {
        note(&format!(
            "thread {fork} was made; its files were not put back"
        ));
        Failure::from(error)
    })?;
    note(&match files {
        ForkFiles::InWorktree => {
            "the worktree of the fork begins with the files of the step".to_owned()
        }
        ForkFiles::NewWorktree => {
            "the worktree of the fork begins at the commit that is checked out when its first step is done"
                .to_owned()
        }
        ForkFiles::Restored(restored) => {
            let whose = match restored.at_start {
                true => "from before the first step",
                false => "of the step",
            };
            format!(
                "`{}` has the files {whose}; commit {} has them as they were before",
                restored.repository.display(),
                restored.replaced
            )
        }
    });
    Ok(())
}

/// Returns where the fork begins.
fn point(context: &Context, args: &ForkArgs) -> Result<ForkPoint, Failure> {
    let site = context.site();
    let Some(thread) = &args.thread else {
        // The command line has one of both.
        let step = args.step.as_deref().unwrap_or_default();
        let (step, thread) = uwf_engine::find_in_thread(site, step)?;
        return Ok(ForkPoint { step, thread });
    };
    let thread = context.thread(thread)?;
    let visit = args.nth.map_or(Visit::Last, Visit::Nth);
    let step = match &args.from_role {
        Some(role) => uwf_engine::find_visit(site, thread, role, visit)?,
        None => context.hash(thread.as_str())?,
    };
    Ok(ForkPoint {
        step,
        thread: Some(thread),
    })
}

pub(crate) fn migrate(context: &Context, args: &MigrateArgs) -> Result<Exit, Failure> {
    let thread = context.thread(&args.thread)?;
    let workflow = args.workflow.as_deref();
    let migrated = match args.dry_run {
        true => uwf_engine::plan_migration(&context.runner, thread, workflow),
        false => uwf_engine::migrate(&context.runner, thread, workflow),
    };
    let migrated = migrated.map_err(|error| refused(context, error, workflow))?;
    tell(&migrated.moved);
    print(&migrated, context.format)?;
    Ok(Exit::Done)
}

/// Returns the failure of a migration. A thread that has ended stays as it is, but a fork of it can go on.
fn refused(context: &Context, error: EngineError, workflow: Option<&str>) -> Failure {
    let EngineError::Ended { thread, .. } = error else {
        return error.into();
    };
    if uwf_engine::run_origin(context.site(), thread).is_ok() {
        let run = RunName::of_thread("", thread.as_str());
        return Failure::from(error).hint(restarts(&run));
    }
    let workflow = shell_words::quote(workflow.unwrap_or("<workflow>"));
    Failure::from(error).hint(format!(
        "`uwf thread fork --thread {thread} --workflow {workflow}` goes on from its end in a new thread"
    ))
}

/// Tells which workflow was chosen, and what is probably wrong with it.
fn tell(moved: &MovedOn) {
    note_hidden(moved.hidden.as_ref());
    warn_all(&moved.warnings);
}
