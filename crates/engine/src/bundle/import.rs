//! Takes threads out of a bundle. The nodes come first, then everything is checked, and the heads come last. So a call that
//! fails or is killed changes no thread that it did not finish, and the same call goes on.

use std::collections::HashSet;
use std::io::Read;

use serde::Serialize;
use uwf_cas_fs::{StoreError, raw_of_file};
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_protocol::limits::Setting;
use uwf_protocol::naming::{Name, Naming};
use uwf_protocol::raw_node::RawNode;
use uwf_protocol::run::ThreadRecord;
use uwf_storage::{Advance, Reactivated, ReplacedStep, RunDir, State, StorageError};
use uwf_thread::{Head, read_program, read_start, steps};
use uwf_util::causes::with_causes;

use super::error::BundleError;
use super::intake::Intake;
use super::lineage::Relation;
use super::manifest::{self, Manifest, Travelling};
use super::members::{Reader, node_of};
use super::plan::{Diverging, ThreadPlan, plan_all};
use super::returning::{self, Returned};
use crate::children::used::forget_above;
use crate::sharing::merged_record;
use crate::sharing::records::add_perhaps_shared;
use crate::thread::record_sums;
use crate::waiting_answer::WaitingAnswer;
use crate::{EngineError, Site, tags};

/// What was imported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Imported {
    /// How many nodes the bundle has.
    pub nodes: u64,
    /// The threads of the bundle.
    pub threads: Vec<ImportedThread>,
}

/// A thread of a bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ImportedThread {
    /// Its id here.
    pub thread: ThreadId,
    /// Its head in the bundle.
    pub head: CasRef,
    /// What happened to it.
    pub outcome: Outcome,
    /// The limits of the bundle that hold for it from now on and did not before.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub raised: Vec<Setting>,
    /// Its id in the bundle, if it got another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<ThreadId>,
    /// The name that it has in the bundle and did not get, because another thread has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub taken_name: Option<TakenName>,
}

/// A name that another thread has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TakenName {
    /// The name.
    pub name: Name,
    /// The thread that has it.
    pub by: ThreadId,
}

/// What happened to a thread of a bundle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Outcome {
    /// It is new here.
    Added,
    /// It was behind, and has the head of the bundle now.
    FastForwarded,
    /// Only its failed attempts, raised limits or replaced steps were added.
    Updated,
    /// Nothing was new.
    Unchanged,
    /// It went on here.
    Ahead,
    /// A step of it is at work here, or another import. A later import goes on.
    Busy,
    /// A finished step of it, or an answer, waits here for the next step. Nobody works on it, so a later import finds the
    /// same.
    AnswerWaits,
}

impl Outcome {
    /// Tells whether the thread would have been changed, and could not be at this time.
    #[must_use]
    pub fn is_held_up(self) -> bool {
        match self {
            Self::Busy | Self::AnswerWaits => true,
            Self::Added | Self::FastForwarded | Self::Updated | Self::Unchanged | Self::Ahead => {
                false
            }
        }
    }

    /// Tells whether something was changed.
    #[must_use]
    pub fn is_change(self) -> bool {
        match self {
            Self::Added | Self::FastForwarded | Self::Updated => true,
            Self::Unchanged | Self::Ahead | Self::Busy | Self::AnswerWaits => false,
        }
    }
}

/// Takes all threads out of a bundle.
///
/// # Errors
/// When the bundle is not sound and complete, or a thread of it went on in both places. Then no thread is changed.
pub fn import_threads(
    site: &Site,
    input: &mut dyn Read,
    diverging: Diverging,
) -> Result<Imported, EngineError> {
    let mut bundle = Reader::new(input);
    let manifest = read_manifest(&mut bundle)?;
    site.create()?;
    take_nodes(site, &mut bundle, manifest.nodes)?;
    // Old nodes are referred to from here on: the collector must wait.
    let _hold = site.store.hold()?;
    check(site, &manifest)?;
    let planned = plan_all(site, manifest.threads, diverging)?;
    let mut threads = Vec::with_capacity(planned.len());
    for (one, forked_from, plan) in planned {
        let known = site.root.run(one.thread).ledger.raises();
        let (outcome, taken_name) = apply_imported(site, &one, plan)?;
        let mut raised = site.root.run(one.thread).ledger.raises();
        raised.retain(|raise| !known.contains(raise));
        threads.push(ImportedThread {
            thread: one.thread,
            head: one.head,
            outcome,
            raised,
            forked_from,
            taken_name,
        });
    }
    Ok(Imported {
        nodes: manifest.nodes,
        threads,
    })
}

fn read_manifest(bundle: &mut Reader<'_>) -> Result<Manifest, BundleError> {
    match bundle.next()? {
        Some((name, content)) if name == manifest::NAME => Manifest::parse(&content),
        Some((name, _)) => Err(BundleError::NotABundle(format!(
            "it begins with `{name}`, not with `{}`",
            manifest::NAME
        ))),
        None => Err(BundleError::NotABundle("it is empty".to_owned())),
    }
}

/// Stores the nodes of a bundle, each after it was compared with its hash. A part of them may be stored when this fails:
/// nothing refers to them.
fn take_nodes(site: &Site, bundle: &mut Reader<'_>, expected: u64) -> Result<(), EngineError> {
    let now_ms = site.env.now_ms();
    let mut seen = HashSet::new();
    let mut intake = Intake::new(site);
    while let Some((name, content)) = bundle.next()? {
        let node = read_node(&name, &content, now_ms)?;
        if !seen.insert(node.hash) {
            return Err(BundleError::Refused(format!("`{name}` is in it twice")).into());
        }
        intake.add(node)?;
    }
    if seen.len() as u64 != expected {
        let found = seen.len();
        let problem = format!("it has {found} nodes, and its manifest says {expected}");
        return Err(BundleError::Refused(problem).into());
    }
    intake.finish()
}

fn read_node(name: &str, content: &[u8], now_ms: i64) -> Result<RawNode, BundleError> {
    let Some(hash) = node_of(name) else {
        return Err(BundleError::Refused(format!("`{name}` is in it twice")));
    };
    match raw_of_file(hash, content) {
        Ok(node) => Ok(RawNode {
            // Only steps and starts tell their time, and none in bundles of earlier versions.
            timestamp_ms: match node.timestamp_ms {
                1.. => node.timestamp_ms.min(now_ms),
                _ => now_ms,
            },
            ..node
        }),
        Err(StoreError::NotTheNode { reason, .. }) => Err(BundleError::Refused(format!(
            "`{name}` does not hold that node: {reason}"
        ))),
        Err(error) => Err(BundleError::Refused(error.to_string())),
    }
}

/// Checks that every thread can be read from the store, and is what the manifest says.
fn check(site: &Site, manifest: &Manifest) -> Result<(), EngineError> {
    let threads = manifest.threads.iter();
    let needed: Vec<CasRef> = threads.flat_map(Travelling::needed).collect();
    let missing = site.store.unreadable(&needed)?;
    if !missing.is_empty() {
        return Err(BundleError::Incomplete(missing).into());
    }
    for one in &manifest.threads {
        let problem = match judged(contradiction(site, one))? {
            Ok(None) => continue,
            Ok(Some(problem)) | Err(problem) => problem,
        };
        let problem = format!("thread `{}` is not sound: {problem}", one.thread);
        return Err(BundleError::Refused(problem).into());
    }
    Ok(())
}

/// Decides about what was read of a thread of another place. Its nodes came from a stranger: that they cannot be read as a
/// thread is a problem of the thread, which is returned. An error of our own disk stays an error.
pub(crate) fn judged<T>(read: Result<T, EngineError>) -> Result<Result<T, String>, EngineError> {
    match read {
        Ok(read) => Ok(Ok(read)),
        Err(
            error @ (EngineError::Store(StoreError::File(_))
            | EngineError::Storage(_)
            | EngineError::Io { .. }),
        ) => Err(error),
        Err(error) => Ok(Err(with_causes(&error))),
    }
}

/// Returns in what the nodes of a thread contradict each other, or what is said about the thread.
pub(crate) fn contradiction(site: &Site, one: &Travelling) -> Result<Option<String>, EngineError> {
    let store = &site.store;
    let start = read_start(store, Head::read(store, one.head)?.start())?;
    if start.node.workflow != one.workflow {
        let workflow = start.node.workflow;
        return Ok(Some(format!("its workflow is `{workflow}`")));
    }
    read_program(store, one.workflow)?;
    for step in steps(store, one.head) {
        let step = step?;
        if step.node.start != start.hash {
            let hash = step.hash;
            return Ok(Some(format!("step `{hash}` belongs to another thread")));
        }
    }
    Ok(None)
}

/// Does what was planned about a thread of an import. Other machines may share it.
pub(crate) fn apply_imported(
    site: &Site,
    one: &Travelling,
    plan: ThreadPlan,
) -> Result<(Outcome, Option<TakenName>), EngineError> {
    match plan {
        ThreadPlan::Add => add_perhaps_shared(site, || apply(site, one, plan)),
        ThreadPlan::Forward { .. } | ThreadPlan::Keep(_) => apply(site, one, plan),
    }
}

/// Does what was planned about a thread, and logs it. Only a thread that is new here takes its name and its labels along.
/// The name is returned if another thread has it.
pub(crate) fn apply(
    site: &Site,
    one: &Travelling,
    plan: ThreadPlan,
) -> Result<(Outcome, Option<TakenName>), EngineError> {
    let (outcome, taken_name) = carry_out(site, one, plan)?;
    if matches!(outcome, Outcome::Added | Outcome::FastForwarded) && one.end().is_some() {
        record_sums(site, one.thread, one.head);
    }
    let message = format!("outcome={outcome:?} head={}", one.head);
    let (thread, workflow) = (Some(one.thread), Some(one.workflow));
    site.log_line(tags::IMPORTED, &message, thread, workflow);
    Ok((outcome, taken_name))
}

fn carry_out(
    site: &Site,
    one: &Travelling,
    plan: ThreadPlan,
) -> Result<(Outcome, Option<TakenName>), EngineError> {
    let run = site.root.run(one.thread);
    if plan == ThreadPlan::Add {
        let record = joined(&run, one)?.unwrap_or_else(|| run.ledger.export());
        returning::record_missing(site, one, &record)?;
        return change(site, &run, one, plan);
    }
    let returned = Returned::find(site, one, &run)?;
    let done = change(site, &run, one, plan)?;
    if let Some(returned) = returned {
        returned.record_brought(site, &run)?;
    }
    Ok(done)
}

/// Changes the thread as it was planned.
fn change(
    site: &Site,
    run: &RunDir,
    one: &Travelling,
    plan: ThreadPlan,
) -> Result<(Outcome, Option<TakenName>), EngineError> {
    let state = State::new(&site.root);
    match plan {
        ThreadPlan::Add => {
            add_replaced(&state, one)?;
            let taken_name = match insert(&state, one) {
                // Another call has added it since it was looked for here, and may still be adding its records.
                Err(StorageError::ThreadExists(_)) => return Ok((Outcome::Busy, None)),
                inserted => inserted?,
            };
            // The entry comes before the folder, which proves that the thread exists. If we are killed in between, the
            // next call finds the thread without its records, and adds them.
            let outcome = match add_record(run, one)? {
                Some(_) => Outcome::Added,
                None => Outcome::Busy,
            };
            Ok((outcome, taken_name))
        }
        ThreadPlan::Keep(relation) => {
            let are_added = add_replaced(&state, one)?;
            let outcome = match (add_to_kept(site, run, one)?, relation) {
                (None, _) => Outcome::Busy,
                (Some(is_added), _) if is_added || are_added => Outcome::Updated,
                (Some(_), Relation::Ahead) => Outcome::Ahead,
                (Some(_), Relation::Same | Relation::Behind | Relation::Diverged) => {
                    Outcome::Unchanged
                }
            };
            Ok((outcome, None))
        }
        ThreadPlan::Forward { from, is_ended } => {
            let outcome = forward(&state, run, one, from, is_ended)?;
            Ok((outcome, None))
        }
    }
}

/// Adds a thread with its labels, and with its name if no other thread has it. Returns a name that is taken.
fn insert(state: &State<'_>, one: &Travelling) -> Result<Option<TakenName>, StorageError> {
    let insert = |naming: &Naming| match one.end() {
        Some(record) => state.insert_ended(&record, naming),
        None => state.insert_named(one.thread, one.head, naming),
    };
    match insert(&one.naming) {
        Err(StorageError::NameTaken { name, by }) => {
            insert(&Naming {
                name: None,
                labels: one.naming.labels.clone(),
            })?;
            Ok(Some(TakenName { name, by }))
        }
        inserted => inserted.map(|()| None),
    }
}

/// Moves a thread to the head of the bundle, while nobody else works on it.
fn forward(
    state: &State<'_>,
    run: &RunDir,
    one: &Travelling,
    from: CasRef,
    is_ended: bool,
) -> Result<Outcome, EngineError> {
    let Some(_lock) = run.lease.acquire_if_free()? else {
        return Ok(Outcome::Busy);
    };
    let pending = run.outbox.read_pending()?;
    let is_pending = pending.is_some_and(|pending| pending.expects() == from);
    if is_pending || WaitingAnswer::at(run, from).is_some() {
        return Ok(Outcome::AnswerWaits);
    }
    // The records come first: if we are killed, the next call still sees that the thread is behind.
    add_replaced(state, one)?;
    merge_record(run, one)?;
    if is_ended && state.reactivate(one.thread, from)? != Reactivated::Done {
        return Ok(Outcome::Busy);
    }
    let is_moved = match one.end() {
        Some(record) => state.advance_and_archive(from, &record)? == Advance::Moved,
        // The plan has compared the chains.
        None => state.advance(one.thread, from, one.head)? == Advance::Moved,
    };
    Ok(match is_moved {
        true => Outcome::FastForwarded,
        false => Outcome::Busy,
    })
}

/// Adds the steps that were done again. Returns whether one was new.
fn add_replaced(state: &State<'_>, one: &Travelling) -> Result<bool, StorageError> {
    let known = match one.replaced.is_empty() {
        true => Vec::new(),
        false => state.replaced()?,
    };
    let is_new = |step: &&ReplacedStep| {
        let key = |step: &ReplacedStep| (step.replaced, step.by);
        !known.iter().any(|known| key(known) == key(step))
    };
    let mut added = false;
    for step in one.replaced.iter().filter(is_new) {
        state.record_replaced(step)?;
        added = true;
    }
    Ok(added)
}

/// Adds failed attempts and raised limits to a thread that was here before. The threads that it works for forget what it used up, if it
/// has ended. Returns whether something was new; `None` if somebody works on one of these threads.
///
/// The lock of the parent is taken first, then those above it, and last that of the thread. No lock is waited for.
fn add_to_kept(site: &Site, run: &RunDir, one: &Travelling) -> Result<Option<bool>, EngineError> {
    if joined(run, one)?.is_none() {
        return Ok(Some(false));
    }
    let place = State::new(&site.root).find(one.thread)?;
    if place.is_none_or(|place| place.end().is_none()) {
        return Ok(add_record(run, one)?);
    }
    let Some(locks) = forget_above(site, one.thread, one.head)? else {
        return Ok(None);
    };
    let added = add_record(run, one)?;
    drop(locks);
    Ok(added)
}

/// Adds failed attempts and raised limits. Returns whether something was new; `None` if somebody works on the thread.
fn add_record(run: &RunDir, one: &Travelling) -> Result<Option<bool>, StorageError> {
    if joined(run, one)?.is_none() {
        return Ok(Some(false));
    }
    let Some(_lock) = run.lease.acquire_if_free()? else {
        return Ok(None);
    };
    merge_record(run, one)?;
    Ok(Some(true))
}

/// Adds failed attempts and raised limits. The caller has the lock of the thread.
fn merge_record(run: &RunDir, one: &Travelling) -> Result<(), StorageError> {
    match joined(run, one)? {
        Some(record) => run.ledger.import(&record),
        None => Ok(()),
    }
}

/// Returns the record of the thread here with what the bundle adds; `None` if it adds nothing.
fn joined(run: &RunDir, one: &Travelling) -> Result<Option<ThreadRecord>, StorageError> {
    if one.is_trusted {
        return merged_record(run, &one.record);
    }
    let known = run.ledger.export();
    let mut joined = known.clone();
    joined.absorb(&one.record);
    Ok((joined != known).then_some(joined))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nodes_are_not_is_a_problem_of_the_thread_and_a_failing_disk_is_not() {
        let hash = CasRef::from_u64(1);
        let wrong = EngineError::WrongType {
            hash,
            expected: "step",
            found: hash,
        };
        for problem in [wrong, StoreError::NotFound { hash }.into()] {
            assert!(matches!(judged::<()>(Err(problem)), Ok(Err(_))));
        }
        let disk = EngineError::Storage(StorageError::NoHome);
        assert!(judged::<()>(Err(disk)).is_err());
        assert!(matches!(judged(Ok(1)), Ok(Ok(1))));
    }
}
