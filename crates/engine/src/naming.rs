//! What people call a thread: showing and changing its name and its labels. They are not part of the thread, so they change
//! at any time, also while it runs and after it has ended.

use serde::Serialize;
use uwf_protocol::ids::ThreadId;
use uwf_protocol::naming::{LabelChange, Name, Naming, NamingError};
use uwf_storage::State;

use crate::{EngineError, Site, tags, thread};

/// A thread with its name and labels.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NamedThread {
    /// The thread.
    pub thread: ThreadId,
    /// What it is called.
    #[serde(flatten)]
    pub naming: Naming,
}

/// Returns the name and the labels of a thread.
///
/// # Errors
/// When the thread is unknown, or the names cannot be read.
pub fn naming(site: &Site, thread: ThreadId) -> Result<NamedThread, EngineError> {
    thread::find(site, thread)?;
    let naming = State::new(&site.root).namings()?.of(thread);
    Ok(NamedThread { thread, naming })
}

/// Gives a thread a name, or takes its name away.
///
/// # Errors
/// When the thread is unknown, another one has the name, or the names cannot be read or written.
pub fn rename(
    site: &Site,
    thread: ThreadId,
    name: Option<Name>,
) -> Result<NamedThread, EngineError> {
    let named = change(site, thread, |naming| {
        naming.name = name;
        Ok(())
    })?;
    let name = named.naming.name.as_ref().map_or("-", Name::as_str);
    let message = format!("name={name}");
    site.log_line(tags::RENAMED, &message, Some(thread), None);
    Ok(named)
}

/// Sets and removes labels of a thread, in this order.
///
/// # Errors
/// When the thread is unknown, it would have too many labels, or the names cannot be read or written.
pub fn label(
    site: &Site,
    thread: ThreadId,
    changes: &[LabelChange],
) -> Result<NamedThread, EngineError> {
    let named = change(site, thread, |naming| naming.change(thread, changes))?;
    let message = format!("labels={}", named.naming.labels.len());
    site.log_line(tags::LABELLED, &message, Some(thread), None);
    Ok(named)
}

fn change(
    site: &Site,
    thread: ThreadId,
    change: impl FnOnce(&mut Naming) -> Result<(), NamingError>,
) -> Result<NamedThread, EngineError> {
    thread::find(site, thread)?;
    let naming = State::new(&site.root).change_naming(thread, change)?;
    Ok(NamedThread { thread, naming })
}
