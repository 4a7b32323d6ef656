//! The sessions of visitors. Their ids are random. They are in memory only, and end after a time without use.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::sent_forms::SentForms;
use crate::token::Token;

/// How long a session may be idle.
const IDLE: Duration = Duration::from_hours(8);
/// How many sessions are open at most. A new one replaces the one that was idle for the longest time.
const MOST: usize = 1000;

/// How many commands a session keeps the notices of: those of the newest ones.
const MOST_KEPT: usize = 16;

/// What a handler needs to know about a session.
#[derive(Debug, Clone)]
pub(crate) struct SessionInfo {
    /// The key that every form of this session has. A page of another site does not know it.
    pub(crate) form_key: Token,
    /// The number of the session, for the log. It is not secret.
    pub(crate) number: u64,
}

#[derive(Debug)]
struct Session {
    info: SessionInfo,
    /// When a request last used the session.
    used: Instant,
    /// The notices of commands of this session, each list with its number.
    notices: VecDeque<(u64, Vec<String>)>,
    /// The forms that the session sent.
    sent_forms: Arc<SentForms>,
}

/// The sessions of a server.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    by_id: Mutex<HashMap<String, Session>>,
    /// The number of the newest session.
    opened: AtomicU64,
    /// The number of the newest list of notices. All sessions share these numbers, so the number of one session finds nothing
    /// in another one.
    listed: AtomicU64,
}

impl Sessions {
    /// Opens a session with this id and this key, both random. Returns its number.
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
            info: SessionInfo { form_key, number },
            used: now,
            notices: VecDeque::new(),
            sent_forms: Arc::default(),
        };
        sessions.insert(id.reveal().to_owned(), session);
        number
    }

    /// Returns an open session; `None` if it has ended. This counts as a use of the session.
    pub(crate) fn find(&self, id: &str, now: Instant) -> Option<SessionInfo> {
        let mut sessions = self.lock();
        let session = sessions.get_mut(id)?;
        if is_over(session, now) {
            sessions.remove(id);
            return None;
        }
        session.used = now;
        Some(session.info.clone())
    }

    /// Tells whether a session is open. This does not count as a use.
    pub(crate) fn is_open(&self, id: &str) -> bool {
        let now = Instant::now();
        self.lock()
            .get(id)
            .is_some_and(|session| !is_over(session, now))
    }

    /// Keeps the notices of a command. Returns their number; `None` if the session has ended.
    pub(crate) fn keep_notices(&self, id: &str, notices: Vec<String>) -> Option<u64> {
        let mut sessions = self.lock();
        let kept = &mut sessions.get_mut(id)?.notices;
        let number = self.listed.fetch_add(1, Ordering::Relaxed) + 1;
        kept.push_back((number, notices));
        if kept.len() > MOST_KEPT {
            kept.pop_front();
        }
        Some(number)
    }

    /// Returns the notices with a number; none if they are not kept any more, or belong to another session.
    pub(crate) fn notices(&self, id: &str, number: u64) -> Vec<String> {
        let sessions = self.lock();
        let mut kept = sessions
            .get(id)
            .into_iter()
            .flat_map(|session| &session.notices);
        let found = kept.find(|(other, _)| *other == number);
        found.map(|(_, list)| list.clone()).unwrap_or_default()
    }

    /// Returns the forms that a session sent; `None` if the session has ended.
    pub(crate) fn sent_forms(&self, id: &str) -> Option<Arc<SentForms>> {
        self.lock()
            .get(id)
            .map(|session| Arc::clone(&session.sent_forms))
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
    fn a_session_keeps_its_own_newest_notices() {
        let sessions = Sessions::default();
        let start = Instant::now();
        let [id, other] = [1, 2].map(|number| opened(&sessions, number, start));
        let said = |number: u64| vec![number.to_string()];
        for number in 1..=MOST_KEPT as u64 + 1 {
            assert_eq!(sessions.keep_notices(&id, said(number)), Some(number));
        }
        let others = sessions.keep_notices(&other, said(0)).unwrap();
        assert_eq!(
            sessions.notices(&id, others),
            [""; 0],
            "no number is used twice"
        );
        assert_eq!(sessions.notices(&id, 2), said(2));
        assert_eq!(sessions.notices(&id, 1), [""; 0]);
        assert_eq!(sessions.notices(&other, 2), [""; 0]);
        assert_eq!(sessions.keep_notices("", said(1)), None);
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
