//! `uwf thread list --remote`: the threads at the remote.

use std::collections::BTreeMap;

use uwf_engine::{remote_threads, shared_threads, waiting_threads, workflow_name};
use uwf_protocol::exit::Exit;
use uwf_protocol::head_status::HeadStatus;
use uwf_protocol::ids::CasRef;
use uwf_protocol::naming::Label;
use uwf_remote::Query;

use super::listing::not_a_status;
use super::next::labels;
use crate::args::ListArgs;
use crate::commands::{Context, sharing};
use crate::failure::Failure;
use crate::output::print_long;
use crate::text::RemoteThreadsView;

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
    let workflows = threads.iter().map(|one| one.workflow);
    let named = workflows.filter_map(|hash| Some((hash, workflow_name(site, hash)?)));
    let names: BTreeMap<CasRef, String> = named.collect();
    let here = (&*shared_threads(site)?, &*waiting_threads(site)?);
    let view = RemoteThreadsView::new(threads, here, &names);
    print_long(&view, context.format, &context.pager)?;
    Ok(Exit::Done)
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
