//! Why a bundle cannot be written, read or used.

use std::io;

use uwf_cas_fs::Unreadable;
use uwf_protocol::ids::{CasRef, ThreadId};

/// Why threads cannot travel. Nothing is changed then, except that nodes may be in the store that nothing refers to.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// The bundle cannot be written.
    #[error("cannot write the bundle")]
    Write(#[source] io::Error),
    /// The bundle cannot be read.
    #[error("cannot read the bundle")]
    Read(#[source] io::Error),
    /// It is something else.
    #[error("this is not a bundle of threads: {0}")]
    NotABundle(String),
    /// Its end is missing.
    #[error("the bundle is cut off within {0}")]
    CutOff(String),
    /// A newer program wrote it.
    #[error("the bundle has version {found}; this program reads version {known}")]
    TooNew {
        /// Its version.
        found: u64,
        /// The version that we know.
        known: u64,
    },
    /// It contains something that no bundle contains.
    #[error("the bundle is refused: {0}")]
    Refused(String),
    /// A node is too large for a bundle.
    #[error("node `{hash}` is too large for a bundle: it has {bytes} bytes")]
    TooLarge {
        /// The node.
        hash: CasRef,
        /// Its size.
        bytes: usize,
    },
    /// Nodes that the threads need are not in the bundle.
    #[error("the bundle is not complete: {}", listed(.0))]
    Incomplete(Vec<Unreadable>),
    /// Nodes that the threads need cannot be read here.
    #[error("the threads cannot be exported: {}", listed(.0))]
    Unreadable(Vec<Unreadable>),
    /// Threads went on in both places.
    #[error("{}", diverged(.0))]
    Diverged(Vec<Divergence>),
}

/// A thread that went on in two places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Divergence {
    /// The thread.
    pub thread: ThreadId,
    /// Its head in this root.
    pub here: CasRef,
    /// Its head in the bundle.
    pub there: CasRef,
    /// Whether somebody ended it here.
    pub is_cancelled: bool,
}

/// How many nodes or threads a message names.
const NAMED: usize = 5;

/// Names nodes that cannot be read.
pub(crate) fn listed(nodes: &[Unreadable]) -> String {
    let named = nodes
        .iter()
        .map(|node| format!("node `{}` {}", node.hash, node.problem));
    joined(named, nodes.len())
}

fn diverged(threads: &[Divergence]) -> String {
    let named = threads.iter().map(|one| {
        let Divergence {
            thread,
            here,
            there,
            is_cancelled,
        } = one;
        let went = match is_cancelled {
            true => "was cancelled here at",
            false => "went on here to",
        };
        format!("thread `{thread}` {went} `{here}`, and went on in the bundle to `{there}`")
    });
    joined(named, threads.len())
}

fn joined(named: impl Iterator<Item = String>, count: usize) -> String {
    let mut named: Vec<String> = named.take(NAMED).collect();
    if count > NAMED {
        named.push(format!("and {} more", count - NAMED));
    }
    named.join("; ")
}
