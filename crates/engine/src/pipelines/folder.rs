//! The folder of a run.

use std::path::Path;

use uwf_pipeline::{nodes::RunNode, run_id_problem};
use uwf_protocol::ids::ThreadId;
use uwf_storage::RunRoot;

use super::chain;

/// Returns the folder of a run.
pub(crate) fn run_root(workspace: &Path, state_dir: &str, run_id: &str) -> RunRoot {
    RunRoot::at(workspace.join(state_dir).join(run_id))
}

/// Returns the folder that a thread has as a run in its workspace.
pub(crate) fn root_of(cwd: Option<&str>, run: &RunNode, thread: ThreadId) -> RunRoot {
    let workspace = Path::new(cwd.unwrap_or_default());
    run_root(workspace, &run.state_dir, &chain::id_of(run, thread))
}

/// Returns the file of a log that a step names. Nothing in a node leads out of the folders of runs.
pub(crate) fn log_file(root: &RunRoot, run_id: &str, path: &str) -> Option<std::path::PathBuf> {
    let name = Path::new(path).file_name()?.to_str()?;
    if run_id_problem(run_id).is_some() {
        return None;
    }
    let all = root.path().parent()?;
    Some(RunRoot::at(all.join(run_id)).log(name))
}
