//! One step: what all kinds of steps have. V04, V06 and V19 are here.

use uwf_yaml::{At, Data, Node};

use super::fields::Fields;
use super::names::{check_step_name, secrets};
use super::output::Output;
use super::reader::{Reader, Zone};
use super::values::{entry, misfit, pattern, template, text, whole, word};
use super::work;
use crate::problem::Finding;
use crate::{Code, DependsOn, Equals, Goto, Handlers, Inject, Step, Template, When};

pub(super) const STEP_KEYS: [&str; 21] = [
    "name",
    "agent",
    "command",
    "command_override",
    "provider",
    "provider_params",
    "input_file",
    "output_file",
    "output_capture",
    "allow_parse_error",
    "for_each",
    "wait_for",
    "workflow",
    "env",
    "secrets",
    "when",
    "on",
    "timeout_sec",
    "retries",
    "depends_on",
    "max_visits",
];

/// Reads the steps of a list into the current scope. `at` is the place of the list in messages.
pub(super) fn steps(
    list: Option<&Node>,
    at: At,
    what: &str,
    reader: &mut Reader,
) -> Option<Vec<Step>> {
    let items = match list.map(|node| &node.data) {
        Some(Data::List(items)) if !items.is_empty() => items,
        None | Some(Data::Null | Data::List(_)) => {
            let at = list.map_or(at, |node| node.at);
            reader.problem(at, Code::NoSteps, format!("{what} has no steps"));
            return None;
        }
        Some(_) => {
            misfit(
                list?,
                &format!("`steps` of {what}"),
                "a list of steps",
                reader,
            );
            return None;
        }
    };
    let numbered = items.iter().zip(1..);
    let steps: Vec<Option<Step>> = numbered
        .map(|(node, number)| step(node, number, reader))
        .collect();
    steps.into_iter().collect()
}

fn step(node: &Node, number: usize, reader: &mut Reader) -> Option<Step> {
    let name = node.entry("name");
    let what = match name.and_then(|(_, name)| name.as_written()) {
        Some(name) => format!("step `{name}`"),
        None => format!("step {number}"),
    };
    let fields = Fields::of(node, node.at, &what, &STEP_KEYS, reader)?;
    let name = step_name(&fields, reader);
    let slot = register(name.as_deref(), reader);
    let work = work::work(&fields, name.as_deref().unwrap_or_default(), reader);
    if let Some(slot) = slot {
        let scope = reader.scope;
        reader.scopes[scope].steps[slot].1 = work.as_ref().map_or(Output::Unknown, Output::of);
    }
    let agent = entry(&fields, "agent", reader, text);
    let when = when(&fields, reader);
    let depends_on = depends_on(&fields, reader).unwrap_or_default();
    let secrets = entry(&fields, "secrets", reader, secrets).unwrap_or_default();
    let on = handlers(&fields, reader).unwrap_or_default();
    let max_visits = entry(&fields, "max_visits", reader, |node, what, reader| {
        whole(node, what, 1, u64::MAX, reader)
    });
    Some(Step {
        name: name?,
        agent,
        when,
        depends_on,
        secrets,
        work: work?,
        on,
        max_visits,
    })
}

fn step_name(fields: &Fields<'_>, reader: &mut Reader) -> Option<String> {
    if !fields.has("name") {
        let message = format!("{} has no `name`", fields.what);
        reader.problem(fields.at, Code::BadName, message);
        return None;
    }
    let (_, node) = fields.get("name")?;
    let name = text(node, &fields.name_of("name"), reader)?;
    check_step_name(node.at, &name, fields.has("for_each"), reader);
    let siblings = &reader.scopes[reader.scope].steps;
    if siblings.iter().any(|(other, _)| *other == name) {
        let message = format!("another step of the same list is called `{name}`, too");
        reader.problem(node.at, Code::BadName, message);
    }
    Some(name)
}

/// Adds a step to the current scope before its parts are read: its body sees it. Returns its number there.
fn register(name: Option<&str>, reader: &mut Reader) -> Option<usize> {
    let scope = reader.scope;
    let steps = &mut reader.scopes[scope].steps;
    steps.push((name?.to_owned(), Output::Unknown));
    Some(steps.len() - 1)
}

/// V19: exactly one kind of condition.
fn when(fields: &Fields<'_>, reader: &mut Reader) -> Option<When> {
    let (key, node) = fields.get("when")?;
    let what = fields.name_of("when");
    let kinds = ["equals", "exists", "not_exists"];
    let when = Fields::of(node, key.at, &what, &kinds, reader)?;
    let given: Vec<&str> = kinds.into_iter().filter(|kind| when.has(kind)).collect();
    let [kind] = given[..] else {
        let message = format!("{what} must have exactly one of `{}`", kinds.join("`, `"));
        reader.problem(key.at, Code::BadCondition, message);
        return None;
    };
    match kind {
        "equals" => equals(&when, reader).map(When::Equals),
        "exists" => entry(&when, kind, reader, pattern).map(When::Exists),
        _ => entry(&when, kind, reader, pattern).map(When::NotExists),
    }
}

fn equals(when: &Fields<'_>, reader: &mut Reader) -> Option<Equals> {
    let (key, node) = when.get("equals")?;
    let what = when.name_of("equals");
    let sides = Fields::of(node, key.at, &what, &["left", "right"], reader)?;
    for side in ["left", "right"] {
        if !sides.has(side) {
            let message = format!("{what} has no `{side}`");
            reader.problem(key.at, Code::BadCondition, message);
        }
    }
    let read =
        |node: &Node, what: &str, reader: &mut Reader| template(node, what, Zone::Step, reader);
    let left = entry(&sides, "left", reader, read);
    let right = entry(&sides, "right", reader, read);
    Some(Equals {
        left: left?,
        right: right?,
    })
}

fn handlers(fields: &Fields<'_>, reader: &mut Reader) -> Option<Handlers> {
    let (key, node) = fields.get("on")?;
    let kinds = ["success", "failure", "always"];
    let on = Fields::of(node, key.at, &fields.name_of("on"), &kinds, reader)?;
    let [success, failure, always] = kinds.map(|kind| handler(&on, kind, reader));
    Some(Handlers {
        success,
        failure,
        always,
    })
}

fn handler(on: &Fields<'_>, kind: &str, reader: &mut Reader) -> Option<Goto> {
    let (key, node) = on.get(kind)?;
    let what = on.name_of(kind);
    let handler = Fields::of(node, key.at, &what, &["goto"], reader)?;
    let Some((_, node)) = handler.get("goto") else {
        let message = format!("{what} has no `goto`");
        reader.problem(key.at, Code::WrongType, message);
        return None;
    };
    let goto = Goto::from(text(node, &handler.name_of("goto"), reader)?);
    reader.jump(node.at, &goto);
    Some(goto)
}

const INJECTIONS: [(&str, Inject); 3] = [
    ("none", Inject::None),
    ("list", Inject::List),
    ("content", Inject::Content),
];

fn depends_on(fields: &Fields<'_>, reader: &mut Reader) -> Option<DependsOn> {
    let (key, node) = fields.get("depends_on")?;
    let known = ["required", "optional", "inject"];
    let depends = Fields::of(node, key.at, &fields.name_of("depends_on"), &known, reader)?;
    if let Some((key, _)) = depends.get("inject")
        && !reader.is_newest
    {
        let message = "`inject` needs a later `version` than the file names";
        let hint = "write `version: \"1.1.1\"`";
        reader.report(Finding::new(key.at, Code::LaterVersion, message).hint(hint));
    }
    let inject = entry(&depends, "inject", reader, |node, what, reader| {
        word(node, what, &INJECTIONS, reader)
    });
    Some(DependsOn {
        required: entry(&depends, "required", reader, patterns).unwrap_or_default(),
        optional: entry(&depends, "optional", reader, patterns).unwrap_or_default(),
        inject: inject.unwrap_or_default(),
    })
}

fn patterns(node: &Node, what: &str, reader: &mut Reader) -> Option<Vec<Template>> {
    let Data::List(items) = &node.data else {
        misfit(node, what, "a list of paths", reader);
        return None;
    };
    let what = format!("each element of {what}");
    Some(
        items
            .iter()
            .filter_map(|item| pattern(item, &what, reader))
            .collect(),
    )
}
