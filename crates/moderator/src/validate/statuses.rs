//! Checks that every status of a role's schema has an edge, and every edge has a status.

use std::collections::BTreeSet;

use indexmap::IndexMap;
use serde_json::Value;
use uwf_protocol::answer::STATUS_FIELD;
use uwf_protocol::checks::CHECKS_FAILED;
use uwf_protocol::ids::{RoleName, Status};
use uwf_protocol::work::{DONE, FAILED, Work, schema_of_played};
use uwf_protocol::workflow::{Edges, NodeName, Problem, Role, Target, Workflow};
use uwf_schema::{Presence, Shape, Texts};

use super::{quoted, with_suggestion};

/// Returns the problems of all roles with status maps.
pub(super) fn check(workflow: &Workflow<Value>) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (node, edges) in &workflow.graph {
        let (NodeName::Role(role), Edges::ByStatus(targets)) = (node, edges) else {
            continue;
        };
        if let Some(definition) = workflow.roles.get(role) {
            let keys = keys_of(targets, definition);
            if !keys.is_empty() || targets.contains_key(&Status::new(CHECKS_FAILED)) {
                problems.extend(Checked::new(role, definition, keys).problems());
            }
        }
    }
    problems
}

/// Returns the field that the answers of a role are routed by, if the schema has one.
///
/// A field `status` without `$` may be plain data. It counts only if the edges have other keys than `_`.
pub(super) fn routing_field(shape: &Shape<'_>, keys: &[&str]) -> Option<&'static str> {
    let names = shape.names();
    if names.contains(STATUS_FIELD) {
        Some(STATUS_FIELD)
    } else if names.contains("status") && keys != [Status::UNIT] {
        Some("status")
    } else {
        None
    }
}

/// Returns the keys of a status map, without `$SUSPEND`, which every role may answer, and without the status of failed checks
/// if the role has checks: its schema need not know it.
pub(super) fn keys_of<'w>(
    targets: &'w IndexMap<Status, Target>,
    role: &Role<Value>,
) -> Vec<&'w str> {
    let keys = targets.keys().map(Status::as_str);
    let is_of_answer = |key: &&str| match *key {
        Status::SUSPEND => false,
        CHECKS_FAILED => role.checks.is_none(),
        _ => true,
    };
    keys.filter(is_of_answer).collect()
}

/// A role with its schema and the keys of its edges.
struct Checked<'w> {
    role: &'w str,
    work: &'w Work<Value>,
    has_checks: bool,
    schema: &'w Value,
    shape: Shape<'w>,
    keys: Vec<&'w str>,
}

impl<'w> Checked<'w> {
    fn new(role: &'w RoleName, definition: &'w Role<Value>, keys: Vec<&'w str>) -> Self {
        let schema = &definition.schema;
        Self {
            role: role.as_str(),
            work: &definition.work,
            has_checks: definition.checks.is_some(),
            schema,
            shape: Shape::of(schema),
            keys,
        }
    }

    fn problems(&self) -> Vec<Problem> {
        let mut problems: Vec<Problem> = self.undiscriminated().into_iter().collect();
        let Some(field) = routing_field(&self.shape, &self.keys) else {
            if problems.is_empty() {
                problems.extend(self.without_field());
            }
            return problems;
        };
        let texts = self.shape.texts(field);
        if self.has_checks && texts.listed.contains(CHECKS_FAILED) {
            problems.push(self.of_schema(format!(
                "`{CHECKS_FAILED}` is the status of `{}` when its checks fail: give the status of its answer another name",
                self.role
            )));
            return problems;
        }
        if texts.open {
            problems.push(self.any_text(field));
            return problems;
        }
        let reserved = [Status::UNIT, Status::SUSPEND];
        let statuses: BTreeSet<&str> = texts.listed.iter().copied().collect();
        let named: Vec<&str> = statuses
            .into_iter()
            .filter(|s| !reserved.contains(s))
            .collect();
        if named.len() < 2 {
            problems.extend(self.one_status(named.first().copied(), &texts));
        } else {
            let unit = texts.listed.contains(Status::UNIT)
                || texts.absent && self.shape.presence(field) != Presence::Unknown;
            if unit && !self.keys.contains(&Status::UNIT) && problems.is_empty() {
                problems.push(self.may_lack(field));
            }
            problems.extend(self.many_statuses(&named, unit));
        }
        problems
    }

    fn of_schema(&self, message: String) -> Problem {
        Problem::new(&["roles", self.role, "frontmatter"], message)
    }

    fn of_edge(&self, key: &str, message: String) -> Problem {
        Problem::new(&["graph", self.role, key], message)
    }

    /// Finds variants of `oneOf` without a status.
    fn undiscriminated(&self) -> Option<Problem> {
        self.schema.get("oneOf")?.as_array()?;
        let field = routing_field(&self.shape, &self.keys).unwrap_or(STATUS_FIELD);
        let (without, all) = (self.shape.forms_without(field), self.shape.forms());
        (without > 0).then(|| {
            self.of_schema(format!(
                "{without} of the {all} variants of `{}` have no `{field}`: give each a `const` to route by",
                self.role
            ))
        })
    }

    /// Checks a role whose schema has no status: its only edge is `_`.
    fn without_field(&self) -> Vec<Problem> {
        let silent = self.shape.presence(STATUS_FIELD) == Presence::Unknown;
        if silent && self.keys != [Status::UNIT] {
            return vec![self.any_text(STATUS_FIELD)];
        }
        let others = self.keys.iter().filter(|key| **key != Status::UNIT);
        let mut problems: Vec<Problem> = others
            .map(|key| {
                let why = match *key {
                    CHECKS_FAILED => "it has no `checks`",
                    _ => "its schema has no `$status`, so only `_` is taken",
                };
                let message = format!("`{}` never answers `{key}`: {why}", self.role);
                self.of_edge(key, message)
            })
            .collect();
        if !self.keys.contains(&Status::UNIT) {
            let message = format!("`{}` has no `$status`, and no edge `_`", self.role);
            problems.push(Problem::new(&["graph", self.role], message));
        }
        problems
    }

    fn any_text(&self, field: &str) -> Problem {
        self.of_schema(format!(
            "the `{field}` of `{}` may be any text: list its values with `const` or `enum`, so that each has \
             an edge",
            self.role
        ))
    }

    fn may_lack(&self, field: &str) -> Problem {
        self.of_schema(format!(
            "`{}` may answer without a `{field}` that has an edge: put it in `required` and let it be one of \
             the named values, or add an edge `_`",
            self.role
        ))
    }

    /// Checks a role with at most one status: the key of its edge is that status or `_`.
    fn one_status(&self, status: Option<&str>, texts: &Texts<'_>) -> Vec<Problem> {
        let legal: Vec<&str> = [Some(Status::UNIT), status].into_iter().flatten().collect();
        let mut problems = self.never_answered(&legal);
        let present = self.keys.iter().filter(|key| legal.contains(key)).count();
        if present == 0 {
            let message = format!("`{}` has no edge {}", self.role, either(&legal));
            problems.push(Problem::new(&["graph", self.role], message));
        }
        let both_answered = texts.absent || texts.listed.contains(Status::UNIT);
        if present == 2 && !both_answered {
            let message = format!(
                "`{}` has one way out, so {} are the same edge: keep one",
                self.role,
                quoted(legal)
            );
            problems.push(self.of_edge(Status::UNIT, message));
        }
        problems
    }

    /// Checks a role with several statuses: each has an edge, and there are no other edges. `unit` says that the role may
    /// also answer without a status.
    fn many_statuses(&self, named: &[&str], unit: bool) -> Vec<Problem> {
        if self.keys.contains(&Status::UNIT) && !unit {
            let message = format!(
                "`_` is not a status of `{}`, which answers {}: give each its own edge",
                self.role,
                quoted(named.iter().copied())
            );
            return vec![self.of_edge(Status::UNIT, message)];
        }
        let mut legal = named.to_vec();
        legal.extend(unit.then_some(Status::UNIT));
        let mut problems = self.never_answered(&legal);
        let missing = named.iter().copied().filter(|s| !self.keys.contains(s));
        let missing = quoted(missing);
        if !missing.is_empty() {
            let message = format!("`{}` has no edge for {missing}", self.role);
            problems.push(Problem::new(&["graph", self.role], message));
        }
        problems
    }

    /// Finds edges for statuses that the schema does not allow.
    fn never_answered(&self, legal: &[&str]) -> Vec<Problem> {
        let extra = self.keys.iter().filter(|key| !legal.contains(key));
        extra
            .map(|key| {
                let why = match *key {
                    CHECKS_FAILED => "it has no `checks`".to_owned(),
                    _ => self.why_never(legal),
                };
                let message = format!("`{}` never answers `{key}`: {why}", self.role);
                let unused = legal
                    .iter()
                    .copied()
                    .filter(|status| !self.keys.contains(status));
                self.of_edge(key, with_suggestion(message, key, unused))
            })
            .collect()
    }

    /// Returns why the role answers nothing but these statuses. A role that other threads play may have no schema in its file.
    fn why_never(&self, legal: &[&str]) -> String {
        match self.work {
            Work::Branches(_) => format!("a role with branches answers `{DONE}` or `{FAILED}`"),
            Work::Workflow(_) if *self.schema == schema_of_played(&self.listed()) => {
                let ends = legal.iter().copied().filter(|end| *end != Status::UNIT);
                format!("the workflow that plays it ends with {}", quoted(ends))
            }
            Work::Workflow(_) | Work::Agent => "its schema does not allow it".to_owned(),
        }
    }

    /// Returns the statuses that the schema lists at its top, in its order.
    fn listed(&self) -> Vec<Status> {
        let listed = self.schema["properties"][STATUS_FIELD]["enum"].as_array();
        let listed = listed.into_iter().flatten().filter_map(Value::as_str);
        listed.map(Status::new).collect()
    }
}

fn either(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(" or ")
}
