//! Which crate uses which: the arrows of `docs/architecture.md` and those of `cargo metadata` are the same.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::{read, root};

/// Every crate with the crates of ours that it uses, by the names of their folders.
type Arrows = BTreeMap<String, BTreeSet<String>>;

#[test]
fn the_crates_depend_on_each_other_as_drawn_in_the_architecture() {
    let drawn = drawn(&read(&root().join("docs/architecture.md")));
    let found = found();
    assert_eq!(
        drawn.keys().collect::<Vec<_>>(),
        found.keys().collect::<Vec<_>>(),
        "docs/architecture.md draws other crates than there are"
    );
    for (name, uses) in &found {
        assert_eq!(
            &drawn[name], uses,
            "`{name}`: docs/architecture.md (left) and Cargo.toml (right) differ"
        );
    }
}

#[test]
fn arrows_are_read_as_they_are_drawn() {
    let text = "```text\nnot → this\n```\n\n## The crates\n\n```text\na →\nb → a\nc → a, b\n```\n";
    let expected = [("a", &[][..]), ("b", &["a"]), ("c", &["a", "b"])];
    let expected = expected.map(|(name, uses)| {
        let uses = uses.iter().map(ToString::to_string).collect();
        (name.to_owned(), uses)
    });
    assert_eq!(drawn(text), Arrows::from(expected));
}

/// Reads the arrows from the first code block of the section on the crates.
fn drawn(architecture: &str) -> Arrows {
    let (_, section) = architecture.split_once("\n## The crates\n").unwrap();
    let (_, block) = section.split_once("\n```text\n").unwrap();
    let (block, _) = block.split_once("\n```").unwrap();
    block.lines().map(arrow).collect()
}

/// Reads a line such as `process → protocol, util`.
fn arrow(line: &str) -> (String, BTreeSet<String>) {
    let (name, uses) = line.split_once('→').unwrap();
    let uses = uses
        .split(',')
        .map(str::trim)
        .filter(|used| !used.is_empty());
    (name.trim().to_owned(), uses.map(str::to_owned).collect())
}

/// Asks cargo for the arrows. Dependencies of tests and of build scripts are none.
fn found() -> Arrows {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version=1", "--no-deps", "--offline"])
        .current_dir(root())
        .output()
        .unwrap();
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    packages
        .iter()
        .map(|package| {
            let manifest = Path::new(package["manifest_path"].as_str().unwrap());
            let dependencies = package["dependencies"].as_array().unwrap();
            let ours = dependencies.iter().filter_map(used_folder);
            (folder(manifest.parent().unwrap()), ours.collect())
        })
        .collect()
}

/// Returns the folder of a dependency, if it is one of ours.
fn used_folder(dependency: &Value) -> Option<String> {
    let path = dependency["path"].as_str()?;
    dependency["kind"]
        .is_null()
        .then(|| folder(Path::new(path)))
}

fn folder(path: &Path) -> String {
    path.file_name().unwrap().to_str().unwrap().to_owned()
}
