//! The lease of a thread: its lock, and the record of who has it. The lock is two locks of the kernel on files, which end
//! with the processes that have them. The owner's is that of one process alone; the other one is inherited by agents.
//! `docs/architecture.md` says why both are needed.

use std::path::PathBuf;

use uwf_durable::FileLock;
use uwf_protocol::run::LeaseRecord;

use super::records::Records;
use crate::StorageError;

const RECORD: &str = "holder.json";

/// Who works on a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    records: Records,
}

impl Lease {
    pub(super) fn of(records: Records) -> Self {
        Self { records }
    }

    /// Returns the file that is locked by the process that works on the thread, and by no other one.
    fn owner_file(&self) -> PathBuf {
        self.records.file("owner")
    }

    /// Returns the file that is locked while a step runs, also by the processes of its agent. Its path leaves this crate
    /// to find those processes.
    #[must_use]
    pub fn lock_file(&self) -> PathBuf {
        self.records.file("lock")
    }

    /// Takes the lock of the thread, and makes its run directory if needed; `None` when another process, or
    /// a part of this one, has it. Does not wait.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub fn try_acquire(&self) -> Result<Option<ThreadLock>, StorageError> {
        let Some(owner) = FileLock::try_acquire(&self.owner_file())? else {
            return Ok(None);
        };
        let lock = FileLock::try_acquire(&self.lock_file())?;
        Ok(lock.map(|lock| ThreadLock::of(self.clone(), owner, lock)))
    }

    /// Takes the lock of the thread like [`try_acquire`](Self::try_acquire), but does not give up at once: a view
    /// may hold it for an instant to see whether it is free, and that is no reason to send anybody away.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub fn acquire_if_free(&self) -> Result<Option<ThreadLock>, StorageError> {
        Ok(match self.acquire()? {
            Acquired::Lock(lock) => Some(lock),
            Acquired::Orphaned(_) | Acquired::Busy => None,
        })
    }

    /// Takes the lock of the thread like [`acquire_if_free`](Self::acquire_if_free), and tells who has it otherwise.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub fn acquire(&self) -> Result<Acquired, StorageError> {
        let Some(owner) = FileLock::acquire_if_free(&self.owner_file())? else {
            return Ok(Acquired::Busy);
        };
        let lease = self.clone();
        Ok(match FileLock::acquire_if_free(&self.lock_file())? {
            Some(lock) => Acquired::Lock(ThreadLock::of(lease, owner, lock)),
            None => Acquired::Orphaned(Orphaned { lease, owner }),
        })
    }

    /// Tells whether the lock was ever taken: its file is there.
    #[must_use]
    pub fn was_taken(&self) -> bool {
        self.lock_file().is_file()
    }

    /// Tells whether somebody has the lock: an engine, or a process of its agent. This makes no file.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub fn is_held(&self) -> Result<bool, StorageError> {
        // Trying a lock would make its file.
        let was_taken = self.was_taken() || self.owner_file().is_file();
        Ok(was_taken && self.try_acquire()?.is_none())
    }

    /// Returns who runs, or ran, a step; the lock says whether that still holds.
    #[must_use]
    pub fn read_record(&self) -> Option<LeaseRecord> {
        self.records.read(RECORD)
    }

    /// Says who runs a step.
    ///
    /// # Errors
    /// See [`RunDir::create`](crate::RunDir::create).
    pub fn write_record(&self, record: &LeaseRecord) -> Result<(), StorageError> {
        self.records.overwrite(RECORD, record)
    }

    /// Removes the name of who ran a step.
    ///
    /// # Errors
    /// See [`RunDir::create`](crate::RunDir::create).
    pub fn clear_record(&self) -> Result<(), StorageError> {
        self.records.blank(RECORD)
    }
}

/// The right to run a step of one thread.
///
/// [`release`](Self::release) gives it up for every process. Dropping it after it was handed on gives up this process's
/// part only: the thread stays locked until every process that inherited the lock has ended.
#[derive(Debug)]
pub struct ThreadLock {
    lock: FileLock,
    lease: Lease,
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
    lease: Lease,
    owner: FileLock,
}

impl Orphaned {
    /// Takes the lock, if those who had it have ended meanwhile.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub fn retry(self) -> Result<Option<ThreadLock>, StorageError> {
        let lock = FileLock::acquire_if_free(&self.lease.lock_file())?;
        Ok(lock.map(|lock| ThreadLock::of(self.lease, self.owner, lock)))
    }

    /// Takes the lock away from those who have it. The caller knows that their attempt is over.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub fn take_over(self) -> Result<ThreadLock, StorageError> {
        let lock = FileLock::replace(&self.lease.lock_file())?;
        Ok(ThreadLock::of(self.lease, self.owner, lock))
    }
}

impl ThreadLock {
    fn of(lease: Lease, owner: FileLock, lock: FileLock) -> Self {
        Self {
            lock,
            lease,
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
        self.lock = FileLock::replace(&self.lease.lock_file())?;
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

    fn lease() -> (tempfile::TempDir, Lease) {
        let temp = tempfile::tempdir().unwrap();
        let lease = Lease::of(Records::at(temp.path().join("run")));
        (temp, lease)
    }

    fn is_free(lease: &Lease) -> bool {
        lease.try_acquire().unwrap().is_some()
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
    fn handed_on(lease: &Lease) -> (ThreadLock, Child) {
        let mut lock = lease.try_acquire().unwrap().unwrap();
        lock.inherit_on_exec().unwrap();
        (lock, sleeper())
    }

    #[test]
    fn one_holds_the_lock_until_it_lets_go() {
        let (_temp, lease) = lease();
        let lock = lease.try_acquire().unwrap().unwrap();
        assert!(!is_free(&lease));
        lock.release().unwrap();
        assert!(is_free(&lease));
        let lock = lease.try_acquire().unwrap().unwrap();
        drop(lock);
        assert!(is_free(&lease));
    }

    #[test]
    fn other_processes_are_kept_out_by_the_kernel() {
        let (_temp, lease) = lease();
        let lock = lease.try_acquire().unwrap().unwrap();
        assert!(is_locked(&lease.owner_file()) && is_locked(&lease.lock_file()));
        lock.release().unwrap();
        assert!(!is_locked(&lease.owner_file()) && !is_locked(&lease.lock_file()));
    }

    #[test]
    fn a_removed_lock_file_does_no_harm() {
        let (_temp, lease) = lease();
        let old = lease.try_acquire().unwrap().unwrap();
        fs::remove_file(lease.lock_file()).unwrap();
        assert!(!is_free(&lease), "its owner still works");
        fs::remove_file(lease.owner_file()).unwrap();
        let new = lease.try_acquire().unwrap().unwrap();
        drop(old);
        assert!(
            !is_free(&lease),
            "the old holder must not free the new file"
        );
        drop(new);
    }

    #[test]
    fn a_release_frees_the_thread_also_from_those_who_inherited_it() {
        let _alone = alone();
        let (_temp, lease) = lease();
        let (lock, agent) = handed_on(&lease);
        lock.release().unwrap();
        assert!(is_free(&lease));
        end(agent);
    }

    #[test]
    fn a_lock_that_was_handed_on_stays_with_those_who_inherited_it() {
        let _alone = alone();
        let (_temp, lease) = lease();
        let (lock, agent) = handed_on(&lease);
        drop(lock);
        assert!(!is_free(&lease));
        end(agent);
        assert!(is_free(&lease));
    }

    #[test]
    fn a_lock_that_is_taken_over_is_no_longer_that_of_those_who_inherited_it() {
        let _alone = alone();
        let (_temp, lease) = lease();
        let (lock, agent) = handed_on(&lease);
        drop(lock);
        let Acquired::Orphaned(orphaned) = lease.acquire().unwrap() else {
            panic!("the agent has the lock");
        };
        assert!(matches!(lease.acquire().unwrap(), Acquired::Busy));
        let mut lock = orphaned.take_over().unwrap();
        assert!(!is_free(&lease));
        lock.renew().unwrap();
        assert!(!is_free(&lease));
        drop(lock);
        assert!(is_free(&lease));
        end(agent);
        assert!(is_free(&lease));
    }

    #[test]
    fn a_process_gets_no_lock_that_was_not_handed_on() {
        let _alone = alone();
        let (_temp, lease) = lease();
        let lock = lease.try_acquire().unwrap().unwrap();
        let agent = sleeper();
        assert!(!has(&agent, &lease.lock_file()));
        assert!(!has(&agent, &lease.owner_file()));
        end(agent);
        drop(lock);
    }

    #[test]
    fn nobody_inherits_the_lock_of_the_owner() {
        let _alone = alone();
        let (_temp, lease) = lease();
        let mut lock = lease.try_acquire().unwrap().unwrap();
        lock.inherit_on_exec().unwrap();
        for _ in 0..2 {
            let agent = sleeper();
            assert!(has(&agent, &lease.lock_file()));
            assert!(!has(&agent, &lease.owner_file()));
            end(agent);
            lock.renew().unwrap();
        }
        drop(lock);
    }
}
