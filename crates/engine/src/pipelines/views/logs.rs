//! What the programs of a run printed: the files of its logs, and the short ones from the store.

use std::path::PathBuf;

use serde_json::Value;
use uwf_cas_fs::Store;
use uwf_pipeline::course::StepKey;
use uwf_pipeline::nodes::{LogRecord, Stream, VisitNode};
use uwf_pipeline::{Event, Pipeline, Step};
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_storage::RunRoot;

use super::found;
use crate::pipelines::chain;
use crate::pipelines::error::PipelineError;
use crate::pipelines::folder::{log_file, root_of};
use crate::{EngineError, Site};

/// One log of a settled visit.
#[derive(Debug, Clone)]
pub struct RunLog {
    /// The key of the step.
    pub key: String,
    /// The number of the visit.
    pub visit: u64,
    /// Which output.
    pub stream: Stream,
    /// How many bytes were printed to it and kept.
    pub bytes: u64,
    /// Where the text is.
    pub content: LogContent,
}

/// Where the text of a log is.
#[derive(Debug, Clone)]
pub enum LogContent {
    /// In this file.
    File(PathBuf),
    /// In the store. The file is gone.
    Text(String),
    /// Nowhere: the file is gone, and the log was too long for the store.
    Gone(PathBuf),
}

/// Which steps are looked at: one key, all visits of a step of a body, or everything within a step.
#[derive(Debug, Clone)]
pub(super) struct Wanted(Option<String>);

impl Wanted {
    /// Returns the steps that a person named.
    ///
    /// # Errors
    /// When the pipeline has no such step.
    pub(super) fn new(
        step: Option<&str>,
        thread: ThreadId,
        pipeline: &Pipeline,
    ) -> Result<Self, EngineError> {
        if let Some(step) = step {
            let keys = keys(&pipeline.steps, "");
            let general = general(step);
            if !keys.iter().any(|key| is_within(key, &general)) {
                let step = step.to_owned();
                return Err(PipelineError::NoSuchStep { thread, step, keys }.into());
            }
        }
        Ok(Self(step.map(str::to_owned)))
    }

    pub(super) fn has(&self, key: &str) -> bool {
        let of = |wanted: &str| is_within(key, wanted) || is_within(&general(key), wanted);
        self.0.as_deref().is_none_or(of)
    }
}

/// Tells whether a key is another one, or within it.
fn is_within(key: &str, around: &str) -> bool {
    let rest = key.strip_prefix(around);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['[', '.']))
}

/// Returns a key with empty brackets.
fn general(key: &str) -> String {
    let parsed = key.parse::<StepKey>();
    parsed.map_or_else(|_| key.to_owned(), |key| key.without_indices())
}

/// Returns the keys of steps, and of those in their bodies, with empty brackets.
fn keys(steps: &[Step], around: &str) -> Vec<String> {
    let mut found = Vec::new();
    for step in steps {
        let key = format!("{around}{}", step.name);
        found.push(key.clone());
        if let Some(body) = step.body() {
            found.extend(keys(&body.steps, &format!("{key}[].")));
        }
    }
    found
}

/// Returns the logs of a run, or of one of its steps, the oldest first.
///
/// # Errors
/// When the thread is unknown or no run, it has no such step, or a node cannot be read.
pub fn run_logs(
    site: &Site,
    thread: ThreadId,
    step: Option<&str>,
) -> Result<Vec<RunLog>, EngineError> {
    let found = found(site, thread)?;
    let opened = chain::open(&site.store, (thread, found.newest))?;
    let wanted = Wanted::new(step, thread, opened.newest_pipeline())?;
    let begun = opened.begun();
    let root = root_of(begun.start.cwd.as_deref(), &begun.run, thread);
    let mut logs = Vec::new();
    opened.fold(&site.store, thread, &mut |seen| {
        if let Event::Visit(visit) = seen.event {
            let key = visit.key.to_string();
            if wanted.has(&key) {
                let detail: VisitNode = chain::payload(&site.store, seen.step.node.detail)?;
                logs.extend(logs_of(&site.store, &root, &key, detail));
            }
        }
        Ok(())
    })?;
    Ok(logs)
}

/// Returns the logs of a visit.
pub(super) fn logs_of(
    store: &Store,
    root: &RunRoot,
    key: &str,
    detail: VisitNode,
) -> impl Iterator<Item = RunLog> {
    detail.logs.into_iter().map(move |log| RunLog {
        key: key.to_owned(),
        visit: detail.visit,
        stream: log.stream,
        bytes: log.bytes,
        content: content(store, root, &log),
    })
}

fn content(store: &Store, root: &RunRoot, log: &LogRecord) -> LogContent {
    let file = log_file(root, &log.run_id, &log.path);
    if let Some(file) = file.as_ref().filter(|file| file.is_file()) {
        return LogContent::File(file.clone());
    }
    let text = log.text.as_ref().and_then(|text| text.parse().ok());
    match text.and_then(|text| text_of(store, text)) {
        Some(text) => LogContent::Text(text),
        None => LogContent::Gone(file.unwrap_or_else(|| PathBuf::from(&log.path))),
    }
}

fn text_of(store: &Store, text: CasRef) -> Option<String> {
    match store.need(text).ok()?.payload {
        Value::String(text) => Some(text),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_named_by_its_key_or_by_that_of_all_items_or_of_what_is_around() {
        let wanted = Wanted(Some("A[1].B".to_owned()));
        let all = Wanted(Some("A[].B".to_owned()));
        let around = Wanted(Some("A".to_owned()));
        let item = Wanted(Some("A[1]".to_owned()));
        for (key, expected) in [
            ("A[1].B", [true, true, true, true]),
            ("A[2].B", [false, true, true, false]),
            ("A[1].C", [false, false, true, true]),
            ("A[11].B", [false, true, true, false]),
            ("A", [false, false, true, false]),
            ("AB", [false; 4]),
        ] {
            let found = [&wanted, &all, &around, &item].map(|wanted| wanted.has(key));
            assert_eq!(found, expected, "{key}");
            assert!(Wanted(None).has(key));
        }
    }
}
