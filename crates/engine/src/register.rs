//! Registering a workflow: its file is read, checked as a whole, and written to the store in one batch.

mod children;
mod circle;
mod levels;

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use indexmap::IndexMap;
use serde_json::{Value, json};
use uwf_cas_fs::Batch;
use uwf_config::project::{self, ReadError};
use uwf_moderator::validate;
use uwf_pipeline::is_pipeline;
use uwf_protocol::ids::CasRef;
use uwf_protocol::schemas;
use uwf_protocol::workflow::{Problem, Role, Severity, Workflow};
use uwf_protocol::workflow_export::usual_title;
use uwf_protocol::workflow_stored;
use uwf_protocol::workflow_yaml::Diagnostic;
use uwf_storage::{Registering, State, StorageError};
use uwf_util::suggest;

use crate::pipelines::error::PipelineError;
use crate::{EngineError, Site};
pub(crate) use children::{ChildWorkflow, Children, Finder, Place, put_pipeline};
pub(crate) use levels::refuse_depth;

/// What messages call a workflow file that was read from standard input.
pub const STANDARD_INPUT: &str = "<stdin>";

/// A workflow that is in the store.
#[derive(Debug, Clone)]
pub struct Registered {
    /// Its name.
    pub name: String,
    /// Its node.
    pub hash: CasRef,
    /// The other workflow that had the name before.
    pub replaced: Option<CasRef>,
    /// The warnings about its file.
    pub warnings: Vec<Diagnostic>,
}

/// A workflow file without errors.
#[derive(Debug, Clone)]
pub struct Checked {
    /// The workflow.
    pub workflow: Workflow<Value>,
    /// The warnings about its file.
    pub warnings: Vec<Diagnostic>,
    /// The workflows that play its roles.
    pub(crate) children: Children,
}

/// Checks a workflow file, stores it, and registers it under its name.
///
/// # Errors
/// When the file cannot be read or has errors: then with all of them.
pub fn put_workflow(site: &Site, file: &Path) -> Result<Registered, EngineError> {
    put(site, check_file(site, file)?)
}

/// Checks the text of a workflow file, stores the workflow, and registers it under its name.
///
/// # Errors
/// When the text has errors: then with all of them.
pub fn put_workflow_text(site: &Site, text: String) -> Result<Registered, EngineError> {
    put(site, check_text(site, text)?)
}

fn put(site: &Site, checked: Checked) -> Result<Registered, EngineError> {
    site.create()?;
    let _hold = site.store.hold()?;
    let registered = store(site, checked)?;
    let (name, hash) = (&registered.name, registered.hash);
    let now_ms = site.env.now_ms();
    let replaced = State::new(&site.root).register(name, hash, Registering::Put, now_ms)?;
    Ok(Registered {
        replaced,
        ..registered
    })
}

/// Checks the text of a workflow file. Includes are relative to the working directory. Nothing is stored.
///
/// # Errors
/// When the text has errors: then with all of them.
pub fn check_text(site: &Site, text: String) -> Result<Checked, EngineError> {
    check_text_with(site, text, Children::new())
}

/// Does the same with a text that names workflows which are found already.
pub(crate) fn check_text_with(
    site: &Site,
    text: String,
    found: Children,
) -> Result<Checked, EngineError> {
    let shown = Path::new(STANDARD_INPUT);
    let path = site.env.cwd().join(shown);
    let finder = Finder::new(site, &path, &[]).with(found);
    let check = |workflow: &Workflow<Value>| {
        let name = path_name_problem(&workflow.name).into_iter();
        name.chain(problems(workflow, &finder)).collect()
    };
    let statuses = |word: &str| finder.statuses(word);
    let bytes = text.into_bytes();
    let read = project::read_workflow_text(bytes.clone(), &path, shown, &statuses, &check);
    let loaded = read.map_err(|error| of_language(error.into(), shown, || Some(bytes)))?;
    Ok(Checked {
        workflow: loaded.workflow,
        warnings: loaded.warnings,
        children: finder.into_children(),
    })
}

/// Reads and checks a workflow file. Nothing is stored.
///
/// # Errors
/// When the file cannot be read or has errors: then with all of them.
pub fn check_file(site: &Site, file: &Path) -> Result<Checked, EngineError> {
    check_file_below(site, file, &[])
}

/// Reads and checks a workflow file that plays a role of these files, outermost first.
pub(crate) fn check_file_below(
    site: &Site,
    file: &Path,
    above: &[PathBuf],
) -> Result<Checked, EngineError> {
    let path = site.env.cwd().join(file);
    let finder = Finder::new(site, &path, above);
    let check = |workflow: &Workflow<Value>| {
        let name = name_problem(&path, &workflow.name).into_iter();
        name.chain(problems(workflow, &finder)).collect()
    };
    let statuses = |word: &str| finder.statuses(word);
    let read = project::read_workflow_file(&path, file, &statuses, &check);
    let loaded = read.map_err(|error| match error {
        ReadError::File(StorageError::Io { source, .. })
            if source.kind() == ErrorKind::NotFound =>
        {
            EngineError::NoFile {
                near: similar_file(&path, file),
                file: file.to_owned(),
                source,
            }
        }
        error => of_language(error.into(), file, || project::read_limited(&path).ok()),
    })?;
    Ok(Checked {
        workflow: loaded.workflow,
        warnings: loaded.warnings,
        children: finder.into_children(),
    })
}

/// Returns why a file cannot be used as a workflow. That it is a pipeline says more than what it lacks.
fn of_language(
    error: EngineError,
    file: &Path,
    read: impl FnOnce() -> Option<Vec<u8>>,
) -> EngineError {
    let is_pipeline = || read().is_some_and(|bytes| is_pipeline(&bytes));
    match error {
        EngineError::Workflow(_) if is_pipeline() => {
            let file = file.to_owned();
            PipelineError::NoRoles { file }.into()
        }
        error => error,
    }
}

/// Returns an existing workflow file that a wrong path probably meant, as the user would type it.
fn similar_file(path: &Path, typed: &Path) -> Option<String> {
    let wanted = path.file_name()?.to_str()?;
    let entries = std::fs::read_dir(path.parent()?).ok()?.flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut files: Vec<String> = names
        .filter(|name| project::looks_like_path(name))
        .collect();
    files.sort();
    let is_wanted = |file: &&String| Path::new(file).file_stem() == Some(wanted.as_ref());
    let found = files.iter().find(is_wanted).map(String::as_str);
    let near = found.or_else(|| suggest::nearest(wanted, files.iter().map(String::as_str)))?;
    Some(typed.with_file_name(near).display().to_string())
}

/// Writes the role schemas and the workflow node in one batch, and those of the workflows that play its roles.
pub(crate) fn store(site: &Site, checked: Checked) -> Result<Registered, EngineError> {
    let name = checked.workflow.name.clone();
    let warnings = checked.warnings.clone();
    let mut batch = site.store.batch();
    let hash = put_in(&mut batch, checked, site.env.now_ms())?;
    batch.commit()?;
    Ok(Registered {
        name,
        hash,
        replaced: None,
        warnings,
    })
}

/// Returns the hash that a workflow has in the store. Nothing is stored.
pub(crate) fn hash_of(site: &Site, checked: Checked) -> Result<CasRef, EngineError> {
    put_in(&mut site.store.batch(), checked, site.env.now_ms())
}

/// Adds a workflow with the schemas of its roles to a batch, and the workflows that play its roles.
pub(crate) fn put_in(
    batch: &mut Batch<'_>,
    checked: Checked,
    now: i64,
) -> Result<CasRef, EngineError> {
    let Checked {
        workflow, children, ..
    } = checked;
    let children = children::put(batch, children, now)?;
    let mut roles = IndexMap::new();
    for (name, role) in &workflow.roles {
        let title = usual_title(&workflow.name, name);
        let schema = batch.put(schemas::META, &titled(&role.schema, &title), now)?;
        roles.insert(name.clone(), with_references(role, schema, &children)?);
    }
    let stored = Workflow {
        name: workflow.name,
        description: workflow.description,
        roles,
        conditions: workflow.conditions,
        graph: workflow.graph,
        limits: workflow.limits,
        supervisor: workflow.supervisor,
        context: workflow.context,
        workspace: workflow.workspace,
    };
    let (type_hash, payload) = workflow_stored::to_payload(&stored);
    let is_unattended = type_hash == schemas::WORKFLOW_UNATTENDED;
    if is_unattended || type_hash == schemas::WORKFLOW_WITH_CHILDREN {
        // A role that plays a branch may be stored in the older form.
        batch.put(schemas::META, &schemas::workflow_with_children(), now)?;
    }
    if is_unattended {
        batch.put(schemas::META, &schemas::workflow_unattended(), now)?;
    }
    Ok(batch.put(type_hash, &payload, now)?)
}

fn with_references(
    role: &Role<Value>,
    schema: CasRef,
    children: &IndexMap<String, CasRef>,
) -> Result<Role<CasRef>, EngineError> {
    let hash_of = |word: &Value| {
        let word = word.as_str().unwrap_or_default();
        let found = children.get(word).copied();
        found.ok_or_else(|| EngineError::UnknownWorkflow {
            name: word.to_owned(),
            near: None,
        })
    };
    Ok(Role {
        work: role.work.try_map(hash_of)?,
        description: role.description.clone(),
        goal: role.goal.clone(),
        capabilities: role.capabilities.clone(),
        procedure: role.procedure.clone(),
        output: role.output.clone(),
        schema,
        extract: role.extract,
        checks: role.checks.clone(),
        session: role.session,
        context: role.context,
    })
}

/// Gives a schema without a title this one, so that a stored schema tells which role it belongs to.
fn titled(schema: &Value, title: &str) -> Value {
    let mut schema = schema.clone();
    if schema.get("title").is_none() {
        schema["title"] = json!(title);
    }
    schema
}

/// Returns a key of a JSON pointer without its escapes.
fn unescaped(key: &str) -> String {
    key.replace("~1", "/").replace("~0", "~")
}

fn name_problem(path: &Path, name: &str) -> Option<Problem> {
    let expected = project::expected_name(path)?;
    (expected != name).then(|| {
        let message = format!("the file's name says `{expected}`, but `name` is `{name}`");
        Problem::new(&["name"], message)
    })
}

/// Returns the problem that a name without a file has: a name that looks like a path would mean a file.
pub(crate) fn path_name_problem(name: &str) -> Option<Problem> {
    project::looks_like_path(name).then(|| {
        let message =
            format!("`{name}` looks like a file, so that the workflow could not be found by it");
        Problem::new(&["name"], message)
    })
}

/// Returns what is wrong with a workflow wherever it was written.
fn problems(workflow: &Workflow<Value>, finder: &Finder<'_>) -> impl Iterator<Item = Problem> {
    let schemas = schema_problems(workflow).into_iter();
    schemas
        .chain(validate(workflow))
        .chain(finder.problems(workflow))
}

fn schema_problems(workflow: &Workflow<Value>) -> Vec<Problem> {
    let of_role = |(name, role): (&uwf_protocol::ids::RoleName, &Role<Value>)| {
        let error = uwf_schema::check(&role.schema).err()?;
        let mut path = vec![
            "roles".to_owned(),
            name.to_string(),
            "frontmatter".to_owned(),
        ];
        path.extend(error.pointer().split('/').skip(1).map(unescaped));
        Some(Problem {
            path,
            message: format!("role `{name}`: {error}"),
            severity: Severity::Error,
        })
    };
    workflow.roles.iter().filter_map(of_role).collect()
}
