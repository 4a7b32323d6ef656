//! `docs/cli.md` is complete: its reference is generated from what the binary says of itself, from the transcripts and
//! from the tags in the code; its tables name every status, exit code and event.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use regex::Regex;
use serde_json::{Map, Value};
use uwf_engine::ThreadStatus;

use crate::golden::expect_text;
use crate::help::Help;
use crate::world::World;

const START: &str = "\n## Commands\n";

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    std::fs::read_to_string(repository().join(path)).unwrap()
}

/// Returns the first cell of each row of a table, as it stands between backticks or alone.
fn first_cells(text: &str, heading: &str) -> BTreeSet<String> {
    let (_, section) = text.split_once(&format!("\n## {heading}\n")).unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| "));
    let cells = rows.filter_map(|row| Some(row.split_once(" |")?.0));
    let words = cells.flat_map(|cell| cell.split(", "));
    words
        .map(|word| word.trim_matches('`').to_owned())
        .collect()
}

#[test]
fn the_reference_of_the_command_line_is_what_the_program_says() {
    let text = read("docs/cli.md");
    let (written_by_hand, _) = text.split_once(START).unwrap();
    let generated = format!(
        "{written_by_hand}{START}\nFrom here on this page is generated: `UWF_UPDATE=1 cargo test --workspace --test e2e \
         reference` writes it anew.\n\n{}\n## Keys of each command\n\nAs in the \
         transcripts of `tests/e2e/snapshots`: what is said on rare occasions only, such as a `limit`, may not be in \
         them.\n\n{}\n## Tags of the process log\n\n{}",
        commands(),
        keys(),
        tags(),
    );
    expect_text(&repository().join("docs/cli.md"), &generated);
}

#[test]
fn every_status_is_explained() {
    let mut explained = first_cells(&read("docs/cli.md"), "Statuses");
    assert!(explained.remove("status"), "the table has no head");
    let known = ThreadStatus::ALL.map(|status| status.as_str().to_owned());
    assert_eq!(explained, BTreeSet::from(known));
}

#[test]
fn every_event_of_the_process_log_is_explained() {
    let explained = first_cells(&read("docs/cli.md"), "The process log");
    let events: Vec<String> = tags_of_code().into_keys().collect();
    let missing = events.iter().filter(|event| !explained.contains(*event));
    assert_eq!(missing.collect::<Vec<_>>(), Vec::<&String>::new());
    // The section has a table of keys, too, whose words have no hyphens.
    let gone = explained.iter().filter(|word| word.contains('-'));
    let gone = gone.filter(|word| !events.contains(word));
    assert_eq!(gone.collect::<Vec<_>>(), Vec::<&String>::new());
}

#[test]
fn every_exit_code_is_explained() {
    let of_readme = first_cells(&read("README.md"), "Exit codes");
    let help = World::new().uwf(&["--help"]).exits(0).stdout;
    let (_, of_help) = help.split_once("Exit codes: ").unwrap();
    let numbers = |text: &str| -> BTreeSet<String> {
        let number = Regex::new(r"\b\d+\b").unwrap();
        number
            .find_iter(text)
            .map(|found| found.as_str().to_owned())
            .collect()
    };
    let of_readme = of_readme.into_iter().collect::<Vec<_>>().join(" ");
    assert_eq!(numbers(&of_readme), numbers(of_help));
}

/// Returns the section of every command, with what it takes.
fn commands() -> String {
    let world = World::new();
    let whole = Help::of(&world, &[]);
    let mut text = format!(
        "{}\n\n{}\n{}",
        whole.usage(),
        whole.table("every command takes", &BTreeSet::new()),
        whole.rest()
    );
    for (name, aliases) in whole.commands() {
        command(&world, &[name], aliases, &whole.entries(), &mut text);
    }
    text
}

/// Appends the section of a command and of those below it, without what every command takes.
fn command(
    world: &World,
    path: &[&str],
    aliases: &str,
    common: &BTreeSet<(String, String)>,
    text: &mut String,
) {
    let help = Help::of(world, path);
    let depth = "#".repeat(2 + path.len());
    let name = path.join(" ");
    *text += &format!("\n{depth} `uwf {name}`\n\n{}{aliases}", help.about());
    let parts = [help.usage(), help.table("takes", common), help.rest()];
    if help.commands().next().is_none() {
        for part in parts.iter().filter(|part| !part.is_empty()) {
            *text += &format!("\n\n{}", part.trim_end());
        }
    }
    *text += "\n";
    for (name, aliases) in help.commands() {
        command(world, &[path, &[name]].concat(), aliases, common, text);
    }
}

/// Returns a table of the keys that each command has in the transcripts.
fn keys() -> String {
    let mut found: BTreeMap<String, Keys> = BTreeMap::new();
    let mut snapshots: Vec<PathBuf> = std::fs::read_dir(repository().join("tests/e2e/snapshots"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    snapshots.sort();
    for snapshot in snapshots {
        for (command, value) in printed_as_json(&std::fs::read_to_string(snapshot).unwrap()) {
            found.entry(command).or_default().add(&value);
        }
    }
    let rows = found
        .iter()
        .map(|(command, keys)| format!("| `{command}` | {} |\n", keys.text()));
    format!(
        "| command | keys |\n|---|---|\n{}",
        rows.collect::<String>()
    )
}

/// The keys of objects in their order, each with the keys of the objects in its list.
#[derive(Default)]
struct Keys(Vec<(String, Vec<String>)>);

impl Keys {
    fn add(&mut self, value: &Value) {
        for (key, value) in objects(value).flatten() {
            let known = self.0.iter().position(|(known, _)| known == key);
            let at = known.unwrap_or_else(|| {
                self.0.push((key.clone(), Vec::new()));
                self.0.len() - 1
            });
            let below = &mut self.0[at].1;
            for (key, _) in objects(value).flatten().filter(|_| value.is_array()) {
                if !below.contains(key) {
                    below.push(key.clone());
                }
            }
        }
    }

    fn text(&self) -> String {
        let quoted = |key: &String| format!("`{key}`");
        let keys = self.0.iter().map(|(key, below)| {
            let below: Vec<String> = below.iter().map(quoted).collect();
            match below.is_empty() {
                true => quoted(key),
                false => format!("`{key}` (of each: {})", below.join(", ")),
            }
        });
        keys.collect::<Vec<_>>().join(", ")
    }
}

/// Returns the object, or the objects in a list.
fn objects(value: &Value) -> impl Iterator<Item = &Map<String, Value>> {
    let items = value
        .as_array()
        .map_or(std::slice::from_ref(value), Vec::as_slice);
    items.iter().filter_map(Value::as_object)
}

/// Returns the commands of a transcript that printed JSON, without their arguments, and what they printed.
fn printed_as_json(transcript: &str) -> Vec<(String, Value)> {
    let call =
        Regex::new(r"(?m)^\$ uwf (cas schema \S+|import-store|\S+ \S+).* --format json\n(.*)$")
            .unwrap();
    let placeholder = Regex::new(r":\[(N|MS)\]").unwrap();
    let found = call.captures_iter(transcript);
    let parsed = found.filter_map(|found| {
        let json = placeholder.replace_all(&found[2], ":0");
        Some((found[1].to_owned(), serde_json::from_str(&json).ok()?))
    });
    parsed.collect()
}

/// Returns a table of the tags, by their events.
fn tags() -> String {
    let rows = tags_of_code()
        .into_iter()
        .map(|(event, tag)| format!("| `{event}` | `{tag}` |\n"));
    format!("| event | tag |\n|---|---|\n{}", rows.collect::<String>())
}

fn tags_of_code() -> BTreeMap<String, String> {
    let tag = Regex::new(r#"Tag::new\("(\w+)", "([a-z-]+)"\)"#).unwrap();
    let code = read("crates/engine/src/tags.rs");
    let found = tag.captures_iter(&code);
    found
        .map(|found| (found[2].to_owned(), found[1].to_owned()))
        .collect()
}
