//! `uwf orchestrate list`, `status` and `report`. They change nothing.

use std::path::Path;

use uwf_engine::{EngineError, RunStatusView, run_status, run_story, run_summary};
use uwf_storage::{RunRoot, ThreadPlace};

use super::place;
use crate::args::{ListRunsArgs, PlaceArgs, ReportArgs, RunStatusArgs};
use crate::commands::Context;
use crate::failure::{Failure, note};
use crate::hints;
use crate::hints::run_name::RunName;
use crate::hints::runs::failed;
use crate::output::{Form, Format, print, print_document, print_long};
use crate::text::{RunList, RunRow, RunStatusPage, run_report};

/// Returns the format of a result that scripts read only if they say so.
pub(super) fn format(context: &Context, json: bool) -> Format {
    match json {
        true => Format::Json,
        false => context.asked.unwrap_or(Format::Text),
    }
}

pub(super) fn list(context: &Context, args: &ListRunsArgs) -> Result<(), Failure> {
    let folder = place::state_dir(context, &args.place)?;
    let runs = place::with_missing(context, &folder)?.into_iter();
    let mut has_lost_threads = false;
    // A run that cannot be read does not hide the others.
    let row = |(name, at): (String, ThreadPlace)| {
        let summary = place::made(
            context,
            &args.place,
            (&name, &RunRoot::at(folder.join(&name))),
            &at,
        );
        let summary = summary.and_then(|thread| {
            let summary = run_summary(context.site(), thread);
            let is_lost = |error: &EngineError| {
                matches!(
                    error,
                    EngineError::UnknownThread(_) | EngineError::Removed(_)
                )
            };
            has_lost_threads |= summary.as_ref().is_err_and(is_lost);
            Ok(summary?)
        });
        match summary {
            Ok(summary) => RunRow::Run(Box::new(summary)),
            Err(failure) => RunRow::Unreadable {
                run_id: name,
                error: failure.what,
            },
        }
    };
    let list = RunList {
        runs: runs.map(row).collect(),
    };
    if list.runs.is_empty() {
        note(&format!("there is no run in `{}`", folder.display()));
    }
    if has_lost_threads {
        note(&format!(
            "`{}` also removes folders of runs whose threads are gone",
            hints::here("uwf orchestrate clean --older-than TIME")
        ));
    }
    print_long(&list, format(context, args.json), &context.pager)
}

pub(super) fn status(context: &Context, args: &RunStatusArgs) -> Result<(), Failure> {
    let thread = place::find_or_newest(context, &args.place, args.run.as_deref())?;
    let status = run_status(context.site(), thread).map_err(|error| failed(error, None))?;
    let name = name_of(context, &args.place, &status);
    let page = RunStatusPage::new(status, &name);
    print(&page, format(context, args.json))
}

/// Returns how commands that are typed here name a run.
fn name_of(context: &Context, place: &PlaceArgs, status: &RunStatusView) -> RunName {
    let folder = status.state_file.parent().unwrap_or(Path::new(""));
    let run = (status.run.run_id.as_str(), status.run.thread);
    place::name_in(context, place, run, folder)
}

pub(super) fn report(context: &Context, args: &ReportArgs) -> Result<(), Failure> {
    let thread = place::find_or_newest(context, &args.place, args.run.as_deref())?;
    let story = run_story(context.site(), thread).map_err(|error| failed(error, None))?;
    let asked = args.format.and_then(Form::data).or(context.asked);
    let name = name_of(context, &args.place, &story.status);
    let page = run_report(&story, &name);
    print_document(&story, &page, asked, &context.pager)
}
