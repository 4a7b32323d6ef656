//! The laws of the repository: who may depend on whom, what pure crates may not say, how large files may be.

#![expect(
    clippy::unwrap_used,
    reason = "a helper of tests fails as the tests do"
)]

mod arrows;
mod documents;
mod machine;
mod modules;
mod purity;
mod toolchain;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const MOST_LINES: usize = 500;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap()
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
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
    let folders = ["crates", "tests", "benches", "fuzz"];
    let files = folders.iter().flat_map(|dir| rust_files(&root().join(dir)));
    files.collect()
}

/// Returns the text without comments and without its module of tests, which is the last in a file. What else is only for
/// tests, such as an import, hides nothing.
fn code(text: &str) -> String {
    let tests = regex::Regex::new(
        r"(?ms)^#\[cfg\(test\)\]\n(#\[expect\(.*?\)\]\n)?(pub(\(crate\))? )?mod \w+ \{\n.*",
    );
    let code = tests.unwrap().replace(text, "");
    let lines = code.lines().filter(|line| !line.trim().starts_with("//"));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn comments_and_tests_are_no_code() {
    let text = "//! fs::write(\n#[cfg(test)]\nuse a::b;\n#[cfg(test)]\nmod world;\nfn a() {}\n    // fs::write(\n";
    let tests = "#[cfg(test)]\nmod tests {\n    fs::write(\n}\n";
    let expected = "#[cfg(test)]\nuse a::b;\n#[cfg(test)]\nmod world;\nfn a() {}";
    assert_eq!(code(&(text.to_owned() + tests)), expected);
    let expects = tests.replace(
        ")]\n",
        ")]\n#[expect(\n    clippy::x,\n    reason = \"y\"\n)]\n",
    );
    assert_eq!(code(&(text.to_owned() + &expects)), expected);
}

#[test]
fn files_fit_into_a_head() {
    for file in all_rust_files() {
        let lines = read(&file).lines().count();
        assert!(lines <= MOST_LINES, "{} has {lines} lines", file.display());
    }
}

#[test]
fn files_say_what_lives_in_them() {
    for file in all_rust_files() {
        let text = read(&file);
        assert!(
            text.starts_with("//! "),
            "{} does not open with `//! `",
            file.display()
        );
    }
}

#[test]
fn log_tags_are_used_once() {
    // Those of the process log are constants, which the compiler checks; the others stand where they are used.
    let tag = regex::Regex::new(r#"(?:Tag::new\(|\btag = )"(\w+)""#).unwrap();
    let mut seen = BTreeMap::new();
    for file in rust_files(&root().join("crates")) {
        let code = code(&read(&file));
        // The tag of an enum in data is another thing.
        let lines = code
            .lines()
            .filter(|line| !line.trim().starts_with("#[serde("));
        let code = lines.collect::<Vec<_>>().join("\n");
        for tag in tag.captures_iter(&code).map(|found| found[1].to_owned()) {
            let is_tag = tag.len() == 8 && tag.bytes().all(uwf_util::base32::is_digit);
            assert!(is_tag, "{tag} is not a tag: {}", file.display());
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
fn every_event_has_a_tag() {
    let event = regex::Regex::new(r"\b(error|warn|info|debug|trace|event)!\(\s*(.{0,5})").unwrap();
    for file in rust_files(&root().join("crates")) {
        for found in event.captures_iter(&code(&read(&file))) {
            let path = file.display();
            assert_eq!(&found[2], "tag =", "an event in {path}: `{}`", &found[0]);
        }
    }
}

#[test]
fn there_is_no_unsafe_code() {
    let unsafe_word = regex::Regex::new(r"\bunsafe (\{|fn|impl|extern)").unwrap();
    let mut files = Vec::new();
    for file in all_rust_files() {
        if unsafe_word.is_match(&read(&file)) {
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
        let text = read(&file);
        for word in words {
            assert!(!text.contains(word), "{} says `{word}`", file.display());
        }
    }
}
