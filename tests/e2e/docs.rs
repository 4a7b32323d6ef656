//! What the documents say holds: their workflows are valid, and the files that they name exist.

use std::path::{Path, PathBuf};

use crate::world::World;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns the documents: the one at the top, those of `docs`, and those of the examples.
fn documents() -> Vec<PathBuf> {
    let mut documents = vec![repository().join("README.md")];
    let examples = std::fs::read_dir(repository().join("examples")).unwrap();
    let readmes = examples.map(|example| example.unwrap().path().join("README.md"));
    documents.extend(readmes.filter(|readme| readme.exists()));
    let docs = std::fs::read_dir(repository().join("docs")).unwrap();
    let docs = docs.map(|entry| entry.unwrap().path());
    documents.extend(docs.filter(|path| path.extension().is_some_and(|end| end == "md")));
    documents
}

/// Returns the blocks of a document that are fenced as YAML.
fn yaml_blocks(document: &str) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut lines = document.lines();
    while lines.any(|line| line == "```yaml") {
        let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        blocks.push(block.join("\n") + "\n");
    }
    blocks
}

/// Returns the file name in the comment that a complete file begins with.
fn file_name(block: &str) -> Option<&str> {
    let name = block.lines().next()?.strip_prefix("# ")?;
    let is_file = name.ends_with(".yaml") && !name.contains(' ');
    is_file.then_some(name)
}

#[test]
fn every_workflow_of_the_documents_is_valid() {
    for (document, at_least) in [("README.md", 1), ("docs/workflows.md", 4)] {
        let text = std::fs::read_to_string(repository().join(document)).unwrap();
        let world = World::new();
        let blocks = yaml_blocks(&text);
        let named: Vec<_> = blocks
            .iter()
            .filter_map(|block| Some((file_name(block)?, block)))
            .collect();
        // All are written first: one may include another.
        for (name, block) in &named {
            world.write(name, block);
        }
        // What has a graph is a workflow; the others are parts.
        let workflows = named.iter().filter(|(_, block)| block.contains("\ngraph:"));
        let mut count = 0;
        for (name, _) in workflows {
            world.uwf(&["workflow", "validate", name]).exits(0);
            count += 1;
        }
        assert!(count >= at_least, "{document} has {count} workflows");
    }
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

#[test]
fn every_link_of_the_documents_leads_somewhere() {
    for document in documents() {
        let text = std::fs::read_to_string(&document).unwrap();
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
                let text = std::fs::read_to_string(&target).unwrap();
                let headings = text.lines().filter(|line| line.starts_with('#'));
                let mut anchors = headings.map(|line| anchor(line.trim_start_matches('#').trim()));
                assert!(anchors.any(|known| known == heading), "{at}");
            }
        }
    }
}

#[test]
fn every_key_of_the_config_is_documented_and_no_other() {
    let text = std::fs::read_to_string(repository().join("docs/config.md")).unwrap();
    let (_, section) = text.split_once("\n## Keys\n").unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `"));
    let mut documented: Vec<&str> = rows.map(|row| row.split_once('`').unwrap().0).collect();
    documented.sort_unstable();
    let mut known = uwf_storage::config::keys();
    known.sort_unstable();
    assert_eq!(documented, known);
}
