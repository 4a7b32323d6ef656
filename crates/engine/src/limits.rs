//! Gathering what a thread has spent, and holding it against its limits. What counts, and when a limit is
//! reached, is decided by `uwf_protocol::limits`.

use uwf_cas_fs::Store;
use uwf_moderator::{Route, RouteError};
use uwf_protocol::chain::{ChainSummary, ChainUsage};
use uwf_protocol::config::Config;
use uwf_protocol::ids::{CasRef, RoleName};
use uwf_protocol::limits::{Limits, Reached, Rules, Setting, Spent, Used};
use uwf_protocol::nodes::{StepNode, Usage};
use uwf_storage::{RunDir, config};

use crate::chain::{self, Walk};
use crate::thread::Thread;
use crate::{Engine, EngineError, failure, tags};

/// The leave to start an agent: no limit of the thread is reached. It brings along what was read to know that.
pub(crate) struct Admitted {
    pub(crate) config: Config,
    pub(crate) summary: ChainSummary,
}

/// Where a thread stands: what is spent there, and what its workflow allows.
pub(crate) struct Place<'a> {
    pub(crate) run: &'a RunDir,
    pub(crate) workflow: &'a Limits,
    pub(crate) start: CasRef,
    pub(crate) head: CasRef,
    /// The step after the head that is done again.
    pub(crate) replaces: Option<CasRef>,
}

impl<'a> Place<'a> {
    pub(crate) fn of(run: &'a RunDir, thread: &'a Thread) -> Self {
        Self {
            run,
            workflow: &thread.workflow.limits,
            start: thread.start_hash,
            head: thread.head,
            replaces: thread.replaces,
        }
    }
}

/// Lets a role do the next step, unless a limit is reached.
pub(crate) fn admit(
    engine: &Engine,
    run: &RunDir,
    thread: &Thread,
    role: &RoleName,
) -> Result<Admitted, EngineError> {
    let config = config::load(&engine.root)?.unwrap_or_default();
    failure::record_lost_run(engine, run, thread)?;
    let summary = chain::summary(&engine.store, run, thread.start_hash, thread.head)?;
    let place = Place::of(run, thread);
    let (reached, usage) = look(&engine.store, &place, role, &config.limits, &summary)?;
    if let Some(usage) = usage {
        run.write_chain_usage(&usage)?;
    }
    if reached.is_empty() {
        return Ok(Admitted { config, summary });
    }
    engine.log(thread, tags::LIMIT_REACHED, &format!("role={role}"));
    Err(EngineError::Limit {
        thread: thread.id,
        reached,
        command: match thread.replaces {
            Some(_) => "poke",
            None => "resume",
        },
    })
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
    let recorded = place.run.chain_summary();
    let summary = chain::summarize(store, recorded.as_ref(), place.start, place.head)?;
    Ok(look(store, place, role, config, &summary)?.0)
}

/// Returns the limits of the config, none if it cannot be read. Only starting an agent fails for that: a view shows what
/// it was asked for.
pub(crate) fn of_config(engine: &Engine) -> Limits {
    let config = config::load(&engine.root).ok().flatten();
    config.unwrap_or_default().limits
}

/// Accepts attempts that do not tell what they used up: they count as they are.
pub(crate) fn accept(
    engine: &Engine,
    run: &RunDir,
    thread: &Thread,
    attempts: &[u64],
) -> Result<(), EngineError> {
    if attempts.is_empty() {
        return Ok(());
    }
    // The newest one may be on record only now.
    failure::record_lost_run(engine, run, thread)?;
    if let Some(number) = run.accept_unknown(attempts)? {
        let thread = thread.id;
        return Err(EngineError::NoAttempt { thread, number });
    }
    engine.log(thread, tags::ACCEPTED, &format!("attempts={attempts:?}"));
    Ok(())
}

/// Remembers what is allowed beyond the thread's limits.
pub(crate) fn raise(
    engine: &Engine,
    run: &RunDir,
    thread: &Thread,
    settings: &[Setting],
) -> Result<(), EngineError> {
    if settings.is_empty() {
        return Ok(());
    }
    let config = config::load(&engine.root)?.unwrap_or_default().limits;
    let before = run.raises();
    let rules = Rules {
        workflow: &thread.workflow.limits,
        config: &config,
        raises: &before,
    };
    let roles: Vec<RoleName> = thread.workflow.roles.keys().cloned().collect();
    for setting in settings {
        rules.check_raise(setting, &roles)?;
    }
    let mut raises = before.clone();
    raises.extend(settings.iter().filter(|one| !before.contains(one)).cloned());
    run.write_raises(&raises)?;
    let told: Vec<String> = settings.iter().map(ToString::to_string).collect();
    engine.log(thread, tags::RAISED, &told.join(" "));
    Ok(())
}

/// Returns the limits that are reached, and what the chain used up if that had to be summed anew.
fn look(
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
    let raises = place.run.raises();
    rules.raises = &raises;
    let mut spent = Spent {
        steps: summary.steps,
        role,
        visits: summary.visits_of(role),
        used: Used::default(),
    };
    let mut summed = None;
    if rules.need_usage() {
        let recorded = place.run.chain_usage();
        let is_new = recorded
            .as_ref()
            .is_none_or(|usage| usage.head != place.head);
        let usage = sum(store, recorded.as_ref(), place.head)?;
        spent.used = usage.used.clone();
        spent.used.add_all(&place.run.used_by_attempts());
        if let Some(replaced) = place.replaces {
            spent.used.add_all(&used_by(store, replaced)?);
        }
        summed = is_new.then_some(usage);
    }
    let mut reached = rules.reached(&spent);
    if reached.iter().any(|one| one.unknown.is_some()) {
        let attempts = place.run.attempts();
        let with_attempts = reached.into_iter().map(|one| one.with_attempts(&attempts));
        reached = with_attempts.collect();
    }
    Ok((reached, summed))
}

/// Sums what the steps up to a head used up. Only those are walked that the record does not know.
fn sum(
    store: &Store,
    recorded: Option<&ChainUsage>,
    head: CasRef,
) -> Result<ChainUsage, EngineError> {
    let mut missing = Vec::new();
    let mut used = Used::default();
    chain::walk(store, head, |hash, step| match recorded {
        Some(usage) if usage.head == hash => {
            used = usage.used.clone();
            Walk::Stop
        }
        Some(_) | None => {
            missing.push(step.clone());
            Walk::On
        }
    })?;
    for step in missing.iter().rev() {
        add_step(store, step, &mut used)?;
    }
    Ok(ChainUsage { head, used })
}

/// Returns what one step used up.
pub(crate) fn used_by(store: &Store, step: CasRef) -> Result<Used, EngineError> {
    let mut used = Used::default();
    add_step(store, &chain::read_step(store, step)?, &mut used)?;
    Ok(used)
}

/// Adds a step.
fn add_step(store: &Store, step: &StepNode, used: &mut Used) -> Result<(), EngineError> {
    let detail = store.need(step.detail)?;
    let usage = Usage::of_detail(&detail.payload);
    used.add(Some(&usage), step.duration_ms());
    Ok(())
}
