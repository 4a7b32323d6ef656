//! Waiting until something changes in the directory of a thread's runs.

use std::path::PathBuf;
use std::time::Duration;

use uwf_durable::Watch;

/// The directory of a thread's runs, for a reader that waits for its changes.
///
/// The directory does not exist before the first step, and a person may remove it. Until it can be watched, a wait takes
/// all its time.
#[derive(Debug)]
pub struct RunWatch {
    path: PathBuf,
    watch: Option<Watch>,
}

impl RunWatch {
    pub(super) fn of(path: PathBuf) -> Self {
        let watch = Watch::of(&path).ok();
        Self { path, watch }
    }

    /// Waits until something has changed since the last call, or the time is over. The caller then looks again: not all
    /// that happens to a thread changes this directory.
    pub fn wait(&mut self, at_most: Duration) {
        match &self.watch {
            Some(watch) if self.path.is_dir() => watch.wait(at_most),
            Some(_) | None => {
                std::thread::sleep(at_most);
                self.watch = Watch::of(&self.path).ok();
            }
        }
    }
}
