//! The flow of a pipeline as a graph, and as text in two languages. As JSON, it is its own form.

mod dot;
mod mermaid;
mod way;

use serde::Serialize;

use crate::pipeline::END;
use crate::{Goto, Pipeline, Program, Step, Work};

pub use dot::dot;
pub use mermaid::mermaid;
pub use way::Passage;

/// The key of the node where a run begins.
const START: &str = "_start";

/// The steps of a pipeline, and where each leads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Graph {
    /// The name of the pipeline.
    pub name: String,
    /// The start, the steps in the order of the file, and the end.
    pub nodes: Vec<GraphNode>,
    /// The ways between them.
    pub edges: Vec<GraphEdge>,
}

/// A step, the start, or the end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GraphNode {
    /// Its key, with empty brackets for loops: `Loop[].Inner`.
    pub key: String,
    /// What it does.
    pub kind: NodeKind,
    /// Its name.
    pub name: String,
    /// What does it: the program, the provider, the pattern of files, or the workflow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The key of the loop that it is in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within: Option<String>,
}

/// What a node of the graph does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum NodeKind {
    Start,
    Command,
    Provider,
    WaitFor,
    ForEach,
    Workflow,
    End,
}

/// A way from one node to another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GraphEdge {
    /// The key of the node that it leaves.
    pub from: String,
    /// The key of the node that it leads to.
    pub to: String,
    /// After what it is taken.
    pub on: Vec<On>,
}

/// What a way is taken after.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum On {
    /// The start of the run.
    Start,
    /// Exit code 0.
    Success,
    /// Another exit code.
    Failure,
    /// A condition that does not hold.
    Skipped,
    /// The start of an item.
    Item,
}

impl On {
    fn as_str(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Success => "success",
            Self::Failure => "failure",
            Self::Skipped => "skipped",
            Self::Item => "each item",
        }
    }
}

/// Returns the graph of a pipeline. A failure that ends the run has no edge.
#[must_use]
pub fn graph(pipeline: &Pipeline) -> Graph {
    let node = |key: &str, kind| GraphNode {
        key: key.to_owned(),
        kind,
        name: key.trim_start_matches('_').to_owned(),
        by: None,
        within: None,
    };
    let mut graph = Graph {
        name: pipeline.name.clone(),
        nodes: vec![node(START, NodeKind::Start)],
        edges: Vec::new(),
    };
    graph.edge(START, &pipeline.steps[0].name, On::Start);
    let list = List {
        steps: &pipeline.steps,
        within: None,
        goes_on: !pipeline.strict_flow,
    };
    list.add_to(&mut graph);
    graph.nodes.push(node(END, NodeKind::End));
    graph
}

/// A list of steps that is being drawn.
struct List<'p> {
    steps: &'p [Step],
    /// The key of the loop that it is the body of.
    within: Option<String>,
    /// Whether a failure without a handler leads on.
    goes_on: bool,
}

impl List<'_> {
    fn key(&self, step: &str) -> String {
        match &self.within {
            Some(within) => format!("{within}[].{step}"),
            None => step.to_owned(),
        }
    }

    /// Returns the key of what a list leads to at its end: the next item of its loop, or the end of the run.
    fn end(&self) -> String {
        self.within.clone().unwrap_or_else(|| END.to_owned())
    }

    fn add_to(&self, graph: &mut Graph) {
        for (at, step) in self.steps.iter().enumerate() {
            let key = self.key(&step.name);
            let (kind, by) = kind_of(step);
            graph.nodes.push(GraphNode {
                key: key.clone(),
                kind,
                name: step.name.clone(),
                by,
                within: self.within.clone(),
            });
            if let Some(each) = step.body() {
                let body = List {
                    steps: &each.steps,
                    within: Some(key.clone()),
                    goes_on: self.goes_on,
                };
                graph.edge(&key, &body.key(&each.steps[0].name), On::Item);
                body.add_to(graph);
            }
            self.add_ways(at, step, &key, graph);
        }
    }

    fn add_ways(&self, at: usize, step: &Step, key: &str, graph: &mut Graph) {
        let next = self.steps.get(at + 1);
        let next = next.map_or_else(|| self.end(), |next| self.key(&next.name));
        let target = |goto: &Goto| match goto {
            Goto::Step(name) => self.key(name),
            Goto::End => END.to_owned(),
        };
        let success = step.on.target(0).map_or_else(|| next.clone(), target);
        graph.edge(key, &success, On::Success);
        // A failure ends the item in a body, also where the run goes on.
        let unhandled = match self.within {
            Some(_) => self.end(),
            None => next.clone(),
        };
        let failure = step.on.target(1).map(target);
        if let Some(failure) = failure.or_else(|| self.goes_on.then_some(unhandled)) {
            graph.edge(key, &failure, On::Failure);
        }
        if step.when.is_some() {
            graph.edge(key, &next, On::Skipped);
        }
    }
}

fn kind_of(step: &Step) -> (NodeKind, Option<String>) {
    match &step.work {
        Work::Run(run) => match &run.program {
            Program::Provider { name, .. } => (NodeKind::Provider, Some(name.clone())),
            Program::Command(argv) | Program::CommandOverride { argv, .. } => {
                let program = argv.first().map(|word| word.source().to_owned());
                (NodeKind::Command, program)
            }
        },
        Work::WaitFor(wait) => (NodeKind::WaitFor, Some(wait.glob.source().to_owned())),
        Work::ForEach(_) => (NodeKind::ForEach, None),
        Work::Workflow(call) => (NodeKind::Workflow, Some(call.name.source().to_owned())),
    }
}

impl Graph {
    /// Adds a way, or one more reason to an existing one.
    fn edge(&mut self, from: &str, to: &str, on: On) {
        let same = |edge: &&mut GraphEdge| edge.from == from && edge.to == to;
        if let Some(edge) = self.edges.iter_mut().find(same) {
            edge.on.push(on);
            return;
        }
        self.edges.push(GraphEdge {
            from: from.to_owned(),
            to: to.to_owned(),
            on: vec![on],
        });
    }

    /// Returns the label of an edge in a drawing; it is empty for the only way out of a step.
    fn label(&self, edge: &GraphEdge) -> String {
        let ways = self.edges.iter().filter(|other| other.from == edge.from);
        let is_only = ways.count() == 1;
        let on = edge.on.iter().map(|on| on.as_str());
        let on: Vec<&str> = on.collect();
        if is_only {
            String::new()
        } else {
            on.join(", ")
        }
    }
}

impl GraphNode {
    /// Returns the text of the node in a drawing.
    fn text(&self) -> String {
        let by = match (self.kind, &self.by) {
            (NodeKind::WaitFor, Some(glob)) => format!(" (waits for {glob})"),
            (NodeKind::Workflow, Some(name)) => format!(" (workflow {name})"),
            (_, Some(by)) => format!(" ({by})"),
            (NodeKind::ForEach, None) => " (for each)".to_owned(),
            (_, None) => String::new(),
        };
        uwf_util::printable::printable(&uwf_util::text::one_line(&format!("{}{by}", self.name)))
            .into_owned()
    }
}
