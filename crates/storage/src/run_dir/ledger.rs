//! The usage of a thread and its raised limits: its failed attempts, its verdicts, its summary, the sums of its chain, and what a person
//! allowed beyond the limits.
//!
//! The newest failed attempts are kept, one JSON object a line. Of the older ones only their total usage is kept.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use uwf_durable::Durability;
use uwf_protocol::chain::{ChainPositions, ChainSummary, ChainUsage};
use uwf_protocol::child::{Misfit, TakenUp, UsedByEnded};
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_protocol::limits::{Setting, Used};
use uwf_protocol::nodes::Usage;
use uwf_protocol::review::{Reviews, Summaries};
use uwf_protocol::run::{Attempt, Pending, RunStanding, ThreadRecord};

use super::checksum::{self, Checksum, with_checksum};
use super::outbox::Outbox;
use super::records::{Records, json};
use crate::StorageError;

const ATTEMPTS: &str = "attempts.jsonl";
const CHAIN: &str = "chain.json";
const POSITIONS: &str = "positions.json";
pub(super) const STANDING: &str = "standing.json";
const USED: &str = "used.json";
const CHILDREN: &str = "children.json";
const MISFIT: &str = "misfit.json";
const RAISES: &str = "raises.json";
const REVIEWS: &str = "reviews.json";
const TAKEN_UP: &str = "taken-up.json";
const SUMMARY: &str = "summary.json";

/// The usage of a thread, and its raised limits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ledger {
    records: Records,
}

/// The failed attempts of a thread.
#[derive(Default)]
struct Attempts {
    /// The attempts that are kept, oldest first.
    kept: Vec<Attempt>,
    /// The usage of the others, and of replaced steps.
    dropped: Used,
    /// The replaced step whose usage was added to `dropped` last.
    replaced: Option<CasRef>,
}

/// The first line of the file if older attempts were dropped. Their usage still counts.
#[derive(Serialize, Deserialize)]
struct Dropped {
    dropped: Used,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    replaced: Option<CasRef>,
}

impl Attempts {
    fn next_number(&self) -> u64 {
        let last = self.kept.last().map_or(0, |last| last.number);
        last.saturating_add(1)
    }

    fn count_in_step(&mut self, pending: &Pending) {
        for attempt in &mut self.kept {
            let is_at_step = (attempt.head, attempt.replaces) == (pending.head, pending.replaces);
            if is_at_step && pending.answer_of.contains(&attempt.number) {
                attempt.counted_in = Some(pending.step);
            }
        }
    }
}

impl Ledger {
    pub(super) fn of(records: Records) -> Self {
        Self { records }
    }

    /// Returns the whole ledger as one value, which can be [imported](Self::import) elsewhere.
    #[must_use]
    pub fn export(&self) -> ThreadRecord {
        self.export_with(self.attempt_records())
    }

    /// Returns the whole ledger of a thread with this head, as [`export`](Self::export) does. If the engine died after it had moved the
    /// head, and before it counted the attempts of the step, they are counted here.
    #[must_use]
    pub fn export_at(&self, head: CasRef) -> ThreadRecord {
        self.export_with(self.attempt_records_at(head))
    }

    fn export_with(&self, attempts: Attempts) -> ThreadRecord {
        let Attempts {
            kept,
            dropped,
            replaced,
        } = attempts;
        ThreadRecord {
            attempts: kept,
            dropped,
            replaced,
            chain: self.chain_usage(),
            raises: self.raises(),
            reviews: self.reviews(),
            summaries: self.summaries(),
        }
    }

    /// Replaces the whole ledger by a record. The sums of the chain are a cache; the rest is durable on return. An
    /// interrupted call can be repeated.
    ///
    /// # Errors
    /// See [`RunDir::create`](crate::RunDir::create).
    pub fn import(&self, record: &ThreadRecord) -> Result<(), StorageError> {
        self.write_attempts(&Attempts {
            kept: record.attempts.clone(),
            dropped: record.dropped.clone(),
            replaced: record.replaced,
        })?;
        match &record.chain {
            Some(usage) => self.write_chain_usage(usage)?,
            None => self.records.blank(USED)?,
        }
        // A thread that was never reviewed or summarized has no file for it.
        if record.reviews != self.reviews() {
            self.write_reviews(&record.reviews)?;
        }
        if record.summaries != self.summaries() {
            self.write_summaries(&record.summaries)?;
        }
        self.write_raises(&record.raises)
    }

    /// Returns the failed attempts that are kept, oldest first.
    #[must_use]
    pub fn attempts(&self) -> Vec<Attempt> {
        self.attempt_records().kept
    }

    /// Adds a failed attempt, durably, drops the oldest of too many, and returns the number that it is given.
    ///
    /// # Errors
    /// See [`RunDir::create`](crate::RunDir::create).
    pub fn append_attempt(&self, attempt: &Attempt) -> Result<u64, StorageError> {
        let mut records = self.attempt_records();
        let number = records.next_number();
        records.kept.push(Attempt {
            number,
            ..attempt.clone()
        });
        let surplus = records.kept.len().saturating_sub(Attempt::KEPT);
        for attempt in records.kept.drain(..surplus) {
            records.dropped.add_attempt(&attempt);
        }
        self.write_attempts(&records)?;
        Ok(number)
    }

    /// Records, durably, that a person accepts the unknown usage of these attempts. If a number belongs to no attempt,
    /// nothing is changed, and the first such number is returned.
    ///
    /// # Errors
    /// See [`RunDir::create`](crate::RunDir::create).
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

    /// Records, durably, what a failed attempt used up, which was not fully known before. Returns whether there is such an attempt.
    ///
    /// # Errors
    /// See [`RunDir::create`](crate::RunDir::create).
    pub fn record_usage(&self, number: u64, usage: &Usage) -> Result<bool, StorageError> {
        let mut records = self.attempt_records();
        let mut kept = records.kept.iter_mut();
        let Some(attempt) = kept.find(|attempt| attempt.number == number) else {
            return Ok(false);
        };
        attempt.usage = Some(usage.clone());
        self.write_attempts(&records)?;
        Ok(true)
    }

    /// Returns the number that the next failed attempt gets.
    #[must_use]
    pub fn next_attempt(&self) -> u64 {
        self.attempt_records().next_number()
    }

    /// Adds, durably, an attempt whose finished step is [kept](Attempt::kept) beside the chain, unless an interrupted call did so already.
    ///
    /// # Errors
    /// See [`RunDir::create`](crate::RunDir::create).
    pub fn count_kept(&self, attempt: &Attempt) -> Result<(), StorageError> {
        let mut known = self.attempt_records().kept.into_iter();
        match known.any(|known| known.kept == attempt.kept) {
            true => Ok(()),
            false => self.append_attempt(attempt).map(drop),
        }
    }

    /// Records, durably, that the usage of the attempts that worked on the step's answer is counted in the step.
    ///
    /// # Errors
    /// See [`RunDir::create`](crate::RunDir::create).
    pub fn count_in_step(&self, pending: &Pending) -> Result<(), StorageError> {
        if pending.answer_of.is_empty() {
            return Ok(());
        }
        let mut records = self.attempt_records();
        records.count_in_step(pending);
        self.write_attempts(&records)
    }

    /// Adds the usage of a step that left the chain, durably, unless an interrupted call did so already.
    ///
    /// # Errors
    /// See [`RunDir::create`](crate::RunDir::create).
    pub fn count_replaced(&self, step: CasRef, used: &Used) -> Result<(), StorageError> {
        let mut records = self.attempt_records();
        if records.replaced.replace(step) == Some(step) {
            return Ok(());
        }
        records.dropped.add_all(used);
        self.write_attempts(&records)
    }

    /// Returns the usage of all runs without a step in the chain that ends at this head, also of those that are not kept any more, of all
    /// reviews and all summaries.
    #[must_use]
    pub fn used_by_attempts(&self, head: CasRef) -> Used {
        let Attempts { kept, dropped, .. } = self.attempt_records_at(head);
        let mut used = dropped;
        used.add_all(&self.reviews().used);
        used.add_all(&self.summaries().used);
        kept.iter().for_each(|attempt| used.add_attempt(attempt));
        used
    }

    /// Returns the summary of the chain, if one was written. The caller must compare its head. The number of steps decides
    /// about limits, so a record without a matching checksum is not used.
    #[must_use]
    pub fn chain_summary(&self) -> Option<ChainSummary> {
        let content = uwf_durable::read(&self.records.file(CHAIN)).ok()??;
        match checksum::parse(&content).ok()? {
            (summary, Checksum::Fits) => Some(summary),
            (_, Checksum::Absent | Checksum::Differs) => None,
        }
    }

    /// Writes the summary of the chain.
    ///
    /// # Errors
    /// See [`RunDir::create`](crate::RunDir::create).
    pub fn write_chain_summary(&self, summary: &ChainSummary) -> Result<(), StorageError> {
        self.records.overwrite_text(CHAIN, &with_checksum(summary))
    }

    /// Returns where a run of a pipeline stood when a process stopped working on it. The caller must compare the head. A
    /// record without a matching checksum is not used.
    #[must_use]
    pub fn run_standing(&self) -> Option<RunStanding> {
        let content = uwf_durable::read(&self.records.file(STANDING)).ok()??;
        match checksum::parse(&content).ok()? {
            (standing, Checksum::Fits) => Some(standing),
            (_, Checksum::Absent | Checksum::Differs) => None,
        }
    }

    /// Writes where a run of a pipeline stands.
    ///
    /// # Errors
    /// See [`RunDir::create`](crate::RunDir::create).
    pub fn write_run_standing(&self, standing: &RunStanding) -> Result<(), StorageError> {
        self.records
            .overwrite_text(STANDING, &with_checksum(standing))
    }

    /// Returns the steps of the chain by their numbers, as far as they were recorded. A record without a matching checksum
    /// is not used.
    #[must_use]
    pub fn chain_positions(&self) -> Option<ChainPositions> {
        let content = uwf_durable::read(&self.records.file(POSITIONS)).ok()??;
        match checksum::parse(&content).ok()? {
            (positions, Checksum::Fits) => Some(positions),
            (_, Checksum::Absent | Checksum::Differs) => None,
        }
    }

    /// Records the steps of the chain by their numbers. The record is a cache.
    ///
    /// # Errors
    /// See [`RunDir::create`](crate::RunDir::create).
    pub fn write_chain_positions(&self, positions: &ChainPositions) -> Result<(), StorageError> {
        let text = with_checksum(positions);
        self.records
            .replace_text(POSITIONS, &text, Durability::Volatile)
    }

    /// Returns the usage of the steps up to a head, if it was written. The caller must compare the head.
    #[must_use]
    pub fn chain_usage(&self) -> Option<ChainUsage> {
        self.records.read(USED)
    }

    /// Writes the usage of the steps up to a head.
    ///
    /// # Errors
    /// See [`RunDir::create`](crate::RunDir::create).
    pub fn write_chain_usage(&self, usage: &ChainUsage) -> Result<(), StorageError> {
        self.records.overwrite(USED, usage)
    }

    /// Returns what ended children used up that work for the next step, as far as it was written. The caller must compare the
    /// heads.
    #[must_use]
    pub fn used_by_ended(&self) -> BTreeMap<ThreadId, UsedByEnded> {
        self.records.read(CHILDREN).unwrap_or_default()
    }

    /// Writes what ended children used up.
    ///
    /// # Errors
    /// See [`RunDir::create`](crate::RunDir::create).
    pub fn write_used_by_ended(
        &self,
        used: &BTreeMap<ThreadId, UsedByEnded>,
    ) -> Result<(), StorageError> {
        self.records.overwrite(CHILDREN, used)
    }

    /// Returns what a child returned that does not fit, if it was written. The caller must compare the heads.
    #[must_use]
    pub fn misfit(&self) -> Option<Misfit> {
        self.records.read(MISFIT)
    }

    /// Writes what a child returned that does not fit.
    ///
    /// # Errors
    /// See [`RunDir::create`](crate::RunDir::create).
    pub fn write_misfit(&self, misfit: &Misfit) -> Result<(), StorageError> {
        self.records.overwrite(MISFIT, misfit)
    }

    /// Returns the last answer of a person to a role that children do. The caller must compare the head.
    #[must_use]
    pub fn taken_up(&self) -> Option<TakenUp> {
        self.records.read(TAKEN_UP)
    }

    /// Writes the answer of a person to a role that children do, durably.
    ///
    /// # Errors
    /// See [`RunDir::create`](crate::RunDir::create).
    pub fn write_taken_up(&self, answer: &TakenUp) -> Result<(), StorageError> {
        self.records.replace(TAKEN_UP, answer, Durability::Durable)
    }

    /// Returns what a person allowed beyond the limits. A record that cannot be read allows nothing.
    #[must_use]
    pub fn raises(&self) -> Vec<Setting> {
        self.records.read(RAISES).unwrap_or_default()
    }

    /// Writes what a person allows beyond the limits, durably.
    ///
    /// # Errors
    /// See [`RunDir::create`](crate::RunDir::create).
    pub fn write_raises(&self, raises: &[Setting]) -> Result<(), StorageError> {
        self.records.replace(RAISES, &raises, Durability::Durable)
    }

    /// Returns the verdicts on the thread. A record that cannot be read counts as absent.
    #[must_use]
    pub fn reviews(&self) -> Reviews {
        self.records.read(REVIEWS).unwrap_or_default()
    }

    /// Writes the verdicts on the thread, durably.
    ///
    /// # Errors
    /// See [`RunDir::create`](crate::RunDir::create).
    pub fn write_reviews(&self, reviews: &Reviews) -> Result<(), StorageError> {
        self.records.replace(REVIEWS, reviews, Durability::Durable)
    }

    /// Returns the summary of the thread. A record that cannot be read counts as absent.
    #[must_use]
    pub fn summaries(&self) -> Summaries {
        self.records.read(SUMMARY).unwrap_or_default()
    }

    /// Writes the summary of the thread, durably. The caller has the lock of the state: a thread can be summarized while it is
    /// stepped.
    ///
    /// # Errors
    /// See [`RunDir::create`](crate::RunDir::create).
    pub fn write_summaries(&self, summaries: &Summaries) -> Result<(), StorageError> {
        self.records
            .replace(SUMMARY, summaries, Durability::Durable)
    }

    fn write_attempts(&self, records: &Attempts) -> Result<(), StorageError> {
        let mut lines = String::new();
        if records.replaced.is_some() || records.dropped != Used::default() {
            let line = Dropped {
                dropped: records.dropped.clone(),
                replaced: records.replaced,
            };
            lines += &(json(&line) + "\n");
        }
        lines.extend(records.kept.iter().map(|one| json(one) + "\n"));
        self.records
            .replace_text(ATTEMPTS, &lines, Durability::Durable)
    }

    /// Returns the step that the head replaced, if the engine died after it had moved the head, and before it
    /// [counted](Self::count_replaced) what that step had used up.
    #[must_use]
    pub fn uncounted_replaced(&self, head: CasRef) -> Option<CasRef> {
        let replaced = self.committed(head)?.replaces?;
        (self.attempt_records().replaced != Some(replaced)).then_some(replaced)
    }

    /// Returns the attempts of a thread with this head. If the engine died after it had moved the head, and before it
    /// [counted](Self::count_in_step), the pending record tells which attempts the step counts. Nobody steps an ended thread again, so
    /// whoever reads must do it.
    fn attempt_records_at(&self, head: CasRef) -> Attempts {
        let mut records = self.attempt_records();
        let is_open = |attempt: &Attempt| attempt.counted_in.is_none();
        if records.kept.iter().any(is_open)
            && let Some(pending) = self.committed(head)
        {
            records.count_in_step(&pending);
        }
        records
    }

    /// Returns the record of the step at the head, if its engine died before it cleared that. One that is damaged tells nothing.
    fn committed(&self, head: CasRef) -> Option<Pending> {
        let pending = Outbox::of(self.records.clone()).read_pending();
        pending.ok().flatten().filter(|it| it.step == head)
    }

    fn attempt_records(&self) -> Attempts {
        let content = uwf_durable::read(&self.records.file(ATTEMPTS))
            .ok()
            .flatten();
        let content = content.unwrap_or_default();
        let mut records = Attempts::default();
        let lines = content.split(|byte| *byte == b'\n');
        for line in lines.filter(|line| !line.trim_ascii().is_empty()) {
            if let Ok(attempt) = serde_json::from_slice::<Attempt>(line) {
                let before = records.kept.last().map_or(0, |last| last.number);
                records.kept.push(Attempt {
                    // Older versions gave no numbers.
                    number: attempt.number.max(before.saturating_add(1)),
                    ..attempt
                });
            } else if let Ok(line) = serde_json::from_slice::<Dropped>(line) {
                records.dropped.add_all(&line.dropped);
                records.replaced = line.replaced;
            } else {
                // The line was an attempt whose usage is now unknown.
                records.dropped.add(None, None);
            }
        }
        records
    }
}
