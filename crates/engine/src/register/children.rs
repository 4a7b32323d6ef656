//! The workflows that play roles of another workflow. They are found when the file of that workflow is read, and their hashes
//! are stored in it.

use std::cell::RefCell;
use std::error::Error;
use std::iter::successors;
use std::path::{Path, PathBuf};

use indexmap::IndexMap;
use serde_json::Value;
use uwf_cas_fs::Batch;
use uwf_config::project;
use uwf_moderator::end_statuses;
use uwf_pipeline::nodes::pipeline_payload;
use uwf_pipeline::{Pipeline, is_pipeline, load};
use uwf_protocol::ids::{CasRef, Status};
use uwf_protocol::program::Program;
use uwf_protocol::schemas;
use uwf_protocol::work::{BranchesOf, DONE, Player, Work};
use uwf_protocol::workflow::{Problem, Workflow};
use uwf_storage::State;
use uwf_thread::read_program;

use crate::register::{self, Checked, circle, levels};
use crate::stored_workflow;
use crate::workflow_ref::{file_of_name, find_file, nearest_name};
use crate::{EngineError, Site};

/// A workflow that plays a role.
#[derive(Debug, Clone)]
pub(crate) struct ChildWorkflow {
    /// The statuses with which it can end.
    pub(crate) statuses: Vec<Status>,
    /// How many levels of child threads it needs.
    pub(crate) levels: u64,
    pub(crate) place: Place,
}

/// Where a workflow is that plays a role.
#[derive(Debug, Clone)]
pub(crate) enum Place {
    /// In the store: this version was chosen.
    Stored(CasRef),
    /// In the store: the version that the registry names now.
    Registered(CasRef),
    /// In a file. It is stored together with the workflow whose role it plays.
    File(Box<Checked>),
    /// In a file that is a pipeline. It is stored together with the workflow whose role it plays.
    Pipeline(Box<Pipeline>),
}

/// The workflows that play roles of one workflow file, by the words that name them there.
pub(crate) type Children = IndexMap<String, ChildWorkflow>;

/// Finds the workflows that play roles of a file.
pub(crate) struct Finder<'s> {
    site: &'s Site,
    /// The files that are being read, outermost first: the last one is that of the roles.
    files: Vec<PathBuf>,
    /// Where the search for the folder of a project begins.
    from: PathBuf,
    found: RefCell<Children>,
}

impl<'s> Finder<'s> {
    /// Returns a finder for the roles of a file. `above` are the files that it plays a role of, outermost first.
    pub(crate) fn new(site: &'s Site, file: &Path, above: &[PathBuf]) -> Self {
        let mut files = above.to_vec();
        files.push(canonical(file));
        Self {
            site,
            files,
            from: site.env.cwd().to_owned(),
            found: RefCell::default(),
        }
    }

    /// Returns a finder for the words of a step of a pipeline: their paths begin at a folder.
    pub(crate) fn in_folder(site: &'s Site, folder: &Path) -> Self {
        Self {
            site,
            // The name of the file counts for nothing but circles.
            files: vec![folder.join("pipeline")],
            from: folder.to_owned(),
            found: RefCell::default(),
        }
    }

    /// Adds workflows that are found already, by the words that name them.
    pub(crate) fn with(self, found: Children) -> Self {
        self.found.borrow_mut().extend(found);
        self
    }

    /// Returns the statuses with which a workflow can end. The error says what is wrong with it.
    pub(crate) fn statuses(&self, word: &str) -> Result<Vec<Status>, String> {
        if let Some(found) = self.found.borrow().get(word) {
            return Ok(found.statuses.clone());
        }
        let found = self.find(word)?;
        let statuses = found.statuses.clone();
        self.found.borrow_mut().insert(word.to_owned(), found);
        Ok(statuses)
    }

    /// Finds all workflows that play roles, and returns the problems of those that cannot be found, or are too many below each
    /// other.
    pub(crate) fn problems(&self, workflow: &Workflow<Value>) -> Vec<Problem> {
        let mut problems = Vec::new();
        for (role, definition) in &workflow.roles {
            for (place, word) in words_of(&definition.work) {
                let problem = match self.statuses(word) {
                    Ok(_) => self.circle(&workflow.name, word),
                    Err(problem) => Some(problem),
                };
                let path = [&["roles", role.as_str()][..], &place].concat();
                problems.extend(problem.map(|problem| Problem::new(&path, problem)));
            }
        }
        problems.extend(levels::warnings(self.site, workflow, &self.found.borrow()));
        problems
    }

    /// Returns what was found.
    pub(crate) fn into_children(self) -> Children {
        self.found.into_inner()
    }

    /// Returns the problem of a word whose workflow plays, by names of the registry, the one that is read.
    fn circle(&self, name: &str, word: &str) -> Option<String> {
        let found = self.found.borrow();
        match circle::find(self.site, name, word, found.get(word)?) {
            Ok(circle) => circle.map(|circle| circle.to_string()),
            Err(error) => Some(told(word, &error)),
        }
    }

    /// Finds a workflow. The error says what is wrong with it.
    pub(crate) fn find(&self, word: &str) -> Result<ChildWorkflow, String> {
        let told = |error: EngineError| told(word, &error);
        if let Ok(hash) = word.parse::<CasRef>() {
            return self.stored(hash, Place::Stored).map_err(told);
        }
        match find_file(&self.from, word).map_err(told)? {
            Some(file) => self.of_file(word, &self.beside(word, &file)),
            None => self.registered(word).map_err(told),
        }
    }

    /// Returns the path of a file. As it is written, it starts at the folder of the file that names it.
    fn beside(&self, word: &str, file: &Path) -> PathBuf {
        match project::looks_like_path(word) {
            // Components have no `.` in the middle of a path.
            true => self.folder().join(file).components().collect(),
            false => self.from.join(file),
        }
    }

    /// Returns the folder of the file that names other workflows.
    fn folder(&self) -> &Path {
        let folder = self.files.last().and_then(|file| file.parent());
        folder.unwrap_or_else(|| self.site.env.cwd())
    }

    fn of_file(&self, word: &str, path: &Path) -> Result<ChildWorkflow, String> {
        let canonical = canonical(path);
        if let Some(first) = self.files.iter().position(|above| *above == canonical) {
            let circle = self.files[first..].iter().chain([&canonical]);
            let names: Vec<String> = circle.map(|file| file_name(file)).collect();
            let names = names.join("` plays `");
            let problem = format!("`{names}`: a workflow cannot play itself");
            let registered = State::new(&self.site.root).workflows();
            let registered = registered.map_err(|error| told(word, &error.into()))?;
            return Err(match registered.get(word) {
                Some(hash) => format!("{problem}; {}", circle::way_out(word, *hash)),
                None => problem,
            });
        }
        if let Some(pipeline) = pipeline_of(word, path)? {
            return Ok(ChildWorkflow {
                statuses: vec![Status::new(DONE)],
                levels: levels::of_pipeline(&pipeline),
                place: Place::Pipeline(Box::new(pipeline)),
            });
        }
        let checked = register::check_file_below(self.site, path, &self.files)
            .map_err(|error| told(word, &error))?;
        Ok(ChildWorkflow {
            statuses: end_statuses(&checked.workflow),
            levels: levels::of_file(&checked.workflow, &checked.children),
            place: Place::File(Box::new(checked)),
        })
    }

    fn registered(&self, word: &str) -> Result<ChildWorkflow, EngineError> {
        let registered = State::new(&self.site.root).workflows()?;
        match registered.get(word) {
            Some(hash) => self.stored(*hash, Place::Registered),
            None => Err(EngineError::UnknownWorkflow {
                name: word.to_owned(),
                near: match file_of_name(self.folder(), word) {
                    Some(file) => Some(file),
                    None => nearest_name(self.site, word, registered.into_keys())?,
                },
            }),
        }
    }

    fn stored(
        &self,
        hash: CasRef,
        place: fn(CasRef) -> Place,
    ) -> Result<ChildWorkflow, EngineError> {
        let statuses = match read_program(&self.site.store, hash)? {
            Program::Pipeline(_) => vec![Status::new(DONE)],
            Program::Graph(_) => end_statuses(&stored_workflow::with_schemas(self.site, hash)?),
        };
        Ok(ChildWorkflow {
            statuses,
            levels: levels::of_stored(self.site, hash)?,
            place: place(hash),
        })
    }
}

/// Adds the workflows that are in files to a batch, and returns the hash of each by the word that names it.
pub(crate) fn put(
    batch: &mut Batch<'_>,
    children: Children,
    now: i64,
) -> Result<IndexMap<String, CasRef>, EngineError> {
    let mut hashes = IndexMap::new();
    for (word, child) in children {
        let hash = match child.place {
            Place::Stored(hash) | Place::Registered(hash) => hash,
            Place::File(checked) => register::put_in(batch, *checked, now)?,
            Place::Pipeline(pipeline) => put_pipeline(batch, &pipeline, now)?,
        };
        hashes.insert(word, hash);
    }
    Ok(hashes)
}

/// Adds a pipeline to a batch.
pub(crate) fn put_pipeline(
    batch: &mut Batch<'_>,
    pipeline: &Pipeline,
    now: i64,
) -> Result<CasRef, EngineError> {
    batch.put(schemas::META, &schemas::pipeline(), now)?;
    Ok(batch.put(schemas::PIPELINE, &pipeline_payload(pipeline), now)?)
}

/// Reads a file that is meant as a pipeline; `None` if it is not. The error says what is wrong with it.
fn pipeline_of(word: &str, path: &Path) -> Result<Option<Pipeline>, String> {
    // Whoever reads the file as a workflow says that it cannot be read.
    let Ok(bytes) = project::read_limited(path) else {
        return Ok(None);
    };
    if !is_pipeline(&bytes) {
        return Ok(None);
    }
    match load(&bytes, &file_name(path)) {
        Ok(loaded) => Ok(Some(loaded.pipeline)),
        Err(problems) => Err(
            match problems.iter().find(|problem| !problem.code.is_warning()) {
                Some(first) => format!("the pipeline `{word}` has a mistake: {}", first.message),
                None => format!("the pipeline `{word}` has mistakes"),
            },
        ),
    }
}

/// Returns the words that name workflows, each with its place in the role.
fn words_of(work: &Work<Value>) -> Vec<(Vec<&str>, &str)> {
    match work {
        Work::Agent => Vec::new(),
        Work::Workflow(played) => vec![(vec!["workflow"], text(&played.workflow))],
        Work::Branches(branches) => match &branches.of {
            BranchesOf::Each {
                player: Player::Workflow(workflow),
                ..
            } => vec![(vec!["workflow"], text(workflow))],
            BranchesOf::Each { .. } => Vec::new(),
            BranchesOf::Named(named) => {
                let branches = named
                    .iter()
                    .filter_map(|(name, branch)| match &branch.player {
                        Player::Workflow(workflow) => {
                            Some((vec!["branches", name, "workflow"], text(workflow)))
                        }
                        Player::Role(_) => None,
                    });
                branches.collect()
            }
        },
    }
}

fn text(workflow: &Value) -> &str {
    workflow.as_str().unwrap_or_default()
}

/// Returns what is wrong with a workflow, in one line.
fn told(word: &str, error: &EngineError) -> String {
    match error {
        EngineError::Workflow(found) => match found.first() {
            Some(first) => format!("the workflow `{word}` has a mistake: {first}"),
            None => format!("the workflow `{word}` has mistakes"),
        },
        EngineError::UnknownWorkflow { near, .. } => suggesting(error.to_string(), near.as_deref()),
        EngineError::NoFile { near, .. } => {
            let near = near.as_deref().and_then(|near| Path::new(near).file_name());
            let near = near.map(|near| Path::new(word).with_file_name(near));
            let near = near.map(|near| near.display().to_string());
            suggesting(format!("there is no file `{word}`"), near.as_deref())
        }
        error => {
            let causes = successors(error.source(), |&cause| cause.source());
            causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
        }
    }
}

fn suggesting(message: String, near: Option<&str>) -> String {
    match near {
        Some(near) => format!("{message}; did you mean `{near}`?"),
        None => message,
    }
}

fn canonical(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    name.to_string_lossy().into_owned()
}
