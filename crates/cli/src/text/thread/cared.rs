//! Threads that were paused or removed.

use std::iter;

use serde::Serialize;
use uwf_engine::{
    PausedThread, Prune, Pruned, PrunedThread, UnkeptThread, UnpausedThread, describe_pause,
};
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_storage::{Paused, RemovedThread};
use uwf_util::text::counted;

use crate::hints;
use crate::local_time;
use crate::output::Show;
use crate::text::cas::CollectedView;
use crate::text::columns::{Column, Room, STATUS, columns};
use crate::text::table::Page;

/// A thread that is paused.
#[derive(Serialize)]
pub(crate) struct PausedView {
    thread: ThreadId,
    paused: Paused,
    changed: bool,
    running: bool,
    /// Whether other machines share it.
    #[serde(skip)]
    is_shared: bool,
}

impl PausedView {
    pub(crate) fn new(paused: PausedThread, is_shared: bool) -> Self {
        Self {
            is_shared,
            thread: paused.thread,
            paused: paused.paused,
            changed: paused.changed,
            running: paused.running,
        }
    }
}

impl Show for PausedView {
    fn text(&self, _page: Page) -> String {
        let already = if self.changed { "" } else { " already" };
        let running = if self.running {
            "; the running step goes on to its end"
        } else {
            ""
        };
        let here = if self.is_shared {
            ", on this machine only: others may go on with it"
        } else {
            ""
        };
        let unpause = format!("uwf thread unpause {}", self.thread);
        format!(
            "{} is paused{already}{here}{running}\n`{}` lets it go on",
            self.thread,
            hints::here(&unpause)
        )
    }
}

/// Returns the row with who paused a thread, when and why.
pub(super) fn paused_row(paused: &Paused) -> (&'static str, String) {
    ("paused", paused_text(paused))
}

/// Returns who paused a thread, when and why.
pub(super) fn paused_text(paused: &Paused) -> String {
    describe_pause(paused, &local_time::moment(paused.at))
}

/// A thread that is not paused.
#[derive(Serialize)]
pub(crate) struct UnpausedView {
    thread: ThreadId,
    paused: Option<Paused>,
    changed: bool,
}

impl From<UnpausedThread> for UnpausedView {
    fn from(unpaused: UnpausedThread) -> Self {
        Self {
            thread: unpaused.thread,
            paused: None,
            changed: unpaused.changed,
        }
    }
}

impl Show for UnpausedView {
    fn text(&self, _page: Page) -> String {
        match self.changed {
            true => format!("{} is no longer paused", self.thread),
            false => format!("{} was not paused", self.thread),
        }
    }
}

/// A thread that was removed.
#[derive(Serialize)]
pub(crate) struct RemovedView {
    thread: ThreadId,
    removed: bool,
    /// Its head; `None` if only the record was removed that it is shared.
    #[serde(skip_serializing_if = "Option::is_none")]
    head: Option<CasRef>,
    /// Whether the head can be read, so that it can be forked.
    #[serde(skip)]
    is_readable: bool,
    /// Whether the thread was shared with the remote of the config, which may still have it.
    #[serde(skip)]
    was_shared: bool,
}

impl RemovedView {
    pub(crate) fn new(removed: &RemovedThread, is_readable: bool, was_shared: bool) -> Self {
        Self {
            was_shared,
            thread: removed.removed,
            removed: true,
            head: Some(removed.head),
            is_readable,
        }
    }

    /// Returns the view of a thread that was not here, and was on record as shared.
    pub(crate) fn of_record(thread: ThreadId) -> Self {
        Self {
            thread,
            removed: true,
            head: None,
            is_readable: false,
            was_shared: false,
        }
    }
}

impl Show for RemovedView {
    fn text(&self, _page: Page) -> String {
        let Some(head) = self.head else {
            return format!(
                "{} was not here; the record that it is shared is removed",
                self.thread
            );
        };
        let fetch = self.was_shared.then(|| hints::sharing::again(self.thread));
        let fork = self.is_readable.then(|| {
            format!(
                "until its nodes are collected, `uwf thread fork {head}` makes a thread of them again"
            )
        });
        let ways: Vec<String> = fetch.into_iter().chain(fork).collect();
        match &ways[..] {
            [] => format!("{} is removed", self.thread),
            ways => format!(
                "{} is removed\n{}",
                self.thread,
                hints::here(&ways.join("; "))
            ),
        }
    }
}

/// The threads that `prune` removed, or would remove.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PrunedView {
    removed: usize,
    dry_run: bool,
    threads: Vec<PrunedThread>,
    busy: Vec<ThreadId>,
    /// The threads whose end the remote may not know yet.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    untold: Vec<ThreadId>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unkept: Vec<UnkeptThread>,
    /// The garbage that was collected right after.
    #[serde(skip_serializing_if = "Option::is_none")]
    collected: Option<CollectedView>,
}

impl PrunedView {
    pub(crate) fn new(pruned: Pruned, mode: Prune, collected: Option<CollectedView>) -> Self {
        Self {
            removed: match mode {
                Prune::Look => 0,
                Prune::Remove => pruned.threads.len(),
            },
            dry_run: mode == Prune::Look,
            threads: pruned.threads,
            busy: pruned.busy,
            untold: pruned.untold,
            unkept: pruned.unkept,
            collected,
        }
    }

    /// Returns the last line: how many threads went, or would go, and what comes next.
    fn summary(&self) -> String {
        let count = counted(self.threads.len(), "thread");
        let busy = match self.busy.len() {
            0 => String::new(),
            busy => format!("; {busy} busy, which stay"),
        };
        let kept = match self.unkept.len() + self.untold.len() {
            0 => String::new(),
            kept => format!(", {kept} kept"),
        };
        match (self.threads.len(), self.dry_run) {
            (0, _) if kept.is_empty() => format!("no ended thread matches{busy}"),
            (_, true) => format!("{count} would be removed{kept}{busy}"),
            (0, false) => format!("{count} removed{kept}{busy}"),
            (_, false) if self.collected.is_some() => format!("{count} removed{kept}{busy}"),
            (_, false) => format!(
                "{count} removed{kept}{busy}; `{}` frees what only they needed when it is two weeks old",
                hints::here("uwf cas gc")
            ),
        }
    }
}

/// Says why a thread is not removed, and what would remove it.
pub(crate) fn unkept_line(unkept: &UnkeptThread) -> String {
    let UnkeptThread { thread, reason } = unkept;
    let drop = format!("uwf thread rm --drop-worktree {thread}");
    format!("{reason}; `{}` gives that up", hints::here(&drop))
}

/// The columns of threads that are removed, or would be.
const PRUNED: [Column; 6] = [
    Column::new("THREAD", Room::Fixed),
    Column::of_local_times("ENDED", Room::Spare(1)),
    STATUS,
    Column::new("HEAD", Room::Spare(0)),
    Column::new("WORKFLOW", Room::Spare(2)),
    Column::new("TASK", Room::Cut),
];

fn pruned_row(one: &PrunedThread) -> Vec<String> {
    let about = one.about.as_ref();
    let workflow = about.and_then(|about| about.workflow_name.clone());
    let name = about.and_then(|about| about.name.as_ref().map(ToString::to_string));
    let task = about.and_then(|about| about.task.clone());
    vec![
        one.thread.to_string(),
        local_time::cell(one.ended_at_ms),
        one.status.as_str().to_owned(),
        one.head.to_string(),
        workflow.unwrap_or_else(|| "-".to_owned()),
        name.into_iter().chain(task).collect::<Vec<_>>().join(": "),
    ]
}

impl Show for PrunedView {
    fn text(&self, page: Page) -> String {
        let collected = self.collected.iter().map(|view| view.text(page));
        let said: Vec<String> = iter::once(self.summary()).chain(collected).collect();
        let said = said.join("\n");
        if self.threads.is_empty() {
            return said;
        }
        let rows = self.threads.iter().map(pruned_row).collect();
        let table = columns(&PRUNED, rows, page);
        format!("{table}\n{said}")
    }
}
