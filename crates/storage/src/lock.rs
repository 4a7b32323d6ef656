//! The lock of a thread: two locks of the kernel on files, which end with the processes that have them. The owner's is
//! that of one process alone; the other one is inherited by agents. `docs/architecture.md` says why both are needed.

use uwf_durable::FileLock;

use crate::{RunDir, StorageError};

/// The right to run a step of one thread.
///
/// [`release`](Self::release) gives it up for every process. Dropping it after it was handed on gives up this process's
/// part only: the thread stays locked until every process that inherited the lock has ended.
#[derive(Debug)]
pub struct ThreadLock {
    lock: FileLock,
    run: RunDir,
    _owner: FileLock,
}

/// What came of asking for the lock of a thread.
#[derive(Debug)]
pub enum Acquired {
    /// It is ours.
    Lock(ThreadLock),
    /// Nobody works on the thread, and nobody else can begin to; but processes of an earlier attempt have the lock.
    Orphaned(Orphaned),
    /// Another process works on the thread.
    Busy,
}

/// A thread that nobody works on, and whose lock processes of an earlier attempt have.
#[derive(Debug)]
pub struct Orphaned {
    run: RunDir,
    owner: FileLock,
}

impl Orphaned {
    /// Takes the lock, if those who had it have ended meanwhile.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub fn retry(self) -> Result<Option<ThreadLock>, StorageError> {
        let lock = FileLock::acquire_if_free(&self.run.lock_file())?;
        Ok(lock.map(|lock| ThreadLock::of(self.run, self.owner, lock)))
    }

    /// Takes the lock away from those who have it. The caller knows that their attempt is over.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub fn take_over(self) -> Result<ThreadLock, StorageError> {
        let lock = FileLock::replace(&self.run.lock_file())?;
        Ok(ThreadLock::of(self.run, self.owner, lock))
    }
}

impl ThreadLock {
    /// Takes the lock of a thread, and makes its run directory if needed; `None` when another process, or
    /// a part of this one, has it. Does not wait.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub fn try_acquire(run: &RunDir) -> Result<Option<Self>, StorageError> {
        let Some(owner) = FileLock::try_acquire(&run.owner_file())? else {
            return Ok(None);
        };
        let lock = FileLock::try_acquire(&run.lock_file())?;
        Ok(lock.map(|lock| Self::of(run.clone(), owner, lock)))
    }

    /// Takes the lock of a thread like [`try_acquire`](Self::try_acquire), but does not give up at once: a view
    /// may hold it for an instant to see whether it is free, and that is no reason to send anybody away.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub fn acquire_if_free(run: &RunDir) -> Result<Option<Self>, StorageError> {
        Ok(match Self::acquire(run)? {
            Acquired::Lock(lock) => Some(lock),
            Acquired::Orphaned(_) | Acquired::Busy => None,
        })
    }

    /// Takes the lock of a thread like [`acquire_if_free`](Self::acquire_if_free), and tells who has it otherwise.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub fn acquire(run: &RunDir) -> Result<Acquired, StorageError> {
        let Some(owner) = FileLock::acquire_if_free(&run.owner_file())? else {
            return Ok(Acquired::Busy);
        };
        let run = run.clone();
        Ok(match FileLock::acquire_if_free(&run.lock_file())? {
            Some(lock) => Acquired::Lock(Self::of(run, owner, lock)),
            None => Acquired::Orphaned(Orphaned { run, owner }),
        })
    }

    fn of(run: RunDir, owner: FileLock, lock: FileLock) -> Self {
        Self {
            lock,
            run,
            _owner: owner,
        }
    }

    /// Lets the processes that are started from now on keep the lock, so that the thread stays busy while
    /// an agent outlives the engine.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub fn inherit_on_exec(&mut self) -> Result<(), StorageError> {
        Ok(self.lock.hand_on()?)
    }

    /// Takes the lock away from the processes that inherited it so far, and keeps it.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub fn renew(&mut self) -> Result<(), StorageError> {
        self.lock = FileLock::replace(&self.run.lock_file())?;
        self.inherit_on_exec()
    }

    /// Gives the lock up, also for those that inherited it.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub fn release(self) -> Result<(), StorageError> {
        Ok(self.lock.release()?)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::{Read, Write};
    use std::os::unix::fs::MetadataExt;
    use std::path::Path;
    use std::process::{Child, Command, Stdio};
    use std::sync::{Mutex, MutexGuard, PoisonError};

    use super::*;

    fn run() -> (tempfile::TempDir, RunDir) {
        let temp = tempfile::tempdir().unwrap();
        let run = RunDir::at(temp.path().join("run"));
        (temp, run)
    }

    fn is_free(run: &RunDir) -> bool {
        ThreadLock::try_acquire(run).unwrap().is_some()
    }

    /// Keeps other tests of this process from starting programs, which would inherit the lock that a test hands on.
    fn alone() -> MutexGuard<'static, ()> {
        static STARTS: Mutex<()> = Mutex::new(());
        STARTS.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a process that lives until its stdin is closed, and returns when it has become its program: only then are
    /// the files closed that it does not inherit.
    fn sleeper() -> Child {
        let mut command = Command::new("cat");
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut sleeper = command.spawn().unwrap();
        let said = sleeper.stdin.as_mut().unwrap().write_all(b"!");
        said.unwrap();
        let heard = sleeper.stdout.as_mut().unwrap().read_exact(&mut [0]);
        heard.unwrap();
        sleeper
    }

    /// Tells whether a process has a descriptor of a file.
    fn has(process: &Child, file: &Path) -> bool {
        let file = file.canonicalize().unwrap();
        let descriptors = fs::read_dir(format!("/proc/{}/fd", process.id())).unwrap();
        let mut open = descriptors.flat_map(|fd| fs::read_link(fd.unwrap().path()));
        open.any(|open| open == file)
    }

    /// Tells whether the kernel has a lock on a file that keeps every other process out.
    fn is_locked(file: &Path) -> bool {
        let inode = format!(":{} ", fs::metadata(file).unwrap().ino());
        let locks = fs::read_to_string("/proc/locks").unwrap();
        let mut locks = locks.lines().filter(|lock| lock.contains(&inode));
        locks.any(|lock| lock.contains("FLOCK") && lock.contains("WRITE"))
    }

    fn end(mut sleeper: Child) {
        drop(sleeper.stdin.take());
        sleeper.wait().unwrap();
    }

    /// Takes the lock, and starts a process that inherits it.
    fn handed_on(run: &RunDir) -> (ThreadLock, Child) {
        let mut lock = ThreadLock::try_acquire(run).unwrap().unwrap();
        lock.inherit_on_exec().unwrap();
        (lock, sleeper())
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
    fn other_processes_are_kept_out_by_the_kernel() {
        let (_temp, run) = run();
        let lock = ThreadLock::try_acquire(&run).unwrap().unwrap();
        assert!(is_locked(&run.owner_file()) && is_locked(&run.lock_file()));
        lock.release().unwrap();
        assert!(!is_locked(&run.owner_file()) && !is_locked(&run.lock_file()));
    }

    #[test]
    fn a_removed_lock_file_does_no_harm() {
        let (_temp, run) = run();
        let old = ThreadLock::try_acquire(&run).unwrap().unwrap();
        fs::remove_file(run.lock_file()).unwrap();
        assert!(!is_free(&run), "its owner still works");
        fs::remove_file(run.owner_file()).unwrap();
        let new = ThreadLock::try_acquire(&run).unwrap().unwrap();
        drop(old);
        assert!(!is_free(&run), "the old holder must not free the new file");
        drop(new);
    }

    #[test]
    fn a_release_frees_the_thread_also_from_those_who_inherited_it() {
        let _alone = alone();
        let (_temp, run) = run();
        let (lock, agent) = handed_on(&run);
        lock.release().unwrap();
        assert!(is_free(&run));
        end(agent);
    }

    #[test]
    fn a_lock_that_was_handed_on_stays_with_those_who_inherited_it() {
        let _alone = alone();
        let (_temp, run) = run();
        let (lock, agent) = handed_on(&run);
        drop(lock);
        assert!(!is_free(&run));
        end(agent);
        assert!(is_free(&run));
    }

    #[test]
    fn a_lock_that_is_taken_over_is_no_longer_that_of_those_who_inherited_it() {
        let _alone = alone();
        let (_temp, run) = run();
        let (lock, agent) = handed_on(&run);
        drop(lock);
        let Acquired::Orphaned(orphaned) = ThreadLock::acquire(&run).unwrap() else {
            panic!("the agent has the lock");
        };
        assert!(matches!(ThreadLock::acquire(&run).unwrap(), Acquired::Busy));
        let mut lock = orphaned.take_over().unwrap();
        assert!(!is_free(&run));
        lock.renew().unwrap();
        assert!(!is_free(&run));
        drop(lock);
        assert!(is_free(&run));
        end(agent);
        assert!(is_free(&run));
    }

    #[test]
    fn a_process_gets_no_lock_that_was_not_handed_on() {
        let _alone = alone();
        let (_temp, run) = run();
        let lock = ThreadLock::try_acquire(&run).unwrap().unwrap();
        let agent = sleeper();
        assert!(!has(&agent, &run.lock_file()));
        assert!(!has(&agent, &run.owner_file()));
        end(agent);
        drop(lock);
    }

    #[test]
    fn nobody_inherits_the_lock_of_the_owner() {
        let _alone = alone();
        let (_temp, run) = run();
        let mut lock = ThreadLock::try_acquire(&run).unwrap().unwrap();
        lock.inherit_on_exec().unwrap();
        for _ in 0..2 {
            let agent = sleeper();
            assert!(has(&agent, &run.lock_file()));
            assert!(!has(&agent, &run.owner_file()));
            end(agent);
            lock.renew().unwrap();
        }
        drop(lock);
    }
}
