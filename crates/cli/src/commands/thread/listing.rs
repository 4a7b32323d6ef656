//! `uwf thread list`.

use uwf_engine::{Children, ListFilter, Site, ThreadItem, ThreadStatus};
use uwf_protocol::exit::Exit;
use uwf_storage::State;
use uwf_util::suggest;

use crate::args::{AboutArgs, FilterArgs, ListArgs};
use crate::commands::{Context, past_time};
use crate::failure::{Failure, warn};
use crate::output::print_long;
use crate::text::ThreadsView;

pub(super) fn list(context: &Context, args: &ListArgs) -> Result<Exit, Failure> {
    context.note_empty_root();
    let filter = list_options(context, args)?;
    let (threads, warnings) = listed(context, args, &filter)?;
    for warning in &warnings {
        warn(warning);
    }
    print_long(&threads, context.format, &context.pager)?;
    // A damaged line must not hide other threads, so the check comes after the list.
    State::new(&context.site().root).check()?;
    Ok(Exit::Done)
}

/// Returns the list, and warnings about it.
pub(super) fn listed(
    context: &Context,
    args: &ListArgs,
    filter: &ListFilter,
) -> Result<(ThreadsView, Vec<String>), Failure> {
    let listed = uwf_engine::list(context.site(), filter)?;
    let mut warnings = listed.warnings;
    warnings.extend(costly(&listed.threads));
    let view = ThreadsView {
        threads: listed.threads,
        now_ms: context.site().env.now_ms(),
        is_tree: args.tree,
        is_filtered: args.all || args.skip > 0 || args.filter.is_given(),
    };
    Ok((view, warnings))
}

/// Returns warnings about threads whose conditions cost too much, or were not evaluated.
pub(crate) fn costly(threads: &[ThreadItem]) -> Vec<String> {
    let mut warnings = Vec::new();
    let costly: Vec<_> = threads.iter().filter(|one| one.costs_too_much).collect();
    if let Some((names, reason)) = first_and_more(&costly) {
        let verb = if costly.len() == 1 { "is" } else { "are" };
        warnings.push(format!("{names} {verb} shown as blocked: {reason}"));
    }
    let not_evaluated: Vec<_> = threads.iter().filter(|one| one.not_evaluated).collect();
    if let Some((names, reason)) = first_and_more(&not_evaluated) {
        warnings.push(format!("{names} could not be checked: {reason}"));
    }
    warnings
}

/// Names the first of some threads and the number of the others, with the reason of the first.
fn first_and_more<'a>(threads: &[&'a ThreadItem]) -> Option<(String, &'a str)> {
    let (first, others) = threads.split_first()?;
    let reason = first.blocked_reason.as_deref().unwrap_or_default();
    let names = match others.len() {
        0 => format!("thread `{}`", first.thread),
        more => format!("thread `{}` and {more} more", first.thread),
    };
    Some((names, reason))
}

/// Parses the options of a list.
pub(super) fn list_options(context: &Context, args: &ListArgs) -> Result<ListFilter, Failure> {
    Ok(ListFilter {
        all: args.all,
        children: children(args),
        skip: args.skip,
        ..filter(context, &args.filter)?
    })
}

fn children(args: &ListArgs) -> Children {
    match (args.tree, args.children) {
        (true, _) => Children::Below,
        (false, true) => Children::Listed,
        (false, false) => Children::Hidden,
    }
}

/// Parses the options that choose threads.
pub(crate) fn filter(context: &Context, args: &FilterArgs) -> Result<ListFilter, Failure> {
    let site = context.site();
    let bound = |text: &Option<String>| {
        text.as_deref()
            .map(|text| past_time(context, text))
            .transpose()
    };
    Ok(ListFilter {
        statuses: args.status.as_deref().map(statuses).transpose()?,
        after_ms: bound(&args.after)?,
        before_ms: bound(&args.before)?,
        take: args.limit,
        ..about(site, &args.about)?
    })
}

/// Parses the options that choose threads by what they are about.
pub(super) fn about(site: &Site, args: &AboutArgs) -> Result<ListFilter, Failure> {
    let workflow = args.workflow.as_deref();
    let workflow = workflow.map(|name| uwf_engine::choose_workflow(site, name));
    let here = args.here.then(|| uwf_engine::working_directory(site));
    Ok(ListFilter {
        workflow: workflow.transpose()?,
        name: args.name.clone(),
        labels: args.labels.clone(),
        cwd: here.transpose()?,
        ..ListFilter::default()
    })
}

/// Parses a comma list of statuses. `active` stands for idle and running.
pub(super) fn statuses(text: &str) -> Result<Vec<ThreadStatus>, Failure> {
    let mut statuses = Vec::new();
    for word in text.split(',').map(str::trim) {
        match (word, word.parse()) {
            ("active", _) => statuses.extend([ThreadStatus::Idle, ThreadStatus::Running]),
            (_, Ok(status)) => statuses.push(status),
            (_, Err(_)) => {
                let known = ThreadStatus::ALL.map(ThreadStatus::as_str);
                return Err(not_a_status(word, &known, "statuses are", ", and active"));
            }
        }
    }
    Ok(statuses)
}

/// Returns the failure for a word that is not one of these statuses.
pub(super) fn not_a_status(word: &str, known: &[&str], before: &str, after: &str) -> Failure {
    let failure = Failure::request(format!("`{word}` is not a status"));
    match suggest::nearest(word, known.iter().copied()) {
        Some(near) => failure.hint(format!("did you mean `{near}`?")),
        None => failure.hint(format!("{before} {}{after}", known.join(", "))),
    }
}
