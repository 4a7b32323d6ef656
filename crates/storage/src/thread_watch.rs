//! Waiting until something happens to any thread of a root: its head, its name, its run or what its agent says.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::path::PathBuf;
use std::time::Duration;

use uwf_durable::{Changed, Watched, Watches};
use uwf_protocol::ids::ThreadId;

use crate::run_dir::is_output;
use crate::{Root, StorageError};

/// How many threads are watched at once: the kernel has a limit for each user. Of those beyond, only heads are seen.
const MOST: usize = 4096;

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

/// A watch over all threads of a root that it was told of.
#[derive(Debug)]
pub struct ThreadWatch {
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

impl ThreadWatch {
    /// Watches a root from now on.
    ///
    /// # Errors
    /// [`StorageError`] if the user watches too much.
    pub fn of(root: &Root) -> Result<Self, StorageError> {
        let mut watch = Self {
            watches: Watches::new()?,
            root: root.path().to_owned(),
            runs: root.runs_dir(),
            top: None,
            all_runs: None,
            by_watch: HashMap::new(),
            by_thread: HashMap::new(),
        };
        watch.watch_folders();
        Ok(watch)
    }

    /// Watches the folders of the root that are there and were not before.
    fn watch_folders(&mut self) {
        // A root may have no folder yet, and a person may remove it.
        self.top = self.watches.add(&self.root).ok();
        self.all_runs = self.watches.add(&self.runs).ok();
    }

    /// Watches exactly these threads from now on. Returns those that are new: what happened to them before was not seen.
    pub fn follow(&mut self, threads: impl IntoIterator<Item = ThreadId>) -> Vec<ThreadId> {
        let wanted: HashSet<ThreadId> = threads.into_iter().collect();
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
            if self.by_thread.len() >= MOST {
                break;
            }
            if self.by_thread.contains_key(&thread) {
                continue;
            }
            if let Ok(watched) = self.watches.add(&self.runs.join(thread.as_str())) {
                self.by_watch.insert(watched, thread);
                self.by_thread.insert(thread, watched);
                new.push(thread);
            }
        }
        new
    }

    /// Waits until something has happened since the last call, or the time is over.
    pub fn wait(&mut self, at_most: Duration) -> HashSet<ThreadChange> {
        if self.top.is_none() {
            std::thread::sleep(at_most);
            self.watch_folders();
            return HashSet::new();
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
            self.watch_folders();
        }
        changes
    }

    fn of_file(&self, watched: Watched, name: &OsStr) -> Option<ThreadChange> {
        if Some(watched) == self.top {
            let known = ["threads.yaml", "history.jsonl", "labels.jsonl", "runs"];
            return known
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

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn what_happens_to_threads_is_told_by_kind() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::at(dir.path().join("root"));
        root.create().unwrap();
        let mut watch = ThreadWatch::of(&root).unwrap();
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
