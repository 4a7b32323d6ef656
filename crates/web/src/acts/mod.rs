//! The actions of visitors. Each has a page that asks first, and is done by the command that a person would type. So it takes the
//! same locks and is refused for the same reasons.

mod carry;
mod confirm;
mod from_form;
mod notices;
mod start;

use axum::http::StatusCode;
use axum::response::Response;
use serde_json::json;
use uwf_engine::{Action, ThreadView, possible_actions, show};
use uwf_protocol::ids::ThreadId;

use crate::answer::{Data, json_answer};
use crate::asked::Asked;
use crate::audit;
use crate::fields::{Fields, field};
use crate::once::Outcome;
use crate::order::{Carried, Order};
use crate::pages::frame::Page;
use crate::pages::missing::{refused_form, refused_page};
use crate::parts::thread_address;
use crate::trouble::{Refusal, Trouble};
use crate::visitor::Access;

use carry::{carry, refuse_if_read_only};
use from_form::orders;

pub(crate) use start::{
    data as start_data, data_fields as start_data_fields, fields as start_fields,
    page as start_page, submit as start_submit,
};

/// Returns the page that asks before an action.
pub(crate) fn page(asked: &Asked) -> Result<Page, Trouble> {
    refuse_if_read_only(asked)?;
    let action = action(asked)?;
    let view = show(asked.site(), asked.thread()?)?;
    if !possible_actions(&view).contains(&action) {
        let (word, status) = (action.as_str(), view.state.status.as_str());
        let message = format!("`{word}` is not possible now: the thread is {status}");
        let refusal = Refusal::new(StatusCode::CONFLICT, "impossible", message);
        return Err(refusal.back_to(thread_address(view.thread)).into());
    }
    Ok(confirm::page(asked, &view, action)?)
}

/// Returns the fields that the action in the address takes.
pub(crate) fn fields(asked: &Asked) -> Result<&'static [&'static str], Refusal> {
    Ok(from_form::fields_of(action(asked)?))
}

/// Does the action that a page asked about. Leads back to the thread, or to the new one.
pub(crate) fn submit(asked: &Asked, fields: &Fields) -> Outcome {
    let (thread, done) = match act(asked, fields) {
        Ok(done) => done,
        Err(refusal) => {
            let Ok(thread) = asked.thread().map(thread_address) else {
                return Outcome::passing(refused_page(&refusal));
            };
            let form = format!("{thread}/do/{}", asked.part("action"));
            let page = refused_form(&refusal.back_to(thread), &form, fields);
            return Outcome::passing(page);
        }
    };
    // A fork is another thread.
    let thread = done.thread().unwrap_or(thread);
    notices::outcome(asked, thread_address(thread), done.notices)
}

/// Does an action for a program.
pub(crate) fn data(asked: &Asked, fields: &Fields) -> Result<Response, Trouble> {
    let action = action(asked)?;
    let (thread, done) = act(asked, fields)?;
    let (status, printed) = match action {
        Action::Step | Action::Run | Action::Resume | Action::Poke => {
            let goes_on = json!({ "thread": thread, "status": "running" });
            (StatusCode::ACCEPTED, goes_on)
        }
        Action::Fork => (StatusCode::CREATED, done.printed),
        Action::Pause | Action::Unpause | Action::Kill | Action::Label => {
            (StatusCode::OK, done.printed)
        }
    };
    Ok(json_answer(status, &notices::with(printed, done.notices)))
}

/// Returns the actions that are possible now; none if the server is read-only.
pub(crate) fn possible(asked: &Asked) -> Result<Data, Trouble> {
    let view = show(asked.site(), asked.thread()?)?;
    let actions = match asked.app.access {
        Access::ReadOnly => Vec::new(),
        Access::Full => possible_actions(&view),
    };
    let body = json!({ "thread": view.thread, "head": view.head, "actions": actions });
    Ok(Data::of(&body))
}

/// Does an action and logs it. Returns the thread, the data of the last command, and the notices of all.
fn act(asked: &Asked, fields: &Fields) -> Result<(ThreadId, Carried), Refusal> {
    let action = action(asked)?;
    let done = audit::logged(asked, action.as_str(), asked.thread().ok(), || {
        let done = done(asked, action, fields);
        done.map_err(|trouble| trouble.explained(asked.app.explain))
    })?;
    Ok((asked.thread()?, done))
}

fn done(asked: &Asked, action: Action, fields: &Fields) -> Result<Carried, Trouble> {
    let view = show(asked.site(), asked.thread()?)?;
    refuse_stale(&view, fields)?;
    let mut done = Carried::default();
    let mut before: Option<Order> = None;
    for order in orders(action, &view, fields)? {
        let one = carry(asked, &order).map_err(|refusal| refusal.after(before.as_ref()))?;
        before = Some(order);
        done.printed = one.printed;
        done.notices.extend(one.notices);
    }
    Ok(done)
}

/// Refuses to act on a thread whose head is not the one that the page showed.
fn refuse_stale(view: &ThreadView, fields: &Fields) -> Result<(), Refusal> {
    let shown = fields.get(field::HEAD);
    if shown.is_none_or(|head| head == view.head.as_str()) {
        return Ok(());
    }
    let message = "the thread has changed since the page was shown; nothing was done";
    let refusal = Refusal::new(StatusCode::CONFLICT, "changed", message);
    Err(refusal.hint("look at the thread again"))
}

/// Returns the action in the address.
fn action(asked: &Asked) -> Result<Action, Refusal> {
    let found = asked.part("action").parse();
    found.map_err(|_| Refusal::not_found("no action has that name"))
}
