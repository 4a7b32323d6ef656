//! What runs of pipelines have left, read without code of ours: their steps, their pictures and their files.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::reader::{Ledger, Visit, visits};
use crate::world::World;

/// Returns how often each step was begun.
fn begun(world: &World) -> BTreeMap<String, usize> {
    let ran = fs::read_to_string(world.project().join("ran")).unwrap_or_default();
    let mut begun = BTreeMap::new();
    for key in ran.lines() {
        *begun.entry(key.to_owned()).or_insert(0) += 1;
    }
    begun
}

/// Returns the folders of all runs that were made completely, sorted.
pub(super) fn run_roots(world: &World) -> Vec<PathBuf> {
    let runs = world.project().join(".orchestrate/runs");
    let found = fs::read_dir(runs).into_iter().flatten();
    let mut found: Vec<PathBuf> = found.map(|entry| entry.unwrap().path()).collect();
    found.retain(|path| path.join("state.json").exists());
    found.sort();
    found
}

/// Returns the picture in the folder of a run.
#[track_caller]
pub(super) fn picture(folder: &Path) -> Value {
    let text = fs::read_to_string(folder.join("state.json")).unwrap();
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// What differs between two runs that did the same: times, how often a wait looked, and how many variables a shell gave.
const VARIES: [&str; 8] = [
    "started_at",
    "completed_at",
    "duration",
    "duration_ms",
    "wait_duration",
    "wait_duration_ms",
    "poll_count",
    "env_count",
];

/// Removes what differs between two runs that did the same.
fn without_times(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|name, _| !VARIES.contains(&name.as_str()));
            members.values_mut().for_each(without_times);
        }
        Value::Array(items) => items.iter_mut().for_each(without_times),
        _ => {}
    }
}

/// What a run has left at its end.
#[derive(Debug, PartialEq)]
pub(super) struct Left {
    steps: Value,
    status: Value,
    files: Vec<String>,
}

impl Left {
    #[track_caller]
    pub(super) fn of(world: &World) -> Self {
        let folder = run_roots(world).pop().expect("a run");
        let mut picture = picture(&folder);
        let mut steps = serde_json::json!([
            picture["steps"].take(),
            picture["for_each"].take(),
            picture["step_visits"].take()
        ]);
        without_times(&mut steps);
        let mut files = files(&world.project(), ".orchestrate");
        files.extend(self::files(&folder, ""));
        Self {
            steps,
            status: picture["status"].clone(),
            files,
        }
    }
}

/// Returns all files below a folder, sorted, without those of one name.
fn files(folder: &Path, but: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        if name == but {
            continue;
        }
        match entry.file_type().unwrap().is_dir() {
            true => {
                let below = files(&entry.path(), but).into_iter();
                found.extend(below.map(|file| format!("{name}/{file}")));
            }
            false => found.push(name),
        }
    }
    found.sort();
    found
}

/// Returns the steps of the only thread, with those that wait for the head to follow.
#[track_caller]
pub(super) fn chain(world: &World) -> Vec<Visit> {
    let ledger = Ledger::read(&world.root());
    let Some((thread, steps)) = ledger.threads.iter().next() else {
        return Vec::new();
    };
    assert_eq!(ledger.threads.len(), 1, "{ledger:?}");
    let pending = world.pending(thread);
    let pending = pending.and_then(|pending| Some(pending["step"].as_str()?.to_owned()));
    let newest = pending.or_else(|| steps.last().cloned());
    newest.map_or_else(Vec::new, |newest| visits(&world.root(), &newest))
}

/// Returns the attempts that a chain names as lost, one key for each.
fn lost(chain: &[Visit]) -> Vec<&str> {
    let resumes = chain.iter().filter(|visit| visit.key == "_resume");
    resumes
        .filter_map(|visit| visit.output["lost"]["key"].as_str())
        .collect()
}

/// What a run had done at a moment.
pub(super) struct Done {
    chain: Vec<Visit>,
    begun: BTreeMap<String, usize>,
}

impl Done {
    #[track_caller]
    pub(super) fn of(world: &World) -> Self {
        Self {
            chain: chain(world),
            begun: begun(world),
        }
    }

    /// Asserts that what had settled before was not done again. A step of `again` was: it had failed.
    #[track_caller]
    pub(super) fn keeps(&self, before: &Self, again: &[&str]) {
        for (now, earlier) in self.chain.iter().zip(&before.chain) {
            assert_eq!(now.hash, earlier.hash, "{:#?}", self.chain);
        }
        assert!(self.chain.len() >= before.chain.len(), "{:#?}", self.chain);
        let settled = before.chain.iter().map(|visit| &visit.key);
        for key in settled.filter(|key| !again.contains(&key.as_str())) {
            assert_eq!(self.begun.get(key), before.begun.get(key), "{key}");
        }
    }

    /// Asserts that every attempt became a step or is named as lost, but for so many.
    #[track_caller]
    pub(super) fn is_accounted_for(&self, unnamed: usize) {
        let lost = lost(&self.chain);
        let mut missing = 0;
        for (key, count) in &self.begun {
            let settled = self.chain.iter().filter(|visit| visit.key == *key).count();
            let named = lost.iter().filter(|lost| *lost == key).count();
            missing += count.saturating_sub(settled + named);
        }
        assert!(missing <= unnamed, "{:?}, {:#?}", self.begun, self.chain);
    }

    /// Returns how many attempts were lost.
    pub(super) fn lost(&self) -> usize {
        lost(&self.chain).len()
    }

    /// Returns the keys of the steps of the pipeline.
    pub(super) fn keys(&self) -> Vec<String> {
        let keys = self.chain.iter().map(|visit| visit.key.clone());
        keys.filter(|key| key != "_resume").collect()
    }
}
