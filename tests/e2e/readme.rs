//! The README is true: its files and commands are run as they stand there, and print what it says. So are other documents.
//!
//! `UWF_UPDATE=1` puts what they print into the document where it differs, instead of comparing.

use std::path::{Path, PathBuf};
use std::process::Command;

use regex::Regex;

use crate::golden::is_update;
use crate::world::{World, binary, path_with};

/// A code block of the README.
struct Block {
    language: String,
    /// The index of its first line in the file.
    first: usize,
    lines: Vec<String>,
}

#[test]
fn every_command_prints_what_the_readme_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    every_command_prints_what_is_said(&path, 10, &World::new());
}

/// Runs the commands of a document in a world, and compares what they print with what the document says.
#[track_caller]
pub(crate) fn every_command_prints_what_is_said(path: &Path, more_than: usize, world: &World) {
    let name = path.file_name().unwrap().display();
    let text = std::fs::read_to_string(path).unwrap();
    let blocks = blocks(&text);
    for block in &blocks {
        write_named_file(world, block);
    }
    let consoles: Vec<&Block> = blocks
        .iter()
        .filter(|block| block.language == "console")
        .collect();
    let commands: Vec<&str> = consoles
        .iter()
        .flat_map(|block| block.lines.iter())
        .filter_map(|line| line.strip_prefix("$ "))
        .collect();
    assert!(
        commands.len() > more_than,
        "{name} shows only {} commands",
        commands.len()
    );
    let printed = run_in_one_shell(world, &commands);
    let said: Vec<(String, String)> = consoles.iter().flat_map(|block| said_by(block)).collect();
    let differs =
        |((_, said), found): (&(String, String), &String)| normalised(said) != normalised(found);
    if is_update() && said.iter().zip(&printed).any(differs) {
        std::fs::write(path, with_outputs(&text, &consoles, &printed)).unwrap();
        return;
    }
    for ((command, said), found) in said.iter().zip(&printed) {
        assert_eq!(
            normalised(found),
            normalised(said),
            "`{command}` prints\n{found}(UWF_UPDATE=1 puts it into {name})"
        );
    }
}

#[test]
fn the_set_up_commands_are_those_of_the_gate() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    let gate = std::fs::read_to_string(root.join(".ci/run")).unwrap();
    assert!(readme.contains("\ncargo test --workspace\n"));
    let mut commands = gate.lines().map(str::trim);
    assert!(commands.any(|line| line.starts_with("cargo test --workspace ")));
    assert!(readme.contains("\ncargo run --release -- demo\n"));
}

fn blocks(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    for (index, line) in text.lines().enumerate() {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(language)) => {
                let language = language.to_owned();
                open = Some(Block {
                    language,
                    first: index + 1,
                    lines: Vec::new(),
                });
            }
            (None, None) => {}
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (Some(block), None) => block.lines.push(line.to_owned()),
        }
    }
    blocks
}

/// Writes the block into the file that a comment in its first two lines names, such as `# hello.yaml`.
fn write_named_file(world: &World, block: &Block) {
    let name = block
        .lines
        .iter()
        .take(2)
        .find_map(|line| line.strip_prefix("# "));
    let Some(name) = name.filter(|name| name.ends_with(".yaml") || name.ends_with(".sh")) else {
        return;
    };
    let text = block.lines.join("\n") + "\n";
    let path: PathBuf = world.write(name, &text);
    let made = Command::new("chmod").arg("755").arg(path).status().unwrap();
    assert!(made.success());
}

/// Runs the commands in one shell with `uwf` on its PATH, and returns what each prints.
fn run_in_one_shell(world: &World, commands: &[&str]) -> Vec<String> {
    let bin = world.project().join("bin");
    std::fs::create_dir(&bin).unwrap();
    std::os::unix::fs::symlink(binary(), bin.join("uwf")).unwrap();
    let script: String = commands
        .iter()
        .map(|command| format!("{command}\nprintf '\\001'\n"))
        .collect();
    let output = Command::new("sh")
        .args(["-c", &format!("exec 2>&1\n{script}")])
        .current_dir(world.project())
        .env_clear()
        .envs(world.environment())
        .env("PATH", path_with(&bin))
        .env("UWF_FORMAT", "text")
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let mut printed: Vec<String> = text.split('\u{1}').map(str::to_owned).collect();
    assert_eq!(printed.pop().as_deref(), Some(""));
    assert_eq!(printed.len(), commands.len(), "{text}");
    printed
}

/// Returns each command of a block with the output that follows it there.
fn said_by(block: &Block) -> Vec<(String, String)> {
    let mut said: Vec<(String, String)> = Vec::new();
    for line in &block.lines {
        match (line.strip_prefix("$ "), said.last_mut()) {
            (Some(command), _) => said.push((command.to_owned(), String::new())),
            (None, Some((_, output))) => {
                output.push_str(line);
                output.push('\n');
            }
            (None, None) => panic!("output without a command: {line}"),
        }
    }
    said
}

fn with_outputs(text: &str, consoles: &[&Block], printed: &[String]) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let mut at = printed.len();
    for block in consoles.iter().rev() {
        let commands = said_by(block);
        at -= commands.len();
        let new = commands
            .iter()
            .zip(&printed[at..])
            .flat_map(|((command, _), output)| {
                std::iter::once(format!("$ {command}")).chain(output.lines().map(str::to_owned))
            });
        let range = block.first..block.first + block.lines.len();
        lines.splice(range, new.collect::<Vec<_>>());
    }
    lines.join("\n") + "\n"
}

/// Returns the text without what differs from run to run: ids, hashes that contain a time, times.
fn normalised(text: &str) -> String {
    let replacements = [
        (r"\b01[0-9A-HJKMNP-TV-Z]{24}\b", "<thread>"),
        (r"\b[0-9A-HJKMNP-TV-Z]{13}\b", "<hash>"),
        (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "<time>"),
        (r"\b\d+(\.\d+)?(ms|s)\b", "<duration>"),
        (r#""durationMs":\d+"#, "<durationMs>"),
        (r"\b\d{8}T\d{6}Z-[0-9a-z]{6}\b", "<run>"),
        (r"\b\d{8}T\d{6}Z\b", "<time>"),
        (r"\b\d+ ms\b", "<duration>"),
        (r" +", " "),
    ];
    let mut text = text.to_owned();
    for (pattern, replacement) in replacements {
        text = Regex::new(pattern)
            .unwrap()
            .replace_all(&text, replacement)
            .into_owned();
    }
    text.trim_end().to_owned()
}
