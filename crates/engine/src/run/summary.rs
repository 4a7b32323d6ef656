//! Summaries of threads: a model writes one when a person wants it, or when the thread is completed. The thread itself does
//! not change, and may be stepped meanwhile.

use std::process::Stdio;

use uwf_protocol::config::{Config, Summary};
use uwf_protocol::ids::ThreadId;
use uwf_protocol::review::{
    RecordedSummary, ReviewFailure, ReviewReply, Summaries, SummaryNode, Wanted,
};
use uwf_thread::summarize;

use crate::read::summary::SummaryView;
use crate::review_error::ReviewError;
use crate::run::review::{self, Question};
use crate::thread::{self, Thread};
use crate::{EngineError, Runner, Site, limits, tags};

/// The option of a call that nobody waits for.
const DETACHED: &str = "--detached";
/// How many of the newest steps the model sees.
const NEWEST: usize = 20;

/// Lets a model summarize a thread, active or ended. The summary takes the place of an earlier one. `model` is an alias of
/// the config; without it, the config chooses.
///
/// # Errors
/// When the thread is unknown or has no step, when the model writes no summary, or when a signal tells us to stop.
pub fn summarize_thread(
    runner: &Runner,
    id: ThreadId,
    model: Option<&str>,
) -> Result<SummaryView, EngineError> {
    let site = &runner.site;
    let head = thread::find(site, id)?.head();
    let thread = Thread::load(&site.store, id, head)?;
    let recorded = site.root.run(id).ledger.chain_summary();
    let steps = summarize(&site.store, recorded.as_ref(), head)?.steps;
    if steps == 0 {
        return Err(EngineError::NoStep(id));
    }
    let config = uwf_config::load(&site.root)?.unwrap_or_default();
    let summary = match ask(runner, &thread, &config, model, steps)? {
        Ok(summary) => summary,
        Err(failure) => return Err(not_summarized(site, &thread, failure)),
    };
    let node = review::put(site, summary.usage.cost_kind().summary(), &summary)?;
    let at_ms = site.env.now_ms();
    change(site, id, |summaries| {
        summaries.count(Some(&summary.usage));
        summaries.newest = Some(RecordedSummary { node, at_ms });
    })?;
    site.log(&thread, tags::SUMMARIZED, &format!("summary={node}"));
    Ok(SummaryView::of(node, summary, at_ms))
}

/// Starts to summarize a completed thread in the background, if the config says so. Nobody waits for it, and what becomes of
/// it changes nothing for the call that completed the thread: a failure is only logged.
pub(crate) fn start_if_wanted(site: &Site, thread: ThreadId) {
    if !limits::config_for_views(site).summary.auto {
        return;
    }
    let mut command = review::own_command(site);
    command
        .args(["thread", "summarize", thread.as_str(), DETACHED])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    // Nobody waits for it. It makes a session of its own, which the leader of a process group cannot.
    if let Err(error) = command.spawn() {
        let message = site.loggable(&format!("code=not_started {error}"));
        site.log_line(tags::NOT_SUMMARIZED, &message, Some(thread), None);
    }
}

/// Asks the model. The inner error says why there is no summary.
fn ask(
    runner: &Runner,
    thread: &Thread,
    config: &Config,
    model: Option<&str>,
    steps: u64,
) -> Result<Result<SummaryNode, ReviewFailure>, EngineError> {
    let settings = &config.summary;
    let limit = match review::limit(settings.timeout.as_deref(), Summary::USUAL_SECONDS) {
        Ok(limit) => limit,
        Err(failure) => return Ok(Err(failure)),
    };
    let question = Question {
        wanted: Wanted::Summary,
        model: model.or(settings.model.as_deref()),
        limit,
        newest: NEWEST,
        steps,
    };
    let reply = review::ask(runner, thread, &question)?;
    Ok(reply.and_then(|reply| match reply {
        ReviewReply::Summary { text, model, usage } => Ok(SummaryNode {
            head: thread.head,
            text,
            model,
            usage,
        }),
        ReviewReply::Failed(failure) => Err(failure),
        ReviewReply::Verdict { .. } => {
            let problem = "the reply is no summary".to_owned();
            Err(ReviewFailure::new("broken", problem))
        }
    }))
}

/// Counts what the failed summary used up, logs the failure, and returns the error.
fn not_summarized(site: &Site, thread: &Thread, failure: ReviewFailure) -> EngineError {
    let ReviewFailure { code, problem, .. } = &failure;
    let message = site.loggable(&format!("code={code} {problem}"));
    site.log(thread, tags::NOT_SUMMARIZED, &message);
    let counted = match failure.usage.as_deref() {
        Some(usage) => change(site, thread.id, |summaries| summaries.count(Some(usage))),
        None => Ok(()),
    };
    let error = ReviewError::NotSummarized {
        thread: thread.id,
        failure: Box::new(failure),
    };
    counted.err().unwrap_or(error.into())
}

/// Changes the record of a thread's summary. Threads are removed under the lock of the state, and two calls may summarize
/// one thread.
fn change(
    site: &Site,
    id: ThreadId,
    change: impl FnOnce(&mut Summaries),
) -> Result<(), EngineError> {
    let _lock = site.root.lock_state()?;
    thread::find(site, id)?;
    let ledger = site.root.run(id).ledger;
    let mut summaries = ledger.summaries();
    change(&mut summaries);
    Ok(ledger.write_summaries(&summaries)?)
}
