//! Who listens, and the one thread that watches for all of them. Nothing is watched while nobody listens.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::broadcast::{self, Receiver, Sender};
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_storage::{Root, State, ThreadChange, ThreadWatch};

use crate::app::Shared;
use crate::live::event::Event;

/// How many events a listener may be behind. One that is further behind is told to look again.
const BEHIND: usize = 256;
/// How long the watch waits before it sees that nobody listens any more.
const LOOK: Duration = Duration::from_millis(500);
/// How long changes are collected: one step changes many files.
const COLLECT: Duration = Duration::from_millis(100);

/// The listeners.
pub(crate) struct Hub {
    events: Sender<Event>,
    is_watching: Mutex<bool>,
}

impl Default for Hub {
    fn default() -> Self {
        let (events, _) = broadcast::channel(BEHIND);
        Self {
            events,
            is_watching: Mutex::new(false),
        }
    }
}

impl Hub {
    /// Returns what happens from now on.
    pub(crate) fn listen(app: &Shared) -> Receiver<Event> {
        let hub = &app.hub;
        let receiver = hub.events.subscribe();
        let mut is_watching = hub.lock();
        if !*is_watching {
            let app = app.clone();
            let watch = std::thread::Builder::new().name("watch".to_owned());
            // Without the thread, pages still show what is true when they are opened.
            *is_watching = watch.spawn(move || app.hub.watch(&app.site.root)).is_ok();
        }
        receiver
    }

    /// Tells all listeners that the server ends.
    pub(crate) fn end(&self) {
        let _ = self.events.send(Event::Bye);
    }

    /// Watches a root until nobody listens.
    fn watch(&self, root: &Root) {
        let Ok(mut watch) = ThreadWatch::of(root) else {
            *self.lock() = false;
            return;
        };
        let mut known = heads(root);
        watch.follow(known.keys().copied());
        // What happened between the first answer to a listener and this look was not seen.
        let _ = self.events.send(Event::Reset);
        loop {
            {
                let mut is_watching = self.lock();
                if self.events.receiver_count() == 0 {
                    *is_watching = false;
                    return;
                }
            }
            let mut changes = watch.wait(LOOK);
            if changes.is_empty() {
                continue;
            }
            std::thread::sleep(COLLECT);
            changes.extend(watch.wait(Duration::ZERO));
            if changes.contains(&ThreadChange::Threads) {
                let now = heads(root);
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

    fn lock(&self) -> MutexGuard<'_, bool> {
        self.is_watching
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

fn heads(root: &Root) -> HashMap<ThreadId, CasRef> {
    // A file that cannot be read now is read after its next change.
    let heads = State::new(root).heads().unwrap_or_default();
    heads.into_iter().collect()
}

/// Returns what changes mean to listeners. Pure.
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
        // A listener that is told of a changed thread reads all of it.
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
}
