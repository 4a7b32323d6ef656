//! Where runs are: the workspace, the folder of all runs, and a run by its name.

use std::path::{Path, PathBuf};

use serde_json::Value;
use uwf_engine::{
    EngineError, RunOrigin, RunReport, find_thread, is_shared, run_origin, runs_without_folder,
};
use uwf_pipeline::run_id_problem;
use uwf_protocol::ids::ThreadId;
use uwf_storage::{RunRoot, ThreadPlace};
use uwf_util::shell_words;

use crate::args::PlaceArgs;
use crate::commands::Context;
use crate::failure::{Failure, warn};
use crate::hints::run_folder;
use crate::hints::run_name::{self, RunName};

/// The variable that names the folder of all runs.
pub(super) const STATE_DIR: &str = "ORCHESTRATE_STATE_DIR";
/// What shows the names of runs.
const LISTED: &str = "`uwf orchestrate list` shows the runs";
/// The folder of all runs in a workspace.
pub(super) const RUNS: &str = ".orchestrate/runs";

/// Returns the workspace. One that the caller names must be there.
pub(super) fn workspace(context: &Context, place: &PlaceArgs) -> Result<PathBuf, Failure> {
    let cwd = context.site().env.cwd();
    let Some(folder) = &place.workspace else {
        return Ok(cwd.to_owned());
    };
    let folder = cwd.join(folder);
    match std::fs::metadata(&folder) {
        Ok(found) if found.is_dir() => Ok(folder),
        Ok(_) => Err(no_workspace(&folder, &"it is no folder")),
        Err(error) => Err(no_workspace(&folder, &error)),
    }
}

/// Returns the failure of a call whose workspace cannot be used.
pub(super) fn no_workspace(folder: &Path, cause: &impl ToString) -> Failure {
    Failure::usage(format!("cannot use the workspace `{}`", folder.display()))
        .cause(cause)
        .hint("`--workspace` names a folder")
}

/// Returns the folder of all runs.
pub(super) fn state_dir(context: &Context, place: &PlaceArgs) -> Result<PathBuf, Failure> {
    let workspace = workspace(context, place)?;
    Ok(chosen(context, place).unwrap_or_else(|| workspace.join(RUNS)))
}

/// Returns the folder of all runs that the caller chose.
pub(super) fn chosen(context: &Context, place: &PlaceArgs) -> Option<PathBuf> {
    let env = &context.site().env;
    let of_env = || {
        let folder = env.var_os(STATE_DIR).filter(|folder| !folder.is_empty());
        folder.map(PathBuf::from)
    };
    let folder = place.state_dir.clone().or_else(of_env)?;
    Some(env.cwd().join(folder))
}

/// Returns the names of all runs in a folder, sorted.
pub(super) fn names(folder: &Path) -> Result<Vec<String>, Failure> {
    let mut names = match uwf_durable::names(folder) {
        Ok(names) => names,
        Err(error) if error.is_not_found() => Vec::new(),
        Err(error) => {
            return Err(Failure::request("cannot read the folder of the runs").cause(&error));
        }
    };
    names.retain(|name| RunRoot::at(folder.join(name)).thread().is_some());
    names.sort_unstable();
    Ok(names)
}

/// Returns the threads of all runs in a folder with their names, the newest first.
pub(super) fn newest_first(folder: &Path) -> Result<Vec<(String, ThreadPlace)>, Failure> {
    let names = names(folder)?.into_iter();
    let place = |name: &String| RunRoot::at(folder.join(name)).thread();
    let runs = names.filter_map(|name| place(&name).map(|place| (name, place)));
    let mut runs: Vec<(String, ThreadPlace)> = runs.collect();
    sort(&mut runs);
    Ok(runs)
}

/// Returns the threads of all runs in a folder and of those that have none there yet, or no more, the newest first.
pub(super) fn with_missing(
    context: &Context,
    folder: &Path,
) -> Result<Vec<(String, ThreadPlace)>, Failure> {
    let mut runs = newest_first(folder)?;
    runs.extend(missing(context, folder));
    sort(&mut runs);
    Ok(runs)
}

/// Returns the runs that can go on and have no folder. A state that cannot be read hides no run that has one.
fn missing(context: &Context, folder: &Path) -> Vec<(String, ThreadPlace)> {
    runs_without_folder(context.site(), folder).unwrap_or_default()
}

fn sort(runs: &mut [(String, ThreadPlace)]) {
    // The ids of threads begin with their times.
    runs.sort_by(|(_, one), (_, other)| other.thread.as_str().cmp(one.thread.as_str()));
}

/// Finds the run that a person named, or the newest whole one.
pub(super) fn find_or_newest(
    context: &Context,
    place: &PlaceArgs,
    name: Option<&str>,
) -> Result<ThreadId, Failure> {
    if let Some(name) = name {
        return find(context, place, name);
    }
    let folder = state_dir(context, place)?;
    let runs = newest_first(&folder)?;
    let whole = runs.iter().find(|(_, at)| is_whole(context, at));
    match whole.or(runs.first()) {
        Some((name, at)) => {
            let root = RunRoot::at(folder.join(name));
            made(context, place, (name, &root), at)
        }
        None => Err(
            Failure::usage(format!("there is no run in `{}`", folder.display())).hint(
                "`uwf orchestrate run WORKFLOW` makes one; `--workspace` names another folder",
            ),
        ),
    }
}

/// Tells whether a run is what somebody means who names none: not one of a single step, none that does the step of another
/// one, and none that is half-made. One that cannot be read is, so that the caller is told why.
fn is_whole(context: &Context, at: &ThreadPlace) -> bool {
    let Ok(thread) = of_place(context, at) else {
        return true;
    };
    match run_origin(context.site(), thread) {
        Ok(origin) => origin.run.only.is_none() && origin.parent.is_none(),
        Err(EngineError::UnknownThread(_)) => false,
        Err(_) => true,
    }
}

/// Finds a run by its id or the beginning of it, or by its thread.
pub(super) fn find(context: &Context, place: &PlaceArgs, name: &str) -> Result<ThreadId, Failure> {
    let folder = state_dir(context, place)?;
    if name.is_empty() {
        return Err(Failure::usage("no run is named: the argument is empty").hint(LISTED));
    }
    let exact = run_id_problem(name).is_none() && folder.join(name).is_dir();
    let is_thread = name.parse::<ThreadId>().is_ok();
    let missing = match exact || is_thread {
        true => Vec::new(),
        false => missing(context, &folder),
    };
    if let Some((_, at)) = missing.iter().find(|(run, _)| run == name) {
        return of_place(context, at);
    }
    let runs = names(&folder)?;
    let found: Vec<&str> = match exact {
        true => vec![name],
        false => {
            let all = runs.iter().chain(missing.iter().map(|(run, _)| run));
            let begun = all.filter(|run| run.starts_with(name));
            begun.map(String::as_str).collect()
        }
    };
    match &found[..] {
        [run] => {
            let root = RunRoot::at(folder.join(run));
            match root.thread() {
                Some(at) => made(context, place, (run, &root), &at),
                None => match missing.iter().find(|(other, _)| other == run) {
                    Some((_, at)) => of_place(context, at),
                    None => Err(half_made(context, &root, run, place)),
                },
            }
        }
        [] => find_thread(context.site(), name).map_err(|_| unknown(name, &folder)),
        several => Err(Failure {
            causes: several.iter().map(|run| format!("`{run}`")).collect(),
            ..Failure::usage(format!("`{name}` is the beginning of several runs"))
        }
        .hint("type more of it")),
    }
}

/// Returns how commands that are typed here name a run that this call worked on.
pub(super) fn name_of(context: &Context, place: &PlaceArgs, report: &RunReport) -> RunName {
    let folder = report.state_file.parent().unwrap_or(Path::new(""));
    name_in(context, place, (&report.run_id, report.thread), folder)
}

/// Returns how commands that are typed here name a run with this folder.
pub(super) fn name_in(
    context: &Context,
    place: &PlaceArgs,
    (run, thread): (&str, ThreadId),
    folder: &Path,
) -> RunName {
    let looked_in = state_dir(context, place).ok();
    let looked_in = looked_in.and_then(|all| all.canonicalize().ok());
    let is_in = folder.parent().and_then(|all| all.canonicalize().ok());
    // The folder of an imported run may be that of the run under another root.
    let is_ours = is_free(context, &RunRoot::at(folder.to_owned()));
    match looked_in.is_some() && looked_in == is_in && is_ours {
        true => RunName::in_place(run, place),
        false => RunName::of_thread(run, thread.as_str()),
    }
}

/// Fails if the caller names another workspace than that of the run: a run goes on where it was made.
pub(super) fn check_workspace(
    context: &Context,
    place: &PlaceArgs,
    origin: &RunOrigin,
) -> Result<(), Failure> {
    let named = workspace(context, place)?;
    let is_other = named
        .canonicalize()
        .is_ok_and(|named| named != origin.workspace);
    if place.workspace.is_none() || !is_other {
        return Ok(());
    }
    let what = format!(
        "the workspace of the run is `{}`",
        origin.workspace.display()
    );
    Err(Failure::usage(what).hint("leave `--workspace` out: a run goes on where it was made"))
}

pub(super) fn of_place(context: &Context, place: &ThreadPlace) -> Result<ThreadId, Failure> {
    let here = context.site().root.path();
    let is_here = match (here.canonicalize(), place.root.canonicalize()) {
        (Ok(here), Ok(recorded)) => here == recorded,
        // That root is gone: it may have been moved here.
        (_, Err(_)) => run_origin(context.site(), place.thread).is_ok(),
        (Err(_), Ok(_)) => false,
    };
    // Several machines may see the folder of a shared run, each with a root of its own.
    if is_here
        || (is_shared(context.site(), place.thread)
            && run_origin(context.site(), place.thread).is_ok())
    {
        return Ok(place.thread);
    }
    let root = place.root.display().to_string();
    let quoted = shell_words::quote(&root);
    let thread = place.thread;
    let copy = match run_origin(context.site(), thread) {
        Ok(_) => format!("; `{thread}` in place of the run names the copy under this root"),
        Err(_) => String::new(),
    };
    Err(Failure::usage(format!(
        "the thread of the run is under another root: `{root}`"
    ))
    .hint(format!("add `--root {quoted}`{copy}")))
}

/// Tells whether no other root has the folder of a run.
fn is_free(context: &Context, root: &RunRoot) -> bool {
    root.thread()
        .is_none_or(|at| of_place(context, &at).is_ok())
}

/// Warns if the folder of a run is that of the run under another root, too: an export does not move a run. Of a shared run, the remote
/// lets only one root go on at a time.
pub(super) fn warn_of_other_root(context: &Context, root: &RunRoot) {
    if let Some(at) = root.thread()
        && of_place(context, &at).is_err()
    {
        warn(&format!(
            "`{}` is the folder of the run under the root `{}`, too: let it go on under one of them only",
            root.path().display(),
            at.root.display()
        ));
    }
}

fn unknown(name: &str, folder: &Path) -> Failure {
    let what = format!("there is no run `{name}` in `{}`", folder.display());
    let failure = Failure::usage(what);
    let place = folder.join(name);
    let is_id = run_id_problem(name).is_none();
    let other = run_folder::of_root(
        &place,
        "uwf orchestrate resume <thread>",
        &RunName::unknown(),
    );
    match other.filter(|_| is_id) {
        Some(hint) => failure
            .cause(&format!("`{}` is no folder", place.display()))
            .hint(format!("`uwf thread list --all` shows its thread; {hint}")),
        None => failure.hint(LISTED),
    }
}

/// Returns the thread of a run, unless the process that made the folder died before it had made the thread.
pub(super) fn made(
    context: &Context,
    place: &PlaceArgs,
    (run, root): (&str, &RunRoot),
    at: &ThreadPlace,
) -> Result<ThreadId, Failure> {
    let thread = of_place(context, at)?;
    let is_unknown = || {
        let origin = run_origin(context.site(), thread);
        matches!(origin, Err(EngineError::UnknownThread(_)))
    };
    match root.is_bare().unwrap_or(false) && is_unknown() {
        true => Err(half_made(context, root, run, place)),
        false => Ok(thread),
    }
}

/// Returns the thread that the picture of a run names.
fn named_thread(root: &RunRoot) -> Option<ThreadId> {
    let picture: Value = serde_json::from_slice(&root.read_state().ok()??).ok()?;
    serde_json::from_value(picture.get("thread")?.clone()).ok()
}

/// Returns the thread of a run that can go on, and whose folder does not name it any more.
fn thread_of_id(context: &Context, root: &RunRoot, run: &str) -> Option<ThreadId> {
    let known = runs_without_folder(context.site(), root.path().parent()?).ok()?;
    let mut known = known.into_iter();
    known.find_map(|(id, at)| (id == run).then_some(at.thread))
}

/// Returns the failure of a call about a folder that leads to no thread.
fn half_made(context: &Context, root: &RunRoot, run: &str, place: &PlaceArgs) -> Failure {
    let folder = root.path().display();
    let what = match root.thread() {
        None => format!("`{folder}` has no record `thread`, by which its run is found"),
        Some(_) => format!("run `{run}` was not made completely: its thread is not there"),
    };
    let hint = match named_thread(root) {
        Some(thread) => format!(
            "`state.json` in it names the thread: `uwf orchestrate resume {thread}{}` goes on",
            // A link in place of the record is not written through.
            match root.is_record_linked() {
                true => " --repair",
                false => "",
            }
        ),
        None if root.state_file().exists() => {
            "`state.json` in it names the thread: `uwf orchestrate resume <thread>` goes on"
                .to_owned()
        }
        None => match thread_of_id(context, root, run) {
            Some(thread) => format!(
                "thread `{thread}` is the run: `uwf orchestrate resume {thread}` goes on with it"
            ),
            None => format!(
                "nothing was run in it: `uwf orchestrate run WORKFLOW --run-id {}{}` makes the run",
                shell_words::quote(run),
                run_name::all_options(place)
            ),
        },
    };
    Failure::usage(what).hint(hint)
}
