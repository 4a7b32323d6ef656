//! The sessions of visitors: random, in memory only, and forgotten when nobody used them for a while.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::once::Uses;
use crate::token::Token;

/// How long a session may be idle.
const IDLE: Duration = Duration::from_hours(8);
/// How many sessions there are at most. The one that was idle for the longest time makes room.
const MOST: usize = 1000;

/// Of how many commands a session keeps what they said.
const MOST_KEPT: usize = 16;

/// What a browser got when it logged in.
#[derive(Debug, Clone)]
pub(crate) struct Badge {
    /// The value that every form of this session has: a foreign page does not know it.
    pub(crate) form_key: Token,
    /// Which one it is, for logs.
    pub(crate) number: u64,
}

#[derive(Debug)]
struct Session {
    badge: Badge,
    used: Instant,
    /// What commands of this session said, each with its number.
    kept: VecDeque<(u64, Vec<String>)>,
    /// The forms that it sent.
    uses: Arc<Uses>,
}

/// The sessions of a server.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    by_id: Mutex<HashMap<String, Session>>,
    opened: AtomicU64,
    /// How much of what commands said was kept. Each has a number of its own: an address of another session names nothing here.
    said: AtomicU64,
}

impl Sessions {
    /// Opens a session with these random bits, and returns its number.
    pub(crate) fn open(&self, id: &Token, form_key: Token, now: Instant) -> u64 {
        let number = self.opened.fetch_add(1, Ordering::Relaxed) + 1;
        let mut sessions = self.lock();
        sessions.retain(|_, session| !is_over(session, now));
        if sessions.len() >= MOST {
            let oldest = sessions.iter().min_by_key(|(_, session)| session.used);
            if let Some(oldest) = oldest.map(|(id, _)| id.clone()) {
                sessions.remove(&oldest);
            }
        }
        let session = Session {
            badge: Badge { form_key, number },
            used: now,
            kept: VecDeque::new(),
            uses: Arc::default(),
        };
        sessions.insert(id.reveal().to_owned(), session);
        number
    }

    /// Returns what is to be known about a session that is not over, which is used by this.
    pub(crate) fn find(&self, id: &str, now: Instant) -> Option<Badge> {
        let mut sessions = self.lock();
        let session = sessions.get_mut(id)?;
        if is_over(session, now) {
            sessions.remove(id);
            return None;
        }
        session.used = now;
        Some(session.badge.clone())
    }

    /// Tells whether a session is not over. That does not use it.
    pub(crate) fn is_open(&self, id: &str) -> bool {
        let now = Instant::now();
        self.lock()
            .get(id)
            .is_some_and(|session| !is_over(session, now))
    }

    /// Keeps what a command said. Returns its number; nothing if the session has ended.
    pub(crate) fn keep(&self, id: &str, said: Vec<String>) -> Option<u64> {
        let mut sessions = self.lock();
        let kept = &mut sessions.get_mut(id)?.kept;
        let number = self.said.fetch_add(1, Ordering::Relaxed) + 1;
        kept.push_back((number, said));
        if kept.len() > MOST_KEPT {
            kept.pop_front();
        }
        Some(number)
    }

    /// Returns what a command said, if that is still kept.
    pub(crate) fn kept(&self, id: &str, number: u64) -> Vec<String> {
        let sessions = self.lock();
        let mut kept = sessions
            .get(id)
            .into_iter()
            .flat_map(|session| &session.kept);
        let found = kept.find(|(other, _)| *other == number);
        found.map(|(_, said)| said.clone()).unwrap_or_default()
    }

    /// Returns the forms that a session sent; nothing if it has ended.
    pub(crate) fn uses(&self, id: &str) -> Option<Arc<Uses>> {
        self.lock().get(id).map(|session| Arc::clone(&session.uses))
    }

    /// Ends a session.
    pub(crate) fn close(&self, id: &str) {
        self.lock().remove(id);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Session>> {
        self.by_id.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_over(session: &Session, now: Instant) -> bool {
    now.saturating_duration_since(session.used) > IDLE
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opened(sessions: &Sessions, number: u128, now: Instant) -> String {
        let id = Token::of_random([number, 0]);
        sessions.open(&id, Token::of_random([0, number]), now);
        id.reveal().to_owned()
    }

    #[test]
    fn a_session_ends_when_nobody_used_it_and_when_it_is_closed() {
        let sessions = Sessions::default();
        let start = Instant::now();
        let id = opened(&sessions, 1, start);
        assert!(sessions.find(&id, start + IDLE).is_some());
        // The use above counts.
        assert!(sessions.find(&id, start + IDLE * 2).is_some());
        let later = start + IDLE * 3 + Duration::from_secs(1);
        assert!(sessions.find(&id, later).is_none());
        let id = opened(&sessions, 2, start);
        sessions.close(&id);
        assert!(sessions.find(&id, start).is_none());
        assert!(sessions.find("", start).is_none());
    }

    #[test]
    fn what_commands_said_is_of_one_session_and_the_newest_is_kept() {
        let sessions = Sessions::default();
        let start = Instant::now();
        let [id, other] = [1, 2].map(|number| opened(&sessions, number, start));
        let said = |number: u64| vec![number.to_string()];
        for number in 1..=MOST_KEPT as u64 + 1 {
            assert_eq!(sessions.keep(&id, said(number)), Some(number));
        }
        let others = sessions.keep(&other, said(0)).unwrap();
        assert_eq!(
            sessions.kept(&id, others),
            [""; 0],
            "no number is used twice"
        );
        assert_eq!(sessions.kept(&id, 2), said(2));
        assert_eq!(sessions.kept(&id, 1), [""; 0]);
        assert_eq!(sessions.kept(&other, 2), [""; 0]);
        assert_eq!(sessions.keep("", said(1)), None);
    }

    #[test]
    fn the_oldest_makes_room() {
        let sessions = Sessions::default();
        let start = Instant::now();
        let first = opened(&sessions, 0, start);
        let second = opened(&sessions, 1, start + Duration::from_secs(1));
        for number in 2..=MOST as u128 {
            opened(&sessions, number, start + Duration::from_secs(2));
        }
        assert!(sessions.find(&first, start).is_none());
        assert!(sessions.find(&second, start).is_some());
    }
}
