//! `uwf orchestrate clean`.

use std::path::Path;

use uwf_engine::{Cleaned, EngineError, clean_run, run_summary};
use uwf_protocol::exit::Exit;
use uwf_storage::{RunRoot, ThreadPlace};

use super::looking::format;
use super::place;
use crate::args::CleanRunsArgs;
use crate::commands::{Context, past_time};
use crate::failure::Failure;
use crate::output::print;
use crate::text::CleanedRuns;

/// The age of a folder that may still be without its thread: the folder of a run is made first.
const YOUNG_MS: i64 = 3_600_000;

/// What a folder is.
enum Found {
    /// The folder of a run in which nothing has happened since this time.
    Run { changed_ms: i64 },
    /// Nothing that is removed, for this reason.
    Kept(String),
    /// Nobody can tell, for this reason.
    Unreadable(String),
}

pub(super) fn run(context: &Context, args: &CleanRunsArgs) -> Result<Exit, Failure> {
    let before_ms = past_time(context, &args.older_than).map_err(|failure| Failure {
        exit: Exit::Usage,
        ..failure
    })?;
    if before_ms > context.site().env.now_ms() {
        // A mistyped date would end every run that waits.
        let what = format!("`{}` has not come yet", args.older_than);
        return Err(Failure::usage(what)
            .hint("`--older-than` takes an age such as `7d`, or a date in the past"));
    }
    let folder = place::state_dir(context, &args.place)?;
    let mut view = CleanedRuns::new(args.dry_run);
    let mut newer = 0;
    for (name, at) in place::newest_first(&folder)? {
        let path = folder.join(&name);
        let changed_ms = match look(context, (&name, &path), &at) {
            Found::Run { changed_ms } => changed_ms,
            Found::Kept(why) => {
                view.keep(name, why);
                continue;
            }
            Found::Unreadable(why) => {
                view.fail(name, why);
                continue;
            }
        };
        newer += 1;
        if newer <= args.keep || changed_ms >= before_ms {
            continue;
        }
        if args.dry_run {
            view.remove(name);
            continue;
        }
        match remove(context, &at, &path) {
            Ok(Cleaned::Removed) => view.remove(name),
            Ok(Cleaned::RemovedAndEnded(finished)) => view.remove_and_end(name, finished),
            Ok(Cleaned::InUse) => view.keep(name, "a process works on it".to_owned()),
            Ok(Cleaned::Copy(own)) => view.keep(name, copy_of(&own)),
            Err(error) => view.fail(name, Failure::from(error).what),
        }
    }
    print(&view, format(context, args.json))?;
    Ok(match view.has_failed() {
        true => Exit::Request,
        false => Exit::Done,
    })
}

fn copy_of(own: &Path) -> String {
    format!("it is a copy: the run is in `{}`", own.display())
}

/// Finds out what a folder is.
fn look(context: &Context, (name, path): (&str, &Path), at: &ThreadPlace) -> Found {
    if path.is_symlink() {
        return Found::Kept("it is a link".to_owned());
    }
    if let Err(failure) = place::of_place(context, at) {
        return Found::Kept(failure.what);
    }
    let site = context.site();
    let now_ms = site.env.now_ms();
    let made_ms = at.thread.time_ms(now_ms).unwrap_or(now_ms);
    match run_summary(site, at.thread) {
        Ok(run) if run.run_id != name => {
            Found::Kept(format!("it is a copy of the run `{}`", run.run_id))
        }
        Ok(run) => Found::Run {
            changed_ms: run.changed_ms.unwrap_or(made_ms),
        },
        Err(EngineError::UnknownThread(_)) if now_ms - made_ms < YOUNG_MS => {
            Found::Kept("its thread is not there, or not yet".to_owned())
        }
        // Nobody can go on with it.
        Err(EngineError::UnknownThread(_) | EngineError::Removed(_)) => Found::Run {
            changed_ms: made_ms,
        },
        Err(error @ EngineError::Pipeline(_)) => Found::Kept(Failure::from(error).what),
        Err(error) => Found::Unreadable(Failure::from(error).what),
    }
}

fn remove(context: &Context, at: &ThreadPlace, path: &Path) -> Result<Cleaned, EngineError> {
    let root = RunRoot::at(path.to_owned());
    match clean_run(&context.runner, at.thread, &root) {
        Err(EngineError::UnknownThread(_) | EngineError::Removed(_)) => {
            root.remove()?;
            Ok(Cleaned::Removed)
        }
        cleaned => cleaned,
    }
}
