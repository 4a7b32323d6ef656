//! `uwf orchestrate run`.

use std::path::Path;

use serde_json::{Map, Value};
use uwf_engine::{EngineError, MadeRun, NewRun, active_runs, run_pipeline};
use uwf_pipeline::course::{Archive, OnError, Steering, WhenMode, only};
use uwf_pipeline::nodes::OnlyNode;
use uwf_pipeline::{Loaded, Pipeline, Retries, context_file, context_value, merged_context};
use uwf_protocol::exit::Exit;
use uwf_runner::Workspace;

use super::secrets::warn_of_secrets;
use super::work::{announce, finish, settings, unfinished};
use super::{bytes_of, invalid, load_told, need_context, place, validate, warn_all};
use crate::args::{ContextArgs, OnErrorArg, PlaceArgs, RetryArgs, RunPipelineArgs, WorkArgs};
use crate::commands::Context;
use crate::failure::{Failure, note, warn};
use crate::hints::run_folder::RunPlace;
use crate::hints::run_name::RunName;
use crate::hints::runs::{failed, failed_in, not_alone, others_at_work};
use crate::hints::stopped_runs::Results;

/// The time between two tries that nobody chose, in milliseconds.
const USUAL_DELAY_MS: u64 = 1000;
/// How large a file with values of the context may be.
const MAX_CONTEXT_BYTES: usize = 4 << 20;

pub(super) fn run(context: &Context, args: &RunPipelineArgs) -> Result<Exit, Failure> {
    let mut made = None;
    make_and_do(context, args, &mut made)
        .map_err(|failure| unfinished_run(&args.work, made.as_ref(), failure))
}

/// Prints for programs what came of a run that failed for a reason of our own, or was not made.
pub(super) fn unfinished_run(work: &WorkArgs, made: Option<&MadeRun>, failure: Failure) -> Failure {
    let file = made.map(|made| made.root.state_file());
    let run = made.zip(file.as_deref());
    let run = run.map(|(made, file)| (made.run_id.as_str(), file));
    unfinished(work, run, failure)
}

fn make_and_do(
    context: &Context,
    args: &RunPipelineArgs,
    made: &mut Option<MadeRun>,
) -> Result<Exit, Failure> {
    let file = args.file.as_path();
    let (source, loaded) = loaded(file)?;
    let values = context_of(&loaded.pipeline.context, &args.context)?;
    need_context(&loaded, &loaded.pipeline, &values)?;
    let workspace = place::workspace(context, &args.place)?;
    if args.dry_run {
        if args.clean_processed {
            say_what_would_go(&workspace, &loaded)?;
        }
        validate(context, file)?;
        return Ok(Exit::Done);
    }
    let settings = settings(context, &args.work)?;
    let steering = steering(args);
    check_archive(&workspace, &loaded, &steering)?;
    if args.clean_processed {
        if !args.force {
            refuse_others(
                context,
                &workspace,
                &place::state_dir(context, &args.place)?,
            )?;
        }
        clean(&workspace, &loaded)?;
    }
    let new = NewRun {
        pipeline: loaded.pipeline,
        workflow_file: context.site().env.cwd().join(file),
        source,
        context: values,
        steering,
        workspace,
        state_dir: place::chosen(context, &args.place),
        run_id: args.run_id.clone(),
        only: None,
    };
    let report = run_pipeline(&context.runner, &new, &settings, &mut |run| {
        *made = Some(run.clone());
        announce(context, &args.work, run);
        warn_all(&loaded.warnings);
        warn_of(context, args, &new);
    });
    finish(
        context,
        &args.work,
        (&args.place, Results::Seen),
        &report.map_err(|error| {
            let asked = args.run_id.as_deref();
            not_done(error, (asked, made.as_ref()), &args.place)
        })?,
    )
}

/// Warns of what the run does that its author may not expect.
fn warn_of(context: &Context, args: &RunPipelineArgs, new: &NewRun) {
    let under = (&new.pipeline, new.source.as_slice());
    warn_of_secrets(context, &args.work, under, &new.context);
    if matches!(args.on_error, Some(OnErrorArg::Stop)) && !new.pipeline.strict_flow {
        warn(
            "`--on-error stop` changes nothing: `strict_flow: false` of the file lets failures pass",
        );
    }
}

/// Returns the failure of a command that could not do a new run, or could not make it. `run` is the id that a person chose,
/// and the run if it was made.
pub(super) fn not_done(
    error: EngineError,
    (asked, made): (Option<&str>, Option<&MadeRun>),
    place: &PlaceArgs,
) -> Failure {
    let name = |id| RunName::in_place(id, place);
    match made {
        Some(made) => {
            let at = RunPlace {
                root: &made.root,
                thread: made.thread,
                // Nobody can have pushed it.
                is_shared: false,
            };
            failed_in(error, &name(&made.run_id), at)
        }
        None => failed(error, asked.map(name).as_ref()),
    }
}

/// Reads a workflow file that must be sound: its text, and what it means.
pub(super) fn loaded(file: &Path) -> Result<(Vec<u8>, Loaded), Failure> {
    let source = bytes_of(file, "name the YAML file of a pipeline")?;
    let loaded = load_told(&source, file).map_err(|problems| invalid(file, &problems))?;
    Ok((source.to_vec(), loaded))
}

/// Returns the pipeline that has one step only.
pub(super) fn only_step(pipeline: &Pipeline, wanted: &OnlyNode) -> Result<Pipeline, Failure> {
    let mode = match wanted.respect_when {
        true => WhenMode::Respected,
        false => WhenMode::Ignored,
    };
    only(pipeline, &wanted.step, wanted.item.as_ref(), mode).map_err(|error| not_alone(&error))
}

/// Returns the context of a run: what it has without the options, that of `--context-file`, then that of `--context`.
pub(super) fn context_of(
    base: &Map<String, Value>,
    args: &ContextArgs,
) -> Result<Map<String, Value>, Failure> {
    let of_file = match &args.context_file {
        None => Map::new(),
        Some(file) => {
            let unfit = || Failure::usage(format!("`{}` gives no context", file.display()));
            let bytes = uwf_durable::read_start(file, MAX_CONTEXT_BYTES + 1)
                .map_err(|error| unfit().cause(&error))?
                .ok_or_else(|| unfit().cause(&"there is no such file"))?;
            if bytes.len() > MAX_CONTEXT_BYTES {
                let most = MAX_CONTEXT_BYTES >> 20;
                return Err(unfit().cause(&format!("it is larger than {most} MiB")));
            }
            let text = String::from_utf8(bytes.to_vec()).map_err(|error| unfit().cause(&error))?;
            context_file(&text).map_err(|error| unfit().cause(&error))?
        }
    };
    let values = args.context.iter().map(|value| context_value(value));
    let values: Vec<_> = values
        .collect::<Result<_, _>>()
        .map_err(|error| Failure::usage(error.to_string()).hint("write `--context KEY=VALUE`"))?;
    Ok(merged_context(base, of_file, values))
}

fn steering(args: &RunPipelineArgs) -> Steering {
    Steering {
        on_error: on_error(args.on_error).unwrap_or_default(),
        retries: retries(&args.retries),
        max_transitions: args.max_transitions,
        archive: args.archive_processed.as_ref().map(|destination| Archive {
            destination: destination.as_ref().map(|path| path.display().to_string()),
        }),
    }
}

/// Returns the retries of calls of providers.
pub(super) fn retries(args: &RetryArgs) -> Option<Retries> {
    args.max_retries.map(|max| Retries {
        max,
        delay_ms: args.retry_delay.unwrap_or(USUAL_DELAY_MS),
    })
}

pub(super) fn on_error(arg: Option<OnErrorArg>) -> Option<OnError> {
    arg.map(|arg| match arg {
        OnErrorArg::Stop => OnError::Stop,
        OnErrorArg::Continue => OnError::Continue,
    })
}

/// Opens a workspace in which only folders of the user are looked at.
fn open(workspace: &Path) -> Result<Workspace, Failure> {
    Workspace::open(workspace, &[]).map_err(|error| place::no_workspace(workspace, &error))
}

fn refused(failure: &uwf_pipeline::Failure) -> Failure {
    Failure::usage(failure.message.clone())
}

fn check_archive(workspace: &Path, loaded: &Loaded, steering: &Steering) -> Result<(), Failure> {
    let Some(Archive {
        destination: Some(destination),
    }) = &steering.archive
    else {
        return Ok(());
    };
    let folder = &loaded.pipeline.queues.processed_dir;
    let checked = open(workspace)?.check_archive(folder, Path::new(destination));
    checked.map(drop).map_err(|failure| {
        refused(&failure).hint("give the path of a file: `--archive-processed archives/done.zip`")
    })
}

/// Fails while another run works in the workspace: it may need what would be removed.
fn refuse_others(context: &Context, workspace: &Path, runs: &Path) -> Result<(), Failure> {
    let workspace = open(workspace)?;
    let active = active_runs(context.site(), workspace.path(), runs);
    let active = active.map_err(|error| failed(error, None))?;
    match active.is_empty() {
        true => Ok(()),
        false => Err(others_at_work(&active)),
    }
}

fn clean(workspace: &Path, loaded: &Loaded) -> Result<(), Failure> {
    let folder = &loaded.pipeline.queues.processed_dir;
    open(workspace)?
        .clean(folder)
        .map_err(|failure| refused(&failure))
}

fn say_what_would_go(workspace: &Path, loaded: &Loaded) -> Result<(), Failure> {
    let folder = &loaded.pipeline.queues.processed_dir;
    let names = open(workspace)?.would_clean(folder);
    for name in names.map_err(|failure| refused(&failure))? {
        note(&format!("`{folder}/{name}` would be removed"));
    }
    Ok(())
}
