//! The threads that a worker leaves alone for a while.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use uwf_protocol::exit::Exit;
use uwf_protocol::ids::ThreadId;

use super::tally::is_skipped;

/// How often a worker looks for finished steps that wait here.
pub(super) const LOOK_HERE: Duration = Duration::from_secs(10);
/// The shortest time between two questions to the remote: for the next thread, or about a thread whose finished step waits here.
pub(super) const PAUSE: Duration = Duration::from_secs(1);
/// How long a worker leaves a thread alone at most on which somebody works here, or whose next attempt is made later.
const BUSY_REST: Duration = Duration::from_secs(10);
/// How long it leaves a thread to others whose step has failed. The time doubles with each further failure.
const REST: Duration = Duration::from_secs(30);
/// The longest of these times.
const LONGEST_REST: Duration = Duration::from_secs(60 * 60);

/// The threads whose steps were not done here.
pub(super) struct Resting {
    threads: HashMap<ThreadId, Rest>,
    /// How long a thread rests whose step was skipped.
    skipped: Duration,
}

/// How the steps of a thread have ended here, and until when the thread rests.
struct Rest {
    /// How often a step has failed.
    failures: u32,
    /// How it failed the last time.
    failed: Option<Exit>,
    /// How the last step ended, also if it was skipped.
    last: Exit,
    until: Instant,
    /// When the worker asks whether the thread is free, if its last step ended with *busy*; `None` if it ended otherwise.
    ask_at: Option<Instant>,
    /// How long it waits after a busy step before it asks. The time doubles with each step that was busy although the thread was free:
    /// then something keeps the step that the worker does not see, such as a slot or a claim of a folder.
    pause: Duration,
}

impl Resting {
    /// A skipped step is tried again before a worker ends that waits for this long.
    pub(super) fn new(idle: Option<Duration>) -> Self {
        let before_end = idle.map_or(BUSY_REST, |idle| idle / 2);
        Self {
            threads: HashMap::new(),
            skipped: BUSY_REST.min(before_end),
        }
    }

    /// A step of a thread has ended here, and was not done.
    pub(super) fn add(&mut self, thread: ThreadId, exit: Exit, now: Instant) {
        let rest = self.threads.entry(thread).or_insert(Rest {
            failures: 0,
            failed: None,
            last: exit,
            until: now,
            ask_at: None,
            pause: PAUSE,
        });
        rest.last = exit;
        rest.ask_at = (exit == Exit::Busy).then(|| now + rest.pause);
        if is_skipped(exit) {
            rest.until = now + self.skipped;
            return;
        }
        rest.failed = Some(exit);
        let doubled = 1 << rest.failures.min(16);
        rest.until = now + (REST * doubled).min(LONGEST_REST);
        rest.failures += 1;
    }

    /// A step of a thread was done.
    pub(super) fn remove(&mut self, thread: ThreadId) {
        self.threads.remove(&thread);
    }

    /// Tells whether a thread still rests.
    pub(super) fn rests(&self, thread: ThreadId, now: Instant) -> bool {
        let rest = self.threads.get(&thread);
        rest.is_some_and(|rest| now < rest.until)
    }

    /// Returns when the worker asks whether a thread is free, if its last step was busy.
    pub(super) fn ask_at(&self, thread: ThreadId) -> Option<Instant> {
        self.threads.get(&thread)?.ask_at
    }

    /// Returns the first of these threads that is free. The worker starts its step.
    ///
    /// # Errors
    /// The first one of a question. No further question is asked: each might wait for the remote as long.
    pub(super) fn first_free<E>(
        &mut self,
        threads: &[ThreadId],
        mut is_free: impl FnMut(ThreadId) -> Result<bool, E>,
    ) -> Result<Option<ThreadId>, E> {
        for thread in threads {
            let is_free = is_free(*thread)?;
            self.answered(*thread, is_free);
            if is_free {
                return Ok(Some(*thread));
            }
        }
        Ok(None)
    }

    fn answered(&mut self, thread: ThreadId, is_free: bool) {
        if let Some(rest) = self.threads.get_mut(&thread) {
            rest.pause = match is_free {
                true => (rest.pause * 2).min(BUSY_REST),
                false => PAUSE,
            };
        }
    }

    /// Returns how the last step of a thread ended.
    pub(super) fn exit(&self, thread: ThreadId) -> Option<Exit> {
        Some(self.threads.get(&thread)?.last)
    }

    /// Returns the threads whose steps have failed, in their order, with how they ended.
    pub(super) fn failed(&self) -> Vec<(ThreadId, Exit)> {
        let rests = self.threads.iter();
        let mut failed: Vec<(ThreadId, Exit)> = rests
            .filter_map(|(thread, rest)| Some((*thread, rest.failed?)))
            .collect();
        failed.sort_unstable_by_key(|(thread, _)| *thread);
        failed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const THREAD: &str = "01J7K9Z000000000000000000A";

    /// Returns after how many seconds the worker asks about a thread whose steps were busy each time, after these answers.
    fn pauses(answers: &[bool]) -> Vec<u64> {
        let (thread, now) = (THREAD.parse().unwrap(), Instant::now());
        let mut resting = Resting::new(None);
        let busy = |resting: &mut Resting| {
            resting.add(thread, Exit::Busy, now);
            (resting.ask_at(thread).unwrap() - now).as_secs()
        };
        let mut pauses = vec![busy(&mut resting)];
        for is_free in answers {
            let found = resting.first_free(&[thread], |_| Ok::<_, ()>(*is_free));
            assert_eq!(found, Ok(is_free.then_some(thread)));
            pauses.push(busy(&mut resting));
        }
        pauses
    }

    #[test]
    fn a_step_that_is_busy_although_its_thread_is_free_is_tried_less_and_less_often() {
        assert_eq!(pauses(&[true; 5]), [1, 2, 4, 8, 10, 10]);
    }

    #[test]
    fn a_thread_on_which_somebody_works_is_asked_about_each_second() {
        assert_eq!(pauses(&[false; 3]), [1; 4]);
        assert_eq!(pauses(&[true, true, false, true]), [1, 2, 4, 1, 2]);
    }

    #[test]
    fn a_remote_that_does_not_answer_is_asked_once() {
        let threads = [THREAD.parse().unwrap(); 3];
        for (answer, questions) in [(Ok(false), 3), (Ok(true), 1), (Err("away"), 1)] {
            let mut asked = 0;
            let found = Resting::new(None).first_free(&threads, |_| {
                asked += 1;
                answer
            });
            assert_eq!(found, answer.map(|is_free| is_free.then_some(threads[0])));
            assert_eq!(asked, questions);
        }
    }

    #[test]
    fn a_step_that_fails_again_rests_for_twice_as_long() {
        let (thread, now) = (THREAD.parse().unwrap(), Instant::now());
        let mut resting = Resting::new(None);
        for seconds in [30, 60, 120] {
            resting.add(thread, Exit::Agent, now);
            assert!(resting.rests(thread, now + Duration::from_secs(seconds - 1)));
            assert!(!resting.rests(thread, now + Duration::from_secs(seconds)));
        }
        assert_eq!(resting.ask_at(thread), None);
        assert_eq!(resting.failed(), [(thread, Exit::Agent)]);
    }

    #[test]
    fn a_skipped_step_is_tried_again_before_the_worker_ends() {
        let (thread, now) = (THREAD.parse().unwrap(), Instant::now());
        for (idle, millis) in [(None, 10_000), (Some(60), 10_000), (Some(3), 1500)] {
            let mut resting = Resting::new(idle.map(Duration::from_secs));
            resting.add(thread, Exit::Busy, now);
            assert!(resting.rests(thread, now + Duration::from_millis(millis - 1)));
            assert!(!resting.rests(thread, now + Duration::from_millis(millis)));
            assert_eq!(resting.failed(), []);
        }
    }

    #[test]
    fn how_the_last_step_ended_is_known_beside_how_one_failed() {
        let (thread, now) = (THREAD.parse().unwrap(), Instant::now());
        let mut resting = Resting::new(None);
        for exit in [Exit::Busy, Exit::Agent, Exit::Suspended, Exit::Busy] {
            resting.add(thread, exit, now);
            assert_eq!(resting.exit(thread), Some(exit));
        }
        assert_eq!(resting.failed(), [(thread, Exit::Agent)]);
    }
}
