//! V12 and V13: the providers of a file, the built-in ones, and the calls of both.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use uwf_util::suggest;
use uwf_yaml::{At, Node};

use super::fields::{Fields, entries};
use super::reader::{Reader, Zone};
use super::values::{command, entry, tree_map, word};
use super::work::names_prompt;
use crate::problem::Finding;
use crate::{Code, InputMode, Provider};

const INPUT_MODES: [(&str, InputMode); 2] =
    [("argv", InputMode::Argv), ("stdin", InputMode::Stdin)];

/// A call of a provider by a step.
pub(super) struct Call {
    /// Where its name is.
    pub(super) at: At,
    /// Its name.
    pub(super) provider: String,
    /// Whether the step has an `input_file`, or puts something else into the prompt.
    pub(super) has_input: bool,
    /// Whether the step's own command line says `${PROMPT}`, if it has one.
    pub(super) argv: Option<bool>,
}

/// Reads the providers of a file.
pub(super) fn declared(
    node: &Node,
    what: &str,
    reader: &mut Reader,
) -> Option<BTreeMap<String, Provider>> {
    let declared = entries(node, what, reader)?.iter();
    let providers = declared.filter_map(|(key, node)| {
        let what = format!("provider `{}`", key.text);
        let known = ["command", "defaults", "input_mode"];
        let fields = Fields::of(node, key.at, &what, &known, reader)?;
        let input_mode = entry(&fields, "input_mode", reader, |node, what, reader| {
            word(node, what, &INPUT_MODES, reader)
        });
        let input_mode = input_mode.unwrap_or_default();
        if !fields.has("command") {
            let message = format!("{what} has no `command`");
            reader.problem(key.at, Code::WrongType, message);
        }
        let command = entry(&fields, "command", reader, |node, what, reader| {
            command(node, what, Zone::Provider(input_mode), reader)
        });
        let defaults = entry(&fields, "defaults", reader, |node, what, reader| {
            tree_map(node, what, Zone::Defaults, reader)
        });
        // A provider that cannot be read is known, so that its calls are no mistakes.
        Some((
            key.text.clone(),
            Provider {
                command: command.unwrap_or_default(),
                defaults: defaults.unwrap_or_default(),
                input_mode,
            },
        ))
    });
    Some(providers.collect())
}

/// Adds the built-in providers that are called, and reports what is wrong with the calls.
pub(super) fn check_calls(providers: &mut BTreeMap<String, Provider>, reader: &mut Reader) {
    let built_in = built_in();
    for call in std::mem::take(&mut reader.calls) {
        let name = &call.provider;
        let Some(provider) = providers.get(name).or_else(|| built_in.get(name)) else {
            let known = providers.keys().chain(built_in.keys()).map(String::as_str);
            let hint = match suggest::nearest(name, known) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "declare it under `providers`".to_owned(),
            };
            let message = format!("there is no provider `{name}`");
            reader.report(Finding::new(call.at, Code::UnknownProvider, message).hint(hint));
            continue;
        };
        let provider = provider.clone();
        check_prompt(&call, &provider, reader);
        providers.entry(name.clone()).or_insert(provider);
    }
}

fn check_prompt(call: &Call, provider: &Provider, reader: &mut Reader) {
    let by_stdin = provider.input_mode == InputMode::Stdin;
    let in_argv = call.argv.unwrap_or_else(|| names_prompt(&provider.command));
    if by_stdin && call.argv == Some(true) {
        let message =
            "`${PROMPT}` has no place here: this provider gets its prompt on standard input";
        reader.problem(call.at, Code::MisplacedPrompt, message);
    }
    if !call.has_input && (by_stdin || in_argv) {
        let message = "the prompt is empty, because the step has no `input_file`";
        reader.problem(call.at, Code::EmptyPrompt, message);
    }
}

/// Returns the providers that need not be declared. None of them lets its program do things unasked.
fn built_in() -> BTreeMap<String, Provider> {
    let provider =
        |provider: Value| serde_json::from_value(provider).expect("the literal is a provider");
    let claude = json!({
        "command": ["claude", "-p", "${PROMPT}", "--model", "${model}"],
        "defaults": {"model": "claude-sonnet-4-20250514"},
    });
    let gemini = json!({"command": ["gemini", "-p", "${PROMPT}"]});
    let codex = json!({"command": ["codex", "exec"], "input_mode": "stdin"});
    let named = [("claude", claude), ("gemini", gemini), ("codex", codex)];
    let named = named.into_iter();
    named
        .map(|(name, json)| (name.to_owned(), provider(json)))
        .collect()
}
