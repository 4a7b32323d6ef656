//! A pipeline as it is stored: normalised, so that files of equal meaning give equal pipelines.
//!
//! Defaults are written out, commands are split into words, and the providers include the built-in ones that are used.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::Template;
use crate::tree::{Tree, TreeMap};

/// The jump target that completes the run.
pub(crate) const END: &str = "_end";
/// The folder that is ours, in every workspace.
pub const OWN_FOLDER: &str = ".orchestrate";

/// A program that runs its steps one after the other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pipeline {
    /// What people call it. It has no meaning.
    pub name: String,
    /// What it is for. It has no meaning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether a failure without a handler ends the run.
    pub strict_flow: bool,
    /// The context that a run starts with.
    pub context: Map<String, Value>,
    /// The declared providers, and the built-in ones that are used.
    pub providers: BTreeMap<String, Provider>,
    /// The secrets of all steps.
    pub secrets: Vec<String>,
    /// The folders of task queues.
    pub queues: Queues,
    /// How many transitions a run may make.
    pub max_transitions: u64,
    /// The steps, in order.
    pub steps: Vec<Step>,
}

impl Pipeline {
    /// Returns the names of all secrets that the pipeline or a step of it declares, sorted, each once.
    #[must_use]
    pub fn all_secrets(&self) -> Vec<&str> {
        fn add<'p>(steps: &'p [Step], found: &mut Vec<&'p str>) {
            for step in steps {
                found.extend(step.secrets.iter().map(String::as_str));
                if let Some(each) = step.body() {
                    add(&each.steps, found);
                }
            }
        }
        let mut found: Vec<&str> = self.secrets.iter().map(String::as_str).collect();
        add(&self.steps, &mut found);
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Tells whether a step of the pipeline starts a workflow.
    #[must_use]
    pub fn starts_workflows(&self) -> bool {
        fn any(steps: &[Step]) -> bool {
            steps.iter().any(|step| match &step.work {
                Work::Workflow(_) => true,
                _ => step.body().is_some_and(|each| any(&each.steps)),
            })
        }
        any(&self.steps)
    }
}

/// The folders of task queues, relative to the workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Queues {
    /// Where tasks wait.
    pub inbox_dir: String,
    /// Where finished tasks are moved to.
    pub processed_dir: String,
    /// Where failed tasks are moved to.
    pub failed_dir: String,
    /// How the names of tasks end.
    pub task_extension: String,
}

impl Default for Queues {
    fn default() -> Self {
        Self {
            inbox_dir: "inbox".to_owned(),
            processed_dir: "processed".to_owned(),
            failed_dir: "failed".to_owned(),
            task_extension: ".task".to_owned(),
        }
    }
}

/// How the program of a model is called.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Provider {
    /// The command line.
    pub command: Vec<Template>,
    /// The parameters that a step need not give.
    #[serde(default)]
    pub defaults: TreeMap,
    /// How the program gets the prompt.
    #[serde(default)]
    pub input_mode: InputMode,
}

/// How a program gets its prompt.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InputMode {
    /// In an argument, where the command line says `${PROMPT}`.
    #[default]
    Argv,
    /// On its standard input.
    Stdin,
}

/// One step of a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Its name, which its siblings do not have.
    pub name: String,
    /// A label. It has no meaning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Without it, the step is always done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<When>,
    /// The files that must be there.
    #[serde(default, skip_serializing_if = "DependsOn::is_empty")]
    pub depends_on: DependsOn,
    /// The secrets that must be in the environment.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<String>,
    /// What is done.
    pub work: Work,
    /// Where the flow goes then.
    #[serde(default, skip_serializing_if = "Handlers::is_empty")]
    pub on: Handlers,
    /// How often the step may be entered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_visits: Option<u64>,
}

/// What a step does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Work {
    /// It runs a program.
    Run(Box<Run>),
    /// It waits for files.
    WaitFor(Wait),
    /// It repeats a list of steps.
    ForEach(ForEach),
    /// It starts a workflow, which a child thread of the run does.
    Workflow(WorkflowCall),
}

/// A program to run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Which program.
    pub program: Program,
    /// The file that is the prompt of a provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_file: Option<Template>,
    /// The file that gets the whole output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_file: Option<Template>,
    /// How the output becomes data.
    pub capture: Capture,
    /// Variables of the environment, which are literal.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// How long an attempt may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// How often a failed attempt is repeated, if the step says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retries: Option<Retries>,
}

/// Which program a step runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Program {
    /// These words.
    Command(Vec<Template>),
    /// The command line of a provider.
    Provider {
        /// Its name.
        name: String,
        /// The parameters of the step.
        params: TreeMap,
    },
    /// These words, in place of the command line of a provider.
    CommandOverride {
        /// The words.
        argv: Vec<Template>,
        /// The provider, if the step names one.
        provider: Option<String>,
        /// The parameters of the step.
        params: TreeMap,
    },
}

/// How output becomes data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Capture {
    /// As one text.
    Text,
    /// As a list of lines.
    Lines,
    /// As one JSON value.
    Json {
        /// Whether output that is no JSON becomes text instead.
        allow_parse_error: bool,
    },
}

/// How often a failed attempt is repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retries {
    /// At most so many times.
    pub max: u64,
    /// The time before each.
    pub delay_ms: u64,
}

/// Files to wait for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Wait {
    /// The pattern of their paths.
    pub glob: Template,
    /// How long to wait.
    pub timeout_ms: u64,
    /// How long to sleep between two looks.
    pub poll_ms: u64,
    /// How many files are enough.
    pub min_count: u64,
}

/// A workflow to start.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkflowCall {
    /// Its name in the registry, its hash, or its file in the workspace.
    pub name: Template,
    /// What the child thread is to do.
    pub task: Template,
    /// Data that the child thread gets beside its task.
    #[serde(default, skip_serializing_if = "TreeMap::is_empty")]
    pub context: TreeMap,
}

/// A list of steps that is repeated for each item.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ForEach {
    /// The items.
    pub items: Items,
    /// The name of the variable that is the item.
    #[serde(rename = "as")]
    pub alias: String,
    /// The steps, in order.
    pub steps: Vec<Step>,
    /// What becomes of an item's file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_item_complete: Option<OnItemComplete>,
}

/// Where the items of a loop come from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Items {
    /// From the file.
    List(Vec<Tree>),
    /// From the result of a step.
    From(Pointer),
}

/// The list in the result of a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pointer {
    /// The name of the step.
    pub step: String,
    /// Which result.
    pub field: PointerField,
    /// The part of the JSON.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<String>,
}

/// The results of steps that can be lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PointerField {
    /// The captured lines.
    Lines,
    /// The captured JSON.
    Json,
}

/// Where the file of an item is moved to when the item is done.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct OnItemComplete {
    /// The folder for items that succeeded.
    pub success: Option<Template>,
    /// The folder for items that failed.
    pub failure: Option<Template>,
}

/// A condition on a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum When {
    /// Two texts are the same, byte by byte.
    Equals(Equals),
    /// A path matches the pattern.
    Exists(Template),
    /// No path matches the pattern.
    NotExists(Template),
}

/// The two texts of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields have the names of the sides")]
pub struct Equals {
    pub left: Template,
    pub right: Template,
}

/// The files that must be there before a step.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct DependsOn {
    /// The patterns that must match.
    #[serde(default)]
    pub required: Vec<Template>,
    /// The patterns that may match.
    #[serde(default)]
    pub optional: Vec<Template>,
    /// What the prompt says about the files.
    #[serde(default)]
    pub inject: Inject,
}

/// What a prompt says about the files that a step depends on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Inject {
    /// Nothing.
    #[default]
    None,
    /// Their paths.
    List,
    /// Their contents.
    Content,
}

impl DependsOn {
    fn is_empty(&self) -> bool {
        self.required.is_empty() && self.optional.is_empty() && self.inject == Inject::None
    }
}

/// Where the flow goes after a step.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Handlers {
    /// After exit code 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub success: Option<Goto>,
    /// After another exit code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Goto>,
    /// After any exit code; it replaces the others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub always: Option<Goto>,
}

impl Handlers {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns where the flow goes after an exit code, if the handlers say so.
    #[must_use]
    pub fn target(&self, exit_code: i64) -> Option<&Goto> {
        let usual = if exit_code == 0 {
            &self.success
        } else {
            &self.failure
        };
        self.always.as_ref().or(usual.as_ref())
    }
}

/// A jump.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Goto {
    /// To a step of the same list.
    Step(String),
    /// To the end of the run.
    End,
}

impl From<String> for Goto {
    fn from(text: String) -> Self {
        if text == END {
            Self::End
        } else {
            Self::Step(text)
        }
    }
}

impl From<Goto> for String {
    fn from(goto: Goto) -> Self {
        match goto {
            Goto::Step(name) => name,
            Goto::End => END.to_owned(),
        }
    }
}

impl Pipeline {
    /// Tells whether two pipelines do the same. Names, descriptions and labels do not count.
    #[must_use]
    pub fn means_the_same_as(&self, other: &Self) -> bool {
        self.meaning() == other.meaning()
    }

    /// Returns the pipeline without what has no meaning.
    fn meaning(&self) -> Self {
        Self {
            name: String::new(),
            description: None,
            steps: self.steps.iter().map(Step::meaning).collect(),
            ..self.clone()
        }
    }
}

impl Step {
    /// Returns the steps of the body, if this is a loop.
    #[must_use]
    pub fn body(&self) -> Option<&ForEach> {
        match &self.work {
            Work::ForEach(each) => Some(each),
            Work::Run(_) | Work::WaitFor(_) | Work::Workflow(_) => None,
        }
    }

    /// Returns the step without what has no meaning.
    fn meaning(&self) -> Self {
        let mut step = self.clone();
        step.agent = None;
        if let Work::ForEach(each) = &mut step.work {
            each.steps = each.steps.iter().map(Self::meaning).collect();
        }
        step
    }
}
