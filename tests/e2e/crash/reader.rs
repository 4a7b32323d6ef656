//! Reads a store by its published format and by nothing of ours: no code is shared with what wrote it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

const DIGITS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// All that a root says, every node of it checked.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ledger {
    /// The steps of every thread that is active or has ended, oldest first.
    pub(crate) threads: BTreeMap<String, Vec<String>>,
    pub(crate) active: BTreeSet<String>,
    /// The steps whose place others took, each with its thread.
    pub(crate) replaced: BTreeMap<String, String>,
    /// The threads that a person removed.
    removed: BTreeSet<String>,
    /// The lines of the history, each with its thread.
    history: Vec<(String, String)>,
    names: BTreeMap<String, String>,
    /// The names with the workflows that they stood for, as far as that is on record.
    earlier: BTreeSet<(String, String)>,
}

impl Ledger {
    /// Reads a root. Whatever is missing, damaged or not understood fails the test.
    #[track_caller]
    pub(crate) fn read(root: &Path) -> Self {
        let mut reader = Reader {
            cas: root.join("cas"),
            checked: BTreeMap::new(),
        };
        let mut ledger = Self::default();
        let text = |name: &str| fs::read_to_string(root.join(name)).unwrap_or_default();
        for line in text("history.jsonl").lines() {
            let record: Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"));
            let of = |key: &str| record[key].as_str().map(str::to_owned);
            let thread = if let Some(thread) = of("thread") {
                let steps = reader.chain(&of("head").unwrap());
                ledger.threads.insert(thread.clone(), steps);
                thread
            } else if let Some(step) = of("replaced") {
                let steps = reader.chain(&step);
                let thread = of("inThread").unwrap();
                ledger.replaced.insert(step, thread.clone());
                // A migration replaces a whole chain by its copy.
                if record["workflow"].is_string() {
                    let copied = steps.into_iter().map(|step| (step, thread.clone()));
                    ledger.replaced.extend(copied);
                }
                thread
            } else if let Some(thread) = of("returned") {
                // It says what is missing of a thread that is here again, which no step depends on.
                thread
            } else {
                // All that was said about it before is void.
                let thread = of("removed").unwrap();
                ledger.threads.remove(&thread);
                ledger.removed.insert(thread.clone());
                thread
            };
            ledger.history.push((thread, line.to_owned()));
        }
        for line in text("threads.yaml").lines() {
            let (thread, head) = line.split_once(": ").unwrap_or_else(|| panic!("{line}"));
            ledger.threads.insert(thread.to_owned(), reader.chain(head));
            ledger.active.insert(thread.to_owned());
        }
        // A registry without names is `{}`.
        let registry = text("registry.yaml");
        for line in registry.lines().filter(|line| *line != "{}") {
            let (name, workflow) = line.split_once(": ").unwrap_or_else(|| panic!("{line}"));
            let workflow = workflow.trim_matches(['"', '\'']);
            reader.check(workflow);
            ledger.names.insert(name.to_owned(), workflow.to_owned());
        }
        for line in text("registry.history.jsonl").lines() {
            let change: Value = serde_json::from_str(line).unwrap();
            let name = change["name"].as_str().unwrap().to_owned();
            if let Some(workflow) = change["hash"].as_str() {
                reader.check(workflow);
                ledger.earlier.insert((name, workflow.to_owned()));
            }
        }
        ledger
    }

    /// Tells whether a person removed a thread. One that is still on record was not: its removal was interrupted.
    fn is_gone(&self, thread: &str) -> bool {
        self.removed.contains(thread) && !self.threads.contains_key(thread)
    }

    /// Returns the lines of the history about threads that are not gone.
    fn lines_but_of_gone(&self, which: &Self) -> Vec<&String> {
        let lines = self.history.iter();
        let kept = lines.filter(|(thread, _)| !which.is_gone(thread));
        kept.map(|(_, line)| line).collect()
    }

    /// Asserts that nothing that was recorded before is missing, except of threads that were removed.
    #[track_caller]
    pub(crate) fn keeps(&self, before: &Self) {
        let lines = self.lines_but_of_gone(self);
        assert!(
            lines.starts_with(&before.lines_but_of_gone(self)),
            "{self:?}"
        );
        assert!(self.removed.is_superset(&before.removed), "{self:?}");
        for (step, thread) in &before.replaced {
            let is_there = self.replaced.contains_key(step) || self.is_gone(thread);
            assert!(is_there, "{step} of {thread}: {self:?}");
        }
        // A name that is removed or stands for another workflow can go back to what it stood for.
        for (name, workflow) in &before.names {
            let is_earlier = self.earlier.contains(&(name.clone(), workflow.clone()));
            let is_there = self.names.get(name) == Some(workflow) || is_earlier;
            assert!(is_there, "{name}: {self:?}");
        }
        assert!(self.earlier.is_superset(&before.earlier), "{self:?}");
        for (thread, steps) in &before.threads {
            if self.is_gone(thread) {
                continue;
            }
            let now = self.threads.get(thread);
            let now = now.unwrap_or_else(|| panic!("{thread} is gone: {self:?}"));
            for step in steps {
                let is_there = now.contains(step) || self.replaced.contains_key(step);
                assert!(is_there, "{step} of {thread} is gone: {self:?}");
            }
        }
    }
}

/// Checks every node of a root, and that all that it refers to is there.
#[track_caller]
pub(crate) fn read_every_node(root: &Path) {
    let mut reader = Reader {
        cas: root.join("cas"),
        checked: BTreeMap::new(),
    };
    for file in fs::read_dir(root.join("cas")).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_some_and(|ending| ending == "bin") {
            reader.check(path.file_stem().unwrap().to_str().unwrap());
        }
    }
    assert!(!reader.checked.is_empty());
}

/// A step of a chain, as a reader of the run of a pipeline sees it.
#[derive(Debug, Clone)]
pub(crate) struct Visit {
    pub(crate) hash: String,
    pub(crate) key: String,
    pub(crate) output: Value,
}

/// Returns the steps that lead to a head, oldest first. Every node of them is checked.
#[track_caller]
pub(crate) fn visits(root: &Path, head: &str) -> Vec<Visit> {
    let mut reader = Reader {
        cas: root.join("cas"),
        checked: BTreeMap::new(),
    };
    let steps = reader.chain(head).into_iter();
    let visits = steps.map(|hash| {
        let step = reader.check(&hash);
        Visit {
            hash,
            key: step["role"].as_str().unwrap().to_owned(),
            output: reader.check(step["output"].as_str().unwrap()),
        }
    });
    visits.collect()
}

struct Reader {
    cas: PathBuf,
    /// The payloads of the nodes that were found in order, with all that they refer to.
    checked: BTreeMap<String, Value>,
}

impl Reader {
    /// Returns the hashes of the steps that lead to a head, checked back to the start of the thread.
    #[track_caller]
    fn chain(&mut self, head: &str) -> Vec<String> {
        let mut steps = Vec::new();
        let mut at = head.to_owned();
        let start = loop {
            let payload = self.check(&at);
            let Some(start) = payload["start"].as_str() else {
                assert!(payload["workflow"].is_string(), "{at} is no start");
                assert!(steps.is_empty(), "a step links to {at}");
                return steps;
            };
            steps.insert(0, at.clone());
            match payload["prev"].as_str() {
                Some(prev) => at = prev.to_owned(),
                None => break start.to_owned(),
            }
        };
        assert!(self.check(&start)["workflow"].is_string(), "{start}");
        steps
    }

    /// Checks a node, its type, and all that it refers to, and returns its payload.
    #[track_caller]
    fn check(&mut self, hash: &str) -> Value {
        if let Some(payload) = self.checked.get(hash) {
            return payload.clone();
        }
        let path = self.cas.join(format!("{hash}.bin"));
        let bytes = fs::read(&path).unwrap_or_else(|error| panic!("{hash}: {error}"));
        let (kind, payload) = node(hash, &bytes);
        self.checked.insert(hash.to_owned(), payload.clone());
        self.check(&kind);
        let mut found = Vec::new();
        if payload.is_object() {
            references(&payload, &mut found);
        }
        for reference in found {
            self.check(&reference);
        }
        payload
    }
}

/// Finds every text that is written as a hash is.
fn references(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => {
            let is_hash = text.len() == 13
                && text.bytes().all(|byte| DIGITS.contains(&byte))
                && text.as_bytes()[0] <= b'F';
            if is_hash {
                found.push(text.clone());
            }
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        Value::Object(members) => members.values().for_each(|item| references(item, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Returns the type and the payload of a node whose file has these bytes, and whose hash must be this one.
#[track_caller]
fn node(hash: &str, bytes: &[u8]) -> (String, Value) {
    let mut rest = bytes
        .strip_prefix(b"\xa3dtypem")
        .unwrap_or_else(|| panic!("{hash} is no node"));
    let kind = take(&mut rest, 13).to_vec();
    rest = rest.strip_prefix(b"gpayload").unwrap();
    let before = rest;
    let payload = value(&mut rest);
    let encoded = &before[..before.len() - rest.len()];
    rest = rest.strip_prefix(b"itimestamp").unwrap();
    assert!(value(&mut rest).is_number(), "{hash} has no time");
    assert!(rest.is_empty(), "{hash} has too many bytes");
    let hashed = match kind == hash.as_bytes() {
        true => encoded.to_vec(),
        false => [&kind, encoded].concat(),
    };
    assert_eq!(base32(xxh64(&hashed)), hash, "the name of a node");
    (String::from_utf8(kind).unwrap(), payload)
}

fn take<'a>(bytes: &mut &'a [u8], length: usize) -> &'a [u8] {
    let (taken, rest) = bytes.split_at(length);
    *bytes = rest;
    taken
}

/// Reads a value of CBOR, of which nodes use what JSON has.
fn value(bytes: &mut &[u8]) -> Value {
    let first = take(bytes, 1)[0];
    match (first >> 5, first & 31) {
        (0, info) => argument(bytes, info).into(),
        (1, info) => (-1 - i64::try_from(argument(bytes, info)).unwrap()).into(),
        (3, info) => text(bytes, info).into(),
        (4, info) => (0..argument(bytes, info)).map(|_| value(bytes)).collect(),
        (5, info) => {
            let members = argument(bytes, info);
            let members = (0..members).map(|_| (key(bytes), value(bytes)));
            Value::Object(members.collect::<Map<_, _>>())
        }
        (7, 20) => false.into(),
        (7, 21) => true.into(),
        (7, 22) => Value::Null,
        (7, 27) => f64::from_bits(argument(bytes, 27)).into(),
        _ => panic!("{first:#04x} is of no JSON value"),
    }
}

fn key(bytes: &mut &[u8]) -> String {
    match value(bytes) {
        Value::String(key) => key,
        other => panic!("{other} is a key"),
    }
}

fn text(bytes: &mut &[u8], info: u8) -> String {
    let length = usize::try_from(argument(bytes, info)).unwrap();
    String::from_utf8(take(bytes, length).to_vec()).unwrap()
}

fn argument(bytes: &mut &[u8], info: u8) -> u64 {
    let length = match info {
        0..24 => return info.into(),
        24..28 => 1 << (info - 24),
        _ => panic!("a length that nodes do not have"),
    };
    take(bytes, length)
        .iter()
        .fold(0, |number, byte| number << 8 | u64::from(*byte))
}

fn base32(number: u64) -> String {
    let digit = |place: u32| DIGITS[(number >> (5 * place) & 31) as usize];
    (0..13)
        .rev()
        .map(|place| char::from(digit(place)))
        .collect()
}

/// The hash XXH64 with the seed 0, after its specification.
fn xxh64(bytes: &[u8]) -> u64 {
    const P: [u64; 5] = [
        0x9E37_79B1_85EB_CA87,
        0xC2B2_AE3D_27D4_EB4F,
        0x1656_67B1_9E37_79F9,
        0x85EB_CA77_C2B2_AE63,
        0x27D4_EB2F_1656_67C5,
    ];
    let round = |lane: u64, input: u64| {
        let lane = lane.wrapping_add(input.wrapping_mul(P[1]));
        lane.rotate_left(31).wrapping_mul(P[0])
    };
    let long = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap());
    let mut stripes = bytes.chunks_exact(32);
    let mut hash = P[4];
    if bytes.len() >= 32 {
        let mut lanes = [P[0].wrapping_add(P[1]), P[1], 0, 0_u64.wrapping_sub(P[0])];
        for stripe in stripes.by_ref() {
            for (lane, input) in lanes.iter_mut().zip(stripe.chunks_exact(8)) {
                *lane = round(*lane, long(input));
            }
        }
        let turns = lanes.iter().zip([1, 7, 12, 18]);
        hash = turns.fold(0, |sum, (lane, turn)| {
            u64::wrapping_add(sum, lane.rotate_left(turn))
        });
        for lane in lanes {
            hash = (hash ^ round(0, lane))
                .wrapping_mul(P[0])
                .wrapping_add(P[3]);
        }
    }
    hash = hash.wrapping_add(bytes.len() as u64);
    let mut longs = stripes.remainder().chunks_exact(8);
    for input in longs.by_ref() {
        hash = (hash ^ round(0, long(input))).rotate_left(27);
        hash = hash.wrapping_mul(P[0]).wrapping_add(P[3]);
    }
    let mut rest = longs.remainder();
    if rest.len() >= 4 {
        let input = u32::from_le_bytes(take(&mut rest, 4).try_into().unwrap());
        hash ^= u64::from(input).wrapping_mul(P[0]);
        hash = hash.rotate_left(23).wrapping_mul(P[1]).wrapping_add(P[2]);
    }
    for byte in rest {
        hash ^= u64::from(*byte).wrapping_mul(P[4]);
        hash = hash.rotate_left(11).wrapping_mul(P[0]);
    }
    hash = (hash ^ hash >> 33).wrapping_mul(P[1]);
    hash = (hash ^ hash >> 29).wrapping_mul(P[2]);
    hash ^ hash >> 32
}

#[test]
fn the_reader_knows_the_published_hashes() {
    assert_eq!(base32(xxh64(b"")), "EYHPV6X8XHTCS");
    assert_eq!(base32(xxh64(b"a")), "D4KP4Y6MRRVJV");
    assert_eq!(base32(xxh64(b"hello")), "2DHW2FP49YVD3");
    read_every_node(&crate::world::fixture("store"));
}
