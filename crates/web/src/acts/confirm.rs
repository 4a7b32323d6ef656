//! The page that asks before an action: what the action does, what it may cost, its fields, and the command that does the same.

use maud::{Markup, html};
use uwf_engine::{Action, HeldBy, ThreadView};
use uwf_protocol::naming::{Labels, Name};

use crate::acts::from_form::orders;
use crate::asked::Asked;
use crate::fields::{Fields, field};
use crate::once;
use crate::order::Order;
use crate::pages::action_words::about;
use crate::pages::actions::address;
use crate::pages::frame::{Page, Tab};
use crate::parts::{Said, command, key, preformatted, status, task, thread_address};
use crate::trouble::Refusal;

/// Returns a sentence as a paragraph. A name between back quotes becomes bold.
fn sentence(text: &str) -> Markup {
    html! {
        p {
            @for (nth, part) in text.split('`').enumerate() {
                @if nth % 2 == 1 { b { (Said(part)) } } @else { (Said(part)) }
            }
        }
    }
}

/// Returns the page.
pub(super) fn page(asked: &Asked, view: &ThreadView, action: Action) -> Result<Page, Refusal> {
    let about = about(action, view);
    let fields = match is_about_steps(action) {
        true => Fields::parse(&asked.query.with(field::HEAD, Some(view.head.as_str()))),
        false => asked.query.clone(),
    };
    let typed: Vec<String> = orders(action, view, &fields)?
        .iter()
        .map(Order::shown)
        .map(|shown| match action {
            Action::Resume if asks(view) => format!("{shown} -p \"…\""),
            Action::Poke => format!("{shown} -p \"…\""),
            _ => shown,
        })
        .collect();
    let class = match action {
        Action::Kill => "danger",
        _ => "main",
    };
    let back = thread_address(view.thread);
    let main = html! {
        div.confirm {
            p.crumbs {
                a href="/" { "Threads" } span aria-hidden="true" { "/" }
                a.id href=(back) { (view.thread) }
            }
            h1 { (about.title) }
            p.of {
                (status(view.state.status)) " "
                (Said(task(&view.outline)))
            }
            @if let (Action::Resume, Some(message)) = (action, &view.state.suspend_message) {
                section.question { h2 { "What it says" } (preformatted(message)) }
            }
            (sentence(&about.does))
            p.mind { (about.mind) }
            form.act method="post" action=(address(action, view)) {
                (key(asked))
                (once::field(asked))
                @if is_about_steps(action) { input type="hidden" name=(field::HEAD) value=(view.head); }
                (inputs(asked, view, action))
                div.choice {
                    button class=(class) type="submit" { (about.title) }
                    a.button href=(back) { "Not now" }
                }
            }
            @if !typed.is_empty() {
                section.same {
                    h2 { "On the command line" }
                    @for one in &typed { (command(asked, one)) }
                }
            }
        }
    };
    Ok(Page {
        title: about.title.to_owned(),
        tab: Tab::Threads,
        main,
    })
}

/// Tells whether the form of an action has the head that the page showed: after another step, it would do something else.
fn is_about_steps(action: Action) -> bool {
    match action {
        Action::Step | Action::Run | Action::Resume | Action::Poke => true,
        Action::Pause | Action::Unpause | Action::Kill | Action::Fork | Action::Label => false,
    }
}

/// Tells whether no limit, supervisor or failure holds the thread. Then the command to resume is shown with an answer.
fn asks(view: &ThreadView) -> bool {
    view.state.held_by.is_none()
}

/// Returns the inputs of an action.
fn inputs(asked: &Asked, view: &ThreadView, action: Action) -> Markup {
    match action {
        Action::Step => html! {
            label for="count" { "How many steps" }
            input #count type="number" name=(field::COUNT) value="1" min="1" max="1000" required;
        },
        Action::Resume => resume(view),
        Action::Poke => html! {
            label for="prompt" { "What is wrong, or wanted instead" }
            textarea #prompt name=(field::PROMPT) rows="6" {}
            (check("restore", field::RESTORE, "First put back the files that the step found in its git repository"))
        },
        Action::Pause => html! {
            label for="message" { "The reason, which others see (may be empty)" }
            input #message name=(field::MESSAGE) maxlength="500" autocomplete="off";
        },
        Action::Fork => fork(asked, view),
        Action::Label => html! {
            input type="hidden" name=(field::SHOWN) value=(shown(view));
            (naming(view.name.as_ref().map(Name::as_str), &view.labels))
        },
        Action::Run | Action::Unpause | Action::Kill => html! {},
    }
}

fn resume(view: &ThreadView) -> Markup {
    let mut raises: Vec<String> = Vec::new();
    for one in view
        .state
        .reached
        .iter()
        .filter(|one| one.accept.is_empty())
    {
        let text = one.raise.to_string();
        if !raises.contains(&text) {
            raises.push(text);
        }
    }
    let accepts = view.state.reached.iter().find(|one| !one.accept.is_empty());
    let label = match view.state.held_by {
        None if !view.state.status.is_ended() => "Your answer",
        _ => "What to tell the role (may be empty)",
    };
    let may_say = view.state.held_by != Some(HeldBy::Failure);
    html! {
        @for (nth, raise) in raises.iter().enumerate() {
            @let id = format!("raise-{nth}");
            label for=(id) { "Raise the limit to" }
            input id=(id) name=(field::RAISE) value=(raise) autocomplete="off" spellcheck="false";
        }
        @if let Some(one) = accepts {
            @let numbers: Vec<String> = one.accept.iter().map(u64::to_string).collect();
            div.check {
                input #accept type="checkbox" name=(field::ACCEPT) value=(numbers.join(",")) checked;
                label for="accept" { "Accept the unknown usage of the failed attempts " (numbers.join(", ")) }
            }
        }
        @if may_say {
            label for="prompt" { (label) }
            textarea #prompt name=(field::PROMPT) rows="6" autofocus[raises.is_empty()] {}
        }
    }
}

fn fork(asked: &Asked, view: &ThreadView) -> Markup {
    let head = view.head.to_string();
    let step = asked.query.get(field::STEP).unwrap_or(&head);
    html! {
        label for="step" { "At the step, or the start" }
        input #step name=(field::STEP) value=(step) spellcheck="false" autocomplete="off" required;
        label for="name" { "A name for the new thread (may be empty)" }
        input #name name=(field::NAME) maxlength="64" autocomplete="off";
        (check("restore", field::RESTORE, "Put back the files that the step left in its git repository"))
    }
}

/// Returns the name and the labels of a thread as the page shows them, for [`field::SHOWN`]. It is never empty.
fn shown(view: &ThreadView) -> String {
    let name = view.name.as_ref().map_or("", Name::as_str);
    let labels = label_text(&view.labels);
    let fields = [
        (field::WHOLE, "1"),
        (field::NAME, name),
        (field::LABELS, &labels),
    ];
    let fields = fields.map(|(name, value)| (name.to_owned(), value.to_owned()));
    Fields::of(fields).with(field::SHOWN, None)
}

fn label_text(labels: &Labels) -> String {
    let labels = labels.iter().map(|(key, value)| format!("{key}={value}"));
    labels.collect::<Vec<_>>().join(" ")
}

/// Returns the inputs for a name and labels.
pub(super) fn naming(name: Option<&str>, labels: &Labels) -> Markup {
    html! {
        input type="hidden" name=(field::WHOLE) value="1";
        label for="name" { "Name (may be empty)" }
        input #name name=(field::NAME) value=(name.unwrap_or_default()) maxlength="64" autocomplete="off" spellcheck="false";
        label for="labels" { "Labels, as " code { "key=value" } " with spaces between them (may be empty)" }
        input #labels name=(field::LABELS) value=(label_text(labels)) autocomplete="off" spellcheck="false";
    }
}

fn check(id: &str, name: &str, label: &str) -> Markup {
    html! {
        div.check {
            input id=(id) type="checkbox" name=(name) value="1";
            label for=(id) { (label) }
        }
    }
}
