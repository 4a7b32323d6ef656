//! Each form of an act has a value that is used once. A form that is sent again, by a double click for example, leads to where the
//! first one led, and does nothing.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use axum::response::Response;
use maud::{Markup, html};

use crate::answer::see_other;
use crate::asked::Asked;
use crate::fields::Fields;
use crate::guard::Visitor;
use crate::token::Token;
use crate::trouble::Trouble;

/// The field with the value.
pub(crate) const FIELD: &str = "once";

/// How many sent forms a session remembers.
const MOST: usize = 256;

/// What came of a form.
pub(crate) struct Outcome {
    response: Response,
    place: Option<String>,
}

impl Outcome {
    /// Returns the outcome that leads to another page.
    pub(crate) fn leads(place: String) -> Self {
        Self {
            response: see_other(&place),
            place: Some(place),
        }
    }

    /// Returns the outcome of a form that was refused. It may be sent again.
    pub(crate) fn refused(response: Response) -> Self {
        Self {
            response,
            place: None,
        }
    }

    /// Returns the outcome of a form that did something, but not all of it. Sent again, it leads to what it did.
    pub(crate) fn done_in_part(response: Response, place: String) -> Self {
        Self {
            response,
            place: Some(place),
        }
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

/// Does what a form wants, unless the same form did it already. Then this waits for that one, and leads to the same place.
pub(crate) fn once(
    asked: &Asked,
    fields: &Fields,
    act: impl FnOnce() -> Result<Outcome, Trouble>,
) -> Result<Response, Trouble> {
    let uses = match &asked.visitor {
        Visitor::Person { session, .. } if fields.get(FIELD).is_some() => {
            asked.app.sessions.uses(session)
        }
        Visitor::Person { .. } | Visitor::Program | Visitor::Stranger => None,
    };
    let Some(uses) = uses else {
        return Ok(act()?.response);
    };
    match Uses::claim(&uses, digest(fields)) {
        Claimed::Before(place) => Ok(see_other(&place)),
        Claimed::Now(claim) => {
            let outcome = act()?;
            claim.settle(outcome.place);
            Ok(outcome.response)
        }
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
    settled: Condvar,
}

/// Who does what a form wants.
enum Claimed {
    /// The caller.
    Now(Claim),
    /// Another one did, and it led there.
    Before(String),
}

impl Uses {
    fn claim(uses: &Arc<Self>, form: u64) -> Claimed {
        let mut sent = uses.lock();
        loop {
            match sent.iter().find(|(other, _)| *other == form) {
                Some((_, Some(place))) => return Claimed::Before(place.clone()),
                Some((_, None)) => {
                    let waited = uses.settled.wait(sent);
                    sent = waited.unwrap_or_else(PoisonError::into_inner);
                }
                None => break,
            }
        }
        sent.push_back((form, None));
        if sent.len() > MOST {
            sent.pop_front();
        }
        Claimed::Now(Claim {
            uses: Arc::clone(uses),
            form,
        })
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<(u64, Option<String>)>> {
        self.sent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The right to do what a form wants. Dropped, it lets the form be sent again.
struct Claim {
    uses: Arc<Uses>,
    form: u64,
}

impl Claim {
    /// Says where the form led, if it did something.
    fn settle(self, place: Option<String>) {
        let mut sent = self.uses.lock();
        if let Some(own) = sent.iter_mut().find(|(form, _)| *form == self.form) {
            own.1 = place;
        }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let mut sent = self.uses.lock();
        sent.retain(|(form, place)| *form != self.form || place.is_some());
        self.uses.settled.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(uses: &Arc<Uses>, form: u64) -> Option<Claim> {
        match Uses::claim(uses, form) {
            Claimed::Now(claim) => Some(claim),
            Claimed::Before(_) => None,
        }
    }

    #[test]
    fn a_form_is_used_once_and_one_that_did_nothing_again() {
        let uses = Arc::new(Uses::default());
        drop(claim(&uses, 1).unwrap());
        claim(&uses, 1).unwrap().settle(None);
        claim(&uses, 1).unwrap().settle(Some("/a".to_owned()));
        assert!(matches!(Uses::claim(&uses, 1), Claimed::Before(place) if place == "/a"));
        for form in 2..2 + MOST as u64 {
            claim(&uses, form).unwrap().settle(Some("/b".to_owned()));
        }
        assert!(claim(&uses, 1).is_some(), "the oldest is forgotten");
        assert!(uses.lock().len() <= MOST);
    }

    #[test]
    fn one_that_comes_meanwhile_waits() {
        let uses = Arc::new(Uses::default());
        let first = claim(&uses, 1).unwrap();
        std::thread::scope(|scope| {
            let second = scope
                .spawn(|| matches!(Uses::claim(&uses, 1), Claimed::Before(place) if place == "/a"));
            std::thread::sleep(std::time::Duration::from_millis(20));
            first.settle(Some("/a".to_owned()));
            assert!(second.join().unwrap());
        });
    }

    #[test]
    fn another_text_is_another_form() {
        let of = |text: &str| digest(&Fields::parse(text));
        assert_eq!(of("once=a&prompt=x"), of("once=a&prompt=x"));
        assert_ne!(of("once=a&prompt=x"), of("once=a&prompt=y"));
        assert_ne!(of("once=a&prompt=x"), of("once=b&prompt=x"));
    }
}
