//! The short names of threads and nodes that people type: a prefix, a given name, the newest thread, the one that was used
//! last, a step by its place.
//!
//! What a text means is decided in `parse`; here it is looked up. An id or a hash that is written in full is taken as it
//! is, without a look at the disk. Given names are read only for a text that can be one.

mod parse;
mod step_place;

use std::fmt;

use uwf_cas_fs::StoreError;
use uwf_protocol::ids::{CasRef, IdError, ThreadId};
use uwf_protocol::naming::Name;
use uwf_storage::{LastUsed, State, StorageError};
use uwf_thread::{Head, ThreadError, read_program, read_start};
use uwf_util::suggest;

use self::parse::{NodeName, StepPlace, ThreadName};
use self::step_place::step_at;
use crate::children::is_child;
use crate::unfound::{Unfound, has_remote};
use crate::{EngineError, Site, node_kind};

/// How many candidates an ambiguous prefix names.
const MOST_CANDIDATES: usize = 10;

/// Why a text names no thread or no node.
#[derive(Debug, thiserror::Error)]
pub enum NameError {
    /// The text is no name.
    #[error(transparent)]
    Id(#[from] IdError),
    /// No thread has this name.
    #[error("no thread is named `{}`", .0.what)]
    NoThread(Unfound<String>),
    /// No thread was given this name.
    #[error("no thread is named `{name}`")]
    NotGiven {
        /// The name.
        name: Name,
        /// The nearest name of a thread.
        near: Option<Name>,
        /// Whether there is a remote. Names are not shared.
        has_remote: bool,
    },
    /// `@` is asked for, and no thread was started yet.
    #[error("no thread was started yet: `@` stands for none")]
    NothingStarted,
    /// `-` is asked for, and no thread was used yet.
    #[error("no thread was used yet: `-` stands for none")]
    NothingUsed,
    /// No node has this name.
    #[error("no node and no thread is named `{0}`")]
    NoNode(String),
    /// The thread has no such step.
    #[error("thread `{thread}` has no step `{name}`")]
    NoStep {
        /// The thread.
        thread: ThreadId,
        /// The name as it was given.
        name: String,
    },
    /// Several nodes or threads begin so.
    #[error("`{name}` is ambiguous: {count} begin so")]
    Ambiguous {
        /// The name as it was given.
        name: String,
        /// Some of those that begin so.
        candidates: Vec<Candidate>,
        /// How many begin so.
        count: usize,
    },
    /// The state or the store cannot be read.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

impl From<StorageError> for NameError {
    fn from(error: StorageError) -> Self {
        Self::Engine(error.into())
    }
}

impl From<StoreError> for NameError {
    fn from(error: StoreError) -> Self {
        Self::Engine(error.into())
    }
}

impl From<ThreadError> for NameError {
    fn from(error: ThreadError) -> Self {
        Self::Engine(error.into())
    }
}

/// What an ambiguous prefix could mean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// The id or the hash in full.
    pub name: String,
    /// What it is, such as `thread of solve-issue` or `step of reviewer`.
    pub what: String,
}

impl fmt::Display for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name, self.what)
    }
}

/// Returns the thread that a text names: an id, a unique prefix of one, the name that it was given, `@` for the newest,
/// `@2` for the one before, `-` for the one that was used last in our directory, or else anywhere.
///
/// # Errors
/// [`NameError::Id`] if the text is no name, [`NameError::NoThread`], [`NameError::NotGiven`],
/// [`NameError::NothingUsed`], [`NameError::Ambiguous`], and when the state or the given names cannot be read.
pub fn find_thread(site: &Site, text: &str) -> Result<ThreadId, NameError> {
    thread_named(site, text, parse::thread(text)?)
}

/// Returns the node that a text names: a hash, a unique prefix of one, a thread for its head, and after a thread `~2` for
/// two steps before the head, `@3` for the third step, `@0` for the start, `/reviewer` for the last step of a role.
///
/// # Errors
/// As of [`find_thread`]; [`NameError::NoStep`].
pub fn find_node(site: &Site, text: &str) -> Result<CasRef, NameError> {
    Ok(find_in_thread(site, text)?.0)
}

/// Returns the node that a text names, as [`find_node`] does, and the thread if the text names that, too: several threads may have
/// one node, such as their start.
///
/// # Errors
/// As of [`find_node`].
pub fn find_in_thread(site: &Site, text: &str) -> Result<(CasRef, Option<ThreadId>), NameError> {
    match parse::node(text)? {
        NodeName::Hash(hash) => Ok((hash, None)),
        NodeName::Prefix(prefix) => Ok((by_prefix(site, text, &prefix)?, None)),
        NodeName::OfThread(thread, place) => {
            let id = match (thread_named(site, text, thread), &place) {
                (Err(NameError::NotGiven { near: None, .. }), StepPlace::Back(0)) => {
                    return Err(NameError::NoNode(text.to_owned()));
                }
                (found, _) => found?,
            };
            let head = head_of(site, id)?;
            let step = step_at(site, id, head, &place)?;
            let step = step.ok_or_else(|| NameError::NoStep {
                thread: id,
                name: text.to_owned(),
            })?;
            Ok((step, Some(id)))
        }
    }
}

/// Returns all threads, active and ended, oldest first.
fn threads(site: &Site) -> Result<Vec<ThreadId>, NameError> {
    let places = State::new(&site.root).threads()?.places;
    let mut threads: Vec<ThreadId> = places.into_keys().collect();
    let now_ms = site.env.now_ms();
    threads.sort_by_key(|id| id.time_ms(now_ms));
    Ok(threads)
}

fn thread_named(site: &Site, text: &str, name: ThreadName) -> Result<ThreadId, NameError> {
    let nobody = || NameError::NoThread(Unfound::new(site, text.to_owned()));
    match name {
        ThreadName::Id(id) => Ok(id),
        ThreadName::Newest(nth) => {
            let newest_first = threads(site)?.into_iter().rev();
            let parents = newest_first.filter(|id| !is_child(site, *id));
            let parents: Vec<ThreadId> = parents.take(nth).collect();
            match parents.last() {
                Some(thread) if parents.len() == nth => Ok(*thread),
                Some(_) => Err(nobody()),
                None => Err(NameError::NothingStarted),
            }
        }
        ThreadName::LastUsed => {
            let last = LastUsed::of(&site.root).find(site.env.cwd());
            last.ok_or(NameError::NothingUsed)
        }
        ThreadName::Given(name) => given(site, name),
        ThreadName::Prefix(prefix) => {
            let found = matching(&threads(site)?, &prefix);
            match found.as_slice() {
                [] => Err(nobody()),
                [one] => Ok(*one),
                many => Err(ambiguous(text, thread_candidates(site, many), many.len())),
            }
        }
    }
}

/// Finds a thread by the name that it was given. A name whose thread is not there, because its start was interrupted, is
/// no name.
fn given(site: &Site, name: Name) -> Result<ThreadId, NameError> {
    let state = State::new(&site.root);
    let namings = state.namings()?;
    if let Some(thread) = namings.named(&name)
        && state.find(thread)?.is_some()
    {
        return Ok(thread);
    }
    let known = namings.names().map(|(known, _)| known.as_str());
    let known = known.filter(|known| *known != name.as_str());
    let near = suggest::nearest(name.as_str(), known).and_then(|near| near.parse().ok());
    Err(NameError::NotGiven {
        name,
        near,
        has_remote: has_remote(&site.root),
    })
}

fn matching(threads: &[ThreadId], prefix: &str) -> Vec<ThreadId> {
    let matches = |id: &&ThreadId| id.as_str().starts_with(prefix);
    threads.iter().filter(matches).copied().collect()
}

/// Finds a node by the beginning of its hash, or the head of a thread by the beginning of its id.
fn by_prefix(site: &Site, text: &str, prefix: &str) -> Result<CasRef, NameError> {
    let mut nodes = site.store.all()?;
    nodes.retain(|hash| hash.as_str().starts_with(prefix));
    let threads = matching(&threads(site)?, prefix);
    match (nodes.as_slice(), threads.as_slice()) {
        ([], []) => Err(NameError::NoNode(text.to_owned())),
        ([one], []) => Ok(*one),
        ([], [one]) => head_of(site, *one),
        (nodes, threads) => {
            let mut candidates = thread_candidates(site, threads);
            let shown = nodes.iter().take(MOST_CANDIDATES);
            candidates.extend(shown.map(|hash| node_candidate(site, *hash)));
            Err(ambiguous(text, candidates, nodes.len() + threads.len()))
        }
    }
}

fn ambiguous(text: &str, mut candidates: Vec<Candidate>, count: usize) -> NameError {
    candidates.truncate(MOST_CANDIDATES);
    NameError::Ambiguous {
        name: text.to_owned(),
        candidates,
        count,
    }
}

fn thread_candidates(site: &Site, threads: &[ThreadId]) -> Vec<Candidate> {
    let shown = threads.iter().take(MOST_CANDIDATES);
    let candidate = |id: &ThreadId| Candidate {
        name: id.to_string(),
        what: match workflow_name(site, *id) {
            Some(name) => format!("thread of {name}"),
            None => "thread".to_owned(),
        },
    };
    shown.map(candidate).collect()
}

/// Returns the name of the workflow of a thread, if it can be read.
fn workflow_name(site: &Site, id: ThreadId) -> Option<String> {
    let head = head_of(site, id).ok()?;
    let start = Head::read(&site.store, head).ok()?.start();
    let start = read_start(&site.store, start).ok()?;
    let program = read_program(&site.store, start.node.workflow).ok()?;
    Some(program.name().to_owned())
}

fn node_candidate(site: &Site, hash: CasRef) -> Candidate {
    let what = match site.store.get(hash) {
        Ok(node) => node_kind::what(hash, &node),
        Err(_) => "damaged".to_owned(),
    };
    Candidate {
        name: hash.to_string(),
        what,
    }
}

pub(crate) fn head_of(site: &Site, id: ThreadId) -> Result<CasRef, NameError> {
    Ok(crate::thread::find(site, id)?.head())
}
