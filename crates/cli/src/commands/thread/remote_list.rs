//! `uwf thread list --remote`: the threads at the remote.

use std::collections::{BTreeMap, BTreeSet};

use uwf_engine::{remote_names, remote_threads, shared_threads, waiting_threads, workflow_name};
use uwf_protocol::exit::Exit;
use uwf_protocol::head_status::HeadStatus;
use uwf_protocol::ids::CasRef;
use uwf_protocol::naming::Label;
use uwf_remote::{Listed, Query, Remote};
use uwf_words::remote::LEASED;

use super::listing::not_a_status;
use super::next::labels;
use crate::args::ListArgs;
use crate::commands::{Context, sharing};
use crate::failure::Failure;
use crate::output::{Format, print_long};
use crate::text::{MOST_ENDED, RemoteThreadsView, remote_status};

pub(super) fn list(context: &Context, args: &ListArgs) -> Result<Exit, Failure> {
    let words = words(args)?;
    let query = Query {
        statuses: statuses(args, &words),
        label: label(args)?,
    };
    let site = context.site();
    let mut remote = sharing::open(site)?;
    let mut threads = remote_threads(remote.as_mut(), &query)?;
    let is_asked = |one: &Listed| {
        [one.status.as_str(), remote_status(one)]
            .iter()
            .any(|word| words.contains(word))
    };
    threads.retain(|one| words.is_empty() || is_asked(one));
    threads.reverse();
    threads.truncate(args.filter.limit.unwrap_or(usize::MAX));
    let names = names(context, remote.as_mut(), &threads);
    let here = (&*shared_threads(site)?, &*waiting_threads(site)?);
    let hidden = match context.format {
        Format::Text if !args.all && args.filter.status.is_none() => {
            ended(remote.as_mut(), query.label)?
        }
        _ => 0,
    };
    let view = RemoteThreadsView::new(threads, here, &names, hidden);
    print_long(&view, context.format, &context.pager)?;
    Ok(Exit::Done)
}

/// Returns what the workflows of threads are called: as they call themselves, if they are here, and else as the remote names them.
fn names(
    context: &Context,
    remote: &mut dyn Remote,
    threads: &[Listed],
) -> BTreeMap<CasRef, String> {
    let workflows: BTreeSet<CasRef> = threads.iter().map(|one| one.workflow).collect();
    let here = |hash: CasRef| Some((hash, workflow_name(context.site(), hash)?));
    let mut names: BTreeMap<CasRef, String> = workflows.iter().copied().filter_map(here).collect();
    if names.len() == workflows.len() {
        return names;
    }
    // A remote that an older version has made has no names.
    for name in remote_names(remote).unwrap_or_default() {
        let unnamed = workflows.iter().filter(|hash| name.has_had(**hash));
        for hash in unnamed.copied().collect::<Vec<_>>() {
            names.entry(hash).or_insert_with(|| name.name.clone());
        }
    }
    names
}

/// Returns how many threads have ended at the remote, as far as one page tells.
fn ended(remote: &mut dyn Remote, label: Option<Label>) -> Result<usize, Failure> {
    let query = Query {
        statuses: vec![HeadStatus::Ended],
        label,
    };
    let page = sharing::answer(remote.list(&query, None, MOST_ENDED))?;
    Ok(page.len())
}

/// Returns the statuses that a person asks for; none if nobody did.
fn words(args: &ListArgs) -> Result<Vec<&'static str>, Failure> {
    let known = HeadStatus::ALL.map(HeadStatus::as_str);
    let known: Vec<&'static str> = known.into_iter().chain([LEASED]).collect();
    let word = |word: &str| {
        let found = known.iter().copied().find(|known| *known == word);
        found.ok_or_else(|| not_a_status(word, &known, "statuses at the remote are", ""))
    };
    let asked = args.filter.status.iter().flat_map(|text| text.split(','));
    asked.map(str::trim).map(word).collect()
}

/// Returns the statuses at the remote that are asked for; none for all. A thread that is leased is ready there.
fn statuses(args: &ListArgs, words: &[&str]) -> Vec<HeadStatus> {
    let is_asked = |status: &HeadStatus| match words {
        [] => *status != HeadStatus::Ended,
        words if *status == HeadStatus::Ready && words.contains(&LEASED) => true,
        words => words.contains(&status.as_str()),
    };
    match args.all && words.is_empty() {
        true => Vec::new(),
        false => HeadStatus::ALL.into_iter().filter(is_asked).collect(),
    }
}

/// Returns the label that is asked for.
fn label(args: &ListArgs) -> Result<Option<Label>, Failure> {
    let mut labels = labels("--remote", &args.filter.about.labels)?.into_iter();
    let first = labels.next();
    match labels.next() {
        Some(_) => Err(Failure::usage(
            "`--remote` takes one `--label`: a thread at the remote has at most one",
        )),
        None => Ok(first),
    }
}
