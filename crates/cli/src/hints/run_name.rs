//! How the commands that a call proposes name a run.

use std::path::Path;

use uwf_util::shell_words;

use crate::args::PlaceArgs;

/// A run, and the words that name it in a command that is typed where this call was typed.
#[derive(Debug, Clone)]
pub(crate) struct RunName {
    /// The id of the run, or what a person typed for it.
    pub(crate) run: String,
    /// The words that find it: its id, or its thread.
    words: String,
    /// The options that they need.
    options: String,
}

impl RunName {
    /// Returns the name of a run in the folder of runs that this call looks in: the next call needs the same options.
    pub(crate) fn in_place(run: &str, place: &PlaceArgs) -> Self {
        Self {
            run: run.to_owned(),
            words: shell_words::quote(run).into_owned(),
            options: options(place),
        }
    }

    /// Returns the name of a run that is elsewhere: its thread finds it.
    pub(crate) fn of_thread(run: &str, thread: &str) -> Self {
        Self {
            run: run.to_owned(),
            words: thread.to_owned(),
            options: String::new(),
        }
    }

    /// Returns the place of the name of a run that is not known.
    pub(crate) fn unknown() -> Self {
        Self {
            run: "<run>".to_owned(),
            words: "<run>".to_owned(),
            options: String::new(),
        }
    }

    /// Returns a command of `orchestrate` about this run.
    pub(crate) fn command(&self, command: &str) -> String {
        format!("uwf orchestrate {command} {}{}", self.words, self.options)
    }

    /// Returns the command that shows what the programs of a step of this run printed.
    pub(crate) fn logs(&self, step: &str) -> String {
        let step = shell_words::quote(step);
        format!("uwf orchestrate logs {} {step}{}", self.words, self.options)
    }
}

/// Returns the options that find the folder of all runs again, as words of a command line.
pub(crate) fn options(place: &PlaceArgs) -> String {
    // The folder of all runs tells all that a command on one of them needs.
    match &place.state_dir {
        Some(folder) => option("--state-dir", folder),
        None => all_options(place),
    }
}

/// Returns the options that a new run needs in the same place.
pub(crate) fn all_options(place: &PlaceArgs) -> String {
    let workspace = place.workspace.iter();
    let workspace = workspace.map(|folder| option("--workspace", folder));
    let state_dir = place.state_dir.iter();
    let state_dir = state_dir.map(|folder| option("--state-dir", folder));
    workspace.chain(state_dir).collect()
}

fn option(name: &str, folder: &Path) -> String {
    let folder = folder.display().to_string();
    format!(" {name} {}", shell_words::quote(&folder))
}
