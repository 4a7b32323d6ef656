//! What to type next after a run of a pipeline could not be made, or could not go on.

use uwf_durable::is_of_full_disk;
use uwf_engine::{ActiveRun, EngineError, PipelineError, ResumeError};
use uwf_pipeline::course::{AcceptError, OnlyError, Spot};
use uwf_protocol::exit::Exit;
use uwf_storage::Reason;
use uwf_util::shell_words;

use super::run_folder::{self, RunPlace};
use super::run_name::RunName;
use super::stopped_runs::restarts;
use crate::failure::Failure;

/// The exit code of a command whose run another process works on.
pub(crate) const LOCKED: u8 = 75;

/// Returns the failure of a command about runs, with the exit code of `orchestrate`. `name` is how the run is named here.
pub(crate) fn failed(error: EngineError, name: Option<&RunName>) -> Failure {
    let name = name.cloned().unwrap_or_else(RunName::unknown);
    let run = &name.run;
    match &error {
        EngineError::Pipeline(of_run) => match &**of_run {
            PipelineError::Resume(refusal) => {
                let (exit, hint) = of_resume(refusal, &name);
                let causes = match refusal {
                    ResumeError::Changed { differences, .. } => differences.clone(),
                    _ => Vec::new(),
                };
                Failure {
                    exit,
                    causes,
                    hint,
                    ..error.into()
                }
            }
            PipelineError::Task(_) | PipelineError::Malformed { .. } => {
                with_exit(error, Exit::Request)
            }
            PipelineError::IdTaken { .. } => with_exit(error, Exit::Usage).hint(format!(
                "`{}` shows it, and `{}` goes on with it; a new run needs another `--run-id`",
                name.command("status"),
                name.command("resume")
            )),
            PipelineError::NoRun(_) => {
                with_exit(error, Exit::Usage).hint("`uwf orchestrate list` shows the runs")
            }
            _ => with_exit(error, Exit::Usage),
        },
        EngineError::Busy { lease, .. } => {
            locked(run, lease.as_ref().map(|lease| lease.engine.pid))
        }
        EngineError::Ended {
            reason: Reason::Cancelled,
            ..
        } => Failure::usage(format!("run `{run}` was ended by a person")).hint(restarts(&name)),
        EngineError::UnknownThread(_) | EngineError::NoDirectory(_) => {
            with_exit(error, Exit::Usage)
        }
        _ => {
            let exit = match error.exit() {
                Exit::Busy => Exit::Run(LOCKED),
                exit @ (Exit::Signal(_) | Exit::Usage) => exit,
                _ => Exit::Request,
            };
            with_exit(error, exit)
        }
    }
}

/// Returns the failure of a command that worked on a run.
pub(crate) fn failed_in(error: EngineError, name: &RunName, place: RunPlace<'_>) -> Failure {
    let hint = match is_of_full_disk(&error) {
        // The run was made, so the command that made it would be refused.
        true => Some(format!(
            "the disk is full: make room on it, then `{}` goes on",
            name.command("resume")
        )),
        false => run_folder::hint(&error, name, place),
    };
    let failure = failed(error, Some(name));
    match hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

/// Returns the failure of a call about a run that another process works on.
fn locked(run: &str, holder: Option<u32>) -> Failure {
    let what = format!("another process works on run `{run}`");
    let (what, hint) = match holder {
        Some(pid) => (
            format!("{what}: process {pid}"),
            format!("wait until it ends; `kill {pid}` interrupts the run, and it can be resumed"),
        ),
        None => (what, "wait until it ends".to_owned()),
    };
    Failure {
        exit: Exit::Run(LOCKED),
        ..Failure::request(what)
    }
    .hint(hint)
}

fn with_exit(error: EngineError, exit: Exit) -> Failure {
    Failure {
        exit,
        ..error.into()
    }
}

/// Returns the exit code of a refused resume, and what to type next.
pub(super) fn of_resume(refusal: &ResumeError, run: &RunName) -> (Exit, Option<String>) {
    let resume = run.command("resume");
    let hint = match refusal {
        ResumeError::Changed { kept_items, .. } => {
            let accept = format!("{resume} --accept-changed-workflow");
            let anew = kept_items.first().map_or_else(String::new, |Spot { key, step }| {
                let step = shell_words::quote(step);
                format!("; loop `{key}` keeps its items then, and `{accept} --from {step}` begins it anew")
            });
            format!(
                "`{accept}` goes on under the file as it is now, and `--force-restart` starts a new run with it{anew}"
            )
        }
        ResumeError::Unacceptable(why) => unacceptable(why, &resume),
        ResumeError::UnknownStep { near, .. } => match near {
            Some(near) => format!("did you mean `{near}`?"),
            None => "`--from` takes a step of the pipeline, and none of a loop".to_owned(),
        },
        ResumeError::AllDone { .. } => {
            format!("`{resume}` completes it; `uwf orchestrate run` makes a new run")
        }
        ResumeError::Completed { .. } => format!(
            "`{resume} --force-restart` starts a new run; `uwf thread fork` begins one after a step of this one"
        ),
        ResumeError::NoPicture { is_taken, .. } => {
            let moves = match is_taken {
                true => "puts that aside under another name, ",
                false => "",
            };
            let hint =
                format!("`{resume} --repair` {moves}makes it again from the thread and goes on");
            return (Exit::Request, Some(hint));
        }
        ResumeError::OtherForm { .. } => {
            "go on with the version of this program that made the run".to_owned()
        }
        ResumeError::NoWorkspace(gone) if gone.has_remote => {
            "a run goes on where it was made: move the folder back, or make it again; a shared run needs it at the same path on each machine that goes on with it, and `uwf thread list --remote` shows the runs that others can take".to_owned()
        }
        ResumeError::NoWorkspace(_) => {
            "a run goes on where it was made: move the folder back, or make it again".to_owned()
        }
    };
    (Exit::Usage, Some(hint))
}

/// Says what helps if a run cannot go on under its file as it is now.
fn unacceptable(why: &AcceptError, resume: &str) -> String {
    let (what, elsewhere) = match why {
        AcceptError::MissingSteps(_) => ("the steps", ""),
        AcceptError::MissingInLoop(_) => ("the steps", "leaves the loop"),
        AcceptError::MissingLoop(_) | AcceptError::NoLoop(_) => ("the loop", "leaves the loop"),
        AcceptError::MissingPlace(_) => ("the step", "leaves all loops"),
    };
    let back =
        format!("put {what} back, or start a new run with the file: `{resume} --force-restart`");
    match elsewhere {
        "" => back,
        leaves => format!(
            "{back}; `{resume} --accept-changed-workflow --from STEP` {leaves} and goes on at that step of the file"
        ),
    }
}

/// Returns the failure of a cleaning while other runs work in the workspace.
pub(crate) fn others_at_work(active: &[ActiveRun]) -> Failure {
    let line = |run: &ActiveRun| match run.pid {
        Some(pid) => format!("run `{}`, process {pid}", run.run_id),
        None => format!("run `{}`", run.run_id),
    };
    Failure {
        exit: Exit::Run(LOCKED),
        causes: active.iter().map(line).collect(),
        ..Failure::request("another run works in this workspace, so nothing is removed")
    }
    .hint("wait until it ends; `--force` removes finished tasks all the same")
}

/// Returns the failure of a step that cannot be run alone.
pub(crate) fn not_alone(error: &OnlyError) -> Failure {
    let hint = match error {
        OnlyError::Unknown(_, Some(near)) => format!("did you mean `{near}`?"),
        OnlyError::Unknown(_, None) => {
            "name a step of the file; one in a loop is written `Loop.Step`".to_owned()
        }
        OnlyError::Nested(_, inner) => format!(
            "`run-step {} --item JSON` runs the inner loop for one item of the outer one",
            shell_words::quote(inner)
        ),
        OnlyError::NoItem(_) => "add `--item JSON`, for example `--item '\"a.txt\"'`".to_owned(),
        OnlyError::NoLoop(_) => "leave `--item` out".to_owned(),
    };
    Failure::usage(error.to_string()).hint(hint)
}
