//! What a migrated thread was before: its history and its failed attempts name nodes of the chain that was copied. Views
//! show them at the copies.

use std::collections::HashMap;

use uwf_cas_fs::Store;
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_storage::{ReplacedStep, State};
use uwf_thread::{Head, steps};

use crate::read::activity::AttemptView;
use crate::{EngineError, Site};

/// What was done again in a thread, and the nodes of its chain that are copies.
pub(crate) struct Past {
    /// The steps that were done again. Each names the step of the present chain that took its place.
    pub(crate) replaced: Vec<ReplacedStep>,
    /// The steps of other threads that were done again. A fork has steps of another thread.
    pub(crate) replaced_elsewhere: Vec<ReplacedStep>,
    /// The present node of each node that was copied.
    copies: HashMap<CasRef, CasRef>,
}

impl Past {
    /// Reads the past of a thread with this head.
    pub(crate) fn read(site: &Site, thread: ThreadId, head: CasRef) -> Result<Self, EngineError> {
        let all = State::new(&site.root).replaced()?.into_iter();
        let (migrations, all): (Vec<_>, Vec<_>) = all.partition(ReplacedStep::is_migration);
        let is_own = |one: &ReplacedStep| one.in_thread == thread;
        let migrations: Vec<_> = migrations.into_iter().filter(is_own).collect();
        let (mut replaced, replaced_elsewhere): (Vec<_>, Vec<_>) =
            all.into_iter().partition(is_own);
        let copies = copies(&site.store, head, &migrations)?;
        for step in &mut replaced {
            step.by = copies.get(&step.by).copied().unwrap_or(step.by);
        }
        Ok(Self {
            replaced,
            replaced_elsewhere,
            copies,
        })
    }

    /// Returns a failed attempt where the present chain has it.
    pub(crate) fn place(&self, mut attempt: AttemptView) -> AttemptView {
        attempt.head = self.now(attempt.head);
        attempt.replaces = attempt.replaces.map(|step| self.now(step));
        attempt
    }

    /// Returns the present node for a node of this chain or an earlier one.
    pub(crate) fn now(&self, node: CasRef) -> CasRef {
        self.copies.get(&node).copied().unwrap_or(node)
    }
}

/// Returns the present node of each node that was copied. Migrations are in the order of the history: one that was made
/// earlier copied onto a chain that a later one copied again.
fn copies(
    store: &Store,
    head: CasRef,
    migrations: &[ReplacedStep],
) -> Result<HashMap<CasRef, CasRef>, EngineError> {
    let mut copies = HashMap::new();
    if migrations.is_empty() {
        return Ok(copies);
    }
    let present = nodes(store, head)?;
    copies.extend(present.iter().map(|node| (*node, *node)));
    for migration in migrations.iter().rev() {
        // A migration that was killed before the head moved is of no chain.
        let Some(top) = copies.get(&migration.by).copied() else {
            continue;
        };
        let at = present.iter().position(|node| *node == top).unwrap_or(0);
        for (old, now) in nodes(store, migration.replaced)?
            .into_iter()
            .zip(&present[at..])
        {
            copies.entry(old).or_insert(*now);
        }
    }
    Ok(copies)
}

/// Returns the nodes of a chain from its head to its start.
fn nodes(store: &Store, head: CasRef) -> Result<Vec<CasRef>, EngineError> {
    let steps = steps(store, head).map(|step| step.map(|step| step.hash));
    let mut nodes = steps.collect::<Result<Vec<_>, _>>()?;
    nodes.push(Head::read(store, head)?.start());
    Ok(nodes)
}
