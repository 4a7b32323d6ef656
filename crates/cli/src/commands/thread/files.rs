//! `uwf thread diff`: two threads, or two steps, side by side, or the files that one of them changed. `uwf thread restore`
//! puts such files back.

use uwf_engine::{Files, FilesOfThread, RestoreOptions};
use uwf_protocol::exit::Exit;

use crate::args::{DiffArgs, RestoreArgs};
use crate::commands::Context;
use crate::failure::{Failure, warn};
use crate::output::{print, print_long};
use crate::text::{ChangedFilesView, RestoredView, StepDifferenceView, ThreadDifferenceView};

/// Compares threads if both names are names of threads. Else both name steps: a thread then stands for its head, as
/// wherever a node is wanted. One name alone asks for the files that a thread or a step changed.
pub(super) fn diff(context: &Context, args: &DiffArgs) -> Result<Exit, Failure> {
    let site = context.site();
    let thread = |name: &str| uwf_engine::find_thread(site, name);
    let Some(b) = &args.b else {
        let thread = thread(&args.a).ok();
        let found = match thread {
            Some(thread) => uwf_engine::files_of_thread(site, thread)?,
            None => FilesOfThread {
                repositories: uwf_engine::files_of_step(site, context.hash(&args.a)?)?,
                problem: None,
            },
        };
        if let Some(problem) = &found.problem {
            warn(&format!(
                "the changes of the unfinished step are left out: {problem}"
            ));
        }
        let view = ChangedFilesView {
            repositories: found.repositories,
            problem: found.problem,
            stat: args.stat,
            is_of_thread: thread.is_some(),
        };
        print_long(&view, context.format, &context.pager)?;
        return Ok(Exit::Done);
    };
    if let (Ok(a), Ok(b)) = (thread(&args.a), thread(b)) {
        let difference = uwf_engine::diff_threads(site, a, b)?;
        print_long(
            &ThreadDifferenceView(difference),
            context.format,
            &context.pager,
        )?;
    } else {
        let (a, b) = (context.hash(&args.a)?, context.hash(b)?);
        let difference = uwf_engine::diff_steps(site, a, b)?;
        print_long(
            &StepDifferenceView(difference),
            context.format,
            &context.pager,
        )?;
    }
    Ok(Exit::Done)
}

/// Puts the files of a step back.
pub(super) fn restore(context: &Context, args: &RestoreArgs) -> Result<Exit, Failure> {
    let (step, named) = uwf_engine::find_in_thread(context.site(), &args.step)?;
    let thread = match named {
        Some(thread) => thread,
        None => uwf_engine::thread_of(context.site(), step)?.ok_or_else(|| {
            Failure::request(format!("no thread has the step `{step}`"))
                .hint(format!("`uwf thread fork {step}` makes one"))
        })?,
    };
    let options = RestoreOptions {
        files: if args.before {
            Files::Before
        } else {
            Files::After
        },
        force: args.force,
    };
    let restored = uwf_engine::restore(&context.runner, thread, step, options)?;
    let view = RestoredView {
        thread,
        step,
        before: args.before,
        restored,
    };
    print(&view, context.format)?;
    Ok(Exit::Done)
}
