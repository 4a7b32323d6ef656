//! What to type next after an error about a run of a pipeline.

use std::path::Path;

use uwf_engine::{PipelineError, ResumeError, STANDARD_INPUT};
use uwf_pipeline::{Code, ContextUse, Place, Problem};
use uwf_util::shell_words;

use super::run_name::RunName;
use super::runs::of_resume;

/// How many steps a hint names.
const MOST_STEPS: usize = 20;

/// Returns the mistake of a file that is a workflow of roles, and should be a pipeline.
pub(crate) fn of_other_language(file: &Path) -> Problem {
    let path = file.display().to_string();
    let typed = match path.contains('/') {
        true => path.clone(),
        // A bare word would be the name of a registered workflow.
        false => format!("./{path}"),
    };
    let typed = shell_words::quote(&typed);
    Problem {
        place: Place {
            file: path,
            line: 1,
            column: 1,
        },
        code: Code::NoSteps,
        message: "the file is a workflow of roles, and not a pipeline".to_owned(),
        hint: Some(format!(
            "`uwf run {typed} -p \"…\"` runs it; `uwf workflow validate {typed}` checks it"
        )),
    }
}

/// Says what gives a run the values of the context that it lacks.
pub(crate) fn of_missing(missing: &[ContextUse]) -> String {
    let options = missing.iter().filter_map(|used| match &used.path[..] {
        [key] => Some(format!("--context {}=…", shell_words::quote(key))),
        _ => None,
    });
    let options: Vec<String> = options.collect();
    match options.len() == missing.len() {
        true => format!(
            "add `{}`, or give the file a usual value under `context`",
            options.join(" ")
        ),
        // An option gives a text, which has no parts.
        false => {
            "`--context-file FILE` gives values with parts, and `context` in the file usual ones"
                .to_owned()
        }
    }
}

/// Returns what to type next, if there is something.
pub(super) fn hint(error: &PipelineError) -> Option<String> {
    let hint = match error {
        PipelineError::NoRun(thread) => format!("`uwf thread step {thread}` goes on with it"),
        PipelineError::NoRoles { file } if file == Path::new(STANDARD_INPUT) => {
            "write it to a file; `uwf orchestrate run <file>` runs that".to_owned()
        }
        PipelineError::NoRoles { file } => {
            let file = file.display().to_string();
            let file = shell_words::quote(&file);
            format!(
                "`uwf orchestrate run {file}` runs it; `uwf orchestrate validate {file}` checks it"
            )
        }
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
        PipelineError::Resume(refusal) => {
            let name = match refusal {
                ResumeError::NoPicture { thread, .. } => RunName::of_thread("", thread.as_str()),
                _ => RunName::unknown(),
            };
            return of_resume(refusal, &name).1;
        }
        PipelineError::Task(_) | PipelineError::IdTaken { .. } | PipelineError::Refused(_) => {
            return None;
        }
    };
    Some(hint)
}
