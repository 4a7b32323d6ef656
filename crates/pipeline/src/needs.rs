//! What a pipeline needs of the context: a run without it would fail at a step that names it.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::tree::{Tree, TreeMap};
use crate::value::part;
use crate::{
    Code, ForEach, Items, Pipeline, Place, Problem, Program, Provider, Reference, Run, Step,
    Template, When, Work, merged,
};

/// A variable of the context in a workflow file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextUse {
    /// Where it stands.
    pub place: Place,
    /// The key of the context, and the path into its value.
    pub path: Vec<String>,
}

impl ContextUse {
    /// Returns what is wrong if the context has no value for it.
    #[must_use]
    pub fn problem(&self) -> Problem {
        Problem {
            place: self.place.clone(),
            code: Code::NoValue,
            message: format!("`${{context.{}}}` has no value", self.path.join(".")),
            hint: None,
        }
    }
}

/// Returns the variables of the context without a value that a pipeline needs, each at its first place. `uses` are those of
/// its file, which may have more steps.
#[must_use]
pub fn missing_context(
    uses: &[ContextUse],
    pipeline: &Pipeline,
    context: &Map<String, Value>,
) -> Vec<ContextUse> {
    let mut missing = needed(pipeline);
    missing.sort_unstable();
    missing.dedup();
    missing.retain(|path| value(context, path).is_none());
    let mut found = Vec::new();
    for used in uses {
        if let Ok(at) = missing.binary_search(&used.path) {
            missing.remove(at);
            found.push(used.clone());
        }
    }
    found
}

fn value<'c>(context: &'c Map<String, Value>, path: &[String]) -> Option<&'c Value> {
    let (key, path) = path.split_first()?;
    part(context.get(key)?, path)
}

/// Returns the values of the context that the steps of a pipeline name.
fn needed(pipeline: &Pipeline) -> Vec<Vec<String>> {
    let mut needs = Needs {
        providers: &pipeline.providers,
        paths: Vec::new(),
    };
    needs.steps(&pipeline.steps);
    needs.paths
}

/// The values that were named so far.
struct Needs<'p> {
    providers: &'p BTreeMap<String, Provider>,
    paths: Vec<Vec<String>>,
}

impl Needs<'_> {
    fn steps(&mut self, steps: &[Step]) {
        for step in steps {
            self.step(step);
        }
    }

    fn step(&mut self, step: &Step) {
        match &step.when {
            Some(When::Equals(sides)) => self.templates([&sides.left, &sides.right]),
            Some(When::Exists(path) | When::NotExists(path)) => self.templates([path]),
            None => {}
        }
        self.templates(&step.depends_on.required);
        self.templates(&step.depends_on.optional);
        match &step.work {
            Work::Run(run) => self.run(run),
            Work::WaitFor(wait) => self.templates([&wait.glob]),
            Work::ForEach(each) => self.each(each),
            Work::Workflow(call) => {
                self.templates([&call.name, &call.task]);
                self.members(&call.context);
            }
        }
    }

    fn run(&mut self, run: &Run) {
        self.templates(&run.input_file);
        self.templates(&run.output_file);
        match &run.program {
            Program::Command(words) => self.templates(words),
            Program::Provider { name, params } => {
                if let Some(provider) = self.providers.get(name) {
                    self.templates(&provider.command);
                    self.members(&merged(&provider.defaults, params));
                }
            }
            Program::CommandOverride { argv, params, .. } => {
                self.templates(argv);
                self.members(params);
            }
        }
    }

    fn each(&mut self, each: &ForEach) {
        if let Items::List(items) = &each.items {
            self.trees(items);
        }
        if let Some(moves) = &each.on_item_complete {
            self.templates(&moves.success);
            self.templates(&moves.failure);
        }
        self.steps(&each.steps);
    }

    fn trees(&mut self, trees: &[Tree]) {
        for tree in trees {
            match tree {
                Tree::Text(template) => self.templates([template]),
                Tree::List(items) => self.trees(items),
                Tree::Map(members) => self.members(members),
                Tree::Plain(_) => {}
            }
        }
    }

    fn members(&mut self, members: &TreeMap) {
        for (_, tree) in &members.0 {
            self.trees(std::slice::from_ref(tree));
        }
    }

    fn templates<'t>(&mut self, templates: impl IntoIterator<Item = &'t Template>) {
        let references = templates.into_iter().flat_map(Template::references);
        let paths = references.filter_map(|(_, reference)| match reference {
            Reference::Context(path) => Some(path.clone()),
            _ => None,
        });
        self.paths.extend(paths);
    }
}
