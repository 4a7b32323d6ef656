//! Asking a model about a thread. The engine does not call models: it starts this program as a process that does, under a
//! time limit, and ends it with this process.

use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use uwf_process::{ShortEnd, ShortLimits, run_short};
use uwf_protocol::agent::env;
use uwf_protocol::ids::CasRef;
use uwf_protocol::review::{ReviewFailure, ReviewReply, ReviewRequest, ReviewedStep, Wanted};
use uwf_protocol::schemas;
use uwf_thread::{output, steps};
use uwf_util::time;

use crate::thread::Thread;
use crate::{EngineError, Runner, Site};

/// The hidden command that runs the process.
pub const REVIEW_COMMAND: &str = "review-thread";

/// The file of this program, even if it was replaced on disk meanwhile.
const OWN_PROGRAM: &str = "/proc/self/exe";
/// How much the process may say, in bytes: more than any reply has.
const REPLY: usize = 64 * 1024;
/// How long the process may take beyond the limit of the model, to say that the limit was reached.
const SPARE: Duration = Duration::from_secs(2);

/// A question about a thread.
pub(crate) struct Question<'a> {
    pub(crate) wanted: Wanted,
    /// The alias of the model, if one is chosen.
    pub(crate) model: Option<&'a str>,
    /// How long the model may take.
    pub(crate) limit: Duration,
    /// How many of the newest steps the model sees.
    pub(crate) newest: usize,
    /// How many steps the thread has.
    pub(crate) steps: u64,
}

/// Reads the time limit of a setting.
pub(crate) fn limit(timeout: Option<&str>, usual_seconds: u64) -> Result<Duration, ReviewFailure> {
    let Some(text) = timeout else {
        return Ok(Duration::from_secs(usual_seconds));
    };
    let limit = time::parse_duration(text).map(Duration::from_millis);
    limit.ok_or_else(|| ReviewFailure {
        is_misconfigured: true,
        ..ReviewFailure::new(
            "bad_config",
            format!("`{text}` is not a duration, such as `30s`"),
        )
    })
}

/// Asks a model about a thread at its head. The inner error says why there is no answer; the thread can go on.
///
/// # Errors
/// When a signal tells us to stop.
pub(crate) fn ask(
    runner: &Runner,
    thread: &Thread,
    question: &Question<'_>,
) -> Result<Result<ReviewReply, ReviewFailure>, EngineError> {
    let request = match request(&runner.site, thread, question) {
        Ok(request) => request,
        Err(error) => return Ok(Err(ReviewFailure::new("unreadable", error.to_string()))),
    };
    if let Some(stop) = runner.signals.stop() {
        return Err(EngineError::NotStarted(stop.signal));
    }
    let input = serde_json::to_vec(&request).expect("a request is plain data");
    let limits = ShortLimits {
        time: question.limit.saturating_add(SPARE),
        kept: REPLY,
    };
    let done = run_short(
        own_command(&runner.site).arg(REVIEW_COMMAND),
        &input,
        limits,
        &runner.signals,
    );
    let done = match done {
        Ok(done) => done,
        Err(error) => {
            let problem = format!("`{OWN_PROGRAM}` cannot be started: {error}");
            return Ok(Err(ReviewFailure::new("not_started", problem)));
        }
    };
    Ok(match done.end {
        ShortEnd::Exited(status) if status.success() => reply_in(&done.said),
        ShortEnd::Exited(status) => Err(ReviewFailure::new(
            "broken",
            format!("its process failed ({status}): {}", end_of(&done.said)),
        )),
        ShortEnd::TimedOut(_) => Err(ReviewFailure::new(
            "timed_out",
            format!("the model took longer than {:?}", question.limit),
        )),
        ShortEnd::TooMuch => Err(ReviewFailure::new(
            "broken",
            "its process said too much".to_owned(),
        )),
        ShortEnd::Stopped => {
            let stop = runner.signals.stop();
            return Err(EngineError::NotStarted(
                stop.map_or(rustix::process::Signal::TERM.as_raw(), |stop| stop.signal),
            ));
        }
    })
}

/// Returns the request: the task and the newest steps.
fn request(
    site: &Site,
    thread: &Thread,
    question: &Question<'_>,
) -> Result<ReviewRequest, EngineError> {
    let mut newest = Vec::new();
    for step in steps(&site.store, thread.head).take(question.newest) {
        let step = step?.node;
        newest.push(ReviewedStep {
            output: output(&site.store, &step)?,
            role: step.role,
        });
    }
    newest.reverse();
    Ok(ReviewRequest {
        wanted: question.wanted,
        model: question.model.map(str::to_owned),
        limit_ms: u64::try_from(question.limit.as_millis()).unwrap_or(u64::MAX),
        task: thread.start.prompt.clone(),
        earlier: question.steps.saturating_sub(newest.len() as u64),
        steps: newest,
    })
}

/// Returns a command of this program on the same root.
pub(crate) fn own_command(site: &Site) -> Command {
    let mut command = Command::new(OWN_PROGRAM);
    command.arg0("uwf");
    // The process is no part of an attempt, even if this call was made by an agent.
    for name in env::CONTRACT {
        command.env_remove(name);
    }
    command
        .env(env::STORAGE_ROOT, site.root.path())
        .env(env::OCAS_DIR, site.store.dir());
    command
}

/// Returns the reply, which is the last line that the process said.
fn reply_in(said: &[u8]) -> Result<ReviewReply, ReviewFailure> {
    let line = said.trim_ascii_end().rsplit(|byte| *byte == b'\n').next();
    match serde_json::from_slice(line.unwrap_or_default()) {
        Ok(ReviewReply::Failed(failed)) => Err(failed),
        Ok(reply) => Ok(reply),
        Err(error) => {
            let problem = format!("its process said something else: {error}");
            Err(ReviewFailure::new("broken", problem))
        }
    }
}

fn end_of(said: &[u8]) -> String {
    let text = String::from_utf8_lossy(said);
    text.trim()
        .lines()
        .next_back()
        .unwrap_or_default()
        .to_owned()
}

/// Stores the node of a review, durably. Its schema comes with the first such node.
pub(crate) fn put(
    site: &Site,
    (type_hash, schema): (CasRef, Value),
    payload: &impl serde::Serialize,
) -> Result<CasRef, EngineError> {
    let now_ms = site.env.now_ms();
    let payload = serde_json::to_value(payload).expect("a node is plain data");
    let mut batch = site.store.batch();
    batch.put(schemas::META, &schema, now_ms)?;
    let hash = batch.put(type_hash, &payload, now_ms)?;
    batch.commit()?;
    Ok(hash)
}
