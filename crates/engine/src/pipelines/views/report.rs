//! Everything that happened in a run.

use serde::Serialize;
use serde_json::{Map, Value};
use uwf_pipeline::nodes::VisitNode;
use uwf_pipeline::{Event, Masks};
use uwf_protocol::ids::ThreadId;

use super::entry::{ArchiveView, ResumeView, RunEntry, VisitView};
use super::found;
use super::status::{RunStatusView, status_at};
use crate::pipelines::chain::{self, Seen};
use crate::pipelines::loop_times::LoopTimes;
use crate::pipelines::secrets::masks;
use crate::{EngineError, Site};

/// Everything that happened in a run.
#[derive(Debug, Clone, Serialize)]
pub struct RunStory {
    /// Where it stands.
    #[serde(flatten)]
    pub status: RunStatusView,
    /// The context, without secrets.
    pub context: Map<String, Value>,
    /// What happened, the oldest first.
    pub entries: Vec<RunEntry>,
}

/// Returns everything that happened in a run.
///
/// # Errors
/// When the thread is unknown or no run, or a node cannot be read.
pub fn run_story(site: &Site, thread: ThreadId) -> Result<RunStory, EngineError> {
    let found = found(site, thread)?;
    let opened = chain::open(&site.store, (thread, found.newest))?;
    let masks = masks(&opened, None, site.env.variables());
    let mut entries = Vec::new();
    let mut loops = LoopTimes::default();
    let chain = opened.fold(&site.store, thread, &mut |seen| {
        let took_ms = loops.seen(seen);
        entries.push(entry(site, (seen, took_ms), &masks)?);
        Ok(())
    })?;
    let context = chain.run.context.iter();
    let context = context.map(|(key, value)| (masks.text(key), masks.json(value)));
    Ok(RunStory {
        context: context.collect(),
        entries,
        status: status_at(site, &found)?,
    })
}

fn entry(
    site: &Site,
    (seen, took_ms): (&Seen<'_>, u64),
    masks: &Masks,
) -> Result<RunEntry, EngineError> {
    let node = &seen.step.node;
    let store = &site.store;
    Ok(match seen.event {
        Event::Visit(visit) => {
            let detail: VisitNode = chain::payload(store, node.detail)?;
            let view = VisitView::of(node, visit, detail, masks);
            RunEntry::Visit(Box::new(VisitView {
                duration_ms: took_ms,
                ..view
            }))
        }
        Event::Resume(_) => {
            RunEntry::Resume(ResumeView::of(node, chain::payload(store, node.output)?))
        }
        Event::Archived(_) => {
            RunEntry::Archive(ArchiveView::of(node, chain::payload(store, node.output)?))
        }
    })
}

/// Returns the files that the steps of a run wrote or moved: output files, and the files of items.
///
/// # Errors
/// See [`run_story`].
pub fn run_writes(site: &Site, thread: ThreadId) -> Result<Vec<String>, EngineError> {
    let found = found(site, thread)?;
    let mut written = Vec::new();
    let read = &mut |seen: &Seen<'_>| {
        if let Event::Visit(visit) = seen.event {
            let detail: VisitNode = chain::payload(&site.store, seen.step.node.detail)?;
            written.extend(detail.writes);
            let moved = visit.result.lifecycle.iter();
            written.extend(moved.flat_map(|moved| [moved.from.clone(), moved.to.clone()]));
        }
        Ok(())
    };
    chain::read(&site.store, (thread, found.newest), read)?;
    Ok(written)
}
