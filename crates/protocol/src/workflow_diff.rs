//! What differs between two workflows, as data. It compares the models, so the order of keys in a file does not matter.

mod work;

use std::collections::HashMap;
use std::hash::Hash;

use indexmap::IndexMap;
use serde::Serialize;
use serde_json::Value;

use crate::ids::RoleName;
use crate::workflow::{Condition, Destination, Edges, NodeName, Role, Workflow};
use crate::workspace::WorkspaceMode;

/// What differs between two workflows, an old one and a new one. Parts that are alike are left out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct WorkflowDiff {
    /// The name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<Change<String>>,
    /// What the workflow is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<Change<String>>,
    /// The roles that were added, removed or changed.
    pub roles: Vec<RoleChange>,
    /// The edges that were added, removed or changed.
    pub edges: Vec<EdgeChange>,
    /// The nodes whose list has the same edges in another order, which decides which one is taken.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reordered: Vec<String>,
    /// The conditions that were added, removed or changed.
    pub conditions: Vec<Named<String>>,
    /// The limits that were added, removed or changed, also those of the supervisor and the context.
    pub limits: Vec<Named<Value>>,
    /// Where the agents of a thread work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<Change<WorkspaceMode>>,
}

/// A value before and after; `None` where there is none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change<T> {
    /// In the old workflow.
    pub before: Option<T>,
    /// In the new workflow.
    pub after: Option<T>,
}

/// A change of something with a name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Named<T> {
    /// Its name.
    pub name: String,
    /// How it changed.
    #[serde(flatten)]
    pub change: Change<T>,
}

/// How a part changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Only the new workflow has it.
    Added,
    /// Only the old workflow has it.
    Removed,
    /// Both have it, and it differs.
    Changed,
}

/// A role that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RoleChange {
    /// The role.
    pub role: RoleName,
    /// How it changed.
    pub change: Kind,
    /// What of it changed, by the keys of a workflow file; empty unless both workflows have the role.
    pub fields: Vec<&'static str>,
}

/// An edge that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EdgeChange {
    /// The node that it leaves.
    pub from: String,
    /// The status or the condition for which it is taken; `None` for an edge of a list without a condition.
    pub when: Option<String>,
    /// Where it leads, and with which texts.
    #[serde(flatten)]
    pub change: Change<EdgeSide>,
}

/// An edge in one of the workflows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EdgeSide {
    /// Where it leads.
    pub to: String,
    /// The template of the instruction.
    pub prompt: Option<String>,
    /// The template of the working directory.
    pub location: Option<String>,
}

impl WorkflowDiff {
    /// Compares two workflows.
    #[must_use]
    pub fn between<S: PartialEq>(old: &Workflow<S>, new: &Workflow<S>) -> Self {
        Self {
            name: changed(&old.name, &new.name),
            description: changed(&old.description, &new.description),
            roles: roles(&old.roles, &new.roles),
            edges: edges(&old.graph, &new.graph),
            reordered: reordered(&old.graph, &new.graph),
            conditions: conditions(&old.conditions, &new.conditions),
            limits: limits(old, new),
            workspace: (old.workspace != new.workspace).then_some(Change {
                before: old.workspace,
                after: new.workspace,
            }),
        }
    }

    /// Tells whether nothing differs.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl<T> Change<T> {
    /// Returns how the part changed.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match (&self.before, &self.after) {
            (None, _) => Kind::Added,
            (Some(_), None) => Kind::Removed,
            (Some(_), Some(_)) => Kind::Changed,
        }
    }
}

fn changed(old: &str, new: &str) -> Option<Change<String>> {
    (old != new).then(|| Change {
        before: Some(old.to_owned()),
        after: Some(new.to_owned()),
    })
}

/// Returns each key with its values that differ: the keys of the old map in its order, then those that are new.
fn differing<'a, K: Hash + Eq, V: PartialEq>(
    old: &'a IndexMap<K, V>,
    new: &'a IndexMap<K, V>,
) -> Vec<(&'a K, Option<&'a V>, Option<&'a V>)> {
    let of_old = old
        .iter()
        .map(|(key, value)| (key, Some(value), new.get(key)));
    let added = new.iter().filter(|(key, _)| !old.contains_key(*key));
    let added = added.map(|(key, value)| (key, None, Some(value)));
    of_old
        .filter(|(_, before, after)| before != after)
        .chain(added)
        .collect()
}

fn roles<S: PartialEq>(
    old: &IndexMap<RoleName, Role<S>>,
    new: &IndexMap<RoleName, Role<S>>,
) -> Vec<RoleChange> {
    let change = |(role, before, after): (&RoleName, Option<&Role<S>>, Option<&Role<S>>)| {
        let (change, fields) = match (before, after) {
            (Some(before), Some(after)) => (Kind::Changed, fields(before, after)),
            (None, _) => (Kind::Added, Vec::new()),
            (Some(_), None) => (Kind::Removed, Vec::new()),
        };
        RoleChange {
            role: role.clone(),
            change,
            fields,
        }
    };
    differing(old, new).into_iter().map(change).collect()
}

fn fields<S: PartialEq>(old: &Role<S>, new: &Role<S>) -> Vec<&'static str> {
    let compared = [
        ("description", old.description == new.description),
        ("goal", old.goal == new.goal),
        ("capabilities", old.capabilities == new.capabilities),
        ("procedure", old.procedure == new.procedure),
        ("output", old.output == new.output),
        ("frontmatter", old.schema == new.schema),
        ("extract", old.extract == new.extract),
        ("checks", old.checks == new.checks),
        ("session", old.session == new.session),
        ("context", old.context == new.context),
    ];
    let of_work = work::compared(&old.work, &new.work);
    let compared = compared.into_iter().chain(of_work);
    let differ = compared.filter(|(_, same)| !same);
    differ.map(|(field, _)| field).collect()
}

/// The name of an edge among those of its node. Edges of a list with the same condition are numbered.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum EdgeKey {
    Status(String),
    Condition(Option<String>, usize),
}

impl EdgeKey {
    fn when(&self) -> Option<String> {
        match self {
            Self::Status(status) => Some(status.clone()),
            Self::Condition(condition, _) => condition.clone(),
        }
    }
}

fn edges(old: &IndexMap<NodeName, Edges>, new: &IndexMap<NodeName, Edges>) -> Vec<EdgeChange> {
    let mut changes = Vec::new();
    for (node, before, after) in differing(old, new) {
        let [before, after] = [before, after].map(|edges| edges.map(sides).unwrap_or_default());
        let differing = differing(&before, &after).into_iter();
        changes.extend(differing.map(|(key, before, after)| EdgeChange {
            from: node.to_string(),
            when: key.when(),
            change: Change {
                before: before.cloned(),
                after: after.cloned(),
            },
        }));
    }
    changes
}

/// Returns the edges of a node by their keys, in their order.
fn sides(edges: &Edges) -> IndexMap<EdgeKey, EdgeSide> {
    let side = |to: &Destination, prompt: Option<&String>, location: Option<&String>| EdgeSide {
        to: to.to_string(),
        prompt: prompt.cloned(),
        location: location.cloned(),
    };
    let mut sides = IndexMap::new();
    match edges {
        Edges::ByStatus(targets) => {
            for (status, target) in targets {
                let key = EdgeKey::Status(status.as_str().to_owned());
                let target = side(&target.to, Some(&target.prompt), target.location.as_ref());
                sides.insert(key, target);
            }
        }
        Edges::InOrder(edges) => {
            let mut seen: HashMap<Option<&str>, usize> = HashMap::new();
            for edge in edges {
                let number = seen.entry(edge.condition.as_deref()).or_default();
                *number += 1;
                let key = EdgeKey::Condition(edge.condition.clone(), *number);
                let target = side(&edge.to, edge.prompt.as_ref(), edge.location.as_ref());
                sides.insert(key, target);
            }
        }
    }
    sides
}

/// Returns the nodes whose common edges stand in another order.
fn reordered(old: &IndexMap<NodeName, Edges>, new: &IndexMap<NodeName, Edges>) -> Vec<String> {
    let is_reordered = |(_, before, after): &(&NodeName, Option<&Edges>, Option<&Edges>)| {
        let (Some(before @ Edges::InOrder(_)), Some(after @ Edges::InOrder(_))) = (before, after)
        else {
            return false;
        };
        let [before, after] = [sides(before), sides(after)];
        let common = |one: &IndexMap<EdgeKey, EdgeSide>, other: &IndexMap<EdgeKey, EdgeSide>| {
            let keys = one.keys().filter(|key| other.contains_key(*key));
            keys.cloned().collect::<Vec<_>>()
        };
        common(&before, &after) != common(&after, &before)
    };
    let differing = differing(old, new).into_iter();
    let nodes = differing.filter(is_reordered);
    nodes.map(|(node, ..)| node.to_string()).collect()
}

fn conditions(
    old: &IndexMap<String, Condition>,
    new: &IndexMap<String, Condition>,
) -> Vec<Named<String>> {
    let expression = |condition: Option<&Condition>| condition.map(|it| it.expression.clone());
    let differing = differing(old, new).into_iter();
    let changes = differing.map(|(name, before, after)| Named {
        name: name.clone(),
        change: Change {
            before: expression(before),
            after: expression(after),
        },
    });
    // A condition with another description decides as before.
    changes
        .filter(|one| one.change.before != one.change.after)
        .collect()
}

fn limits<S>(old: &Workflow<S>, new: &Workflow<S>) -> Vec<Named<Value>> {
    let [old, new] = [old, new].map(Workflow::limits_by_name);
    let differing = differing(&old, &new).into_iter();
    let change = |(name, before, after): (&String, Option<&Value>, Option<&Value>)| Named {
        name: name.clone(),
        change: Change {
            before: before.cloned(),
            after: after.cloned(),
        },
    };
    differing.map(change).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::workflow_yaml::{Source, load};

    const OLD: &str = "
name: w
description: d
limits: { maxSteps: 5 }
conditions:
  enough: { description: x, expression: '$count(steps) > 3' }
roles:
  a: { description: a, goal: g, capabilities: [], procedure: p, output: o, frontmatter: { type: object } }
  b: { description: b, goal: g, capabilities: [], procedure: p, output: o, frontmatter: { type: object } }
graph:
  $START: { _: { role: a, prompt: go } }
  a: { _: { role: b, prompt: look } }
  b:
    - { role: $END, condition: enough }
    - { role: a }
";

    /// Returns the difference after each of these texts was replaced, once.
    fn diff(edits: &[(&str, &str)]) -> Value {
        let new = edits.iter().fold(OLD.to_owned(), |text, (from, to)| {
            assert!(text.contains(from), "{from}");
            text.replacen(from, to, 1)
        });
        serde_json::to_value(WorkflowDiff::between(&parse(OLD), &parse(&new))).unwrap()
    }

    fn parse(text: &str) -> Workflow<Value> {
        let source = Source {
            name: "w.yaml",
            text,
        };
        let include = |_: &str, _: &str| Err("there are no files".to_owned());
        let loaded = load(source, &include, &|_| Ok(Vec::new()), &|_| Vec::new());
        loaded.unwrap().workflow
    }

    #[test]
    fn equal_workflows_differ_in_nothing_whatever_the_order_of_their_keys() {
        let moved = OLD.replace("name: w\ndescription: d\n", "description: d\nname: w\n");
        assert!(WorkflowDiff::between(&parse(OLD), &parse(&moved)).is_empty());
    }

    #[test]
    fn roles_differ_by_their_keys() {
        let found = diff(&[(
            "  a: { description: a, goal: g",
            "  a: { description: a, goal: G",
        )]);
        let changed = json!([{ "role": "a", "change": "changed", "fields": ["goal"] }]);
        assert_eq!(found["roles"], changed);
        assert_eq!(found["edges"], json!([]));
        let schema = ("{ type: object } }", "{ type: object, title: t } }");
        assert_eq!(
            diff(&[schema])["roles"][0]["fields"],
            json!(["frontmatter"])
        );
    }

    #[test]
    fn a_renamed_role_is_removed_and_added_with_its_edges() {
        let found = diff(&[
            ("  b: { desc", "  c: { desc"),
            ("  b:\n", "  c:\n"),
            ("role: b", "role: c"),
        ]);
        let roles = json!([
            { "role": "b", "change": "removed", "fields": [] },
            { "role": "c", "change": "added", "fields": [] },
        ]);
        assert_eq!(found["roles"], roles);
        let side = |to: &str| json!({ "to": to, "prompt": "look", "location": null });
        let a = json!({ "from": "a", "when": "_", "before": side("b"), "after": side("c") });
        assert_eq!(found["edges"][0], a);
        assert_eq!(found["edges"].as_array().unwrap().len(), 5);
    }

    #[test]
    fn edges_of_a_list_differ_by_condition_and_by_order() {
        let found = diff(&[("    - { role: a }", "    - { role: a, prompt: again }")]);
        let [edge] = found["edges"].as_array().unwrap().as_slice() else {
            panic!("{found}")
        };
        assert_eq!((&edge["from"], &edge["when"]), (&json!("b"), &json!(null)));
        assert_eq!(edge["after"]["prompt"], json!("again"));
        let found = diff(&[
            ("    - { role: $END, condition: enough }\n", ""),
            (
                "    - { role: a }",
                "    - { role: a }\n    - { role: $END, condition: enough }",
            ),
        ]);
        assert_eq!(
            (&found["reordered"], &found["edges"]),
            (&json!(["b"]), &json!([]))
        );
    }

    #[test]
    fn conditions_and_limits_differ_by_their_values() {
        let found = diff(&[("> 3", "> 4"), ("maxSteps: 5", "maxTokens: 9")]);
        let conditions = json!([
            { "name": "enough", "before": "$count(steps) > 3", "after": "$count(steps) > 4" },
        ]);
        assert_eq!(found["conditions"], conditions);
        let limits = json!([
            { "name": "maxSteps", "before": 5, "after": null },
            { "name": "maxTokens", "before": null, "after": 9 },
        ]);
        assert_eq!(found["limits"], limits);
        let described = diff(&[("description: x", "description: y"), ("name: w", "name: v")]);
        assert_eq!(described["conditions"], json!([]));
        assert_eq!(described["name"], json!({ "before": "w", "after": "v" }));
    }
}
