//! The same as [`ThreadWatch`](crate::ThreadWatch) where the kernel watches no files: looking at them now and then.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use uwf_protocol::ids::ThreadId;

use crate::run_dir::is_output;
use crate::thread_watch::{STATE_FILES, ThreadChange};

/// What differs after a file was written again.
type Stamp = (u64, i64, i64, u64);

/// The files of a folder.
type Stamps = HashMap<OsString, Stamp>;

/// A look at all threads of a root that it was told of.
#[derive(Debug)]
pub(crate) struct ThreadPoll {
    root: PathBuf,
    runs: PathBuf,
    state: Stamps,
    by_thread: HashMap<ThreadId, Stamps>,
}

impl ThreadPoll {
    /// Looks at the state of a root for the first time.
    pub(crate) fn of(root: PathBuf, runs: PathBuf) -> Self {
        Self {
            state: state_of(&root),
            root,
            runs,
            by_thread: HashMap::new(),
        }
    }

    /// Tells whether it looks at a thread.
    pub(crate) fn follows(&self, thread: &ThreadId) -> bool {
        self.by_thread.contains_key(thread)
    }

    /// Looks at exactly these threads from now on. Returns those that are new.
    pub(crate) fn follow(&mut self, wanted: &HashSet<ThreadId>) -> Vec<ThreadId> {
        self.by_thread.retain(|thread, _| wanted.contains(thread));
        let is_new = |thread: &&ThreadId| !self.by_thread.contains_key(thread);
        let new: Vec<ThreadId> = wanted.iter().filter(is_new).copied().collect();
        for thread in &new {
            let stamps = stamps_of(&self.runs.join(thread.as_str()));
            self.by_thread.insert(*thread, stamps);
        }
        new
    }

    /// Waits for this time, and returns what has changed since the last look.
    pub(crate) fn wait(&mut self, time: Duration) -> HashSet<ThreadChange> {
        std::thread::sleep(time);
        let mut changes = HashSet::new();
        let state = state_of(&self.root);
        if state != self.state {
            self.state = state;
            changes.insert(ThreadChange::Threads);
        }
        for (thread, before) in &mut self.by_thread {
            let now = stamps_of(&self.runs.join(thread.as_str()));
            for name in before.keys().chain(now.keys()) {
                if before.get(name) != now.get(name) {
                    changes.insert(match is_output(name) {
                        true => ThreadChange::Output(*thread),
                        false => ThreadChange::Run(*thread),
                    });
                }
            }
            *before = now;
        }
        changes
    }
}

fn state_of(root: &Path) -> Stamps {
    let stamp = |name: &str| {
        let about = fs::metadata(root.join(name)).ok()?;
        Some((name.into(), stamp_of(&about)))
    };
    STATE_FILES.into_iter().filter_map(stamp).collect()
}

/// Returns the stamps of the files of a folder; none if it is not there.
fn stamps_of(folder: &Path) -> Stamps {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let stamped = entries.filter_map(|entry| {
        let about = entry.metadata().ok()?;
        Some((entry.file_name(), stamp_of(&about)))
    });
    stamped.collect()
}

fn stamp_of(about: &Metadata) -> Stamp {
    (about.ino(), about.mtime(), about.mtime_nsec(), about.len())
}
