//! A workflow as a file, with the files of all workflows that play its roles. They name each other by their paths, so that
//! another root can register them.

use std::collections::HashMap;
use std::convert::Infallible;
use std::path::PathBuf;

use indexmap::IndexMap;
use serde_json::{Value, json};
use uwf_config::project;
use uwf_moderator::end_statuses;
use uwf_protocol::ids::{CasRef, Status};
use uwf_protocol::program::Program;
use uwf_protocol::work::DONE;
use uwf_protocol::workflow::Workflow;
use uwf_thread::read_program;

use super::workflow_source::{self, WorkflowSource};
use super::workflow_text::{WorkflowText, plays, written};
use crate::register::{ChildWorkflow, Children, Place};
use crate::{EngineError, Site};

/// A workflow file that belongs to an export.
#[derive(Debug, Clone)]
pub struct WorkflowFile {
    /// Where it belongs, from the folder of the first file.
    pub path: PathBuf,
    /// What it contains.
    pub workflow: WorkflowText,
}

/// A workflow that is written out.
struct Part {
    workflow: Workflow<Value>,
    /// The workflows that play its roles, by the words that name them.
    plays: IndexMap<String, CasRef>,
    /// The pipelines that play its roles. They stay where they are.
    pipelines: Children,
}

/// The workflows that are written out, each once. The first one plays no role of another one.
type Parts = IndexMap<CasRef, Part>;

/// Returns a workflow, found as `start` does, and all workflows that play its roles, as files. The first file has this name.
///
/// # Errors
/// When a workflow is missing or cannot be read, or the file has errors: then with all of them.
pub fn export_workflow_files(
    site: &Site,
    text: &str,
    file_name: &str,
) -> Result<Vec<WorkflowFile>, EngineError> {
    let mut parts = Parts::new();
    collect(site, workflow_source::find(site, text)?, &mut parts)?;
    let paths = paths(&parts, file_name);
    let file = |(hash, part): (&CasRef, &Part)| {
        let (workflow, children) = with_paths(*hash, part, &parts, &paths);
        Ok(WorkflowFile {
            path: PathBuf::from(paths[hash].join("/")),
            workflow: written(site, &workflow, *hash, &children)?,
        })
    };
    parts.iter().map(file).collect()
}

/// Adds a workflow and those below it, unless they are there.
fn collect(site: &Site, source: WorkflowSource, parts: &mut Parts) -> Result<(), EngineError> {
    let hash = source.hash;
    if parts.contains_key(&hash) {
        return Ok(());
    }
    let mut below = IndexMap::new();
    let mut pipelines = Children::new();
    for word in plays(&source.workflow) {
        let found = source.children.get(word).map(|child| child.place.clone());
        let place = found.or_else(|| word.parse().ok().map(Place::Stored));
        let place = place.expect("a workflow that was checked plays only what was found");
        if is_pipeline(site, &place)? {
            let child = ChildWorkflow {
                statuses: vec![Status::new(DONE)],
                levels: 0,
                place,
            };
            pipelines.insert(word.to_owned(), child);
            continue;
        }
        below.insert(word.to_owned(), workflow_source::of_place(site, place)?);
    }
    let plays = below.iter().map(|(word, child)| (word.clone(), child.hash));
    let part = Part {
        plays: plays.collect(),
        pipelines,
        workflow: source.workflow,
    };
    parts.insert(hash, part);
    for child in below.into_values() {
        collect(site, child, parts)?;
    }
    Ok(())
}

fn is_pipeline(site: &Site, place: &Place) -> Result<bool, EngineError> {
    Ok(match place {
        Place::Pipeline(_) => true,
        Place::File(_) => false,
        Place::Stored(hash) | Place::Registered(hash) => {
            matches!(read_program(&site.store, *hash)?, Program::Pipeline(_))
        }
    })
}

/// Returns the path of each file, in its words: a file that is named after its workflow. Of two workflows with one name, the
/// second is in a folder that is named after its hash.
fn paths(parts: &Parts, first: &str) -> HashMap<CasRef, Vec<String>> {
    let mut taken: HashMap<String, CasRef> = HashMap::new();
    let mut paths = HashMap::new();
    for (index, (hash, part)) in parts.iter().enumerate() {
        let name = match index {
            0 => first.to_owned(),
            // The file is not found by such a name, but it stays in its folder.
            _ if project::looks_like_path(&part.workflow.name) => format!("{hash}.yaml"),
            _ => format!("{}.yaml", part.workflow.name),
        };
        let owner = *taken.entry(name.clone()).or_insert(*hash);
        let path = match owner == *hash {
            true => vec![name],
            false => vec![hash.to_string(), name],
        };
        paths.insert(*hash, path);
    }
    paths
}

/// Returns a workflow that names others by their paths, and those others by these paths.
fn with_paths(
    hash: CasRef,
    part: &Part,
    parts: &Parts,
    paths: &HashMap<CasRef, Vec<String>>,
) -> (Workflow<Value>, Children) {
    let to_top = match paths[&hash].len() {
        1 => "./",
        _ => "../",
    };
    let path_of = |child: &CasRef| format!("{to_top}{}", paths[child].join("/"));
    let mut workflow = part.workflow.clone();
    for role in workflow.roles.values_mut() {
        let named = role.work.try_map(|word| {
            let child = word.as_str().and_then(|word| part.plays.get(word));
            Ok::<_, Infallible>(child.map_or_else(|| word.clone(), |child| json!(path_of(child))))
        });
        role.work = match named {
            Ok(work) => work,
            Err(never) => match never {},
        };
    }
    let child = |hash: &CasRef| {
        let child = ChildWorkflow {
            statuses: end_statuses(&parts[hash].workflow),
            levels: 0,
            place: Place::Stored(*hash),
        };
        (path_of(hash), child)
    };
    let pipelines = part.pipelines.clone().into_iter();
    let children = part.plays.values().map(child).chain(pipelines);
    (workflow, children.collect())
}
