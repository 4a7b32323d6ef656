//! Joins two records of one thread, which was worked on in two places.

use super::{Attempt, ThreadRecord};

impl ThreadRecord {
    /// Adds what another record of the same thread knows and this one does not. Nothing that this one knows is lost, except
    /// attempts that the other one counts in its sums. No amount gets smaller: the other record may come from a stranger.
    /// Adding the same record again changes nothing.
    pub fn absorb(&mut self, other: &Self) {
        self.absorb_sums(other);
        let oldest = oldest_kept(self);
        for attempt in &other.attempts {
            // What an attempt that is known here used up stays as it is known here.
            let is_known = self.attempts.iter().any(|known| is_same(known, attempt));
            if !is_known && attempt.started_at_ms >= oldest {
                self.add(attempt);
            }
        }
        self.reviews.absorb(&other.reviews);
        self.summaries.absorb(&other.summaries);
        for raise in &other.raises {
            if !self.raises.contains(raise) {
                self.raises.push(raise.clone());
            }
        }
    }

    /// Takes the larger of each sum. Attempts that the other record has in its sums are no longer kept by themselves, and
    /// count in the sums of this record, too.
    fn absorb_sums(&mut self, other: &Self) {
        if other.dropped.runs > self.dropped.runs {
            let oldest = oldest_kept(other);
            let attempts = std::mem::take(&mut self.attempts).into_iter();
            let (kept, summed): (Vec<_>, Vec<_>) =
                attempts.partition(|attempt| attempt.started_at_ms >= oldest);
            self.attempts = kept;
            for attempt in &summed {
                self.dropped.add_attempt(attempt);
            }
            self.replaced = self.replaced.or(other.replaced);
        }
        self.dropped.raise_to(&other.dropped);
    }

    /// Adds an attempt under its number, or under the next free one.
    fn add(&mut self, attempt: &Attempt) {
        let is_taken = |number| self.attempts.iter().any(|known| known.number == number);
        let last = self.attempts.iter().map(|known| known.number).max();
        let number = match attempt.number {
            taken if is_taken(taken) => last.unwrap_or(0).saturating_add(1),
            free => free,
        };
        self.attempts.push(Attempt {
            number,
            ..attempt.clone()
        });
        self.attempts.sort_by_key(|known| known.number);
    }
}

/// Returns when the oldest attempt started that is kept. Earlier ones are in the sums, if there were some.
fn oldest_kept(record: &ThreadRecord) -> i64 {
    match record.attempts.first() {
        Some(first) if first.number > 1 => first.started_at_ms,
        Some(_) | None => i64::MIN,
    }
}

fn is_same(one: &Attempt, other: &Attempt) -> bool {
    let key = |attempt: &Attempt| (attempt.started_at_ms, attempt.head, attempt.replaces);
    key(one) == key(other) && (&one.role, &one.agent) == (&other.role, &other.agent)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{CasRef, RoleName};
    use crate::limits::Used;
    use crate::nodes::Usage;

    fn attempt(number: u64, started_at_ms: i64) -> Attempt {
        let role: RoleName = "writer".parse().unwrap();
        Attempt {
            number,
            started_at_ms,
            ..Attempt::of(CasRef::from_u64(1), role)
        }
    }

    fn record(attempts: &[(u64, i64)], dropped: u64) -> ThreadRecord {
        ThreadRecord {
            attempts: attempts.iter().map(|(n, at)| attempt(*n, *at)).collect(),
            dropped: Used {
                runs: dropped,
                ..Used::default()
            },
            ..ThreadRecord::default()
        }
    }

    fn joined(mut one: ThreadRecord, other: &ThreadRecord) -> (Vec<(u64, i64)>, u64) {
        one.absorb(other);
        let once = one.clone();
        one.absorb(other);
        assert_eq!(one, once, "adding it again changes nothing");
        let attempts = one.attempts.iter();
        let attempts = attempts.map(|known| (known.number, known.started_at_ms));
        (attempts.collect(), one.dropped.runs)
    }

    #[test]
    fn attempts_of_both_places_are_kept_each_under_its_own_number() {
        let check = |one: &[(u64, i64)], other: &[(u64, i64)], expected: &[(u64, i64)]| {
            let found = joined(record(one, 0), &record(other, 0));
            assert_eq!(found, (expected.to_vec(), 0));
        };
        check(&[], &[(1, 10), (2, 20)], &[(1, 10), (2, 20)]);
        check(&[(1, 10), (2, 20)], &[(1, 10)], &[(1, 10), (2, 20)]);
        check(
            &[(1, 10), (2, 20)],
            &[(1, 10), (2, 25)],
            &[(1, 10), (2, 20), (3, 25)],
        );
    }

    #[test]
    fn attempts_that_a_sum_counts_are_not_counted_twice() {
        let (long, short) = (
            record(&[(3, 30), (4, 40)], 2),
            record(&[(1, 10), (2, 20), (3, 30)], 0),
        );
        let expected = (vec![(3, 30), (4, 40)], 2);
        assert_eq!(joined(short.clone(), &long), expected);
        assert_eq!(joined(long, &short), expected);
    }

    fn sum(runs: u64, cost_usd: f64) -> Used {
        Used {
            runs,
            cost_usd,
            ..Used::default()
        }
    }

    #[test]
    fn no_sum_gets_smaller() {
        let check = |here: Used, there: Used, expected: (u64, f64)| {
            let of = |dropped| ThreadRecord {
                dropped,
                ..ThreadRecord::default()
            };
            let mut one = of(here);
            one.absorb(&of(there));
            assert_eq!((one.dropped.runs, one.dropped.cost_usd), expected);
        };
        check(sum(5, 10.0), sum(6, 0.0), (6, 10.0));
        check(sum(5, 10.0), sum(6, 12.0), (6, 12.0));
        check(sum(6, 0.0), sum(5, 10.0), (6, 10.0));
        check(sum(0, 0.0), sum(1, 1.0), (1, 1.0));
    }

    #[test]
    fn attempts_that_a_sum_is_said_to_count_keep_their_cost() {
        let mut one = record(&[(1, 10), (2, 20)], 0);
        for attempt in &mut one.attempts {
            attempt.usage = Some(Usage {
                cost_usd: Some(5.0),
                ..Usage::default()
            });
        }
        one.absorb(&record(&[(7, 70)], 6));
        let numbers = one.attempts.iter().map(|attempt| attempt.number);
        assert_eq!(numbers.collect::<Vec<_>>(), [7]);
        assert_eq!((one.dropped.runs, one.dropped.cost_usd), (6, 10.0));
    }

    #[test]
    fn a_step_that_was_counted_here_is_the_one_that_is_known() {
        let mut one = record(&[], 1);
        one.replaced = Some(CasRef::from_u64(1));
        let mut other = record(&[], 2);
        other.replaced = Some(CasRef::from_u64(2));
        one.absorb(&other);
        assert_eq!(one.replaced, Some(CasRef::from_u64(1)));
    }

    #[test]
    fn what_an_attempt_used_up_is_not_taken_back() {
        let mut one = record(&[(1, 10)], 0);
        let mut other = record(&[(1, 10)], 0);
        other.attempts[0].unknown_accepted = true;
        other.attempts[0].counted_in = Some(CasRef::from_u64(2));
        let before = one.clone();
        one.absorb(&other);
        assert_eq!(one, before);
        other.absorb(&before);
        assert!(other.attempts[0].unknown_accepted);
        assert!(other.attempts[0].counted_in.is_some());
    }

    #[test]
    fn raised_limits_of_both_places_hold() {
        let mut one = record(&[], 0);
        one.raises = vec!["maxSteps=9".parse().unwrap()];
        let mut other = record(&[], 0);
        other.raises = vec![
            "maxSteps=9".parse().unwrap(),
            "maxSteps=12".parse().unwrap(),
        ];
        one.absorb(&other);
        assert_eq!(one.raises, other.raises);
    }
}
