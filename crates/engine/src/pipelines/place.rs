//! Where the files of a run are.

use std::path::{Path, PathBuf};

use serde::Serialize;
use uwf_pipeline::nodes::RunNode;
use uwf_protocol::ids::ThreadId;
use uwf_protocol::nodes::StartNode;

use super::chain;
use crate::Site;

/// The run of a pipeline that a thread is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RunOfThread {
    /// Its id.
    pub id: String,
    /// The folder with its picture and its logs. A fork has none before its first step.
    pub folder: PathBuf,
}

impl RunOfThread {
    /// Returns the run that a thread with this start is; `None` if it is none, or cannot be read.
    pub(crate) fn of(site: &Site, thread: ThreadId, start: &StartNode) -> Option<Self> {
        let run: RunNode = chain::payload(&site.store, start.run?).ok()?;
        let id = chain::id_of(&run, thread);
        let workspace = Path::new(start.cwd.as_deref().unwrap_or_default());
        Some(Self {
            folder: workspace.join(&run.state_dir).join(&id),
            id,
        })
    }
}
