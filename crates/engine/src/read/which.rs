//! What needs a node: the threads with their steps, the registered workflows, the replaced steps.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde::Serialize;
use uwf_cas_fs::{Referrers, StoreError};
use uwf_protocol::ids::{CasRef, RoleName, ThreadId};
use uwf_protocol::naming::Name;
use uwf_storage::{Located, Namings, State, Threads, references, shared_roots};
use uwf_thread::{Head, steps};

use crate::read::show::ended_status;
use crate::read::thread_state::ThreadStatus;
use crate::{EngineError, Site, node_kind};

/// A node with everything that needs it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeUses {
    /// The node.
    pub hash: CasRef,
    /// Whether it can be read.
    pub state: NodeState,
    /// Why it cannot be read, if it cannot.
    pub problem: Option<String>,
    /// The schema that types it.
    pub r#type: Option<CasRef>,
    /// What it is, such as `step of reviewer`.
    pub what: Option<String>,
    /// Whether a thread, a registered workflow, a replaced step or the record of a run needs it. Nothing else keeps it from
    /// being collected as garbage.
    pub reachable: bool,
    /// The threads that need it, oldest first.
    pub threads: Vec<ThreadUse>,
    /// The registered workflows that need it.
    pub workflows: Vec<WorkflowUse>,
    /// The workflows that need it, and to which a name can go back.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<WorkflowUse>,
    /// The steps that were done again, and need it.
    pub replaced: Vec<ReplacedUse>,
    /// The nodes that need it and that records of runs name, such as a finished step or the answer of a failed attempt, if
    /// nothing else needs it.
    pub runs: Vec<CasRef>,
    /// The nodes that refer to it directly.
    pub referrers: Vec<NodeUse>,
    /// The nodes that cannot be read, and may refer to it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unreadable: Vec<CasRef>,
    /// The other roots that use the store. What they need is not looked at.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub other_roots: Vec<PathBuf>,
}

/// Whether a node can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum NodeState {
    /// It has its hash.
    Sound,
    /// Its file holds something else.
    Corrupt,
    /// It is not in the store, although something refers to it.
    Missing,
}

/// A thread that needs a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadUse {
    /// The thread.
    pub thread: ThreadId,
    /// The name that it was given.
    pub name: Option<Name>,
    /// How it ended; `None` if it is active.
    pub ended: Option<ThreadStatus>,
    /// Whether its start or its workflow needs the node.
    pub start: bool,
    /// The steps that need it, oldest first. A step does not count because a step before it does.
    pub steps: Vec<StepUse>,
}

/// A step that needs a node, or is it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StepUse {
    /// Its number in the thread, from 1; `None` if steps before it cannot be read.
    pub number: Option<u64>,
    /// The step.
    pub step: CasRef,
    /// Its role; `None` if it cannot be read.
    pub role: Option<RoleName>,
}

/// A registered workflow that needs a node, or is it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WorkflowUse {
    /// Its name.
    pub name: String,
    /// The workflow.
    pub hash: CasRef,
}

/// A step that was done again, and needs a node or is it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReplacedUse {
    /// The step.
    pub step: CasRef,
    /// The thread in which it was replaced.
    pub thread: ThreadId,
}

/// A node that refers to another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NodeUse {
    /// The node.
    pub hash: CasRef,
    /// What it is.
    pub what: String,
}

/// Returns what needs a node. This reads the whole store.
///
/// # Errors
/// [`StoreError::NotFound`] if the node is not in the store and no node refers to it, and when the state or the store
/// cannot be read.
pub fn which(site: &Site, hash: CasRef) -> Result<NodeUses, EngineError> {
    // The hold keeps the garbage collector out: nodes that it removes meanwhile would look as if they were missing.
    let _hold = site.store.hold_to_read().ok();
    let finder = Finder {
        site,
        hash,
        referrers: site.store.referrers(hash)?,
    };
    let recorded = State::new(&site.root).threads()?;
    let replaced = recorded.replaced.iter();
    let replaced: Vec<ReplacedUse> = replaced
        .filter(|one| finder.is_of_step(one.replaced))
        .map(|one| ReplacedUse {
            step: one.replaced,
            thread: one.in_thread,
        })
        .collect();
    let threads = finder.threads(&recorded);
    let workflows = finder.workflows()?;
    let earlier = finder.earlier(&workflows)?;
    let in_use = !threads.is_empty()
        || !workflows.is_empty()
        || !earlier.is_empty()
        || recorded
            .replaced
            .iter()
            .any(|one| finder.needs(one.replaced));
    // Records name the heads of threads, too, which would say nothing new.
    let runs = if in_use {
        Vec::new()
    } else {
        let named = references::named_by_runs(&site.root)?.into_iter();
        named.filter(|one| finder.needs(*one)).collect()
    };
    let uses = NodeUses {
        reachable: in_use || !runs.is_empty(),
        threads,
        workflows,
        earlier,
        replaced,
        runs,
        referrers: finder.direct(),
        other_roots: other_roots(site)?,
        unreadable: finder.unreadable(),
        ..finder.node()?
    };
    if uses.state == NodeState::Missing && uses.referrers.is_empty() && !uses.reachable {
        return Err(StoreError::NotFound { hash }.into());
    }
    Ok(uses)
}

fn other_roots(site: &Site) -> Result<Vec<PathBuf>, EngineError> {
    let store = site.store.dir();
    let listed = shared_roots::registered(store)?.into_iter();
    let all = listed.chain(shared_roots::containing(store));
    let others = all.filter(|root| *root != site.root);
    let others: BTreeSet<PathBuf> = others.map(|root| root.path().to_owned()).collect();
    Ok(others.into_iter().collect())
}

/// Looks for what needs one node.
struct Finder<'a> {
    site: &'a Site,
    hash: CasRef,
    referrers: Referrers,
}

impl Finder<'_> {
    /// Tells whether a node is the node that is looked for, or leads to it.
    fn needs(&self, from: CasRef) -> bool {
        from == self.hash || !self.referrers.leading_from(from).is_empty()
    }

    /// Returns the node alone, without what needs it.
    fn node(&self) -> Result<NodeUses, EngineError> {
        let (state, problem, node) = match self.site.store.find(self.hash) {
            Ok(Some(node)) => (NodeState::Sound, None, Some(node)),
            Ok(None) => (
                NodeState::Missing,
                Some("it is not in the store".to_owned()),
                None,
            ),
            Err(StoreError::Damaged { reason, .. }) => {
                (NodeState::Corrupt, Some(reason.to_string()), None)
            }
            Err(error) => return Err(error.into()),
        };
        Ok(NodeUses {
            hash: self.hash,
            state,
            problem,
            r#type: node.as_ref().map(|node| node.type_hash),
            what: node.map(|node| node_kind::what(self.hash, &node)),
            reachable: false,
            threads: Vec::new(),
            workflows: Vec::new(),
            earlier: Vec::new(),
            replaced: Vec::new(),
            runs: Vec::new(),
            referrers: Vec::new(),
            unreadable: Vec::new(),
            other_roots: Vec::new(),
        })
    }

    fn unreadable(&self) -> Vec<CasRef> {
        let all = self.referrers.unreadable.iter().copied();
        all.filter(|hash| *hash != self.hash).collect()
    }

    fn direct(&self) -> Vec<NodeUse> {
        let direct = self.referrers.direct(self.hash).into_iter();
        let with_kind = direct.map(|hash| NodeUse {
            hash,
            what: match self.site.store.get(hash) {
                Ok(node) => node_kind::what(hash, &node),
                Err(_) => "damaged".to_owned(),
            },
        });
        with_kind.collect()
    }

    fn workflows(&self) -> Result<Vec<WorkflowUse>, EngineError> {
        let registered = State::new(&self.site.root).workflows()?.into_iter();
        let needing = registered.filter(|(_, hash)| self.needs(*hash));
        Ok(needing
            .map(|(name, hash)| WorkflowUse { name, hash })
            .collect())
    }

    /// Returns the earlier workflows of names that need the node, but for those that have the name now.
    fn earlier(&self, now: &[WorkflowUse]) -> Result<Vec<WorkflowUse>, EngineError> {
        let history = State::new(&self.site.root).registry_history()?;
        let mut found = Vec::new();
        for change in history.changes {
            let Some(hash) = change.hash.filter(|hash| self.needs(*hash)) else {
                continue;
            };
            let earlier = WorkflowUse {
                name: change.name,
                hash,
            };
            if !now.contains(&earlier) && !found.contains(&earlier) {
                found.push(earlier);
            }
        }
        Ok(found)
    }

    fn threads(&self, recorded: &Threads) -> Vec<ThreadUse> {
        // Names help people only: without them, the threads are shown by their ids.
        let namings = State::new(&self.site.root).namings().unwrap_or_default();
        let places = recorded.places.iter();
        let uses = places.filter_map(|(thread, place)| self.thread(*thread, place, &namings));
        uses.collect()
    }

    fn thread(&self, thread: ThreadId, place: &Located, namings: &Namings) -> Option<ThreadUse> {
        let (head, ended) = (place.head(), place.end());
        let is_of_history = ended.is_some_and(|record| self.needs(record.workflow));
        if !self.needs(head) && !is_of_history {
            return None;
        }
        let start = Head::read(&self.site.store, head).map(|head| head.start());
        Some(ThreadUse {
            thread,
            name: namings.of(thread).name,
            ended: ended.map(|record| ended_status(record.reason)),
            start: is_of_history || start.is_ok_and(|start| self.needs(start)),
            steps: self.steps(thread, head),
        })
    }

    /// Returns the steps of a thread that need the node. The numbers of steps after one that cannot be read come from the
    /// recorded summary of the chain.
    fn steps(&self, thread: ThreadId, head: CasRef) -> Vec<StepUse> {
        let mut newest_first: Vec<(CasRef, Option<RoleName>)> = Vec::new();
        let mut next = Some(head);
        for step in steps(&self.site.store, head).map_while(Result::ok) {
            next = step.node.prev;
            newest_first.push((step.hash, Some(step.node.role)));
        }
        // Where reading ended early is the start, or what cannot be read.
        let unreadable = next.filter(|hash| Head::read(&self.site.store, *hash).is_err());
        newest_first.extend(unreadable.map(|hash| (hash, None)));
        let newest = match unreadable {
            None => Some(newest_first.len() as u64),
            Some(_) => self.number_of_newest(thread, &newest_first),
        };
        let uses = newest_first.iter().enumerate();
        let uses = uses.filter(|(_, (step, _))| self.is_of_step(*step));
        let mut uses: Vec<StepUse> = uses
            .map(|(back, (step, role))| StepUse {
                number: newest.map(|newest| newest.saturating_sub(back as u64)),
                step: *step,
                role: role.clone(),
            })
            .collect();
        uses.reverse();
        uses
    }

    fn number_of_newest(
        &self,
        thread: ThreadId,
        newest_first: &[(CasRef, Option<RoleName>)],
    ) -> Option<u64> {
        let summary = self.site.root.run(thread).ledger.chain_summary()?;
        let mut steps = newest_first.iter();
        let back = steps.position(|(step, _)| *step == summary.head)?;
        Some(summary.steps + back as u64)
    }

    /// Tells whether a step is the node, or needs it for itself: not only because the step before it does, or the start.
    fn is_of_step(&self, step: CasRef) -> bool {
        if step == self.hash {
            return true;
        }
        let leading = self.referrers.leading_from(step);
        match Head::read(&self.site.store, step) {
            Ok(Head::Step(step)) => leading.iter().any(|reference| {
                Some(*reference) != step.node.prev && *reference != step.node.start
            }),
            Ok(Head::Start(_)) | Err(_) => false,
        }
    }
}
