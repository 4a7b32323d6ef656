//! Threads that go on elsewhere: forks, and threads under another workflow.

use serde::Serialize;
use uwf_engine::{Forked, Migrated, Misfit, MovedOn, ThreadState};
use uwf_protocol::ids::ThreadId;
use uwf_protocol::naming::Naming;
use uwf_storage::ForkOrigin;
use uwf_util::text::counted;

use super::{next, state_line};
use crate::hints;
use crate::output::Show;
use crate::text::table::{Page, fields};
use crate::text::workflow_diff;

/// A thread that starts at a step of another one.
#[derive(Serialize)]
pub(crate) struct ForkedView {
    thread: ThreadId,
    #[serde(flatten, skip_serializing_if = "Naming::is_empty")]
    naming: Naming,
    #[serde(rename = "forkedFrom")]
    forked_from: ForkOrigin,
    #[serde(flatten)]
    moved: Option<MovedOn>,
    #[serde(skip)]
    state: ThreadState,
}

impl From<Forked> for ForkedView {
    fn from(forked: Forked) -> Self {
        Self {
            thread: forked.thread,
            naming: forked.naming,
            forked_from: forked.from,
            moved: forked.moved,
            state: forked.state,
        }
    }
}

impl Show for ForkedView {
    /// The first line is the thread alone: scripts read it.
    fn text(&self, _page: Page) -> String {
        let from = self.forked_from.step;
        let mut lines = vec![self.thread.to_string(), format!("forked from {from}")];
        if let Some(moved) = &self.moved {
            lines.push(format!("workflow: {}", moved.workflow));
            lines.extend(what_differs(moved));
        }
        let last = match next(self.thread, &self.state) {
            Some(next) => format!("next: {}", hints::here(&next)),
            None if self.moved.is_none() => {
                lines.pop();
                format!("forked from {from}, and {} there", state_line(&self.state))
            }
            None => format!("status: {}", state_line(&self.state)),
        };
        lines.push(last);
        lines.join("\n")
    }
}

impl Show for Migrated {
    fn text(&self, page: Page) -> String {
        let mut rows = vec![("thread", self.thread.to_string())];
        let workflow = self.moved.workflow;
        if !self.migrated {
            rows.push(("workflow", format!("{workflow}, as before: nothing to do")));
        } else {
            rows.push(("workflow", format!("{} → {workflow}", self.from)));
            rows.push(("differs", what_differs(&self.moved).join("\n")));
            if !self.dry_run {
                rows.push(("head", format!("{} → {}", self.from_head, self.head)));
            }
            let go = if self.steps == 1 { "goes" } else { "go" };
            let steps = counted(self.steps, "step");
            rows.push(("steps", format!("{steps} {go} along")));
        }
        let status = state_line(&self.state);
        if self.dry_run && self.migrated {
            rows.push(("then", status));
            rows.push(("note", "nothing was changed: this was a dry run".to_owned()));
        } else {
            rows.push(("status", status));
            rows.extend(next(self.thread, &self.state).map(|next| ("next", next)));
        }
        fields(&rows, page)
    }
}

/// Returns what differs between the workflows, and the outputs that do not fit the other one.
fn what_differs(moved: &MovedOn) -> Vec<String> {
    let mut lines = workflow_diff::lines(&moved.diff);
    if lines.is_empty() {
        lines.push("nothing that is compared".to_owned());
    }
    let misfit = |misfit: &Misfit| {
        format!(
            "! the output of {} does not fit {}: {}; no edge decides by it",
            misfit.step,
            misfit.role,
            misfit.problems.join("; ")
        )
    };
    lines.extend(moved.misfits.iter().map(misfit));
    lines
}
