//! One thread, as `uwf thread show` prints it.

use uwf_engine::{AttemptView, ThreadView};
use uwf_protocol::failure::FailureClass;
use uwf_protocol::run::RefusedStep;
use uwf_util::time;

use super::cared::paused_row;
use super::naming::naming_rows;
use super::{refused_row, state_line, why_suspended, word_for};
use crate::hints::{self, thread::next};
use crate::output::Show;
use crate::text::table::{Page, fields};

impl Show for ThreadView {
    fn text(&self, page: Page) -> String {
        let mut rows = vec![("thread", self.thread.to_string())];
        rows.extend(naming_rows(self.name.as_ref(), &self.labels));
        rows.extend([
            ("workflow", self.workflow.to_string()),
            ("head", self.head.to_string()),
            ("steps", self.steps.to_string()),
            ("status", state_line(&self.state)),
        ]);
        rows.extend(self.state.paused.as_ref().map(paused_row));
        if let Some(running) = &self.running {
            let since = time::format_utc(running.started_at_ms);
            rows.push(("since", format!("{since} UTC")));
            if running.waiting {
                rows.push(("waiting", "for a free slot".to_owned()));
            }
        }
        if !self.orphans.is_empty() {
            let orphans = self.orphans.join(", ");
            rows.push(("alive", format!("{orphans}, without an engine")));
        }
        rows.extend(refused_row(&self.refused_calls));
        rows.extend(why_suspended(&self.state));
        if let Some(reason) = &self.blocked_reason {
            rows.push(("blocked", reason.clone()));
        }
        rows.extend(self.attempts.iter().map(attempt_field));
        if let Some(step) = self.finished_step {
            rows.push(("finished", format!("step {step} waits to be committed")));
        }
        rows.extend(self.refused_steps.iter().map(kept_row));
        rows.extend(next(self.thread, &self.state).map(|next| ("next", next)));
        if let Some(fix) = &self.fix {
            let commands = hints::fix::commands(fix, self.thread).into_iter();
            rows.extend(commands.map(|command| ("next", command)));
        }
        fields(&rows, page)
    }
}

/// Returns the row of a refused step.
fn kept_row(refused: &RefusedStep) -> (&'static str, String) {
    let RefusedStep { step, head, .. } = refused;
    let kept = format!(
        "step {step} follows {head}, which the thread had left: `uwf thread fork {step}` goes on from it"
    );
    ("kept", hints::here(&kept).into_owned())
}

/// Returns the row of a failed attempt.
fn attempt_field(attempt: &AttemptView) -> (&'static str, String) {
    let AttemptView {
        number,
        role,
        agent,
        error,
        ..
    } = attempt;
    let at = time::format_utc(attempt.ended_at_ms);
    let took = attempt.ended_at_ms.saturating_sub(attempt.started_at_ms);
    let took = time::format_duration(u64::try_from(took).unwrap_or(0));
    let again = attempt.replaces.map_or("", |_| ", doing it again");
    let class = attempt.class.map_or("failed", FailureClass::as_str);
    let session = attempt.session_id.as_ref();
    let session = session.map_or_else(String::new, |session| format!(", session {session}"));
    let accepted = if attempt.unknown_accepted {
        ", unknown usage accepted"
    } else {
        ""
    };
    let counted = attempt.counted_in.map_or_else(String::new, |step| {
        format!(", its answer and its usage are in {step}")
    });
    let text = format!(
        "{at}  attempt {number}: {role} by {agent}{again} for {took}, {class}{session}{accepted}{counted}: {error}"
    );
    (word_for(attempt), text)
}
