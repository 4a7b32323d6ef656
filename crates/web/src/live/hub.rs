//! The listeners, and the one thread that watches the files of the root for all of them. Nothing is watched while there is no
//! listener.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::broadcast::{self, Receiver, Sender};
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_storage::{Root, State, ThreadChange, ThreadWatch};
use uwf_util::causes::causes;

use crate::live::event::Event;

/// How many events a listener may be behind. One that is further behind gets [`Event::Reset`].
const BEHIND: usize = 256;
/// How long the watch waits for changes before it checks again whether there is a listener.
const LOOK: Duration = Duration::from_millis(500);
/// How long the watch waits between two looks at the files, if the kernel does not report changes.
const SLOW_LOOK: Duration = Duration::from_secs(2);
/// How long changes are collected before they are sent: one step changes many files.
const COLLECT: Duration = Duration::from_millis(100);

/// The channel to all listeners, and the state of the watch.
pub(crate) struct Hub {
    events: Sender<Event>,
    is_watching: Mutex<bool>,
    /// The sentence that tells people why pages may be out of date for a while.
    slow: Mutex<Option<String>>,
}

impl Default for Hub {
    fn default() -> Self {
        let (events, _) = broadcast::channel(BEHIND);
        Self {
            events,
            is_watching: Mutex::new(false),
            slow: Mutex::new(None),
        }
    }
}

impl Hub {
    /// Returns a receiver of all events from now on. Starts the watch of the root if it does not run.
    pub(crate) fn listen(self: &Arc<Self>, root: &Root) -> Receiver<Event> {
        let receiver = self.events.subscribe();
        let mut is_watching = lock(&self.is_watching);
        if !*is_watching {
            let (hub, root) = (Arc::clone(self), root.clone());
            let watch = std::thread::Builder::new().name("watch".to_owned());
            let watching = watch.spawn(move || hub.watch(&root));
            *is_watching = watching.is_ok();
            if let Err(error) = watching {
                let why = format!(
                    "the server cannot watch the files ({error}); load the page again to see what is new"
                );
                *lock(&self.slow) = Some(why);
            }
        }
        receiver
    }

    /// Returns why pages may be out of date for a while, if they may.
    pub(crate) fn slow(&self) -> Option<String> {
        lock(&self.slow).clone()
    }

    /// Tells all listeners that the server ends.
    pub(crate) fn end(&self) {
        let _ = self.events.send(Event::Bye);
    }

    /// Wakes all listeners after a session was closed: those of the session end.
    pub(crate) fn session_closed(&self) {
        let _ = self.events.send(Event::LoggedOut);
    }

    /// Watches a root until there is no listener.
    fn watch(&self, root: &Root) {
        let _ends = Watching(self);
        let mut watch = ThreadWatch::of(root);
        // A file that cannot be read now is read after its next change.
        let mut known = heads(root).unwrap_or_default();
        watch.follow(known.keys().copied());
        // A change between the first answer to a listener and this look was not seen.
        let _ = self.events.send(Event::Reset);
        loop {
            {
                let mut is_watching = lock(&self.is_watching);
                if self.events.receiver_count() == 0 {
                    *is_watching = false;
                    return;
                }
            }
            // The limit of the kernel may have been reached by a new thread, so this is decided each time.
            let look = self.pace(&watch);
            let mut changes = watch.wait(look);
            if changes.is_empty() {
                continue;
            }
            std::thread::sleep(COLLECT);
            changes.extend(watch.wait(Duration::ZERO));
            if changes.contains(&ThreadChange::Threads) {
                let Some(now) = heads(root) else {
                    // The state cannot be read. The page tells why when listeners ask for it again.
                    let _ = self.events.send(Event::Reset);
                    continue;
                };
                let new = watch.follow(now.keys().copied());
                changes.extend(new.into_iter().map(ThreadChange::Run));
                for event in events(&changes, &known, &now) {
                    let _ = self.events.send(event);
                }
                known = now;
            } else {
                for event in events(&changes, &known, &known) {
                    let _ = self.events.send(event);
                }
            }
        }
    }

    /// Returns how long the next wait is. Records why it is longer than usual, if it is.
    fn pace(&self, watch: &ThreadWatch) -> Duration {
        let why = watch.why_it_looks().map(|error| {
            let why = std::iter::once(error.to_string()).chain(causes(error));
            let why = why.collect::<Vec<_>>().join(": ");
            format!("the kernel does not report changes ({why}), so the server checks the files every {} seconds; the limits are those of fs.inotify in sysctl", SLOW_LOOK.as_secs())
        });
        let pace = match &why {
            Some(_) => SLOW_LOOK,
            None => LOOK,
        };
        *lock(&self.slow) = why;
        pace
    }
}

/// A running watch. If it panics, the next listener starts another one.
struct Watching<'a>(&'a Hub);

impl Drop for Watching<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            *lock(&self.0.is_watching) = false;
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the heads of the active threads; `None` if they cannot be read.
fn heads(root: &Root) -> Option<HashMap<ThreadId, CasRef>> {
    let heads = State::new(root).heads().ok()?;
    Some(heads.into_iter().collect())
}

/// Returns the events for changes of files, given the heads before and now. Pure.
fn events(
    changes: &HashSet<ThreadChange>,
    before: &HashMap<ThreadId, CasRef>,
    now: &HashMap<ThreadId, CasRef>,
) -> Vec<Event> {
    let mut threads: HashSet<ThreadId> = HashSet::new();
    let mut events = Vec::new();
    if changes.contains(&ThreadChange::Threads) {
        events.push(Event::Threads);
        threads.extend(before.keys().filter(|id| before.get(id) != now.get(id)));
        threads.extend(now.keys().filter(|id| !before.contains_key(id)));
    }
    let runs = changes.iter().filter_map(|change| match change {
        ThreadChange::Run(thread) => Some(*thread),
        ThreadChange::Threads | ThreadChange::Output(_) => None,
    });
    threads.extend(runs);
    let said = changes.iter().filter_map(|change| match change {
        // A listener that gets an event about the thread asks for all of it anyway.
        ThreadChange::Output(thread) if !threads.contains(thread) => Some(Event::Turn(*thread)),
        ThreadChange::Output(_) | ThreadChange::Threads | ThreadChange::Run(_) => None,
    });
    events.extend(said);
    events.extend(
        threads
            .iter()
            .map(|id| Event::Thread(*id, now.get(id).copied())),
    );
    events
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(text: &str) -> CasRef {
        text.parse().unwrap()
    }

    #[test]
    fn changes_are_told_once_for_each_thread() {
        let [a, b, c] = [1, 2, 3].map(|number| ThreadId::new(number, 1));
        let [x, y] = ["0000000000001", "0000000000002"].map(hash);
        let before = HashMap::from([(a, x), (b, x)]);
        let now = HashMap::from([(a, y), (c, x)]);
        let changes = HashSet::from([
            ThreadChange::Threads,
            ThreadChange::Run(a),
            ThreadChange::Output(a),
            ThreadChange::Output(c),
        ]);
        let told = events(&changes, &before, &now);
        assert_eq!(told.len(), 4, "{told:?}");
        for event in [
            Event::Threads,
            Event::Thread(a, Some(y)),
            Event::Thread(b, None),
            Event::Thread(c, Some(x)),
        ] {
            assert!(told.contains(&event), "{event:?}");
        }
        let said = HashSet::from([ThreadChange::Output(a)]);
        assert_eq!(events(&said, &now, &now), [Event::Turn(a)]);
    }

    #[test]
    fn a_watch_that_fails_makes_room_for_another_one() {
        let hub = Hub::default();
        *lock(&hub.is_watching) = true;
        let failed = std::thread::scope(|scope| {
            let watch = scope.spawn(|| {
                let _ends = Watching(&hub);
                panic!("a watch fails");
            });
            watch.join().is_err()
        });
        assert!(failed && !*lock(&hub.is_watching));
        // A watch that ends without a panic has set the flag itself.
        *lock(&hub.is_watching) = true;
        drop(Watching(&hub));
        assert!(*lock(&hub.is_watching));
    }
}
