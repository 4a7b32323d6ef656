//! The failed attempts of a thread: the newest, one JSON object a line, and what the older ones used up.

use serde::{Deserialize, Serialize};
use uwf_durable::Durability;
use uwf_protocol::ids::CasRef;
use uwf_protocol::limits::Used;
use uwf_protocol::run::{Attempt, Pending};

use super::{RunDir, json};
use crate::StorageError;

const ATTEMPTS: &str = "attempts.jsonl";

/// How many failed attempts are kept.
const ATTEMPTS_KEPT: usize = 50;

/// The failed attempts of a thread.
#[derive(Default)]
struct Records {
    /// Those that are kept, oldest first.
    kept: Vec<Attempt>,
    /// What the others used up.
    dropped: Used,
    /// The replaced step that was counted there last.
    replaced: Option<CasRef>,
}

/// The first line of the attempts, when older ones were dropped: they are not forgotten where it counts.
#[derive(Serialize, Deserialize)]
struct Dropped {
    dropped: Used,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    replaced: Option<CasRef>,
}

impl Records {
    fn next_number(&self) -> u64 {
        self.kept.last().map_or(0, |last| last.number) + 1
    }
}

impl RunDir {
    /// Returns the failed attempts that are kept, oldest first.
    #[must_use]
    pub fn attempts(&self) -> Vec<Attempt> {
        self.attempt_records().kept
    }

    /// Adds a failed attempt, durably, drops the oldest of too many, and returns the number that it is given.
    ///
    /// # Errors
    /// See [`create`](Self::create).
    pub fn append_attempt(&self, attempt: &Attempt) -> Result<u64, StorageError> {
        let mut records = self.attempt_records();
        let number = records.next_number();
        records.kept.push(Attempt {
            number,
            ..attempt.clone()
        });
        let surplus = records.kept.len().saturating_sub(ATTEMPTS_KEPT);
        for attempt in records.kept.drain(..surplus) {
            records.dropped.add_attempt(&attempt);
        }
        self.write_attempts(&records)?;
        Ok(number)
    }

    /// Remembers, durably, that a person accepts that nobody knows all that these attempts used up. Returns the
    /// first number that no attempt has; nothing is changed then.
    ///
    /// # Errors
    /// See [`create`](Self::create).
    pub fn accept_unknown(&self, numbers: &[u64]) -> Result<Option<u64>, StorageError> {
        let mut records = self.attempt_records();
        for number in numbers {
            let mut kept = records.kept.iter_mut();
            match kept.find(|attempt| attempt.number == *number) {
                Some(attempt) => attempt.unknown_accepted = true,
                None => return Ok(Some(*number)),
            }
        }
        self.write_attempts(&records)?;
        Ok(None)
    }

    /// Returns the number that the next failed attempt gets.
    #[must_use]
    pub fn next_attempt(&self) -> u64 {
        self.attempt_records().next_number()
    }

    /// Remembers, durably, that a step counts what the attempt used up whose program gave the step's answer. Later
    /// attempts of the same agent at the step count with it: they died while they read the same answer.
    ///
    /// # Errors
    /// See [`create`](Self::create).
    pub fn count_in_step(&self, pending: &Pending) -> Result<(), StorageError> {
        let mut records = self.attempt_records();
        let is_here = |one: &Attempt| (one.head, one.replaces) == (pending.head, pending.replaces);
        let kept = &mut records.kept;
        let first = kept
            .iter()
            .position(|one| Some(one.number) == pending.answer_of);
        let Some(first) = first.filter(|first| is_here(&kept[*first])) else {
            return Ok(());
        };
        let who = (kept[first].role.clone(), kept[first].agent.clone());
        for attempt in &mut kept[first..] {
            if is_here(attempt) && attempt.role == who.0 && attempt.agent == who.1 {
                attempt.counted_in = Some(pending.step);
            }
        }
        self.write_attempts(&records)
    }

    /// Counts what was used up by a step that is no more in the chain, durably, unless an interrupted call did so
    /// already.
    ///
    /// # Errors
    /// See [`create`](Self::create).
    pub fn count_replaced(&self, step: CasRef, used: &Used) -> Result<(), StorageError> {
        let mut records = self.attempt_records();
        if records.replaced.replace(step) == Some(step) {
            return Ok(());
        }
        records.dropped.add_all(used);
        self.write_attempts(&records)
    }

    fn write_attempts(&self, records: &Records) -> Result<(), StorageError> {
        let mut lines = String::new();
        if records.dropped.runs > 0 {
            let line = Dropped {
                dropped: records.dropped.clone(),
                replaced: records.replaced,
            };
            lines += &(json(&line) + "\n");
        }
        lines.extend(records.kept.iter().map(|one| json(one) + "\n"));
        self.write_text(ATTEMPTS, &lines, Durability::Durable)
    }

    /// Returns what all runs without a step used up, those included that are not kept any more.
    #[must_use]
    pub fn used_by_attempts(&self) -> Used {
        let Records { kept, dropped, .. } = self.attempt_records();
        let mut used = dropped;
        kept.iter().for_each(|attempt| used.add_attempt(attempt));
        used
    }

    fn attempt_records(&self) -> Records {
        let content = uwf_durable::read(&self.path.join(ATTEMPTS)).ok().flatten();
        let content = content.unwrap_or_default();
        let mut records = Records::default();
        let lines = content.split(|byte| *byte == b'\n');
        for line in lines.filter(|line| !line.trim_ascii().is_empty()) {
            if let Ok(attempt) = serde_json::from_slice::<Attempt>(line) {
                let before = records.kept.last().map_or(0, |last| last.number);
                records.kept.push(Attempt {
                    // Older versions gave no numbers.
                    number: attempt.number.max(before + 1),
                    ..attempt
                });
            } else if let Ok(line) = serde_json::from_slice::<Dropped>(line) {
                records.dropped.add_all(&line.dropped);
                records.replaced = line.replaced;
            } else {
                // Whatever it was, it does not tell what it used up.
                records.dropped.add(None, None);
            }
        }
        records
    }
}
