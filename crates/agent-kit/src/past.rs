//! The steps of a thread as a prompt shows them: the newest ones that fit, and a recap of the older ones if there is one.
//!
//! A recap is about all steps up to one of them. It stays the same while the steps after it fit; then the next one is due,
//! which is made of the last one and the steps since. The same holds for one that was paid for and could not be used.

use uwf_cas_fs::Store;
use uwf_protocol::chain::ChainSummary;
use uwf_protocol::ids::{CasRef, RoleName};
use uwf_protocol::nodes::StepNode;
use uwf_protocol::policy::{ContextPolicy, Older};
use uwf_protocol::review::Recap;
use uwf_thread::{Stored, ThreadError, answer, output, steps};

use crate::KitError;
use crate::prompt::{Budget, History, PastStep};

/// How long a recap may be, in characters.
const LONGEST_RECAP: usize = 6_000;
/// How much a model reads for one recap at least, in characters.
const LEAST_MATERIAL: usize = 64_000;

/// The chain of a thread, and the role that already knows a part of it.
pub(crate) struct Chain<'a> {
    pub(crate) store: &'a Store,
    pub(crate) summary: &'a ChainSummary,
    /// The role whose session has everything up to its last step; `None` if nothing is known.
    pub(crate) known_by: Option<&'a RoleName>,
}

/// The steps that do not fit into a prompt, as material for a recap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overflow {
    /// The newest of them.
    pub step: CasRef,
    /// Its number.
    pub number: u64,
    /// The recap that is to be continued: the number of its newest step, and its text.
    pub earlier: Option<(u64, String)>,
    /// How many steps after that are left out, because there are too many.
    pub left_out: u64,
    /// The texts of the others, oldest first.
    pub steps: Vec<String>,
    /// How long the recap may be, in characters.
    pub longest: usize,
}

/// How many characters recap and steps may have together, if there is a recap.
struct Room {
    recap: usize,
    steps: usize,
}

impl Room {
    fn of(all: usize) -> Self {
        let recap = LONGEST_RECAP.min(all / 4);
        Self {
            recap,
            steps: all - recap,
        }
    }
}

impl Chain<'_> {
    /// Returns the steps to show: all that fit, or those since the last step of the role that knows the others. If a recap is
    /// wanted and due, it also returns what it has to be about.
    pub(crate) fn history(
        &self,
        recaps: &[Recap],
        policy: ContextPolicy,
    ) -> Result<(History, Option<Overflow>), KitError> {
        let most = policy.most_chars();
        let history = self.newest(most)?;
        if history.left_out == 0 || policy.older != Some(Older::Summary) {
            return Ok((history, None));
        }
        let room = Room::of(most);
        let mut shown = Budget::new(room.steps);
        // A recap leaves half of the room free, so that the next steps fit beside it, too.
        let mut near = Budget::new(room.steps / 2);
        let mut is_near = true;
        let mut last_shown = self.summary.steps;
        for (number, step) in self.numbered() {
            let step = step?;
            if recaps.iter().any(|recap| recap.failed_at(step.hash)) {
                return Ok((history, None));
            }
            if let Some(text) = self.text_of(recaps, step.hash) {
                let history = History {
                    steps: shown.into_texts(),
                    left_out: 0,
                    recap: Some((number, text)),
                    ..history
                };
                return Ok((history, None));
            }
            let past = past_step(self.store, number, &step.node)?;
            let fits = shown.push(&past);
            is_near = is_near && near.push(&past);
            if is_near {
                last_shown = number;
            }
            if !fits {
                break;
            }
        }
        let overflow = self.overflow(recaps, last_shown.saturating_sub(1), &room, most)?;
        Ok((history, overflow))
    }

    /// Returns the newest steps that fit.
    fn newest(&self, most: usize) -> Result<History, KitError> {
        let mut budget = Budget::new(most);
        let mut history = History::default();
        let mut has_room = true;
        for (number, step) in self.numbered() {
            let step = step?.node;
            if self.known_by == Some(&step.role) {
                history.own = Some((number, output(self.store, &step)?));
                break;
            }
            has_room = has_room && budget.push(&past_step(self.store, number, &step)?);
            if !has_room {
                history.left_out += 1;
            }
            if !has_room && self.known_by.is_none() {
                history.left_out = number;
                break;
            }
        }
        history.steps = budget.into_texts();
        Ok(history)
    }

    /// Returns the steps up to the one with this number as material, back to the last recap.
    fn overflow(
        &self,
        recaps: &[Recap],
        number: u64,
        room: &Room,
        most: usize,
    ) -> Result<Option<Overflow>, KitError> {
        let numbered = self.numbered();
        let mut material = Budget::new(most.max(LEAST_MATERIAL));
        let mut found: Option<Overflow> = None;
        let mut has_room = true;
        for (at, step) in numbered.filter(|(at, _)| *at <= number) {
            let step = step?;
            let overflow = found.get_or_insert_with(|| Overflow {
                step: step.hash,
                number,
                earlier: None,
                left_out: 0,
                steps: Vec::new(),
                longest: room.recap,
            });
            if let Some(text) = self.text_of(recaps, step.hash) {
                overflow.earlier = Some((at, text));
                break;
            }
            has_room = has_room && material.push(&past_step(self.store, at, &step.node)?);
            if !has_room {
                overflow.left_out += 1;
            }
        }
        Ok(found.map(|overflow| Overflow {
            steps: material.into_texts(),
            ..overflow
        }))
    }

    /// Returns the steps with their numbers, newest first.
    fn numbered(&self) -> impl Iterator<Item = (u64, Result<Stored<StepNode>, ThreadError>)> {
        let numbers = (1..=self.summary.steps).rev();
        numbers.zip(steps(self.store, self.summary.head))
    }

    /// Returns the text of the recap up to a step, if there is one. A node that is gone counts as absent: it was paid for, but
    /// no thread depends on it.
    fn text_of(&self, recaps: &[Recap], step: CasRef) -> Option<String> {
        let recap = recaps.iter().rfind(|recap| recap.step == step)?;
        let node = self.store.get(recap.node?).ok()?;
        node.payload["text"].as_str().map(str::to_owned)
    }
}

/// Returns a step as a prompt shows it.
pub(crate) fn past_step(store: &Store, number: u64, step: &StepNode) -> Result<PastStep, KitError> {
    Ok(PastStep {
        number,
        role: step.role.clone(),
        agent: step.agent.clone(),
        output: output(store, step)?,
        content: answer(store, &store.need(step.detail)?.payload)?,
    })
}
