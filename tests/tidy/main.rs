//! The laws of the repository: who may depend on whom, what pure crates may not say, how large files may be.

#![expect(
    clippy::unwrap_used,
    reason = "a helper of tests fails as the tests do"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Every crate with the crates of ours that it may use. An arrow that is not here does not exist.
const ARROWS: &[(&str, &[&str])] = &[
    ("uwf-util", &[]),
    ("uwf-yaml", &["uwf-util"]),
    ("uwf-protocol", &["uwf-util", "uwf-yaml"]),
    ("uwf-moderator", &["uwf-protocol", "uwf-util"]),
    ("uwf-durable", &[]),
    ("uwf-process", &["uwf-durable", "uwf-protocol"]),
    ("uwf-cas-fs", &["uwf-durable", "uwf-protocol", "uwf-util"]),
    (
        "uwf-storage",
        &["uwf-durable", "uwf-protocol", "uwf-util", "uwf-yaml"],
    ),
    (
        "uwf-engine",
        &[
            "uwf-cas-fs",
            "uwf-moderator",
            "uwf-process",
            "uwf-protocol",
            "uwf-storage",
            "uwf-util",
        ],
    ),
    (
        "uwf-agent-kit",
        &[
            "uwf-cas-fs",
            "uwf-durable",
            "uwf-process",
            "uwf-protocol",
            "uwf-storage",
            "uwf-util",
            "uwf-yaml",
        ],
    ),
    (
        "uwf-agents",
        &[
            "uwf-agent-kit",
            "uwf-cas-fs",
            "uwf-durable",
            "uwf-process",
            "uwf-protocol",
            "uwf-storage",
            "uwf-util",
        ],
    ),
    (
        "uwf",
        &[
            "uwf-agent-kit",
            "uwf-agents",
            "uwf-cas-fs",
            "uwf-durable",
            "uwf-engine",
            "uwf-process",
            "uwf-protocol",
            "uwf-storage",
            "uwf-util",
        ],
    ),
];

/// The crates that decide and never act.
const PURE: &[&str] = &["util", "yaml", "protocol", "moderator"];

/// What a crate that never acts has no use for.
const IMPURE_WORDS: &[&str] = &[
    "std::fs",
    "std::env",
    "std::process",
    "std::net",
    "std::thread",
    "SystemTime",
    "Instant::now",
    "println!",
    "eprintln!",
    "print!",
    "eprint!",
];

const MOST_LINES: usize = 500;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap()
}

fn rust_files(below: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(below).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && path.file_name().unwrap() != "target" {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            files.push(path);
        }
    }
    files
}

fn all_rust_files() -> Vec<PathBuf> {
    let mut files = rust_files(&root().join("crates"));
    files.extend(rust_files(&root().join("tests")));
    files
}

#[test]
fn crates_depend_only_along_the_arrows() {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version=1", "--no-deps", "--offline"])
        .current_dir(root())
        .output()
        .unwrap();
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut found = BTreeMap::new();
    for package in metadata["packages"].as_array().unwrap() {
        let ours = package["dependencies"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|dependency| {
                let name = dependency["name"].as_str().unwrap();
                (dependency["kind"].is_null() && name.starts_with("uwf")).then(|| name.to_owned())
            });
        found.insert(
            package["name"].as_str().unwrap().to_owned(),
            ours.collect::<BTreeSet<_>>(),
        );
    }
    let allowed: BTreeMap<String, BTreeSet<String>> = ARROWS
        .iter()
        .map(|(name, uses)| {
            (
                (*name).to_owned(),
                uses.iter().map(ToString::to_string).collect(),
            )
        })
        .collect();
    assert_eq!(
        found.keys().collect::<Vec<_>>(),
        allowed.keys().collect::<Vec<_>>()
    );
    for (name, uses) in &found {
        let extra: Vec<_> = uses.difference(&allowed[name]).collect();
        assert!(extra.is_empty(), "{name} must not depend on {extra:?}");
    }
}

#[test]
fn pure_crates_do_not_act() {
    for name in PURE {
        for file in rust_files(&root().join("crates").join(name).join("src")) {
            let text = std::fs::read_to_string(&file).unwrap();
            for word in IMPURE_WORDS {
                assert!(!text.contains(word), "{} says `{word}`", file.display());
            }
        }
    }
}

#[test]
fn files_fit_into_a_head() {
    for file in all_rust_files() {
        let lines = std::fs::read_to_string(&file).unwrap().lines().count();
        assert!(lines <= MOST_LINES, "{} has {lines} lines", file.display());
    }
}

#[test]
fn files_say_what_lives_in_them() {
    for file in all_rust_files() {
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(
            text.starts_with("//! "),
            "{} does not open with `//! `",
            file.display()
        );
    }
}

#[test]
fn log_tags_are_used_once() {
    let mut seen = BTreeMap::new();
    for file in rust_files(&root().join("crates")) {
        let text = std::fs::read_to_string(&file).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap();
        for tag in code.split("Tag::new(\"").skip(1).map(|rest| &rest[..8]) {
            let earlier = seen.insert(tag.to_owned(), file.clone());
            assert_eq!(
                earlier,
                None,
                "tag {tag} is used twice, the second time in {}",
                file.display()
            );
        }
    }
    assert!(
        !seen.is_empty(),
        "no tag was found: the test looks for the wrong words"
    );
}

#[test]
fn there_is_no_unsafe_code() {
    let unsafe_word = regex::Regex::new(r"\bunsafe (\{|fn|impl|extern)").unwrap();
    let mut files = Vec::new();
    for file in all_rust_files() {
        if unsafe_word.is_match(&std::fs::read_to_string(&file).unwrap()) {
            files.push(file.strip_prefix(root()).unwrap().to_owned());
        }
    }
    assert_eq!(files, Vec::<PathBuf>::new());
}

#[test]
fn tests_are_not_skipped_and_nothing_is_left_to_do() {
    let words = ["#[ignore", "todo!(", "unimplemented!(", "dbg!("];
    for file in all_rust_files() {
        if file.ends_with("tests/tidy/main.rs") {
            continue;
        }
        let text = std::fs::read_to_string(&file).unwrap();
        for word in words {
            assert!(!text.contains(word), "{} says `{word}`", file.display());
        }
    }
}
