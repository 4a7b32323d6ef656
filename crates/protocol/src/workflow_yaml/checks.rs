//! Reading the checks of a role: a list of commands, or a mapping with that list under `run`.

use uwf_util::shell_words::{self, needs_shell};
use uwf_yaml::{At, Data, Node};

use super::diagnostic::Finding;
use super::fields::{Fields, items, misfit, text};
use crate::checks::{ATTEMPTS, Check, Checks, MAX_ATTEMPTS, line};
use crate::limits::Span;
use crate::work::Work;

const KEYS: [&str; 2] = ["run", "attempts"];
const CHECK_KEYS: [&str; 4] = ["name", "command", "timeout", "files"];

/// Returns the checks of a role, if it has some. Only an agent can be sent back to its work.
pub(super) fn checks<S>(
    role: &Fields<'_>,
    work: Option<&Work<S>>,
    findings: &mut Vec<Finding>,
) -> Option<Checks> {
    let (key, node) = role.get("checks")?;
    let what = format!("`checks` of {}", role.what());
    if matches!(work, Some(Work::Workflow(_) | Work::Branches(_))) {
        let message = format!(
            "{} cannot have `checks` here: other threads play it",
            role.what()
        );
        let hint = "give the checks to the roles of those threads";
        findings.push(Finding::new(key.at, message).hint(hint));
        return None;
    }
    let (list, attempts) = match &node.data {
        Data::Map(_) => {
            let fields = Fields::of(node, key.at, what.clone(), &KEYS, findings)?;
            let Some((_, list)) = fields.get("run") else {
                let hint = "it is the list of commands, such as `run: [cargo test]`";
                findings.push(fields.lacks("run").hint(hint));
                return None;
            };
            (list, attempts(&fields, findings))
        }
        _ => (node, ATTEMPTS),
    };
    let items = items(list, &what, findings)?;
    if items.is_empty() {
        findings.push(Finding::new(list.at, format!("{what} are empty")));
        return None;
    }
    let mut run: Vec<Check> = Vec::new();
    for item in items {
        let Some(check) = check(item, &what, findings) else {
            continue;
        };
        if run.iter().any(|other| other.name == check.name) {
            let message = format!("{what} have two checks named `{}`", check.name);
            findings.push(Finding::new(item.at, message).hint("give one of them another `name`"));
        }
        run.push(check);
    }
    (run.len() == items.len()).then_some(Checks { run, attempts })
}

fn attempts(fields: &Fields<'_>, findings: &mut Vec<Finding>) -> u32 {
    let Some((_, node)) = fields.get("attempts") else {
        return ATTEMPTS;
    };
    let given = match &node.data {
        Data::Number(number) => number.to_string().parse().ok(),
        _ => None,
    };
    given
        .filter(|given| *given <= MAX_ATTEMPTS)
        .unwrap_or_else(|| {
            let what = fields.what();
            let message =
                format!("`attempts` of {what} is a whole number from 0 to {MAX_ATTEMPTS}");
            findings.push(Finding::new(node.at, message));
            ATTEMPTS
        })
}

/// Returns a check: a command, or a mapping with one.
fn check(node: &Node, what: &str, findings: &mut Vec<Finding>) -> Option<Check> {
    let each = format!("each of the {what}");
    let Data::Map(_) = &node.data else {
        let command = command(node, &each, findings)?;
        return Some(Check {
            name: line(&command),
            command,
            timeout: None,
            files: None,
        });
    };
    let fields = Fields::of(node, node.at, each, &CHECK_KEYS, findings)?;
    let Some((_, given)) = fields.get("command") else {
        findings.push(fields.lacks("command"));
        return None;
    };
    let command = command(given, &format!("`command` of {}", fields.what()), findings);
    let name = fields.text("name", findings);
    if name.as_ref().is_some_and(|name| name.trim().is_empty()) {
        findings.push(Finding::new(
            node.at,
            format!("a check of the {what} has a blank name"),
        ));
    }
    let timeout = timeout(&fields, findings);
    let files = files(&fields, findings);
    let command = command?;
    Some(Check {
        name: name.unwrap_or_else(|| line(&command)),
        command,
        timeout,
        files,
    })
}

/// Returns the words of a command: the items of a list, or a text that is split as a shell splits it.
fn command(node: &Node, what: &str, findings: &mut Vec<Finding>) -> Option<Vec<String>> {
    let words = match &node.data {
        Data::Text(line) => split(line, node.at, what, findings)?,
        Data::List(items) => {
            let word = format!("each word of {what}");
            let words = items.iter().map(|item| text(item, &word, findings));
            words.collect::<Option<Vec<_>>>()?
        }
        _ => {
            findings.extend(misfit(node, what, "a command: a text or a list of words"));
            return None;
        }
    };
    if words
        .first()
        .is_none_or(|program| program.trim().is_empty())
    {
        findings.push(Finding::new(node.at, format!("{what} names no program")));
        return None;
    }
    if words.iter().any(|word| word.contains('\0')) {
        findings.push(Finding::new(
            node.at,
            format!("{what} has a zero byte, which no argument can hold"),
        ));
        return None;
    }
    Some(words)
}

fn split(line: &str, at: At, what: &str, findings: &mut Vec<Finding>) -> Option<Vec<String>> {
    if line.trim().contains('\n') {
        let message = format!("{what} has several lines, and is one command");
        findings.push(Finding::new(at, message).hint("make each line a check of its own"));
        return None;
    }
    if let Some(sign) = needs_shell(line) {
        let message = format!("{what} has a `{sign}`, and runs without a shell");
        let shell = ["sh", "-c", line.trim()];
        let shell = serde_json::to_string(&shell).unwrap_or_default();
        let hint = format!(
            "write `command: {shell}` to run it in one, or put the word in single quotes to pass it as it is"
        );
        findings.push(Finding::new(at, message).hint(hint));
        return None;
    }
    match shell_words::split(line) {
        Ok(words) => Some(words),
        Err(error) => {
            findings.push(Finding::new(
                at,
                format!("{what} is no command line: {error}"),
            ));
            None
        }
    }
}

fn timeout(fields: &Fields<'_>, findings: &mut Vec<Finding>) -> Option<Span> {
    let (_, node) = fields.get("timeout")?;
    let text = fields.text("timeout", findings)?;
    match Span::try_from(text) {
        Ok(span) => Some(span),
        Err(error) => {
            let message = format!("`timeout` of {}: {error}", fields.what());
            findings.push(Finding::new(node.at, message));
            None
        }
    }
}

fn files(fields: &Fields<'_>, findings: &mut Vec<Finding>) -> Option<Vec<String>> {
    // An empty list is not the same as none: then the command may name files that the agent changes.
    let (_, node) = fields.get("files")?;
    let what = format!("`files` of {}", fields.what());
    let each = format!("each of the {what}");
    let items = items(node, &what, findings)?;
    let mut files = Vec::new();
    for item in items {
        let path = text(item, &each, findings)?;
        if path.trim().is_empty() || path.contains('\0') {
            findings.push(Finding::new(
                item.at,
                format!("{each} is the path of a file"),
            ));
        }
        files.push(path);
    }
    Some(files)
}
