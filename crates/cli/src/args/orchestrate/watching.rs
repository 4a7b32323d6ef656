//! `uwf orchestrate watch`, which takes the options of `run`, too.

use std::ffi::OsString;

use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches};

use super::RunPipelineArgs;

#[derive(Debug, Args)]
pub(crate) struct WatchArgs {
    // It stands first: the arguments after it take their values out of the matches.
    #[command(flatten)]
    pub(crate) words: RunWords,
    #[command(flatten)]
    pub(crate) run: RunPipelineArgs,
    /// How long to wait between two looks, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 500, value_parser = clap::value_parser!(u64).range(10..=3_600_000))]
    pub(crate) interval: u64,
    /// Also look at the files that match this pattern; may be given again
    #[arg(long, value_name = "GLOB")]
    pub(crate) also: Vec<String>,
    /// End a run that is active when a file changes
    #[arg(long)]
    pub(crate) restart: bool,
}

/// The words of a call of `run` with the same options.
#[derive(Debug)]
pub(crate) struct RunWords(pub(crate) Vec<OsString>);

/// The options of `run` that make no sense for several runs.
const REFUSED: [(&str, &str); 2] = [("run_id", "--run-id"), ("dry_run", "--dry-run")];

impl Args for RunWords {
    /// Adds nothing: the arguments are those of `run`.
    fn augment_args(command: Command) -> Command {
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        command
    }
}

impl FromArgMatches for RunWords {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let is_given = |id: &str| matches.value_source(id) == Some(ValueSource::CommandLine);
        for (id, flag) in REFUSED {
            if is_given(id) {
                let message =
                    format!("`watch` makes several runs, so there is no `{flag}`: leave it out\n");
                return Err(Error::raw(ErrorKind::ArgumentConflict, message));
            }
        }
        let run = RunPipelineArgs::augment_args(Command::default());
        let given = run
            .get_arguments()
            .filter(|arg| is_given(arg.get_id().as_str()));
        Ok(Self(given.flat_map(|arg| words(arg, matches)).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Returns the words that give an argument once more.
fn words(arg: &Arg, matches: &ArgMatches) -> Vec<OsString> {
    let option = arg.get_long().map(|long| format!("--{long}"));
    if matches!(arg.get_action(), ArgAction::SetTrue) {
        return option.into_iter().map(OsString::from).collect();
    }
    let occurrences = matches.get_raw_occurrences(arg.get_id().as_str());
    let occurrences = occurrences.into_iter().flatten();
    let word = |values: Vec<&std::ffi::OsStr>| match (&option, values.first()) {
        (Some(option), Some(value)) => {
            let mut word = OsString::from(format!("{option}="));
            word.push(value);
            word
        }
        (Some(option), None) => OsString::from(option),
        (None, value) => value.copied().unwrap_or_default().to_owned(),
    };
    occurrences.map(|values| word(values.collect())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Global;

    fn parsed<T: Args>(line: &[&str]) -> T {
        // Some options exclude global ones.
        let command = Global::augment_args(Command::default().no_binary_name(true));
        let command = T::augment_args(command);
        let matches = command.try_get_matches_from(line).unwrap();
        T::from_arg_matches(&matches).unwrap()
    }

    #[test]
    fn every_option_of_run_is_passed_on() {
        let run = RunPipelineArgs::augment_args(Command::default());
        for arg in run.get_arguments() {
            let id = arg.get_id().as_str();
            if REFUSED.iter().any(|(refused, _)| *refused == id) {
                continue;
            }
            let Some(long) = arg.get_long() else {
                continue;
            };
            let option = format!("--{long}");
            let value = match arg.get_possible_values().first() {
                Some(value) => value.get_name().to_owned(),
                None => "1".to_owned(),
            };
            let mut line = vec!["flow.yaml", option.as_str()];
            if !matches!(arg.get_action(), ArgAction::SetTrue) {
                line.push(&value);
            }
            // Options that need another one.
            for (needing, needed) in [
                ("force", ["--clean-processed"].as_slice()),
                ("retry_delay", &["--max-retries", "2"]),
            ] {
                if id == needing {
                    line.extend(needed);
                }
            }
            let watch: WatchArgs = parsed(&line);
            let words: Vec<&str> = watch
                .words
                .0
                .iter()
                .map(|it| it.to_str().unwrap())
                .collect();
            let again: RunPipelineArgs = parsed(&words);
            assert_eq!(format!("{again:?}"), format!("{:?}", watch.run), "{line:?}");
        }
    }
}
