//! The records of the items of a loop. Finished items become one compressed text, so that very many of them need little memory.

use std::io::{Read as _, Write as _};

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;

use super::tree::Members;

/// How much text is compressed at once.
const CHUNK_BYTES: usize = 64 << 10;

/// The records of the items of a loop.
#[derive(Debug, Default)]
pub(super) struct Items {
    frozen: Frozen,
    /// The items that are not frozen.
    open: Vec<Members>,
    /// Takes what comes for a frozen item, which does not change any more.
    ignored: Members,
}

/// The first items of a loop as text, with commas between them.
#[derive(Debug, Default)]
struct Frozen {
    count: usize,
    bytes: usize,
    /// Compressed parts of the text.
    chunks: Vec<Box<[u8]>>,
    /// What follows them.
    rest: String,
}

impl Items {
    /// Returns the records of an item. Items before it that are not there yet are added.
    pub(super) fn item(&mut self, index: usize) -> &mut Members {
        let Some(at) = index.checked_sub(self.frozen.count) else {
            return &mut self.ignored;
        };
        if self.open.len() <= at {
            self.open.resize_with(at + 1, Members::default);
        }
        &mut self.open[at]
    }

    /// Freezes the items before one.
    pub(super) fn freeze(&mut self, before: usize) {
        let count = before.saturating_sub(self.frozen.count);
        for item in self.open.drain(..count.min(self.open.len())) {
            self.frozen.push(&item);
        }
    }

    /// Returns how many bytes all records take.
    pub(super) fn len(&self) -> usize {
        self.frozen.bytes + self.open.iter().map(Members::len).sum::<usize>()
    }

    /// Writes all items as a list, in parts.
    pub(super) fn stream<E>(&self, out: &mut dyn FnMut(&str) -> Result<(), E>) -> Result<(), E> {
        out("[")?;
        self.frozen.stream(out)?;
        for (at, item) in self.open.iter().enumerate() {
            if at + self.frozen.count > 0 {
                out(",")?;
            }
            let mut text = String::new();
            item.write(&mut text);
            out(&text)?;
        }
        out("]")
    }
}

impl Frozen {
    fn push(&mut self, item: &Members) {
        if self.count > 0 {
            self.rest.push(',');
        }
        item.write(&mut self.rest);
        self.count += 1;
        self.bytes += item.len();
        if self.rest.len() >= CHUNK_BYTES {
            self.chunks.push(deflated(&self.rest));
            self.rest = String::new();
        }
    }

    fn stream<E>(&self, out: &mut dyn FnMut(&str) -> Result<(), E>) -> Result<(), E> {
        for chunk in &self.chunks {
            out(&inflated(chunk))?;
        }
        out(&self.rest)
    }
}

fn deflated(text: &str) -> Box<[u8]> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
    let written = encoder.write_all(text.as_bytes());
    let finished = written.and_then(|()| encoder.finish());
    finished.expect("memory takes every byte").into()
}

fn inflated(chunk: &[u8]) -> String {
    let mut text = String::new();
    let read = DeflateDecoder::new(chunk).read_to_string(&mut text);
    read.expect("a chunk is what was deflated");
    text
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::state::record::Record;

    fn text(items: &Items) -> String {
        let mut text = String::new();
        let written: Result<(), ()> = items.stream(&mut |part| {
            text.push_str(part);
            Ok(())
        });
        written.unwrap();
        text
    }

    #[test]
    fn frozen_items_are_written_as_they_were() {
        let (mut frozen, mut open) = (Items::default(), Items::default());
        for index in 0..2000 {
            let members = json!({ "status": "completed", "note": "n".repeat(60), "index": index });
            for items in [&mut frozen, &mut open] {
                let record = Record::of(members.as_object().unwrap(), None);
                items.item(index).put("Step", record);
            }
            frozen.freeze(index);
        }
        assert!(frozen.frozen.chunks.len() > 2);
        assert_eq!(text(&frozen), text(&open));
        assert_eq!(frozen.len(), open.len());
        let parsed: Vec<Value> = serde_json::from_str(&text(&frozen)).unwrap();
        assert_eq!(parsed[1234]["Step"]["index"], 1234);
        let kept: usize = frozen.frozen.chunks.iter().map(|chunk| chunk.len()).sum();
        assert!(kept < frozen.len() / 4, "{kept}");
    }

    #[test]
    fn nothing_changes_a_frozen_item() {
        let mut items = Items::default();
        items.item(0).put("A", Record::of_value(&json!({ "a": 1 })));
        items.freeze(1);
        let before = text(&items);
        items.item(0).put("A", Record::of_value(&json!({ "a": 2 })));
        assert_eq!(text(&items), before);
        assert_eq!(before, "[{\n\"A\":{\"a\":1}}]");
    }
}
