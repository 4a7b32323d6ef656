//! Names of workflows that all machines share. A name that is registered here is put at the remote, and a name of the remote is
//! registered here.
//!
//! A push replaces what a name stands for at the remote if that is an earlier version here. A fetch replaces what a name stands for
//! here if that was at the remote before. Anything else must be forced by a person.

use std::collections::HashSet;

use serde::Serialize;
use uwf_protocol::ids::CasRef;
use uwf_remote::{Named, Remote, RemoteError, SharedName};
use uwf_storage::{Registered, State};
use uwf_thread::read_program;

use super::error::SharingError;
use super::nodes;
use crate::store_import::name_problem;
use crate::workflow_ref::not_registered;
use crate::{EngineError, Site};

/// How many names are asked for at once.
const PAGE: usize = 1_000;
/// How often a name is set, if other machines set it at the same time. Each time, one of them succeeds.
const TRIES: u32 = 20;

/// What a push has done with a name at the remote.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum PushedAs {
    /// It is new there.
    Shared,
    /// It stood for another workflow there.
    Forwarded,
    /// It stood for this workflow.
    Unchanged,
}

/// A name that was put at the remote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PushedName {
    /// The name.
    pub workflow: String,
    /// What it stands for.
    pub hash: CasRef,
    /// What became of it.
    pub outcome: PushedAs,
    /// How many nodes were sent.
    pub nodes: usize,
}

/// What a fetch has done with a name here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum FetchedAs {
    /// It is new here.
    Added,
    /// It stood for another workflow here.
    Replaced,
    /// It stood for this workflow.
    Unchanged,
}

/// A name that came from the remote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FetchedName {
    /// The name.
    pub workflow: String,
    /// What it stands for.
    pub hash: CasRef,
    /// What it stood for here, if that was another workflow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<CasRef>,
    /// What the fetch has done with it.
    pub outcome: FetchedAs,
    /// How many nodes came.
    pub nodes: usize,
}

/// Returns the names at the remote.
///
/// # Errors
/// When the remote does not answer, or was made without names.
pub fn remote_names(remote: &mut dyn Remote) -> Result<Vec<SharedName>, EngineError> {
    let mut all: Vec<SharedName> = Vec::new();
    loop {
        let after = all.last().map(|last| last.name.as_str());
        let page = remote.names(after, PAGE).map_err(SharingError::from)?;
        let is_last = page.len() < PAGE;
        all.extend(page);
        if is_last {
            return Ok(all);
        }
    }
}

/// Returns a name at the remote with what it stands for.
///
/// # Errors
/// When the remote does not know it.
pub fn remote_name(remote: &mut dyn Remote, name: &str) -> Result<SharedName, EngineError> {
    let found = find(remote, name)?;
    found.ok_or_else(|| SharingError::UnknownName(name.to_owned()).into())
}

fn find(remote: &mut dyn Remote, name: &str) -> Result<Option<SharedName>, EngineError> {
    let mut names = remote_names(remote)?.into_iter();
    Ok(names.find(|one| one.name == name))
}

/// Tells whether a workflow is registered here by this name.
///
/// # Errors
/// When the registry cannot be read.
pub fn is_registered(site: &Site, name: &str) -> Result<bool, EngineError> {
    Ok(State::new(&site.root).workflows()?.contains_key(name))
}

/// Sends what a name stands for here, with all that this workflow needs, and lets the name stand for it at the remote.
///
/// # Errors
/// When the name is not registered here. When it stands at the remote for a workflow that it never stood for here, unless the push
/// is forced.
pub fn push_name(
    site: &Site,
    remote: &mut dyn Remote,
    name: &str,
    force: bool,
) -> Result<PushedName, EngineError> {
    let state = State::new(&site.root);
    let registered = state.workflows()?;
    let Some(hash) = registered.get(name).copied() else {
        return Err(not_registered(name, registered.into_keys()));
    };
    if let Some(problem) = name_problem(name) {
        return Err(SharingError::BadName(problem).into());
    }
    read_program(&site.store, hash)?;
    let mut there = find(remote, name)?;
    let history = state.registry_history()?;
    let is_known = |there: CasRef| history.of(name).any(|change| change.hash == Some(there));
    let needed = whole(site, hash)?;
    let mut nodes = 0;
    for _ in 0..TRIES {
        if let Some(there) = &there
            && there.hash != hash
            && !force
            && !is_known(there.hash)
        {
            return Err(differs(there, hash));
        }
        let (sent, count) = send(site, remote, (name, hash), there.as_ref(), &needed)?;
        nodes += count;
        match sent {
            Sent::As(outcome) => {
                return Ok(PushedName {
                    workflow: name.to_owned(),
                    hash,
                    outcome,
                    nodes,
                });
            }
            Sent::StandsFor(other) => there = Some(other),
        }
    }
    let problem = format!("other machines set the name `{name}` all the time");
    Err(SharingError::Remote(RemoteError::Contended(problem)).into())
}

/// What came of sending a name.
enum Sent {
    /// It stands for the workflow.
    As(PushedAs),
    /// Another machine has set it at the same time, and it stands for this.
    StandsFor(SharedName),
}

/// Sends the nodes, and then the name, if the remote has another one. Returns how many nodes were sent.
fn send(
    site: &Site,
    remote: &mut dyn Remote,
    (name, hash): (&str, CasRef),
    there: Option<&SharedName>,
    needed: &[CasRef],
) -> Result<(Sent, usize), EngineError> {
    let outcome = match there {
        None => PushedAs::Shared,
        Some(there) if there.hash == hash => PushedAs::Unchanged,
        Some(_) => PushedAs::Forwarded,
    };
    let known = there.map_or(0, |there| there.version);
    let mut sent = 0;
    for _ in 0..nodes::TIMES {
        sent += nodes::send(site, remote, needed)?;
        if outcome == PushedAs::Unchanged {
            return Ok((Sent::As(outcome), sent));
        }
        let named = remote.set_name(name, known, hash);
        match named.map_err(SharingError::from)? {
            Named::Done | Named::Already => return Ok((Sent::As(outcome), sent)),
            Named::StandsFor(there) => return Ok((Sent::StandsFor(there), sent)),
            Named::Lacking => {}
        }
    }
    Err(SharingError::forgets().into())
}

/// Brings a workflow from the remote with all that it needs, and registers it under its name. What the name stood for here stays in
/// its history.
///
/// # Errors
/// When the name stands here for a workflow that it never stood for at the remote, unless the fetch is forced.
pub fn fetch_name(
    site: &Site,
    remote: &mut dyn Remote,
    there: &SharedName,
    force: bool,
) -> Result<FetchedName, EngineError> {
    let (name, hash) = (there.name.as_str(), there.hash);
    if let Some(problem) = name_problem(name) {
        return Err(SharingError::BadName(problem).into());
    }
    site.create()?;
    let state = State::new(&site.root);
    let mut here = state.workflows()?.get(name).copied();
    check_replaceable(there, here, force)?;
    // The remote need not send what is here with all that it needs.
    let have = match here {
        Some(here) if whole(site, here).is_ok() => nodes::had_with(site, here)?,
        Some(_) | None => Vec::new(),
    };
    let came = nodes::bring(site, remote, &[hash], &have)?;
    // The collector must wait until the registry refers to what came.
    let _hold = site.store.hold()?;
    read_program(&site.store, hash).map_err(|problem| {
        let problem = format!("the name `{name}` stands for no workflow there: {problem}");
        SharingError::Remote(RemoteError::Broken(problem))
    })?;
    // Somebody may have registered the name meanwhile.
    while let Registered::StandsFor(other) =
        state.register_after(here, name, hash, site.env.now_ms())?
    {
        here = other;
        check_replaceable(there, here, force)?;
    }
    let before = here.filter(|before| *before != hash);
    Ok(FetchedName {
        workflow: name.to_owned(),
        hash,
        before,
        outcome: match (here, before) {
            (None, _) => FetchedAs::Added,
            (Some(_), Some(_)) => FetchedAs::Replaced,
            (Some(_), None) => FetchedAs::Unchanged,
        },
        nodes: came,
    })
}

/// Fails if a fetch must not replace what a name stands for here.
fn check_replaceable(
    there: &SharedName,
    here: Option<CasRef>,
    force: bool,
) -> Result<(), EngineError> {
    match here {
        Some(here) if !force && !there.has_had(here) => Err(differs(there, here)),
        Some(_) | None => Ok(()),
    }
}

/// Returns the nodes of a workflow with all that it needs. Fails if one of them is not here.
fn whole(site: &Site, hash: CasRef) -> Result<Vec<CasRef>, EngineError> {
    Ok(site.store.needed_beyond(&[hash], &HashSet::new())?)
}

fn differs(there: &SharedName, here: CasRef) -> EngineError {
    SharingError::NameDiffers {
        name: there.name.clone(),
        here,
        there: there.hash,
        had: there.has_had(here),
    }
    .into()
}
