//! Joins two records of one thread, which was worked on in two places.

use super::{Attempt, ThreadRecord};

impl ThreadRecord {
    /// Adds what another record of the same thread knows and this one does not. Nothing that this one knows is lost, except
    /// attempts that the other one counts in its sums. Adding the same record again changes nothing.
    pub fn absorb(&mut self, other: &Self) {
        if other.dropped.runs > self.dropped.runs {
            let oldest = oldest_kept(other);
            self.attempts
                .retain(|attempt| attempt.started_at_ms >= oldest);
            self.dropped = other.dropped.clone();
            self.replaced = other.replaced;
        }
        let oldest = oldest_kept(self);
        for attempt in &other.attempts {
            match self
                .attempts
                .iter_mut()
                .find(|known| is_same(known, attempt))
            {
                Some(known) => {
                    known.unknown_accepted |= attempt.unknown_accepted;
                    known.counted_in = known.counted_in.or(attempt.counted_in);
                }
                None if attempt.started_at_ms >= oldest => self.add(attempt),
                None => {}
            }
        }
        for raise in &other.raises {
            if !self.raises.contains(raise) {
                self.raises.push(raise.clone());
            }
        }
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

    #[test]
    fn what_a_person_decided_in_one_place_holds() {
        let mut one = record(&[(1, 10)], 0);
        one.raises = vec!["maxSteps=9".parse().unwrap()];
        let mut other = record(&[(1, 10)], 0);
        other.attempts[0].unknown_accepted = true;
        other.raises = vec![
            "maxSteps=9".parse().unwrap(),
            "maxSteps=12".parse().unwrap(),
        ];
        one.absorb(&other);
        assert!(one.attempts[0].unknown_accepted);
        assert_eq!(one.raises, other.raises);
        other.absorb(&record(&[(1, 10)], 0));
        assert!(other.attempts[0].unknown_accepted);
    }
}
