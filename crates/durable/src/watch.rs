//! Waiting until something changes in a folder. The kernel reports it, so nobody has to look again and again.

use std::ffi::{OsStr, OsString};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};

use crate::FileError;

/// A folder that is watched: its files, not those of its folders.
#[derive(Debug)]
pub struct Watch(Watches);

impl Watch {
    /// Watches a folder from now on.
    ///
    /// # Errors
    /// [`FileError::Io`] if there is no such folder, or the user watches too many.
    pub fn of(folder: &Path) -> Result<Self, FileError> {
        let watches = Watches::new()?;
        watches.add(folder)?;
        Ok(Self(watches))
    }

    /// Waits until something has changed since the last call, or the time is over. A signal ends the wait, too.
    pub fn wait(&self, at_most: Duration) {
        // What has changed does not matter.
        let _ = self.0.wait(at_most);
    }
}

/// Several folders that are watched at once.
#[derive(Debug)]
pub struct Watches {
    events: OwnedFd,
}

/// A folder among them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Watched(i32);

/// What has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Changed {
    /// A file of a folder.
    File(Watched, OsString),
    /// The folder itself: it is gone, and is not watched any more.
    Folder(Watched),
    /// More than the kernel could tell: everything may have changed.
    Unknown,
}

impl Watches {
    /// Begins with no folder.
    ///
    /// # Errors
    /// [`FileError::Io`] if the user watches too many.
    pub fn new() -> Result<Self, FileError> {
        let events = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK);
        let events =
            events.map_err(|error| FileError::io("watch", Path::new("/"))(error.into()))?;
        Ok(Self { events })
    }

    /// Watches a folder from now on. A folder that is watched already stays the same one.
    ///
    /// # Errors
    /// [`FileError::Io`] if there is no such folder, or the user watches too many.
    pub fn add(&self, folder: &Path) -> Result<Watched, FileError> {
        let changes = WatchFlags::MODIFY
            | WatchFlags::CREATE
            | WatchFlags::DELETE
            | WatchFlags::MOVED_FROM
            | WatchFlags::MOVED_TO
            | WatchFlags::CLOSE_WRITE
            | WatchFlags::ONLYDIR;
        let added = inotify::add_watch(&self.events, folder, changes);
        added
            .map(Watched)
            .map_err(|error| FileError::io("watch", folder)(error.into()))
    }

    /// Watches a folder no longer.
    pub fn remove(&self, watched: Watched) {
        // A folder that is gone is not watched.
        let _ = inotify::remove_watch(&self.events, watched.0);
    }

    /// Waits until something has changed since the last call, or the time is over, and returns what. A signal ends the wait,
    /// too.
    #[must_use]
    pub fn wait(&self, at_most: Duration) -> Vec<Changed> {
        let timeout = Timespec::try_from(at_most).ok();
        let mut waiting = [PollFd::new(&self.events, PollFlags::IN)];
        // Whatever ends the wait, the events are there or not.
        let _ = poll(&mut waiting, timeout.as_ref());
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut events = inotify::Reader::new(&self.events, &mut buffer);
        let mut changes = Vec::new();
        while let Ok(event) = events.next() {
            let watched = Watched(event.wd());
            let change = match event.file_name() {
                _ if event.events().contains(ReadFlags::QUEUE_OVERFLOW) => Changed::Unknown,
                Some(name) => Changed::File(watched, OsStr::from_bytes(name.to_bytes()).to_owned()),
                None => Changed::Folder(watched),
            };
            if changes.last() != Some(&change) {
                changes.push(change);
            }
        }
        changes
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

    #[test]
    fn several_folders_say_which_file_of_which_has_changed() {
        let dir = tempfile::tempdir().unwrap();
        let folder = |name: &str| {
            let path = dir.path().join(name);
            std::fs::create_dir(&path).unwrap();
            path
        };
        let (a, b) = (folder("a"), folder("b"));
        let watches = Watches::new().unwrap();
        let (first, second) = (watches.add(&a).unwrap(), watches.add(&b).unwrap());
        assert_ne!(first, second);
        assert_eq!(watches.add(&a).unwrap(), first);
        std::fs::write(b.join("x"), "").unwrap();
        let changes = watches.wait(LONG);
        assert_eq!(changes, [Changed::File(second, "x".into())]);
        std::fs::remove_dir(&a).unwrap();
        assert!(watches.wait(LONG).contains(&Changed::Folder(first)));
        watches.remove(second);
        let _ = watches.wait(Duration::ZERO);
        std::fs::write(b.join("y"), "").unwrap();
        assert_eq!(watches.wait(Duration::from_millis(20)), []);
    }
}
