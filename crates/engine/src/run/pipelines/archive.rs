//! The archive of finished tasks, which is made when a run is completed.

use std::path::PathBuf;

use uwf_pipeline::Failure;
use uwf_process::Stop;
use uwf_runner::{ArchiveEnd, NotDone, Surroundings};

use super::RunEvent;
use super::worker::Worker;
use crate::EngineError;

/// What came of the archive.
pub(super) enum ArchivedAt {
    /// It is at this path, unless there is an error.
    Path(PathBuf, Option<String>),
    /// This process was told to stop.
    Interrupted(Stop),
}

/// Archives what is in a folder. An archive that cannot be made stops the run, and a resume makes it.
///
/// # Errors
/// When a file cannot be read or the disk takes no more: the run goes on with the archive when that is repaired.
pub(super) fn archive(
    worker: &Worker<'_>,
    around: &Surroundings<'_>,
    folder: &str,
    destination: Option<&str>,
) -> Result<ArchivedAt, EngineError> {
    let path = match destination {
        Some(destination) => PathBuf::from(destination),
        None => worker.root.archive_file(),
    };
    let made = around.workspace.archive(folder, &path, around.signals);
    let (warnings, error) = match made {
        Ok(ArchiveEnd::Made { warnings, .. }) => (warnings, None),
        Ok(ArchiveEnd::Interrupted(stop)) => return Ok(ArchivedAt::Interrupted(stop)),
        Err(NotDone::Disk(error)) => return Err(error.into()),
        Err(NotDone::Failure(Failure { message, .. })) => (Vec::new(), Some(message)),
    };
    for warning in &warnings {
        worker.tell(&RunEvent::Warning(warning))?;
    }
    Ok(ArchivedAt::Path(path, error))
}
