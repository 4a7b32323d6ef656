//! Starting a thread: the page with its form, and the acts of that form and of programs.

use std::collections::HashSet;

use axum::http::StatusCode;
use axum::response::Response;
use maud::{Markup, html};
use uwf_engine::{list_workflows, working_directory};
use uwf_protocol::ids::ThreadId;
use uwf_protocol::naming::Labels;
use uwf_util::shell_words;

use crate::acts::carry::{carry, refuse_if_read_only};
use crate::acts::confirm::naming;
use crate::acts::from_form::start;
use crate::acts::notices;
use crate::answer::json_answer;
use crate::asked::Asked;
use crate::audit;
use crate::fields::{Fields, field};
use crate::once::{self, Outcome};
use crate::order::{Carried, Order};
use crate::pages::frame::{Page, Tab};
use crate::pages::missing::{refused_form, refused_page};
use crate::parts::{Said, command, key, thread_address};
use crate::trouble::{Refusal, Trouble};

/// The address of the page.
const ADDRESS: &str = "/new";
/// The value of [`field::THEN`] that does something.
const RUN: &str = "run";

/// The fields of the form.
const FIELDS: [&str; 7] = [
    field::WORKFLOW,
    field::PROMPT,
    field::CWD,
    field::NAME,
    field::LABELS,
    field::WHOLE,
    field::THEN,
];
/// The fields that programs may send.
const DATA: [&str; 5] = [
    field::WORKFLOW,
    field::PROMPT,
    field::CWD,
    field::NAME,
    field::LABELS,
];

/// Returns the fields of the form.
#[expect(
    clippy::unnecessary_wraps,
    reason = "all forms have the same signature"
)]
pub(crate) fn fields(_asked: &Asked) -> Result<&'static [&'static str], Refusal> {
    Ok(&FIELDS)
}

/// Returns the fields that programs may send.
#[expect(
    clippy::unnecessary_wraps,
    reason = "all forms have the same signature"
)]
pub(crate) fn data_fields(_asked: &Asked) -> Result<&'static [&'static str], Refusal> {
    Ok(&DATA)
}

/// Returns the page.
pub(crate) fn page(asked: &Asked) -> Result<Page, Trouble> {
    refuse_if_read_only(asked)?;
    let site = asked.site();
    let cwd = working_directory(site).unwrap_or_default();
    let names = names(asked)?;
    let wanted = asked.query.get(field::WORKFLOW);
    let main = html! {
        div.confirm {
            h1 { "New thread" }
            p { "The task is recorded with the workflow as it is now. A step is done only if you also run it." }
            form.act method="post" action=(ADDRESS) {
                (key(asked))
                (once::field(asked))
                (workflow(&names, wanted))
                label for="prompt" { "Task" }
                textarea #prompt name=(field::PROMPT) rows="8" required {}
                label for="cwd" { "Folder in which the agents work" }
                input #cwd name=(field::CWD) value=(cwd) autocomplete="off" spellcheck="false" required;
                (naming(None, &Labels::new()))
                div.choice {
                    button.main type="submit" name=(field::THEN) value=(RUN) { "Start and run" }
                    button type="submit" name=(field::THEN) value="look" { "Start only" }
                    a.button href="/" { "Not now" }
                }
            }
            section.same {
                h2 { "On the command line" }
                (command(asked, &format!("uwf run {} -p \"…\"", shell_words::quote(wanted.unwrap_or("WORKFLOW")))))
            }
        }
    };
    Ok(Page {
        title: "New thread".to_owned(),
        tab: Tab::None,
        main,
    })
}

/// Returns the names that can be chosen: first the one in the address, which may be a hash, then those of all workflows.
fn names(asked: &Asked) -> Result<Vec<String>, Trouble> {
    let mut seen = HashSet::new();
    let listed = list_workflows(asked.site())?;
    let wanted = asked.query.get(field::WORKFLOW).map(str::to_owned);
    let names = wanted
        .into_iter()
        .chain(listed.into_iter().map(|item| item.name));
    Ok(names.filter(|name| seen.insert(name.clone())).collect())
}

fn workflow(names: &[String], wanted: Option<&str>) -> Markup {
    html! {
        label for="workflow" { "Workflow" }
        @if names.is_empty() {
            p.hint { "No workflow is registered yet: " code { "uwf workflow put FILE" } " does that. A path of a file will do, too." }
            input #workflow name=(field::WORKFLOW) autocomplete="off" spellcheck="false" required;
        } @else {
            select #workflow name=(field::WORKFLOW) required {
                @for name in names {
                    option value=(name) selected[wanted == Some(name)] { (Said(name)) }
                }
            }
        }
    }
}

/// Starts a thread from a page, runs it if the form says so, and leads to it.
pub(crate) fn submit(asked: &Asked, fields: &Fields) -> Outcome {
    let (thread, mut done) = match started(asked, fields) {
        Ok(started) => started,
        Err(refusal) => {
            return Outcome::passing(refused_form(&refusal, ADDRESS, fields));
        }
    };
    let address = thread_address(thread);
    if fields.get(field::THEN) == Some(RUN) {
        let order = Order::of_steps(thread, RUN);
        let run = audit::logged(asked, RUN, Some(thread), || carry(asked, &order));
        match run {
            Ok(run) => done.notices.extend(run.notices),
            Err(refusal) => {
                let why = &refusal.message;
                let message = format!("thread `{thread}` was started, but it cannot be run: {why}");
                let refusal = Refusal { message, ..refusal };
                let page = refused_page(&refusal.back_to(address.clone()));
                return Outcome::done_in_part(page, address);
            }
        }
    }
    notices::outcome(asked, address, done.notices)
}

/// Starts a thread for a program.
pub(crate) fn data(asked: &Asked, fields: &Fields) -> Result<Response, Trouble> {
    let (_, done) = started(asked, fields)?;
    let body = notices::with(done.printed, done.notices);
    Ok(json_answer(StatusCode::CREATED, &body))
}

fn started(asked: &Asked, fields: &Fields) -> Result<(ThreadId, Carried), Refusal> {
    let done = audit::logged(asked, "start", None, || carry(asked, &start(fields)?))?;
    let thread = done.thread().ok_or_else(|| {
        let message = "the command did not say which thread it started";
        Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "bug", message)
    })?;
    Ok((thread, done))
}
