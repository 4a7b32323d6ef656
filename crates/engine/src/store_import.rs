//! Takes threads and names of workflows out of a store of the reference program. Each thread is taken by itself: its nodes
//! come first, then it is checked as a whole, and its head comes last. So one that is not sound keeps no other one out, and
//! a call that was killed can be repeated.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use uwf_cas_fs::{Store, StoreError, Unreadable};
use uwf_foreign::{ForeignError, ForeignSource, ForeignThread};
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_protocol::naming::Naming;
use uwf_protocol::run::ThreadRecord;
use uwf_protocol::workflow;
use uwf_storage::{Reason, ReplacedStep, State};
use uwf_thread::{Head, read_program, read_start};
use uwf_util::causes::with_causes;

use crate::bundle::{
    Divergence, Intake, LARGEST, Outcome, Status, Travelling, apply_imported, contradiction,
    judged, listed, plan,
};
use crate::{EngineError, Site, register, tags};

/// What was taken out of a store.
#[derive(Debug, Clone)]
pub struct StoreImport {
    /// The files that named the threads and the workflows.
    pub read: Vec<PathBuf>,
    /// The folder of the nodes.
    pub nodes: PathBuf,
    /// The threads, sorted by id.
    pub threads: Vec<TakenThread>,
    /// The names of workflows, sorted.
    pub workflows: Vec<WorkflowName>,
}

/// A thread of the source.
#[derive(Debug, Clone)]
pub struct TakenThread {
    /// Its id.
    pub thread: ThreadId,
    /// Its head in the source.
    pub head: CasRef,
    /// What happened to it, or why it was refused.
    pub result: Result<Outcome, Refusal>,
}

/// A name of the source.
#[derive(Debug, Clone)]
pub struct WorkflowName {
    /// The name.
    pub name: String,
    /// The workflow that it stands for in the source.
    pub hash: CasRef,
    /// What happened to it, or why it was refused.
    pub result: Result<NameOutcome, Refusal>,
}

/// What happened to the name of a workflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameOutcome {
    /// It is new here.
    Added,
    /// It stands for the same workflow here.
    Unchanged,
    /// It stands for this workflow here, and keeps it.
    Kept(CasRef),
}

/// Why a thread or a name was not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Nodes that it needs cannot be read in the source.
    #[error("in the source, {}", listed(.0))]
    Incomplete(Vec<Unreadable>),
    /// A file of the source, which its nodes mention, cannot be read.
    #[error("in the source, {0}")]
    Unreadable(String),
    /// Its nodes are not what they should be.
    #[error("{0}")]
    Unsound(String),
    /// It went on in both places.
    #[error("it {} `{}`, and went on in the source to `{}`", went(.0), .0.here, .0.there)]
    Diverged(Divergence),
}

fn went(divergence: &Divergence) -> &'static str {
    match divergence.is_cancelled {
        true => "was cancelled here at",
        false => "went on here to",
    }
}

/// Takes all threads and all names of workflows that a folder of the reference program has. The folder is not changed.
/// `nodes` is the folder of its nodes, if they are neither in the folder itself nor in `cas` in it.
///
/// # Errors
/// When the source has no state or no nodes, or a file of its state cannot be understood. Then nothing is changed. A thread
/// that cannot be taken is in the result.
pub fn import_store(
    site: &Site,
    dir: &Path,
    nodes: Option<&Path>,
) -> Result<StoreImport, EngineError> {
    let absolute = |path: &Path| site.env.cwd().join(path).components().collect::<PathBuf>();
    let nodes = nodes.map(absolute);
    let ForeignSource { read, nodes, state } = uwf_foreign::read(&absolute(dir), nodes.as_deref())?;
    let largest = usize::try_from(LARGEST).unwrap_or(usize::MAX);
    let source = Store::open_limited(&nodes, largest);
    let is_empty = state.threads.is_empty() && state.workflows.is_empty();
    if !is_empty && source.all()?.is_empty() {
        return Err(ForeignError::NoNodes(nodes).into());
    }
    site.create()?;
    // Old nodes are referred to from here on: the collector must wait.
    let _hold = site.store.hold()?;
    let mut import = Import {
        site,
        source,
        known: HashSet::new(),
    };
    Ok(StoreImport {
        read,
        nodes,
        threads: import.take_threads(state.threads)?,
        workflows: import.take_names(state.workflows)?,
    })
}

/// A call of [`import_store`].
struct Import<'a> {
    site: &'a Site,
    source: Store,
    /// The nodes that this call has stored already.
    known: HashSet<CasRef>,
}

impl Import<'_> {
    fn take_threads(
        &mut self,
        threads: BTreeMap<ThreadId, ForeignThread>,
    ) -> Result<Vec<TakenThread>, EngineError> {
        let replaced = State::new(&self.site.root).replaced()?;
        let take = |(thread, one): (ThreadId, ForeignThread)| {
            Ok(TakenThread {
                thread,
                head: one.head,
                result: self.take_thread(thread, one, &replaced)?,
            })
        };
        threads.into_iter().map(take).collect()
    }

    /// Takes a thread. `replaced` are all steps that were done again here.
    fn take_thread(
        &mut self,
        thread: ThreadId,
        one: ForeignThread,
        replaced: &[ReplacedStep],
    ) -> Result<Result<Outcome, Refusal>, EngineError> {
        let recorded = one.end.and_then(|end| end.workflow);
        let roots: Vec<CasRef> = recorded.into_iter().chain([one.head]).collect();
        if let Err(refusal) = self.bring(&roots)? {
            return Ok(Err(refusal));
        }
        let read = travelling(self.site, thread, one)
            .and_then(|one| Ok((contradiction(self.site, &one)?, one)));
        let one = match judged(read)? {
            Ok((None, one)) => one,
            Ok((Some(problem), _)) | Err(problem) => return Ok(Err(Refusal::Unsound(problem))),
        };
        match plan(self.site, &one, replaced)? {
            Ok(plan) => Ok(Ok(apply_imported(self.site, &one, plan)?.0)),
            Err(divergence) => Ok(Err(Refusal::Diverged(divergence))),
        }
    }

    fn take_names(
        &mut self,
        names: BTreeMap<String, CasRef>,
    ) -> Result<Vec<WorkflowName>, EngineError> {
        let take = |(name, hash): (String, CasRef)| {
            let result = self.take_name(&name, hash)?;
            Ok(WorkflowName { name, hash, result })
        };
        names.into_iter().map(take).collect()
    }

    fn take_name(
        &mut self,
        name: &str,
        hash: CasRef,
    ) -> Result<Result<NameOutcome, Refusal>, EngineError> {
        if let Some(problem) = name_problem(name) {
            return Ok(Err(Refusal::Unsound(problem)));
        }
        let state = State::new(&self.site.root);
        if let Some((_, here)) = state.registered(name)?.first() {
            return Ok(Ok(known_name(*here, hash)));
        }
        if let Err(refusal) = self.bring(&[hash])? {
            return Ok(Err(refusal));
        }
        let program = read_program(&self.site.store, hash);
        if let Err(problem) = judged(program.map_err(EngineError::from))? {
            return Ok(Err(Refusal::Unsound(problem)));
        }
        // Somebody may have registered the name meanwhile.
        if let Some(here) = state.register_if_free(name, hash, self.site.env.now_ms())? {
            return Ok(Ok(known_name(here, hash)));
        }
        let message = format!("workflow={name}");
        let workflow = Some(hash);
        self.site.log_line(tags::IMPORTED, &message, None, workflow);
        Ok(Ok(NameOutcome::Added))
    }

    /// Stores everything that these nodes need, each node after it was compared with its hash. What the source does not
    /// have, or cannot be read there, is a fact about the thread or the name that needs it.
    fn bring(&mut self, roots: &[CasRef]) -> Result<Result<(), Refusal>, EngineError> {
        let mut nodes = match self.needed(roots) {
            Ok(nodes) => nodes,
            Err(refusal) => return Ok(Err(refusal)),
        };
        nodes.retain(|hash| !self.known.contains(hash));
        let mut intake = Intake::new(self.site);
        for &hash in &nodes {
            match self.source.raw(hash) {
                Ok(node) => intake.add(node)?,
                Err(error) => return Ok(Err(unreadable(&error))),
            }
        }
        intake.finish()?;
        self.known.extend(nodes);
        Ok(Ok(()))
    }

    /// Returns everything that these nodes need, or why it cannot be read in the source.
    fn needed(&self, roots: &[CasRef]) -> Result<Vec<CasRef>, Refusal> {
        let missing = self.source.unreadable(roots);
        let missing = missing.map_err(|error| unreadable(&error))?;
        if !missing.is_empty() {
            return Err(Refusal::Incomplete(missing));
        }
        let nodes = self.source.closure(roots);
        nodes.map_err(|error| unreadable(&error))
    }
}

fn unreadable(error: &StoreError) -> Refusal {
    Refusal::Unreadable(with_causes(error))
}

/// Returns what happens to a name that stands for a workflow here.
fn known_name(here: CasRef, there: CasRef) -> NameOutcome {
    match here == there {
        true => NameOutcome::Unchanged,
        false => NameOutcome::Kept(here),
    }
}

/// Returns the thread as it would be in a bundle. Its nodes are in our store.
fn travelling(
    site: &Site,
    thread: ThreadId,
    one: ForeignThread,
) -> Result<Travelling, EngineError> {
    let workflow = match one.end.and_then(|end| end.workflow) {
        Some(workflow) => workflow,
        None => {
            let start = Head::read(&site.store, one.head)?.start();
            read_start(&site.store, start)?.node.workflow
        }
    };
    Ok(Travelling {
        thread,
        workflow,
        head: one.head,
        naming: Naming::default(),
        status: match one.end.map(|end| end.reason) {
            None => Status::Active,
            Some(Reason::Completed) => Status::Completed,
            Some(Reason::Cancelled) => Status::Cancelled,
        },
        completed_at: one.end.map(|end| end.completed_at),
        replaced: Vec::new(),
        record: ThreadRecord::default(),
        is_trusted: false,
    })
}

/// Returns why a text cannot be the name of a workflow: what `workflow put` says of a name without a file.
pub(crate) fn name_problem(name: &str) -> Option<String> {
    let problem = workflow::name_problem(name);
    let problem = problem.map(|problem| format!("the name `{name}` {problem}"));
    problem.or_else(|| register::path_name_problem(name).map(|problem| problem.message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_means_something_else_is_refused() {
        for name in [
            "",
            " x",
            "..",
            "../x",
            "a/b",
            "x.yaml",
            "a\nb",
            "CTS5P6RD8HMCS",
        ] {
            assert!(name_problem(name).is_some(), "{name:?}");
        }
        for name in [
            "solve-issue",
            "review_2",
            "v1.2",
            "Überblick",
            "-x",
            ".hidden",
        ] {
            assert_eq!(name_problem(name), None, "{name:?}");
        }
    }
}
