//! Whether an agent may be started: the limits of the thread, and what a person allows beyond them.

use uwf_protocol::chain::ChainSummary;
use uwf_protocol::config::Config;
use uwf_protocol::ids::RoleName;
use uwf_protocol::limits::{Rules, Setting};
use uwf_storage::RunDir;

use crate::limits::{Place, look};
use crate::run::failure;
use crate::thread::Thread;
use crate::{EngineError, Site, tags};

/// The leave to start an agent: no limit of the thread is reached. It brings along what was read to know that.
pub(crate) struct Admitted {
    pub(crate) config: Config,
    pub(crate) summary: ChainSummary,
}

/// Lets a role do the next step, unless a limit is reached.
pub(crate) fn admit(
    site: &Site,
    run: &RunDir,
    thread: &Thread,
    role: &RoleName,
) -> Result<Admitted, EngineError> {
    let config = uwf_config::load(&site.root)?.unwrap_or_default();
    failure::record_lost_run(site, run, thread)?;
    let summary = thread.summary(&site.store, &run.ledger)?;
    let place = Place::of(&run.ledger, thread);
    let (reached, usage) = look(&site.store, &place, role, &config.limits, &summary)?;
    if let Some(usage) = usage {
        run.ledger.write_chain_usage(&usage)?;
    }
    if reached.is_empty() {
        return Ok(Admitted { config, summary });
    }
    site.log(thread, tags::LIMIT_REACHED, &format!("role={role}"));
    Err(EngineError::Limit {
        thread: thread.id,
        reached,
        command: match thread.replaces {
            Some(_) => "poke",
            None => "resume",
        },
    })
}

/// Accepts attempts that do not tell what they used up: they count as they are.
pub(crate) fn accept(
    site: &Site,
    run: &RunDir,
    thread: &Thread,
    attempts: &[u64],
) -> Result<(), EngineError> {
    if attempts.is_empty() {
        return Ok(());
    }
    // The newest one may be on record only now.
    failure::record_lost_run(site, run, thread)?;
    if let Some(number) = run.ledger.accept_unknown(attempts)? {
        let thread = thread.id;
        return Err(EngineError::NoAttempt { thread, number });
    }
    site.log(thread, tags::ACCEPTED, &format!("attempts={attempts:?}"));
    Ok(())
}

/// Remembers what is allowed beyond the thread's limits.
pub(crate) fn raise(
    site: &Site,
    run: &RunDir,
    thread: &Thread,
    settings: &[Setting],
) -> Result<(), EngineError> {
    if settings.is_empty() {
        return Ok(());
    }
    let config = uwf_config::load(&site.root)?.unwrap_or_default().limits;
    let before = run.ledger.raises();
    let rules = Rules {
        workflow: thread.program.limits(),
        config: &config,
        raises: &before,
    };
    let roles: Vec<RoleName> = thread.program.roles().cloned().collect();
    for setting in settings {
        rules.check_raise(setting, &roles)?;
    }
    let mut raises = before.clone();
    raises.extend(settings.iter().filter(|one| !before.contains(one)).cloned());
    run.ledger.write_raises(&raises)?;
    let told: Vec<String> = settings.iter().map(ToString::to_string).collect();
    site.log(thread, tags::RAISED, &told.join(" "));
    Ok(())
}
