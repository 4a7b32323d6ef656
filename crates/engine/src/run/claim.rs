//! Claiming the working tree in which an agent works, so that no two threads work there unnoticed.
//!
//! A thread with `workspace: shared` waits until no other thread works in the tree. Other threads do not wait; they are told that
//! they are not alone. A claim comes before a slot, for every thread: a thread that waits for a tree keeps no slot.

use uwf_protocol::ids::CasRef;
use uwf_protocol::workspace::WorkspaceMode;
use uwf_snapshot::tree_around;
use uwf_storage::{Claim, Claimant, Claimed, RunDir, Tree};

use crate::run::agent_run::AgentRun;
use crate::run::cycle::StepOptions;
use crate::run::slots::NoSlot;
use crate::run::waiting::Wait;
use crate::workspace::family_of;
use crate::workspace_error::{WorkspaceError, who_works, working};
use crate::{EngineError, Runner};

/// Whether an agent may work where another thread does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Sharing {
    /// As the workflow or the config says.
    #[default]
    AsConfigured,
    /// It may, and nothing is said about it.
    Allowed,
}

/// Whether other threads may work in the tree at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Company {
    /// None may.
    Refused,
    /// They may, and the caller is told of them.
    Allowed,
}

impl Company {
    /// Returns what the mode of a thread and the options of a call say. Files are put back only without others: `restored` is the
    /// step whose files are.
    pub(crate) fn of(
        mode: Option<WorkspaceMode>,
        options: &StepOptions,
        restored: Option<CasRef>,
    ) -> Self {
        match (restored, mode, options.sharing) {
            (Some(_), ..) | (None, Some(WorkspaceMode::Shared), Sharing::AsConfigured) => {
                Self::Refused
            }
            _ => Self::Allowed,
        }
    }
}

/// Claims the working tree of an agent; waits for it if the agent may not work where another thread does.
pub(crate) fn take(
    runner: &Runner,
    run: &RunDir,
    agent_run: &AgentRun<'_>,
    company: Company,
    options: &StepOptions,
) -> Result<Claim, EngineError> {
    let (choice, sharing) = (options.no_slot, options.sharing);
    let root = &runner.site.root;
    let folder = tree_around(agent_run.cwd);
    let tree = Tree::at(root, folder)?;
    let who = Claimant {
        thread: agent_run.thread.id,
        family: family_of(&runner.site, agent_run.thread)?,
    };
    if company == Company::Allowed {
        let (claim, others) = tree.claim(who)?;
        if sharing == Sharing::AsConfigured && !others.is_empty() {
            let (working, tree) = (working(&others), folder.display());
            (runner.notice)(&format!(
                "{working} in `{tree}`, too. `workspace: worktree` gives each thread a folder of its own; with `workspace: shared` they work one after the other"
            ));
        }
        return Ok(claim);
    }
    let mut wait = Wait::new(runner, run, agent_run.who(), "the working tree");
    let claim = loop {
        match tree.claim_alone(who) {
            Err(error) => break Err(error.into()),
            Ok(Claimed::Alone(claim)) => break Ok(claim),
            Ok(Claimed::Taken(by)) if choice == NoSlot::GiveUp => {
                let (thread, tree) = (who.thread, folder.to_owned());
                break Err(WorkspaceError::Taken { thread, tree, by }.into());
            }
            Ok(Claimed::Taken(by)) => {
                let reason = format!("in `{}`, {}", folder.display(), who_works(&by));
                if let Err(error) = wait.pause(&reason) {
                    break Err(error);
                }
            }
        }
    };
    wait.end(claim)
}
