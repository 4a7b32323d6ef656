//! What the documents say holds: their workflows are valid, and the keys of the config are those that there are.

use std::path::{Path, PathBuf};

use crate::world::World;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
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

#[test]
fn every_key_of_the_config_is_documented_and_no_other() {
    let text = std::fs::read_to_string(repository().join("docs/config.md")).unwrap();
    let (_, section) = text.split_once("\n## Keys\n").unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `"));
    let mut documented: Vec<&str> = rows.map(|row| row.split_once('`').unwrap().0).collect();
    documented.sort_unstable();
    let mut known = uwf_config::keys();
    known.sort_unstable();
    assert_eq!(documented, known);
}

#[test]
fn an_agent_is_told_how_to_write_a_workflow_that_is_valid() {
    let world = World::new();
    let text = world.uwf(&["prompt", "authoring"]).exits(0).stdout;
    let [workflow] = &yaml_blocks(&text)[..] else {
        panic!("one workflow is expected: {text}");
    };
    world.write("haiku.yaml", workflow);
    let checked = world.uwf(&["workflow", "validate", "haiku.yaml"]).exits(0);
    assert_eq!(checked.stderr, "");
    // What an agent is told about commands is made from the commands.
    let usage = world.uwf(&["prompt", "user"]).exits(0).stdout;
    assert!(usage.contains("- `uwf thread resume`: "), "{usage}");
    let skill = world.uwf(&["prompt", "bootstrap"]).exits(0).stdout;
    assert!(skill.starts_with("---\nname: uwf\n"), "{skill}");
}
