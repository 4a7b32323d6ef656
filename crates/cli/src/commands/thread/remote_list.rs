//! `uwf thread list --remote`: the threads at the remote.

use std::collections::{BTreeMap, BTreeSet};

use uwf_engine::{remote_names, remote_threads, shared_threads, waiting_threads, workflow_name};
use uwf_protocol::exit::Exit;
use uwf_protocol::head_status::HeadStatus;
use uwf_protocol::ids::CasRef;
use uwf_protocol::naming::Label;
use uwf_remote::{Listed, Query, Remote};

use super::listing::not_a_status;
use super::next::labels;
use crate::args::ListArgs;
use crate::commands::{Context, sharing};
use crate::failure::Failure;
use crate::output::{Format, print_long};
use crate::text::{MOST_ENDED, RemoteThreadsView};

pub(super) fn list(context: &Context, args: &ListArgs) -> Result<Exit, Failure> {
    let query = Query {
        statuses: statuses(args)?,
        label: label(args)?,
    };
    let site = context.site();
    let mut remote = sharing::open(site)?;
    let mut threads = remote_threads(remote.as_mut(), &query)?;
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

/// Returns the statuses that are asked for; none for all.
fn statuses(args: &ListArgs) -> Result<Vec<HeadStatus>, Failure> {
    let Some(text) = &args.filter.status else {
        let all = HeadStatus::ALL.into_iter();
        return Ok(match args.all {
            true => Vec::new(),
            false => all.filter(|status| *status != HeadStatus::Ended).collect(),
        });
    };
    let status = |word: &str| {
        let mut all = HeadStatus::ALL.into_iter();
        let found = all.find(|status| status.as_str() == word);
        let known = HeadStatus::ALL.map(HeadStatus::as_str);
        found.ok_or_else(|| not_a_status(word, &known, "statuses at the remote are", ""))
    };
    text.split(',').map(str::trim).map(status).collect()
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
