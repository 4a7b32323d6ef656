//! Merges two records of one thread that several machines work on in turn. Both machines are trusted alike; what a stranger
//! says is [absorbed](ThreadRecord::absorb).

use std::collections::BTreeMap;

use super::{Attempt, ThreadRecord};
use crate::chain::ChainUsage;
use crate::ids::CasRef;
use crate::limits::{Setting, Used};

/// What tells an attempt from all others of its thread: its start, its place, and who made it. A thread has one attempt after
/// the other, so no two of them start at one time.
type Identity = (i64, String);

impl ThreadRecord {
    /// Returns what both records know together. It is the same whichever comes first, and merging one of them again changes
    /// nothing. No amount is smaller than in one of them.
    ///
    /// Two attempts may have one number, if both machines made one without knowing of the other. Then one of them gets another
    /// number. So a machine merges while no finished step waits that names attempts.
    #[must_use]
    pub fn merged(&self, other: &Self) -> Self {
        let (attempts, dropped) = merge_attempts(self, other);
        Self {
            attempts,
            dropped,
            replaced: last_counted(self, other),
            chain: longer(self.chain.as_ref(), other.chain.as_ref()).cloned(),
            raises: united(&self.raises, &other.raises),
            reviews: self.reviews.merged(&other.reviews),
            summaries: self.summaries.merged(&other.summaries),
        }
    }
}

/// Returns the attempts that both records keep together, and what all others used up.
fn merge_attempts(one: &ThreadRecord, other: &ThreadRecord) -> (Vec<Attempt>, Used) {
    let sides = [one, other].map(|record| (identified(&record.attempts), &record.dropped));
    let mut all: BTreeMap<&Identity, Attempt> = BTreeMap::new();
    for (identity, attempt) in sides.iter().flat_map(|(attempts, _)| attempts) {
        let known = all.remove(identity);
        let known = known.map_or_else(|| (*attempt).clone(), |known| joined(&known, attempt));
        all.insert(identity, known);
    }
    // A record does not keep the attempts before its first one: they are in its sum, and the other side may keep them.
    let first = first_kept(one).max(first_kept(other));
    let mut dropped = Used::default();
    for (attempts, sum) in &sides {
        let mut sum = (*sum).clone();
        for (identity, attempt) in attempts {
            if all[identity].number < first {
                sum.add_attempt(attempt);
            }
        }
        dropped.raise_to(&sum);
    }
    let mut kept: Vec<(&Identity, Attempt)> = all.into_iter().collect();
    kept.retain(|(_, attempt)| attempt.number >= first);
    kept.sort_by_key(|(identity, attempt)| (attempt.number, *identity));
    let mut last = 0;
    let numbered = kept.into_iter().map(|(_, attempt)| {
        last = attempt.number.max(last + 1);
        Attempt {
            number: last,
            ..attempt
        }
    });
    (numbered.collect(), dropped)
}

/// Returns the attempts by what tells them from each other.
fn identified(attempts: &[Attempt]) -> BTreeMap<Identity, &Attempt> {
    let identity = |attempt: &Attempt| {
        let place = (attempt.head, attempt.replaces, &attempt.role);
        (
            attempt.started_at_ms,
            format!("{place:?} {}", attempt.agent),
        )
    };
    let attempts = attempts.iter();
    attempts.map(|one| (identity(one), one)).collect()
}

/// Returns the number of the first attempt that the record keeps.
fn first_kept(record: &ThreadRecord) -> u64 {
    let numbers = record.attempts.iter().map(|attempt| attempt.number);
    numbers.min().unwrap_or(0)
}

/// Returns one attempt by what two records say about it.
fn joined(one: &Attempt, other: &Attempt) -> Attempt {
    let usage = match (&one.usage, &other.usage) {
        (Some(one), Some(other)) => Some(one.raised_to(other)),
        (one, other) => one.clone().or_else(|| other.clone()),
    };
    Attempt {
        number: one.number.max(other.number),
        usage,
        unknown_accepted: one.unknown_accepted || other.unknown_accepted,
        counted_in: one.counted_in.max(other.counted_in),
        kept: one.kept.max(other.kept),
        ..greater(one, other).clone()
    }
}

/// Returns the replaced step that was counted last, as the record with more runs says.
fn last_counted(one: &ThreadRecord, other: &ThreadRecord) -> Option<CasRef> {
    let records = [one, other].into_iter();
    let counted = records.filter_map(|record| Some((record.dropped.runs, record.replaced?)));
    counted.max().map(|(_, replaced)| replaced)
}

/// Returns the sum of the longer chain.
fn longer<'a>(
    one: Option<&'a ChainUsage>,
    other: Option<&'a ChainUsage>,
) -> Option<&'a ChainUsage> {
    match (one, other) {
        (Some(one), Some(other)) if one.used.runs == other.used.runs => Some(greater(one, other)),
        (Some(one), Some(other)) if one.used.runs < other.used.runs => Some(other),
        (one, other) => one.or(other),
    }
}

/// Returns the limits that were raised in one of the places. The largest of each counts, so their order means nothing.
fn united(one: &[Setting], other: &[Setting]) -> Vec<Setting> {
    let all = one.iter().chain(other);
    let by_text: BTreeMap<String, &Setting> = all.map(|raise| (raise.to_string(), raise)).collect();
    by_text.into_values().cloned().collect()
}

/// Returns the same one of two values, whichever comes first.
pub(crate) fn greater<'a, T: serde::Serialize>(one: &'a T, other: &'a T) -> &'a T {
    let text = |value: &T| serde_json::to_string(value).expect("records are plain data");
    match text(one) >= text(other) {
        true => one,
        false => other,
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::{hash_map, vec};
    use proptest::option;
    use proptest::prelude::{Strategy, any, prop_assert, prop_assert_eq, proptest};

    use super::*;
    use crate::ids::RoleName;
    use crate::nodes::Usage;
    use crate::review::{Decision, RecordedSummary, RecordedVerdict, Reviews, Summaries};

    /// What an attempt is known to have used up follows from its start, as far as it is known.
    fn attempt(number: u64, started_at_ms: i64) -> Attempt {
        let role: RoleName = "writer".parse().unwrap();
        let usage = Usage {
            input_tokens: u64::try_from(started_at_ms).ok(),
            output_tokens: Some(1),
            cost_usd: Some(0.5),
            duration_ms: Some(7),
            ..Usage::default()
        };
        Attempt {
            number,
            started_at_ms,
            usage: Some(usage),
            ..Attempt::of(CasRef::from_u64(1), role)
        }
    }

    fn used(runs: u64) -> Used {
        Used {
            runs,
            tokens: runs * 3,
            cost_usd: 0.25 * f64::from(u32::try_from(runs).unwrap()),
            ..Used::default()
        }
    }

    fn record(first: u64, starts: &[i64], dropped: u64) -> ThreadRecord {
        let attempts = (first..).zip(starts);
        ThreadRecord {
            attempts: attempts.map(|(number, at)| attempt(number, *at)).collect(),
            dropped: used(dropped),
            ..ThreadRecord::default()
        }
    }

    fn numbers(record: &ThreadRecord) -> Vec<(u64, i64)> {
        let attempts = record.attempts.iter();
        attempts
            .map(|one| (one.number, one.started_at_ms))
            .collect()
    }

    #[test]
    fn attempts_of_both_machines_are_kept_each_under_its_own_number() {
        let check = |one: &[i64], other: &[i64], expected: &[(u64, i64)]| {
            let merged = record(1, one, 0).merged(&record(1, other, 0));
            assert_eq!(numbers(&merged), expected);
            assert_eq!(merged.dropped, Used::default());
        };
        check(&[], &[10, 20], &[(1, 10), (2, 20)]);
        check(&[10, 20], &[10], &[(1, 10), (2, 20)]);
        check(&[10, 20], &[10, 25], &[(1, 10), (2, 20), (3, 25)]);
        // The clock of the other machine is far behind.
        check(&[10, 20], &[10, 20, 3], &[(1, 10), (2, 20), (3, 3)]);
    }

    #[test]
    fn an_attempt_that_one_machine_has_in_its_sum_counts_once() {
        let long = record(3, &[30, 40], 2);
        let short = record(1, &[10, 20, 30], 0);
        for merged in [long.merged(&short), short.merged(&long)] {
            assert_eq!(numbers(&merged), [(3, 30), (4, 40)]);
            assert_eq!(merged.dropped.runs, 2);
            assert!(
                (merged.dropped.cost_usd - 1.0).abs() < 1e-9,
                "the larger amount"
            );
        }
    }

    #[test]
    fn what_is_known_of_an_attempt_in_one_place_is_known() {
        let (mut one, mut other) = (record(1, &[10], 0), record(1, &[10], 0));
        one.attempts[0].unknown_accepted = true;
        one.attempts[0].usage = None;
        other.attempts[0].counted_in = Some(CasRef::from_u64(2));
        let merged = one.merged(&other);
        assert_eq!(merged, other.merged(&one));
        let [attempt] = merged.attempts.as_slice() else {
            panic!("it is one attempt");
        };
        assert!(attempt.unknown_accepted);
        assert_eq!(attempt.counted_in, other.attempts[0].counted_in);
        assert_eq!(attempt.usage, other.attempts[0].usage);
    }

    #[test]
    fn a_released_verdict_stays_released_and_the_newer_summary_stays() {
        let verdict = |released| RecordedVerdict {
            node: CasRef::from_u64(9),
            head: CasRef::from_u64(1),
            decision: Decision::Suspend,
            released,
        };
        let of = |released, at_ms| ThreadRecord {
            reviews: Reviews {
                verdicts: vec![verdict(released)],
                ..Reviews::default()
            },
            summaries: Summaries {
                newest: Some(RecordedSummary {
                    node: CasRef::from_u64(7),
                    at_ms,
                }),
                ..Summaries::default()
            },
            ..ThreadRecord::default()
        };
        let (one, other) = (of(true, 5), of(false, 6));
        assert_eq!(one.merged(&other), of(true, 6));
        assert_eq!(other.merged(&one), of(true, 6));
    }

    fn reviews() -> impl Strategy<Value = Reviews> {
        let verdict = (1..12_u64, any::<bool>(), any::<bool>());
        let verdicts = vec(verdict, 0..8);
        (verdicts, 0..4_u64, option::of(0..3_u64)).prop_map(|(verdicts, runs, failed)| {
            let mut reviews = Reviews {
                used: used(runs),
                failed: failed.map(CasRef::from_u64),
                ..Reviews::default()
            };
            for (head, goes_on, released) in verdicts {
                reviews.add_verdict(RecordedVerdict {
                    node: CasRef::from_u64(head + 100),
                    head: CasRef::from_u64(head),
                    decision: if goes_on {
                        Decision::Continue
                    } else {
                        Decision::Suspend
                    },
                    released,
                });
            }
            reviews
        })
    }

    fn records() -> impl Strategy<Value = ThreadRecord> {
        let known = (any::<bool>(), option::of(0..3_u64));
        let attempts = hash_map(0..8_i64, known, 0..6);
        let raises = vec(1..4_u64, 0..3);
        let chain = option::of((0..3_u64, 0..4_u64));
        let rest = (
            option::of(0..3_u64),
            raises,
            chain,
            reviews(),
            option::of((0..3_u64, 0..3_i64)),
        );
        (1..5_u64, attempts, 0..9_u64, rest).prop_map(|(first, attempts, dropped, rest)| {
            let (replaced, raises, chain, reviews, newest) = rest;
            let starts: Vec<i64> = attempts.keys().copied().collect();
            let mut record = record(first, &starts, dropped);
            for known in &mut record.attempts {
                let (accepted, counted) = attempts[&known.started_at_ms];
                known.unknown_accepted = accepted;
                known.counted_in = counted.map(CasRef::from_u64);
            }
            ThreadRecord {
                replaced: replaced.map(CasRef::from_u64),
                raises: raises
                    .iter()
                    .map(|max| format!("maxSteps={max}").parse().unwrap())
                    .collect(),
                chain: chain.map(|(head, runs)| ChainUsage {
                    head: CasRef::from_u64(head),
                    used: used(runs),
                }),
                summaries: Summaries {
                    used: used(dropped),
                    newest: newest.map(|(node, at_ms)| RecordedSummary {
                        node: CasRef::from_u64(node),
                        at_ms,
                    }),
                },
                reviews,
                ..record
            }
        })
    }

    /// What all attempts used up that do not count in a step.
    fn total(record: &ThreadRecord) -> Used {
        let mut used = record.dropped.clone();
        used.add_all(&record.reviews.used);
        used.add_all(&record.summaries.used);
        record
            .attempts
            .iter()
            .for_each(|attempt| used.add_attempt(attempt));
        used
    }

    proptest! {
        #[test]
        fn merging_is_the_same_whichever_comes_first_and_again_changes_nothing(
            one in records(),
            other in records(),
        ) {
            let merged = one.merged(&other);
            prop_assert_eq!(&merged, &other.merged(&one));
            prop_assert_eq!(&merged.merged(&merged), &merged);
            prop_assert_eq!(&merged.merged(&one), &merged);
            prop_assert_eq!(&other.merged(&merged), &merged);
        }

        #[test]
        fn no_amount_and_no_number_gets_smaller(one in records(), other in records()) {
            let merged = one.merged(&other);
            let next = |record: &ThreadRecord| record.attempts.last().map_or(0, |last| last.number);
            prop_assert!(next(&merged) >= next(&one).max(next(&other)));
            prop_assert!(merged.attempts.is_sorted_by(|a, b| a.number < b.number));
            prop_assert!(merged.dropped.runs >= one.dropped.runs.max(other.dropped.runs));
            // An attempt whose usage a step counts is no longer counted by itself.
            let uncounted = |mut record: ThreadRecord| {
                record.attempts.iter_mut().for_each(|attempt| attempt.counted_in = None);
                record
            };
            let merged = total(&uncounted(one.clone()).merged(&uncounted(other.clone())));
            for side in [one, other] {
                let side = total(&uncounted(side));
                prop_assert!(merged.runs >= side.runs);
                prop_assert!(merged.tokens >= side.tokens);
                prop_assert!(merged.cost_usd >= side.cost_usd - 1e-9);
                prop_assert!(merged.duration_ms >= side.duration_ms);
            }
        }
    }
}
