//! Decides which agent makes the next attempt at a step, and when: from the attempts that failed there, and from what the
//! config says about the agents.

use std::num::NonZeroU32;

use crate::config::{Config, Retry};
use crate::failure::FailureClass;
use crate::ids::{CasRef, RoleName};
use crate::run::Attempt;
use uwf_util::time::parse_duration;

/// The longest time that doubling leads to: an hour.
const MAX_BACKOFF_MS: u64 = 3_600_000;

/// The longest time that a provider is believed to ask for: eight days, because some quotas are those of a week.
const MAX_ASKED_MS: u64 = 8 * 24 * 3_600_000;

/// How far the clock may be behind the end of an attempt. If it is farther, it was set back since then, and nobody knows how
/// long ago the attempt was.
const MAX_BEHIND_MS: i64 = 60_000;

/// Which agent makes the next attempt at a step, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NextTry {
    /// The alias of the agent.
    pub agent: String,
    /// When it is started.
    pub when: When,
    /// The class of the last failure, if the attempt is planned because of it.
    pub class: Option<FailureClass>,
}

/// When the next attempt is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// When somebody wants it: nothing is planned. No attempt has failed, or the config has no answer to the failure.
    AnyTime,
    /// At once: the config wants the attempt, and its time has come.
    Due,
    /// At this time, in milliseconds since 1970.
    At(i64),
}

/// An agent that may be tried, with what the config says about its failures.
struct Candidate<'a> {
    agent: &'a str,
    max: usize,
    backoff_ms: u64,
    on: &'a [FailureClass],
}

/// Decides about the next attempt at the step of a role after a head. `first` is the alias of the agent that the role gets.
///
/// An agent is tried as long as it has failed no more often than its `retry.max` allows; then its fallbacks are, in order.
/// Attempts that a person asked for in a special way count for nothing, nor do those that were cut off. When as many attempts
/// failed there as are kept, nobody knows how many there were, and none follows by itself.
#[must_use]
pub fn next_try(
    config: &Config,
    first: &str,
    (head, role): (CasRef, &RoleName),
    attempts: &[Attempt],
    now_ms: i64,
) -> NextTry {
    let is_here = |one: &&Attempt| (one.head, one.replaces, &one.role) == (head, None, role);
    let known = attempts.iter().filter(is_here);
    let are_all_known = known.clone().count() < Attempt::KEPT;
    let here: Vec<&Attempt> = known.filter(|one| counts(one)).collect();
    let candidates = candidates(config, first);
    let as_usual = |agent: &str| NextTry {
        agent: agent.to_owned(),
        when: When::AnyTime,
        class: None,
    };
    let is_left = |one: &&Candidate<'_>| one.failures(&here).count() <= one.max;
    let Some(next) = candidates.iter().find(is_left).filter(|_| are_all_known) else {
        return as_usual(first);
    };
    let is_answered = |last: &&&Attempt| candidates.iter().any(|one| one.is_failure(last));
    match here.last().filter(is_answered) {
        None => as_usual(next.agent),
        Some(last) => NextTry {
            agent: next.agent.to_owned(),
            when: next.when(&here, now_ms),
            class: last.class,
        },
    }
}

/// Returns the aliases of the agents that may be tried if the role gets the first one: itself, and its fallbacks.
#[must_use]
pub fn tried_agents<'a>(config: &'a Config, first: &'a str) -> Vec<&'a str> {
    let candidates = candidates(config, first).into_iter();
    candidates.map(|one| one.agent).collect()
}

/// Tells whether an attempt counts: it was an ordinary one, and failed by itself.
fn counts(attempt: &Attempt) -> bool {
    let is_chosen = attempt
        .chosen
        .as_ref()
        .is_some_and(|chosen| chosen.option.is_some());
    !is_chosen && attempt.words.is_none() && !attempt.was_cut_off()
}

/// Returns the agents in the order in which they are tried: the first one, and behind each its fallbacks with theirs. None
/// is tried twice, even if the fallbacks lead in a circle.
fn candidates<'a>(config: &'a Config, first: &'a str) -> Vec<Candidate<'a>> {
    let mut found: Vec<Candidate<'_>> = Vec::new();
    let mut left = vec![first];
    while let Some(agent) = left.pop() {
        if found.iter().any(|one| one.agent == agent) {
            continue;
        }
        let configured = config.agents.get(agent);
        let retry = configured.map(|it| &it.retry);
        let max = retry.and_then(|it| it.max).map_or(0, NonZeroU32::get);
        let backoff = retry.and_then(|it| it.backoff.as_deref());
        found.push(Candidate {
            agent,
            max: usize::try_from(max).unwrap_or(usize::MAX),
            // A config with another text cannot be loaded.
            backoff_ms: backoff
                .and_then(parse_duration)
                .unwrap_or(Retry::USUAL_BACKOFF_MS),
            on: retry
                .and_then(|it| it.on.as_deref())
                .unwrap_or(&Retry::USUAL),
        });
        let fallback = configured.into_iter().flat_map(|it| &it.fallback);
        left.extend(fallback.rev().map(String::as_str));
    }
    found
}

impl Candidate<'_> {
    /// Tells whether an attempt is a failure of this agent that the config has an answer to.
    fn is_failure(&self, attempt: &Attempt) -> bool {
        attempt.alias.as_deref() == Some(self.agent)
            && attempt.class.is_some_and(|class| self.on.contains(&class))
    }

    fn failures<'a>(&self, here: &[&'a Attempt]) -> impl DoubleEndedIterator<Item = &'a Attempt> {
        here.iter().copied().filter(|one| self.is_failure(one))
    }

    /// Returns when this agent is tried again: after its backoff, or when the provider allows it, whichever is later.
    fn when(&self, here: &[&Attempt], now_ms: i64) -> When {
        let Some(last) = self.failures(here).next_back() else {
            return When::Due;
        };
        let doublings = self.failures(here).count().saturating_sub(1);
        let doublings = u32::try_from(doublings).unwrap_or(u32::MAX);
        let factor = 2u64.saturating_pow(doublings);
        let longest = MAX_BACKOFF_MS.max(self.backoff_ms);
        let backoff_ms = self.backoff_ms.saturating_mul(factor).min(longest);
        let asked_ms = last.retry_after_ms.unwrap_or_default().min(MAX_ASKED_MS);
        let wait_ms = i64::try_from(backoff_ms.max(asked_ms)).unwrap_or(i64::MAX);
        let at_ms = last.ended_at_ms.saturating_add(wait_ms);
        let is_set_back = now_ms < last.ended_at_ms.saturating_sub(MAX_BEHIND_MS);
        match is_set_back || at_ms <= now_ms {
            true => When::Due,
            false => When::At(at_ms),
        }
    }
}

#[cfg(test)]
mod tests;
