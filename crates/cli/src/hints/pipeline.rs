//! What to type next after an error about a run of a pipeline.

use uwf_engine::PipelineError;

/// How many steps a hint names.
const MOST_STEPS: usize = 20;

/// Returns what to type next, if there is something.
pub(super) fn hint(error: &PipelineError) -> Option<String> {
    let hint = match error {
        PipelineError::NoRun(thread) => format!("`uwf thread step {thread}` goes on with it"),
        PipelineError::NoGraph(_) => {
            "`uwf orchestrate run <file>` runs a pipeline from its file".to_owned()
        }
        PipelineError::IsRun(thread) => {
            format!("`uwf orchestrate resume {thread}` goes on with it")
        }
        PipelineError::Stopped { thread, .. } => format!(
            "`uwf thread resume {thread}` does that step again; `uwf thread read {thread}` shows what it printed"
        ),
        PipelineError::Interrupted { thread, .. } => {
            format!("`uwf thread resume {thread}` goes on with it")
        }
        PipelineError::NoMessage(thread) => {
            format!("`uwf thread resume {thread}` without `-p` goes on")
        }
        PipelineError::NotReplaced(thread) => {
            format!("`uwf orchestrate resume {thread} --from <step>` goes back to a step")
        }
        PipelineError::NotMigrated(thread) => format!(
            "change its workflow file, then `uwf orchestrate resume {thread} --accept-changed-workflow` goes on"
        ),
        PipelineError::Malformed { .. } => {
            "`uwf cas verify` tells which nodes are damaged".to_owned()
        }
        PipelineError::NoSuchStep { keys, .. } => {
            let shown = keys[..keys.len().min(MOST_STEPS)].join("`, `");
            let more = if keys.len() > MOST_STEPS { ", …" } else { "" };
            format!("its steps are `{shown}`{more}")
        }
        PipelineError::Task(_) | PipelineError::Resume(_) | PipelineError::Refused(_) => {
            return None;
        }
    };
    Some(hint)
}
