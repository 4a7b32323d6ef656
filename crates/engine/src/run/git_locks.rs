//! The locks that a killed `git` left in the worktree of a thread.

use std::time::UNIX_EPOCH;

use uwf_protocol::run::Attempt;
use uwf_snapshot::Lock;
use uwf_storage::RunDir;
use uwf_util::causes::with_causes;

use crate::run::agent_run::AgentRun;
use crate::workspace::worktree_of;
use crate::{Runner, tags};

/// How long after the last output of an agent its `git` may have taken a lock, in milliseconds, if nobody saw the end.
const UNSEEN: i64 = 60_000;
/// The same, if the engine saw the end.
const SEEN: i64 = 1_000;

/// Removes the locks that failed attempts at this step left in the worktree, and says so: with them, no agent could commit there. The
/// caller owns the thread, and no process of those attempts lives. Other locks are left alone, because a person may have taken them.
/// A lock of the whole repository is only named.
pub(crate) fn remove_left(runner: &Runner, run: &RunDir, agent_run: &AgentRun<'_>) {
    let Some(worktree) = agent_run.worktree else {
        return;
    };
    let thread = agent_run.thread;
    let mut attempts = run.ledger.attempts();
    attempts.retain(|it| (it.head, it.replaces) == (thread.head, thread.replaces));
    if attempts.is_empty() {
        return;
    }
    let worktree = worktree_of(worktree);
    if let Some(lock) = worktree
        .packed_refs_lock()
        .filter(|it| is_left(it, &attempts))
    {
        (runner.notice)(&format!(
            "until `{}` is removed, nobody can commit in that repository. If no git works there, one that was ended has left it",
            lock.file.display()
        ));
    }
    // If the folder cannot be read, git says so to the agent.
    let locks = worktree.locks().unwrap_or_default();
    for lock in locks.iter().filter(|it| is_left(it, &attempts)) {
        let file = lock.file.display();
        let note = match lock.remove() {
            Ok(()) => {
                let message = format!("lock={file}");
                runner.site.log(thread, tags::GIT_UNLOCKED, &message);
                format!("a git that was ended left the lock `{file}`; it is removed")
            }
            Err(error) => {
                let error = with_causes(&error);
                format!("a git that was ended left the lock `{file}`: {error}")
            }
        };
        (runner.notice)(&note);
    }
}

/// Tells whether a lock was taken during one of these attempts.
fn is_left(lock: &Lock, attempts: &[Attempt]) -> bool {
    let taken = lock.taken.duration_since(UNIX_EPOCH).ok();
    let Some(taken) = taken.and_then(|taken| i64::try_from(taken.as_millis()).ok()) else {
        return false;
    };
    attempts.iter().any(|attempt| {
        let after = match attempt.end_unseen {
            true => UNSEEN,
            false => SEEN,
        };
        let end = attempt.ended_at_ms.saturating_add(after);
        (attempt.started_at_ms..=end).contains(&taken)
    })
}
