//! Reviews of a thread by a model: the verdict of its supervisor, and its summary. The engine and the process that calls the
//! model exchange these types; the nodes and the record of a thread keep what came of it.

mod merge;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ids::{CasRef, RoleName};
use crate::limits::Used;
use crate::nodes::Usage;

/// How many verdicts the record of a thread names. What earlier ones used up still counts.
const VERDICTS_KEPT: usize = 50;

/// What a model is asked about a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Wanted {
    /// Whether the thread goes on.
    Verdict,
    /// What has happened in it.
    Summary,
}

/// A question about a thread: the engine writes it to the process that calls the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReviewRequest {
    /// What is asked.
    pub wanted: Wanted,
    /// The alias of the model; the one for most purposes if absent.
    pub model: Option<String>,
    /// How long the model may take, in milliseconds.
    pub limit_ms: u64,
    /// What the user asked.
    pub task: String,
    /// The newest steps, oldest first.
    pub steps: Vec<ReviewedStep>,
    /// How many steps came before them.
    pub earlier: u64,
}

/// A step as a model sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReviewedStep {
    /// Who did it.
    pub role: RoleName,
    /// The data of its answer.
    pub output: Value,
}

/// What came of a question: the process that calls the model prints it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReviewReply {
    /// The verdict.
    Verdict {
        /// Whether the thread goes on.
        decision: Decision,
        /// Why.
        reason: String,
        /// The model as the provider names it, else as the config does.
        model: String,
        /// What that used up.
        usage: Usage,
    },
    /// The summary.
    Summary {
        /// The text.
        text: String,
        /// The model as the provider names it, else as the config does.
        model: String,
        /// What that used up.
        usage: Usage,
    },
    /// Neither.
    Failed(ReviewFailure),
}

/// Why a model did not answer a question about a thread.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReviewFailure {
    /// A stable word for the kind of problem.
    pub code: String,
    /// What went wrong.
    pub problem: String,
    /// What the user could do about it.
    #[serde(default)]
    pub hint: Option<String>,
    /// Whether the config must be changed before another try can succeed.
    #[serde(default)]
    pub is_misconfigured: bool,
    /// What that used up, if a model was asked.
    #[serde(default)]
    pub usage: Option<Box<Usage>>,
}

impl ReviewFailure {
    /// Returns a failure of which only this is known.
    #[must_use]
    pub fn new(code: &str, problem: String) -> Self {
        Self {
            code: code.to_owned(),
            problem,
            hint: None,
            is_misconfigured: false,
            usage: None,
        }
    }
}

/// Whether a thread goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    /// It goes on.
    Continue,
    /// It waits for a person.
    Suspend,
}

impl Decision {
    /// Returns the word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Continue => "continue",
            Self::Suspend => "suspend",
        }
    }
}

/// The payload of a verdict's node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VerdictNode {
    /// The head of the thread when it was judged.
    pub head: CasRef,
    /// Whether the thread goes on.
    pub decision: Decision,
    /// Why.
    pub reason: String,
    /// Which model says so.
    pub model: String,
    /// What that used up.
    pub usage: Usage,
}

/// The payload of a summary's node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SummaryNode {
    /// The head of the thread when it was summarized.
    pub head: CasRef,
    /// The summary.
    pub text: String,
    /// Which model wrote it.
    pub model: String,
    /// What that used up.
    pub usage: Usage,
}

/// What a model wrote about the steps of a chain, up to one of them. Prompts show it in place of steps that do not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recap {
    /// The newest step that it is about.
    pub step: CasRef,
    /// The node with the text, a [`SummaryNode`]; `None` if what the model wrote could not be used. The next one is due as if it
    /// had been written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<CasRef>,
}

impl Recap {
    /// Tells whether it is about the steps up to this one, and could not be used.
    #[must_use]
    pub fn failed_at(&self, step: CasRef) -> bool {
        self.step == step && self.node.is_none()
    }
}

/// A verdict in the record of a thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedVerdict {
    /// Its node.
    pub node: CasRef,
    /// The head that was judged.
    pub head: CasRef,
    /// Whether the thread goes on.
    pub decision: Decision,
    /// Whether a person let the thread go on in spite of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub released: bool,
}

impl RecordedVerdict {
    /// Tells whether it keeps the thread from going on.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.decision == Decision::Suspend && !self.released
    }
}

/// A summary in the record of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RecordedSummary {
    /// Its node.
    pub node: CasRef,
    /// When it was written, in milliseconds since 1970.
    pub at_ms: i64,
}

/// The summary of a thread, and what all its summaries used up.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Summaries {
    /// What all of them used up, as far as it is known.
    #[serde(default)]
    pub used: Used,
    /// The newest one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub newest: Option<RecordedSummary>,
}

impl Summaries {
    /// Tells whether the thread was never summarized.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Adds what a summary used up. What is not known does not count.
    pub fn count(&mut self, usage: Option<&Usage>) {
        count(&mut self.used, usage);
    }

    /// Adds what another record of the same thread knows and this one does not.
    pub fn absorb(&mut self, other: &Self) {
        self.used.raise_to(&other.used);
        let at_ms = |summary: Option<RecordedSummary>| summary.map(|summary| summary.at_ms);
        if at_ms(other.newest) > at_ms(self.newest) {
            self.newest = other.newest;
        }
    }
}

/// Adds what a review used up. What is not known does not count: a review must not stop a thread by that.
fn count(used: &mut Used, usage: Option<&Usage>) {
    used.add(usage, usage.and_then(|usage| usage.duration_ms));
    (used.cost_unknown, used.tokens_unknown) = (0, 0);
    used.duration_unknown = 0;
}

/// The reviews of a thread by its supervisor: the newest verdicts, and what all of them used up.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Reviews {
    /// What all reviews used up, as far as it is known.
    #[serde(default)]
    pub used: Used,
    /// The newest verdicts, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub verdicts: Vec<RecordedVerdict>,
    /// The newest head on which there is no verdict because the review failed. It is not asked for again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<CasRef>,
}

impl Reviews {
    /// Tells whether there was no review.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the verdict on a head.
    #[must_use]
    pub fn verdict_on(&self, head: CasRef) -> Option<&RecordedVerdict> {
        self.verdicts.iter().rfind(|verdict| verdict.head == head)
    }

    /// Adds what a verdict used up. What is not known does not count.
    pub fn count(&mut self, usage: Option<&Usage>) {
        count(&mut self.used, usage);
    }

    /// Adds a verdict. A head has one: a later verdict on the same head takes the place of the earlier one.
    pub fn add_verdict(&mut self, verdict: RecordedVerdict) {
        self.verdicts.retain(|known| known.head != verdict.head);
        self.verdicts.push(verdict);
        let surplus = self.verdicts.len().saturating_sub(VERDICTS_KEPT);
        self.verdicts.drain(..surplus);
    }

    /// Lets the thread go on in spite of the verdict on a head. Returns whether that verdict held it.
    pub fn release(&mut self, head: CasRef) -> bool {
        let held = |verdict: &&mut RecordedVerdict| verdict.head == head && verdict.holds();
        match self.verdicts.iter_mut().find(held) {
            Some(verdict) => {
                verdict.released = true;
                true
            }
            None => false,
        }
    }

    /// Adds what another record of the same thread knows and this one does not.
    pub fn absorb(&mut self, other: &Self) {
        self.used.raise_to(&other.used);
        self.failed = self.failed.or(other.failed);
        for verdict in &other.verdicts {
            match self
                .verdicts
                .iter_mut()
                .find(|known| known.head == verdict.head)
            {
                Some(known) => known.released |= verdict.released,
                None => self.add_verdict(verdict.clone()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(head: u64, decision: Decision) -> RecordedVerdict {
        RecordedVerdict {
            node: CasRef::from_u64(head + 1000),
            head: CasRef::from_u64(head),
            decision,
            released: false,
        }
    }

    #[test]
    fn a_verdict_holds_its_head_until_a_person_lets_the_thread_go_on() {
        let mut reviews = Reviews::default();
        reviews.add_verdict(verdict(1, Decision::Suspend));
        reviews.add_verdict(verdict(2, Decision::Continue));
        let holds = |reviews: &Reviews, head| {
            let found = reviews.verdict_on(CasRef::from_u64(head));
            found.is_some_and(RecordedVerdict::holds)
        };
        assert!(holds(&reviews, 1) && !holds(&reviews, 2) && !holds(&reviews, 3));
        assert!(reviews.release(CasRef::from_u64(1)));
        assert!(!reviews.release(CasRef::from_u64(1)), "it is released");
        assert!(!reviews.release(CasRef::from_u64(2)), "it held nothing");
        assert!(!holds(&reviews, 1));
    }

    #[test]
    fn a_head_has_one_verdict_and_the_newest_are_kept() {
        let mut reviews = Reviews::default();
        for head in 0..60 {
            reviews.add_verdict(verdict(head, Decision::Continue));
            reviews.add_verdict(verdict(head, Decision::Continue));
        }
        let heads: Vec<CasRef> = reviews.verdicts.iter().map(|one| one.head).collect();
        let newest: Vec<CasRef> = (10..60).map(CasRef::from_u64).collect();
        assert_eq!(heads, newest);
    }

    #[test]
    fn unknown_usage_counts_as_a_run_and_as_nothing_else() {
        let mut reviews = Reviews::default();
        reviews.count(None);
        reviews.count(Some(&Usage {
            input_tokens: Some(10),
            output_tokens: Some(5),
            ..Usage::default()
        }));
        let expected = Used {
            runs: 2,
            tokens: 15,
            ..Used::default()
        };
        assert_eq!(reviews.used, expected);
    }

    #[test]
    fn records_of_one_thread_are_joined_and_joining_again_changes_nothing() {
        let mut here = Reviews::default();
        here.add_verdict(verdict(1, Decision::Suspend));
        here.count(None);
        let mut there = here.clone();
        there.release(CasRef::from_u64(1));
        there.add_verdict(verdict(2, Decision::Continue));
        there.count(None);
        here.absorb(&there);
        assert_eq!(here, there);
        here.absorb(&there);
        assert_eq!(here, there);
        there.absorb(&Reviews::default());
        assert_eq!(here, there, "nothing is lost");
    }

    #[test]
    fn the_newer_summary_stays_when_records_are_joined() {
        let summary = |at_ms| {
            let mut summaries = Summaries::default();
            summaries.count(None);
            summaries.newest = Some(RecordedSummary {
                node: CasRef::from_u64(at_ms),
                at_ms: i64::try_from(at_ms).unwrap(),
            });
            summaries
        };
        let joined = |mut one: Summaries, other: &Summaries| {
            one.absorb(other);
            one
        };
        assert_eq!(joined(summary(1), &summary(2)), summary(2));
        assert_eq!(joined(summary(2), &summary(1)), summary(2));
        assert_eq!(joined(summary(2), &Summaries::default()), summary(2));
        assert_eq!(joined(Summaries::default(), &summary(2)), summary(2));
    }
}
