//! `uwf remote migrate`, `verify`, `gc`, `release` and `roles`: the care for a remote.

use std::collections::BTreeSet;
use std::time::Duration;

use uwf_engine::{EngineError, SharingError, machine_of, send_lost, whole_nodes};
use uwf_protocol::exit::Exit;
use uwf_protocol::ids::CasRef;
use uwf_remote::{Lease, RemoteError, Standing};
use uwf_remote_postgres::{Fault, Needing, Verified};
use uwf_util::time::format_duration;

use super::kind::Kind;
use super::{answer, configured, here_or_there, open};
use crate::args::{ReleaseArgs, RemoteGcArgs, RemoteVerifyArgs};
use crate::ask::{can_ask, confirm};
use crate::commands::Context;
use crate::failure::Failure;
use crate::output::{self, print};
use crate::text::{
    CollectedRemoteView, MigratedRemoteView, ReleasedView, Repaired, VerifiedRemoteView,
};

pub(super) fn migrate(context: &Context) -> Result<Exit, Failure> {
    let migrated = answer(configured(context.site())?.migrate())?;
    print(&MigratedRemoteView::from(migrated), context.format)?;
    Ok(Exit::Done)
}

pub(super) fn verify(context: &Context, args: &RemoteVerifyArgs) -> Result<Exit, Failure> {
    let mut remote = configured(context.site())?;
    let (mut verified, mut faults) = look(&mut remote)?;
    let mut repaired = None;
    if args.repair {
        repaired = Some(repair(context, &mut remote, &faults)?);
        (verified, faults) = look(&mut remote)?;
    }
    let needing = match lost(&faults).as_slice() {
        [] => Needing::default(),
        lost => answer(remote.needing(lost))?,
    };
    let view = VerifiedRemoteView::new(verified, faults, needing, repaired);
    print(&view, context.format)?;
    Ok(if view.is_sound() {
        Exit::Done
    } else {
        Exit::Store
    })
}

/// Looks at everything that a remote keeps.
fn look(remote: &mut Kind) -> Result<(Verified, Vec<Fault>), Failure> {
    let mut faults = Vec::new();
    let verified = answer(remote.verify(&mut |fault| faults.push(fault)))?;
    Ok((verified, faults))
}

/// Returns the nodes that are damaged or missing.
fn lost(faults: &[Fault]) -> Vec<CasRef> {
    let lost: BTreeSet<CasRef> = faults.iter().flat_map(Fault::lost).copied().collect();
    lost.into_iter().collect()
}

/// Sends again what is damaged or missing, as far as it is whole here. Only the owner of the schema replaces what is damaged.
fn repair(context: &Context, remote: &mut Kind, faults: &[Fault]) -> Result<Repaired, Failure> {
    let sent = send_lost(context.site(), remote.as_remote(), &lost(faults))?;
    let is_damaged = |fault: &&Fault| matches!(fault, Fault::Damaged(_));
    let damaged: Vec<Fault> = faults.iter().filter(is_damaged).cloned().collect();
    let whole = whole_nodes(context.site(), &lost(&damaged));
    let (restored, of_whole) = owned(&whole, |whole| remote.restore(whole))?;
    let other_refs = faults.iter().filter_map(|fault| match fault {
        Fault::OtherRefs { node, refs } => Some((*node, refs.clone())),
        _ => None,
    });
    let other_refs: Vec<_> = other_refs.collect();
    let (relinked, of_refs) = owned(&other_refs, |nodes| remote.relink(nodes))?;
    Ok(Repaired {
        sent: sent + restored + relinked,
        need_owner: of_whole + of_refs,
    })
}

/// Changes nodes, which only the owner of the schema may. Returns how many were changed, and how many need the owner.
fn owned<T>(
    nodes: &[T],
    change: impl FnOnce(&[T]) -> Result<usize, RemoteError>,
) -> Result<(usize, usize), Failure> {
    if nodes.is_empty() {
        return Ok((0, 0));
    }
    match change(nodes) {
        Err(RemoteError::Denied(_)) => Ok((0, nodes.len())),
        changed => Ok((answer(changed)?, 0)),
    }
}

pub(super) fn gc(context: &Context, args: &RemoteGcArgs) -> Result<Exit, Failure> {
    let mut remote = configured(context.site())?;
    refuse_damaged(&mut remote)?;
    let older_than = Duration::from_millis(args.older_than);
    let collected = answer(match args.dry_run {
        true => remote.count_garbage(older_than),
        false => remote.collect(older_than),
    })?;
    let view = CollectedRemoteView::new(collected, args.dry_run);
    print(&view, context.format)?;
    Ok(Exit::Done)
}

/// Fails if what nodes need cannot be told from what is stored about them: something could be removed that is needed.
fn refuse_damaged(remote: &mut Kind) -> Result<(), Failure> {
    let (_, mut faults) = look(remote)?;
    faults.retain(Fault::misleads);
    let are_only_damaged = faults
        .iter()
        .all(|fault| matches!(fault, Fault::Damaged(_)));
    // A damaged node that no whole one needs is garbage.
    if faults.is_empty()
        || are_only_damaged && answer(remote.needing(&lost(&faults)))? == Needing::default()
    {
        return Ok(());
    }
    Err(Failure {
        exit: Exit::Store,
        causes: faults.iter().map(ToString::to_string).collect(),
        ..Failure::request("the remote is damaged, so nothing is removed from it")
    }
    .hint("`uwf remote verify --repair` puts right what it can, as the owner of the schema"))
}

/// Ends the lease that a person was shown, and no later one.
pub(super) fn release(context: &Context, args: &ReleaseArgs) -> Result<Exit, Failure> {
    let mut remote = open(context.site())?;
    let thread = here_or_there(context, remote.as_mut(), &args.thread)?;
    let lease = match answer(remote.standing(thread))? {
        Standing::Unknown => return Err(EngineError::from(SharingError::Unknown(thread)).into()),
        Standing::Free => None,
        Standing::Leased(lease) => Some(lease),
    };
    if let Some(lease) = &lease {
        if !args.yes && can_ask() && !confirm(&question(lease), false)? {
            return Err(refused(lease));
        }
        answer(remote.end_lease(lease))?;
    }
    print(&ReleasedView::new(thread, lease), context.format)?;
    Ok(Exit::Done)
}

fn question(lease: &Lease) -> String {
    let left = u64::try_from(lease.lasts.as_millis()).unwrap_or(u64::MAX);
    format!(
        "{} works on thread {}; its lease ends in {} unless it is renewed. A step that it still does will not be in the thread. End its lease?",
        machine_of(&lease.owner),
        lease.thread,
        format_duration(left),
    )
}

fn refused(lease: &Lease) -> Failure {
    let thread = lease.thread;
    Failure::request(format!("the lease of thread `{thread}` was not ended")).hint(format!(
        "nothing was changed; `uwf remote release --yes {thread}` ends it without a question"
    ))
}

/// Prints the script alone, whatever the format is: it is for another program.
pub(super) fn roles(context: &Context) -> Result<Exit, Failure> {
    let remote = configured(context.site())?;
    output::write(answer(remote.roles())?.trim_end())?;
    Ok(Exit::Done)
}
