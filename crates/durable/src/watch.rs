//! Waiting until something changes in a folder. The kernel reports it, so nobody has to look again and again.

use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};

use crate::FileError;

/// A folder that is watched: its files, not those of its folders.
#[derive(Debug)]
pub struct Watch {
    events: OwnedFd,
}

impl Watch {
    /// Watches a folder from now on.
    ///
    /// # Errors
    /// [`FileError::Io`] if there is no such folder, or the user watches too many.
    pub fn of(folder: &Path) -> Result<Self, FileError> {
        let start = || {
            let events = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
            let changes = WatchFlags::MODIFY
                | WatchFlags::CREATE
                | WatchFlags::DELETE
                | WatchFlags::MOVED_FROM
                | WatchFlags::MOVED_TO
                | WatchFlags::CLOSE_WRITE
                | WatchFlags::ONLYDIR;
            inotify::add_watch(&events, folder, changes)?;
            Ok(Self { events })
        };
        start().map_err(|error: rustix::io::Errno| FileError::io("watch", folder)(error.into()))
    }

    /// Waits until something has changed since the last call, or the time is over. A signal ends the wait, too.
    pub fn wait(&self, at_most: Duration) {
        let timeout = Timespec::try_from(at_most).ok();
        let mut waiting = [PollFd::new(&self.events, PollFlags::IN)];
        // Whatever ends the wait, the caller looks at the folder next.
        let _ = poll(&mut waiting, timeout.as_ref());
        self.forget_events();
    }

    /// Takes all events that there are. What they say does not matter.
    fn forget_events(&self) {
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut events = inotify::Reader::new(&self.events, &mut buffer);
        while events.next().is_ok() {}
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn a_wait_ends_with_each_change_and_not_before() {
        let dir = tempfile::tempdir().unwrap();
        let watch = Watch::of(dir.path()).unwrap();
        let begun = Instant::now();
        for content in ["a", "ab"] {
            std::fs::write(dir.path().join("file"), content).unwrap();
            watch.wait(LONG);
        }
        assert!(begun.elapsed() < LONG);
        let begun = Instant::now();
        let short = Duration::from_millis(20);
        watch.wait(short);
        assert!(begun.elapsed() >= short);
    }

    #[test]
    fn a_folder_that_is_not_there_cannot_be_watched() {
        let dir = tempfile::tempdir().unwrap();
        assert!(Watch::of(&dir.path().join("none")).is_err());
    }
}
