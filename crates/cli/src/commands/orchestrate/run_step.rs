//! `uwf orchestrate run-step`.

use serde_json::Value;
use uwf_engine::{MadeRun, NewRun, run_origin, run_pipeline};
use uwf_pipeline::course::Steering;
use uwf_pipeline::exact_json;
use uwf_pipeline::nodes::OnlyNode;
use uwf_protocol::exit::Exit;

use super::run::{context_of, loaded, not_done, on_error, only_step, retries, unfinished_run};
use super::secrets::warn_of_secrets;
use super::work::{announce, finish, settings};
use super::{need_context, place, warn_all};
use crate::args::RunStepArgs;
use crate::commands::Context;
use crate::failure::Failure;
use crate::hints::run_name::RunName;
use crate::hints::runs::failed;
use crate::hints::stopped_runs::Results;

pub(super) fn run(context: &Context, args: &RunStepArgs) -> Result<Exit, Failure> {
    let mut made = None;
    make_and_do(context, args, &mut made)
        .map_err(|failure| unfinished_run(&args.work, made.as_ref(), failure))
}

fn make_and_do(
    context: &Context,
    args: &RunStepArgs,
    made: &mut Option<MadeRun>,
) -> Result<Exit, Failure> {
    let (source, loaded) = loaded(&args.workflow)?;
    let only = OnlyNode {
        step: args.step.clone(),
        item: args.item.as_deref().map(item).transpose()?,
        respect_when: args.respect_when,
        from: match &args.from_run {
            Some(run) => Some(head_of(context, args, run)?),
            None => None,
        },
    };
    let pipeline = only_step(&loaded.pipeline, &only)?;
    let values = context_of(&loaded.pipeline.context, &args.context)?;
    need_context(&loaded, &pipeline, &values)?;
    let settings = settings(context, &args.work)?;
    let new = NewRun {
        pipeline,
        workflow_file: context.site().env.cwd().join(&args.workflow),
        source,
        context: values,
        steering: Steering {
            on_error: on_error(args.on_error).unwrap_or_default(),
            retries: retries(&args.retries),
            ..Steering::default()
        },
        workspace: place::workspace(context, &args.place)?,
        state_dir: place::chosen(context, &args.place),
        run_id: args.run_id.clone(),
        only: Some(only),
    };
    let report = run_pipeline(&context.runner, &new, &settings, &mut |run| {
        *made = Some(run.clone());
        announce(context, &args.work, run);
        warn_all(&loaded.warnings);
        let under = (&new.pipeline, new.source.as_slice());
        warn_of_secrets(context, &args.work, under, &new.context);
    });
    let results = match args.from_run {
        Some(_) => Results::Seen,
        None => Results::Unseen,
    };
    finish(
        context,
        &args.work,
        (&args.place, results),
        &report.map_err(|error| {
            let asked = args.run_id.as_deref();
            not_done(error, (asked, made.as_ref()), &args.place)
        })?,
    )
}

/// Returns the item of a loop that a person gave.
fn item(text: &str) -> Result<Value, Failure> {
    exact_json(text).map_err(|error| {
        Failure::usage(format!("`--item {text}` is not JSON"))
            .cause(&error)
            .hint("write a text with its quotes: `--item '\"a.txt\"'`")
    })
}

/// Returns the head of the run whose results the step sees.
fn head_of(context: &Context, args: &RunStepArgs, run: &str) -> Result<String, Failure> {
    let thread = place::find(context, &args.place, run)?;
    let origin = run_origin(context.site(), thread)
        .map_err(|error| failed(error, Some(&RunName::in_place(run, &args.place))))?;
    Ok(origin.head.as_str().to_owned())
}
