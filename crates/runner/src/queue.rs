//! Queues of tasks: files in folders. A task is written under another name and renamed, so that nobody sees a part of it.
//! The process that renames it away owns it.

use std::ffi::OsStr;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::io::Errno;
use uwf_durable::Walk;
use uwf_pipeline::{ErrorKind, Failure};

use crate::Workspace;
use crate::claims::{Claimant, Claims};
use crate::draft::{Draft, Name};
use crate::error::NotDone;
use crate::moving::Across;
use crate::workspace::{Entry, WalkError, names};

/// A queue from which tasks are claimed.
#[derive(Debug, Clone, Copy)]
pub struct Queue<'a> {
    /// The folder of the tasks that wait.
    pub folder: &'a str,
    /// How the names of tasks end.
    pub extension: &'a str,
    /// The folder of the tasks that are claimed.
    pub claimed: &'a str,
}

/// The tasks of a folder.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tasks {
    /// Their paths, sorted.
    pub paths: Vec<String>,
    /// What is wrong with those that no command can name, because their paths are not UTF-8.
    pub unnamed: Vec<Failure>,
}

/// What came of an attempt to claim a task.
#[derive(Debug, Default)]
pub struct Claim {
    /// The old and the new path of the task; `None` if there is none that can be claimed.
    pub task: Option<(String, String)>,
    /// Whether an earlier attempt of the same step had claimed it.
    pub is_again: bool,
    /// Why the tasks before it could not be claimed, such as one whose path is too long. They stay where they are.
    pub refused: Vec<Failure>,
}

impl Workspace {
    /// Writes a new task, and makes its folder.
    ///
    /// # Errors
    /// When there is a file already, the path leads out of the workspace, or the system refuses.
    pub fn put_task(&self, path: &str, content: &mut dyn Read) -> Result<(), Failure> {
        let kind = ErrorKind::PathError;
        let failure = |error: WalkError| error.failure(path, kind);
        let parts = names(path).map_err(failure)?;
        let Some((name, parents)) = parts.split_last() else {
            return Err(taken(path));
        };
        let folder = self.folder_to_write(parents).map_err(failure)?;
        if Entry::at(folder.descriptor(), *name).is_ok() {
            return Err(taken(path));
        }
        let draft = Draft::create(folder, Name::After(name), None);
        let draft = draft.map_err(|error| failure(error.into()))?;
        let copied = io::copy(content, &mut draft.file());
        match copied.and_then(|_| draft.place(name)) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(taken(path)),
            placed => placed.map_err(|error| NotDone::of("write", path, error).failure()),
        }
    }

    /// Returns the tasks in a folder and below, sorted. Hidden files and folders do not count, nor do links. Without the
    /// folder there are none.
    ///
    /// # Errors
    /// When the path leads out of the workspace, or the system refuses.
    pub fn tasks(&self, folder: &str, extension: &str) -> Result<Tasks, Failure> {
        let failure = |error: WalkError| error.failure(folder, ErrorKind::PathError);
        let parts = names(folder).map_err(failure)?;
        let found = match self.find_names(&parts) {
            Err(WalkError::System(Errno::NOENT)) => return Ok(Tasks::default()),
            found => found.map_err(failure)?,
        };
        self.keep_closed(&found).map_err(failure)?;
        let top = Path::new(&parts.join("/")).to_owned();
        let unread = |error: uwf_durable::WalkError| {
            let errno = Errno::from_io_error(&error.source).unwrap_or(Errno::IO);
            let path = top.join(&error.path).display().to_string();
            WalkError::System(errno).failure(&path, ErrorKind::PathError)
        };
        let mut walk = Walk::of(found.descriptor(), is_shown).map_err(unread)?;
        let mut tasks = Tasks::default();
        while let Some(found) = walk.next().map_err(unread)? {
            if !found.is_regular() || !walk.name().as_bytes().ends_with(extension.as_bytes()) {
                continue;
            }
            match top.join(walk.path()).into_os_string().into_string() {
                Ok(path) => tasks.paths.push(path),
                Err(path) => tasks.unnamed.push(unnamed(&path)),
            }
        }
        tasks.paths.sort_unstable();
        Ok(tasks)
    }

    /// Moves the first task of a folder that can be moved into another one, so that nobody else gets it. A task that is there
    /// already is not claimed again, unless an earlier attempt of the same step has claimed it: then it comes first.
    ///
    /// # Errors
    /// When the folder is that of the claimed tasks itself, or cannot be read or written; when the claim cannot be put on record,
    /// or the disk takes no more. See [`tasks`](Self::tasks).
    pub fn claim_task(
        &self,
        queue: &Queue<'_>,
        claimant: Option<&Claimant>,
    ) -> Result<Claim, Failure> {
        let own = plain(queue.claimed)?;
        if plain(queue.folder)? == own {
            return Err(claimed_already(&own));
        }
        let claims = claimant.map(Claimant::claims).transpose()?;
        if let Some(claims) = &claims
            && let Some(task) = self.take_over(queue, claims)?
        {
            return Ok(Claim {
                task: Some(task),
                is_again: true,
                ..Claim::default()
            });
        }
        let own = format!("{own}/");
        let tasks = self.tasks(queue.folder, queue.extension)?;
        let mut claim = Claim {
            refused: tasks.unnamed,
            ..Claim::default()
        };
        let tasks = tasks.paths.into_iter();
        for task in tasks.filter(|task| !task.starts_with(&own)) {
            if let Some(claims) = &claims
                && let Ok(entry) = self.find(&task)
            {
                claims.add(&entry, &task)?;
            }
            match self.take_into(&task, queue.claimed, Across::Refused) {
                Ok(Some(path)) => {
                    claim.task = Some((task, path));
                    break;
                }
                Ok(None) => {}
                Err(NotDone::Failure(failure)) => claim.refused.push(failure),
                Err(NotDone::Disk(error)) => return Err(NotDone::Disk(error).failure()),
            }
        }
        Ok(claim)
    }

    /// Claims the first task that an earlier attempt of the step has claimed and left. It stays where it is.
    fn take_over(
        &self,
        queue: &Queue<'_>,
        claims: &Claims<'_>,
    ) -> Result<Option<(String, String)>, Failure> {
        let folder = match plain(queue.folder)?.as_str() {
            "" => String::new(),
            folder => format!("{folder}/"),
        };
        for task in self.tasks(queue.claimed, queue.extension)?.paths {
            let Ok(entry) = self.find(&task) else {
                continue;
            };
            if let Some(from) = claims.of_earlier_attempt(&entry)
                && from.starts_with(&folder)
            {
                claims.add(&entry, from)?;
                return Ok(Some((from.to_owned(), task)));
            }
        }
        Ok(None)
    }
}

/// Returns a path without `.` and empty names.
fn plain(path: &str) -> Result<String, Failure> {
    let names = names(path).map_err(|error| error.failure(path, ErrorKind::PathError))?;
    Ok(names.join("/"))
}

fn claimed_already(folder: &str) -> Failure {
    let message = format!("the tasks in `{folder}` are claimed by this name already");
    Failure::new(ErrorKind::PathError, message).fact("own", folder)
}

fn unnamed(path: &OsStr) -> Failure {
    // As a Rust text, so that each byte can be told.
    let shown = format!("{path:?}");
    let message = format!("the name of `{}` is not UTF-8", shown.trim_matches('"'));
    Failure::new(ErrorKind::PathError, message).fact("not_utf8", true)
}

fn taken(path: &str) -> Failure {
    let message = format!("there is a file `{path}` already, and it is not overwritten");
    Failure::new(ErrorKind::PathError, message)
        .fact("path", path)
        .fact("taken", true)
}

/// Tells whether a task or a folder of tasks may have this name.
fn is_shown(name: &OsStr) -> bool {
    !name.as_bytes().starts_with(b".")
}
