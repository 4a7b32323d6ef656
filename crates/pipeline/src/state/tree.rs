//! The records of a run by their keys: those of the pipeline, and those of the items of loops.

use std::convert::Infallible;

use serde_json::Value;

use super::items::Items;
use super::record::Record;
use crate::course::StepKey;

/// The records of one list of steps, in the order in which they came.
#[derive(Debug, Default)]
pub(super) struct Members(Vec<(String, Piece)>);

#[derive(Debug)]
enum Piece {
    Record(Record),
    Items(Items),
}

impl Members {
    /// Returns the records beside the one of a key. Items that are not there yet are added.
    pub(super) fn item(&mut self, key: &StepKey) -> &mut Self {
        let mut members = self;
        for (name, index) in key.items() {
            members = members.items(name).item(*index);
        }
        members
    }

    /// Returns the record of a key.
    pub(super) fn record(&mut self, key: &StepKey) -> Option<&mut Record> {
        let name = key.step_name()?;
        match &mut self.item(key).find(name)?.1 {
            Piece::Record(record) => Some(record),
            Piece::Items(_) => None,
        }
    }

    fn find(&mut self, name: &str) -> Option<&mut (String, Piece)> {
        self.0.iter_mut().find(|(known, _)| known == name)
    }

    /// Returns the items of a loop.
    fn items(&mut self, name: &str) -> &mut Items {
        let found = self.0.iter().position(|(known, _)| known == name);
        let at = found.unwrap_or(self.0.len());
        if found.is_none() {
            self.0
                .push((name.to_owned(), Piece::Items(Items::default())));
        }
        if let Piece::Record(_) = self.0[at].1 {
            self.0[at].1 = Piece::Items(Items::default());
        }
        match &mut self.0[at].1 {
            Piece::Items(items) => items,
            Piece::Record(_) => unreachable!("a record was just replaced"),
        }
    }

    /// Forgets the items of a loop. Returns how many bytes they took.
    pub(super) fn clear_items(&mut self, name: &str) -> usize {
        std::mem::take(self.items(name)).len()
    }

    /// Freezes the finished items of loops. `open` names the open item of each open loop, the outermost first.
    pub(super) fn freeze(&mut self, open: &[(String, usize)]) {
        let mut members = self;
        for (name, index) in open {
            let items = members.items(name);
            items.freeze(*index);
            members = items.item(*index);
        }
    }

    /// Keeps the record of a step. Returns how many bytes the former one took.
    pub(super) fn put(&mut self, name: &str, record: Record) -> usize {
        match self.find(name) {
            Some((_, piece)) => {
                let before = piece.len();
                *piece = Piece::Record(record);
                before
            }
            None => {
                self.0.push((name.to_owned(), Piece::Record(record)));
                0
            }
        }
    }

    pub(super) fn len(&self) -> usize {
        self.0.iter().map(|(_, piece)| piece.len()).sum()
    }

    /// Appends all records to a text.
    pub(super) fn write(&self, text: &mut String) {
        let appended: Result<(), Infallible> = self.stream(&mut |part| {
            text.push_str(part);
            Ok(())
        });
        let Ok(()) = appended;
    }

    /// Writes all records in parts.
    pub(super) fn stream<E>(&self, out: &mut dyn FnMut(&str) -> Result<(), E>) -> Result<(), E> {
        out("{")?;
        for (at, (name, piece)) in self.0.iter().enumerate() {
            let mut text = String::from(if at == 0 { "\n" } else { ",\n" });
            text.push_str(&Value::from(name.as_str()).to_string());
            text.push(':');
            if let Piece::Record(record) = piece {
                record.write(&mut text);
            }
            out(&text)?;
            if let Piece::Items(items) = piece {
                items.stream(out)?;
            }
        }
        out("}")
    }
}

impl Piece {
    fn len(&self) -> usize {
        match self {
            Self::Record(record) => record.len(),
            Self::Items(items) => items.len(),
        }
    }
}
