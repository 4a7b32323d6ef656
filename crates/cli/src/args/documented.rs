//! Every command that the documents print is one that the program has.

use std::path::{Path, PathBuf};

use clap::{CommandFactory as _, ValueEnum as _};
use uwf_util::shell_words;

use crate::args::{Cli, Topic};
use crate::commands::text_for_agents;

/// Returns README.md and the documents.
fn documents() -> Vec<PathBuf> {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let entries = std::fs::read_dir(repository.join("docs")).unwrap();
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    found.push(repository.join("README.md"));
    found.retain(|path| path.extension().is_some_and(|ending| ending == "md"));
    found
}

/// Returns the calls of `uwf` in the shell code of a document, each up to what a shell takes as its own.
fn calls(document: &str) -> Vec<String> {
    let mut calls = Vec::new();
    let mut is_shell = false;
    for line in document.lines() {
        match line.trim_start().strip_prefix("```") {
            Some(language) => is_shell = language == "sh" || language == "console",
            None if is_shell => calls.extend(call(line)),
            None => {}
        }
    }
    calls
}

fn call(line: &str) -> Option<String> {
    let line = line.trim_start().trim_start_matches("$ ");
    let start = line.find("uwf ").filter(|at| {
        let before = &line[..*at];
        before.is_empty() || before.ends_with("$(") || before == "while "
    })?;
    let typed = &line[start..];
    Some(typed[..end_of_call(typed)].trim_end().to_owned())
}

/// Returns where a call ends and the shell goes on. What is in quotation marks belongs to the call.
fn end_of_call(typed: &str) -> usize {
    let ends = [
        " | ", " > ", " >> ", " < ", "; ", " && ", " || ", " # ", " &", ")",
    ];
    let mut quote = None;
    for (at, character) in typed.char_indices() {
        match quote {
            Some(open) if open == character => quote = None,
            Some(_) => {}
            None if character == '\'' || character == '"' => quote = Some(character),
            None if ends.iter().any(|end| typed[at..].starts_with(end)) => return at,
            None => {}
        }
    }
    typed.len()
}

/// Checks every call in a text, and returns how many there are.
fn check(name: &str, text: &str) -> usize {
    let found = calls(text);
    for call in &found {
        let words = shell_words::split(call).unwrap_or_else(|error| panic!("{call}: {error}"));
        let parsed = Cli::command().try_get_matches_from(words);
        let wrong = parsed.err().filter(|error| error.exit_code() != 0);
        assert!(wrong.is_none(), "{name}: {call}: {}", wrong.unwrap());
    }
    found.len()
}

#[test]
fn every_command_that_the_documents_print_parses() {
    let of = |path: &PathBuf| {
        check(
            &path.display().to_string(),
            &std::fs::read_to_string(path).unwrap(),
        )
    };
    let count: usize = documents().iter().map(of).sum();
    assert!(count > 60, "only {count} calls were found");
}

#[test]
fn every_command_that_an_agent_is_told_parses() {
    for topic in Topic::value_variants() {
        let text = text_for_agents(*topic);
        assert!(check(&format!("{topic:?}"), &text) > 1, "{text}");
        assert!(!text.contains("{{commands}}"));
    }
}

#[test]
fn a_call_ends_where_the_shell_goes_on() {
    let of = |line| call(line).unwrap_or_default();
    assert_eq!(
        of("thread=$(uwf thread start a -p b | head -n 1)"),
        "uwf thread start a -p b"
    );
    assert_eq!(of("$ uwf thread list   # all of them"), "uwf thread list");
    assert_eq!(
        of("while uwf thread step \"$t\"; do :; done"),
        "uwf thread step \"$t\""
    );
    assert_eq!(of("echo uwf is here"), "");
}
