//! The crates that decide never act: they name no part of the standard library that asks or changes the machine.

use std::collections::BTreeSet;

use regex::Regex;

use crate::{read, root, rust_files};

/// The crates that decide and never act.
const PURE: &[&str] = &[
    "util",
    "yaml",
    "layout",
    "pipeline",
    "schema",
    "protocol",
    "moderator",
];

/// The modules of `std` that a crate that never acts has no use for.
const IMPURE_MODULES: &[&str] = &["env", "fs", "net", "os", "process", "thread"];

/// Other words that it has no use for. `::now(` is the clock of any library.
const IMPURE_WORDS: &[&str] = &[
    "std as ",
    "SystemTime",
    "Instant",
    "::now(",
    "println!",
    "eprintln!",
    "print!",
    "eprint!",
    "io::stdin",
    "io::stdout",
    "io::stderr",
];

#[test]
fn pure_crates_do_not_act() {
    for name in PURE {
        for file in rust_files(&root().join("crates").join(name).join("src")) {
            let text = read(&file);
            let modules = modules_of_std(&text);
            for module in IMPURE_MODULES {
                let path = file.display();
                assert!(!modules.contains(*module), "{path} uses `std::{module}`");
            }
            for word in IMPURE_WORDS {
                assert!(!text.contains(word), "{} says `{word}`", file.display());
            }
        }
    }
}

#[test]
fn a_module_of_std_is_found_however_it_is_imported() {
    for (text, expected) in [
        ("std::fs::read(path)", &["fs"][..]),
        ("use std::env;", &["env"]),
        ("use std::{fs, env};", &["env", "fs"]),
        (
            "use ::std::{\n    io::{self, Read},\n    fs as files,\n};",
            &["fs", "io"],
        ),
        (
            "use std::{cmp::{Ordering, max}, net::IpAddr};",
            &["cmp", "net"],
        ),
        ("use mystd::fs;", &[]),
    ] {
        let expected: BTreeSet<String> = expected.iter().map(ToString::to_string).collect();
        assert_eq!(modules_of_std(text), expected, "{text}");
    }
}

/// Returns the modules of `std` that a source text names, by their paths or in a group of imports.
fn modules_of_std(text: &str) -> BTreeSet<String> {
    let mut modules = BTreeSet::new();
    for found in Regex::new(r"\bstd::").unwrap().find_iter(text) {
        let rest = &text[found.end()..];
        match rest.strip_prefix('{') {
            Some(group) => {
                let members = members(group);
                modules.extend(members.iter().filter_map(|item| first_word(item)));
            }
            None => modules.extend(first_word(rest)),
        }
    }
    modules
}

/// Splits a group of imports after its opening brace at the commas that are not in a group within it.
fn members(group: &str) -> Vec<String> {
    let mut members = vec![String::new()];
    let mut depth = 0;
    for c in group.chars() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => members.push(String::new()),
            _ => members.last_mut().unwrap().push(c),
        }
    }
    members
}

fn first_word(text: &str) -> Option<String> {
    let word = Regex::new(r"^\s*(\w+)").unwrap();
    Some(word.captures(text)?[1].to_owned())
}
