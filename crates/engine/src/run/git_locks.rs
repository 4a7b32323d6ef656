//! The locks that a killed `git` left in the worktree of a thread.

use std::time::{Duration, UNIX_EPOCH};

use uwf_protocol::run::Attempt;
use uwf_storage::RunDir;
use uwf_util::causes::with_causes;

use crate::run::agent_run::AgentRun;
use crate::workspace::worktree_of;
use crate::{Runner, tags};

/// Removes the locks of `git` that a failed attempt at this step left in the worktree, and says so: with them, no agent could
/// commit there. The caller owns the thread, and no process of that attempt lives. Locks from before the attempt are left alone: a
/// person may have taken them. A lock of the whole repository is only named.
pub(crate) fn remove_left(runner: &Runner, run: &RunDir, agent_run: &AgentRun<'_>) {
    let Some(worktree) = agent_run.worktree else {
        return;
    };
    let thread = agent_run.thread;
    let here = |it: &&Attempt| (it.head, it.replaces) == (thread.head, thread.replaces);
    let attempts = run.ledger.attempts();
    let started = attempts.iter().filter(here).map(|it| it.started_at_ms);
    let Some(first) = started.min().and_then(|first| u64::try_from(first).ok()) else {
        return;
    };
    let since = UNIX_EPOCH + Duration::from_millis(first);
    let worktree = worktree_of(worktree);
    if let Some(lock) = worktree.lock_of_references(since) {
        (runner.notice)(&format!(
            "until `{}` is removed, nobody can commit in that repository. If no git works there, one that was ended has left it",
            lock.display()
        ));
    }
    let locks = match worktree.remove_locks(since) {
        Ok(locks) => locks,
        // Git says so to the agent, if it is in its way.
        Err(error) => {
            let error = with_causes(&error);
            return (runner.notice)(&format!("a lock of git could not be removed: {error}"));
        }
    };
    for lock in locks {
        let lock = lock.display();
        let message = format!("lock={lock}");
        runner.site.log(thread, tags::GIT_UNLOCKED, &message);
        (runner.notice)(&format!(
            "a git that was ended left the lock `{lock}`; it is removed"
        ));
    }
}
