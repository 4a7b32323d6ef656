//! What the documents name is there: the targets of their links, files of the repository, and the tests that stand for
//! promises.

use std::path::PathBuf;

use regex::Regex;

use crate::{all_rust_files, read, root};

/// The top folders of the repository whose files the documents name.
const FOLDERS: &str = "crates|tests|docs|examples|benches|fuzz|\\.ci|\\.github";

#[test]
fn every_link_of_the_documents_leads_somewhere() {
    for document in documents() {
        let text = read(&document);
        for link in links(&text) {
            if link.starts_with("http") {
                continue;
            }
            let (file, heading) = link.split_once('#').unwrap_or((link, ""));
            let target = match file {
                "" => document.clone(),
                file => document.parent().unwrap().join(file),
            };
            let at = format!("{} links to {link}", document.display());
            assert!(target.exists(), "{at}");
            if !heading.is_empty() {
                let text = read(&target);
                let headings = prose(&text).filter(|line| line.starts_with('#'));
                let mut anchors = headings.map(|line| anchor(line.trim_start_matches('#').trim()));
                assert!(anchors.any(|known| known == heading), "{at}");
            }
        }
    }
}

#[test]
fn every_file_that_the_documents_name_exists() {
    let named = Regex::new(&format!("`((?:{FOLDERS})(?:/[^`\\s<*]*)?)`")).unwrap();
    for document in documents() {
        for found in named.captures_iter(&read(&document)) {
            let path = &found[1];
            let exists = root().join(path).exists();
            assert!(exists, "{} names `{path}`", document.display());
        }
    }
}

#[test]
fn every_test_that_the_architecture_names_exists() {
    let architecture = read(&root().join("docs/architecture.md"));
    let (_, table) = architecture
        .split_once("\n## What survives what\n")
        .unwrap();
    let (table, _) = table.split_once("\n\nEach of these tests").unwrap();
    let last_cells = table.lines().filter_map(|line| {
        let cells = line.strip_suffix('|')?;
        Some(cells.rsplit_once('|')?.1)
    });
    let cells: String = last_cells.skip(2).collect();
    let name = Regex::new("`([a-z_]+)`").unwrap();
    let tests = functions();
    let mut count = 0;
    for found in name.captures_iter(&cells) {
        assert!(
            tests.contains(&found[1].to_owned()),
            "no test `{}`",
            &found[1]
        );
        count += 1;
    }
    assert!(count > 5, "the table names {count} tests only");
}

/// Returns the documents at the top, those of `docs`, and those of the examples.
fn documents() -> Vec<PathBuf> {
    let mut folders = vec![root(), root().join("docs")];
    let examples = std::fs::read_dir(root().join("examples")).unwrap();
    folders.extend(examples.map(|example| example.unwrap().path()));
    let entries = folders
        .iter()
        .flat_map(|dir| std::fs::read_dir(dir).unwrap());
    let paths = entries.map(|entry| entry.unwrap().path());
    paths
        .filter(|path| path.extension().is_some_and(|ending| ending == "md"))
        .collect()
}

/// Returns the targets of the links in a document.
fn links(document: &str) -> Vec<&str> {
    let after = document.split("](").skip(1);
    after
        .filter_map(|rest| Some(rest.split_once(')')?.0))
        .collect()
}

/// Returns the name that a heading can be linked by.
fn anchor(heading: &str) -> String {
    let kept = heading
        .chars()
        .filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

/// Returns the lines of a document that are not in a code block.
fn prose(document: &str) -> impl Iterator<Item = &str> {
    let mut is_code = false;
    document.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    })
}

/// Returns the names of the functions of the end-to-end tests.
fn functions() -> Vec<String> {
    let function = Regex::new(r"\bfn ([a-z_]+)\(").unwrap();
    let below = root().join("tests/e2e");

    let mut names = Vec::new();
    for file in all_rust_files()
        .iter()
        .filter(|file| file.starts_with(&below))
    {
        let text = read(file);
        names.extend(
            function
                .captures_iter(&text)
                .map(|found| found[1].to_owned()),
        );
    }
    names
}
