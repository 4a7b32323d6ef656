//! One form of a secret: which characters follow each other, and where it ends in a text.

use std::collections::BTreeSet;

use super::breaks::{self, InBreak, LINE_ENDS};
use super::ways::Ways;

/// How many bytes of a form are searched for. The rest is compared where they are found.
pub(super) const MAX_BEGINNING: usize = 8;

/// How many bytes there are before the first break where the beginning of a form is looked for at that break.
pub(super) const MAX_BEFORE_BREAK: usize = 3;

/// How many beginnings of a form are searched for, unless its first character alone has more.
const MANY: usize = 256;

/// Where a form may be broken into lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Breaks {
    Never,
    /// After every character. The next line may be indented.
    Anywhere,
}

/// A form of a secret.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Form {
    characters: Vec<Ways>,
    breaks: Breaks,
}

/// How far a form reaches in a text.
pub(super) struct Reach {
    /// Where it ends, if it is there.
    pub(super) end: Option<usize>,
    /// Whether it could end beyond the text.
    pub(super) is_open: bool,
}

/// The places in a text up to which a form was found. They are kept for their memory.
#[derive(Default)]
pub(super) struct Places {
    now: Vec<usize>,
    next: Vec<usize>,
}

impl Form {
    /// Returns the form of these characters. There must be one.
    pub(super) fn new(characters: Vec<Ways>, breaks: Breaks) -> Self {
        Self { characters, breaks }
    }

    /// Returns the bytes with which the form may begin.
    pub(super) fn first_bytes(&self) -> impl Iterator<Item = u8> {
        self.characters[0].iter().map(|way| way[0])
    }

    /// Returns texts with which the form begins: one of them is wherever the form is, unless its first line is shorter.
    pub(super) fn beginnings(&self) -> Vec<Vec<u8>> {
        let most = match self.breaks {
            Breaks::Never => MAX_BEGINNING,
            Breaks::Anywhere => MAX_BEFORE_BREAK + 1,
        };
        let (mut long, mut short) = (Vec::new(), vec![Vec::new()]);
        for (number, ways) in self.characters.iter().enumerate() {
            if short.is_empty() || (number > 0 && short.len() * ways.len() > MANY) {
                break;
            }
            let (mut enough, rest) = longer(&short, ways, most);
            enough.iter_mut().for_each(|text| text.truncate(most));
            long.extend(enough);
            short = rest;
        }
        long.extend(short);
        long
    }

    /// Returns the first lines that are shorter than a beginning, each with the first byte of the next line.
    pub(super) fn broken_beginnings(&self) -> Vec<Vec<u8>> {
        let (mut broken, mut short) = (Vec::new(), vec![Vec::new()]);
        let pairs = self.characters.windows(2);
        for pair in pairs.take_while(|_| self.breaks == Breaks::Anywhere) {
            (_, short) = longer(&short, &pair[0], MAX_BEFORE_BREAK + 1);
            if short.is_empty() {
                break;
            }
            let next: BTreeSet<u8> = pair[1].iter().map(|way| way[0]).collect();
            let with_next = |line: &Vec<u8>| {
                let line = line.clone();
                let with = |byte: &u8| [&line[..], &[*byte]].concat();
                next.iter().map(with).collect::<Vec<_>>()
            };
            broken.extend(short.iter().flat_map(with_next));
        }
        broken
    }

    /// Tells how far the form reaches that begins where the text does.
    pub(super) fn reach(&self, text: &[u8], places: &mut Places) -> Reach {
        places.now.clear();
        places.now.push(0);
        self.reach_from(0, text, places)
    }

    /// Returns how many bytes at the beginning of a text may be the end of a form whose beginning was cut off.
    pub(super) fn rest_after_cut(&self, text: &[u8], places: &mut Places) -> usize {
        let mut longest = 0;
        for first in 1..=self.characters.len() {
            let is_last = first == self.characters.len();
            places.now.clear();
            places.now.extend((!is_last).then_some(0));
            let cut_within = self.characters[first - 1].iter();
            let has_break = self.breaks == Breaks::Anywhere && !is_last;
            let line_ends = LINE_ENDS.iter().filter(|_| has_break);
            let line_ends = line_ends.map(|end| end.as_bytes());
            let ways = cut_within.map(Vec::as_slice).chain(line_ends);
            for way in ways.filter(|way| way.len() > 1) {
                for rest in (1..way.len()).map(|cut| &way[cut..]) {
                    if text.starts_with(rest) {
                        add(&mut places.now, rest.len());
                    } else if rest.starts_with(text) {
                        return text.len();
                    }
                }
            }
            if !is_last {
                self.add_breaks(text, &mut places.now, InBreak::Perhaps);
            }
            let reach = self.reach_from(first, text, places);
            let end = if reach.is_open {
                text.len()
            } else {
                reach.end.unwrap_or(0)
            };
            longest = longest.max(end);
        }
        longest
    }

    /// Goes on with a character at the places that were reached before it.
    fn reach_from(&self, first: usize, text: &[u8], places: &mut Places) -> Reach {
        let mut is_open = false;
        for (number, ways) in self.characters.iter().enumerate().skip(first) {
            places.next.clear();
            for at in &places.now {
                let rest = &text[*at..];
                for way in ways.iter() {
                    if rest.starts_with(way) {
                        add(&mut places.next, at + way.len());
                    } else if way.starts_with(rest) {
                        is_open = true;
                    }
                }
            }
            if places.next.is_empty() {
                return Reach { end: None, is_open };
            }
            if number + 1 < self.characters.len() {
                is_open |= self.add_breaks(text, &mut places.next, InBreak::No);
            }
            std::mem::swap(&mut places.now, &mut places.next);
        }
        let end = places.now.iter().copied().max();
        Reach { end, is_open }
    }

    /// Adds the places behind the breaks that begin at these places. Tells whether one could end beyond the text.
    fn add_breaks(&self, text: &[u8], places: &mut Vec<usize>, in_break: InBreak) -> bool {
        if self.breaks == Breaks::Never {
            return false;
        }
        let mut is_open = false;
        for number in 0..places.len() {
            let end = breaks::end(text, places[number], in_break);
            is_open |= end.is_open;
            add(places, end.at);
        }
        is_open
    }
}

/// Returns the texts with each of the ways behind them: those that have so many bytes, and the others.
fn longer(texts: &[Vec<u8>], ways: &Ways, most: usize) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    let longer = texts.iter().flat_map(|text| {
        let longer = ways.iter().map(|way| [&text[..], way].concat());
        longer.collect::<Vec<_>>()
    });
    longer.partition(|text| text.len() >= most)
}

fn add(places: &mut Vec<usize>, place: usize) {
    if !places.contains(&place) {
        places.push(place);
    }
}
