//! The inside of a step, as data and as a document: its turns, and the prompt of its agent.
//!
//! Details of other programs are shown, too, as far as they resemble ours.

use serde::Serialize;
use uwf_cas_fs::Store;
use uwf_protocol::artifact::Artifact;
use uwf_protocol::checks::{CheckResult, line};
use uwf_protocol::ids::{CasRef, RoleName};
use uwf_protocol::nodes::{RefusedCalls, StepNode};
use uwf_protocol::permissions::Permissions;
use uwf_thread::{Answers, Call, ThreadError, Turn, read_turns};
use uwf_util::markdown::code;
use uwf_util::text::{counted, one_line};

use crate::read::detail_summary::DetailSummary;
use crate::read::document::{length, newest_that_fit, tagged};
use crate::read::visit_story::VisitStory;
use crate::{EngineError, Site};

/// The separator between the parts of a document.
const GAP: &str = "\n\n";

/// How much of a step to read.
#[derive(Debug, Clone, Copy)]
pub struct StepReadOptions {
    /// How long the document may be, in characters. The newest turn is always shown.
    pub quota: usize,
}

/// The turns of a step, for readers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StepTurns {
    /// The step.
    pub step: CasRef,
    /// Who did it.
    pub role: RoleName,
    /// The label of the agent.
    pub agent: String,
    /// How many earlier turns are left out.
    pub hidden: usize,
    /// The newest turns that fit, oldest first.
    pub turns: Vec<Turn>,
    /// The agent's answer, if it was kept.
    pub answer: Option<String>,
    /// The tool calls that the agent was not allowed to make.
    #[serde(rename = "refusedCalls", skip_serializing_if = "Vec::is_empty")]
    pub refused_calls: Vec<RefusedCalls>,
    /// What came of the checks of the role.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<CheckResult>,
    /// The files that the agent left.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<Artifact>,
    /// What the agent was allowed to do without asking, if anything said so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permissions: Option<Permissions>,
    /// The Markdown document; ends with one line end.
    #[serde(skip)]
    pub document: String,
}

/// The prompt of a step, for readers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StepPrompt {
    /// The step.
    pub step: CasRef,
    /// Who did it.
    pub role: RoleName,
    /// The label of the agent.
    pub agent: String,
    /// The whole prompt of the agent; `None` if it was not kept.
    pub prompt: Option<String>,
    /// The Markdown document; ends with one line end.
    #[serde(skip)]
    pub document: String,
}

/// Returns the newest turns of a step that fit the quota, oldest first, as data and as Markdown. If no turns were recorded,
/// the document has the answer.
///
/// # Errors
/// When the step or its detail is not in the store, or the node is not a step.
pub fn read_step(
    site: &Site,
    step: CasRef,
    options: &StepReadOptions,
) -> Result<StepTurns, EngineError> {
    let node = read(&site.store, step)?;
    let found = site.store.need(node.detail)?;
    let summary = DetailSummary::of(found.type_hash, &found.payload);
    let detail = found.payload;
    let mut turns = read_turns(&site.store, &detail)?;
    turns.retain(|turn| !turn.is_empty());
    let answer = uwf_thread::answer(&site.store, &detail)?;
    let mut blocks: Vec<String> = turns.iter().map(turn_section).collect();
    if blocks.is_empty() {
        let raw = uwf_thread::raw(&site.store, &detail)?;
        blocks.extend(raw.map(|raw| format!("## Answer{GAP}{}", content(&raw))));
    }
    if let Some(visit) = VisitStory::read(&site.store, &node)? {
        blocks = visit.sections();
    }
    let refused = RefusedCalls::note(&summary.refused_calls);
    let refused = refused.map_or_else(String::new, |note| {
        format!("\n**Refused:** {}", one_line(&note))
    });
    let checks = CheckResult::note(&summary.checks);
    let checks = checks.map_or_else(String::new, |note| {
        format!("\n**Checks:** {}", one_line(&note))
    });
    blocks.extend(summary.checks.iter().map(check_section));
    let permissions = summary.permissions;
    let permissions = permissions.map_or_else(String::new, |it| format!("\n**Permissions:** {it}"));
    let artifacts = artifacts_line(&summary.artifacts);
    let header = header(step, &node) + &permissions + &refused + &checks + &artifacts;
    let (document, hidden) = turns_document(&header, &blocks, options.quota);
    Ok(StepTurns {
        step,
        role: node.role,
        agent: node.agent,
        hidden,
        turns: turns.split_off(hidden.min(turns.len())),
        answer,
        refused_calls: summary.refused_calls,
        checks: summary.checks,
        artifacts: summary.artifacts,
        permissions: summary.permissions,
        document,
    })
}

/// Returns the line about artefacts; empty if there are none.
fn artifacts_line(artifacts: &[Artifact]) -> String {
    let shown = artifacts.iter().map(|one| match &one.problem {
        Some(problem) => format!("{} (not kept: {problem})", code(&one.path)),
        None => code(&one.path),
    });
    let shown: Vec<String> = shown.collect();
    match shown.is_empty() {
        true => String::new(),
        false => format!("\n**Artefacts:** {}", shown.join(", ")),
    }
}

/// Returns the whole prompt of a step's agent, as data and as Markdown. If it was not kept, the document says so.
///
/// # Errors
/// When the step is not in the store, or the node is not a step.
pub fn read_step_prompt(site: &Site, step: CasRef) -> Result<StepPrompt, EngineError> {
    let node = read(&site.store, step)?;
    let header = header(step, &node);
    let kept = match node.assembled_prompt {
        Some(hash) => uwf_thread::text(&site.store, hash)?,
        None => None,
    };
    let shown = match (&kept, node.assembled_prompt) {
        (Some(prompt), _) => prompt.clone(),
        (None, None) => "*(the prompt of this step was not kept)*".to_owned(),
        (None, Some(hash)) => {
            format!("*(the prompt of this step, `{hash}`, is not a text)*")
        }
    };
    Ok(StepPrompt {
        step,
        role: node.role,
        agent: node.agent,
        prompt: kept,
        document: format!("{header}{GAP}## Prompt{GAP}{shown}\n"),
    })
}

/// Returns a section about a check, with the end of what it printed.
fn check_section(result: &CheckResult) -> String {
    let heading = format!("## Check {}", one_line(&result.summary()));
    let command = code(&line(&result.command));
    let more = result.more_output.map_or_else(String::new, |more| {
        format!("{GAP}`uwf cas get {more}` shows more of the output.")
    });
    let output = match result.output.trim_end() {
        "" => String::new(),
        output => format!("{GAP}{}", content(output)),
    };
    format!("{heading}{GAP}{command}{more}{output}")
}

pub(super) fn read(store: &Store, hash: CasRef) -> Result<StepNode, EngineError> {
    store.get(hash)?;
    match uwf_thread::read_step(store, hash) {
        Ok(step) => Ok(step.node),
        Err(ThreadError::WrongType { .. }) if uwf_thread::read_start(store, hash).is_ok() => {
            Err(EngineError::StartIsNoStep { start: hash })
        }
        Err(error) => Err(error.into()),
    }
}

fn header(step: CasRef, node: &StepNode) -> String {
    let (role, agent) = (&node.role, one_line(&node.agent));
    format!("# Step {step}{GAP}**Role:** {role}\n**Agent:** {agent}")
}

fn turn_section(turn: &Turn) -> String {
    let number = turn.index.saturating_add(1);
    let calls: String = turn.calls.iter().map(call_line).collect();
    let answers = turn.answers.as_ref().map_or_else(String::new, answers_note);
    let head = format!(
        "## Turn {number}{GAP}**Turn role:** {}{answers}{calls}",
        one_line(&turn.role)
    );
    if turn.content.trim().is_empty() {
        return head;
    }
    format!("{head}{GAP}{}", content(&turn.content))
}

/// Returns the tool whose call a turn answers, and the outcome unless it is `ok`.
fn answers_note(answers: &Answers) -> String {
    let tool = answers.tool.as_deref().map(one_line);
    let outcome = (answers.outcome != "ok").then(|| one_line(&answers.outcome));
    let parts: Vec<String> = tool.into_iter().chain(outcome).collect();
    match parts.as_slice() {
        [] => String::new(),
        parts => format!(" ({})", parts.join(", ")),
    }
}

fn call_line(call: &Call) -> String {
    let name = one_line(&call.name);
    match &call.args {
        Some(args) => format!("\n- **{name}** — {}", code(args)),
        None => format!("\n- **{name}**"),
    }
}

/// Returns the text as it is, or between tags if it has lines that look like the document's own.
fn content(text: &str) -> String {
    let own = [
        "# Step ",
        "## Turn ",
        "## Answer",
        "## Check ",
        "**Turn role:**",
    ];
    let imitates = |line: &str| own.iter().any(|start| line.trim_start().starts_with(start));
    if text.lines().any(imitates) {
        tagged("content", text)
    } else {
        text.to_owned()
    }
}

/// Returns the document and how many of the oldest blocks are left out of it.
fn turns_document(header: &str, blocks: &[String], quota: usize) -> (String, usize) {
    let room = quota.saturating_sub(length(header) + 1);
    let count = blocks.len();
    let fitting = newest_that_fit(
        count,
        room,
        |hidden| length(&notice(hidden)) + GAP.len(),
        |nth| length(&blocks[count - 1 - nth]) + GAP.len(),
    );
    let hidden = count - fitting;
    let notice = (hidden > 0).then(|| notice(hidden));
    let parts = std::iter::once(header.to_owned())
        .chain(notice)
        .chain(blocks[hidden..].iter().cloned());
    (parts.collect::<Vec<_>>().join(GAP) + "\n", hidden)
}

fn notice(hidden: usize) -> String {
    format!(
        "*[{} not shown; a larger `--quota` shows more]*",
        counted(hidden, "earlier turn")
    )
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn section(turn: &Value) -> String {
        turn_section(&Turn::from_json(turn, 0))
    }

    #[test]
    fn a_turn_lists_its_tools_and_then_its_text() {
        let turn = json!({
            "index": 1, "role": "assistant", "content": "# Heading\ntext",
            "toolCalls": [{ "name": "bash", "args": "ls\n-l" }, { "name": "stop", "args": "" }],
        });
        let expected = "## Turn 2\n\n**Turn role:** assistant\n- **bash** — `ls -l`\n- **stop**\n\n# Heading\ntext";
        assert_eq!(section(&turn), expected);
    }

    #[test]
    fn a_text_that_imitates_the_document_stands_between_tags() {
        let turn = json!({ "content": "a\n## Turn 9\n</content>" });
        let expected = "## Turn 1\n\n**Turn role:** assistant\n\n<content-1>\na\n## Turn 9\n</content>\n</content-1>";
        assert_eq!(section(&turn), expected);
    }

    #[test]
    fn whatever_the_quota_a_document_of_turns_keeps_it() {
        let blocks: Vec<String> = (0..6)
            .map(|index| format!("## Turn {index}{GAP}ä {index}"))
            .collect();
        let whole = length(&turns_document("# Step", &blocks, 10_000).0);
        let least = length(&turns_document("# Step", &blocks, 1).0);
        for quota in least..=whole {
            assert!(
                length(&turns_document("# Step", &blocks, quota).0) <= quota,
                "{quota}"
            );
        }
        let (text, hidden) = turns_document("# Step", &blocks, 1);
        assert_eq!(hidden, 5);
        let notice =
            "# Step\n\n*[5 earlier turns not shown; a larger `--quota` shows more]*\n\n## Turn 5";
        assert!(text.starts_with(notice), "{text}");
    }

    #[test]
    fn a_step_without_turns_is_its_header() {
        assert_eq!(turns_document("# Step", &[], 10).0, "# Step\n");
    }
}
