//! Names of workflows that all machines share.

use uwf_protocol::ids::CasRef;

/// A name at a remote, and what it stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedName {
    /// The name.
    pub name: String,
    /// What it stands for.
    pub hash: CasRef,
    /// How often it was set. Each change of the name makes this number larger by one.
    pub version: u64,
    /// What it stood for before, oldest first. The nodes need not be there any more.
    pub earlier: Vec<CasRef>,
}

impl SharedName {
    /// Tells whether the name stands, or stood before, for a node.
    #[must_use]
    pub fn has_had(&self, hash: CasRef) -> bool {
        self.hash == hash || self.earlier.contains(&hash)
    }

    /// Tells whether a caller that knew the version `known` has set the name to `to`.
    #[must_use]
    pub fn was_set(&self, known: u64, to: CasRef) -> bool {
        if known.checked_add(1) == Some(self.version) {
            return self.hash == to;
        }
        let place = usize::try_from(known).ok();
        place.and_then(|place| self.earlier.get(place)) == Some(&to)
    }
}

/// What came of setting a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Named {
    /// The name stands for the node.
    Done,
    /// An earlier call with the same arguments has set the name. Others may have set it since.
    Already,
    /// The name has another version than the caller knew, and stands for this. Nothing has changed.
    StandsFor(SharedName),
    /// The node is not there. Nothing has changed.
    Lacking,
}
