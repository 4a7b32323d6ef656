//! Finds everything that is wrong with a `config.yaml` at once: keys, values, names that refer to nothing, missing
//! fields. This module reads and writes no file.

use serde::Serialize;
use uwf_protocol::config::McpServer;
use uwf_protocol::endpoint;
use uwf_protocol::limits::Limits;
use uwf_protocol::prices::{ModelPattern, PriceEntry};
use uwf_util::suggest;
use uwf_yaml::{At, Data, Dialect, Key, Node};

use crate::key::{self, Fields, Kind, Shape, TOP};

/// The message about a value in the place of a mapping.
pub(crate) const NO_MAPPING: &str = "a mapping is needed here";

/// The findings about a configuration, by place.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Findings {
    /// Mistakes that keep the file, or an entry of it, from being used.
    pub errors: Vec<Finding>,
    /// Probable mistakes.
    pub warnings: Vec<Finding>,
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The line, from 1; 0 if it is not known.
    pub line: u64,
    /// The column, from 1; 0 if it is not known.
    pub column: u64,
    /// The dotted key; empty for the file as a whole.
    pub key: String,
    /// What is wrong, and what would be right.
    pub problem: String,
    /// Whether the whole file cannot be loaded because of this.
    #[serde(skip)]
    pub(crate) unreadable: bool,
    /// Whether this is about a name that refers to nothing.
    #[serde(skip)]
    pub dangling: bool,
}

impl Findings {
    /// Returns the one finding about a text that cannot be parsed.
    pub(crate) fn of_text(at: At, problem: String) -> Self {
        Self {
            errors: vec![finding(at, "", problem, true)],
            warnings: Vec::new(),
        }
    }
}

/// Checks a text. `is_set` tells whether an environment variable is set.
pub(crate) fn check(text: &str, is_set: &dyn Fn(&str) -> bool) -> Findings {
    match uwf_yaml::parse(text, Dialect::Tolerant) {
        Ok(Some(root)) => check_tree(&root, is_set),
        Ok(None) => Findings::default(),
        Err(problem) => Findings::of_text(problem.at, problem.message),
    }
}

/// Checks a parsed text.
pub(crate) fn check_tree(root: &Node, is_set: &dyn Fn(&str) -> bool) -> Findings {
    let mut check = Check {
        root,
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
    /// Reports a mistake that keeps the file from being loaded.
    fn error(&mut self, place: At, key: &str, problem: impl Into<String>) {
        let found = finding(place, key, problem.into(), true);
        self.findings.errors.push(found);
    }

    /// Reports a mistake that makes an entry unusable.
    fn unusable(&mut self, place: At, key: &str, problem: String) {
        let found = finding(place, key, problem, false);
        self.findings.errors.push(found);
    }

    fn warning(&mut self, place: At, key: &str, problem: String) {
        let found = finding(place, key, problem, false);
        self.findings.warnings.push(found);
    }

    /// Returns the entries of a mapping. Anything else is reported, and has none.
    fn entries_of(&mut self, node: &'a Node, key: &str) -> &'a [(Key, Node)] {
        let Some(entries) = entries(node) else {
            self.error(node.at, key, NO_MAPPING);
            return &[];
        };
        entries
    }

    fn keys(&mut self) {
        for (Key { at, text: key }, value) in self.entries_of(self.root, "") {
            let Some((_, shape)) = TOP.iter().find(|(known, _)| known == key) else {
                let known = TOP.iter().map(|(known, _)| *known);
                self.error(*at, key, key::unknown(key, known));
                continue;
            };
            match shape {
                Shape::Value(kind) => self.value(*kind, key, value),
                Shape::Entries(fields) => self.named(fields, key, value),
                Shape::Prices => {
                    for (Key { at, text: model }, _) in entries(value).unwrap_or_default() {
                        if let Err(problem) = model.parse::<ModelPattern>() {
                            self.error(*at, &format!("{key}.{model}"), problem.to_string());
                        }
                    }
                    self.named(key::PRICE, key, value);
                }
                Shape::Known(names, fields) => self.known(names, fields, key, value),
                Shape::Section(fields) => self.fields(fields, key, value),
                Shape::Limits => self.limits(key, value),
                Shape::Purposes(known) => {
                    self.purposes(known, key, value);
                    self.values(Kind::Text, key, value);
                }
                Shape::MapOfMaps(kind) => {
                    for (Key { text: name, .. }, inner) in self.entries_of(value, key) {
                        let key = format!("{key}.{name}");
                        self.has_value(&key, inner);
                        self.values(*kind, &key, inner);
                    }
                }
            }
        }
    }

    /// Checks entries whose names the user chooses.
    fn named(&mut self, fields: Fields, key: &str, node: &'a Node) {
        for (Key { text: name, .. }, entry) in self.entries_of(node, key) {
            let key = format!("{key}.{name}");
            self.has_value(&key, entry);
            self.fields(fields, &key, entry);
        }
    }

    /// Checks entries whose names are known.
    fn known(&mut self, names: &'static [&'static str], fields: Fields, key: &str, node: &'a Node) {
        for (Key { at, text: name }, entry) in self.entries_of(node, key) {
            let key = format!("{key}.{name}");
            if !names.contains(&name.as_str()) {
                self.error(*at, &key, key::unknown(name, names.iter().copied()));
                continue;
            }
            self.has_value(&key, entry);
            self.fields(fields, &key, entry);
        }
    }

    fn fields(&mut self, fields: Fields, key: &str, entry: &'a Node) {
        for (Key { at, text: name }, value) in self.entries_of(entry, key) {
            let key = format!("{key}.{name}");
            match fields.iter().find(|(known, _)| known == name) {
                Some((_, Kind::Variables)) => self.agent_variables(&key, value),
                Some((_, kind)) => self.value(*kind, &key, value),
                None => {
                    let known = fields.iter().map(|(known, _)| *known);
                    self.error(*at, &key, key::unknown(name, known));
                }
            }
        }
    }

    /// Checks variables with their values.
    fn agent_variables(&mut self, key: &str, node: &'a Node) {
        self.value(Kind::Variables, key, node);
        for (Key { at, text: name }, value) in entries(node).unwrap_or_default() {
            // A text that is no name may be a secret, so it does not become part of a key.
            match key::variable_problem(name) {
                Some(problem) => self.error(*at, key, problem),
                None if value.is_null() => {
                    self.error(
                        value.at,
                        &format!("{key}.{name}"),
                        "a value is missing here",
                    );
                }
                None => self.value(Kind::VariableValue, &format!("{key}.{name}"), value),
            }
        }
    }

    fn limits(&mut self, key: &str, node: &'a Node) {
        for (Key { at, text: name }, value) in self.entries_of(node, key) {
            let key = format!("{key}.{name}");
            if !Limits::KEYS.contains(&name.as_str()) {
                let known = Limits::KEYS.into_iter();
                self.error(*at, &key, key::unknown(name, known));
                continue;
            }
            match entries(value) {
                Some(roles) if name == "maxVisits" => {
                    for (Key { text: role, .. }, max) in roles {
                        self.value(Kind::Limit, &format!("{key}.{role}"), max);
                    }
                }
                _ => self.value(Kind::Limit, &key, value),
            }
        }
    }

    fn purposes(&mut self, known: &'static [&'static str], key: &str, node: &'a Node) {
        for (Key { at, text: purpose }, _) in entries(node).unwrap_or_default() {
            if !known.contains(&purpose.as_str()) {
                let problem = key::unknown(purpose, known.iter().copied());
                self.unusable(*at, &format!("{key}.{purpose}"), problem);
            }
        }
    }

    /// Reports an entry without a value.
    fn has_value(&mut self, key: &str, entry: &Node) {
        if entry.is_null() {
            self.error(entry.at, key, NO_MAPPING);
        }
    }

    /// Checks entries that have one value each.
    fn values(&mut self, kind: Kind, key: &str, node: &'a Node) {
        for (Key { text: name, .. }, value) in self.entries_of(node, key) {
            self.value(kind, &format!("{key}.{name}"), value);
            if value.is_null() {
                self.error(
                    value.at,
                    &format!("{key}.{name}"),
                    "a value is missing here",
                );
            }
        }
    }

    /// Checks one value. A null counts as absent.
    fn value(&mut self, kind: Kind, key: &str, node: &'a Node) {
        if node.is_null() {
            return;
        }
        if let Kind::Group(fields) = kind {
            return self.fields(fields, key, node);
        }
        if let Some(problem) = kind.problem_with(key, &node.to_json()) {
            self.error(node.at, key, problem);
        }
    }

    fn references(&mut self) {
        let root = self.root;
        if let Some(node) = get(root, "defaultAgent") {
            self.refers_to("agents", "defaultAgent", node);
        }
        if let Some(node) = get(root, "defaultModel") {
            self.refers_to("models", "defaultModel", node);
        }
        for section in ["supervisor", "summary"] {
            let fields = below(root, section).iter();
            for (_, model) in fields.filter(|(field, _)| field.text == "model") {
                self.refers_to("models", &format!("{section}.model"), model);
            }
        }
        for (Key { text: purpose, .. }, node) in below(root, "modelOverrides") {
            self.refers_to("models", &format!("modelOverrides.{purpose}"), node);
        }
        for (Key { text: workflow, .. }, roles) in below(root, "agentOverrides") {
            for (Key { text: role, .. }, node) in entries(roles).unwrap_or_default() {
                self.refers_to("agents", &format!("agentOverrides.{workflow}.{role}"), node);
            }
        }
        for (Key { at, text: name }, model) in below(root, "models") {
            let key = format!("models.{name}");
            self.needs(&key, *at, model, &["provider", "name"]);
            if let Some(provider) = get(model, "provider") {
                self.refers_to("providers", &format!("{key}.provider"), provider);
            }
        }
        for (Key { at, text: name }, provider) in below(root, "providers") {
            self.needs(&format!("providers.{name}"), *at, provider, &["baseUrl"]);
        }
        for (Key { at, text: name }, server) in below(root, "mcpServers") {
            let key = format!("mcpServers.{name}");
            if let Some(problem) = McpServer::name_problem(name) {
                self.unusable(*at, &key, problem);
            }
            self.needs(&key, *at, server, &["command"]);
        }
        for (Key { at, text: model }, price) in below(root, "prices") {
            let key = format!("prices.{model}");
            self.needs(&key, *at, price, &PriceEntry::NEEDED);
        }
        for (Key { at, text: name }, agent) in below(root, "agents") {
            self.needs(&format!("agents.{name}"), *at, agent, &["command"]);
            let key = format!("agents.{name}.fallback");
            for other in fallback(agent) {
                self.refers_to("agents", &key, other);
            }
            if let Some(fallback) = get(agent, "fallback")
                && let Some(way) = self.way_back(name)
            {
                let problem = format!("it leads back to `{name}`: {}", way.join(" → "));
                self.unusable(fallback.at, &key, problem);
            }
        }
    }

    /// Returns the fallbacks that lead from an agent back to itself, if some do.
    fn way_back(&self, agent: &'a str) -> Option<Vec<&'a str>> {
        let agents = below(self.root, "agents");
        let mut ways = vec![vec![agent]];
        let mut seen = Vec::new();
        while let Some(way) = ways.pop() {
            let last = *way.last()?;
            let entry = agents.iter().find(|(known, _)| known.text == last);
            let next = entry.into_iter().flat_map(|(_, entry)| fallback(entry));
            for next in next.filter_map(text) {
                let longer = [way.clone(), vec![next]].concat();
                if next == agent {
                    return Some(longer);
                }
                if !seen.contains(&next) {
                    seen.push(next);
                    ways.push(longer);
                }
            }
        }
        None
    }

    fn refers_to(&mut self, section: &str, key: &str, node: &Node) {
        let Some(name) = text(node) else { return };
        let known = below(self.root, section)
            .iter()
            .map(|(known, _)| known.text.as_str());
        if known.clone().any(|known| known == name) {
            return;
        }
        let meant = suggest::question(name, known);
        let problem = format!("`{name}` is not in `{section}`{meant}");
        let found = finding(node.at, key, problem, false);
        self.findings.errors.push(Finding {
            dangling: true,
            ..found
        });
    }

    fn needs(&mut self, key: &str, place: At, entry: &Node, fields: &[&str]) {
        // Another check reports an entry that is not a mapping.
        if entry.is_null() || entries(entry).is_none() {
            return;
        }
        for field in fields {
            if get(entry, field).is_none_or(Node::is_null) {
                self.unusable(place, key, format!("`{field}` is missing"));
            }
        }
    }

    fn variables(&mut self, is_set: &dyn Fn(&str) -> bool) {
        for (Key { text: name, .. }, provider) in below(self.root, "providers") {
            let Some(node) = get(provider, "apiKeyEnv") else {
                continue;
            };
            // A text that is not a name is reported as an error elsewhere. It may be a secret, so it is not quoted here.
            let is_missing = |variable: &&str| endpoint::is_variable(variable) && !is_set(variable);
            let Some(variable) = text(node).filter(is_missing) else {
                continue;
            };
            let problem =
                format!("the variable `{variable}` is neither in the environment nor in `.env`");
            self.warning(node.at, &format!("providers.{name}.apiKeyEnv"), problem);
        }
        for (Key { text: name, .. }, agent) in below(self.root, "agents") {
            self.agent_secrets(name, agent, is_set);
        }
    }

    /// Warns of secrets of an agent that are nowhere: it could not be started.
    fn agent_secrets(&mut self, name: &str, agent: &'a Node, is_set: &dyn Fn(&str) -> bool) {
        let Some(Data::List(secrets)) = get(agent, "secrets").map(|node| &node.data) else {
            return;
        };
        let own = get(agent, "env").and_then(entries).unwrap_or_default();
        for node in secrets {
            let is_missing = |variable: &&str| {
                key::variable_problem(variable).is_none()
                    && !is_set(variable)
                    && !own.iter().any(|(key, _)| key.text == **variable)
            };
            if let Some(variable) = text(node).filter(is_missing) {
                let problem =
                    format!("the secret `{variable}` is neither in `.env` nor in the environment");
                self.warning(node.at, &format!("agents.{name}.secrets"), problem);
            }
        }
    }
}

fn finding(place: At, key: &str, problem: String, unreadable: bool) -> Finding {
    Finding {
        unreadable,
        dangling: false,
        line: place.line as u64,
        column: place.column as u64,
        key: key.to_owned(),
        problem,
    }
}

/// Returns the entries of a mapping; a null has none. Returns `None` for anything else.
fn entries(node: &Node) -> Option<&[(Key, Node)]> {
    match &node.data {
        Data::Map(entries) => Some(entries),
        Data::Null => Some(&[]),
        _ => None,
    }
}

fn get<'a>(node: &'a Node, name: &str) -> Option<&'a Node> {
    node.entry(name).map(|(_, value)| value)
}

fn text(node: &Node) -> Option<&str> {
    match &node.data {
        Data::Text(text) => Some(text),
        _ => None,
    }
}

/// Returns the fallbacks of an agent.
fn fallback(agent: &Node) -> &[Node] {
    match get(agent, "fallback").map(|fallback| &fallback.data) {
        Some(Data::List(items)) => items,
        _ => &[],
    }
}

/// Returns the entries of a section of the file, if the section is a mapping.
fn below<'a>(root: &'a Node, section: &str) -> &'a [(Key, Node)] {
    let section = get(root, section).and_then(entries);
    section.unwrap_or_default()
}

#[cfg(test)]
mod tests;
