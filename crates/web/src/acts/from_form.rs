//! Turns the fields of a form into commands. Pure. A text never becomes an option: ids, names and numbers are parsed, and the text
//! of a person goes to standard input.

use std::str::FromStr;

use axum::http::StatusCode;
use uwf_engine::{Action, ThreadStatus, ThreadView};
use uwf_protocol::ids::CasRef;
use uwf_protocol::limits::Setting;
use uwf_protocol::naming::{Label, LabelChange, Labels, Name};

use crate::fields::{Fields, field};
use crate::order::{Order, TextOption};
use crate::trouble::Refusal;

/// How many steps a form may ask for at most.
const MOST_STEPS: u64 = 1000;

/// Returns the fields that the form of an action may have.
pub(crate) fn fields_of(action: Action) -> &'static [&'static str] {
    match action {
        Action::Step => &[field::HEAD, field::COUNT],
        Action::Run | Action::Kill | Action::Unpause => &[field::HEAD],
        Action::Resume => &[field::HEAD, field::PROMPT, field::RAISE, field::ACCEPT],
        Action::Poke => &[field::HEAD, field::PROMPT, field::RESTORE],
        Action::Pause => &[field::HEAD, field::MESSAGE],
        Action::Fork => &[field::HEAD, field::STEP, field::NAME, field::RESTORE],
        Action::Label => &[field::HEAD, field::NAME, field::LABELS, field::WHOLE],
    }
}

/// Returns the commands that do an action.
///
/// If the fields have a head, a command that does steps or ends the thread gets it as `--head`. The command compares it under the
/// lock of the thread, so the head cannot move between the comparison and the step.
///
/// # Errors
/// When a field has a value that it cannot have.
pub(crate) fn orders(
    action: Action,
    view: &ThreadView,
    fields: &Fields,
) -> Result<Vec<Order>, Refusal> {
    let thread = view.thread;
    let quick = || Order::quick(&["thread", action.as_str(), thread.as_str()]);
    let head = parsed::<CasRef>(fields, field::HEAD)?;
    let head = head.map(|head| format!("--head={head}"));
    let steps = || Order::of_steps(thread, action.as_str()).with_any(head.clone());
    let is_waiting = view.state.status == ThreadStatus::Waiting;
    let said = fields.get(field::PROMPT);
    Ok(match action {
        Action::Step => {
            let count = count(fields)?.map(|count| format!("--count={count}"));
            let now = is_waiting.then(|| "--now".to_owned());
            vec![steps().with_any(count).with_any(now)]
        }
        Action::Run => vec![Order {
            may_wait: is_waiting,
            ..steps()
        }],
        Action::Resume => vec![
            steps()
                .with_any(raised(fields)?)
                .saying(TextOption::Prompt, said),
        ],
        Action::Poke => {
            let restore = restore(fields)?;
            vec![steps().with_any(restore).saying(TextOption::Prompt, said)]
        }
        Action::Pause => vec![quick().saying(TextOption::Message, fields.get(field::MESSAGE))],
        Action::Unpause => vec![quick()],
        Action::Kill => vec![quick().with_any(head)],
        Action::Fork => vec![fork(view, fields)?],
        Action::Label => named(view, fields)?,
    })
}

/// Returns the command that starts a thread.
///
/// # Errors
/// When a field is missing or has a value that it cannot have.
pub(crate) fn start(fields: &Fields) -> Result<Order, Refusal> {
    let missing = |name: &str| wrong(format!("`{name}` is missing"));
    let workflow = fields.get(field::WORKFLOW);
    let workflow = workflow.ok_or_else(|| missing(field::WORKFLOW))?.trim();
    let prompt = fields.get(field::PROMPT);
    let prompt = prompt.ok_or_else(|| missing(field::PROMPT))?;
    let cwd = fields.get(field::CWD).map(|cwd| format!("--cwd={cwd}"));
    let name = parsed::<Name>(fields, field::NAME)?.map(|name| format!("--name={name}"));
    let labels = label_words(fields).map(|text| Ok(format!("--label={}", label(text)?)));
    let labels: Vec<String> = labels.collect::<Result<_, Refusal>>()?;
    Ok(Order::quick(&["thread", "start"])
        .saying(TextOption::Prompt, Some(prompt))
        .with_any(cwd)
        .with_any(name)
        .with_any(labels)
        .with("--")
        .with(workflow))
}

fn fork(view: &ThreadView, fields: &Fields) -> Result<Order, Refusal> {
    let step: CasRef = parsed(fields, field::STEP)?.unwrap_or(view.head);
    let restore = restore(fields)?;
    let name = parsed::<Name>(fields, field::NAME)?.map(|name| format!("--name={name}"));
    let order = Order::quick(&["thread", "fork", step.as_str()]);
    Ok(order.with_any(restore).with_any(name))
}

fn restore(fields: &Fields) -> Result<Option<String>, Refusal> {
    let is_chosen = is_chosen(fields, field::RESTORE)?;
    Ok(is_chosen.then(|| "--restore".to_owned()))
}

/// Tells whether a box was checked. A text such as `false` or `0` is refused.
fn is_chosen(fields: &Fields, name: &str) -> Result<bool, Refusal> {
    match fields.get(name) {
        None => Ok(false),
        Some("1" | "true" | "on") => Ok(true),
        Some(_) => Err(wrong(format!(
            "`{name}` is `1`, `true` or `on`, or it is left out"
        ))),
    }
}

/// Returns the options that raise limits and accept unknown usage.
fn raised(fields: &Fields) -> Result<Vec<String>, Refusal> {
    let mut words = Vec::new();
    for text in fields.all(field::RAISE) {
        let setting: Setting = text
            .trim()
            .parse()
            .map_err(|error| wrong(format!("{error}")))?;
        words.push(format!("--raise={setting}"));
    }
    for text in fields.all(field::ACCEPT) {
        if !text.split(',').all(|number| number.parse::<u64>().is_ok()) {
            return Err(wrong(format!("`{text}` is not a list of attempts")));
        }
        words.push(format!("--accept-unknown={text}"));
    }
    Ok(words)
}

/// Returns the commands that change the name and the labels: none if nothing changes, two if both change.
fn named(view: &ThreadView, fields: &Fields) -> Result<Vec<Order>, Refusal> {
    let thread = view.thread.as_str();
    let is_whole = is_chosen(fields, field::WHOLE)?;
    let name: Option<Name> = parsed(fields, field::NAME)?;
    let shown = shown(view, fields)?;
    let mut orders = Vec::new();
    match &name {
        Some(_) if name == view.name || name == shown.name => {}
        Some(name) => orders.push(Order::quick(&["thread", "rename", thread, name.as_str()])),
        None if is_whole && shown.name.is_some() && view.name.is_some() => {
            orders.push(Order::quick(&["thread", "rename", thread, "--clear"]));
        }
        None => {}
    }
    let changes = label_changes(&view.labels, &shown.labels, fields, is_whole)?;
    if !changes.is_empty() {
        orders.push(Order::quick(&["thread", "label", thread, "--"]).with_any(changes));
    }
    Ok(orders)
}

/// A name and labels, with which those of a form are compared.
struct Shown {
    name: Option<Name>,
    labels: Labels,
}

/// Returns what the page of a form showed. If the form does not say that, it is what the thread has.
fn shown(view: &ThreadView, fields: &Fields) -> Result<Shown, Refusal> {
    let Some(text) = fields.get(field::SHOWN) else {
        return Ok(Shown {
            name: view.name.clone(),
            labels: view.labels.clone(),
        });
    };
    let fields = Fields::parse(text);
    let labels = label_words(&fields).map(|text| label(text).map(|it| (it.key, it.value)));
    Ok(Shown {
        name: parsed(&fields, field::NAME)?,
        labels: labels.collect::<Result<_, Refusal>>()?,
    })
}

fn label(text: &str) -> Result<Label, Refusal> {
    text.parse().map_err(|error| wrong(format!("{error}")))
}

/// Returns what the fields change in the labels that their page showed, as far as the thread does not have it already. So a label
/// that somebody set since then stays, unless the person changed it, too. The texts of the fields count in their order, as the
/// words of the command do: of `a=2 a=1`, the last one counts.
fn label_changes(
    known: &Labels,
    shown: &Labels,
    fields: &Fields,
    is_whole: bool,
) -> Result<Vec<String>, Refusal> {
    let mut wanted = match is_whole {
        true => Labels::new(),
        false => known.clone(),
    };
    for text in label_words(fields) {
        let change: LabelChange = text.parse().map_err(|error| wrong(format!("{error}")))?;
        match change {
            LabelChange::Set(label) => _ = wanted.insert(label.key, label.value),
            LabelChange::Remove(key) => _ = wanted.remove(&key),
        }
    }
    let set = wanted.iter();
    let set = set
        .filter(|(key, value)| known.get(*key) != Some(*value) && shown.get(*key) != Some(*value));
    let gone = shown.iter().filter(|(key, _)| !wanted.contains_key(*key));
    let gone = gone.filter(|(key, _)| known.contains_key(*key));
    let set = set.map(|(key, value)| format!("{key}={value}"));
    Ok(set.chain(gone.map(|(key, _)| format!("{key}-"))).collect())
}

/// Returns the labels of a form, which white space separates.
fn label_words(fields: &Fields) -> impl Iterator<Item = &str> {
    fields
        .all(field::LABELS)
        .flat_map(str::split_ascii_whitespace)
}

fn count(fields: &Fields) -> Result<Option<u64>, Refusal> {
    let count = parsed::<u64>(fields, field::COUNT)?;
    match count {
        Some(count) if !(1..=MOST_STEPS).contains(&count) => Err(wrong(format!(
            "a number of steps from 1 to {MOST_STEPS} is expected"
        ))),
        count => Ok(count),
    }
}

/// Returns the text of a field as a value; `None` if it is blank.
fn parsed<T: FromStr>(fields: &Fields, name: &str) -> Result<Option<T>, Refusal>
where
    T::Err: std::fmt::Display,
{
    let text = fields.get(name).map(str::trim);
    let text = text.filter(|text| !text.is_empty());
    let refused = |error| wrong(format!("the field `{name}`: {error}"));
    let parsed = text.map(|text| text.parse().map_err(refused));
    parsed.transpose()
}

fn wrong(message: String) -> Refusal {
    Refusal::new(StatusCode::BAD_REQUEST, "field", message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(text: &str) -> Fields {
        Fields::parse(text)
    }

    #[test]
    fn no_text_of_a_form_of_a_new_thread_is_an_option() {
        let form = "workflow=--help&prompt=--root%3D%2F&cwd=--x&labels=a%3Db+c%3Dd&name=n";
        let order = start(&fields(form)).unwrap();
        let words: Vec<&str> = order.words.iter().map(String::as_str).collect();
        assert_eq!(
            words,
            [
                "thread",
                "start",
                "--prompt=-",
                "--cwd=--x",
                "--name=n",
                "--label=a=b",
                "--label=c=d",
                "--",
                "--help"
            ]
        );
        assert_eq!(order.input.as_deref(), Some("--root=/"));
        for wrong in [
            "prompt=x",
            "workflow=x",
            "workflow=x&prompt=y&name=--z",
            "workflow=x&prompt=y&labels=z",
        ] {
            let refusal = start(&fields(wrong)).unwrap_err();
            assert_eq!(refusal.status, StatusCode::BAD_REQUEST, "{wrong}");
        }
    }

    #[test]
    fn limits_and_attempts_are_checked_by_their_shape() {
        let words = raised(&fields("raise=maxSteps%3D20&accept=1,2")).unwrap();
        assert_eq!(words, ["--raise=maxSteps=20", "--accept-unknown=1,2"]);
        for wrong in ["raise=--help", "raise=x", "accept=--all", "accept=1,"] {
            assert!(raised(&fields(wrong)).is_err(), "{wrong}");
        }
        assert!(count(&fields("count=0")).is_err());
        assert!(count(&fields("count=--all")).is_err());
        assert!(count(&fields("count=true")).is_err());
        assert_eq!(count(&fields("count=3")).unwrap(), Some(3));
    }
}
