//! Everything that is wrong with a `config.yaml`, all at once: keys, values, what refers to nothing, what is
//! missing. Nothing is read or written here.

use std::path::Path;

use serde::Serialize;
use uwf_protocol::endpoint;
use uwf_protocol::limits::Limits;
use uwf_util::suggest;

use crate::config_key::{self, Fields, Kind, Shape, TOP};
use crate::config_tree::{Node, Place};
use crate::{StorageError, yaml};

/// What was found in a configuration, by place.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Findings {
    /// What keeps it from being used.
    pub errors: Vec<Finding>,
    /// What may be meant so.
    pub warnings: Vec<Finding>,
}

/// One thing that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The line, from 1; 0 if it is not known.
    pub line: u64,
    /// The column, from 1; 0 if it is not known.
    pub column: u64,
    /// The dotted key; empty for the file as a whole.
    pub key: String,
    /// What is wrong, and what would do.
    pub problem: String,
    /// Whether the file cannot even be read because of this.
    #[serde(skip)]
    pub(crate) unreadable: bool,
    /// Whether it is a name that refers to nothing.
    #[serde(skip)]
    pub dangling: bool,
}

impl Findings {
    /// Returns the finding that the text is not what it should be at all.
    pub(crate) fn of_text(line: u64, column: u64, problem: String) -> Self {
        let finding = Finding {
            line,
            column,
            key: String::new(),
            problem,
            unreadable: true,
            dangling: false,
        };
        Self {
            errors: vec![finding],
            warnings: Vec::new(),
        }
    }
}

/// Checks a text; `is_set` tells which variables are there.
pub(crate) fn check(text: &str, is_set: &dyn Fn(&str) -> bool) -> Findings {
    let root: Option<Node> = match yaml::parse_written(text, Path::new("")) {
        Ok(root) => root,
        Err(StorageError::Invalid {
            line,
            column,
            problem,
            ..
        }) => return Findings::of_text(line, column, problem),
        Err(other) => return Findings::of_text(0, 0, other.to_string()),
    };
    let Some(root) = root.filter(|root| !root.is_null()) else {
        return Findings::default();
    };
    let mut check = Check {
        root: &root,
        findings: Findings::default(),
    };
    check.keys();
    check.references();
    check.variables(is_set);
    let mut findings = check.findings;
    findings.errors.sort_by_key(|one| (one.line, one.column));
    findings.warnings.sort_by_key(|one| (one.line, one.column));
    findings
}

struct Check<'a> {
    root: &'a Node,
    findings: Findings,
}

impl<'a> Check<'a> {
    /// Reports what keeps the file from being read.
    fn error(&mut self, place: Place, key: &str, problem: impl Into<String>) {
        let found = finding(place, key, problem.into(), true);
        self.findings.errors.push(found);
    }

    /// Reports what keeps an entry from being used.
    fn useless(&mut self, place: Place, key: &str, problem: String) {
        let found = finding(place, key, problem, false);
        self.findings.errors.push(found);
    }

    fn warning(&mut self, place: Place, key: &str, problem: String) {
        let found = finding(place, key, problem, false);
        self.findings.warnings.push(found);
    }

    /// Returns the entries of a mapping, and reports what is none.
    fn entries_of(&mut self, node: &'a Node, key: &str) -> &'a [(String, Place, Node)] {
        let Some(entries) = node.entries() else {
            self.error(node.place, key, "a mapping is needed here");
            return &[];
        };
        entries
    }

    fn keys(&mut self) {
        for (key, place, value) in self.entries_of(self.root, "") {
            let Some((_, shape)) = TOP.iter().find(|(known, _)| known == key) else {
                let known = TOP.iter().map(|(known, _)| *known);
                self.error(*place, key, config_key::unknown(key, known));
                continue;
            };
            match shape {
                Shape::Value(kind) => self.value(*kind, key, value),
                Shape::Entries(fields) => {
                    for (name, _, entry) in self.entries_of(value, key) {
                        let key = format!("{key}.{name}");
                        self.written(&key, entry);
                        self.fields(fields, &key, entry);
                    }
                }
                Shape::Section(fields) => self.fields(fields, key, value),
                Shape::Limits => self.limits(key, value),
                Shape::Purposes(known) => {
                    self.purposes(known, key, value);
                    self.texts(key, value);
                }
                Shape::MapOfMaps => {
                    for (name, _, inner) in self.entries_of(value, key) {
                        let key = format!("{key}.{name}");
                        self.written(&key, inner);
                        self.texts(&key, inner);
                    }
                }
            }
        }
    }

    fn fields(&mut self, fields: Fields, key: &str, entry: &'a Node) {
        for (name, place, value) in self.entries_of(entry, key) {
            let key = format!("{key}.{name}");
            match fields.iter().find(|(known, _)| known == name) {
                Some((_, kind)) => self.value(*kind, &key, value),
                None => {
                    let known = fields.iter().map(|(known, _)| *known);
                    self.error(*place, &key, config_key::unknown(name, known));
                }
            }
        }
    }

    fn limits(&mut self, key: &str, node: &'a Node) {
        for (name, place, value) in self.entries_of(node, key) {
            let key = format!("{key}.{name}");
            if !Limits::KEYS.contains(&name.as_str()) {
                let known = Limits::KEYS.into_iter();
                self.error(*place, &key, config_key::unknown(name, known));
                continue;
            }
            match value.entries() {
                Some(roles) if name == "maxVisits" => {
                    for (role, _, max) in roles {
                        self.value(Kind::Limit, &format!("{key}.{role}"), max);
                    }
                }
                _ => self.value(Kind::Limit, &key, value),
            }
        }
    }

    fn purposes(&mut self, known: &'static [&'static str], key: &str, node: &'a Node) {
        for (purpose, place, _) in node.entries().unwrap_or_default() {
            if !known.contains(&purpose.as_str()) {
                let problem = config_key::unknown(purpose, known.iter().copied());
                self.useless(*place, &format!("{key}.{purpose}"), problem);
            }
        }
    }

    /// Reports an entry that has nothing in it.
    fn written(&mut self, key: &str, entry: &Node) {
        if entry.is_null() {
            self.error(entry.place, key, "a mapping is needed here");
        }
    }

    fn texts(&mut self, key: &str, node: &'a Node) {
        for (name, _, value) in self.entries_of(node, key) {
            self.value(Kind::Text, &format!("{key}.{name}"), value);
            if value.is_null() {
                self.error(
                    value.place,
                    &format!("{key}.{name}"),
                    "a name is missing here",
                );
            }
        }
    }

    /// Checks one value; one that is not written counts as absent.
    fn value(&mut self, kind: Kind, key: &str, node: &Node) {
        if node.is_null() {
            return;
        }
        if let Some(problem) = kind.problem_with(key, &node.data()) {
            self.error(node.place, key, problem);
        }
    }

    fn references(&mut self) {
        let root = self.root;
        if let Some(node) = root.get("defaultAgent") {
            self.refers_to("agents", "defaultAgent", node);
        }
        if let Some(node) = root.get("defaultModel") {
            self.refers_to("models", "defaultModel", node);
        }
        for (purpose, _, node) in below(root, "modelOverrides") {
            self.refers_to("models", &format!("modelOverrides.{purpose}"), node);
        }
        for (workflow, _, roles) in below(root, "agentOverrides") {
            for (role, _, node) in roles.entries().unwrap_or_default() {
                self.refers_to("agents", &format!("agentOverrides.{workflow}.{role}"), node);
            }
        }
        for (name, place, model) in below(root, "models") {
            let key = format!("models.{name}");
            self.needs(&key, *place, model, &["provider", "name"]);
            if let Some(provider) = model.get("provider") {
                self.refers_to("providers", &format!("{key}.provider"), provider);
            }
        }
        for (name, place, provider) in below(root, "providers") {
            self.needs(&format!("providers.{name}"), *place, provider, &["baseUrl"]);
        }
        for (name, place, agent) in below(root, "agents") {
            self.needs(&format!("agents.{name}"), *place, agent, &["command"]);
        }
    }

    fn refers_to(&mut self, section: &str, key: &str, node: &Node) {
        let Some(name) = node.text() else { return };
        let known = below(self.root, section)
            .iter()
            .map(|(known, _, _)| known.as_str());
        if known.clone().any(|known| known == name) {
            return;
        }
        let meant = suggest::question(name, known);
        let problem = format!("`{name}` is not in `{section}`{meant}");
        let found = finding(node.place, key, problem, false);
        self.findings.errors.push(Finding {
            dangling: true,
            ..found
        });
    }

    fn needs(&mut self, key: &str, place: Place, entry: &Node, fields: &[&str]) {
        // What is no mapping is reported as that.
        if entry.is_null() || entry.entries().is_none() {
            return;
        }
        for field in fields {
            if entry.get(field).is_none_or(Node::is_null) {
                self.useless(place, key, format!("`{field}` is missing"));
            }
        }
    }

    fn variables(&mut self, is_set: &dyn Fn(&str) -> bool) {
        for (name, _, provider) in below(self.root, "providers") {
            let Some(node) = provider.get("apiKeyEnv") else {
                continue;
            };
            // What is no name is an error, and may be a key.
            let is_missing = |variable: &&str| endpoint::is_variable(variable) && !is_set(variable);
            let Some(variable) = node.text().filter(is_missing) else {
                continue;
            };
            let problem =
                format!("the variable `{variable}` is neither in the environment nor in `.env`");
            self.warning(node.place, &format!("providers.{name}.apiKeyEnv"), problem);
        }
    }
}

fn finding(place: Place, key: &str, problem: String, unreadable: bool) -> Finding {
    Finding {
        unreadable,
        dangling: false,
        line: place.line,
        column: place.column,
        key: key.to_owned(),
        problem,
    }
}

/// Returns the entries of a section of the file, if they are such.
fn below<'a>(root: &'a Node, section: &str) -> &'a [(String, Place, Node)] {
    let section = root.get(section).and_then(Node::entries);
    section.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use uwf_protocol::config::Config;

    use super::*;

    fn shown(text: &str) -> Vec<String> {
        let findings = check(text, &|name| name == "SET");
        let show =
            |one: &Finding| format!("{}:{} {}: {}", one.line, one.column, one.key, one.problem);
        let errors = findings.errors.iter().map(show);
        errors
            .chain(
                findings
                    .warnings
                    .iter()
                    .map(|one| format!("warning {}", show(one))),
            )
            .collect()
    }

    #[test]
    fn a_sound_file_has_no_findings() {
        for text in [
            "",
            "# nothing\n",
            "agents:\nagentOverrides: null\n",
            "providers: { p: { baseUrl: 'http://h/v1', apiKeyEnv: SET } }\n\
             models: { m: { provider: p, name: n } }\n\
             agents: { a: { command: c, args: [x], timeout: 5m, protocol: named } }\n\
             defaultAgent: a\ndefaultModel: m\n\
             agentOverrides: { w: { r: a } }\nmodelOverrides: { extract: m }\n",
        ] {
            assert_eq!(shown(text), Vec::<String>::new(), "{text}");
        }
    }

    #[test]
    fn everything_is_told_at_once_with_its_place() {
        let text = "\
defaultAgent: wrter
agnts: {}
agents:
  writer:
    comand: x
    timeout: soon
models:
  m: { provider: nobody, name: n }
agentOverrides:
  w: { r: gone }
providers:
  p: { baseUrl: ftp, apiKeyEnv: UNSET }
";
        let found = shown(text);
        let begins = [
            "1:15 defaultAgent: `wrter` is not in `agents`, did you mean `writer`?",
            "2:1 agnts: `agnts` is not known, did you mean `agents`?",
            "4:3 agents.writer: `command` is missing",
            "5:5 agents.writer.comand: `comand` is not known, did you mean `command`?",
            "6:14 agents.writer.timeout: `soon` is not a duration",
            "8:18 models.m.provider: `nobody` is not in `providers`",
            "10:11 agentOverrides.w.r: `gone` is not in `agents`",
            "12:17 providers.p.baseUrl: not an address",
            "warning 12:33 providers.p.apiKeyEnv: the variable `UNSET`",
        ];
        assert_eq!(found.len(), begins.len(), "{found:#?}");
        for (found, begin) in found.iter().zip(begins) {
            assert!(found.starts_with(begin), "{found} … {begin}");
        }
    }

    /// What the program cannot load has an error, and what it can load has none of that sort.
    #[test]
    fn the_check_and_the_program_agree() {
        for text in [
            "[]",
            "x",
            "agents: []",
            "agents: 1",
            "agents: { a: x }",
            "agents: { a: { command: [] } }",
            "agents: { a: { command: c, args: x } }",
            "agents: { a: { command: c, args: [1] } }",
            "agents: { a: { command: c, args: [[x]] } }",
            "agents: { a: { command: c, args: null } }",
            "agents: { a: { command: c, protocol: both } }",
            "agents: { a: { command: 12 } }",
            "agents: { a: { command: true } }",
            "agents: { a: null }",
            "agents:",
            "providers: ~",
            "agentOverrides: { w: null }",
            "agentOverrides: { w: { r: null } }",
            "modelOverrides: { extract: null }",
            "modelOverrides: { extract: [] }",
            "defaultAgent:",
            "defaultAgent: {}",
            "limits:",
            "limits: { maxSteps: 1, maxVisits: { r: 2 }, maxCostUsd: 0.5, maxDuration: 2h }",
            "limits: { maxSteps: 0 }",
            "limits: { maxSteps: '1' }",
            "limits: { maxSteps: 1.5 }",
            "limits: { maxVisits: { r: 0 } }",
            "limits: { maxVisits: [] }",
            "limits: { maxCostUsd: -1 }",
            "limits: { maxDuration: 5 }",
            "limits: { maxStep: 1 }",
            "limits: { unknownUsage: maybe }",
            "concurrency: { maxRunning: 2 }",
            "concurrency: { maxRunning: 0 }",
            "concurrency: { maxRunning: x }",
            "concurrency: { max: 1 }",
            "concurrency:",
            "agents: { a: { command: c, maxRunning: 5000000000 } }",
            "a: [",
            "defaultAgent: a\ndefaultAgent: b",
        ] {
            let loaded = yaml::parse_written::<Option<Config>>(text, Path::new("")).is_ok();
            let findings = check(text, &|_| true);
            let unreadable = findings.errors.iter().any(|one| one.unreadable);
            assert_eq!(loaded, !unreadable, "{text}: {findings:?}");
        }
    }
}
