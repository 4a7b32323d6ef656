//! What a step does: a program, a wait, a loop, or a workflow. V06, V14, V15 and V17 are here.

use std::collections::BTreeMap;

use uwf_yaml::{Data, Key, Node};

use super::fields::{Fields, entries};
use super::literals::warn_of_env;
use super::names::{LONGEST_INDEX, check_alias};
use super::providers::Call;
use super::reader::{Reader, Zone};
use super::scope::{ITEM, Scope, UseOf, parse_pointer};
use super::step::steps;
use super::values::{
    boolean, command, entry, misfit, path, pattern, seconds, text, tree, tree_map, whole, word,
};
use super::workflow::workflow;
use crate::problem::Finding;
use crate::template::Template;
use crate::{
    Capture, Code, ForEach, Items, OnItemComplete, Program, Reference, Retries, Run, Wait, Work,
};

/// The keys that say what a step does.
const KINDS: [&str; 6] = [
    "command",
    "provider",
    "command_override",
    "wait_for",
    "for_each",
    "workflow",
];
/// The keys that only programs obey.
const PROGRAM_KEYS: [&str; 6] = [
    "input_file",
    "output_file",
    "output_capture",
    "env",
    "retries",
    "provider_params",
];
/// Why a key of prompts has no effect.
const CALLS_NO_PROVIDER: &str = "calls no provider";
/// How deep loops may be nested.
const MAX_LOOPS: usize = 8;
/// How often an attempt may be repeated.
const MAX_RETRIES: u64 = 100;
/// The longest time in milliseconds: 31 days.
const MAX_MS: u64 = 31 * 24 * 3600 * 1000;

/// Reads what a step does.
pub(super) fn work(fields: &Fields<'_>, name: &str, reader: &mut Reader) -> Option<Work> {
    let given: Vec<&str> = KINDS.into_iter().filter(|kind| fields.has(kind)).collect();
    match given[..] {
        ["wait_for"] => {
            warn_of_program_keys(fields, reader);
            wait(fields, reader).map(Work::WaitFor)
        }
        ["for_each"] => {
            warn_of_program_keys(fields, reader);
            for_each(fields, name, reader).map(Work::ForEach)
        }
        ["workflow"] => {
            warn_of_injection(fields, reader);
            workflow(fields, reader).map(Work::Workflow)
        }
        [_] | ["provider", "command_override"] => {
            run(fields, reader).map(|run| Work::Run(Box::new(run)))
        }
        [] => {
            let message = format!("{} does nothing", fields.what);
            let hint = format!("give it one of `{}`", KINDS.join("`, `"));
            reader.report(Finding::new(fields.at, Code::Exclusion, message).hint(hint));
            None
        }
        [first, .., second] => {
            let at = fields.get(second).map_or(fields.at, |(key, _)| key.at);
            let message = format!("{} has both `{first}` and `{second}`", fields.what);
            let hint = "a step does one thing";
            reader.report(Finding::new(at, Code::Exclusion, message).hint(hint));
            None
        }
    }
}

/// Reports the keys of a step that runs no program: V06 for a time limit, and a warning for what has no effect.
fn warn_of_program_keys(fields: &Fields<'_>, reader: &mut Reader) {
    for key in ["timeout_sec", "allow_parse_error"] {
        if let Some((key, _)) = fields.get(key) {
            let message = format!(
                "{} runs no program, so it has no `{}`",
                fields.what, key.text
            );
            reader.problem(key.at, Code::Exclusion, message);
        }
    }
    warn_of_idle(&PROGRAM_KEYS, "runs no program", fields, reader);
    warn_of_injection(fields, reader);
}

/// Warns of `inject` in a step that gets no prompt.
fn warn_of_injection(fields: &Fields<'_>, reader: &mut Reader) {
    if let Some((key, _)) = injection(fields) {
        let message = format!(
            "`inject` has no effect: {} {CALLS_NO_PROVIDER}",
            fields.what
        );
        reader.problem(key.at, Code::NoEffect, message);
    }
}

/// Returns the `inject` of a step that asks for something to be put before its prompt.
fn injection<'t>(fields: &Fields<'t>) -> Option<(&'t Key, &'t Node)> {
    let (_, depends_on) = fields.get("depends_on")?;
    let inject = depends_on.entry("inject")?;
    (inject.1.as_written() != Some("none")).then_some(inject)
}

/// Tells whether the prompt of a step names files that the step depends on.
fn injects(fields: &Fields<'_>) -> bool {
    let has_files = |kind: &str| {
        let files = fields
            .get("depends_on")
            .and_then(|(_, node)| node.entry(kind));
        matches!(files, Some((_, Node { data: Data::List(files), .. })) if !files.is_empty())
    };
    injection(fields).is_some() && (has_files("required") || has_files("optional"))
}

fn warn_of_idle(keys: &[&str], why: &str, fields: &Fields<'_>, reader: &mut Reader) {
    for (key, _) in keys.iter().filter_map(|key| fields.get(key)) {
        let message = format!("`{}` has no effect: {} {why}", key.text, fields.what);
        reader.problem(key.at, Code::NoEffect, message);
    }
}

fn run(fields: &Fields<'_>, reader: &mut Reader) -> Option<Run> {
    let program = program(fields, reader);
    if fields.has("command") {
        let keys = ["input_file", "provider_params"];
        warn_of_idle(&keys, CALLS_NO_PROVIDER, fields, reader);
        warn_of_injection(fields, reader);
    }
    let input_file = entry(fields, "input_file", reader, path);
    let output_file = entry(fields, "output_file", reader, path);
    let capture = capture(fields, reader);
    let env = env(fields, reader).unwrap_or_default();
    let timeout_ms = entry(fields, "timeout_sec", reader, seconds);
    let retries = entry(fields, "retries", reader, retries);
    Some(Run {
        program: program?,
        input_file,
        output_file,
        capture: capture?,
        env,
        timeout_ms,
        retries,
    })
}

/// Reads the variables of the environment that a step sets.
fn env(fields: &Fields<'_>, reader: &mut Reader) -> Option<BTreeMap<String, String>> {
    let (_, node) = fields.get("env")?;
    let what = fields.name_of("env");
    let secrets = fields.get("secrets").map(|(_, node)| &node.data);
    let secrets = match secrets {
        Some(Data::List(names)) => names.iter().filter_map(Node::as_written).collect(),
        _ => Vec::new(),
    };
    let members = entries(node, &what, reader)?.iter();
    let members = members.filter_map(|(key, value)| {
        let name = &key.text;
        if name.is_empty() || name.contains(['=', '\0']) {
            let message = format!("`{name}` cannot name a variable of the environment");
            reader.problem(key.at, Code::BadName, message);
        }
        warn_of_env(key, value, &secrets, reader);
        let text = text(value, &format!("`{name}` of {what}"), reader)?;
        Some((name.clone(), text))
    });
    Some(members.collect())
}

fn program(fields: &Fields<'_>, reader: &mut Reader) -> Option<Program> {
    let params = entry(fields, "provider_params", reader, |node, what, reader| {
        tree_map(node, what, Zone::Step, reader)
    });
    if fields.has("command") {
        let read =
            |node: &Node, what: &str, reader: &mut Reader| command(node, what, Zone::Step, reader);
        return entry(fields, "command", reader, read).map(Program::Command);
    }
    let provider = entry(fields, "provider", reader, text);
    let argv = entry(fields, "command_override", reader, |node, what, reader| {
        command(node, what, Zone::Override, reader)
    });
    if let (Some((_, node)), Some(name)) = (fields.get("provider"), &provider) {
        reader.calls.push(Call {
            at: node.at,
            provider: name.clone(),
            has_input: fields.has("input_file") || injects(fields),
            argv: argv.as_ref().map(|argv| names_prompt(argv)),
        });
    }
    let params = params.unwrap_or_default();
    let Some((key, _)) = fields.get("command_override") else {
        let name = provider?;
        return Some(Program::Provider { name, params });
    };
    let message = "`command_override` is deprecated";
    let hint = "write `command`, which does the same";
    reader.report(Finding::new(key.at, Code::Override, message).hint(hint));
    Some(Program::CommandOverride {
        argv: argv?,
        provider,
        params,
    })
}

/// Tells whether the words of a command say `${PROMPT}`.
pub(super) fn names_prompt(argv: &[Template]) -> bool {
    let mut references = argv.iter().flat_map(Template::references);
    references.any(|(_, reference)| *reference == Reference::Prompt)
}

/// The words of `output_capture`.
pub(super) const CAPTURES: [(&str, Capture); 3] = [
    ("text", Capture::Text),
    ("lines", Capture::Lines),
    (
        "json",
        Capture::Json {
            allow_parse_error: false,
        },
    ),
];

fn capture(fields: &Fields<'_>, reader: &mut Reader) -> Option<Capture> {
    let mode = match fields.get("output_capture") {
        Some((_, node)) => word(node, &fields.name_of("output_capture"), &CAPTURES, reader),
        None => Some(Capture::Text),
    };
    let Some((key, node)) = fields.get("allow_parse_error") else {
        return mode;
    };
    let allow_parse_error = boolean(node, &fields.name_of("allow_parse_error"), reader)?;
    if allow_parse_error && matches!(mode, Some(Capture::Text | Capture::Lines)) {
        let message = "`allow_parse_error: true` needs `output_capture: json`";
        reader.problem(key.at, Code::Exclusion, message);
    }
    match mode? {
        Capture::Json { .. } => Some(Capture::Json { allow_parse_error }),
        other => Some(other),
    }
}

fn retries(node: &Node, what: &str, reader: &mut Reader) -> Option<Retries> {
    let delay_ms = 1000;
    if matches!(node.data, Data::Number(_)) {
        let max = whole(node, what, 0, MAX_RETRIES, reader)?;
        return Some(Retries { max, delay_ms });
    }
    let fields = Fields::of(node, node.at, what, &["max", "delay_ms"], reader)?;
    if !fields.has("max") {
        reader.problem(node.at, Code::WrongType, format!("{what} has no `max`"));
    }
    let max = entry(&fields, "max", reader, |node, what, reader| {
        whole(node, what, 0, MAX_RETRIES, reader)
    });
    let delay = entry(&fields, "delay_ms", reader, |node, what, reader| {
        whole(node, what, 0, MAX_MS, reader)
    });
    Some(Retries {
        max: max?,
        delay_ms: delay.unwrap_or(delay_ms),
    })
}

fn wait(fields: &Fields<'_>, reader: &mut Reader) -> Option<Wait> {
    let (key, node) = fields.get("wait_for")?;
    let what = fields.name_of("wait_for");
    let known = ["glob", "timeout_sec", "poll_ms", "min_count"];
    let wait = Fields::of(node, key.at, &what, &known, reader)?;
    if !wait.has("glob") {
        reader.problem(key.at, Code::WrongType, format!("{what} has no `glob`"));
    }
    let glob = entry(&wait, "glob", reader, pattern);
    let timeout_ms = entry(&wait, "timeout_sec", reader, seconds);
    let poll_ms = entry(&wait, "poll_ms", reader, |node, what, reader| {
        whole(node, what, 10, MAX_MS, reader)
    });
    let min_count = entry(&wait, "min_count", reader, |node, what, reader| {
        whole(node, what, 1, u64::MAX, reader)
    });
    Some(Wait {
        glob: glob?,
        timeout_ms: timeout_ms.unwrap_or(300_000),
        poll_ms: poll_ms.unwrap_or(500),
        min_count: min_count.unwrap_or(1),
    })
}

fn for_each(fields: &Fields<'_>, name: &str, reader: &mut Reader) -> Option<ForEach> {
    let (key, node) = fields.get("for_each")?;
    let what = fields.name_of("for_each");
    let known = ["items_from", "items", "as", "steps", "on_item_complete"];
    let each = Fields::of(node, key.at, &what, &known, reader)?;
    let items = items(&each, reader);
    let alias = match each.get("as") {
        Some((_, node)) => {
            let alias = text(node, &each.name_of("as"), reader);
            if let Some(alias) = &alias {
                check_alias(node.at, alias, reader);
            }
            alias
        }
        None => Some(ITEM.to_owned()),
    };
    let outer = reader.scope;
    let scope = Scope {
        parent: Some(outer),
        alias: Some(alias.clone().unwrap_or_default()),
        key_bytes: reader.scopes[outer].key_bytes + name.len() + LONGEST_INDEX.len() + 1,
        steps: Vec::new(),
    };
    reader.scopes.push(scope);
    reader.scope = reader.scopes.len() - 1;
    // The file of an item is moved by what its body knows.
    let on_item_complete = on_item_complete(&each, reader);
    if depth(reader) > MAX_LOOPS {
        let message = format!("loops are nested more than {MAX_LOOPS} deep");
        reader.problem(key.at, Code::TooDeep, message);
    }
    let list = each.get("steps").map(|(_, node)| node);
    let steps = steps(list, key.at, &what, reader);
    reader.scope = outer;
    Some(ForEach {
        items: items?,
        alias: alias?,
        steps: steps?,
        on_item_complete,
    })
}

/// Returns how many loops are around the current list.
fn depth(reader: &Reader) -> usize {
    let scopes = &reader.scopes;
    let first = scopes[reader.scope].parent;
    std::iter::successors(first, |scope| scopes[*scope].parent).count()
}

/// V14, V15: the items of a loop, from one of two keys.
fn items(each: &Fields<'_>, reader: &mut Reader) -> Option<Items> {
    match (each.get("items"), each.get("items_from")) {
        (Some((_, node)), None) => match &node.data {
            Data::List(items) => {
                let items = items.iter().map(|item| tree(item, Zone::Step, reader));
                Some(Items::List(items.collect()))
            }
            _ => {
                misfit(node, &each.name_of("items"), "a list", reader);
                None
            }
        },
        (None, Some((_, node))) => {
            let written = text(node, &each.name_of("items_from"), reader)?;
            let Some(pointer) = parse_pointer(&written) else {
                let message = format!("`items_from` cannot be `{written}`");
                let hint =
                    "write `steps.<Name>.lines` or `steps.<Name>.json.<part>`, without `${}`";
                reader.report(Finding::new(node.at, Code::BadPointer, message).hint(hint));
                return None;
            };
            reader.uses(node.at, UseOf::Pointer(pointer.clone()));
            Some(Items::From(pointer))
        }
        (both, _) => {
            let word = if both.is_some() { "both" } else { "neither" };
            let at = both.map_or(each.at, |(key, _)| key.at);
            let message = format!("{} has {word} of `items` and `items_from`", each.what);
            reader.problem(at, Code::LoopItems, message);
            None
        }
    }
}

fn on_item_complete(each: &Fields<'_>, reader: &mut Reader) -> Option<OnItemComplete> {
    let (key, node) = each.get("on_item_complete")?;
    let what = each.name_of("on_item_complete");
    let known = ["success", "failure"];
    let ends = Fields::of(node, key.at, &what, &known, reader)?;
    let [success, failure] = known.map(|end| {
        let (key, node) = ends.get(end)?;
        let what = ends.name_of(end);
        let fields = Fields::of(node, key.at, &what, &["move_to"], reader)?;
        if !fields.has("move_to") {
            reader.problem(key.at, Code::WrongType, format!("{what} has no `move_to`"));
        }
        entry(&fields, "move_to", reader, path)
    });
    Some(OnItemComplete { success, failure })
}
