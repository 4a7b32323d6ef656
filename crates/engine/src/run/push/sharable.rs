//! Whether a thread can be shared as it is.

use uwf_remote::Remote;
use uwf_storage::State;

use crate::children::moved::at_work;
use crate::children::redone::{Redone, redone};
use crate::children::{of_step, parent_of, recorded};
use crate::sharing::error::SharingError;
use crate::sharing::family::there;
use crate::thread::Thread;
use crate::workspace::family_of;
use crate::{EngineError, Site};

/// Fails if a thread is a child that is not shared yet, or if neither it nor its parent is at the remote. It must be pushed with its
/// parent.
pub(super) fn check_sharable(
    site: &Site,
    remote: &mut dyn Remote,
    thread: &Thread,
) -> Result<(), EngineError> {
    let id = thread.id;
    let Some(parent) = parent_of(id, &thread.start) else {
        return Ok(());
    };
    let is_shared = site.root.shared(id).read()?.is_some();
    if is_shared
        && (there(remote, id, None)?.is_some() || there(remote, parent.thread, None)?.is_some())
    {
        return Ok(());
    }
    let parent = family_of(site, thread)?;
    Err(SharingError::IsChild { thread: id, parent }.into())
}

/// Fails if other machines would not find a child that works for the next step of a thread. They look for the first child of the
/// head, and for the next one if a person has ended that (points 2 and 4 about children in "A shared thread" of
/// `docs/architecture.md`).
pub(super) fn refuse_hidden(site: &Site, thread: &Thread) -> Result<(), EngineError> {
    if State::new(&site.root).head(thread.id)?.is_none() {
        return Ok(());
    }
    let id = thread.id;
    let hidden = |child| Err(SharingError::HiddenChild { thread: id, child }.into());
    if thread.is_run() {
        return match of_step::hidden(site, thread)? {
            Some(child) => hidden(child),
            None => Ok(()),
        };
    }
    if redone(site, thread)? != Redone::No
        && let Some(last) = thread.last()
        && let Some(child) = recorded(site, last)?.first()
    {
        return hidden(child.thread);
    }
    let (_, children) = at_work(site, thread)?.unzip();
    for child in children.into_iter().flatten() {
        let are_all_known = child.parent.attempt == child.killed.len() as u64;
        if child.parent.head != thread.head || !are_all_known {
            return hidden(child.thread);
        }
    }
    Ok(())
}
