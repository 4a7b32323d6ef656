//! Finding the processes of an attempt whose engine died or does not react.
//!
//! A process belongs to the attempt if it is the agent, if it inherited the attempt's mark in its environment, if it can
//! write to the output files of the run, or if it inherited the thread's lock. The descendants of such processes belong to
//! the attempt, too.

use std::path::PathBuf;

use uwf_process::{Process, Target, below, is_alive, processes};
use uwf_protocol::agent::env;
use uwf_protocol::run::{LeaseRecord, ProcessIdentity};
use uwf_storage::{LocalLease, RunDir, Scratch};
use uwf_util::mask::Masks;

use crate::Site;

/// The processes of one attempt.
pub(crate) struct Members<'a> {
    mark: &'a str,
    agent: Option<&'a ProcessIdentity>,
    /// The output files of the agent and its program.
    outputs: Vec<PathBuf>,
    /// The file of the thread's lock; empty if inheriting it proves nothing.
    lock: Vec<PathBuf>,
}

impl<'a> Members<'a> {
    /// Returns the processes of the attempt that a lease record names; `None` if it names no attempt.
    pub(crate) fn of(record: &'a LeaseRecord, scratch: &Scratch) -> Option<Self> {
        let outputs = [
            scratch.answer_file(),
            scratch.events_file(),
            scratch.stdout_file(),
            scratch.stderr_file(),
        ];
        Some(Self {
            // The kernel reports open files by canonical paths.
            outputs: outputs
                .iter()
                .filter_map(|file| file.canonicalize().ok())
                .collect(),
            lock: Vec::new(),
            mark: record.attempt.as_deref()?,
            agent: record.agent.as_ref(),
        })
    }

    /// Adds the processes that inherited the lock. The caller knows that no engine works on the thread: the engine has the
    /// lock, too.
    pub(crate) fn with_lock(self, lease: &LocalLease) -> Self {
        Self {
            lock: lease.lock_file().canonicalize().into_iter().collect(),
            ..self
        }
    }

    fn is_root(&self, process: &Process) -> bool {
        self.agent.is_some_and(|agent| process.has(agent))
            || process.variable(env::ATTEMPT).as_deref() == Some(self.mark)
            || process.writes_to(&self.outputs)
            || (!self.lock.is_empty() && process.has_inherited(&self.lock))
    }
}

impl Target for Members<'_> {
    fn is_empty(&mut self) -> bool {
        self.members().is_empty()
    }

    fn members(&self) -> Vec<Process> {
        let own = std::process::id();
        let mut others = processes();
        others.retain(|process| process.pid != own);
        let (mut members, others): (Vec<_>, Vec<_>) = others
            .into_iter()
            .partition(|process| self.is_root(process));
        let roots: Vec<u32> = members.iter().map(|process| process.pid).collect();
        members.extend(below(others, &roots, |_| false));
        members
    }
}

/// Tells whether the adapter of the attempt and its program have ended, and no process can write to the program's output.
/// Then the output is as complete as it will ever be, and the next attempt reads it: invariant 4 of the lock of a thread in
/// docs/architecture.md.
pub(crate) fn program_has_ended(record: &LeaseRecord, scratch: &Scratch) -> bool {
    let Some(launched) = scratch.launched() else {
        return false;
    };
    let is_gone = |process: &Option<ProcessIdentity>| {
        process.as_ref().is_some_and(|process| !is_alive(process))
    };
    let is_of_attempt = launched.mark.is_some() && launched.mark == record.attempt;
    if !is_of_attempt || !is_gone(&launched.adapter) || !is_gone(&launched.program) {
        return false;
    }
    let outputs = [scratch.answer_file(), scratch.events_file()];
    let outputs: Vec<PathBuf> = outputs
        .iter()
        .filter_map(|file| file.canonicalize().ok())
        .collect();
    !processes()
        .iter()
        .any(|process| process.writes_to(&outputs))
}

/// Returns the processes of an attempt whose engine has died, for people.
#[must_use]
pub fn orphans(site: &Site, run: &RunDir) -> Vec<String> {
    orphans_of(site, run, run.lease.read_record().as_ref())
}

/// Does as [`orphans`], with the lease record that was read.
pub(crate) fn orphans_of(site: &Site, run: &RunDir, record: Option<&LeaseRecord>) -> Vec<String> {
    describe(&abandoned(run, record), || site.secrets_in_output())
}

/// Returns the processes of an attempt whose engine has died.
pub(crate) fn abandoned(run: &RunDir, record: Option<&LeaseRecord>) -> Vec<Process> {
    let abandoned = record.filter(|record| !is_alive(&record.engine));
    let members = abandoned.and_then(|record| Members::of(record, &run.scratch));
    members.map_or_else(Vec::new, |members| members.members())
}

/// Returns one line for each process, for people. `masks` returns those for the secrets that we know; it is only called if there
/// is a process.
pub(crate) fn describe(processes: &[Process], masks: impl FnOnce() -> Masks) -> Vec<String> {
    if processes.is_empty() {
        return Vec::new();
    }
    let masks = masks();
    let lines = processes.iter().map(|process| process.describe(&masks));
    lines.collect()
}
