//! The story of a step, for readers: the instruction, the message of a person, the attempts that failed before, and the
//! answer. It is put together from the step's node and from the records of the thread.

use std::collections::HashMap;

use serde::Serialize;
use serde_json::Value;
use uwf_cas_fs::StoreError;
use uwf_moderator::{Route, reenter};
use uwf_protocol::checks::CheckResult;
use uwf_protocol::ids::{CasRef, RoleName, ThreadId};
use uwf_protocol::nodes::{Extraction, RefusedCalls, StepNode, Usage};
use uwf_protocol::permissions::Permissions;
use uwf_protocol::program::Program;
use uwf_protocol::work::Work;
use uwf_storage::ReplacedStep;
use uwf_thread::{Call, Stored, Turn, read_step, read_turns};
use uwf_util::text::cut_line;
use uwf_util::time;

use crate::Site;
use crate::first_instruction::first_instruction;
use crate::person_message::MessageContext;
use crate::read::activity::AttemptView;
use crate::read::branch::{ChildOfStep, children_of_step};
use crate::read::detail_summary::DetailSummary;
use crate::read::left_by_step::LeftByStep;
use crate::read::steps::replaced_by;
use crate::read::visit_story::{self, VisitStory};
use crate::thread::Thread;

/// How many characters of a tool's arguments are shown.
const ARGS_SHOWN: usize = 200;

/// A tool call in short.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ToolUse {
    /// The tool.
    pub name: String,
    /// The beginning of its arguments, on one line.
    pub args: Option<String>,
    /// The outcome, `ok`, `error` or `refused`, if it was recorded.
    pub outcome: Option<String>,
}

/// The story of one step.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StepStory {
    /// Its place in the thread, from 1.
    pub number: usize,
    /// The step.
    pub hash: CasRef,
    /// Who did it.
    pub role: RoleName,
    /// What the role is for, as the workflow says.
    pub goal: Option<String>,
    /// The label of the agent.
    pub agent: String,
    /// When it was stored, in milliseconds since 1970.
    pub timestamp: i64,
    /// The same, for people.
    pub time: String,
    /// How long it took, in milliseconds, if it is known.
    pub duration_ms: Option<u64>,
    /// The instruction of the graph; older steps have none.
    pub instruction: Option<String>,
    /// The template from which each branch of the role got an instruction of its own. Then the role itself has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template: Option<String>,
    /// The question that the role had asked before.
    pub question: Option<String>,
    /// The message of a person.
    pub person: Option<String>,
    /// What the agent answered, if that was kept.
    pub answer: Option<String>,
    /// The data of the answer, if it is in the store.
    pub output: Option<Value>,
    /// How the data was extracted from the answer; `None` for details of other programs.
    pub extraction: Option<Extraction>,
    /// The tools that the agent called, in short and in order.
    pub tool_calls: Vec<ToolUse>,
    /// The tool calls that the agent was not allowed to make.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refused_calls: Vec<RefusedCalls>,
    /// What came of the checks of the role.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<CheckResult>,
    /// What it left beside its answer, with the commands that show it.
    #[serde(skip)]
    pub left: Vec<LeftByStep>,
    /// What the agent was allowed to do without asking, if anything said so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permissions: Option<Permissions>,
    /// The child threads that did it, in the order of the branches.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<ChildOfStep>,
    /// What the step used up, if anything is known.
    pub usage: Option<Usage>,
    /// How it went, if it is a step of a pipeline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub visit: Option<VisitStory>,
    /// The steps that it replaced, oldest first.
    pub replaces: Vec<CasRef>,
    /// The failed attempts at this step and at replacing it, oldest first.
    pub attempts: Vec<AttemptView>,
    /// Why a part of the step could not be read, if so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unreadable: Option<String>,
}

/// Reads the stories of a thread's steps.
pub(crate) struct StoryReader<'a> {
    pub(crate) site: &'a Site,
    pub(crate) thread: ThreadId,
    pub(crate) program: &'a Program,
    /// The node before the first step.
    pub(crate) start: CasRef,
    /// The head. Failed attempts to replace it are not part of its story: they are shown after the last step.
    pub(crate) head: CasRef,
    /// The steps of the thread that were done again.
    pub(crate) replaced: &'a [ReplacedStep],
    /// The failed attempts of the thread.
    pub(crate) attempts: &'a [AttemptView],
}

impl StoryReader<'_> {
    /// Reads the story of a step. A damaged node is named in the story; a node that is lost is an error.
    pub(crate) fn read(
        &self,
        number: usize,
        step: &Stored<StepNode>,
    ) -> Result<StepStory, StoreError> {
        let node = &step.node;
        let replaces = replaced_by(step.hash, self.replaced);
        let (context, message) = match self.message(node, replaces.last().copied()) {
            Some((context, message)) => (Some(context), message),
            None => (None, None),
        };
        let context = context.as_ref();
        let composed = node.edge_prompt.as_deref();
        let instruction = context.map(MessageContext::instruction).or(composed);
        let instruction = instruction
            .filter(|text| !text.trim().is_empty())
            .map(str::to_owned);
        let (instruction, template) = match self.has_branches(&node.role) {
            true => (None, instruction),
            false => (instruction, None),
        };
        let mut story = StepStory {
            number,
            hash: step.hash,
            role: node.role.clone(),
            goal: self.program.task(&node.role).map(|role| role.goal.clone()),
            agent: node.agent.clone(),
            timestamp: step.timestamp_ms,
            time: time::format_iso(step.timestamp_ms),
            duration_ms: node.duration_ms(),
            instruction,
            template,
            question: context
                .and_then(MessageContext::question)
                .map(str::to_owned),
            person: message,
            answer: None,
            output: None,
            extraction: None,
            tool_calls: Vec::new(),
            refused_calls: Vec::new(),
            checks: Vec::new(),
            left: Vec::new(),
            permissions: None,
            children: Vec::new(),
            usage: None,
            visit: None,
            attempts: self.attempts_at(step, &replaces),
            replaces,
            unreadable: None,
        };
        match self.add_answer(&mut story, node) {
            Err(error @ StoreError::Lost { .. }) => return Err(error),
            Err(error) => story.unreadable = Some(error.to_string()),
            Ok(()) => {}
        }
        Ok(story)
    }

    fn has_branches(&self, role: &RoleName) -> bool {
        let task = self.program.task(role);
        task.is_some_and(|role| matches!(role.work, Work::Branches(_)))
    }

    /// Adds the agent's answer and its data.
    fn add_answer(&self, story: &mut StepStory, node: &StepNode) -> Result<(), StoreError> {
        let output = self.site.store.need(node.output);
        if let Ok(node) = &output {
            story.output = Some(visit_story::data(node.type_hash, node.payload.clone()));
        }
        let detail = self.site.store.need(node.detail)?;
        let summary = DetailSummary::of(detail.type_hash, &detail.payload);
        story.left = LeftByStep::all(story.hash, &summary);
        story.extraction = summary.extraction;
        story.refused_calls = summary.refused_calls;
        story.checks = summary.checks;
        story.permissions = summary.permissions;
        story.usage = summary.usage;
        story.children = children_of_step(summary.children, story.output.as_ref());
        story.visit = VisitStory::read(&self.site.store, node)?;
        story.answer = uwf_thread::answer(&self.site.store, &detail.payload)?;
        match read_turns(&self.site.store, &detail.payload) {
            Ok(turns) => story.tool_calls = tool_uses(&turns),
            // The answer does not need the turns.
            Err(error) => story.unreadable = Some(error.to_string()),
        }
        output.map(|_| ())
    }

    /// Returns the message that a person may have sent before the step, and the context of it. `None` if the instruction
    /// has no place for a message.
    fn message(
        &self,
        node: &StepNode,
        redone: Option<CasRef>,
    ) -> Option<(MessageContext, Option<String>)> {
        let composed = node.edge_prompt.as_deref()?;
        let found = |context: MessageContext| {
            let message = context.message_in(composed)?.map(str::to_owned);
            Some((context, message))
        };
        if let Some(step) = redone
            && let Ok(old) = read_step(&self.site.store, step)
        {
            let instruction = old.node.edge_prompt.unwrap_or_default();
            return found(MessageContext::Redo { instruction, step });
        }
        if !MessageContext::may_be_in(composed) {
            return None;
        }
        let head = node.prev.unwrap_or(self.start);
        let before = Thread::load(&self.site.store, self.thread, head).ok()?;
        let addition = |instruction| found(MessageContext::Addition { instruction });
        match before.route(None).ok()?.ok()? {
            Route::Suspend { message, .. } => {
                let asked = &before.last()?.node;
                let question = |instruction| {
                    found(MessageContext::Question {
                        instruction,
                        question: message.clone(),
                    })
                };
                // In older steps the words about an answer that was done again were said again with the answer.
                question(first_instruction(&self.site.store, asked))
                    .or_else(|| question(asked.edge_prompt.clone()?))
            }
            Route::To(assignment) => addition(assignment.prompt),
            Route::Stop { .. } => None,
            Route::End { .. } => match reenter(&before.program).ok()? {
                Route::To(assignment) => addition(assignment.prompt),
                Route::Suspend { .. } | Route::Stop { .. } | Route::End { .. } => None,
            },
        }
    }

    fn attempts_at(&self, step: &Stored<StepNode>, replaces: &[CasRef]) -> Vec<AttemptView> {
        let prev = step.node.prev.unwrap_or(self.start);
        let is_part = |attempt: &&AttemptView| match attempt.replaces {
            None => attempt.head == prev,
            Some(redone) => {
                replaces.contains(&redone) || (redone == step.hash && redone != self.head)
            }
        };
        self.attempts.iter().filter(is_part).cloned().collect()
    }
}

/// Returns the tool calls of some turns. The turn that answers a call has its outcome.
fn tool_uses(turns: &[Turn]) -> Vec<ToolUse> {
    let answers = turns.iter().filter_map(|turn| turn.answers.as_ref());
    let outcomes: HashMap<&str, &str> = answers
        .map(|answers| (answers.id.as_str(), answers.outcome.as_str()))
        .collect();
    let calls = turns.iter().flat_map(|turn| &turn.calls);
    let short = |call: &Call| ToolUse {
        name: call.name.clone(),
        args: call.args.as_deref().map(|args| cut_line(args, ARGS_SHOWN)),
        outcome: call
            .id
            .as_deref()
            .and_then(|id| outcomes.get(id))
            .map(|outcome| (*outcome).to_owned()),
    };
    calls.map(short).collect()
}
