//! Locks between processes: kernel locks on files, which end with the processes that have them. The callers decide what
//! a lock protects.

use std::fs::{File, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rustix::io::{FdFlags, fcntl_getfd, fcntl_setfd};

use crate::dir::{create_dir, directory_of};
use crate::open::open_to_look;
use crate::{FileError, calls, open_append};

/// How often a held lock is tried, and the pause between two tries.
const TRIES: u32 = 4;
const PAUSE: Duration = Duration::from_millis(5);

/// A lock on a file whose content does not matter, or on a folder. Dropping it unlocks the file, also for processes that inherited the
/// lock, unless it was [handed on](Self::hand_on).
#[derive(Debug)]
pub struct FileLock {
    file: File,
    path: PathBuf,
    /// Whether processes that inherited the lock keep it when this value is dropped.
    outlives_us: bool,
}

impl FileLock {
    /// Takes the exclusive lock, and waits for it without a limit. The file is created if needed, with its directory.
    ///
    /// # Errors
    /// [`FileError::Io`], and [`FileError::NotRegular`] or [`FileError::Link`] if the file is no file of ours.
    pub fn acquire(path: &Path) -> Result<Self, FileError> {
        wait(path, || open_or_make(path), File::lock)
    }

    /// Takes the exclusive lock of a folder, and waits for it without a limit; `None` if there is no such folder. Nothing is
    /// written to it.
    ///
    /// # Errors
    /// [`FileError::Io`].
    pub fn acquire_folder(path: &Path) -> Result<Option<Self>, FileError> {
        let open = || File::open(path).map_err(FileError::io("open", path));
        match wait(path, open, File::lock) {
            Err(error) if error.is_not_found() => Ok(None),
            locked => locked.map(Some),
        }
    }

    /// Takes the shared lock, and waits while another process has the exclusive one; `None` if the directory of the
    /// file does not exist.
    ///
    /// # Errors
    /// See [`acquire`](Self::acquire).
    pub fn share(path: &Path) -> Result<Option<Self>, FileError> {
        match wait(path, || open_append(path), File::lock_shared) {
            Err(error) if error.is_not_found() => Ok(None),
            locked => locked.map(Some),
        }
    }

    /// Takes the exclusive lock, unless another process has the lock.
    ///
    /// # Errors
    /// See [`acquire`](Self::acquire).
    pub fn try_acquire(path: &Path) -> Result<Option<Self>, FileError> {
        loop {
            let file = open_or_make(path)?;
            match file.try_lock() {
                Ok(()) if is_at(&file, path) => return Ok(Some(Self::of(file, path))),
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => {
                    return Err(FileError::io("lock", path)(error));
                }
            }
        }
    }

    /// Takes the exclusive lock, unless another process has the lock, or there is no such file.
    ///
    /// # Errors
    /// See [`acquire`](Self::acquire).
    pub fn try_acquire_existing(path: &Path) -> Result<Option<Self>, FileError> {
        let file = match open_to_look(path) {
            Err(error) if error.is_not_found() => return Ok(None),
            opened => opened?,
        };
        match file.try_lock() {
            // The owner of the lock may have removed the file.
            Ok(()) => Ok(is_at(&file, path).then(|| Self::of(file, path))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(FileError::io("lock", path)(error)),
        }
    }

    /// Takes the exclusive lock, unless another process has the lock for longer than some milliseconds.
    ///
    /// # Errors
    /// See [`acquire`](Self::acquire).
    pub fn acquire_if_free(path: &Path) -> Result<Option<Self>, FileError> {
        for _ in 1..TRIES {
            if let Some(lock) = Self::try_acquire(path)? {
                return Ok(Some(lock));
            }
            thread::sleep(PAUSE);
        }
        Self::try_acquire(path)
    }

    /// Tells whether a process has the exclusive lock. The file is opened only to read, and is not made. So no one who watches its
    /// folder hears of that.
    ///
    /// # Errors
    /// See [`acquire`](Self::acquire).
    pub fn is_taken(path: &Path) -> Result<bool, FileError> {
        loop {
            let file = match open_to_look(path) {
                Err(error) if error.is_not_found() => return Ok(false),
                opened => opened?,
            };
            match file.try_lock_shared() {
                Ok(()) => {
                    let is_current = is_at(&file, path);
                    drop(Self::of(file, path));
                    if is_current {
                        return Ok(false);
                    }
                }
                Err(TryLockError::WouldBlock) => return Ok(true),
                Err(TryLockError::Error(error)) => {
                    return Err(FileError::io("lock", path)(error));
                }
            }
        }
    }

    /// Replaces the file, which others may have locked, by a new one, and takes the exclusive lock of that. A lock on
    /// the old file then excludes nobody. The caller makes sure that no other process does this at the same time.
    ///
    /// # Errors
    /// See [`acquire`](Self::acquire).
    pub fn replace(path: &Path) -> Result<Self, FileError> {
        let mut draft = path.as_os_str().to_owned();
        draft.push(".new");
        let draft = PathBuf::from(draft);
        let file = open_or_make(&draft)?;
        file.lock().map_err(FileError::io("lock", &draft))?;
        calls::rename_over(&draft, path).map_err(FileError::io("replace", path))?;
        Ok(Self::of(file, path))
    }

    /// Lets processes that are started from now on inherit the lock.
    ///
    /// # Errors
    /// [`FileError::Io`].
    pub fn inherit_on_exec(&self) -> Result<(), FileError> {
        fcntl_getfd(&self.file)
            .and_then(|flags| fcntl_setfd(&self.file, flags - FdFlags::CLOEXEC))
            .map_err(|error| FileError::io("hand on the lock", &self.path)(error.into()))
    }

    /// Lets processes that are started from now on inherit the lock, and keep it when it is dropped here.
    ///
    /// # Errors
    /// [`FileError::Io`].
    pub fn hand_on(&mut self) -> Result<(), FileError> {
        self.outlives_us = true;
        self.inherit_on_exec()
    }

    /// Unlocks, also for processes that inherited the lock.
    ///
    /// # Errors
    /// [`FileError::Io`].
    pub fn release(self) -> Result<(), FileError> {
        self.file
            .unlock()
            .map_err(FileError::io("unlock", &self.path))
    }

    fn of(file: File, path: &Path) -> Self {
        Self {
            file,
            path: path.to_owned(),
            outlives_us: false,
        }
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        // Closing the file is not enough: a child that is just being started may still have the descriptor.
        if !self.outlives_us {
            let _ = self.file.unlock();
        }
    }
}

fn wait(
    path: &Path,
    open: impl Fn() -> Result<File, FileError>,
    lock: impl Fn(&File) -> io::Result<()>,
) -> Result<FileLock, FileError> {
    loop {
        let file = open()?;
        match lock(&file) {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            locked => locked.map_err(FileError::io("lock", path))?,
        }
        if is_at(&file, path) {
            return Ok(FileLock::of(file, path));
        }
    }
}

/// Opens the file, and creates it with its directory if needed.
fn open_or_make(path: &Path) -> Result<File, FileError> {
    match open_append(path) {
        Err(error) if error.is_not_found() => {
            create_dir(directory_of(path))?;
            open_append(path)
        }
        opened => opened,
    }
}

/// Tells whether the open file is still the one at the path. If it was removed, others lock a new file of that name,
/// and a lock on the old one excludes nobody.
fn is_at(file: &File, path: &Path) -> bool {
    let (Ok(open), Ok(named)) = (file.metadata(), path.metadata()) else {
        return false;
    };
    (open.dev(), open.ino()) == (named.dev(), named.ino())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn shared_locks_exclude_the_exclusive_one() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("lock");
        let shared = [FileLock::share(&path), FileLock::share(&path)];
        assert!(FileLock::try_acquire(&path).unwrap().is_none());
        drop(shared);
        assert!(FileLock::try_acquire(&path).unwrap().is_some());
        assert!(
            FileLock::share(&temp.path().join("none/lock"))
                .unwrap()
                .is_none()
        );
    }

    #[test]
    fn a_look_at_a_lock_makes_and_takes_nothing() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("none").join("lock");
        assert!(!FileLock::is_taken(&path).unwrap());
        assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 0);
        let lock = FileLock::acquire(&path).unwrap();
        assert!(FileLock::is_taken(&path).unwrap());
        drop(lock);
        assert!(!FileLock::is_taken(&path).unwrap());
        assert!(FileLock::try_acquire(&path).unwrap().is_some());
        let elsewhere = temp.path().join("link");
        std::os::unix::fs::symlink(&path, &elsewhere).unwrap();
        assert!(FileLock::is_taken(&elsewhere).is_err());
    }

    #[test]
    fn a_lock_on_a_file_that_must_exist_makes_none() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("lock");
        assert!(FileLock::try_acquire_existing(&path).unwrap().is_none());
        assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 0);
        let lock = FileLock::try_acquire(&path).unwrap().unwrap();
        assert!(FileLock::try_acquire_existing(&path).unwrap().is_none());
        drop(lock);
        let lock = FileLock::try_acquire_existing(&path).unwrap();
        assert!(lock.is_some());
        assert!(FileLock::try_acquire(&path).unwrap().is_none());
    }

    #[test]
    fn a_folder_can_be_locked_if_it_is_there() {
        let temp = tempfile::tempdir().unwrap();
        let lock = FileLock::acquire_folder(temp.path()).unwrap().unwrap();
        let again = File::open(temp.path()).unwrap();
        assert!(matches!(again.try_lock(), Err(TryLockError::WouldBlock)));
        drop(lock);
        again.try_lock().unwrap();
        let none = FileLock::acquire_folder(&temp.path().join("none"));
        assert!(none.unwrap().is_none());
        assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_lock_on_a_file_that_was_replaced_excludes_nobody() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("lock");
        let old = FileLock::acquire(&path).unwrap();
        let new = FileLock::replace(&path).unwrap();
        assert!(FileLock::try_acquire(&path).unwrap().is_none());
        drop(old);
        assert!(FileLock::try_acquire(&path).unwrap().is_none());
        drop(new);
        assert!(FileLock::try_acquire(&path).unwrap().is_some());
    }

    #[test]
    fn a_waiter_does_not_end_up_with_a_removed_file() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("state.lock");
        let held = FileLock::acquire(&path).unwrap();
        thread::scope(|scope| {
            let waiter = scope.spawn(|| FileLock::acquire(&path).unwrap());
            let inode = format!(":{} ", fs::metadata(&path).unwrap().ino());
            let waits = |line: &str| line.contains("-> ") && line.contains(&inode);
            while !fs::read_to_string("/proc/locks")
                .unwrap()
                .lines()
                .any(waits)
            {
                thread::sleep(PAUSE);
            }
            fs::remove_file(&path).unwrap();
            drop(held);
            let lock = waiter.join().unwrap();
            assert!(is_at(&lock.file, &path));
        });
    }
}
