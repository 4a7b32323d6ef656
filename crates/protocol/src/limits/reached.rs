//! Deciding which limits of a thread are reached. The caller brings the sums.

use std::fmt;
use std::num::NonZeroU64;

use serde::Serialize;
use uwf_util::amount::dollars;
use uwf_util::time;

use super::{Limits, Setting, Span, UnknownUsage, Usd, Used};
use crate::ids::RoleName;
use crate::run::Attempt;
use crate::schemas::CostKind;

/// What a thread has spent before its next step.
#[derive(Debug, Clone, PartialEq)]
pub struct Spent<'a> {
    /// How many steps it has.
    pub steps: u64,
    /// The role of the next step.
    pub role: &'a RoleName,
    /// How many steps that role did.
    pub visits: u64,
    /// What all runs used up. It is read only if [`Rules::need_usage`].
    pub used: Used,
}

/// All limits of one thread. If the workflow and the config have the same limit, the stricter one counts.
#[derive(Debug, Clone, Copy)]
pub struct Rules<'a> {
    /// The limits of the workflow.
    pub workflow: &'a Limits,
    /// The limits of the config.
    pub config: &'a Limits,
    /// The limits that a person raised.
    pub raises: &'a [Setting],
}

/// Who set a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SetBy {
    /// The workflow.
    Workflow,
    /// The config.
    Config,
    /// A person who raised it.
    Raise,
}

/// One limit of a thread, raised if a person raised it.
struct Limit<'a> {
    /// The limits that it is one of.
    limits: &'a Limits,
    set_by: SetBy,
    max: Amount,
}

/// What is limited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Key {
    /// Steps of the thread.
    MaxSteps,
    /// Steps of one role.
    MaxVisits,
    /// Cost of all runs.
    MaxCostUsd,
    /// Tokens of all runs.
    MaxTokens,
    /// Time of all runs.
    MaxDuration,
}

/// An amount of what a limit is about.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Amount {
    /// Steps, visits or tokens.
    Count(u64),
    /// US dollars.
    Usd(f64),
    /// Milliseconds.
    Ms(u64),
}

/// A limit that is reached.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Reached {
    /// Which limit.
    pub key: Key,
    /// The role of the next step.
    pub role: RoleName,
    /// The limit: a count, dollars, or milliseconds.
    pub max: Amount,
    /// What was spent, as far as it is known.
    pub spent: Amount,
    /// Whether that is a cost of which a part was computed from tokens and prices.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cost_estimated: bool,
    /// How many runs have unknown usage, if the limit counts as reached for that.
    pub unknown: Option<u64>,
    /// How many runs there were.
    pub runs: u64,
    /// Who set the limit.
    pub set_by: SetBy,
    /// The setting that lets the thread go on.
    pub raise: Setting,
    /// The failed attempts with unknown usage, if no step has unknown usage: accepting them lets the thread go on, too.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub accept: Vec<u64>,
}

/// Says why a setting raises nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RaiseError {
    /// There is no such limit.
    #[error("`{0}` raises nothing: the thread has no such limit")]
    NotLimited(Setting),
    /// The limit is higher already.
    #[error("`{0}` would lower a limit that is {1}")]
    Lower(Setting, String),
    /// It makes a limit stricter.
    #[error("`{0}` raises nothing: only `unknownUsage=ignore` does")]
    Stricter(Setting),
}

impl Reached {
    /// Adds the failed attempts with unknown usage, if no step has unknown usage.
    #[must_use]
    pub fn with_attempts(self, attempts: &[Attempt]) -> Self {
        let tells_not = |attempt: &&Attempt| Used::of_attempt(attempt).unknown(self.key) > 0;
        let accept: Vec<u64> = attempts
            .iter()
            .filter(tells_not)
            .map(|attempt| attempt.number)
            .collect();
        let are_all = self.unknown == Some(accept.len() as u64);
        Self {
            accept: if are_all { accept } else { Vec::new() },
            ..self
        }
    }
}

impl<'a> Rules<'a> {
    /// Tells whether nothing is limited.
    #[must_use]
    pub fn are_empty(&self) -> bool {
        self.workflow.is_empty() && self.config.is_empty()
    }

    /// Tells whether any limit depends on the usage of runs.
    #[must_use]
    pub fn need_usage(&self) -> bool {
        let needs = |limits: &Limits| {
            limits.max_cost_usd.is_some()
                || limits.max_tokens.is_some()
                || limits.max_duration.is_some()
        };
        needs(self.workflow) || needs(self.config)
    }

    /// Returns the reached limits; the next step may run if there are none.
    ///
    /// A run with unknown usage counts as reaching the limit, unless the workflow or config that set the limit ignores such
    /// runs, or a person raised `unknownUsage`.
    #[must_use]
    pub fn reached(&self, spent: &Spent<'_>) -> Vec<Reached> {
        let mut reached = Vec::new();
        for key in Key::ALL {
            let limits = self.on(key, spent.role);
            let (amount, unknown) = spent.of(key);
            let strictest = limits
                .iter()
                .min_by(|a, b| a.max.value().total_cmp(&b.max.value()));
            let new = |limit: &Limit<'_>, unknown, raise| Reached {
                key,
                role: spent.role.clone(),
                max: limit.max,
                spent: amount,
                cost_estimated: key == Key::MaxCostUsd && spent.used.cost_estimated,
                unknown,
                runs: spent.used.runs,
                set_by: limit.set_by,
                raise,
                accept: Vec::new(),
            };
            if let Some(limit) = strictest
                && amount.value() >= limit.max.value()
            {
                let raise = key.setting(spent.role, limit.max.doubled_beyond(amount));
                reached.push(new(limit, None, raise));
            }
            let mut strict = limits
                .iter()
                .filter(|limit| !self.ignores_unknown(limit.limits));
            if let Some(limit) = strict.next()
                && unknown > 0
            {
                let raise = Setting::UnknownUsage(UnknownUsage::Ignore);
                reached.push(new(limit, Some(unknown), raise));
            }
        }
        reached
    }

    /// Checks that a setting raises a limit of the thread. It may also repeat an earlier raise, so that a call that failed
    /// for another reason can be repeated.
    ///
    /// # Errors
    /// When there is no such limit, or it is higher already.
    pub fn check_raise(&self, raise: &Setting, roles: &[RoleName]) -> Result<(), RaiseError> {
        let Some(key) = Key::of(raise) else {
            return match raise {
                Setting::UnknownUsage(UnknownUsage::Ignore) => Ok(()),
                _ => Err(RaiseError::Stricter(raise.clone())),
            };
        };
        let concerned = roles
            .iter()
            .filter(|role| amount_for(raise, key, role).is_some());
        let current = concerned.flat_map(|role| self.on(key, role).into_iter());
        let lowest = current
            .map(|limit| limit.max)
            .min_by(|a, b| a.value().total_cmp(&b.value()))
            .ok_or_else(|| RaiseError::NotLimited(raise.clone()))?;
        let lowers = roles
            .iter()
            .filter_map(|role| amount_for(raise, key, role))
            .any(|amount| amount.value() < lowest.value());
        if lowers {
            return Err(RaiseError::Lower(raise.clone(), lowest.to_string()));
        }
        Ok(())
    }

    /// Returns the limits of a key for a role: at most one of the workflow and one of the config, raised if a person did.
    fn on(&self, key: Key, role: &RoleName) -> Vec<Limit<'a>> {
        let raises = self
            .raises
            .iter()
            .filter_map(|raise| amount_for(raise, key, role));
        let raised = raises.max_by(|a, b| a.value().total_cmp(&b.value()));
        let both = [
            (SetBy::Workflow, self.workflow),
            (SetBy::Config, self.config),
        ];
        let of = |(set_by, limits): (SetBy, &'a Limits)| {
            let max = key.of_limits(limits, role)?;
            let raised = raised.filter(|raised| raised.value() > max.value());
            let (set_by, max) = match raised {
                Some(raised) => (SetBy::Raise, raised),
                None => (set_by, max),
            };
            Some(Limit {
                limits,
                set_by,
                max,
            })
        };
        both.into_iter().filter_map(of).collect()
    }

    fn ignores_unknown(&self, limits: &Limits) -> bool {
        let ignore = Setting::UnknownUsage(UnknownUsage::Ignore);
        limits.unknown_usage == Some(UnknownUsage::Ignore) || self.raises.contains(&ignore)
    }
}

/// Returns the value that a setting gives a key for a role, if it gives one.
fn amount_for(setting: &Setting, key: Key, role: &RoleName) -> Option<Amount> {
    let mut limits = Limits::default();
    limits.set(setting.clone());
    key.of_limits(&limits, role)
}

impl Key {
    const ALL: [Self; 5] = [
        Self::MaxSteps,
        Self::MaxVisits,
        Self::MaxCostUsd,
        Self::MaxTokens,
        Self::MaxDuration,
    ];

    /// Returns the key as it is written.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::MaxSteps => "maxSteps",
            Self::MaxVisits => "maxVisits",
            Self::MaxCostUsd => "maxCostUsd",
            Self::MaxTokens => "maxTokens",
            Self::MaxDuration => "maxDuration",
        }
    }

    fn of(setting: &Setting) -> Option<Self> {
        Some(match setting {
            Setting::MaxSteps(_) => Self::MaxSteps,
            Setting::MaxVisits(..) => Self::MaxVisits,
            Setting::MaxCostUsd(_) => Self::MaxCostUsd,
            Setting::MaxTokens(_) => Self::MaxTokens,
            Setting::MaxDuration(_) => Self::MaxDuration,
            Setting::UnknownUsage(_) => return None,
        })
    }

    fn of_limits(self, limits: &Limits, role: &RoleName) -> Option<Amount> {
        let count = |max: NonZeroU64| Amount::Count(max.get());
        match self {
            Self::MaxSteps => limits.max_steps.map(count),
            Self::MaxVisits => limits.max_visits.as_ref()?.of(role).map(count),
            Self::MaxCostUsd => limits.max_cost_usd.map(|max| Amount::Usd(max.get())),
            Self::MaxTokens => limits.max_tokens.map(count),
            Self::MaxDuration => limits.max_duration.map(|max| Amount::Ms(max.ms())),
        }
    }

    /// Returns the setting of this key for a role.
    fn setting(self, role: &RoleName, max: Amount) -> Setting {
        let count = match max {
            Amount::Count(count) | Amount::Ms(count) => count,
            Amount::Usd(_) => 1,
        };
        let count = NonZeroU64::new(count).unwrap_or(NonZeroU64::MIN);
        match self {
            Self::MaxSteps => Setting::MaxSteps(count),
            Self::MaxVisits => Setting::MaxVisits(Some(role.clone()), count),
            Self::MaxCostUsd => Setting::MaxCostUsd(Usd(max.value())),
            Self::MaxTokens => Setting::MaxTokens(count),
            Self::MaxDuration => Setting::MaxDuration(Span(count.get())),
        }
    }
}

impl Amount {
    /// Returns the number alone, to compare it with another amount of the same.
    #[expect(clippy::cast_precision_loss, reason = "no limit is near 2^53")]
    fn value(self) -> f64 {
        match self {
            Self::Count(count) | Self::Ms(count) => count as f64,
            Self::Usd(usd) => usd,
        }
    }

    /// Doubles the amount until it is beyond what was spent: a proposal for a new limit.
    fn doubled_beyond(self, spent: Self) -> Self {
        let mut doubled = self;
        for _ in 0..u64::BITS {
            doubled = match doubled {
                Self::Count(count) => Self::Count(count.saturating_mul(2)),
                Self::Usd(usd) => Self::Usd(usd * 2.0),
                Self::Ms(ms) => Self::Ms(ms.saturating_mul(2)),
            };
            if doubled.value() > spent.value() {
                break;
            }
        }
        doubled
    }
}

impl Spent<'_> {
    /// Returns what was spent of the kind that a key limits, and how many runs have unknown usage.
    fn of(&self, key: Key) -> (Amount, u64) {
        let used = &self.used;
        match key {
            Key::MaxSteps => (Amount::Count(self.steps), 0),
            Key::MaxVisits => (Amount::Count(self.visits), 0),
            Key::MaxCostUsd => (Amount::Usd(used.cost_usd), used.unknown(key)),
            Key::MaxTokens => (Amount::Count(used.tokens), used.unknown(key)),
            Key::MaxDuration => (Amount::Ms(used.duration_ms), used.unknown(key)),
        }
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => write!(f, "{count}"),
            Self::Usd(usd) => f.write_str(&dollars(*usd)),
            Self::Ms(ms) => f.write_str(&time::format_duration(*ms)),
        }
    }
}

/// `maxSteps is reached: 10 of 10 steps (set by the workflow)`.
impl fmt::Display for Reached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (key, role) = (self.key.as_str(), &self.role);
        let set_by = match self.set_by {
            SetBy::Workflow => "the workflow",
            SetBy::Config => "the config",
            SetBy::Raise => "a raise",
        };
        let max = self.max;
        let spent = match self.spent {
            Amount::Usd(usd) => CostKind::of(self.cost_estimated).show(usd),
            spent => spent.to_string(),
        };
        let of = match self.key {
            Key::MaxSteps => "steps".to_owned(),
            Key::MaxVisits => format!("visits of `{role}`"),
            Key::MaxCostUsd => "were paid".to_owned(),
            Key::MaxTokens => "tokens".to_owned(),
            Key::MaxDuration => "of work".to_owned(),
        };
        match self.unknown {
            None => write!(
                f,
                "`{key}` is reached: {spent} of {max} {of} (set by {set_by})"
            ),
            Some(unknown) => {
                let what = match self.key {
                    Key::MaxCostUsd => "their cost",
                    Key::MaxTokens => "their tokens",
                    Key::MaxSteps | Key::MaxVisits | Key::MaxDuration => "how long they took",
                };
                let runs = self.runs;
                write!(
                    f,
                    "`{key}` may be reached: {unknown} of {runs} runs do not tell {what} (limit {max}, set by {set_by})"
                )
            }
        }
    }
}

#[cfg(test)]
mod tests;
