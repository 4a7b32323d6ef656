//! The forms that a session sent: each is done once.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// How many sent forms a session remembers.
const MOST: usize = 256;

/// What the caller does with a form that was sent.
pub(crate) enum Turn {
    /// It does what the form wants. The claim is the right to do that; a form without a value needs none.
    Own(Option<Claim>),
    /// Nothing: the same form was sent before, and led to this address.
    Done(String),
}

/// The forms that a session sent.
#[derive(Debug, Default)]
pub(crate) struct SentForms {
    /// The digest of each form, and where the form led; `None` while a request works on it.
    sent: Mutex<VecDeque<(u64, Option<String>)>>,
    settled: Notify,
}

impl SentForms {
    /// Claims a form. If another request works on it, this waits until it is done.
    pub(crate) async fn claim(forms: &Arc<Self>, form: u64) -> Turn {
        loop {
            // Registered before the look: a form that is settled between the look and the wait ends the wait.
            let settled = forms.settled.notified();
            if let Some(turn) = Self::try_claim(forms, form) {
                return turn;
            }
            settled.await;
        }
    }

    /// Claims a form; `None` if another request works on it.
    fn try_claim(forms: &Arc<Self>, form: u64) -> Option<Turn> {
        let mut sent = forms.lock();
        if let Some((_, address)) = sent.iter().find(|(other, _)| *other == form) {
            return address.clone().map(Turn::Done);
        }
        sent.push_back((form, None));
        // A form that a request works on is never forgotten.
        if sent.len() > MOST
            && let Some(oldest) = sent.iter().position(|(_, address)| address.is_some())
        {
            sent.remove(oldest);
        }
        Some(Turn::Own(Some(Claim {
            forms: Arc::clone(forms),
            form,
        })))
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<(u64, Option<String>)>> {
        self.sent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The right to do what a form wants. If it is dropped before the form has led anywhere, the form may be sent again.
pub(crate) struct Claim {
    forms: Arc<SentForms>,
    form: u64,
}

impl Claim {
    /// Records where the form led, if it did something.
    pub(crate) fn settle(self, address: Option<String>) {
        let mut sent = self.forms.lock();
        if let Some(own) = sent.iter_mut().find(|(form, _)| *form == self.form) {
            own.1 = address;
        }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let mut sent = self.forms.lock();
        sent.retain(|(form, address)| *form != self.form || address.is_some());
        self.forms.settled.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    fn claim(forms: &Arc<SentForms>, form: u64) -> Claim {
        match SentForms::try_claim(forms, form) {
            Some(Turn::Own(Some(claim))) => claim,
            _ => panic!("the form was sent before"),
        }
    }

    fn is_done(turn: Option<Turn>) -> bool {
        matches!(turn, Some(Turn::Done(address)) if address == "/a")
    }

    #[test]
    fn a_form_is_used_once_and_one_that_did_nothing_again() {
        let forms = Arc::new(SentForms::default());
        drop(claim(&forms, 1));
        claim(&forms, 1).settle(None);
        claim(&forms, 1).settle(Some("/a".to_owned()));
        assert!(is_done(SentForms::try_claim(&forms, 1)));
        for form in 2..2 + MOST as u64 {
            claim(&forms, form).settle(Some("/b".to_owned()));
        }
        // The oldest is forgotten.
        drop(claim(&forms, 1));
        assert!(forms.lock().len() <= MOST);
    }

    #[test]
    fn one_that_comes_meanwhile_waits() {
        let forms = Arc::new(SentForms::default());
        let first = claim(&forms, 1);
        let mut second = pin!(SentForms::claim(&forms, 1));
        let mut waits = Context::from_waker(Waker::noop());
        assert!(second.as_mut().poll(&mut waits).is_pending());
        first.settle(Some("/a".to_owned()));
        match second.poll(&mut waits) {
            Poll::Ready(turn) => assert!(is_done(Some(turn))),
            Poll::Pending => panic!("it still waits"),
        }
    }
}
