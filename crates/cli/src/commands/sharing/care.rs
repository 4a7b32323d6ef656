//! `uwf remote migrate`, `verify`, `gc`, `release` and `roles`: the care for a remote.

use std::time::Duration;

use uwf_engine::{EngineError, SharingError, machine_of};
use uwf_protocol::exit::Exit;
use uwf_remote::{Lease, Standing};
use uwf_util::time::format_duration;

use super::{answer, configured, here_or_there, open};
use crate::args::{ReleaseArgs, RemoteGcArgs};
use crate::ask::{can_ask, confirm};
use crate::commands::Context;
use crate::failure::Failure;
use crate::output::{self, print};
use crate::text::{CollectedRemoteView, MigratedRemoteView, ReleasedView, VerifiedRemoteView};

pub(super) fn migrate(context: &Context) -> Result<Exit, Failure> {
    let migrated = answer(configured(context.site())?.migrate())?;
    print(&MigratedRemoteView::from(migrated), context.format)?;
    Ok(Exit::Done)
}

pub(super) fn verify(context: &Context) -> Result<Exit, Failure> {
    let mut remote = configured(context.site())?;
    let mut faults = Vec::new();
    let verified = answer(remote.verify(&mut |fault| faults.push(fault)))?;
    let view = VerifiedRemoteView::new(verified, faults);
    print(&view, context.format)?;
    Ok(if view.is_sound() {
        Exit::Done
    } else {
        Exit::Store
    })
}

pub(super) fn gc(context: &Context, args: &RemoteGcArgs) -> Result<Exit, Failure> {
    let mut remote = configured(context.site())?;
    let collected = answer(remote.collect(Duration::from_millis(args.older_than)))?;
    print(&CollectedRemoteView::from(collected), context.format)?;
    Ok(Exit::Done)
}

/// Ends the lease that a person was shown, and no later one.
pub(super) fn release(context: &Context, args: &ReleaseArgs) -> Result<Exit, Failure> {
    let thread = here_or_there(context, &args.thread)?;
    let mut remote = open(context.site())?;
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
