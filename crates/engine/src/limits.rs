//! Summing the usage of a thread and comparing it with its limits. `uwf_protocol::limits` decides what counts, and when a
//! limit is reached.

use uwf_cas_fs::Store;
use uwf_moderator::{Performer, Route, RouteError, head_status};
use uwf_protocol::chain::{ChainSummary, ChainUsage};
use uwf_protocol::config::Config;
use uwf_protocol::head_status::HeadStatus;
use uwf_protocol::ids::{CasRef, RoleName};
use uwf_protocol::limits::{Limits, Reached, Rules, Spent, Used};
use uwf_storage::Ledger;
use uwf_thread::{summarize, used_by, used_up_to};

use crate::children::has_children;
use crate::thread::Thread;
use crate::{EngineError, Site};

/// What the limits of a thread at a head depend on: the records of its usage, and the limits of its workflow.
pub(crate) struct LimitedThread<'a> {
    pub(crate) ledger: &'a Ledger,
    pub(crate) workflow: &'a Limits,
    pub(crate) head: CasRef,
    /// The step after the head that is done again, if one is.
    pub(crate) replaces: Option<CasRef>,
    /// What the children used up that work for the next step.
    pub(crate) by_children: Used,
    /// Whether the workflow has roles that children play.
    pub(crate) has_children: bool,
    /// Whether the workflow has a supervisor.
    pub(crate) has_supervisor: bool,
}

impl<'a> LimitedThread<'a> {
    pub(crate) fn of(ledger: &'a Ledger, thread: &'a Thread) -> Self {
        Self {
            ledger,
            workflow: thread.program.limits(),
            head: thread.head,
            replaces: thread.replaces,
            by_children: Used::default(),
            has_children: has_children(&thread.program),
            has_supervisor: thread.program.supervisor().is_some(),
        }
    }
}

/// Returns the reached limits that keep a thread from following its route.
pub(crate) fn reached_on_route(
    store: &Store,
    limited: &LimitedThread<'_>,
    route: &Result<Route, RouteError>,
    config: &Limits,
) -> Result<Vec<Reached>, EngineError> {
    let role = match route {
        // Limits count agents, and not steps of pipelines.
        Ok(Route::To(assignment)) if assignment.performer == Performer::Engine => {
            return Ok(Vec::new());
        }
        Ok(Route::To(assignment)) => &assignment.role,
        Ok(Route::Suspend { role, .. }) => role,
        Ok(Route::Stop { .. } | Route::End { .. }) | Err(_) => return Ok(Vec::new()),
    };
    if limited.workflow.is_empty() && config.is_empty() {
        return Ok(Vec::new());
    }
    let recorded = limited.ledger.chain_summary();
    let summary = summarize(store, recorded.as_ref(), limited.head)?;
    Ok(reached_by(store, limited, role, config, &summary)?.0)
}

/// Returns whether a step can be done at the head of a thread, as other machines are told. A limit of the workflow holds on all of them,
/// and one of a config only where the config is.
pub(crate) fn status_for_others(
    store: &Store,
    ledger: &Ledger,
    thread: &Thread,
    route: &Result<Route, RouteError>,
) -> Result<HeadStatus, EngineError> {
    let status = head_status(route);
    if status != HeadStatus::Ready {
        return Ok(status);
    }
    let limited = LimitedThread::of(ledger, thread);
    let reached = reached_on_route(store, &limited, route, &Limits::default())?;
    Ok(match reached.is_empty() {
        true => HeadStatus::Ready,
        false => HeadStatus::Suspended,
    })
}

/// Returns the limits of the config; none if the config cannot be read.
pub(crate) fn of_config(site: &Site) -> Limits {
    config_for_views(site).limits
}

/// Returns the config; an empty one if it cannot be read. That error belongs to the call that starts an agent: a view is
/// shown without it.
pub(crate) fn config_for_views(site: &Site) -> Config {
    let config = uwf_config::load(&site.root).ok().flatten();
    config.unwrap_or_default()
}

/// Returns the reached limits for a role, and the usage of the chain if it had to be summed anew.
pub(crate) fn reached_by(
    store: &Store,
    limited: &LimitedThread<'_>,
    role: &RoleName,
    config: &Limits,
    summary: &ChainSummary,
) -> Result<(Vec<Reached>, Option<ChainUsage>), EngineError> {
    let mut rules = Rules {
        workflow: limited.workflow,
        config,
        raises: &[],
    };
    if rules.are_empty() {
        return Ok((Vec::new(), None));
    }
    let raises = limited.ledger.raises();
    rules.raises = &raises;
    let mut spent = Spent {
        steps: summary.steps,
        role,
        visits: summary.visits_of(role),
        used: Used::default(),
    };
    let mut summed = None;
    if rules.need_usage() || limited.has_children {
        let recorded = limited.ledger.chain_usage();
        let is_new = recorded
            .as_ref()
            .is_none_or(|usage| usage.head != limited.head);
        let usage = used_up_to(store, recorded.as_ref(), limited.head)?;
        spent.used = usage.used.clone();
        spent
            .used
            .add_all(&limited.ledger.used_by_attempts(limited.head));
        spent.used.add_all(&limited.by_children);
        if let Some(replaced) = limited.replaces {
            spent.used.add_all(&used_by(store, replaced)?);
        }
        spent.steps += spent.used.child_steps;
        summed = is_new.then_some(usage);
    }
    let mut reached = rules.reached(&spent);
    if reached.iter().any(|one| one.unknown.is_some()) {
        let attempts = limited.ledger.attempts();
        let with_attempts = reached.into_iter().map(|one| one.with_attempts(&attempts));
        reached = with_attempts.collect();
    }
    Ok((reached, summed))
}
