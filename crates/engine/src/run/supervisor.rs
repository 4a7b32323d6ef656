//! The supervisor of a thread: a model that looks at the thread after some steps and may suspend it. It never ends a
//! thread, and if it fails in any way, the thread goes on.

use uwf_protocol::config::Supervisor;
use uwf_protocol::review::{
    RecordedVerdict, ReviewFailure, ReviewReply, Reviews, VerdictNode, Wanted,
};
use uwf_storage::RunDir;

use crate::limits::LimitedThread;
use crate::read::verdict;
use crate::review_error::ReviewError;
use crate::run::admission::Admitted;
use crate::run::review::{self, Question};
use crate::thread::Thread;
use crate::{EngineError, Runner, Site, limits, tags};

/// How many of the newest steps the model sees.
const NEWEST: usize = 12;

/// Whether a model was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    No,
    /// It may have used something up, so the limits have to be compared again.
    Yes,
}

/// Lets a thread pass that its supervisor does not suspend. The model is asked only if its turn has come, and only once
/// about a head: a later call finds the verdict, or the failure, on record.
///
/// # Errors
/// When the thread is suspended, now or since an earlier call; when a signal tells us to stop.
pub(crate) fn pass(
    runner: &Runner,
    run: &RunDir,
    thread: &Thread,
    admitted: &Admitted,
) -> Result<Asked, EngineError> {
    let supervisor = &admitted.config.supervisor.of(thread.program.supervisor());
    let Some(every) = supervisor.every else {
        return Ok(Asked::No);
    };
    let reviews = run.ledger.reviews();
    if let Some(known) = reviews.verdict_on(thread.head) {
        return match known.holds() {
            true => Err(held(runner, thread, known, false)),
            false => Ok(Asked::No),
        };
    }
    if reviews.failed == Some(thread.head) {
        return Ok(Asked::No);
    }
    let steps = admitted.summary.steps;
    if steps == 0 || !steps.is_multiple_of(u64::from(every.get())) {
        return Ok(Asked::No);
    }
    let verdict = judge(runner, run, thread, (supervisor, steps), reviews)?;
    match verdict.filter(RecordedVerdict::holds) {
        Some(verdict) => Err(held(runner, thread, &verdict, true)),
        None => Ok(Asked::Yes),
    }
}

/// Asks the model and records its verdict. A failure is only logged.
fn judge(
    runner: &Runner,
    run: &RunDir,
    thread: &Thread,
    (supervisor, steps): (&Supervisor, u64),
    reviews: Reviews,
) -> Result<Option<RecordedVerdict>, EngineError> {
    let timeout = supervisor.timeout.as_deref();
    let reply = match review::limit(timeout, Supervisor::USUAL_SECONDS) {
        Ok(limit) => {
            let question = Question {
                wanted: Wanted::Verdict,
                model: supervisor.model.as_deref(),
                limit,
                newest: NEWEST,
                steps,
            };
            (runner.notice)("the supervisor looks at the thread");
            review::ask(runner, thread, &question)?
        }
        Err(failure) => Err(failure),
    };
    match reply {
        Ok(ReviewReply::Verdict {
            decision,
            reason,
            model,
            usage,
        }) => {
            let verdict = VerdictNode {
                head: thread.head,
                decision,
                reason,
                model,
                usage,
            };
            record(runner, run, thread, &verdict, reviews).map(Some)
        }
        Ok(ReviewReply::Summary { .. } | ReviewReply::Failed(_)) => {
            let other = ReviewFailure::new("broken", "the reply is no verdict".to_owned());
            note_failure(runner, run, thread, &other).map(|()| None)
        }
        Err(failure) => note_failure(runner, run, thread, &failure).map(|()| None),
    }
}

/// Stores a verdict and puts it on record. The node comes first: a record never names a node that is not there.
fn record(
    runner: &Runner,
    run: &RunDir,
    thread: &Thread,
    verdict: &VerdictNode,
    mut reviews: Reviews,
) -> Result<RecordedVerdict, EngineError> {
    let schema = verdict.usage.cost_kind().verdict();
    let recorded = RecordedVerdict {
        node: review::put(&runner.site, schema, verdict)?,
        head: verdict.head,
        decision: verdict.decision,
        released: false,
    };
    reviews.count(Some(&verdict.usage));
    reviews.add_verdict(recorded.clone());
    run.ledger.write_reviews(&reviews)?;
    let message = format!(
        "decision={} verdict={}",
        verdict.decision.as_str(),
        recorded.node
    );
    runner.site.log(thread, tags::JUDGED, &message);
    Ok(recorded)
}

fn note_failure(
    runner: &Runner,
    run: &RunDir,
    thread: &Thread,
    failure: &ReviewFailure,
) -> Result<(), EngineError> {
    let ReviewFailure { code, problem, .. } = failure;
    let message = runner.site.loggable(&format!("code={code} {problem}"));
    runner.site.log(thread, tags::NOT_JUDGED, &message);
    let mut reviews = run.ledger.reviews();
    if failure.usage.is_some() {
        reviews.count(failure.usage.as_deref());
    }
    reviews.failed = Some(thread.head);
    run.ledger.write_reviews(&reviews)?;
    Ok(())
}

/// Returns the error that says why the thread is suspended.
fn held(runner: &Runner, thread: &Thread, verdict: &RecordedVerdict, is_new: bool) -> EngineError {
    ReviewError::Held {
        is_new,
        thread: thread.id,
        reason: verdict::reason(&runner.site.store, verdict),
    }
    .into()
}

/// Tells whether the supervisor suspends a thread at its head.
pub(crate) fn holds(site: &Site, run: &RunDir, thread: &Thread) -> bool {
    let config = limits::config_for_views(site);
    let limited = LimitedThread::of(&run.ledger, thread);
    verdict::held(&site.store, &limited, &config).is_some()
}

/// Lets a thread go on that its supervisor suspended: a person wants that.
pub(crate) fn release(runner: &Runner, run: &RunDir, thread: &Thread) -> Result<(), EngineError> {
    let mut reviews = run.ledger.reviews();
    if reviews.release(thread.head) {
        run.ledger.write_reviews(&reviews)?;
        runner.site.log(thread, tags::RELEASED, "");
    }
    Ok(())
}
