//! The processes of an attempt whose engine does not look after them: it died, or it does not answer.
//!
//! They are found by the mark that the engine gave to the agent's environment, which everything inherits that the agent
//! starts, by the files of the run that they write to, and as descendants of those.

use std::path::PathBuf;

use uwf_process::{Process, Target, processes};
use uwf_protocol::agent::env;
use uwf_protocol::run::{Holder, ProcessIdentity};
use uwf_storage::RunDir;

/// The processes of one attempt.
pub(crate) struct Members<'a> {
    mark: &'a str,
    agent: Option<&'a ProcessIdentity>,
    /// The files that get what the agent and its program print.
    outputs: Vec<PathBuf>,
}

impl<'a> Members<'a> {
    /// Returns the processes of the attempt that a record names; `None` if it names no attempt.
    pub(crate) fn of(holder: &'a Holder, run: &RunDir) -> Option<Self> {
        let [answer, events] = run.program_files();
        let outputs = [answer, events, run.stdout_file(), run.stderr_file()];
        Some(Self {
            // The kernel names open files without links.
            outputs: outputs
                .iter()
                .filter_map(|file| file.canonicalize().ok())
                .collect(),
            mark: holder.attempt.as_deref()?,
            agent: holder.agent.as_ref(),
        })
    }

    fn is_root(&self, process: &Process) -> bool {
        let is_agent = |agent: &ProcessIdentity| {
            (agent.pid, agent.started) == (process.pid, process.started)
                && uwf_process::is_alive(agent)
        };
        self.agent.is_some_and(is_agent)
            || process.variable(env::ATTEMPT).as_deref() == Some(self.mark)
            || process.has_open(&self.outputs)
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
        let mut members: Vec<Process> = Vec::new();
        let (mut found, mut others): (Vec<_>, Vec<_>) = others
            .into_iter()
            .partition(|process| self.is_root(process));
        while let Some(member) = found.pop() {
            let (children, rest): (Vec<_>, Vec<_>) = others
                .into_iter()
                .partition(|process| process.parent == member.pid);
            others = rest;
            found.extend(children);
            members.push(member);
        }
        members
    }
}
