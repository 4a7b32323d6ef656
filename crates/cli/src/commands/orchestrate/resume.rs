//! `uwf orchestrate resume`.

use std::path::PathBuf;

use uwf_engine::{
    Changes, FileNow, LostPicture, NewRun, ResumeWish, RunOrigin, resume_pipeline, run_origin,
    run_pipeline,
};
use uwf_pipeline::course::Steering;
use uwf_pipeline::{MAX_FILE_BYTES, Pipeline, checksum, load};
use uwf_protocol::exit::Exit;

use super::run::{on_error, only_step};
use super::work::{finish, settings, unfinished};
use super::{invalid, place};
use crate::args::ResumeArgs;
use crate::commands::Context;
use crate::failure::{Failure, warn};
use crate::hints::runs::failed;

pub(super) fn run(context: &Context, args: &ResumeArgs) -> Result<Exit, Failure> {
    let mut begun = None;
    go_on(context, args, &mut begun).map_err(|failure| {
        // Nothing was done if the call was refused.
        let is_refused = matches!(failure.exit, Exit::Usage | Exit::Run(_));
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
    let origin =
        run_origin(context.site(), thread).map_err(|error| failed(error, Some(&args.run)))?;
    let failed = |error| failed(error, Some(&origin.run_id));
    place::check_workspace(context, &args.place, &origin)?;
    if args.force_restart {
        let new = again(&origin, args)?;
        let report = run_pipeline(&context.runner, &new, &settings, &mut |run| {
            *begun = Some((run.run_id.clone(), run.root.state_file()));
        });
        return finish(context, &args.work, &report.map_err(failed)?);
    }
    let wish = wish(&origin, args)?;
    *begun = Some((origin.run_id.clone(), origin.root.state_file()));
    let report = resume_pipeline(&context.runner, thread, &wish, &settings);
    finish(context, &args.work, &report.map_err(failed)?)
}

/// The context belongs to the run, and its steps may have used it already.
fn refuse_context(args: &ResumeArgs) -> Result<(), Failure> {
    if args.context.is_empty() && args.context_file.is_none() {
        return Ok(());
    }
    Err(Failure::usage("the context of a run is that which it was made with")
        .hint("leave `--context` out, or make another run: `uwf orchestrate run <workflow> --context KEY=VALUE`"))
}

fn wish(origin: &RunOrigin, args: &ResumeArgs) -> Result<ResumeWish, Failure> {
    // Nothing is done for a run that has ended, whatever its file says now.
    let file = match origin.ended {
        None => file_of(origin)?,
        Some(_) => None,
    };
    if file.is_none() && origin.ended.is_none() {
        let file = origin.workflow_file();
        warn(&format!(
            "`{}` is gone: the run goes on as it was made",
            file.display()
        ));
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

/// Returns a new run like this one, under the workflow file as it is now.
fn again(origin: &RunOrigin, args: &ResumeArgs) -> Result<NewRun, Failure> {
    let Some(file) = file_of(origin)? else {
        let file = origin.workflow_file();
        let what = format!("the workflow file `{}` is gone", file.display());
        return Err(Failure::usage(what).hint(kept_file(origin)));
    };
    let steering = origin.run.steering.clone();
    Ok(NewRun {
        pipeline: file.pipeline,
        workflow_file: origin.workflow_file(),
        source: file.source,
        context: origin.run.context.clone(),
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

/// The workflow file of a run as it is now.
struct FileRead {
    source: Vec<u8>,
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
            return Err(Failure::usage(what).cause(&error).hint(kept_file(origin)));
        }
    };
    let loaded = load(&source, &origin.run.workflow_file)
        .map_err(|problems| invalid(&file, &problems).hint(kept_file(origin)))?;
    let pipeline = match &origin.run.only {
        Some(only) => only_step(&loaded.pipeline, only)?,
        None => loaded.pipeline,
    };
    Ok(Some(FileRead { source, pipeline }))
}

/// Says where the workflow file of a run is as it was.
fn kept_file(origin: &RunOrigin) -> String {
    let kept = origin.root.path().join("workflow.yaml");
    format!(
        "`{}` is the file that the run was made with",
        kept.display()
    )
}
