//! `uwf orchestrate resume`.

use std::path::PathBuf;

use serde_json::{Map, Value};
use uwf_engine::{
    Changes, FileNow, LostPicture, NewRun, ResumeError, ResumeWish, RunOrigin, Unfound, is_shared,
    resume_pipeline, run_origin, run_pipeline,
};
use uwf_pipeline::course::Steering;
use uwf_pipeline::{Loaded, MAX_FILE_BYTES, Pipeline, checksum, load};
use uwf_protocol::exit::Exit;

use super::run::{context_of, on_error, only_step};
use super::secrets::warn_of_secrets;
use super::work::{announce, finish, settings, unfinished};
use super::{invalid, need_context, place};
use crate::args::{ContextArgs, ResumeArgs};
use crate::commands::Context;
use crate::failure::{Failure, note, warn};
use crate::hints::run_folder::RunPlace;
use crate::hints::run_name::RunName;
use crate::hints::runs::{LOCKED, failed, failed_in};
use crate::hints::stopped_runs::Results;

pub(super) fn run(context: &Context, args: &ResumeArgs) -> Result<Exit, Failure> {
    let mut begun = None;
    go_on(context, args, &mut begun).map_err(|failure| {
        // Nothing was done if the call was refused. A run that another process works on is there all the same.
        let is_refused = match failure.exit {
            Exit::Usage => true,
            Exit::Run(code) => code != LOCKED,
            _ => false,
        };
        let begun = begun.as_ref().filter(|_| !is_refused);
        let begun = begun.map(|(id, file): &(String, PathBuf)| (id.as_str(), file.as_path()));
        unfinished(&args.work, begun, failure)
    })
}

fn go_on(
    context: &Context,
    args: &ResumeArgs,
    begun: &mut Option<(String, PathBuf)>,
) -> Result<Exit, Failure> {
    refuse_context(args)?;
    let settings = settings(context, &args.work)?;
    let thread = place::find(context, &args.place, &args.run)?;
    let typed = RunName::in_place(&args.run, &args.place);
    let origin = run_origin(context.site(), thread).map_err(|error| failed(error, Some(&typed)))?;
    let run = (origin.run_id.as_str(), thread);
    let name = place::name_in(context, &args.place, run, origin.root.path());
    let at = RunPlace {
        root: &origin.root,
        thread,
        is_shared: is_shared(context.site(), thread),
    };
    let failed = |error| failed_in(error, &name, at);
    let place = (&args.place, Results::Seen);
    place::check_workspace(context, &args.place, &origin)?;
    if args.force_restart {
        if !origin.workspace.is_dir() {
            let gone = origin.workspace.display().to_string();
            let gone = Unfound::new(context.site(), gone);
            return Err(failed(ResumeError::NoWorkspace(gone).into()));
        }
        let new = again(&origin, args)?;
        let under = (&new.pipeline, new.source.as_slice());
        let report = run_pipeline(&context.runner, &new, &settings, &mut |run| {
            *begun = Some((run.run_id.clone(), run.root.state_file()));
            announce(context, &args.work, run);
            warn_of_secrets(context, &args.work, under, &new.context);
        });
        return finish(context, &args.work, place, &report.map_err(failed)?);
    }
    let wish = wish(context, &origin, args)?;
    place::warn_of_other_root(context, &origin.root);
    *begun = Some((origin.run_id.clone(), origin.root.state_file()));
    let report = resume_pipeline(&context.runner, thread, &wish, &settings);
    finish(context, &args.work, place, &report.map_err(failed)?)
}

/// The context belongs to the run, and its steps may have used it already.
fn refuse_context(args: &ResumeArgs) -> Result<(), Failure> {
    if args.force_restart || args.context.is_empty() && args.context_file.is_none() {
        return Ok(());
    }
    let run = RunName::in_place(&args.run, &args.place);
    let restart = format!(
        "{} --force-restart --context KEY=VALUE",
        run.command("resume")
    );
    let what = "the context of a run is that which it was made with";
    Err(Failure::usage(what).hint(format!(
        "leave `--context` out, or start a new run: `{restart}`"
    )))
}

fn wish(context: &Context, origin: &RunOrigin, args: &ResumeArgs) -> Result<ResumeWish, Failure> {
    // Nothing is done for a run that has ended, whatever its file says now.
    let file = match origin.ended {
        None => file_of(origin)?,
        Some(_) => None,
    };
    // Without its workspace, it does not go on.
    if file.is_none() && origin.ended.is_none() && origin.workspace.is_dir() {
        let file = origin.workflow_file();
        warn(&format!(
            "`{}` is gone: the run goes on as it was made",
            file.display()
        ));
    }
    if let Some(file) = &file {
        let under = (&file.pipeline, file.source.as_slice());
        warn_of_secrets(context, &args.work, under, &origin.run.context);
        if args.accept_changed_workflow {
            need_kept_context(file, &origin.run.context, args)?;
        }
    }
    Ok(ResumeWish {
        from: args.from.clone(),
        on_error: on_error(args.on_error),
        file: file.map(|file| FileNow {
            pipeline: file.pipeline,
            checksum: checksum(&file.source),
        }),
        changes: match args.accept_changed_workflow {
            true => Changes::Accepted,
            false => Changes::Refused,
        },
        picture: match args.repair {
            true => LostPicture::MadeAgain,
            false => LostPicture::Refused,
        },
    })
}

/// Fails if the file as it is now needs a value of the context that the run does not have, and so never gets.
fn need_kept_context(
    file: &FileRead,
    context: &Map<String, Value>,
    args: &ResumeArgs,
) -> Result<(), Failure> {
    let run = RunName::in_place(&args.run, &args.place);
    let restart = run.command("resume");
    need_context(&file.loaded, &file.pipeline, context).map_err(|failure| {
        failure.hint(format!(
            "the run keeps its context: `{restart} --force-restart --context KEY=VALUE` starts a new one"
        ))
    })
}

/// Returns a new run like this one, under the workflow file as it is now.
fn again(origin: &RunOrigin, args: &ResumeArgs) -> Result<NewRun, Failure> {
    let Some(file) = file_of(origin)? else {
        let file = origin.workflow_file();
        let what = format!("the workflow file `{}` is gone", file.display());
        return Err(Failure::usage(what).hint(kept_file(origin)));
    };
    let steering = origin.run.steering.clone();
    // What the file says now stands in for keys that the run did not have.
    let mut known = file.pipeline.context.clone();
    known.extend(origin.run.context.clone());
    let given = ContextArgs {
        context: args.context.clone(),
        context_file: args.context_file.clone(),
    };
    let context = context_of(&known, &given)?;
    need_context(&file.loaded, &file.pipeline, &context)?;
    note_kept(&file.pipeline.context, origin, &context);
    Ok(NewRun {
        pipeline: file.pipeline,
        workflow_file: origin.workflow_file(),
        source: file.source,
        context,
        steering: Steering {
            on_error: on_error(args.on_error).unwrap_or(steering.on_error),
            ..steering
        },
        workspace: origin.workspace.clone(),
        state_dir: Some(origin.state_dir()),
        run_id: None,
        only: origin.run.only.clone(),
    })
}

/// Says which values of the context stay those of the old run although the file says something else.
fn note_kept(file: &Map<String, Value>, origin: &RunOrigin, context: &Map<String, Value>) {
    let kept = file.iter().filter(|(key, value)| {
        let known = origin.run.context.get(*key);
        known.is_some_and(|known| known != *value) && known == context.get(*key)
    });
    let keys: Vec<&str> = kept.map(|(key, _)| key.as_str()).collect();
    if !keys.is_empty() {
        note(&format!(
            "the new run has `{}` of the context from the old one, and not from the file: `--context` changes it",
            keys.join("`, `")
        ));
    }
}

/// The workflow file of a run as it is now.
struct FileRead {
    source: Vec<u8>,
    loaded: Loaded,
    /// What of it the run does.
    pipeline: Pipeline,
}

/// Reads the workflow file of a run; `None` if it is gone.
fn file_of(origin: &RunOrigin) -> Result<Option<FileRead>, Failure> {
    let file = origin.workflow_file();
    let source = match uwf_durable::read_start(&file, MAX_FILE_BYTES + 1) {
        Ok(Some(source)) => source.to_vec(),
        Ok(None) => return Ok(None),
        Err(error) => {
            let what = format!("cannot read `{}`", file.display());
            let cause = std::io::Error::from(error);
            return Err(Failure::usage(what).cause(&cause).hint(kept_file(origin)));
        }
    };
    let loaded = load(&source, &origin.run.workflow_file)
        .map_err(|problems| invalid(&file, &problems).hint(kept_file(origin)))?;
    let pipeline = match &origin.run.only {
        Some(only) => only_step(&loaded.pipeline, only)?,
        None => loaded.pipeline.clone(),
    };
    Ok(Some(FileRead {
        source,
        loaded,
        pipeline,
    }))
}

/// Says where the workflow file of a run is as it was.
fn kept_file(origin: &RunOrigin) -> String {
    let kept = origin.root.path().join("workflow.yaml");
    match kept.is_file() {
        true => format!(
            "`{}` is the file that the run was made with",
            kept.display()
        ),
        // The folder is gone, or was never here.
        false => format!(
            "`uwf cas cat {}` prints the file that the run was made with",
            origin.run.source
        ),
    }
}
