//! What a process finds when it takes a run up: the lost attempt, the secrets, the workspace, and the steps for the picture.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde_json::Value;
use uwf_cas_fs::Store;
use uwf_pipeline::nodes::{AttemptRecord, LostAttempt, VisitNode};
use uwf_pipeline::state::SCHEMA_VERSION;
use uwf_pipeline::{Event, Masks};
use uwf_process::end_for_another;
use uwf_protocol::config::RemoteConfig;
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_protocol::nodes::StepNode;
use uwf_protocol::run::LeaseRecord;
use uwf_runner::{GRACE, Workspace};
use uwf_storage::{Env, RunDir, RunRoot, ThreadPlace};
use uwf_thread::steps;

use super::adopt::is_unwritten;
use super::make::own_root;
use super::picture::{Picture, SettledVisit};
use super::resume::made_again;
use super::wish::{LostPicture, ResumeWish};
use super::worker::Worker;
use crate::attempt::{Members, describe};
use crate::pipelines::chain::{self, Opened};
use crate::pipelines::resume_error::ResumeError;
use crate::pipelines::secrets::process_masks;
use crate::unfound::Unfound;
use crate::{EngineError, Runner, Site};

/// An attempt that was lost.
pub(super) struct Lost {
    pub(super) attempt: LostAttempt,
    /// The attempts of the same visit that had failed before it.
    pub(super) failed: Vec<AttemptRecord>,
}

/// Returns the record of an attempt whose engine died before its step settled. The steps that an earlier process added after the head
/// are not adopted yet.
pub(crate) fn lost_attempt(
    runner: &Runner,
    run: &RunDir,
    head: CasRef,
) -> Result<Option<LeaseRecord>, EngineError> {
    let Some(record) = run.lease.read_record() else {
        return Ok(None);
    };
    let store = &runner.site.store;
    let pending = run.outbox.read_pending()?.map(|pending| pending.step);
    for newest in pending.into_iter().chain([head]) {
        match has_settled(store, newest, &record) {
            Ok(true) => return Ok(None),
            Ok(false) => {}
            // The record of a step may be durable although the step is not.
            Err(EngineError::Store(error))
                if Some(newest) == pending && is_unwritten(&error, head) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Some(record))
}

/// Tells whether a chain has the step of an attempt. Another machine may have done the same step: the time when the attempt was started
/// tells them apart.
fn has_settled(store: &Store, newest: CasRef, record: &LeaseRecord) -> Result<bool, EngineError> {
    if Some(newest) == record.head {
        return Ok(false);
    }
    for step in steps(store, newest) {
        let StepNode {
            start,
            prev,
            role,
            detail,
            ..
        } = step?.node;
        if Some(prev.unwrap_or(start)) != record.head {
            continue;
        }
        if role != record.role {
            return Ok(false);
        }
        let visit: VisitNode = chain::payload(store, detail)?;
        let mut attempts = visit.attempts.iter();
        return Ok(attempts.any(|attempt| attempt.started_at_ms == record.started_at_ms));
    }
    Ok(false)
}

/// Ends the processes of an attempt whose engine died.
pub(crate) fn end_program(
    runner: &Runner,
    run: &RunDir,
    (thread, head): (ThreadId, CasRef),
    record: &LeaseRecord,
) -> Result<(), EngineError> {
    let Some(mut members) = Members::of(record, &run.scratch) else {
        return Ok(());
    };
    let left = end_for_another(&mut members, GRACE, &runner.signals);
    if left.is_empty() {
        return Ok(());
    }
    Err(EngineError::Survivors {
        thread,
        processes: describe(&left, || process_masks(&runner.site, (thread, head))),
        failed: None,
    })
}

/// Ends the processes of a [lost attempt](lost_attempt), and returns the attempt. It stays on record until a step of the chain names it.
/// What the program of a settled step left running goes on.
pub(super) fn end_lost(
    runner: &Runner,
    run: &RunDir,
    (thread, head): (ThreadId, CasRef),
    lost: Option<LeaseRecord>,
) -> Result<Option<Lost>, EngineError> {
    let Some(record) = lost else {
        return Ok(None);
    };
    end_program(runner, run, (thread, head), &record)?;
    if record.head != Some(head) {
        // Another machine has gone on. In the chain, nothing was lost.
        return Ok(None);
    }
    Ok(Some(Lost {
        attempt: LostAttempt {
            key: record.role.as_str().to_owned(),
            attempt: record.number.unwrap_or(1),
        },
        failed: record.failed,
    }))
}

/// Returns the variables of our environment for the programs of a run. They get the password of the remote only if one of its
/// pipelines names it as a secret.
pub(super) fn our_variables(env: &Env, opened: &Opened) -> Vec<(OsString, OsString)> {
    let is_named = opened
        .pipelines()
        .flat_map(|pipeline| pipeline.all_secrets())
        .any(|name| name == RemoteConfig::PASSWORD);
    let variables = env
        .variables()
        .filter(|(name, _)| is_named || *name != RemoteConfig::PASSWORD);
    let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
    variables.collect()
}

/// Opens the workspace. Nothing of a pipeline is written where our own files are.
pub(super) fn open_workspace(
    runner: &Runner,
    cwd: &str,
    root: &RunRoot,
) -> Result<Workspace, EngineError> {
    let site = &runner.site;
    let of_runs = root.path().parent().unwrap_or(root.path());
    let closed: Vec<PathBuf> = [of_runs, site.root.path(), site.store.dir()]
        .into_iter()
        .map(Path::to_owned)
        .collect();
    Workspace::open(Path::new(cwd), &closed).map_err(|_| EngineError::NoDirectory(cwd.to_owned()))
}

/// Adds a step of the chain to the picture.
pub(super) fn show(
    store: &Store,
    picture: &mut Picture<'_>,
    seen: &chain::Seen<'_>,
) -> Result<(), EngineError> {
    let node = &seen.step.node;
    let Event::Visit(visit) = seen.event else {
        picture.moved(seen.step.hash);
        return Ok(());
    };
    let settled = SettledVisit {
        visit,
        detail: &chain::payload(store, node.detail)?,
        started_at_ms: node.started_at_ms.unwrap_or_default(),
        completed_at_ms: node.completed_at_ms.unwrap_or_default(),
        output: node.output,
    };
    picture.settled(&settled, seen.step.hash, seen.course);
    Ok(())
}

/// Makes the folder of a run ready for a process that works on it. Returns what people should know.
///
/// # Errors
/// When the picture is lost, or something else is in place of a file or a folder, and the person has asked for no repair.
pub(super) fn need_folder(
    (root, thread): (&RunRoot, ThreadId),
    wish: Option<&ResumeWish>,
    is_new: bool,
) -> Result<Vec<String>, EngineError> {
    let repair = wish.map_or(LostPicture::Refused, |wish| wish.picture);
    let lost = match is_new {
        // Before the first step, nothing is lost with the picture.
        true => LostPicture::MadeAgain,
        false => repair,
    };
    let lost = need_picture((root, thread), lost)?;
    // A run that nobody resumes has none before its first step.
    let lost = lost.filter(|_| wish.is_some());
    let mut notes = move_aside(root, repair)?;
    root.create()?;
    notes.extend(lost.map(|problem| made_again(root, problem)));
    Ok(notes)
}

/// Renames what is in place of files and folders of ours, if a person has asked for a repair. Returns what to say of it.
pub(super) fn move_aside(root: &RunRoot, repair: LostPicture) -> Result<Vec<String>, EngineError> {
    if repair == LostPicture::Refused {
        return Ok(Vec::new());
    }
    let moved = root.move_aside()?.into_iter().map(|it| {
        let (from, to) = (it.from.display(), it.to.display());
        format!("`{from}` was {}: it is `{to}` now", it.kind)
    });
    Ok(moved.collect())
}

/// Returns what is wrong with the picture that earlier processes left, if it is lost.
///
/// # Errors
/// When it is lost and shall not be made again, or has a form of another version.
pub(super) fn need_picture(
    (root, thread): (&RunRoot, ThreadId),
    lost: LostPicture,
) -> Result<Option<&'static str>, EngineError> {
    // Without that record, the folder was not finished, or is that of a fork: no picture of it was ever seen.
    if root.thread().is_none() {
        return Ok(None);
    }
    let path = root.state_file();
    let other = misplaced(&path);
    let is_taken = other.is_some();
    let problem = match other {
        Some(problem) => problem,
        None => match unreadable(root)? {
            Some(problem) => problem,
            None => return Ok(None),
        },
    };
    match lost {
        LostPicture::Refused => Err(ResumeError::NoPicture {
            thread,
            path,
            problem,
            is_taken,
        }
        .into()),
        LostPicture::MadeAgain => Ok(Some(problem)),
    }
}

/// Returns why the picture cannot be read as one.
///
/// # Errors
/// When it has the form of another version.
fn unreadable(root: &RunRoot) -> Result<Option<&'static str>, EngineError> {
    let path = root.state_file();
    let picture = root.read_state()?;
    let read = picture.as_ref().map(|text| serde_json::from_slice(text));
    let picture: Option<Value> = read.and_then(Result::ok);
    let version = picture
        .as_ref()
        .and_then(|it| it.get("schema_version")?.as_str());
    match (&picture, version) {
        (_, Some(SCHEMA_VERSION)) => Ok(None),
        (_, Some(other)) => {
            let version = other.to_owned();
            Err(ResumeError::OtherForm { path, version }.into())
        }
        (Some(_), None) => Ok(Some("is no picture of a run")),
        (None, None) if path.exists() => Ok(Some("cannot be read")),
        (None, None) => Ok(Some("is missing")),
    }
}

/// Returns what is wrong with the picture if something else is in its place.
fn misplaced(path: &Path) -> Option<&'static str> {
    match path {
        link if link.is_symlink() => Some("is a symbolic link"),
        folder if folder.is_dir() => Some("is a folder"),
        other if other.exists() && !other.is_file() => Some("is no regular file"),
        _ => None,
    }
}

/// Tells whether the picture shows a run that is completed at this head.
pub(super) fn is_completed(root: &RunRoot, head: CasRef) -> bool {
    let text = root.read_state().ok().flatten().unwrap_or_default();
    let picture: Value = serde_json::from_slice(&text).unwrap_or_default();
    let has = |name: &str, value: &str| picture.get(name).and_then(Value::as_str) == Some(value);
    has("status", "completed") && has("head", head.as_str())
}

/// Fails if the folder that a run works in is gone. Nothing makes it again.
pub(super) fn need_workspace(site: &Site, cwd: &str) -> Result<(), EngineError> {
    match Path::new(cwd).is_dir() {
        true => Ok(()),
        false => Err(ResumeError::NoWorkspace(Unfound::new(site, cwd.to_owned())).into()),
    }
}

/// Completes the folder of a fork, which nobody has made. It comes after its first picture: a folder that is complete has one.
pub(super) fn write_origin(
    worker: &Worker<'_>,
    source: &str,
    masks: &Masks,
) -> Result<(), EngineError> {
    if worker.root.thread().is_some() {
        return Ok(());
    }
    let site = &worker.runner.site;
    let source = source.parse().ok().map(|source| site.store.need(source));
    let source = source
        .transpose()?
        .and_then(|node| Some(node.payload.as_str()?.to_owned()));
    let place = ThreadPlace {
        thread: worker.thread,
        root: own_root(site),
    };
    let shown = masks.text(&source.unwrap_or_default());
    Ok(worker.root.write_origin(&place, shown.as_bytes())?)
}
