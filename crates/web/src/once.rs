//! Each form of an act has a value that is used once. A form that is sent again, by a double click for example, leads to where the
//! first one led, and does nothing.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::response::Response;
use maud::{Markup, html};
use tokio::sync::Notify;

use crate::answer::see_other;
use crate::asked::Asked;
use crate::fields::Fields;
use crate::guard::Visitor;
use crate::token::Token;

/// The field with the value.
pub(crate) const FIELD: &str = "once";

/// How many sent forms a session remembers.
const MOST: usize = 256;

/// What came of a form.
pub(crate) struct Outcome {
    response: Response,
    address: Option<String>,
}

impl Outcome {
    /// Returns the outcome that leads to another page.
    pub(crate) fn leads(address: String) -> Self {
        Self {
            response: see_other(&address),
            address: Some(address),
        }
    }

    /// Returns the outcome of what was refused, or of what is no form. It may be sent again.
    pub(crate) fn passing(response: Response) -> Self {
        Self {
            response,
            address: None,
        }
    }

    /// Returns the outcome of a form that did something, but not all of it. Sent again, it leads to what it did.
    pub(crate) fn done_in_part(response: Response, address: String) -> Self {
        Self {
            response,
            address: Some(address),
        }
    }

    /// Remembers where the form led, and returns the answer.
    pub(crate) fn settled(self, claim: Option<Claim>) -> Response {
        if let Some(claim) = claim {
            claim.settle(self.address);
        }
        self.response
    }
}

/// Returns the hidden field of a form. A browser does not fill it in again when the page comes back.
pub(crate) fn field(asked: &Asked) -> Markup {
    let random = || asked.site().env.random().ok();
    let value = random()
        .zip(random())
        .map(|bits| Token::of_random([bits.0, bits.1]));
    html! {
        // Without random bits, the form acts each time that it is sent.
        @if let Some(value) = value { input type="hidden" name=(FIELD) value=(value.reveal()) autocomplete="off"; }
    }
}

/// What becomes of a form that was sent.
pub(crate) enum Turn {
    /// The caller does what it wants. The claim is the right to do that; a form without a value needs none.
    Own(Option<Claim>),
    /// The same form was sent before, and led to this address.
    Done(String),
}

/// Claims a form. If the same form is worked on, this waits for its end.
pub(crate) async fn claim(asked: &Asked, fields: &Fields) -> Turn {
    let uses = match &asked.visitor {
        Visitor::Person { session, .. } if fields.get(FIELD).is_some() => {
            asked.app.sessions.uses(session)
        }
        Visitor::Person { .. } | Visitor::Program | Visitor::Stranger => None,
    };
    match uses {
        Some(uses) => Uses::claim(&uses, digest(fields)).await,
        None => Turn::Own(None),
    }
}

/// Returns what tells a form from others: its value, and what somebody filled in. The same form with another text is another wish.
fn digest(fields: &Fields) -> u64 {
    let mut hasher = DefaultHasher::new();
    fields.0.hash(&mut hasher);
    hasher.finish()
}

/// The forms that a session sent.
#[derive(Debug, Default)]
pub(crate) struct Uses {
    /// Each form, and where it led; nothing while it is worked on.
    sent: Mutex<VecDeque<(u64, Option<String>)>>,
    settled: Notify,
}

impl Uses {
    async fn claim(uses: &Arc<Self>, form: u64) -> Turn {
        loop {
            // What is settled after this line is heard, even before the wait begins.
            let settled = uses.settled.notified();
            if let Some(turn) = Self::try_claim(uses, form) {
                return turn;
            }
            settled.await;
        }
    }

    /// Claims a form, unless it is worked on.
    fn try_claim(uses: &Arc<Self>, form: u64) -> Option<Turn> {
        let mut sent = uses.lock();
        if let Some((_, address)) = sent.iter().find(|(other, _)| *other == form) {
            return address.clone().map(Turn::Done);
        }
        sent.push_back((form, None));
        // What is worked on stays known.
        if sent.len() > MOST
            && let Some(oldest) = sent.iter().position(|(_, address)| address.is_some())
        {
            sent.remove(oldest);
        }
        Some(Turn::Own(Some(Claim {
            uses: Arc::clone(uses),
            form,
        })))
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<(u64, Option<String>)>> {
        self.sent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The right to do what a form wants. Dropped, it lets the form be sent again.
pub(crate) struct Claim {
    uses: Arc<Uses>,
    form: u64,
}

impl Claim {
    /// Says where the form led, if it did something.
    fn settle(self, address: Option<String>) {
        let mut sent = self.uses.lock();
        if let Some(own) = sent.iter_mut().find(|(form, _)| *form == self.form) {
            own.1 = address;
        }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let mut sent = self.uses.lock();
        sent.retain(|(form, address)| *form != self.form || address.is_some());
        self.uses.settled.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    fn claim(uses: &Arc<Uses>, form: u64) -> Claim {
        match Uses::try_claim(uses, form) {
            Some(Turn::Own(Some(claim))) => claim,
            _ => panic!("the form was sent before"),
        }
    }

    fn is_done(turn: Option<Turn>) -> bool {
        matches!(turn, Some(Turn::Done(address)) if address == "/a")
    }

    #[test]
    fn a_form_is_used_once_and_one_that_did_nothing_again() {
        let uses = Arc::new(Uses::default());
        drop(claim(&uses, 1));
        claim(&uses, 1).settle(None);
        claim(&uses, 1).settle(Some("/a".to_owned()));
        assert!(is_done(Uses::try_claim(&uses, 1)));
        for form in 2..2 + MOST as u64 {
            claim(&uses, form).settle(Some("/b".to_owned()));
        }
        // The oldest is forgotten.
        drop(claim(&uses, 1));
        assert!(uses.lock().len() <= MOST);
    }

    #[test]
    fn one_that_comes_meanwhile_waits() {
        let uses = Arc::new(Uses::default());
        let first = claim(&uses, 1);
        let mut second = pin!(Uses::claim(&uses, 1));
        let mut waits = Context::from_waker(Waker::noop());
        assert!(second.as_mut().poll(&mut waits).is_pending());
        first.settle(Some("/a".to_owned()));
        match second.poll(&mut waits) {
            Poll::Ready(turn) => assert!(is_done(Some(turn))),
            Poll::Pending => panic!("it still waits"),
        }
    }

    #[test]
    fn another_text_is_another_form() {
        let of = |text: &str| digest(&Fields::parse(text));
        assert_eq!(of("once=a&prompt=x"), of("once=a&prompt=x"));
        assert_ne!(of("once=a&prompt=x"), of("once=a&prompt=y"));
        assert_ne!(of("once=a&prompt=x"), of("once=b&prompt=x"));
    }
}
