//! Where runs are: the workspace, the folder of all runs, and a run by its name.

use std::path::{Path, PathBuf};

use uwf_engine::find_thread;
use uwf_protocol::ids::ThreadId;
use uwf_storage::{RunRoot, ThreadPlace};

use crate::args::PlaceArgs;
use crate::commands::Context;
use crate::failure::Failure;

/// The variable that names the folder of all runs.
pub(super) const STATE_DIR: &str = "ORCHESTRATE_STATE_DIR";
/// The folder of all runs in a workspace.
pub(super) const RUNS: &str = ".orchestrate/runs";

/// Returns the workspace.
pub(super) fn workspace(context: &Context, place: &PlaceArgs) -> PathBuf {
    let cwd = context.site().env.cwd();
    match &place.workspace {
        Some(folder) => cwd.join(folder),
        None => cwd.to_owned(),
    }
}

/// Returns the folder of all runs.
pub(super) fn state_dir(context: &Context, place: &PlaceArgs) -> PathBuf {
    chosen(context, place).unwrap_or_else(|| workspace(context, place).join(RUNS))
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

/// Finds a run by its id or the beginning of it, or by its thread.
pub(super) fn find(context: &Context, place: &PlaceArgs, name: &str) -> Result<ThreadId, Failure> {
    let folder = state_dir(context, place);
    let runs = names(&folder)?;
    let exact = runs.iter().filter(|run| *run == name);
    let mut found: Vec<&String> = exact.collect();
    if found.is_empty() {
        found = runs.iter().filter(|run| run.starts_with(name)).collect();
    }
    match &found[..] {
        [run] => match RunRoot::at(folder.join(run)).thread() {
            Some(place) => of_place(context, place),
            None => Err(unknown(name, &folder)),
        },
        [] => find_thread(context.site(), name).map_err(|_| unknown(name, &folder)),
        several => Err(Failure {
            causes: several.iter().map(|run| format!("`{run}`")).collect(),
            ..Failure::usage(format!("`{name}` is the beginning of several runs"))
        }),
    }
}

fn of_place(context: &Context, place: ThreadPlace) -> Result<ThreadId, Failure> {
    let here = std::path::absolute(context.site().root.path());
    if here.is_ok_and(|here| here == place.root) {
        return Ok(place.thread);
    }
    let root = place.root.display();
    Err(Failure::usage(format!(
        "the thread of the run is under another root: `{root}`"
    ))
    .hint(format!("add `--root {root}`")))
}

fn unknown(name: &str, folder: &Path) -> Failure {
    Failure::usage(format!(
        "there is no run `{name}` in `{}`",
        folder.display()
    ))
    .hint("`uwf orchestrate list` shows the runs")
}
