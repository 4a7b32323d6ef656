//! Checks that templates can be parsed, and that the answer of the previous role has the variables in them.

use std::sync::LazyLock;

use serde_json::Value;
use uwf_protocol::answer::STATUS_FIELD;
use uwf_protocol::checks::CHECKS_FAILED;
use uwf_protocol::ids::RoleName;
use uwf_protocol::schemas::checks_failed;
use uwf_protocol::work::{BranchesOf, Work};
use uwf_protocol::workflow::{Destination, Edges, NodeName, Problem, Severity, Workflow};
use uwf_schema::{Presence, Shape};

use super::statuses::{keys_of, routing_field};
use super::work::roles_of;
use super::{Edge, edges_of, with_suggestion};
use crate::children::NAMES_OF_BRANCHES;
use crate::condition::{self, Mention};
use crate::template::{self, Name, Part, Template, When};

/// The schema of the output of a step whose checks failed. Nothing is said about the data that the role answered.
static FAILED: LazyLock<Value> = LazyLock::new(checks_failed);

/// How many problems of one template are reported: nobody reads more.
const MAX_MESSAGES: usize = 20;

/// Returns the problems of all templates.
pub(super) fn check(workflow: &Workflow<Value>) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (node, edges) in &workflow.graph {
        for edge in edges_of(node, edges) {
            for (field, source) in [("prompt", edge.prompt), ("location", edge.location)] {
                let of_branches = field == "prompt" && leads_to_branches(workflow, &edge);
                let view = view_of(workflow, node, edges, &edge, of_branches);
                for (severity, message) in
                    source.map(|text| messages(text, &view)).unwrap_or_default()
                {
                    problems.push(Problem {
                        severity,
                        ..edge.problem(field, message)
                    });
                }
            }
        }
    }
    problems.extend(of_branches(workflow));
    problems
}

fn leads_to_branches(workflow: &Workflow<Value>, edge: &Edge<'_>) -> bool {
    let Destination::Role(role) = edge.to else {
        return false;
    };
    let work = workflow.roles.get(role).map(|role| &role.work);
    matches!(work, Some(Work::Branches(_)))
}

/// Returns the problems of the prompts that branches have of their own, for each edge that leads to their role.
fn of_branches(workflow: &Workflow<Value>) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (role, definition) in &workflow.roles {
        let Work::Branches(branches) = &definition.work else {
            continue;
        };
        let BranchesOf::Named(named) = &branches.of else {
            continue;
        };
        let views = views_of_branches(workflow, role);
        for (name, branch) in named {
            let prompt = branch.prompt.as_deref().unwrap_or_default();
            let path = ["roles", role.as_str(), "branches", name, "prompt"];
            for (severity, message) in views.iter().flat_map(|view| messages(prompt, view)) {
                let problem = Problem {
                    severity,
                    ..Problem::new(&path, message)
                };
                // Two edges may lack the same.
                if !problems.contains(&problem) {
                    problems.push(problem);
                }
            }
        }
    }
    problems
}

/// Returns what the branches of a role see: the answers before the edges that lead to it, or none where the role is itself a
/// branch.
fn views_of_branches<'w>(workflow: &'w Workflow<Value>, role: &RoleName) -> Vec<View<'w>> {
    let mut views = Vec::new();
    for (node, edges) in &workflow.graph {
        for edge in edges_of(node, edges) {
            if matches!(edge.to, Destination::Role(to) if to == role) {
                views.push(view_of(workflow, node, edges, &edge, true));
            }
        }
    }
    let mut works = workflow.roles.values().map(|role| &role.work);
    if views.is_empty() || works.any(|work| roles_of(work).any(|player| player == role)) {
        views.push(View::of_start(true));
    }
    views
}

/// The data of a template, and how certain its variables must be.
struct View<'w> {
    shape: Shape<'w>,
    /// The role whose answer it is; `None` at `$START`.
    role: Option<&'w str>,
    demand: Demand,
    /// The parts of answers that the condition of the edge names.
    conditional: Vec<String>,
    /// Whether each branch of a role fills the template in for itself.
    of_branches: bool,
}

impl View<'_> {
    /// Returns the view before any role has answered.
    fn of_start(of_branches: bool) -> Self {
        Self {
            shape: Shape::nothing(),
            role: None,
            demand: Demand::Always,
            conditional: Vec::new(),
            of_branches,
        }
    }
}

/// What the schema must guarantee about a variable.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Demand {
    /// The variable is always there: otherwise the thread is blocked.
    Always,
    /// The variable is always there, unless the condition of the edge checks it. Or the edge leads to `$END`: without the
    /// variable the thread has no result, and is complete nevertheless.
    Likely,
    /// The variable may be there: a condition or the answered status guarantees it in a way that the schema does not show.
    Possibly,
}

fn view_of<'w>(
    workflow: &'w Workflow<Value>,
    node: &'w NodeName,
    edges: &'w Edges,
    edge: &Edge<'w>,
    of_branches: bool,
) -> View<'w> {
    let NodeName::Role(role) = node else {
        return View::of_start(of_branches);
    };
    let definition = workflow.roles.get(role);
    let failed = edge
        .status
        .filter(|status| status.as_str() == CHECKS_FAILED);
    let has_failed = failed.is_some() && definition.is_some_and(|role| role.checks.is_some());
    let schema = match has_failed {
        true => Some(&*FAILED),
        false => definition.map(|role| &role.schema),
    };
    let mut shape = schema.map_or_else(Shape::unknown, Shape::of);
    let mut unsure = false;
    if let (Edges::ByStatus(targets), Some(status)) = (edges, edge.status) {
        let keys = definition.map_or_else(Vec::new, |role| keys_of(targets, role));
        if let Some(field) = routing_field(&shape, &keys) {
            let narrowed = shape.with_text(field, status.as_str());
            // The edge `_` of a role with one status matches no form.
            if narrowed.forms() > 0 {
                shape = narrowed;
            }
            unsure |= shape.has_form_with_texts(field);
        }
    }
    // The condition may hold for one form of the answer only.
    unsure |= edge.condition.is_some() && shape.forms() > 1;
    View {
        shape,
        role: Some(role.as_str()),
        demand: match edge.status {
            _ if unsure => Demand::Possibly,
            Some(_) if *edge.to != Destination::End => Demand::Always,
            Some(_) | None => Demand::Likely,
        },
        conditional: named_by_condition(workflow, edge),
        of_branches,
    }
}

/// Returns the parts of answers that the condition of an edge names: the condition may hold only if they are there.
fn named_by_condition(workflow: &Workflow<Value>, edge: &Edge<'_>) -> Vec<String> {
    let condition = edge
        .condition
        .and_then(|name| workflow.conditions.get(name));
    let mentions = condition.and_then(|one| condition::mentions(&one.expression).ok());
    let mentions = mentions.into_iter().flatten();
    let first = |mention| match mention {
        Mention::Answer { keys, .. } => keys.into_iter().next(),
        _ => None,
    };
    mentions.filter_map(first).collect()
}

/// Returns the problems of one template.
fn messages(source: &str, view: &View<'_>) -> Vec<(Severity, String)> {
    let template = match template::parse(source) {
        Ok(template) => template,
        Err(error) => return vec![(Severity::Error, format!("the template has {error}"))],
    };
    let mut walk = Walk {
        template: &template,
        view,
        scopes: vec![view.shape.clone()],
        guards: Vec::new(),
        messages: Vec::new(),
    };
    walk.parts(template.parts());
    walk.messages
}

/// A walk through a template. `scopes` has the shapes that names are looked up in, innermost last.
struct Walk<'a, 'w> {
    template: &'a Template<'a>,
    view: &'a View<'w>,
    scopes: Vec<Shape<'w>>,
    /// The names of the surrounding sections: their values are present.
    guards: Vec<&'a str>,
    messages: Vec<(Severity, String)>,
}

impl<'a, 'w> Walk<'a, 'w> {
    fn parts(&mut self, parts: &'a [Part<'a>]) {
        for part in parts {
            if self.messages.len() >= MAX_MESSAGES {
                return;
            }
            match part {
                Part::Text(text) => self.text(text),
                Part::Variable(name) => self.variable(*name),
                Part::Section { name, when, body } => self.section(*name, *when, body),
                Part::Partial(name) => {
                    let message = "is a partial; templates have none, use `!include`";
                    self.report(Severity::Error, *name, message);
                }
            }
        }
    }

    /// Finds tags of Liquid: mustache prints them unchanged.
    fn text(&mut self, text: &str) {
        for (at, _) in text.match_indices("{%").take(MAX_MESSAGES) {
            let inside = text[at + 2..].trim_start_matches('-').trim_start();
            if inside.starts_with(|first: char| first.is_ascii_alphabetic()) {
                let word: String = inside
                    .chars()
                    .take_while(char::is_ascii_alphabetic)
                    .collect();
                let message = format!(
                    "the Liquid tag `{{% {word} %}}` is not understood: templates are plain mustache"
                );
                self.messages.push((Severity::Error, message));
            }
        }
    }

    fn variable(&mut self, name: Name<'a>) {
        let (presence, _) = self.find(name.text);
        let severity = match self.view.demand {
            Demand::Always => Some(Severity::Error),
            Demand::Likely => Some(Severity::Warning).filter(|_| !self.is_in_condition(name)),
            Demand::Possibly => None,
        };
        match (presence, severity) {
            (Presence::Never, _) => self.undeclared(name),
            (Presence::Sometimes, Some(severity)) => {
                let text = name.text;
                let message = format!(
                    "may be missing from {}: put it in `required`, or write `{{{{#{text}}}}}…{{{{/{text}}}}}` \
                     around it",
                    self.answer()
                );
                self.report(severity, name, &message);
            }
            (Presence::Sometimes | Presence::Unknown | Presence::Always, _) => {}
        }
    }

    /// Tells whether the condition of the edge names the first word of a variable.
    fn is_in_condition(&self, name: Name<'_>) -> bool {
        let first = name.text.split('.').next();
        first.is_some_and(|first| self.view.conditional.iter().any(|one| one == first))
    }

    fn section(&mut self, name: Name<'a>, when: When, body: &'a [Part<'a>]) {
        let (presence, shape) = self.find(name.text);
        if presence == Presence::Never {
            self.undeclared(name);
        }
        if when == When::Absent {
            return self.parts(body);
        }
        // Inside a section whose name does not exist, no other name is reported.
        let inside = if presence == Presence::Never {
            Some(Shape::unknown())
        } else {
            shape.inside()
        };
        let depth = self.scopes.len();
        self.scopes.extend(inside);
        self.guards.push(name.text);
        self.parts(body);
        self.guards.pop();
        self.scopes.truncate(depth);
    }

    /// Returns whether a name has a value, and the shape of that value.
    fn find(&self, name: &str) -> (Presence, Shape<'w>) {
        let first = name.split('.').next().unwrap_or_default();
        if self.view.of_branches && NAMES_OF_BRANCHES.contains(&first) {
            return (Presence::Always, Shape::unknown());
        }
        if self.view.role.is_none() && name != STATUS_FIELD {
            return (Presence::Never, Shape::nothing());
        }
        if name == STATUS_FIELD {
            return (Presence::Always, Shape::unknown());
        }
        if name == "." {
            let innermost = self.scopes.last().cloned();
            return (Presence::Always, innermost.unwrap_or_else(Shape::nothing));
        }
        let mut path = String::new();
        let mut found: Option<(Presence, Shape<'w>)> = None;
        for word in name.split('.') {
            if found.is_some() {
                path.push('.');
            }
            path.push_str(word);
            let (so_far, next, shape) = match &found {
                None => {
                    let (presence, shape) = self.find_first(word);
                    (Presence::Always, presence, shape)
                }
                Some((so_far, shape)) => (*so_far, shape.presence(word), shape.member(word)),
            };
            let guarded = next != Presence::Never && self.guards.contains(&path.as_str());
            found = Some(if guarded {
                (Presence::Always, shape.present())
            } else {
                (so_far.min(next), shape)
            });
        }
        found.unwrap_or((Presence::Never, Shape::nothing()))
    }

    /// Looks the first word of a name up, from the innermost scope outwards.
    fn find_first(&self, word: &str) -> (Presence, Shape<'w>) {
        let mut found = (Presence::Never, Shape::nothing());
        for scope in self.scopes.iter().rev() {
            let presence = scope.presence(word);
            if found.0 == Presence::Never && presence != Presence::Never {
                found.1 = scope.member(word);
            }
            found.0 = found.0.max(presence);
        }
        found
    }

    fn undeclared(&mut self, name: Name<'a>) {
        let [item, index, count] = NAMES_OF_BRANCHES;
        let of_branches = format!("`{item}`, `{index}` and `{count}`");
        let message = match (self.view.role, self.view.of_branches) {
            (None, false) => "has no value: no role has answered before `$START`".to_owned(),
            (None, true) => format!(
                "has no value: no role has answered before `$START`; a branch has {of_branches}"
            ),
            (Some(_), false) => format!("is not in {}", self.answer()),
            (Some(_), true) => format!("is not in {}, nor one of {of_branches}", self.answer()),
        };
        let first = name.text.split('.').next().unwrap_or_default();
        let known = self.scopes.iter().rev().flat_map(Shape::names);
        let of_branches = NAMES_OF_BRANCHES.iter().copied();
        let known = known.chain(of_branches.filter(|_| self.view.of_branches));
        let message = with_suggestion(message, first, known.filter(|known| *known != first));
        self.report(Severity::Error, name, &message);
    }

    fn answer(&self) -> String {
        let role = self.view.role.unwrap_or_default();
        format!("the answer of `{role}`")
    }

    fn report(&mut self, severity: Severity, name: Name<'_>, message: &str) {
        let position = self.template.position(name.offset);
        let text = name.text;
        let message = format!("`{{{{{text}}}}}` at {position} of the template {message}");
        self.messages.push((severity, message));
    }
}
