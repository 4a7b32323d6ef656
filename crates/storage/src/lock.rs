//! Locks between processes: locks of the operating system on files, which end with whoever holds them.
//! What a lock protects is said by those who take it.

use std::fs::{File, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rustix::io::{FdFlags, fcntl_getfd, fcntl_setfd};

use crate::{RunDir, StorageError, files};

/// How often, and how far apart, a held lock is tried.
const TRIES: u32 = 4;
const PAUSE: Duration = Duration::from_millis(5);

/// The right to run a step of one thread.
///
/// It is given up by [`release`](Self::release), by dropping, or by the end of every process that has it:
/// this one, and those that inherited it.
#[derive(Debug)]
pub struct ThreadLock {
    lock: FileLock,
}

impl ThreadLock {
    /// Takes the lock of a thread, and makes its run directory if needed; `None` when another process, or
    /// a part of this one, has it. Does not wait.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub fn try_acquire(run: &RunDir) -> Result<Option<Self>, StorageError> {
        let lock = FileLock::try_acquire(&run.lock_file())?;
        Ok(lock.map(|lock| Self { lock }))
    }

    /// Takes the lock of a thread like [`try_acquire`](Self::try_acquire), but does not give up at once: a view
    /// may hold it for an instant to see whether it is free, and that is no reason to send anybody away.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub fn acquire_if_free(run: &RunDir) -> Result<Option<Self>, StorageError> {
        let lock = FileLock::acquire_if_free(&run.lock_file())?;
        Ok(lock.map(|lock| Self { lock }))
    }

    /// Lets the processes that are started from now on keep the lock, so that the thread stays busy while
    /// an agent outlives the engine.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub fn inherit_on_exec(&self) -> Result<(), StorageError> {
        self.lock.inherit_on_exec()
    }

    /// Gives the lock up, also for those that inherited it.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub fn release(self) -> Result<(), StorageError> {
        self.lock
            .file
            .unlock()
            .map_err(StorageError::io("unlock", &self.lock.path))
    }
}

/// An exclusive lock on a file whose content does not matter.
#[derive(Debug)]
pub(crate) struct FileLock {
    file: File,
    path: PathBuf,
}

impl FileLock {
    /// Takes the lock, and waits for it as long as it takes.
    pub(crate) fn acquire(path: &Path) -> Result<Self, StorageError> {
        loop {
            let file = files::open_lock(path)?;
            match file.lock() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                locked => locked.map_err(StorageError::io("lock", path))?,
            }
            if is_at(&file, path) {
                return Ok(Self::of(file, path));
            }
        }
    }

    /// Takes the lock, unless somebody has it.
    pub(crate) fn try_acquire(path: &Path) -> Result<Option<Self>, StorageError> {
        loop {
            let file = files::open_lock(path)?;
            match file.try_lock() {
                Ok(()) if is_at(&file, path) => return Ok(Some(Self::of(file, path))),
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => {
                    return Err(StorageError::io("lock", path)(error));
                }
            }
        }
    }

    /// Takes the lock, unless somebody has it for longer than an instant.
    pub(crate) fn acquire_if_free(path: &Path) -> Result<Option<Self>, StorageError> {
        for _ in 1..TRIES {
            if let Some(lock) = Self::try_acquire(path)? {
                return Ok(Some(lock));
            }
            thread::sleep(PAUSE);
        }
        Self::try_acquire(path)
    }

    /// Lets the processes that are started from now on keep the lock.
    pub(crate) fn inherit_on_exec(&self) -> Result<(), StorageError> {
        fcntl_getfd(&self.file)
            .and_then(|flags| fcntl_setfd(&self.file, flags - FdFlags::CLOEXEC))
            .map_err(|error| StorageError::io("hand on the lock", &self.path)(error.into()))
    }

    fn of(file: File, path: &Path) -> Self {
        Self {
            file,
            path: path.to_owned(),
        }
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        // Closing is not enough: a child that is just being started may still have the descriptor.
        let _ = self.file.unlock();
    }
}

/// Tells whether the open file is the one at the path. If it was removed meanwhile, others lock a new file
/// of that name, and a lock on the old one keeps nobody out.
fn is_at(file: &File, path: &Path) -> bool {
    let (Ok(open), Ok(named)) = (file.metadata(), path.metadata()) else {
        return false;
    };
    (open.dev(), open.ino()) == (named.dev(), named.ino())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::{Command, Stdio};

    use super::*;

    fn run() -> (tempfile::TempDir, RunDir) {
        let temp = tempfile::tempdir().unwrap();
        let run = RunDir::at(temp.path().join("run"));
        (temp, run)
    }

    fn is_free(run: &RunDir) -> bool {
        ThreadLock::try_acquire(run).unwrap().is_some()
    }

    /// Starts a process that lives until its stdin is closed.
    fn sleeper() -> std::process::Child {
        let mut command = Command::new("cat");
        command.stdin(Stdio::piped()).stdout(Stdio::null());
        command.spawn().unwrap()
    }

    #[test]
    fn one_holds_the_lock_until_it_lets_go() {
        let (_temp, run) = run();
        let lock = ThreadLock::try_acquire(&run).unwrap().unwrap();
        assert!(!is_free(&run));
        lock.release().unwrap();
        assert!(is_free(&run));
        let lock = ThreadLock::try_acquire(&run).unwrap().unwrap();
        drop(lock);
        assert!(is_free(&run));
    }

    #[test]
    fn another_process_is_kept_out() {
        let (_temp, run) = run();
        let lock = ThreadLock::try_acquire(&run).unwrap().unwrap();
        let try_lock = || {
            let mut command = Command::new("flock");
            command.arg("--nonblock").arg(run.lock_file()).arg("true");
            command.status()
        };
        let Ok(while_held) = try_lock() else {
            return; // This machine has no `flock` program; the test above still covers the lock itself.
        };
        assert!(!while_held.success());
        lock.release().unwrap();
        assert!(try_lock().unwrap().success());
    }

    #[test]
    fn a_removed_lock_file_does_no_harm() {
        let (_temp, run) = run();
        let old = ThreadLock::try_acquire(&run).unwrap().unwrap();
        fs::remove_file(run.lock_file()).unwrap();
        let new = ThreadLock::try_acquire(&run).unwrap().unwrap();
        drop(old);
        assert!(!is_free(&run), "the old holder must not free the new file");
        drop(new);
    }

    #[test]
    fn a_waiter_does_not_end_up_with_a_removed_file() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("state.lock");
        let held = FileLock::acquire(&path).unwrap();
        thread::scope(|scope| {
            let waiter = scope.spawn(|| FileLock::acquire(&path).unwrap());
            thread::sleep(Duration::from_millis(50));
            fs::remove_file(&path).unwrap();
            drop(held);
            let lock = waiter.join().unwrap();
            assert!(is_at(&lock.file, &path));
        });
    }

    #[test]
    fn a_release_frees_the_thread_also_from_those_who_inherited_it() {
        let (_temp, run) = run();
        let lock = ThreadLock::try_acquire(&run).unwrap().unwrap();
        lock.inherit_on_exec().unwrap();
        let mut agent = sleeper();
        lock.release().unwrap();
        assert!(is_free(&run));
        drop(agent.stdin.take());
        agent.wait().unwrap();
    }

    #[test]
    fn a_process_gets_no_lock_that_was_not_handed_on() {
        let (_temp, run) = run();
        let lock = ThreadLock::try_acquire(&run).unwrap().unwrap();
        let fds = Command::new("ls").arg("-l").arg("/proc/self/fd").output();
        drop(lock);
        let Ok(fds) = fds else { return };
        let fds = String::from_utf8_lossy(&fds.stdout).into_owned();
        let path = run.lock_file().display().to_string();
        assert!(!fds.contains(&path), "{fds}");
    }
}
