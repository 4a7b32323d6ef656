//! What `--help` of a command says, taken apart.

use std::collections::BTreeSet;

use crate::world::World;

/// How far the names of commands are indented; lines that go on are indented further.
const NAME_INDENT: usize = 2;
/// How far what is said of an option is indented.
const TEXT_INDENT: usize = 10;

pub(crate) struct Help {
    about: String,
    usage: String,
    /// The commands below this one, each with a text that names its aliases.
    commands: Vec<(String, String)>,
    /// Arguments and options, each with what is said of it.
    entries: Vec<(String, String)>,
    rest: String,
}

/// Which part of the help a line belongs to.
#[derive(Clone, Copy)]
enum Part {
    About,
    Commands,
    Entries,
    Rest,
}

impl Help {
    /// Asks a command for its help.
    pub(crate) fn of(world: &World, path: &[&str]) -> Self {
        let printed = world.uwf(&[path, &["--help"]].concat()).exits(0).stdout;
        let mut help = Self {
            about: String::new(),
            usage: String::new(),
            commands: Vec::new(),
            entries: Vec::new(),
            rest: String::new(),
        };
        let mut part = Part::About;
        for line in printed.lines() {
            part = help.read(line, part);
        }
        help
    }

    /// Reads a line, and returns the part that the next one belongs to.
    fn read(&mut self, line: &str, part: Part) -> Part {
        match line {
            "Commands:" => return Part::Commands,
            "Arguments:" | "Options:" | "Global options:" => return Part::Entries,
            _ => {}
        }
        if let Some(usage) = line.strip_prefix("Usage: ") {
            usage.clone_into(&mut self.usage);
            return part;
        }
        match part {
            Part::About => {
                // A long text is printed on several lines.
                let between = if self.about.is_empty() { "" } else { " " };
                self.about = format!("{}{between}{line}", self.about)
                    .trim_end()
                    .to_owned();
            }
            Part::Commands => self.commands.extend(command(line)),
            Part::Entries if !line.is_empty() && !line.starts_with(' ') => {
                self.rest = format!("{line}\n");
                return Part::Rest;
            }
            Part::Entries => self.read_entry(line),
            Part::Rest => self.rest += &format!("{line}\n"),
        }
        part
    }

    fn read_entry(&mut self, line: &str) {
        // The descriptions of values stand in a column.
        let text = line.split_whitespace().collect::<Vec<_>>().join(" ");
        if text.is_empty() {
            return;
        }
        if indent(line) < TEXT_INDENT {
            self.entries.push((text, String::new()));
            return;
        }
        let (_, said) = self.entries.last_mut().expect("a text follows its option");
        match text.strip_prefix("- ") {
            Some(value) if said.ends_with(':') => *said += &format!(" {value}"),
            Some(value) => *said += &format!("; {value}"),
            None if said.is_empty() => *said += &text,
            None if text.starts_with("Possible values") => *said += &format!(". {text}"),
            None => *said += &format!(" {text}"),
        }
    }

    pub(crate) fn about(&self) -> &str {
        &self.about
    }

    /// Returns how the command is called.
    pub(crate) fn usage(&self) -> String {
        format!("`{}`", self.usage)
    }

    /// Returns the commands below this one, each with a text that names its aliases, if it has some.
    pub(crate) fn commands(&self) -> impl Iterator<Item = (&str, &str)> {
        let commands = self.commands.iter();
        commands.map(|(name, aliases)| (name.as_str(), aliases.as_str()))
    }

    /// Returns the arguments and options, each with what is said of it.
    pub(crate) fn entries(&self) -> BTreeSet<(String, String)> {
        self.entries.iter().cloned().collect()
    }

    /// Returns a table of the arguments and options, without some of them; empty if none is left.
    pub(crate) fn table(&self, title: &str, without: &BTreeSet<(String, String)>) -> String {
        let shown = self.entries.iter().filter(|entry| !without.contains(entry));
        let rows = shown.map(|(head, said)| {
            let [head, said] = [head, said].map(|text| text.replace('|', "\\|"));
            format!("| `{head}` | {said} |\n")
        });
        match rows.collect::<String>() {
            rows if rows.is_empty() => rows,
            rows => format!("| {title} | |\n|---|---|\n{rows}"),
        }
    }

    /// Returns what follows the options, as a code block; empty if nothing does.
    pub(crate) fn rest(&self) -> String {
        match self.rest.is_empty() {
            true => String::new(),
            false => format!("```text\n{}```\n", self.rest),
        }
    }
}

/// Returns what a line of the list of commands says: a name, and its aliases.
fn command(line: &str) -> Option<(String, String)> {
    if indent(line) != NAME_INDENT {
        return None;
    }
    let name = line.split_whitespace().next()?;
    let aliases = line.rsplit_once("[alias").map(|(_, aliases)| {
        let (_, names) = aliases.split_once(": ").expect("names follow");
        let names = names.trim_end_matches(']').replace(", ", "`, `");
        format!(" (also `{names}`)")
    });
    (name != "help").then(|| (name.to_owned(), aliases.unwrap_or_default()))
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}
