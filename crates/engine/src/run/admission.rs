//! Admission: whether an agent may be started within the limits of its thread, and what a person allows beyond them.

use uwf_config::Unused;
use uwf_moderator::{Assignment, Performer};
use uwf_protocol::chain::ChainSummary;
use uwf_protocol::config::Config;
use uwf_protocol::ids::RoleName;
use uwf_protocol::limits::{Reached, Rules, Setting, Used};
use uwf_protocol::retry::{NextTry, When, tried_agents};
use uwf_storage::RunDir;

use crate::agent_choice::{AgentChoice, alias_for};
use crate::children::redone::used_since;
use crate::children::used::{Sums, used_in_progress};
use crate::limits::{LimitedThread, reached_by};
use crate::planned_try::{PlannedTry, Waiting, of_role};
use crate::project::config_for;
use crate::run::attempted::Verb;
use crate::run::cycle::{Early, Session, StepOptions};
use crate::thread::Thread;
use crate::waiting_answer::{Asked, WaitingAnswer};
use crate::{EngineError, Site, lost_run, tags, waiting_answer};

/// Permission to start an agent: proof that no limit of the thread is reached. It carries what was read for the check.
pub(crate) struct Admitted {
    pub(crate) config: Config,
    pub(crate) summary: ChainSummary,
    /// The config of the thread's project, if it is not used.
    pub(crate) unused: Option<Unused>,
    /// Who makes the next attempt, if the config and the failures of earlier ones decide that.
    pub(crate) next: Option<NextTry>,
}

/// Tells whether a thread has limits at all.
pub(crate) fn has_limits(thread: &Thread, config: &Config) -> bool {
    !(thread.program.limits().is_empty() && config.limits.is_empty())
}

/// Returns the limits that keep a thread from a step of a role, with what the children used up that work for it.
pub(crate) fn reached(
    site: &Site,
    run: &RunDir,
    (thread, role): (&Thread, &RoleName),
    admitted: &Admitted,
    by_children: Used,
) -> Result<Vec<Reached>, EngineError> {
    let mut by_children = by_children;
    if has_limits(thread, &admitted.config) {
        by_children.add_all(&used_since(site, thread)?);
    }
    let limited = LimitedThread {
        by_children,
        ..LimitedThread::of(&run.ledger, thread)
    };
    let config = &admitted.config.limits;
    let (reached, usage) = reached_by(&site.store, &limited, role, config, &admitted.summary)?;
    if let Some(usage) = usage {
        run.ledger.write_chain_usage(&usage)?;
    }
    Ok(reached)
}

/// Admits the role of an assignment to the next step, unless a limit is reached or an answer would be lost. A new session
/// gives such an answer up.
pub(crate) fn admit(
    site: &Site,
    run: &RunDir,
    thread: &Thread,
    assignment: &Assignment,
    (verb, options): (&Verb, &StepOptions),
) -> Result<Admitted, EngineError> {
    let role = &assignment.role;
    let (config, unused) = config_for(site, &thread.start)?;
    let is_ordinary = *verb == Verb::Step
        && options.choice.agent.is_none()
        && thread.replaces.is_none()
        && assignment.performer == Performer::Agent;
    let place = (thread.head, role);
    let name = thread.program.name();
    let next = is_ordinary.then(|| of_role(site, &config, name, place, &run.ledger));
    let next = next.flatten();
    if options.session == Session::Known {
        let first = is_ordinary.then(|| alias_for(&config, name, role));
        let choices = choices(&config, first.flatten(), &options.choice);
        let asked = Asked {
            config: &config,
            words: verb.message(),
            choices: &choices,
        };
        waiting_answer::refuse_to_drop_an_answer(run, thread, &asked)?;
    }
    lost_run::record_lost_run(site, run, thread)?;
    let summary = thread.summary(&site.store, &run.ledger)?;
    let admitted = Admitted {
        config,
        summary,
        unused,
        next,
    };
    // A step that is done again already counts what its children used up.
    let is_new = thread.replaces.is_none();
    let by_children = match assignment.performer {
        Performer::Children if is_new && has_limits(thread, &admitted.config) => {
            let mut sums = Sums::read(&run.ledger);
            let used = used_in_progress(site, thread, assignment, &mut sums)?;
            sums.keep()?;
            used
        }
        _ => Used::default(),
    };
    let reached = reached(site, run, (thread, role), &admitted, by_children)?;
    if reached.is_empty() {
        return Ok(admitted);
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

/// Returns what a call may choose: what the command line says, or each agent that the config tries if it says none.
fn choices(config: &Config, first: Option<&str>, said: &AgentChoice) -> Vec<AgentChoice> {
    let Some(first) = first else {
        return vec![said.clone()];
    };
    let choice = |alias: &str| AgentChoice {
        agent: Some(alias.to_owned()),
        ..said.clone()
    };
    tried_agents(config, first)
        .into_iter()
        .map(choice)
        .collect()
}

/// Fails if a call comes before the time of the next attempt. A call with `--now`, a call with `--new-session`, and a call that
/// uses an answer that waits are never too early.
pub(crate) fn refuse_early(
    run: &RunDir,
    thread: &Thread,
    (role, next): (&RoleName, Option<&NextTry>),
    options: &StepOptions,
) -> Result<(), EngineError> {
    let Some(next) = next else {
        return Ok(());
    };
    let is_early = matches!(next.when, When::At(_))
        && options.early == Early::Refuse
        && options.session == Session::Known
        && WaitingAnswer::at(run, thread.expected_head()).is_none();
    match PlannedTry::of(thread.id, next.clone(), 0) {
        Some(planned) if is_early => Err(EngineError::Waiting(Box::new(Waiting {
            planned,
            role: role.clone(),
            class: next.class,
        }))),
        Some(_) | None => Ok(()),
    }
}

/// Accepts attempts whose usage is not fully known: they count with what is known.
pub(crate) fn accept(
    site: &Site,
    run: &RunDir,
    thread: &Thread,
    attempts: &[u64],
) -> Result<(), EngineError> {
    if attempts.is_empty() {
        return Ok(());
    }
    // An attempt whose engine died is recorded only now, and may be one of these.
    lost_run::record_lost_run(site, run, thread)?;
    if let Some(number) = run.ledger.accept_unknown(attempts)? {
        let thread = thread.id;
        return Err(EngineError::NoAttempt { thread, number });
    }
    site.log(thread, tags::ACCEPTED, &format!("attempts={attempts:?}"));
    Ok(())
}

/// Records the limits that a person raises.
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
    let raised: Vec<String> = settings.iter().map(ToString::to_string).collect();
    site.log(thread, tags::RAISED, &raised.join(" "));
    Ok(())
}
