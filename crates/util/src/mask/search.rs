//! Finds the places of a text at which a form of a secret may begin. It is fast, and looks at the beginnings of forms only.

use std::collections::{BTreeSet, HashSet};

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

use super::Rest;
use super::breaks::{self, InBreak};
use super::form::{Form, MAX_BEFORE_BREAK, MAX_BEGINNING};

/// With how many beginnings the fastest search needs no more than some megabytes.
const MOST_FOR_DFA: usize = 4000;

/// What is searched for.
pub(super) struct Search {
    /// The whole beginnings, then the short first lines with the first byte of a break.
    beginnings: AhoCorasick,
    /// How many whole beginnings there are.
    whole: usize,
    /// The short first lines with the first byte of the next line.
    broken: HashSet<Vec<u8>>,
}

impl Search {
    /// Returns the search for some forms; `None` if there are none.
    pub(super) fn of(forms: &[Form]) -> Option<Self> {
        if forms.is_empty() {
            return None;
        }
        let texts: BTreeSet<Vec<u8>> = forms.iter().flat_map(Form::beginnings).collect();
        let broken: HashSet<Vec<u8>> = forms.iter().flat_map(Form::broken_beginnings).collect();
        let whole = texts.len();
        let lines: BTreeSet<&[u8]> = broken.iter().map(|line| &line[..line.len() - 1]).collect();
        let lines = lines.into_iter().flat_map(|line| {
            let with = |byte: u8| [line, &[byte]].concat();
            breaks::FIRST.map(with)
        });
        let texts: Vec<Vec<u8>> = texts.into_iter().chain(lines).collect();
        let kind = (texts.len() <= MOST_FOR_DFA).then_some(AhoCorasickKind::DFA);
        let beginnings = AhoCorasick::builder()
            .kind(kind)
            .match_kind(MatchKind::LeftmostFirst)
            .build(texts);
        Some(Self {
            beginnings: beginnings.expect("the secrets have less than 2^31 beginnings"),
            whole,
            broken,
        })
    }

    /// Returns the next position, from `at` on, at which a form may start. Everything before it starts none.
    pub(super) fn next(&self, bytes: &[u8], at: usize, rest: Rest) -> usize {
        let found = self.next_beginning(bytes, at).unwrap_or(bytes.len());
        match rest {
            Rest::Ended => found,
            // The last bytes may be less than a beginning.
            Rest::Follows => found.min(at.max(bytes.len().saturating_sub(MAX_BEGINNING - 1))),
        }
    }

    fn next_beginning(&self, bytes: &[u8], mut at: usize) -> Option<usize> {
        loop {
            let found = self.beginnings.find(&bytes[at..])?;
            let start = at + found.start();
            if found.pattern().as_usize() < self.whole || self.may_go_on(bytes, start) {
                return Some(start);
            }
            at = start + 1;
        }
    }

    /// Tells whether a form may start here whose first line is shorter than the beginnings that are searched for. Most lines that end
    /// with the right character do not.
    fn may_go_on(&self, bytes: &[u8], start: usize) -> bool {
        let lines = 1..=MAX_BEFORE_BREAK;
        let places = lines.map(|length| start + length);
        let mut places =
            places.filter(|place| bytes.get(*place).copied().is_some_and(breaks::is_first));
        places.any(|place| {
            let end = breaks::end(bytes, place, InBreak::No);
            let next = bytes.get(end.at).filter(|_| !end.is_open);
            // At the end of what is known, what follows decides.
            next.is_none_or(|next| {
                let length = place - start;
                let mut line = [0; MAX_BEFORE_BREAK + 1];
                line[..length].copy_from_slice(&bytes[start..place]);
                line[length] = *next;
                end.at > place && self.broken.contains(&line[..=length])
            })
        })
    }
}
