//! Storing nodes of another place, several at once.

use uwf_protocol::raw_node::RawNode;

use crate::{EngineError, Site};

/// How many nodes, and about how many bytes, share one wait for the disk.
const BATCH: (usize, usize) = (64, 8 << 20);

/// Stores nodes, each after it was compared with its hash. Children must come before parents.
pub(crate) struct Intake<'a> {
    site: &'a Site,
    batch: Vec<RawNode>,
    bytes: usize,
}

impl<'a> Intake<'a> {
    pub(crate) fn new(site: &'a Site) -> Self {
        Self {
            site,
            batch: Vec::new(),
            bytes: 0,
        }
    }

    /// Adds a node. It may be stored only by a later call.
    pub(crate) fn add(&mut self, node: RawNode) -> Result<(), EngineError> {
        self.bytes += node.payload.len();
        self.batch.push(node);
        if self.batch.len() >= BATCH.0 || self.bytes >= BATCH.1 {
            self.store()?;
        }
        Ok(())
    }

    /// Stores what was added last.
    pub(crate) fn finish(mut self) -> Result<(), EngineError> {
        self.store()
    }

    fn store(&mut self) -> Result<(), EngineError> {
        let now_ms = self.site.env.now_ms();
        self.site.store.import(&self.batch, now_ms)?;
        self.batch.clear();
        self.bytes = 0;
        Ok(())
    }
}
