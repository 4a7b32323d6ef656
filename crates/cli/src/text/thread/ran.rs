//! The results of `uwf run` and `uwf thread run`.

use serde::{Serialize, Serializer};
use uwf_engine::{ThreadState, ThreadStatus};
use uwf_protocol::ids::ThreadId;
use uwf_util::text::counted;

use super::done::{StepView, step_rows};
use super::{result_rows, state_line, why_suspended};
use crate::hints;
use crate::output::Show;
use crate::text::table::{Page, fields};

/// A step of a run: as data, the same as of `thread step`; as text, without where the thread stands.
#[derive(Serialize)]
#[serde(transparent)]
pub(crate) struct RunStepView(pub(crate) StepView);

impl Show for RunStepView {
    fn text(&self, page: Page) -> String {
        let report = &self.0.report;
        let mut rows = step_rows(report);
        if report.step.is_none() && report.child.is_some() {
            // That the role is not done goes without saying while the run goes on.
            rows.remove(0);
        }
        fields(&rows, page)
    }
}

/// The end of a run.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StoppedView {
    pub(crate) thread: ThreadId,
    /// The word for the exit code.
    pub(crate) stopped: &'static str,
    /// The status of the thread; `None` after a failure, which leaves it as it was.
    pub(crate) status: Option<ThreadStatus>,
    /// How many steps were recorded.
    pub(crate) steps: u64,
    pub(crate) exit: u8,
    /// The question, the limit, or the error.
    pub(crate) message: Option<String>,
    /// What the thread resulted in, if it is completed.
    pub(crate) result: Option<String>,
    /// Why that could not be filled in, if it could not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) result_problem: Option<String>,
    /// What goes on with the thread, or shows it.
    #[serde(serialize_with = "here")]
    pub(crate) next: Option<String>,
    #[serde(skip)]
    pub(crate) state: Option<ThreadState>,
}

impl Show for StoppedView {
    /// People read the error itself on stderr.
    fn text(&self, page: Page) -> String {
        let how = self.state.as_ref().map(state_line);
        let how = how.unwrap_or_else(|| self.stopped.to_owned());
        let after = counted(self.steps, "step");
        let mut rows = vec![("stopped", format!("{how}, after {after}"))];
        rows.extend(self.state.iter().flat_map(why_suspended));
        rows.extend(result_rows(
            self.result.as_deref(),
            self.result_problem.as_deref(),
        ));
        rows.extend(self.next.clone().map(|next| ("next", next)));
        fields(&rows, page)
    }
}

/// Writes a command with the `--root` of this call. The text gets it with its row.
#[expect(clippy::ref_option, reason = "serde passes the field so")]
fn here<S: Serializer>(next: &Option<String>, serializer: S) -> Result<S::Ok, S::Error> {
    next.as_deref().map(hints::here).serialize(serializer)
}
