//! Merges what two machines know of the reviews of one thread.

use std::collections::{BTreeMap, BTreeSet};

use super::{Decision, RecordedVerdict, Reviews, Summaries, VERDICTS_KEPT};
use crate::ids::CasRef;
use crate::run::greater;

impl Reviews {
    /// Returns what both records know together; see [`ThreadRecord::merged`](crate::run::ThreadRecord::merged).
    pub(crate) fn merged(&self, other: &Self) -> Self {
        let mut used = self.used.clone();
        used.raise_to(&other.used);
        let mut by_head: BTreeMap<CasRef, RecordedVerdict> = BTreeMap::new();
        for verdict in self.verdicts.iter().chain(&other.verdicts) {
            let known = by_head.remove(&verdict.head);
            let known = known.map_or_else(|| verdict.clone(), |known| joined(&known, verdict));
            by_head.insert(verdict.head, known);
        }
        // The record with more verdicts knows the newest ones. What only the other one knows is older.
        let [one, other_heads] = [self, other].map(heads);
        let newer = match (one.len(), &one) >= (other_heads.len(), &other_heads) {
            true => &one,
            false => &other_heads,
        };
        let known: BTreeSet<&CasRef> = newer.iter().collect();
        let both = one.iter().chain(&other_heads);
        let older = both.filter(|head| !known.contains(head));
        let heads: Vec<&CasRef> = older.chain(newer).collect();
        let surplus = heads.len().saturating_sub(VERDICTS_KEPT);
        let newest = heads.into_iter().skip(surplus);
        Self {
            used,
            verdicts: newest.filter_map(|head| by_head.remove(head)).collect(),
            failed: self.failed.max(other.failed),
        }
    }
}

impl Summaries {
    /// Returns what both records know together; see [`ThreadRecord::merged`](crate::run::ThreadRecord::merged).
    pub(crate) fn merged(&self, other: &Self) -> Self {
        let mut used = self.used.clone();
        used.raise_to(&other.used);
        let newest = [self.newest, other.newest].into_iter().flatten();
        Self {
            used,
            newest: newest.max_by_key(|summary| (summary.at_ms, summary.node)),
        }
    }
}

fn heads(reviews: &Reviews) -> Vec<CasRef> {
    let verdicts = reviews.verdicts.iter();
    verdicts.map(|verdict| verdict.head).collect()
}

/// Returns one verdict by what two records say about a head. The stricter one counts, unless a person let the thread go on.
fn joined(one: &RecordedVerdict, other: &RecordedVerdict) -> RecordedVerdict {
    let is_strict = |verdict: &RecordedVerdict| verdict.decision == Decision::Suspend;
    let stricter = match (is_strict(one), is_strict(other)) {
        (true, false) => one,
        (false, true) => other,
        (true, true) | (false, false) => greater(one, other),
    };
    RecordedVerdict {
        released: one.released || other.released,
        ..stricter.clone()
    }
}
