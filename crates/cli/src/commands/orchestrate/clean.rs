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
use crate::text::{CleanedRuns, KeptRun, RemovedRun};

/// What is to be done with a run.
enum Plan {
    /// It is not old enough.
    Nothing,
    Remove,
    Keep(String),
}

pub(super) fn run(context: &Context, args: &CleanRunsArgs) -> Result<Exit, Failure> {
    let before_ms = past_time(context, &args.older_than).map_err(|failure| Failure {
        exit: Exit::Usage,
        ..failure
    })?;
    let folder = place::state_dir(context, &args.place);
    let mut view = CleanedRuns::new(args.dry_run);
    let mut has_failed = false;
    let runs = place::newest_first(&folder)?.into_iter();
    for (name, at) in runs.skip(args.keep) {
        let path = folder.join(&name);
        let why = match plan(context, (&name, &path), &at, before_ms) {
            Plan::Nothing => continue,
            Plan::Keep(why) => why,
            Plan::Remove if args.dry_run => {
                view.removed.push(RemovedRun::new(name));
                continue;
            }
            Plan::Remove => match remove(context, &at, &path) {
                Ok(Cleaned::Removed) => {
                    view.removed.push(RemovedRun::new(name));
                    continue;
                }
                Ok(Cleaned::RemovedAndEnded) => {
                    view.removed.push(RemovedRun::ended(name));
                    continue;
                }
                Ok(Cleaned::InUse) => "a process works on it".to_owned(),
                Ok(Cleaned::Copy(own)) => copy_of(&own),
                Err(error) => {
                    has_failed = true;
                    Failure::from(error).what
                }
            },
        };
        view.kept.push(KeptRun { run_id: name, why });
    }
    print(&view, format(context, args.json))?;
    Ok(match has_failed {
        true => Exit::Request,
        false => Exit::Done,
    })
}

fn copy_of(own: &Path) -> String {
    format!("it is a copy: the run is in `{}`", own.display())
}

/// Decides about a run.
fn plan(context: &Context, (name, path): (&str, &Path), at: &ThreadPlace, before_ms: i64) -> Plan {
    if path.is_symlink() {
        return Plan::Keep("it is a link".to_owned());
    }
    if let Err(failure) = place::of_place(context, at.clone()) {
        return Plan::Keep(failure.what);
    }
    let site = context.site();
    let changed_ms = match run_summary(site, at.thread) {
        Ok(run) if run.run_id != name => {
            return Plan::Keep(format!("it is a copy of the run `{}`", run.run_id));
        }
        Ok(run) => run.changed_ms,
        // Nobody can go on with it.
        Err(EngineError::UnknownThread(_) | EngineError::Removed(_)) => None,
        Err(error) => return Plan::Keep(Failure::from(error).what),
    };
    let made_ms = at.thread.time_ms(site.env.now_ms());
    match changed_ms.or(made_ms) {
        Some(changed_ms) if changed_ms < before_ms => Plan::Remove,
        _ => Plan::Nothing,
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
