//! Hooks: commands of the config that are told what became of a step. They run when everything is recorded and the thread
//! is free, so they cannot change the result: their failures are logged, and nothing else.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::{Map, Value, json};
use uwf_config::load_dotenv;
use uwf_process::{ShortEnd, ShortLimits, run_short};
use uwf_protocol::agent::env;
use uwf_protocol::failure::FailureClass;
use uwf_protocol::hooks::{EVENT_VARIABLE, Hook, HookEvent, THREAD_VARIABLE, USUAL_SECONDS};
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_storage::State;
use uwf_thread::{Head, read_program, read_start, read_step};
use uwf_util::time;

use crate::children::is_child;
use crate::project::project_directory;
use crate::read::detail_summary::DetailSummary;
use crate::read::report::StepReport;
use crate::read::thread_state::ThreadStatus;
use crate::run::summary;
use crate::{AgentFailure, EngineError, ReviewError, Runner, Site, tags, thread};

/// How much of the end of what a failed hook said is logged, in bytes.
const SAID: usize = 4096;

/// Tells the hooks what became of a step of a thread, and returns it as it was. Nobody is told of child threads: what they do
/// is told of the thread that they work for.
pub(crate) fn after(
    runner: &Runner,
    thread: ThreadId,
    result: Result<StepReport, EngineError>,
) -> Result<StepReport, EngineError> {
    if is_child(&runner.site, thread) {
        return result;
    }
    match &result {
        Ok(report) => after_step(runner, report),
        Err(EngineError::Unrouted { report, .. }) => after_step(runner, report),
        Err(EngineError::Review(ReviewError::Held {
            thread,
            reason,
            is_new: true,
        })) => tell(runner, *thread, &[HookEvent::Suspended], || {
            about_verdict(*thread, reason)
        }),
        Err(error) => {
            // Who interrupts a step or ends its thread knows of it.
            let failed = error.attempt();
            let failed = failed.filter(|attempt| attempt.class != FailureClass::Cancelled);
            if let Some(attempt) = failed {
                tell(runner, attempt.thread, &[HookEvent::Failed], || {
                    about_failure(&runner.site, attempt)
                });
            }
        }
    }
    result
}

/// Tells the hooks of a committed step. A completed thread is summarized after that, if the config says so.
pub(crate) fn after_step(runner: &Runner, report: &StepReport) {
    tell(runner, report.thread, &events_of(report), || {
        about_step(&runner.site, report)
    });
    if report.state.status == ThreadStatus::Completed {
        summary::start_if_wanted(&runner.site, report.thread);
    }
}

/// Returns what happened, in order.
fn events_of(report: &StepReport) -> Vec<HookEvent> {
    let step = report.step.map(|_| HookEvent::Step);
    let then = match report.state.status {
        ThreadStatus::Suspended => Some(HookEvent::Suspended),
        ThreadStatus::Blocked => Some(HookEvent::Blocked),
        ThreadStatus::Completed => Some(HookEvent::Completed),
        ThreadStatus::Idle
        | ThreadStatus::Running
        | ThreadStatus::Failed
        | ThreadStatus::Waiting
        | ThreadStatus::Paused
        | ThreadStatus::Cancelled
        | ThreadStatus::Corrupt => None,
    };
    step.into_iter().chain(then).collect()
}

/// Runs the hooks of these events, one after the other. A hook's own calls run none.
fn tell(
    runner: &Runner,
    thread: ThreadId,
    events: &[HookEvent],
    about: impl FnOnce() -> Map<String, Value>,
) {
    let site = &runner.site;
    let config = uwf_config::load(&site.root).ok().flatten();
    let hooks = config.unwrap_or_default().hooks;
    let wanted: Vec<(HookEvent, &Hook)> = events
        .iter()
        .filter_map(|event| Some((*event, hooks.get(event)?)))
        .filter(|(_, hook)| hook.command.is_some())
        .collect();
    if wanted.is_empty() || site.env.is_set(EVENT_VARIABLE) {
        return;
    }
    let mut about = about();
    let surroundings = Surroundings::of(site, thread);
    if let Some((workflow, name)) = &surroundings.workflow {
        about.insert("workflow".to_owned(), json!(workflow));
        about.insert("workflowName".to_owned(), json!(name));
    }
    about.insert("cwd".to_owned(), json!(surroundings.cwd));
    let naming = State::new(&site.root).namings().unwrap_or_default();
    let naming = naming.of(thread);
    about.insert("name".to_owned(), json!(naming.name));
    about.insert("labels".to_owned(), json!(naming.labels));
    let masks = site.secrets();
    for value in about.values_mut() {
        *value = masks.json(value);
    }
    for (event, hook) in wanted {
        about.insert("event".to_owned(), json!(event));
        let input = Value::Object(about.clone()).to_string() + "\n";
        if let Err(problem) = run(runner, thread, (event, hook), &surroundings.cwd, &input) {
            let message = site.loggable(&format!("event={event} {problem}"));
            site.log_line(tags::HOOK_FAILED, &message, Some(thread), None);
        }
    }
}

/// Runs one hook. The error says why it failed.
fn run(
    runner: &Runner,
    thread: ThreadId,
    (event, hook): (HookEvent, &Hook),
    cwd: &Path,
    input: &str,
) -> Result<(), String> {
    let site = &runner.site;
    let limit = match hook.timeout.as_deref() {
        None => Duration::from_secs(USUAL_SECONDS),
        Some(text) => {
            let limit = time::parse_duration(text).map(Duration::from_millis);
            limit.ok_or_else(|| format!("`{text}` is not a duration, such as `30s`"))?
        }
    };
    let mut command = Command::new("/bin/sh");
    command.arg("-c").args(&hook.command).current_dir(cwd);
    // The hook is no part of an attempt, even if this call was made by an agent.
    for name in env::CONTRACT {
        command.env_remove(name);
    }
    let ours = [EVENT_VARIABLE, THREAD_VARIABLE];
    let is_contract = |name: &str| env::CONTRACT.contains(&name) || ours.contains(&name);
    for (name, value) in load_dotenv(&site.root).unwrap_or_default() {
        if !site.env.is_set(&name) && !is_contract(&name) {
            command.env(name, value);
        }
    }
    command
        .env(EVENT_VARIABLE, event.as_str())
        .env(THREAD_VARIABLE, thread.as_str())
        .env(env::STORAGE_ROOT, site.root.path())
        .env(env::OCAS_DIR, site.store.dir());
    if runner.signals.stop().is_some() {
        return Err("was not started: the call was told to stop".to_owned());
    }
    let limits = ShortLimits {
        time: limit,
        kept: SAID,
    };
    let done = run_short(&mut command, input.as_bytes(), limits, &runner.signals)
        .map_err(|error| format!("cannot be started: {error}"))?;
    let why = match done.end {
        ShortEnd::Exited(status) if status.success() => return Ok(()),
        ShortEnd::Exited(status) => format!("failed ({status})"),
        ShortEnd::TimedOut(limit) => format!("was ended after {limit:?}"),
        ShortEnd::TooMuch => "was ended: it printed too much".to_owned(),
        ShortEnd::Stopped => "was ended: the call was told to stop".to_owned(),
    };
    let said = String::from_utf8_lossy(&done.said);
    // What came before the end that is kept may have had the beginning of a secret.
    let said = match done.said.len() < SAID {
        true => said,
        false => runner.site.secrets().text_after_cut(&said).into(),
    };
    Err(format!("{why}: {said}"))
}

/// The workflow of a thread, and where its hooks run.
struct Surroundings {
    workflow: Option<(CasRef, String)>,
    cwd: PathBuf,
}

impl Surroundings {
    /// Reads what can be read.
    fn of(site: &Site, id: ThreadId) -> Self {
        let read = || {
            let head = thread::find(site, id).ok()?.head();
            let start = Head::read(&site.store, head).ok()?.start();
            Some(read_start(&site.store, start).ok()?.node)
        };
        let start = read();
        let cwd = start.as_ref().map(|start| project_directory(site, start));
        let cwd = cwd.unwrap_or(site.env.cwd()).to_owned();
        let workflow = start.and_then(|start| {
            let program = read_program(&site.store, start.workflow).ok()?;
            Some((start.workflow, program.name().to_owned()))
        });
        Self { workflow, cwd }
    }
}

/// Returns the keys of the step's report, and what the step used up.
fn about_step(site: &Site, report: &StepReport) -> Map<String, Value> {
    let mut about = match serde_json::to_value(report) {
        Ok(Value::Object(keys)) => keys,
        Ok(_) | Err(_) => Map::new(),
    };
    let usage = report.step.and_then(|step| {
        let step = read_step(&site.store, step).ok()?;
        DetailSummary::read(&site.store, step.node.detail)
            .ok()?
            .usage
    });
    about.insert("usage".to_owned(), json!(usage));
    about
}

/// Returns the keys of a thread that its supervisor suspended.
fn about_verdict(thread: ThreadId, reason: &str) -> Map<String, Value> {
    let about = json!({
        "thread": thread,
        "status": ThreadStatus::Suspended,
        "suspendMessage": reason,
    });
    about.as_object().cloned().unwrap_or_default()
}

/// Returns the keys of a failed attempt as a failed `thread step` prints them, and what the attempt used up.
fn about_failure(site: &Site, failure: &AgentFailure) -> Map<String, Value> {
    let attempts = site.root.run(failure.thread).ledger.attempts();
    let on_record = attempts
        .into_iter()
        .find(|attempt| Some(attempt.number) == failure.number);
    let about = json!({
        "thread": failure.thread,
        "attempt": failure.number,
        "role": failure.role,
        "agent": failure.agent,
        "directory": failure.directory,
        "phase": failure.phase,
        "class": failure.class,
        "message": failure.problem,
        "hint": failure.hint,
        "exitCode": failure.exit_code,
        "sessionId": failure.session_id,
        "raw": failure.raw,
        "usage": on_record.and_then(|attempt| attempt.usage),
    });
    let mut about = about.as_object().cloned().unwrap_or_default();
    if let Ok(Value::Object(next)) = serde_json::to_value(&failure.next_try) {
        about.extend(next);
    }
    about
}
