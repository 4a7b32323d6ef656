//! The lease of a thread: its lock, and the record of its holder. The lock consists of two kernel locks on files. The
//! lock on `owner` belongs to one process; agents inherit the lock on `lock`. A kernel lock ends with the last process
//! that has it. `docs/architecture.md` explains why both are needed.

use std::path::PathBuf;

use uwf_durable::FileLock;
use uwf_protocol::run::LeaseRecord;

use super::records::Records;
use crate::StorageError;

const RECORD: &str = "holder.json";

/// The lock of a thread on this machine, and the record of its holder. The lease that a remote gives is another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalLease {
    records: Records,
}

impl LocalLease {
    pub(super) fn of(records: Records) -> Self {
        Self { records }
    }

    /// Returns the file that only the process that works on the thread locks.
    fn owner_file(&self) -> PathBuf {
        self.records.file("owner")
    }

    /// Returns the file that stays locked while the processes of an agent run. Callers use the path only to find these
    /// processes.
    #[must_use]
    pub fn lock_file(&self) -> PathBuf {
        self.records.file("lock")
    }

    /// Takes the lock of the thread without waiting, and makes its run directory if needed. Returns `None` if another
    /// process, or another part of this one, has the lock.
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

    /// Takes the lock of the thread like [`try_acquire`](Self::try_acquire), but tries for a moment: a view takes the lock
    /// for an instant to see whether it is free, and must not make a call fail.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub fn acquire_if_free(&self) -> Result<Option<ThreadLock>, StorageError> {
        Ok(match self.acquire()? {
            LockAttempt::Lock(lock) => Some(lock),
            LockAttempt::Orphaned(_) | LockAttempt::Busy => None,
        })
    }

    /// Takes the lock of the thread like [`acquire_if_free`](Self::acquire_if_free), and otherwise tells whether a process
    /// works on the thread.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub fn acquire(&self) -> Result<LockAttempt, StorageError> {
        let Some(owner) = FileLock::acquire_if_free(&self.owner_file())? else {
            return Ok(LockAttempt::Busy);
        };
        let lease = self.clone();
        Ok(match FileLock::acquire_if_free(&self.lock_file())? {
            Some(lock) => LockAttempt::Lock(ThreadLock::of(lease, owner, lock)),
            None => LockAttempt::Orphaned(Orphaned { lease, owner }),
        })
    }

    /// Tells whether the lock was ever taken, by the presence of its file.
    #[must_use]
    pub fn was_taken(&self) -> bool {
        self.lock_file().is_file()
    }

    /// Tells whether an engine or a process of its agent has the lock. This makes no file, and those who watch the thread hear
    /// nothing of it.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub fn is_held(&self) -> Result<bool, StorageError> {
        Ok(FileLock::is_taken(&self.owner_file())? || FileLock::is_taken(&self.lock_file())?)
    }

    /// Tells whether the thread was worked on and is free now. Then processes that still have its slot or claim are leftovers of
    /// a finished step.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub fn is_left_behind(&self) -> Result<bool, StorageError> {
        Ok(self.was_taken() && !self.is_held()? && self.read_record().is_none())
    }

    /// Returns the lease record. It may be left from a step that has ended; the lock tells whether it is current.
    #[must_use]
    pub fn read_record(&self) -> Option<LeaseRecord> {
        self.records.read(RECORD)
    }

    /// Writes the lease record.
    ///
    /// # Errors
    /// See [`RunDir::create`](crate::RunDir::create).
    pub fn write_record(&self, record: &LeaseRecord) -> Result<(), StorageError> {
        self.records.overwrite(RECORD, record)
    }

    /// Removes the lease record.
    ///
    /// # Errors
    /// See [`RunDir::create`](crate::RunDir::create).
    pub fn clear_record(&self) -> Result<(), StorageError> {
        self.records.blank(RECORD)
    }
}

/// The right to run a step of one thread.
///
/// [`release`](Self::release) gives it up for all processes. Dropping it gives it up for this process only: a process that
/// inherited the lock keeps the thread locked until it ends.
#[derive(Debug)]
pub struct ThreadLock {
    lock: FileLock,
    lease: LocalLease,
    _owner: FileLock,
}

/// The result of [`LocalLease::acquire`].
#[derive(Debug)]
pub enum LockAttempt {
    /// This process has the lock.
    Lock(ThreadLock),
    /// No process works on the thread, and no other one can start to. But processes of an earlier attempt still have the
    /// inherited lock.
    Orphaned(Orphaned),
    /// Another process works on the thread.
    Busy,
}

/// A thread that no process works on, while processes of an earlier attempt still have the inherited lock.
#[derive(Debug)]
pub struct Orphaned {
    lease: LocalLease,
    owner: FileLock,
}

impl Orphaned {
    /// Takes the lock, if the processes that had it have ended meanwhile.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub fn retry(self) -> Result<Option<ThreadLock>, StorageError> {
        let lock = FileLock::acquire_if_free(&self.lease.lock_file())?;
        Ok(lock.map(|lock| ThreadLock::of(self.lease, self.owner, lock)))
    }

    /// Takes the lock away from the processes that have it. The caller must know that their attempt is over.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub fn take_over(self) -> Result<ThreadLock, StorageError> {
        let lock = FileLock::replace(&self.lease.lock_file())?;
        Ok(ThreadLock::of(self.lease, self.owner, lock))
    }
}

impl ThreadLock {
    fn of(lease: LocalLease, owner: FileLock, lock: FileLock) -> Self {
        Self {
            lock,
            lease,
            _owner: owner,
        }
    }

    /// Lets the processes that are started from now on inherit the lock, so that the thread stays busy if an agent
    /// outlives the engine.
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

    /// Gives the lock up, also for the processes that inherited it.
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

    fn lease() -> (tempfile::TempDir, LocalLease) {
        let temp = tempfile::tempdir().unwrap();
        let lease = LocalLease::of(Records::at(temp.path().join("run")));
        (temp, lease)
    }

    fn is_free(lease: &LocalLease) -> bool {
        lease.try_acquire().unwrap().is_some()
    }

    /// Keeps other tests of this process from starting programs. They would inherit the lock of this test.
    fn alone() -> MutexGuard<'static, ()> {
        static STARTS: Mutex<()> = Mutex::new(());
        STARTS.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a process that lives until its stdin is closed. Returns after its `exec`, which closes the files that it does
    /// not inherit.
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
    fn handed_on(lease: &LocalLease) -> (ThreadLock, Child) {
        let mut lock = lease.try_acquire().unwrap().unwrap();
        lock.inherit_on_exec().unwrap();
        (lock, sleeper())
    }

    #[test]
    fn a_lock_is_taken_until_it_is_released_or_dropped() {
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
    fn a_release_frees_the_thread_also_from_the_processes_that_inherited_the_lock() {
        let _alone = alone();
        let (_temp, lease) = lease();
        let (lock, agent) = handed_on(&lease);
        lock.release().unwrap();
        assert!(is_free(&lease));
        end(agent);
    }

    #[test]
    fn an_inherited_lock_lasts_as_long_as_its_process() {
        let _alone = alone();
        let (_temp, lease) = lease();
        let (lock, agent) = handed_on(&lease);
        drop(lock);
        assert!(!is_free(&lease));
        end(agent);
        assert!(is_free(&lease));
    }

    #[test]
    fn a_lock_can_be_taken_over_from_the_processes_that_inherited_it() {
        let _alone = alone();
        let (_temp, lease) = lease();
        let (lock, agent) = handed_on(&lease);
        drop(lock);
        let LockAttempt::Orphaned(orphaned) = lease.acquire().unwrap() else {
            panic!("the agent has the lock");
        };
        assert!(matches!(lease.acquire().unwrap(), LockAttempt::Busy));
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
    fn a_process_inherits_no_lock_unless_it_is_told_to() {
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
