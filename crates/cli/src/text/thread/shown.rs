//! One thread, as `uwf thread show` prints it.

use serde::Serialize;
use uwf_engine::{
    AttemptView, ChildView, HeldBy, Outline, ParentView, SumsWithChildren, ThreadState,
    ThreadStatus, ThreadView, UsageTotal, VerdictView, WorkspaceView,
};
use uwf_protocol::child::Parent;
use uwf_protocol::failure::FailureClass;
use uwf_protocol::run::RefusedStep;
use uwf_storage::ForkOrigin;
use uwf_util::text::counted;
use uwf_util::time;
use uwf_words::usage;

use super::cared::paused_row;
use super::listed::age;
use super::naming::naming_rows;
use super::{
    agent_of, of_branch, placed, refused_row, result_rows, state_line, why_suspended, word_for,
};
use crate::hints::{self, thread::next_of};
use crate::local_time;
use crate::output::Show;
use crate::text::table::{Page, fields};

/// How many digits of a commit are shown.
const SHORT_COMMIT: usize = 10;

/// A thread, and the time at which it was looked at.
#[derive(Serialize)]
#[serde(transparent)]
pub(crate) struct ShownView {
    pub(crate) thread: ThreadView,
    #[serde(skip)]
    pub(crate) now_ms: i64,
}

impl Show for ShownView {
    const HAS_COLOUR: bool = true;

    fn text(&self, page: Page) -> String {
        let view = &self.thread;
        let mut rows = facts(view, self.now_ms);
        rows.extend(child_rows(&view.children));
        if let Some(running) = &view.running {
            rows.push(("since", local_time::moment(running.started_at_ms)));
        }
        if !view.orphans.is_empty() {
            let orphans = view.orphans.join(", ");
            rows.push(("alive", format!("{orphans}, without an engine")));
        }
        rows.extend(refused_row(&view.refused_calls));
        let left = view.left.iter();
        rows.extend(left.map(|left| (left.what, left.shown_by.clone())));
        rows.extend(why_suspended(&view.state));
        rows.extend(failed_below(&view.state));
        let is_new = |verdict: &&VerdictView| {
            view.state.held_by != Some(HeldBy::Supervisor) || verdict.head != view.head
        };
        rows.extend(view.verdict.as_ref().filter(is_new).map(verdict_row));
        if let Some(reason) = &view.blocked_reason {
            rows.push(("blocked", placed(&view.state, reason)));
        }
        rows.extend(view.attempts.iter().map(attempt_field));
        if let Some(step) = view.finished_step {
            rows.push(("finished", format!("step {step} waits to be committed")));
        }
        if let Some(answer) = &view.waiting_answer {
            let uses = hints::thread::use_answer(view.thread, answer);
            rows.push(("answered", format!("by {}: {uses}", answer.role)));
        }
        rows.extend(view.refused_steps.iter().map(kept_row));
        let Outline {
            result,
            result_problem,
            ..
        } = &view.outline;
        rows.extend(result_rows(result.as_deref(), result_problem.as_deref()));
        let summary = view.summary.as_ref();
        rows.extend(summary.map(|summary| ("summary", summary.text.clone())));
        let next = next_of(view).filter(|_| view.waiting_answer.is_none());
        rows.extend(next.map(|next| ("next", next + &option_of_last(view))));
        if view.end_not_told {
            let not_told = "the other machines do not know yet that it has ended";
            rows.push(("not told", not_told.to_owned()));
            rows.push(("next", format!("uwf push {}", view.thread)));
        }
        if view.outline.resumable {
            let resume = format!("uwf thread resume {} -p \"…\"", view.thread);
            rows.push(("next", resume));
        }
        if let Some(fix) = &view.fix {
            let commands = hints::fix::commands(fix, view.thread).into_iter();
            rows.extend(commands.map(|command| ("next", command)));
        }
        fields(&rows, page)
    }
}

/// How many children have a row of their own.
const CHILDREN_SHOWN: usize = 20;

/// Returns a row for each child that works for the next step, and one for those that are left out.
fn child_rows(children: &[ChildView]) -> Vec<(&'static str, String)> {
    let line = |child: &ChildView| {
        let branch = of_branch(&child.branch);
        let (Some(thread), Some(status)) = (child.thread, child.status) else {
            return format!("{branch}not made yet");
        };
        let role = child.current_role.as_ref();
        let verb = match status {
            ThreadStatus::Suspended => "asks",
            ThreadStatus::Running => "is at work",
            _ => "is next",
        };
        let role = match (role, child.finished_step) {
            (_, Some(step)) => format!(", step {step} waits to be committed"),
            (Some(role), None) => format!(", {role} {verb}"),
            (None, None) => String::new(),
        };
        let reason = child.reason.as_ref().map(|reason| match &child.caused_by {
            Some(cause) => format!(": {}", cause.place(reason)),
            None => format!(": {reason}"),
        });
        let reason = reason.unwrap_or_default();
        format!("{branch}{thread}  {}{role}{reason}", status.as_str())
    };
    let shown = children.iter().take(CHILDREN_SHOWN);
    let mut rows: Vec<_> = shown.map(|child| ("child", line(child))).collect();
    if let Some(more) = children.len().checked_sub(CHILDREN_SHOWN + 1) {
        rows.push(("child", format!("and {} more", more + 1)));
    }
    rows
}

/// Returns the row that names the parent of a child thread.
fn parent_row(view: &ParentView) -> (&'static str, String) {
    let branch = match view.branch().to_string() {
        branch if branch.is_empty() => branch,
        branch => format!(", branch {branch}"),
    };
    let Parent { thread, role, .. } = &view.parent;
    ("parent", format!("{thread}, as {role}{branch}"))
}

/// Returns the `--agent` and the `--permissions` of the last failed attempt, which the next one needs, too.
fn option_of_last(view: &ThreadView) -> String {
    let starts_agent = matches!(
        view.state.status,
        ThreadStatus::Idle | ThreadStatus::Failed | ThreadStatus::Waiting | ThreadStatus::Suspended
    );
    // An attempt to do the last step again says nothing about the step after it.
    let last = view.attempts.last();
    let last = last.filter(|last| starts_agent && last.replaces.is_none());
    last.map(|last| last.choice.options()).unwrap_or_default()
}

/// Returns the rows that every thread has.
fn facts(view: &ThreadView, now_ms: i64) -> Vec<(&'static str, String)> {
    let outline = &view.outline;
    let workflow = match &view.workflow_name {
        Some(name) => format!("{name} ({})", view.workflow),
        None => view.workflow.to_string(),
    };
    let at = |ms: i64| format!("{}, {}", local_time::moment(ms), age(now_ms, ms));
    let task = outline.task.clone().map(|task| ("task", task));
    let mut rows = vec![("thread", view.thread.to_string())];
    rows.extend(naming_rows(view.name.as_ref(), &view.labels));
    rows.extend(task);
    rows.extend([
        ("workflow", workflow),
        ("head", view.head.to_string()),
        ("steps", view.steps.to_string()),
        ("status", status_line(view)),
    ]);
    rows.extend(view.state.paused.as_ref().map(paused_row));
    rows.extend(view.forked_from.as_ref().map(origin_row));
    let run = view.run.as_ref();
    rows.extend(run.map(|run| ("run", format!("{}, in {}", run.id, run.folder.display()))));
    rows.extend(view.shared.then(|| shared_row(view)));
    rows.extend(view.parent.as_ref().map(parent_row));
    rows.extend(view.workspace.as_ref().map(workspace_row));
    rows.extend(outline.started_at_ms.map(|ms| ("started", at(ms))));
    let changed = outline.changed_at_ms;
    let changed = changed.filter(|_| changed != outline.started_at_ms);
    rows.extend(changed.map(|ms| ("changed", at(ms))));
    let used = outline.usage.as_ref();
    let used = used.filter(|used| used.runs > 0 && !is_free_run(view, used));
    rows.extend(used.map(|used| ("used", usage::sentence(used))));
    rows.extend(view.with_children.as_ref().map(sums_row));
    rows
}

/// Tells whether a thread is a run of a pipeline that called no model.
fn is_free_run(view: &ThreadView, used: &UsageTotal) -> bool {
    view.run.is_some() && used.cost_usd == Some(0.0) && used.tokens == Some(0)
}

/// Returns the row of a shared thread. Only the remote knows who works on it, and it is not asked.
fn shared_row(view: &ThreadView) -> (&'static str, String) {
    let line = match view.state.status.is_ended() {
        true => "with other machines".to_owned(),
        false => {
            let list = hints::here("`uwf thread list --remote` shows who works on it");
            format!("with other machines; {list}")
        }
    };
    ("shared", line)
}

/// Returns the row of the worktree.
fn workspace_row(view: &WorkspaceView) -> (&'static str, String) {
    let base = view.base.get(..SHORT_COMMIT).unwrap_or(&view.base);
    let gone = if view.exists { "" } else { ", which is gone" };
    let count = |count: Option<u64>, what| match count {
        None => format!(", {what}s cannot be told"),
        Some(0) => String::new(),
        Some(count) => format!(", {}", counted(count, what)),
    };
    let files = count(view.uncommitted, "uncommitted file");
    let commits = count(view.unmerged, "unmerged commit");
    let (folder, branch) = (view.folder.display(), &view.branch);
    let line = format!("{folder}{gone}, branch {branch} from {base}{files}{commits}");
    ("worktree", line)
}

/// Returns the row of the sums with children.
fn sums_row(sums: &SumsWithChildren) -> (&'static str, String) {
    let steps = counted(sums.steps, "step");
    let used = usage::sentence(&sums.usage);
    ("in all", format!("{steps} with its children, {used}"))
}

/// Returns the row of a failure of a child. A thread whose own agent failed has a row for each attempt.
fn failed_below(state: &ThreadState) -> Option<(&'static str, String)> {
    let reason = state.reason.as_ref();
    let has_failed = matches!(state.status, ThreadStatus::Failed | ThreadStatus::Waiting);
    let reason = reason.filter(|_| has_failed);
    let cause = state.caused_by.as_ref()?;
    Some(("failed", cause.place(reason?)))
}

/// Says where the thread stands, in one line.
fn status_line(view: &ThreadView) -> String {
    match (&view.running, view.state.status) {
        (Some(running), ThreadStatus::Running) if running.waiting => {
            format!("running, {} waits until its agent may start", running.role)
        }
        _ if view.outline.resumable => {
            let failed = match view.resume_failed {
                true => "; the last attempt to resume it failed",
                false => "",
            };
            format!("{}, can be resumed{failed}", view.state.status.as_str())
        }
        _ => state_line(&view.state),
    }
}

/// Returns the row of a fork's origin.
fn origin_row(origin: &ForkOrigin) -> (&'static str, String) {
    let thread = origin
        .thread
        .map_or_else(String::new, |thread| format!(" of {thread}"));
    let workflow = origin.workflow.map_or_else(String::new, |workflow| {
        format!(", which has workflow {workflow}")
    });
    ("forked", format!("from {}{thread}{workflow}", origin.step))
}

/// Returns the row of the supervisor's verdict. The view of a thread that it suspends says the reason elsewhere.
fn verdict_row(verdict: &VerdictView) -> (&'static str, String) {
    let released = if verdict.released {
        ", a person let it go on"
    } else {
        ""
    };
    let decision = verdict.decision.as_str();
    let reason = verdict
        .reason
        .as_deref()
        .unwrap_or("the reason cannot be read");
    let at = verdict
        .at_ms
        .map_or_else(String::new, |at| local_time::moment(at) + "  ");
    ("verdict", format!("{at}{decision}{released}: {reason}"))
}

/// Returns the row of a refused step.
fn kept_row(refused: &RefusedStep) -> (&'static str, String) {
    let RefusedStep { step, head, .. } = refused;
    let kept = format!(
        "step {step} follows {head}, which the thread had left: `uwf step read {step}` shows it, `uwf thread fork {step}` goes on from it"
    );
    ("kept", hints::here(&kept).into_owned())
}

/// Returns the row of a failed attempt.
fn attempt_field(attempt: &AttemptView) -> (&'static str, String) {
    let AttemptView {
        number,
        role,
        error,
        ..
    } = attempt;
    let agent = agent_of(attempt);
    let at = local_time::moment(attempt.ended_at_ms);
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
