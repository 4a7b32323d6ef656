//! Waiting until something happens to any thread of a root: its head, its name, its run or what its agent says.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use uwf_durable::{Changed, FileError, Watched, Watches};
use uwf_protocol::ids::ThreadId;

use crate::run_dir::is_output;
use crate::thread_poll::ThreadPoll;
use crate::{Root, StorageError};

/// How many threads are watched at once: the kernel has a limit for each user. Of those beyond, only heads are seen.
const MOST: usize = 4096;

/// The files and folders of a root whose change means that threads began, ended or changed.
pub(crate) const STATE_FILES: [&str; 4] = ["threads.yaml", "history.jsonl", "labels.jsonl", "runs"];

/// What has happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ThreadChange {
    /// Threads began, ended, got another head or another name.
    Threads,
    /// The records of a run changed: somebody works on the thread, or no longer.
    Run(ThreadId),
    /// The agent of a thread said something.
    Output(ThreadId),
}

/// A watch over all threads of a root that it was told of. If the kernel does not watch files for this user, it looks at them
/// again and again.
#[derive(Debug)]
pub struct ThreadWatch {
    root: PathBuf,
    runs: PathBuf,
    how: How,
}

#[derive(Debug)]
enum How {
    Told(Told),
    Looks(ThreadPoll, StorageError),
}

impl ThreadWatch {
    /// Watches a root from now on.
    #[must_use]
    pub fn of(root: &Root) -> Self {
        let (root, runs) = (root.path().to_owned(), root.runs_dir());
        let how = match Told::of(&root, &runs) {
            Ok(told) => How::Told(told),
            Err(error) => How::Looks(ThreadPoll::of(root.clone(), runs.clone()), error),
        };
        Self { root, runs, how }
    }

    /// Returns why the watch looks at files again and again, if it does.
    #[must_use]
    pub fn why_it_looks(&self) -> Option<&StorageError> {
        match &self.how {
            How::Told(_) => None,
            How::Looks(_, error) => Some(error),
        }
    }

    /// Watches exactly these threads from now on. Returns those that are new: what happened to them before was not seen.
    pub fn follow(&mut self, threads: impl IntoIterator<Item = ThreadId>) -> Vec<ThreadId> {
        let is_followed = |thread: &ThreadId| match &self.how {
            How::Told(told) => told.by_thread.contains_key(thread),
            How::Looks(poll, _) => poll.follows(thread),
        };
        let wanted = at_most(MOST, threads.into_iter().collect(), is_followed);
        let error = match &mut self.how {
            How::Looks(poll, _) => return poll.follow(&wanted),
            How::Told(told) => match told.follow(&wanted) {
                Ok(new) => return new,
                Err(error) => error,
            },
        };
        self.look_from_now_on(error, &wanted)
    }

    /// Waits until something has happened since the last call, or the time is over.
    pub fn wait(&mut self, at_most: Duration) -> HashSet<ThreadChange> {
        let error = match &mut self.how {
            How::Looks(poll, _) => return poll.wait(at_most),
            How::Told(told) => match told.wait(at_most) {
                Ok(changes) => return changes,
                Err(error) => error,
            },
        };
        let How::Told(told) = &self.how else {
            return HashSet::new();
        };
        let followed = told.by_thread.keys().copied().collect();
        let missed = self.look_from_now_on(error, &followed).into_iter();
        let missed = missed.map(ThreadChange::Run);
        missed.chain([ThreadChange::Threads]).collect()
    }

    fn look_from_now_on(
        &mut self,
        why: StorageError,
        threads: &HashSet<ThreadId>,
    ) -> Vec<ThreadId> {
        let mut poll = ThreadPoll::of(self.root.clone(), self.runs.clone());
        let new = poll.follow(threads);
        self.how = How::Looks(poll, why);
        new
    }
}

/// Returns so many threads: those that are followed already, then the newest.
fn at_most(
    most: usize,
    threads: HashSet<ThreadId>,
    is_followed: impl Fn(&ThreadId) -> bool,
) -> HashSet<ThreadId> {
    if threads.len() <= most {
        return threads;
    }
    let mut threads: Vec<ThreadId> = threads.into_iter().collect();
    threads.sort_unstable_by_key(|thread| (!is_followed(thread), Reverse(*thread)));
    threads.truncate(most);
    threads.into_iter().collect()
}

/// A watch that the kernel tells what has changed.
#[derive(Debug)]
struct Told {
    watches: Watches,
    root: PathBuf,
    runs: PathBuf,
    /// The folder of the root.
    top: Option<Watched>,
    /// The folder of all runs. It is not there before the first step.
    all_runs: Option<Watched>,
    by_watch: HashMap<Watched, ThreadId>,
    by_thread: HashMap<ThreadId, Watched>,
}

impl Told {
    /// Watches a root from now on. All functions here fail if the user has too many watches.
    fn of(root: &Path, runs: &Path) -> Result<Self, StorageError> {
        let mut watch = Self {
            watches: Watches::new()?,
            root: root.to_owned(),
            runs: runs.to_owned(),
            top: None,
            all_runs: None,
            by_watch: HashMap::new(),
            by_thread: HashMap::new(),
        };
        watch.watch_folders()?;
        Ok(watch)
    }

    /// Watches the folders of the root that are there and were not before.
    fn watch_folders(&mut self) -> Result<(), StorageError> {
        // A root may have no folder yet, and a person may remove it.
        self.top = if_there(self.watches.add(&self.root))?;
        self.all_runs = if_there(self.watches.add(&self.runs))?;
        Ok(())
    }

    fn follow(&mut self, wanted: &HashSet<ThreadId>) -> Result<Vec<ThreadId>, StorageError> {
        let (by_watch, watches) = (&mut self.by_watch, &self.watches);
        self.by_thread.retain(|thread, watched| {
            let stays = wanted.contains(thread);
            if !stays {
                watches.remove(*watched);
                by_watch.remove(watched);
            }
            stays
        });
        let mut new = Vec::new();
        for thread in wanted {
            if self.by_thread.contains_key(thread) {
                continue;
            }
            let folder = self.runs.join(thread.as_str());
            if let Some(watched) = if_there(self.watches.add(&folder))? {
                self.by_watch.insert(watched, *thread);
                self.by_thread.insert(*thread, watched);
                new.push(*thread);
            }
        }
        Ok(new)
    }

    fn wait(&mut self, at_most: Duration) -> Result<HashSet<ThreadChange>, StorageError> {
        if self.top.is_none() {
            std::thread::sleep(at_most);
            self.watch_folders()?;
            return Ok(HashSet::new());
        }
        let mut changes = HashSet::new();
        for change in self.watches.wait(at_most) {
            match change {
                Changed::File(watched, name) => changes.extend(self.of_file(watched, &name)),
                Changed::Folder(watched) => {
                    if let Some(thread) = self.by_watch.remove(&watched) {
                        self.by_thread.remove(&thread);
                    }
                    changes.insert(ThreadChange::Threads);
                }
                Changed::Unknown => {
                    changes.insert(ThreadChange::Threads);
                    changes.extend(self.by_thread.keys().copied().map(ThreadChange::Run));
                }
            }
        }
        if changes.contains(&ThreadChange::Threads) {
            self.watch_folders()?;
        }
        Ok(changes)
    }

    fn of_file(&self, watched: Watched, name: &OsStr) -> Option<ThreadChange> {
        if Some(watched) == self.top {
            return STATE_FILES
                .iter()
                .any(|one| name == *one)
                .then_some(ThreadChange::Threads);
        }
        if Some(watched) == self.all_runs {
            return Some(ThreadChange::Threads);
        }
        let thread = *self.by_watch.get(&watched)?;
        Some(match is_output(name) {
            true => ThreadChange::Output(thread),
            false => ThreadChange::Run(thread),
        })
    }
}

/// Returns what was added; nothing if there is no such folder.
fn if_there(added: Result<Watched, FileError>) -> Result<Option<Watched>, StorageError> {
    match added {
        Ok(watched) => Ok(Some(watched)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn of_too_many_threads_those_stay_followed_that_are_and_then_the_newest_come() {
        let [oldest, older, newer, newest] = [1, 2, 3, 4].map(|time| ThreadId::new(time, 0));
        let all = HashSet::from([oldest, older, newer, newest]);
        let of = |most, followed: &[ThreadId]| {
            at_most(most, all.clone(), |thread| followed.contains(thread))
        };
        assert_eq!(of(4, &[]), all);
        assert_eq!(of(2, &[]), [newer, newest].into());
        assert_eq!(of(2, &[oldest]), [oldest, newest].into());
        assert_eq!(of(2, &[oldest, older]), [oldest, older].into());
    }

    #[test]
    fn what_happens_is_seen_by_looking_too() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::at(dir.path().join("root"));
        root.create().unwrap();
        let thread = ThreadId::new(1, 1);
        let folder = root.runs_dir().join(thread.as_str());
        std::fs::create_dir_all(&folder).unwrap();
        let mut watch = ThreadPoll::of(root.path().to_owned(), root.runs_dir());
        assert_eq!(watch.follow(&[thread].into()), [thread]);
        assert_eq!(watch.follow(&[thread].into()), []);
        let mut look = || watch.wait(Duration::ZERO);
        assert_eq!(look(), HashSet::new());
        std::fs::write(folder.join("live.jsonl"), "x").unwrap();
        assert_eq!(look(), [ThreadChange::Output(thread)].into());
        std::fs::write(folder.join("lease.json"), "x").unwrap();
        assert_eq!(look(), [ThreadChange::Run(thread)].into());
        std::fs::remove_file(folder.join("lease.json")).unwrap();
        assert_eq!(look(), [ThreadChange::Run(thread)].into());
        std::fs::write(root.threads_file(), "x").unwrap();
        assert_eq!(look(), [ThreadChange::Threads].into());
        assert_eq!(look(), HashSet::new());
        watch.follow(&HashSet::new());
        std::fs::write(folder.join("live.jsonl"), "xx").unwrap();
        assert_eq!(watch.wait(Duration::ZERO), HashSet::new());
    }

    #[test]
    fn what_happens_to_threads_is_told_by_kind() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::at(dir.path().join("root"));
        root.create().unwrap();
        let mut watch = ThreadWatch::of(&root);
        let thread = ThreadId::new(1, 1);
        assert_eq!(watch.follow([thread]), [], "no folder yet");
        let folder = root.runs_dir().join(thread.as_str());
        std::fs::create_dir_all(&folder).unwrap();
        assert!(watch.wait(LONG).contains(&ThreadChange::Threads));
        assert_eq!(watch.follow([thread]), [thread]);
        assert_eq!(watch.follow([thread]), []);
        let _ = watch.wait(Duration::ZERO);
        std::fs::write(folder.join("live.jsonl"), "x").unwrap();
        assert_eq!(watch.wait(LONG), [ThreadChange::Output(thread)].into());
        std::fs::write(folder.join("lease.json"), "x").unwrap();
        assert_eq!(watch.wait(LONG), [ThreadChange::Run(thread)].into());
        std::fs::write(root.threads_file(), "x").unwrap();
        assert_eq!(watch.wait(LONG), [ThreadChange::Threads].into());
        std::fs::write(root.path().join("other"), "x").unwrap();
        assert_eq!(watch.wait(Duration::from_millis(20)), HashSet::new());
        watch.follow([]);
        let _ = watch.wait(Duration::ZERO);
        std::fs::write(folder.join("lease.json"), "y").unwrap();
        assert_eq!(watch.wait(Duration::from_millis(20)), HashSet::new());
    }
}
