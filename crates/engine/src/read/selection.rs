//! Which threads a list is about: by name and labels, by workflow, and by directory. This is decided before anything else of
//! a thread is read, and needs its start at most.

use std::collections::HashMap;

use uwf_config::project;
use uwf_protocol::ids::{CasRef, ThreadId, id_prefix};
use uwf_protocol::naming::{LabelSelector, NamePattern};
use uwf_protocol::nodes::StartNode;
use uwf_protocol::schemas;
use uwf_storage::{Located, Namings, State};
use uwf_thread::{Head, read_program, read_start};
use uwf_util::suggest;

use crate::children::parent_of;
use crate::read::thread_state::ThreadStatus;
use crate::{EngineError, Site};

/// Which threads are listed.
#[derive(Debug, Clone, Default)]
pub struct ListFilter {
    /// Also ended threads. A status of ended threads includes them, too.
    pub all: bool,
    /// What becomes of child threads.
    pub children: Children,
    /// Only threads with one of these statuses.
    pub statuses: Option<Vec<ThreadStatus>>,
    /// Only threads made after this time, in milliseconds since 1970.
    pub after_ms: Option<i64>,
    /// Only threads made before this time, in milliseconds since 1970.
    pub before_ms: Option<i64>,
    /// Only threads of this workflow.
    pub workflow: Option<WorkflowChoice>,
    /// Only threads with such a name.
    pub name: Option<NamePattern>,
    /// Only threads that have all of these labels.
    pub labels: Vec<LabelSelector>,
    /// Only threads that were started for this directory.
    pub cwd: Option<String>,
    /// Only threads with this text in the task or in the name, in small or capital letters, and those whose id begins with it.
    pub text: Option<String>,
    /// How many of the newest threads to leave out.
    pub skip: usize,
    /// How many threads to list at most.
    pub take: Option<usize>,
}

/// What becomes of child threads in a list.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Children {
    /// They are left out.
    #[default]
    Hidden,
    /// They are listed like others.
    Listed,
    /// The filter is about the threads that no other has as a child. Each is followed by all its children, and they by theirs.
    Below,
}

/// The workflow that listed threads have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkflowChoice {
    /// Any workflow with this name, also an earlier version of it.
    Name(String),
    /// This one.
    Hash(CasRef),
}

/// Returns the workflow that a text names: a hash, the beginning of one, or the name of a workflow that is registered, in
/// the project's folder, or stored.
///
/// # Errors
/// [`EngineError::UnknownWorkflow`] with the nearest name, and when the names cannot be read.
pub fn choose_workflow(site: &Site, text: &str) -> Result<WorkflowChoice, EngineError> {
    if let Ok(hash) = text.parse() {
        return Ok(WorkflowChoice::Hash(hash));
    }
    let named = || WorkflowChoice::Name(text.to_owned());
    let registered = State::new(&site.root).workflows()?;
    let mut names: Vec<String> = registered.into_keys().collect();
    let local = project::list_local(site.env.cwd())?;
    names.extend(local.into_iter().map(|found| found.name));
    if names.iter().any(|name| name == text) {
        return Ok(named());
    }
    let stored = stored_workflows(site)?;
    if stored.iter().any(|(_, name)| name == text) {
        return Ok(named());
    }
    if let Some(prefix) = id_prefix(text) {
        let mut begin_so = stored
            .iter()
            .filter(|(hash, _)| hash.as_str().starts_with(&prefix));
        if let (Some((hash, _)), None) = (begin_so.next(), begin_so.next()) {
            return Ok(WorkflowChoice::Hash(*hash));
        }
    }
    names.extend(stored.into_iter().map(|(_, name)| name));
    Err(EngineError::UnknownWorkflow {
        name: text.to_owned(),
        near: suggest::nearest(text, names.iter().map(String::as_str)).map(str::to_owned),
    })
}

/// Returns the workflows of the store that can be read, with their names.
pub(crate) fn stored_workflows(site: &Site) -> Result<Vec<(CasRef, String)>, EngineError> {
    let mut stored = Vec::new();
    for type_hash in schemas::WORKFLOWS.into_iter().chain([schemas::PIPELINE]) {
        for hash in site.store.of_type(type_hash)? {
            if let Ok(program) = read_program(&site.store, hash) {
                stored.push((hash, program.name().to_owned()));
            }
        }
    }
    Ok(stored)
}

/// Selects threads for a filter.
pub(crate) struct Selector<'a> {
    site: &'a Site,
    filter: &'a ListFilter,
    namings: &'a Namings,
    /// The names of the workflows that were read; `None` for one that cannot be read.
    names: HashMap<CasRef, Option<String>>,
    /// The problems that may hide a thread, one line each.
    pub(crate) warnings: Vec<String>,
}

impl<'a> Selector<'a> {
    pub(crate) fn new(site: &'a Site, filter: &'a ListFilter, namings: &'a Namings) -> Self {
        Self {
            site,
            filter,
            namings,
            names: HashMap::new(),
            warnings: Vec::new(),
        }
    }

    /// Tells whether the list is about a thread. A thread that cannot be read is left out with a warning if only its start
    /// could tell.
    pub(crate) fn selects(&mut self, thread: ThreadId, place: &Located) -> bool {
        self.has_name_and_labels(thread)
            && self
                .is_right_from_start(thread, place)
                .unwrap_or_else(|error| {
                    let warning =
                        format!("thread `{thread}` cannot be read, and may belong here: {error}");
                    self.warnings.push(warning);
                    false
                })
    }

    fn has_name_and_labels(&self, thread: ThreadId) -> bool {
        let (wanted, labels) = (&self.filter.name, &self.filter.labels);
        if wanted.is_none() && labels.is_empty() {
            return true;
        }
        let naming = self.namings.of(thread);
        let is_named = wanted
            .as_ref()
            .is_none_or(|wanted| naming.name.is_some_and(|name| wanted.selects(&name)));
        is_named && labels.iter().all(|one| one.selects(&naming.labels))
    }

    /// Compares the workflow and the directory of a thread, and whether it is a child. Of an ended thread, the history knows
    /// the workflow.
    fn is_right_from_start(
        &mut self,
        thread: ThreadId,
        place: &Located,
    ) -> Result<bool, EngineError> {
        let filter = self.filter;
        if let Some(text) = &filter.text
            && !self.says(text, thread, place)?
        {
            return Ok(false);
        }
        let may_be_left_out = filter.children != Children::Listed && thread.may_be_child();
        if may_be_left_out && parent_of(thread, &self.start(place)?).is_some() {
            return Ok(false);
        }
        match (&filter.workflow, &filter.cwd, place) {
            (None, None, _) => Ok(true),
            (Some(choice), None, Located::Archived(record)) => {
                Ok(self.is_workflow(choice, record.workflow))
            }
            (workflow, cwd, place) => {
                let start = self.start(place)?;
                Ok(cwd
                    .as_ref()
                    .is_none_or(|cwd| start.cwd.as_ref() == Some(cwd))
                    && workflow
                        .as_ref()
                        .is_none_or(|choice| self.is_workflow(choice, start.workflow)))
            }
        }
    }

    /// Tells whether a thread says a text, in its id, in its name or in its task.
    fn says(&self, text: &str, thread: ThreadId, place: &Located) -> Result<bool, EngineError> {
        let text = text.to_lowercase();
        let name = self.namings.of(thread).name;
        let is_called_so = thread.as_str().to_lowercase().starts_with(&text)
            || name.is_some_and(|name| name.as_str().to_lowercase().contains(&text));
        Ok(is_called_so || self.start(place)?.prompt.to_lowercase().contains(&text))
    }

    fn is_workflow(&mut self, choice: &WorkflowChoice, workflow: CasRef) -> bool {
        match choice {
            WorkflowChoice::Hash(wanted) => *wanted == workflow,
            WorkflowChoice::Name(wanted) => {
                let store = &self.site.store;
                let name = self.names.entry(workflow).or_insert_with(|| {
                    let program = read_program(store, workflow).ok();
                    program.map(|program| program.name().to_owned())
                });
                name.as_ref() == Some(wanted)
            }
        }
    }

    fn start(&self, place: &Located) -> Result<StartNode, EngineError> {
        let store = &self.site.store;
        Ok(match Head::read(store, place.head())? {
            Head::Start(start) => start.node,
            Head::Step(step) => read_start(store, step.node.start)?.node,
        })
    }
}
