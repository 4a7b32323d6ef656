//! `uwf remote migrate`, `verify`, `gc`, `release` and `roles`: the care for a remote.

use std::collections::BTreeSet;
use std::time::Duration;

use uwf_cas_fs::RawRefs;
use uwf_engine::{EngineError, SharingError, machine_of, send_lost, whole_nodes};
use uwf_protocol::exit::Exit;
use uwf_protocol::ids::CasRef;
use uwf_protocol::raw_node::RawNode;
use uwf_remote::care::{Cared, Fault, Needing, References, Verified};
use uwf_remote::{Lease, RemoteError, Standing};
use uwf_storage::State;
use uwf_util::time::format_duration;

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
    let (mut verified, mut faults) = look(remote.as_mut())?;
    let mut repaired = None;
    if args.repair {
        let mut done = Repaired::default();
        for _ in 0..2 {
            let had_unknown = faults.iter().any(is_unknown);
            done.add(repair(context, remote.as_mut(), &faults)?);
            (verified, faults) = look(remote.as_mut())?;
            // With the schemas that were sent, more references can be checked.
            if !had_unknown {
                break;
            }
        }
        repaired = Some(done);
    }
    // The schema that is missing or damaged is a fault of its own.
    faults.retain(|fault| !is_unknown(fault));
    let needing = needing(remote.as_mut(), &faults)?;
    let schema = remote.schema().unwrap_or_default();
    let view = VerifiedRemoteView::new(schema, verified, faults, needing, repaired);
    print(&view, context.format)?;
    Ok(if view.is_sound() {
        Exit::Done
    } else {
        Exit::Store
    })
}

/// Looks at everything that a remote keeps.
fn look(remote: &mut dyn Cared) -> Result<(Verified, Vec<Fault>), Failure> {
    let mut refs = RawRefs::default();
    let mut look = |node: &RawNode, schema: Option<&RawNode>| match refs.of(node, schema) {
        Ok(Some(refs)) => References::Are(refs),
        Ok(None) => References::Unknown,
        Err(_) => References::Damaged,
    };
    let mut faults = Vec::new();
    let verified = answer(remote.verify(&mut look, &mut |fault| faults.push(fault)))?;
    Ok((verified, faults))
}

fn is_unknown(fault: &Fault) -> bool {
    matches!(fault, Fault::UnknownRefs(_))
}

/// Returns who needs the nodes that faults are about.
fn needing(remote: &mut dyn Cared, faults: &[Fault]) -> Result<Needing, Failure> {
    Ok(match nodes(faults, Fault::about).as_slice() {
        [] => Needing::default(),
        nodes => answer(remote.needing(nodes))?,
    })
}

/// Returns nodes of faults, each once.
fn nodes(faults: &[Fault], of: fn(&Fault) -> &[CasRef]) -> Vec<CasRef> {
    let nodes: BTreeSet<CasRef> = faults.iter().flat_map(of).copied().collect();
    nodes.into_iter().collect()
}

/// Sends again what is damaged or missing, as far as it is whole here, and puts right what is stored about references. Only the owner
/// of the schema changes what is stored.
fn repair(
    context: &Context,
    remote: &mut dyn Cared,
    faults: &[Fault],
) -> Result<Repaired, Failure> {
    let sent = send_lost(context.site(), remote, &nodes(faults, Fault::lost))?;
    let is_damaged = |fault: &&Fault| matches!(fault, Fault::Damaged(_));
    let damaged: Vec<Fault> = faults.iter().filter(is_damaged).cloned().collect();
    let whole = whole_nodes(context.site(), &nodes(&damaged, Fault::lost));
    let (replaced, owner_replaces) = as_owner(&whole, |whole| remote.restore(whole))?;
    let other_refs = faults.iter().filter_map(|fault| match fault {
        Fault::OtherRefs { node, refs } => Some((*node, refs.clone())),
        _ => None,
    });
    let other_refs: Vec<_> = other_refs.collect();
    let (relinked, owner_relinks) = as_owner(&other_refs, |nodes| remote.relink(nodes))?;
    Ok(Repaired {
        sent,
        replaced,
        relinked,
        owner_replaces,
        owner_relinks,
    })
}

/// Changes nodes, which only the owner of the schema may. Returns how many were changed, and how many need the owner.
fn as_owner<T>(
    nodes: &[T],
    change: impl FnOnce(&[T]) -> Result<usize, RemoteError>,
) -> Result<(usize, usize), Failure> {
    if nodes.is_empty() {
        return Ok((0, 0));
    }
    match change(nodes) {
        Err(RemoteError::Denied(..)) => Ok((0, nodes.len())),
        changed => Ok((answer(changed)?, 0)),
    }
}

pub(super) fn gc(context: &Context, args: &RemoteGcArgs) -> Result<Exit, Failure> {
    let mut remote = configured(context.site())?;
    answer(remote.must_collect())?;
    refuse_damaged(remote.as_mut())?;
    let older_than = Duration::from_millis(args.older_than);
    let collected = answer(match args.dry_run {
        true => remote.count_garbage(older_than),
        false => remote.collect(older_than),
    })?;
    let view = CollectedRemoteView::new(collected, args.dry_run);
    print(&view, context.format)?;
    Ok(Exit::Done)
}

/// Fails if something is damaged or missing that is needed: what that needs cannot be told, and would be removed.
fn refuse_damaged(remote: &mut dyn Cared) -> Result<(), Failure> {
    let (_, faults) = look(remote)?;
    let all_can_be = faults.iter().all(Fault::can_be_garbage);
    if all_can_be && needing(remote, &faults)? == Needing::default() {
        return Ok(());
    }
    Err(Failure {
        exit: Exit::Store,
        causes: faults.iter().map(ToString::to_string).collect(),
        ..Failure::request("the remote is damaged, so nothing is removed from it")
    }
    .hint(
        "`uwf remote verify --repair` puts right what it can, as the owner of the schema, and says what to do about the rest",
    ))
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
    let is_here = matches!(State::new(&context.site().root).find(thread), Ok(Some(_)));
    print(&ReleasedView::new(thread, lease, is_here), context.format)?;
    Ok(Exit::Done)
}

fn question(lease: &Lease) -> String {
    let left = u64::try_from(lease.lasts.as_millis()).unwrap_or(u64::MAX);
    format!(
        "{} works on thread {}; its lease ends in {} unless it is renewed. A step that it still finishes waits there, and is shared unless another machine has gone on. End its lease?",
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

/// Prints the script or the text alone, whatever the format is: a script is for another program.
pub(super) fn roles(context: &Context) -> Result<Exit, Failure> {
    let remote = configured(context.site())?;
    output::write(remote.roles().trim_end())?;
    Ok(Exit::Done)
}
