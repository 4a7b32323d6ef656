//! Runs that play a role or a step of another thread: their start says so, and their context has the task.

use serde_json::json;
use uwf_cas_fs::Batch;
use uwf_pipeline::course::Steering;
use uwf_pipeline::nodes::{RunNode, pipeline_payload};
use uwf_pipeline::{Pipeline, checksum, run_id, timestamp_utc};
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_protocol::nodes::StartNode;
use uwf_protocol::program::Program;
use uwf_protocol::schemas;
use uwf_thread::read_program;

use super::make::{STATE_DIR, put_schemas};
use crate::{EngineError, Site, check_files};

/// The key of the context that has the task.
const TASK: &str = "task";
/// The digits at the end that all ids of children have.
const MARK: &str = "000";

/// Puts the start of a child thread, which has a parent, a workflow and a task. That of a pipeline is the start of a run.
pub(crate) fn put_start(
    site: &Site,
    batch: &mut Batch<'_>,
    thread: ThreadId,
    start: StartNode,
    program: Option<CasRef>,
) -> Result<CasRef, EngineError> {
    let now_ms = site.env.now_ms();
    let program = program.map(|hash| read_program(&site.store, hash));
    let (start, schema) = match program.transpose()? {
        Some(Program::Pipeline(pipeline)) => {
            put_schemas(batch, now_ms)?;
            let run = put_run(batch, (thread, &pipeline, &start), now_ms)?;
            let run = Some(run);
            let check_files = Vec::new();
            let start = StartNode {
                run,
                check_files,
                ..start
            };
            (start, schemas::START_NODE_OF_RUN)
        }
        Some(Program::Graph(_)) | None => {
            batch.put(schemas::META, &schemas::start_node_of_child(), now_ms)?;
            let with_files = check_files::put_schema(batch, &start, now_ms)?;
            (start, with_files.unwrap_or(schemas::START_NODE_OF_CHILD))
        }
    };
    let payload = serde_json::to_value(&start).expect("a start node is plain data");
    Ok(batch.put(schema, &payload, now_ms)?)
}

fn put_run(
    batch: &mut Batch<'_>,
    (thread, pipeline, start): (ThreadId, &Pipeline, &StartNode),
    now_ms: i64,
) -> Result<CasRef, EngineError> {
    // The store has no text of the file, so people get the program as it is stored.
    let source = pipeline_payload(pipeline)["program"].clone();
    let text = source.as_str().unwrap_or_default().to_owned();
    let timestamp_utc = timestamp_utc(now_ms);
    let id = thread.as_str();
    let id = id.strip_suffix(MARK).unwrap_or(id);
    let mut context = pipeline.context.clone();
    context.insert(TASK.to_owned(), json!(start.prompt));
    let run = RunNode {
        thread: thread.as_str().to_owned(),
        run_id: run_id(&timestamp_utc, id),
        timestamp_utc,
        state_dir: STATE_DIR.to_owned(),
        workflow_file: start.workflow.as_str().to_owned(),
        workflow_checksum: checksum(text.as_bytes()),
        source: batch
            .put(schemas::TEXT, &source, now_ms)?
            .as_str()
            .to_owned(),
        context,
        steering: Steering::default(),
        only: None,
    };
    let run = serde_json::to_value(&run).expect("a run is plain data");
    Ok(batch.put(schemas::RUN, &run, now_ms)?)
}
