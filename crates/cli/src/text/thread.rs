//! The results of `uwf thread` and `uwf step`.

use serde::Serialize;
use serde_json::Value;
use uwf_engine::{
    AgentFailure, AttemptView, Forked, Killed, StartEntry, Started, StepEntry, StepReport,
    StepsEntry, StepsView, ThreadItem, ThreadState, ThreadStatus, ThreadView, agent_option,
};
use uwf_protocol::failure::FailureClass;
use uwf_protocol::ids::{CasRef, RoleName, ThreadId};
use uwf_protocol::nodes::{Extraction, RefusedCalls};
use uwf_protocol::run::{Phase, RefusedStep};
use uwf_protocol::workflow::reserved;
use uwf_util::time;

use crate::hints::{self, thread::next};
use crate::output::Show;
use crate::text::cas::document;
use crate::text::table::{Page, fields, fitted};
use crate::text::workflow::texts_of;

/// A thread that was recorded.
#[derive(Serialize)]
pub(crate) struct StartedView {
    workflow: CasRef,
    thread: ThreadId,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

impl From<Started> for StartedView {
    fn from(started: Started) -> Self {
        Self {
            workflow: started.workflow,
            thread: started.thread,
            warnings: texts_of(&started.warnings),
        }
    }
}

impl Show for StartedView {
    fn text(&self, _page: Page) -> String {
        let thread = self.thread;
        let next = format!("uwf thread step {thread}");
        format!("{thread}\nnext: {}", hints::here(&next))
    }
}

/// A thread that starts at a step of another one.
#[derive(Serialize)]
pub(crate) struct ForkedView {
    thread: ThreadId,
    #[serde(rename = "forkedFrom")]
    forked_from: ForkedFrom,
    #[serde(skip)]
    state: ThreadState,
}

/// Where a fork starts.
#[derive(Serialize)]
struct ForkedFrom {
    step: CasRef,
}

impl From<Forked> for ForkedView {
    fn from(forked: Forked) -> Self {
        Self {
            thread: forked.thread,
            forked_from: ForkedFrom { step: forked.from },
            state: forked.state,
        }
    }
}

impl Show for ForkedView {
    fn text(&self, _page: Page) -> String {
        let thread = self.thread;
        let from = self.forked_from.step;
        match next(thread, &self.state) {
            Some(next) => format!("{thread}\nforked from {from}\nnext: {next}"),
            None => format!(
                "{thread}\nforked from {from}, and {} there",
                state_line(&self.state)
            ),
        }
    }
}

/// A thread that was ended.
#[derive(Serialize)]
pub(crate) struct KilledView {
    thread: ThreadId,
    archived: bool,
    cancelled: bool,
    #[serde(rename = "agentEnded")]
    agent_ended: bool,
    #[serde(rename = "finishedStep", skip_serializing_if = "Option::is_none")]
    finished_step: Option<CasRef>,
}

impl From<Killed> for KilledView {
    fn from(killed: Killed) -> Self {
        Self {
            thread: killed.thread,
            archived: true,
            cancelled: true,
            agent_ended: killed.agent_ended,
            finished_step: killed.finished_step,
        }
    }
}

impl Show for KilledView {
    fn text(&self, _page: Page) -> String {
        let agent = if self.agent_ended {
            "; its agent was ended"
        } else {
            ""
        };
        let finished = self.finished_step.map_or_else(String::new, |step| {
            let fork = format!("uwf thread fork {step}");
            format!(
                "\na step was finished and not committed: `{}` goes on from it",
                hints::here(&fork)
            )
        });
        format!("{} is cancelled and archived{agent}{finished}", self.thread)
    }
}

/// Everything that a step recorded.
#[derive(Serialize)]
#[serde(transparent)]
pub(crate) struct DetailView(pub Value);

impl Show for DetailView {
    fn text(&self, _page: Page) -> String {
        document(&self.0)
    }
}

/// Says where a thread stands, in one line.
fn state_line(state: &ThreadState) -> String {
    match (&state.current_role, &state.suspended_role) {
        (None, Some(role)) if state.held_by_limit => {
            format!("suspended at a limit, next is {role}")
        }
        (Some(role), _) if state.status == ThreadStatus::Running => {
            format!("running, {role} is at work")
        }
        (Some(role), _) => format!("{}, next is {role}", state.status.as_str()),
        (None, Some(role)) => format!("suspended, {role} asks"),
        (None, None) => state.status.as_str().to_owned(),
    }
}

/// Returns the row with what the agent of a step was not allowed to do, because its answer may depend on that.
fn refused_row(refused: &[RefusedCalls]) -> Option<(&'static str, String)> {
    let note = RefusedCalls::note(refused)?;
    Some((
        "refused",
        format!("{note} (the agent's `args` say what it may do, see `uwf doctor`)"),
    ))
}

/// Returns what a suspended thread waits for: an answer, a higher limit, or both.
fn why_suspended(state: &ThreadState) -> Vec<(&'static str, String)> {
    let message = state.suspend_message.clone();
    if state.held_by_limit {
        return message
            .map(|message| ("limit", message))
            .into_iter()
            .collect();
    }
    let question = message.map(|question| ("question", question));
    let limit = state
        .limit
        .as_ref()
        .map(|limit| ("limit", limit.to_string()));
    question.into_iter().chain(limit).collect()
}

/// A step that was done. `agent` is the agent that the caller chose, if any; the next command keeps it.
#[derive(Serialize)]
pub(crate) struct StepView {
    #[serde(flatten)]
    pub(crate) report: StepReport,
    #[serde(skip)]
    pub(crate) agent: Option<String>,
}

impl Show for StepView {
    fn text(&self, page: Page) -> String {
        let report = &self.report;
        let done = match (&report.role, &report.step, &report.agent) {
            (Some(role), Some(step), Some(agent)) => {
                let took = report.duration_ms.map_or_else(String::new, |ms| {
                    format!(" in {}", time::format_duration(ms))
                });
                let adopted = if report.adopted {
                    ", finished earlier"
                } else {
                    ""
                };
                format!("{step}  {role} by {agent}{took}{adopted}")
            }
            _ => "nothing to run".to_owned(),
        };
        let mut rows = vec![("step", done)];
        rows.extend(report.replaced.map(|step| ("replaced", step.to_string())));
        rows.extend(refused_row(&report.refused_calls));
        if !report.left_running.is_empty() {
            let name = if report.kept_running {
                "running"
            } else {
                "ended"
            };
            rows.push((
                name,
                format!("left running: {}", report.left_running.join(", ")),
            ));
        }
        rows.push(("thread", state_line(&report.state)));
        rows.extend(why_suspended(&report.state));
        if report.state.status == ThreadStatus::Suspended {
            let next = next(report.thread, &report.state);
            let option = agent_option(self.agent.as_deref());
            rows.extend(next.map(|next| ("next", next + &option)));
        }
        fields(&rows, page)
    }
}

/// A step that failed: the attempt, as programs read it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FailedStepView {
    thread: ThreadId,
    attempt: Option<u64>,
    role: RoleName,
    agent: String,
    directory: String,
    phase: Phase,
    class: FailureClass,
    message: String,
    hint: String,
    exit_code: Option<i32>,
    session_id: Option<String>,
    raw: Option<CasRef>,
}

impl From<&AgentFailure> for FailedStepView {
    fn from(failure: &AgentFailure) -> Self {
        Self {
            thread: failure.thread,
            attempt: failure.number,
            role: failure.role.clone(),
            agent: failure.agent.clone(),
            directory: failure.directory.clone(),
            phase: failure.phase,
            class: failure.class,
            message: failure.problem.clone(),
            hint: hints::here(&failure.hint).into_owned(),
            exit_code: failure.exit_code,
            session_id: failure.session_id.clone(),
            raw: failure.raw,
        }
    }
}

impl Show for FailedStepView {
    /// People read the failure on stderr.
    fn text(&self, _page: Page) -> String {
        String::new()
    }
}

impl Show for ThreadView {
    fn text(&self, page: Page) -> String {
        let mut rows = vec![
            ("thread", self.thread.to_string()),
            ("workflow", self.workflow.to_string()),
            ("head", self.head.to_string()),
            ("steps", self.steps.to_string()),
            ("status", state_line(&self.state)),
        ];
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

/// Returns the word for the end of an attempt that led to no step.
fn word_for(attempt: &AttemptView) -> &'static str {
    match attempt.class {
        Some(FailureClass::Cancelled) => "cancelled",
        Some(_) | None => "failed",
    }
}

/// A list of threads.
#[derive(Serialize)]
#[serde(transparent)]
pub(crate) struct ThreadsView {
    pub(crate) threads: Vec<ThreadItem>,
    /// The current time. It is needed to read the time in the thread ids of some other programs.
    #[serde(skip)]
    pub(crate) now_ms: i64,
    /// Whether the list was asked for with options that choose threads.
    #[serde(skip)]
    pub(crate) is_filtered: bool,
}

impl Show for ThreadsView {
    fn text(&self, page: Page) -> String {
        if self.threads.is_empty() && self.is_filtered {
            return "no thread matches; `uwf thread list --all` shows every thread".to_owned();
        }
        if self.threads.is_empty() {
            return "no threads; `--all` lists ended ones too, and `uwf thread start <workflow> -p \"…\"` makes one"
                .to_owned();
        }
        let row = |item: &ThreadItem| {
            let started = item.thread.time_ms(self.now_ms).map(time::format_utc);
            let hash = item.workflow.map(|hash| hash.to_string());
            let workflow = item.workflow_name.clone().or(hash);
            vec![
                item.thread.to_string(),
                started.unwrap_or_else(|| "-".to_owned()),
                item.status.as_str().to_owned(),
                who_is_next(item),
                workflow.or(item.error.clone()).unwrap_or_default(),
            ]
        };
        fitted(
            &["THREAD", "STARTED (UTC)", "STATUS", "NEXT", "WORKFLOW"],
            self.threads.iter().map(row).collect(),
            4,
            page,
        )
    }
}

fn who_is_next(item: &ThreadItem) -> String {
    match (&item.current_role, item.status) {
        (Some(role), _) if item.finished_step.is_some() => format!("{role} (finished)"),
        (Some(role), _) => role.to_string(),
        (None, ThreadStatus::Suspended) => "(you)".to_owned(),
        (None, _) => "-".to_owned(),
    }
}

impl Show for StepsView {
    /// A failed attempt comes below the step that it should have followed or replaced.
    fn text(&self, page: Page) -> String {
        let mut rows = Vec::new();
        for entry in &self.steps {
            let (hash, row, replaced) = match entry {
                StepsEntry::Start(start) => (start.hash, start_row(start), Vec::new()),
                StepsEntry::Step(step) => (step.hash, step_row(step), replaced_rows(step)),
            };
            for (hash, row) in replaced.into_iter().chain([(hash, row)]) {
                rows.push(row);
                let there = self.attempts.iter().filter(|attempt| attempt.at() == hash);
                rows.extend(there.map(attempt_row));
            }
        }
        if let Some(step) = self.finished_step {
            let waits = "finished, and waits to be committed by `uwf thread step`".to_owned();
            let none = || "-".to_owned();
            rows.push(vec![step.to_string(), none(), none(), none(), waits]);
        }
        fitted(&["STEP", "ROLE", "AGENT", "TOOK", "DATA"], rows, 4, page)
    }
}

fn start_row(start: &StartEntry) -> Vec<String> {
    vec![
        start.hash.to_string(),
        reserved::START.to_owned(),
        "-".to_owned(),
        "-".to_owned(),
        start.prompt.clone(),
    ]
}

fn step_row(step: &StepEntry) -> Vec<String> {
    let took = step.duration_ms.map(time::format_duration);
    let extraction = step.extraction.as_ref().and_then(Extraction::note);
    let notes = extraction
        .into_iter()
        .chain(RefusedCalls::note(&step.refused_calls));
    let agent = notes.fold(step.agent.clone(), |agent, note| {
        format!("{agent} ({note})")
    });
    vec![
        step.hash.to_string(),
        step.role.to_string(),
        agent,
        took.unwrap_or_else(|| "-".to_owned()),
        step.output.to_string(),
    ]
}

/// Returns the rows of the steps that a step replaced.
fn replaced_rows(step: &StepEntry) -> Vec<(CasRef, Vec<String>)> {
    let row = |hash: &CasRef| {
        let cells = [hash.as_str(), step.role.as_str(), "-", "-", "(replaced)"];
        (*hash, cells.map(str::to_owned).to_vec())
    };
    step.replaces.iter().map(row).collect()
}

fn attempt_row(attempt: &AttemptView) -> Vec<String> {
    let took = attempt.ended_at_ms.saturating_sub(attempt.started_at_ms);
    vec![
        format!("({} {})", word_for(attempt), attempt.number),
        attempt.role.to_string(),
        attempt.agent.clone(),
        time::format_duration(u64::try_from(took).unwrap_or(0)),
        attempt.error.clone(),
    ]
}
