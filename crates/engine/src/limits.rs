//! Gathering what a thread has spent, and holding it against its limits. What counts, and when a limit is
//! reached, is decided by `uwf_protocol::limits`.

use uwf_cas_fs::Store;
use uwf_moderator::{Route, RouteError};
use uwf_protocol::chain::{ChainSummary, ChainUsage};
use uwf_protocol::ids::{CasRef, RoleName};
use uwf_protocol::limits::{Limits, Reached, Rules, Spent, Used};
use uwf_storage::Ledger;
use uwf_thread::{summarize, used_by, used_up_to};

use crate::thread::Thread;
use crate::{EngineError, Site};

/// Where a thread stands: what is spent there, and what its workflow allows.
pub(crate) struct Place<'a> {
    pub(crate) ledger: &'a Ledger,
    pub(crate) workflow: &'a Limits,
    pub(crate) head: CasRef,
    /// The step after the head that is done again.
    pub(crate) replaces: Option<CasRef>,
}

impl<'a> Place<'a> {
    pub(crate) fn of(ledger: &'a Ledger, thread: &'a Thread) -> Self {
        Self {
            ledger,
            workflow: thread.program.limits(),
            head: thread.head,
            replaces: thread.replaces,
        }
    }
}

/// Returns the limits that keep a thread from going on where the graph leads.
pub(crate) fn on_the_way(
    store: &Store,
    place: &Place<'_>,
    route: &Result<Route, RouteError>,
    config: &Limits,
) -> Result<Vec<Reached>, EngineError> {
    let role = match route {
        Ok(Route::To(assignment)) => &assignment.role,
        Ok(Route::Suspend { role, .. }) => role,
        Ok(Route::End) | Err(_) => return Ok(Vec::new()),
    };
    if place.workflow.is_empty() && config.is_empty() {
        return Ok(Vec::new());
    }
    let recorded = place.ledger.chain_summary();
    let summary = summarize(store, recorded.as_ref(), place.head)?;
    Ok(look(store, place, role, config, &summary)?.0)
}

/// Returns the limits of the config, none if it cannot be read. Only starting an agent fails for that: a view shows what
/// it was asked for.
pub(crate) fn of_config(site: &Site) -> Limits {
    let config = uwf_config::load(&site.root).ok().flatten();
    config.unwrap_or_default().limits
}

/// Returns the limits that are reached, and what the chain used up if that had to be summed anew.
pub(crate) fn look(
    store: &Store,
    place: &Place<'_>,
    role: &RoleName,
    config: &Limits,
    summary: &ChainSummary,
) -> Result<(Vec<Reached>, Option<ChainUsage>), EngineError> {
    let mut rules = Rules {
        workflow: place.workflow,
        config,
        raises: &[],
    };
    if rules.are_empty() {
        return Ok((Vec::new(), None));
    }
    let raises = place.ledger.raises();
    rules.raises = &raises;
    let mut spent = Spent {
        steps: summary.steps,
        role,
        visits: summary.visits_of(role),
        used: Used::default(),
    };
    let mut summed = None;
    if rules.need_usage() {
        let recorded = place.ledger.chain_usage();
        let is_new = recorded
            .as_ref()
            .is_none_or(|usage| usage.head != place.head);
        let usage = used_up_to(store, recorded.as_ref(), place.head)?;
        spent.used = usage.used.clone();
        spent.used.add_all(&place.ledger.used_by_attempts());
        if let Some(replaced) = place.replaces {
            spent.used.add_all(&used_by(store, replaced)?);
        }
        summed = is_new.then_some(usage);
    }
    let mut reached = rules.reached(&spent);
    if reached.iter().any(|one| one.unknown.is_some()) {
        let attempts = place.ledger.attempts();
        let with_attempts = reached.into_iter().map(|one| one.with_attempts(&attempts));
        reached = with_attempts.collect();
    }
    Ok((reached, summed))
}
