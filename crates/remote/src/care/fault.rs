//! What can be wrong with a remote.

use uwf_protocol::ids::CasRef;

/// Something that is wrong with a remote. A node that a collection has condemned is not missing: it is there until it is removed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// A node is not what was stored.
    #[error("the node {0} is damaged: it is not what was stored")]
    Damaged(CasRef),
    /// A node is whole, and what is stored about its references is wrong.
    #[error("the references stored for node {node} differ from those in its payload")]
    OtherRefs {
        /// The node.
        node: CasRef,
        /// What it refers to.
        refs: Vec<CasRef>,
    },
    /// A node is whole, and what is stored about its references cannot be checked.
    #[error("the references of the node {0} cannot be checked: its schema is missing or damaged")]
    UnknownRefs(CasRef),
    /// A node needs others that are missing.
    #[error("the node {node} needs nodes that are missing: {}", named(.missing))]
    NodeLacks {
        /// The node.
        node: CasRef,
        /// What is missing.
        missing: Vec<CasRef>,
    },
    /// The workflow, a head, or an earlier head of a thread is missing.
    #[error("the thread {thread} needs nodes that are missing: {}", named(.missing))]
    ThreadLacks {
        /// The thread.
        thread: String,
        /// What is missing.
        missing: Vec<CasRef>,
    },
    /// The node that a name stands for is missing.
    #[error("the name {name:?} stands for a node that is missing: {missing}")]
    NameLacks {
        /// The name.
        name: String,
        /// The node.
        missing: CasRef,
    },
    /// What is stored about a thread makes no sense.
    #[error("what is stored about the thread {thread} makes no sense: {problem}")]
    Senseless {
        /// The thread.
        thread: String,
        /// Why.
        problem: String,
    },
}

impl Fault {
    /// Returns the nodes that would fix the fault, if they were sent.
    #[must_use]
    pub fn lost(&self) -> &[CasRef] {
        match self {
            Self::OtherRefs { .. } | Self::UnknownRefs(_) | Self::Senseless { .. } => &[],
            Self::Damaged(_)
            | Self::NodeLacks { .. }
            | Self::ThreadLacks { .. }
            | Self::NameLacks { .. } => self.about(),
        }
    }

    /// Returns the nodes that are damaged or missing, or about which something wrong may be stored.
    #[must_use]
    pub fn about(&self) -> &[CasRef] {
        match self {
            Self::Damaged(node) | Self::OtherRefs { node, .. } | Self::UnknownRefs(node) => {
                std::slice::from_ref(node)
            }
            Self::NodeLacks { missing, .. } | Self::ThreadLacks { missing, .. } => missing,
            Self::NameLacks { missing, .. } => std::slice::from_ref(missing),
            Self::Senseless { .. } => &[],
        }
    }

    /// Returns whether the fault can be ignored if nothing needs its nodes. Faults of threads, names and stored references cannot,
    /// because they decide which nodes are garbage.
    #[must_use]
    pub fn can_be_garbage(&self) -> bool {
        match self {
            Self::Damaged(_) | Self::UnknownRefs(_) | Self::NodeLacks { .. } => true,
            Self::OtherRefs { .. }
            | Self::ThreadLacks { .. }
            | Self::NameLacks { .. }
            | Self::Senseless { .. } => false,
        }
    }
}

fn named(hashes: &[CasRef]) -> String {
    let texts: Vec<String> = hashes.iter().map(ToString::to_string).collect();
    texts.join(", ")
}
