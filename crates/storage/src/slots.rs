//! Slots limit how many agents run at once. A slot is a file that a running thread locks. The agent inherits the lock, as
//! it inherits the lock of the thread, so it counts until its last process has ended.
//!
//! A thread first takes the pool's turn, which is another lock, and looks for a free slot while it has the turn. So a
//! thread that just released its slot cannot overtake one that waits. The caller decides how to wait.

use std::num::NonZeroU32;
use std::path::PathBuf;

use uwf_durable::FileLock;
use uwf_protocol::ids::ThreadId;

use crate::claims::read_thread;
use crate::{Root, StorageError};

/// A set of slots with one limit.
#[derive(Debug)]
pub struct Pool {
    root: Root,
    directory: PathBuf,
    max: u32,
}

/// The right to look for a slot of a pool.
#[derive(Debug)]
pub struct Turn<'a> {
    pool: &'a Pool,
    _lock: FileLock,
}

/// The right to run an agent. It ends when it is dropped, also for the processes that inherited it, or when the last
/// process that has it ends.
#[derive(Debug)]
pub struct Slot {
    _lock: FileLock,
}

/// What came of looking for a slot.
#[derive(Debug)]
pub enum Taken {
    /// A free slot, which this process now has.
    Slot(Slot),
    /// No slot is free. As far as known, the agents of these threads are running.
    Full(Vec<ThreadId>),
}

impl Pool {
    /// Returns the slots for all agents under a root.
    #[must_use]
    pub fn of_root(root: &Root, max: NonZeroU32) -> Self {
        Self::named(root, "all", max)
    }

    /// Returns the slots for one agent of the config.
    #[must_use]
    pub fn of_agent(root: &Root, alias: &str, max: NonZeroU32) -> Self {
        Self::named(root, &format!("agent-{}", file_name(alias)), max)
    }

    fn named(root: &Root, name: &str, max: NonZeroU32) -> Self {
        Self {
            root: root.clone(),
            directory: root.slots_dir().join(name),
            max: max.get(),
        }
    }

    /// Returns how many slots there are.
    #[must_use]
    pub fn max(&self) -> u32 {
        self.max
    }

    /// Takes the turn, unless a waiting thread has it.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub fn turn(&self) -> Result<Option<Turn<'_>>, StorageError> {
        let lock = FileLock::acquire_if_free(&self.directory.join("turn"))?;
        Ok(lock.map(|lock| Turn {
            pool: self,
            _lock: lock,
        }))
    }

    /// Returns the threads that took the slots last. Some of them may have released their slot already.
    #[must_use]
    pub fn holders(&self) -> Vec<ThreadId> {
        (0..self.max).filter_map(|at| self.holder(at)).collect()
    }

    /// Tells whether only leftover processes of a finished step keep the slot.
    ///
    /// A slot of the asking thread is always left behind: the thread asks for one because it has none. A slot of another
    /// thread is left behind if that thread has no owner, no lock and no lease record.
    fn is_left_behind(&self, at: u32, asking: ThreadId) -> Result<bool, StorageError> {
        let Some(thread) = self.holder(at) else {
            return Ok(false);
        };
        if thread == asking {
            return Ok(true);
        }
        self.root.run(thread).lease.is_left_behind()
    }

    fn slot_file(&self, at: u32) -> PathBuf {
        self.directory.join(format!("slot-{at}"))
    }

    fn holder(&self, at: u32) -> Option<ThreadId> {
        read_thread(&self.slot_file(at))
    }
}

impl Turn<'_> {
    /// Takes a free slot for a thread's agent. No other process takes one meanwhile, because this one has the turn.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub fn take(&self, thread: ThreadId) -> Result<Taken, StorageError> {
        let pool = self.pool;
        let mut held = Vec::new();
        let mut free = None;
        let mut at = 0;
        // If the limit was higher before, agents in the additional slots still count.
        while at < pool.max || pool.slot_file(at).exists() {
            let file = pool.slot_file(at);
            let lock = match FileLock::try_acquire(&file)? {
                None if pool.is_left_behind(at, thread)? => Some(FileLock::replace(&file)?),
                tried => tried,
            };
            match lock {
                None => held.push(at),
                Some(lock) => {
                    free.get_or_insert((at, lock));
                }
            }
            at += 1;
        }
        let is_full = held.len() >= pool.max as usize;
        let Some((at, lock)) = free.filter(|_| !is_full) else {
            let holders = held.into_iter().filter_map(|at| pool.holder(at));
            return Ok(Taken::Full(holders.collect()));
        };
        uwf_durable::overwrite(&pool.slot_file(at), thread.as_str().as_bytes())?;
        lock.inherit_on_exec()?;
        Ok(Taken::Slot(Slot { _lock: lock }))
    }
}

/// Returns a file name for an alias. Different aliases have different names.
fn file_name(alias: &str) -> String {
    let mut name = String::new();
    for byte in alias.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => name.push(byte.into()),
            other => name += &format!("%{other:02X}"),
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thread(number: u8) -> ThreadId {
        format!("01J7K9Z00000000000000000{number:02}")
            .parse()
            .unwrap()
    }

    fn pool(root: &Root, max: u32) -> Pool {
        Pool::of_root(root, NonZeroU32::new(max).unwrap())
    }

    fn take(pool: &Pool, number: u8) -> Taken {
        pool.turn().unwrap().unwrap().take(thread(number)).unwrap()
    }

    #[track_caller]
    fn slot(pool: &Pool, number: u8) -> Slot {
        match take(pool, number) {
            Taken::Slot(slot) => slot,
            Taken::Full(holders) => panic!("full: {holders:?}"),
        }
    }

    #[track_caller]
    fn full(pool: &Pool) -> Vec<ThreadId> {
        match take(pool, 99) {
            Taken::Slot(_) => panic!("a slot was free"),
            Taken::Full(holders) => holders,
        }
    }

    #[test]
    fn a_full_pool_names_the_threads_that_have_its_slots() {
        let temp = tempfile::tempdir().unwrap();
        let root = Root::at(temp.path().to_owned());
        let pool = pool(&root, 2);
        let first = slot(&pool, 1);
        let _second = slot(&pool, 2);
        assert_eq!(full(&pool), [thread(1), thread(2)]);
        assert_eq!(pool.holders(), [thread(1), thread(2)]);
        drop(first);
        let _third = slot(&pool, 3);
        assert_eq!(full(&pool), [thread(3), thread(2)]);
    }

    #[test]
    fn an_agent_in_a_slot_beyond_a_lowered_limit_still_counts() {
        let temp = tempfile::tempdir().unwrap();
        let root = Root::at(temp.path().to_owned());
        let before = pool(&root, 3);
        let slots = [slot(&before, 1), slot(&before, 2), slot(&before, 3)];
        let now = pool(&root, 2);
        let [first, _second, third] = slots;
        drop(first);
        assert_eq!(full(&now), [thread(2), thread(3)]);
        drop(third);
        slot(&now, 4);
    }

    #[test]
    fn only_one_has_the_turn() {
        let temp = tempfile::tempdir().unwrap();
        let root = Root::at(temp.path().to_owned());
        let pool = pool(&root, 1);
        let turn = pool.turn().unwrap().unwrap();
        assert!(pool.turn().unwrap().is_none());
        drop(turn);
        assert!(pool.turn().unwrap().is_some());
    }

    #[test]
    fn every_alias_has_a_pool_of_its_own() {
        assert_eq!(file_name("gpt-4_a"), "gpt-4_a");
        assert_eq!(file_name("../x.y"), "%2E%2E%2Fx%2Ey");
        let temp = tempfile::tempdir().unwrap();
        let root = Root::at(temp.path().to_owned());
        let one = NonZeroU32::MIN;
        let _held = slot(&Pool::of_agent(&root, "a.b", one), 1);
        slot(&Pool::of_agent(&root, "a_b", one), 2);
    }
}
