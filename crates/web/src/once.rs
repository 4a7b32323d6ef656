//! Each form of an act has a random value, by which the server knows a form that was sent before. A form that is sent again, by a
//! double click for example, does nothing and leads to where it led the first time.

use std::hash::{DefaultHasher, Hash, Hasher};

use axum::response::Response;
use maud::{Markup, html};

use crate::answer::see_other;
use crate::asked::Asked;
use crate::fields::Fields;
use crate::sent_forms::{Claim, SentForms, Turn};
use crate::token::Token;
use crate::visitor::Visitor;

/// The field with the value.
pub(crate) const FIELD: &str = "once";

/// The result of a form: the answer, and where the form leads if it is sent again.
pub(crate) struct Outcome {
    response: Response,
    address: Option<String>,
}

impl Outcome {
    /// Returns the outcome of a form that was done: it leads to another page.
    pub(crate) fn leads(address: String) -> Self {
        Self {
            response: see_other(&address),
            address: Some(address),
        }
    }

    /// Returns the outcome of a form that was refused, or of a request without a form. It may be sent again.
    pub(crate) fn passing(response: Response) -> Self {
        Self {
            response,
            address: None,
        }
    }

    /// Returns the outcome of a form that did only a part of what it wants. If it is sent again, it leads to that part.
    pub(crate) fn done_in_part(response: Response, address: String) -> Self {
        Self {
            response,
            address: Some(address),
        }
    }

    /// Records where the form led, and returns the answer.
    pub(crate) fn settled(self, claim: Option<Claim>) -> Response {
        if let Some(claim) = claim {
            claim.settle(self.address);
        }
        self.response
    }
}

/// Returns the hidden field of a form. When a page is loaded again, the browser uses the new value, not the old one.
pub(crate) fn field(asked: &Asked) -> Markup {
    let random = || asked.site().env.random().ok();
    let value = random()
        .zip(random())
        .map(|bits| Token::of_random([bits.0, bits.1]));
    html! {
        // Without random bits there is no value, and the form acts each time that it is sent.
        @if let Some(value) = value { input type="hidden" name=(FIELD) value=(value.reveal()) autocomplete="off"; }
    }
}

/// Claims a form. If another request works on the same form, this waits until it is done.
pub(crate) async fn claim(asked: &Asked, fields: &Fields) -> Turn {
    let sent = match &asked.visitor {
        Visitor::Person { session, .. } if fields.get(FIELD).is_some() => {
            asked.app.sessions.sent_forms(session)
        }
        Visitor::Person { .. } | Visitor::Program | Visitor::Stranger => None,
    };
    match sent {
        Some(sent) => SentForms::claim(&sent, digest(fields)).await,
        None => Turn::Own(None),
    }
}

/// Returns a digest of all fields of a form. The same page with other texts is another form.
fn digest(fields: &Fields) -> u64 {
    let mut hasher = DefaultHasher::new();
    fields.0.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_text_is_another_form() {
        let of = |text: &str| digest(&Fields::parse(text));
        assert_eq!(of("once=a&prompt=x"), of("once=a&prompt=x"));
        assert_ne!(of("once=a&prompt=x"), of("once=a&prompt=y"));
        assert_ne!(of("once=a&prompt=x"), of("once=b&prompt=x"));
    }
}
