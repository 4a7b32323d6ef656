//! Making a run: first its folder, then its nodes, and last its entry among the threads.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use uwf_cas_fs::Batch;
use uwf_pipeline::course::Steering;
use uwf_pipeline::nodes::{self, OnlyNode, RunNode};
use uwf_pipeline::{ErrorKind, Failure, Pipeline, checksum, run_id, run_id_problem, timestamp_utc};
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_protocol::nodes::StartNode;
use uwf_protocol::schemas::{self, CostKind};
use uwf_storage::{RunRoot, State, StorageError, ThreadPlace};

use crate::pipelines::active::runs_without_folder;
use crate::pipelines::error::PipelineError;
use crate::pipelines::secrets::masks_of;
use crate::{EngineError, Site, tags};

/// A run that is to be made.
#[derive(Debug, Clone)]
pub struct NewRun {
    /// The pipeline.
    pub pipeline: Pipeline,
    /// The workflow file.
    pub workflow_file: PathBuf,
    /// Its text.
    pub source: Vec<u8>,
    /// The context, merged from all its sources.
    pub context: Map<String, Value>,
    /// What the caller asked for.
    pub steering: Steering,
    /// The workspace.
    pub workspace: PathBuf,
    /// The folder of all runs; by default one in the workspace.
    pub state_dir: Option<PathBuf>,
    /// The id, if the caller chose one.
    pub run_id: Option<String>,
    /// The only step, for a run of one step.
    pub only: Option<OnlyNode>,
}

/// A run that was made.
#[derive(Debug, Clone)]
pub struct MadeRun {
    /// The thread.
    pub thread: ThreadId,
    /// The id of the run.
    pub run_id: String,
    /// Its folder.
    pub root: RunRoot,
}

/// The folder of all runs of a workspace, relative to it.
pub(super) const STATE_DIR: &str = ".orchestrate/runs";

/// Makes a run. No step is done.
///
/// # Errors
/// When the id is taken or unfit, or something cannot be written. Then there is no run.
pub fn make_run(site: &Site, new: &NewRun) -> Result<MadeRun, EngineError> {
    let workspace = new.workspace.canonicalize();
    let workspace = workspace
        .ok()
        .filter(|path| path.is_dir())
        .ok_or_else(|| EngineError::NoDirectory(new.workspace.display().to_string()))?;
    let cwd = StorageError::recordable(&workspace)?.to_owned();
    site.create()?;
    let thread = site.new_thread_id()?;
    let now_ms = site.env.now_ms();
    let timestamp_utc = timestamp_utc(now_ms);
    let run_id = match &new.run_id {
        Some(id) => checked_id(id)?,
        None => run_id(&timestamp_utc, thread.as_str()),
    };
    let state_dir = state_dir(&workspace, new.state_dir.as_deref());
    let root = RunRoot::at(state_dir.join(&run_id));
    let of_workspace = state_dir.strip_prefix(&workspace).unwrap_or(&state_dir);
    let node = RunNode {
        thread: thread.as_str().to_owned(),
        run_id: run_id.clone(),
        timestamp_utc,
        state_dir: StorageError::recordable(of_workspace)?.to_owned(),
        workflow_file: workflow_file(&workspace, &new.workflow_file)?,
        workflow_checksum: checksum(&new.source),
        source: String::new(),
        context: new.context.clone(),
        steering: new.steering.clone(),
        only: new.only.clone(),
    };
    let is_made = |place: &ThreadPlace| match place.root == own_root(site) {
        true => Ok(State::new(&site.root).find(place.thread)?.is_some()),
        false => Ok(true),
    };
    let making = match is_taken(site, new, &root)? {
        true => None,
        false => root.create_new(&is_made)?,
    };
    let Some(making) = making else {
        let folder = root.path().to_owned();
        return Err(PipelineError::IdTaken { run_id, folder }.into());
    };
    let _hold = site.store.hold()?;
    let put = put_run(site, new, &root, (thread, cwd, node), now_ms);
    let head = put.inspect_err(|_| {
        // Without it, another try may take the same id.
        let _ = root.remove();
    })?;
    State::new(&site.root).insert(thread, head)?;
    root.finish_making(making)?;
    site.note_use(thread);
    let message = format!("run made head={head} run={run_id}");
    site.log_line(tags::THREAD_CREATED, &message, Some(thread), None);
    Ok(MadeRun {
        thread,
        run_id,
        root,
    })
}

/// Tells whether a run that can go on has the wanted id, although its folder does not name it: somebody may have emptied the folder.
/// With a second run of the id, its steps would be paid for again. Without the folder, the id is free: `clean` removes old ones.
fn is_taken(site: &Site, new: &NewRun, root: &RunRoot) -> Result<bool, EngineError> {
    let (Some(id), Some(folder)) = (&new.run_id, root.path().parent()) else {
        return Ok(false);
    };
    if root.path().symlink_metadata().is_err() {
        return Ok(false);
    }
    let known = runs_without_folder(site, folder)?;
    Ok(known.iter().any(|(known, _)| known == id))
}

/// Writes the folder of a new run, and the nodes that it begins with. Returns its start.
fn put_run(
    site: &Site,
    new: &NewRun,
    root: &RunRoot,
    (thread, cwd, node): (ThreadId, String, RunNode),
    now_ms: i64,
) -> Result<CasRef, EngineError> {
    let place = ThreadPlace {
        thread,
        root: own_root(site),
    };
    root.write_origin(&place, shown_source(site, new).as_bytes())?;
    put(site, new, (cwd, node), now_ms)
}

/// Returns the storage root as the folders of runs name it.
pub(super) fn own_root(site: &Site) -> PathBuf {
    let root = site.root.path();
    std::path::absolute(root).unwrap_or_else(|_| root.to_owned())
}

/// Puts the schemas of the nodes that a run may get. Nothing refers to some of them before, so a collector may have removed
/// them since the run was made.
pub(super) fn renew_schemas(site: &Site) -> Result<(), EngineError> {
    let mut batch = site.store.batch();
    put_schemas(&mut batch, site.env.now_ms())?;
    Ok(batch.commit()?)
}

pub(super) fn put_schemas(batch: &mut Batch<'_>, now_ms: i64) -> Result<(), EngineError> {
    let own = [
        schemas::start_node_of_run(),
        schemas::pipeline(),
        schemas::run(),
        schemas::result(),
        CostKind::Told.visit().1,
        schemas::resume(),
        schemas::archive(),
    ];
    for schema in own {
        batch.put(schemas::META, &schema, now_ms)?;
    }
    Ok(())
}

/// Puts the nodes of a new run, and returns its start.
fn put(
    site: &Site,
    new: &NewRun,
    (cwd, run): (String, RunNode),
    now_ms: i64,
) -> Result<CasRef, EngineError> {
    let mut batch = site.store.batch();
    put_schemas(&mut batch, now_ms)?;
    let source = Value::String(String::from_utf8_lossy(&new.source).into_owned());
    let source = batch.put(schemas::TEXT, &source, now_ms)?;
    let run = RunNode {
        source: source.as_str().to_owned(),
        ..run
    };
    let pipeline = nodes::pipeline_payload(&new.pipeline);
    let workflow = batch.put(schemas::PIPELINE, &pipeline, now_ms)?;
    let run = serde_json::to_value(&run).expect("a run is plain data");
    let run = batch.put(schemas::RUN, &run, now_ms)?;
    let start = StartNode {
        workflow,
        prompt: format!("run {}", new.pipeline.name),
        cwd: Some(cwd),
        parent: None,
        run: Some(run),
        check_files: Vec::new(),
    };
    let start = serde_json::to_value(&start).expect("a start node is plain data");
    let start = batch.put(schemas::START_NODE_OF_RUN, &start, now_ms)?;
    batch.commit()?;
    Ok(start)
}

/// Returns the text of the workflow file for people: without secrets.
fn shown_source(site: &Site, new: &NewRun) -> String {
    let masks = masks_of(std::iter::once(&new.pipeline), site.env.variables());
    masks.text(&String::from_utf8_lossy(&new.source))
}

/// Returns the folder of all runs. What is in the workspace is named by its path there, so that the workspace can be moved.
fn state_dir(workspace: &Path, chosen: Option<&Path>) -> PathBuf {
    let folder = workspace.join(chosen.unwrap_or(Path::new(STATE_DIR)));
    folder.canonicalize().unwrap_or(folder)
}

/// Returns the path of a workflow file as it is recorded: relative to the workspace if it is in it.
fn workflow_file(workspace: &Path, file: &Path) -> Result<String, EngineError> {
    let file = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
    let folder = file.parent().and_then(|folder| folder.canonicalize().ok());
    let file = match (folder, file.file_name()) {
        (Some(folder), Some(name)) => folder.join(name),
        _ => file,
    };
    let of_workspace = file.strip_prefix(workspace).unwrap_or(&file);
    Ok(StorageError::recordable(of_workspace)?.to_owned())
}

fn checked_id(id: &str) -> Result<String, EngineError> {
    match run_id_problem(id) {
        None => Ok(id.to_owned()),
        Some(problem) => Err(refused(format!(
            "`{id}` cannot be the id of a run: {problem}"
        ))),
    }
}

/// Returns the error of a run that cannot be made as it was asked.
pub(super) fn refused(message: String) -> EngineError {
    PipelineError::Refused(Failure::new(ErrorKind::InvalidArgument, message)).into()
}
