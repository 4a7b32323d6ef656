//! Commands that go on elsewhere: `uwf thread fork`, in another thread, and `uwf thread migrate`, under another workflow.

use uwf_engine::{EngineError, ForkPoint, MovedOn, Visit};
use uwf_protocol::exit::Exit;
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_util::shell_words;

use crate::args::{ForkArgs, MigrateArgs};
use crate::commands::Context;
use crate::commands::workflow::{note_hidden, warn_all};
use crate::failure::{Failure, note};
use crate::output::print;
use crate::text::ForkedView;

pub(crate) fn fork(context: &Context, args: ForkArgs) -> Result<Exit, Failure> {
    let point = point(context, &args)?;
    let workflow = args.workflow.as_deref();
    let forked = uwf_engine::fork(context.site(), point, workflow, args.naming.into())?;
    if let Some(moved) = &forked.moved {
        tell(moved);
    }
    let (thread, step) = (forked.thread, point.step);
    print(&ForkedView::from(forked), context.format)?;
    if args.restore {
        restore(context, thread, step)?;
    }
    Ok(Exit::Done)
}

/// Puts the files back with which a fork begins.
fn restore(context: &Context, fork: ThreadId, step: CasRef) -> Result<(), Failure> {
    let restored = uwf_engine::restore_for_fork(&context.runner, fork, step);
    let restored = restored.map_err(|error| {
        note(&format!(
            "thread {fork} was made; the files of the step were not put back"
        ));
        Failure::from(error)
    })?;
    note(&match restored {
        None => "the worktree of the fork begins with the files of the step".to_owned(),
        Some(restored) => format!(
            "`{}` has the files of the step; commit {} has them as they were before",
            restored.repository.display(),
            restored.replaced
        ),
    });
    Ok(())
}

/// Returns where the fork begins.
fn point(context: &Context, args: &ForkArgs) -> Result<ForkPoint, Failure> {
    let site = context.site();
    let Some(thread) = &args.thread else {
        // The command line has one of both.
        let step = args.step.as_deref().unwrap_or_default();
        return Ok(ForkPoint {
            step: context.hash(step)?,
            thread: None,
        });
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
    let migrated = migrated.map_err(|error| refused(error, workflow))?;
    tell(&migrated.moved);
    print(&migrated, context.format)?;
    Ok(Exit::Done)
}

/// Returns the failure of a migration. A thread that has ended stays as it is, but a fork of it can go on.
fn refused(error: EngineError, workflow: Option<&str>) -> Failure {
    let EngineError::Ended { thread, .. } = error else {
        return error.into();
    };
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
