//! The transcript of a session, assembled from the agent's updates: turns, and the answer.

use std::collections::{HashMap, HashSet};

use serde_json::Value;
use uwf_protocol::nodes::{Answered, Outcome, ToolCall, Turn, TurnRole};
use uwf_util::mask::Masks;
use uwf_util::text::shorten;

use crate::bounded::TURN_TEXT;
use crate::json::plain;

/// The transcript so far. The answer is the agent's text after its last tool call and its result: text before it is a comment on the
/// work, and would precede the front matter.
#[derive(Debug, Default)]
pub(super) struct Transcript {
    turns: Vec<Turn>,
    /// How many turns [`news`](Self::news) has returned.
    returned: usize,
    text: String,
    reasoning: String,
    answer: String,
    /// The text before the last tool call.
    earlier: String,
    /// What the agent said of each tool call, by its id.
    calls: HashMap<String, Announced>,
    /// The last tool call, if more may be told about it before it is made.
    open_call: Option<ToolCall>,
    /// The ids of the calls that were refused.
    refused: HashSet<String>,
    /// The secrets that no turn may show.
    masks: Masks,
}

/// The updates after which nothing more is told of a call before it is made.
const SAID: [&str; 3] = ["agent_message_chunk", "agent_thought_chunk", "plan"];

/// What the agent said of a tool call before it asks for permission.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct Announced {
    /// Its word for the kind of the tool.
    pub(super) kind: String,
    /// What the tool is called with; null if the agent did not tell it.
    pub(super) input: Value,
}

impl Transcript {
    pub(super) fn new(masks: Masks) -> Self {
        Self {
            masks,
            ..Self::default()
        }
    }

    /// Adds an update, and returns its piece of the answer, if it has one.
    pub(super) fn update(&mut self, update: &Value) -> Option<String> {
        let kind = update["sessionUpdate"].as_str()?;
        if SAID.contains(&kind) {
            self.close_call();
        }
        match kind {
            "agent_message_chunk" => {
                let text = content_text(&update["content"]);
                let text = text.filter(|text| !text.is_empty())?;
                self.text.push_str(&text);
                self.answer.push_str(&text);
                return Some(text);
            }
            "agent_thought_chunk" => {
                if !self.text.is_empty() {
                    self.close_turn(None);
                }
                self.reasoning.push_str(&content_text(&update["content"])?);
            }
            "tool_call" | "tool_call_update" => self.tool_call(update),
            "plan" => self.plan(&update["entries"]),
            // Newer kinds of updates change neither turns nor answer.
            _ => {}
        }
        None
    }

    /// Records the call for which an agent asks permission. Some agents do not tell of a call before.
    pub(super) fn asks_for(&mut self, call: &Value) {
        self.told_of(call);
        self.close_call();
    }

    /// Records that a call was refused: what is told as its result is none of the tool.
    pub(super) fn was_refused(&mut self, tool_call_id: &str) {
        self.refused.insert(tool_call_id.to_owned());
    }

    /// Records how a request for permission was answered.
    pub(super) fn decision(&mut self, words: &str) {
        self.push(TurnRole::Tool, words);
    }

    /// Returns what was said of a tool call before.
    pub(super) fn announced(&self, tool_call_id: &str) -> Option<&Announced> {
        self.calls.get(tool_call_id)
    }

    /// Keeps what an update says of a tool call.
    fn announce(&mut self, update: &Value) {
        let Some(id) = update["toolCallId"].as_str() else {
            return;
        };
        let call = self.calls.entry(id.to_owned()).or_default();
        if let Some(kind) = update["kind"].as_str() {
            kind.clone_into(&mut call.kind);
        }
        if !update["rawInput"].is_null() {
            call.input = update["rawInput"].clone();
        }
    }

    /// Returns the turns that are complete and were not returned yet.
    pub(super) fn news(&mut self) -> Vec<Turn> {
        let news = self.turns[self.returned..].to_vec();
        self.returned = self.turns.len();
        news
    }

    /// Completes the current turn.
    pub(super) fn close(&mut self) {
        self.close_call();
        if !self.text.is_empty() || !self.reasoning.is_empty() {
            self.close_turn(None);
        }
    }

    /// Returns all turns that are complete.
    pub(super) fn turns(&self) -> &[Turn] {
        &self.turns
    }

    /// Returns the answer. Without any text after the last tool call, it is the text before that.
    pub(super) fn answer(&self) -> &str {
        match self.answer.trim() {
            "" => self.earlier.trim(),
            answer => answer,
        }
    }

    /// Takes what is told of a call. Agents may tell of the same call again, when they know with what it is made.
    fn told_of(&mut self, update: &Value) {
        let id = update["toolCallId"].as_str();
        let is_open = self
            .open_call
            .as_ref()
            .is_some_and(|call| call.id.as_deref() == id);
        let is_known = id.is_some_and(|id| self.calls.contains_key(id));
        self.announce(update);
        let args = arguments(update);
        match &mut self.open_call {
            Some(call) if is_open => {
                let known = std::mem::take(&mut call.args);
                call.args = if args.is_empty() { known } else { args };
            }
            _ if is_known => {}
            _ if id.is_none() && update["sessionUpdate"] != "tool_call" => {}
            _ => self.begin_call(update, args),
        }
    }

    fn begin_call(&mut self, update: &Value, args: String) {
        self.close_call();
        let kind = update["kind"].as_str().unwrap_or_default();
        let title = update["title"].as_str().filter(|title| !title.is_empty());
        self.open_call = Some(ToolCall {
            name: title.unwrap_or(kind).to_owned(),
            args,
            id: update["toolCallId"].as_str().map(ToOwned::to_owned),
        });
        self.set_answer_aside();
    }

    /// Makes what was said so far a comment on the work.
    fn set_answer_aside(&mut self) {
        let answer = std::mem::take(&mut self.answer);
        if !answer.trim().is_empty() {
            self.earlier = answer;
        }
    }

    /// Completes the turn that makes the last call: all that is told before the call is made is known.
    fn close_call(&mut self) {
        if let Some(call) = self.open_call.take() {
            let args = self.kept(&call.args);
            self.close_turn(Some(ToolCall { args, ..call }));
        }
    }

    fn tool_call(&mut self, update: &Value) {
        self.told_of(update);
        if update["status"] != "pending" {
            self.close_call();
        }
        self.tool_result(update);
    }

    fn tool_result(&mut self, update: &Value) {
        // Earlier updates of a call only have a part of its result.
        let outcome = match update["status"].as_str() {
            Some("completed") => Outcome::Ok,
            Some("failed") if self.is_refused(update) => Outcome::Refused,
            Some("failed") => Outcome::Error,
            Some(_) | None => return,
        };
        let text = match content_texts(&update["content"]) {
            text if text.is_empty() => plain(&update["rawOutput"]),
            text => text,
        };
        // Some agents tell of their own state while a tool works.
        self.close();
        self.set_answer_aside();
        self.push(TurnRole::Tool, &text);
        let call_id = update["toolCallId"].as_str().map(ToOwned::to_owned);
        if let (Some(call_id), Some(turn)) = (call_id, self.turns.last_mut()) {
            turn.answers = Some(Answered { call_id, outcome });
        }
    }

    fn is_refused(&self, update: &Value) -> bool {
        let id = update["toolCallId"].as_str();
        id.is_some_and(|id| self.refused.contains(id))
    }

    fn plan(&mut self, entries: &Value) {
        let entries = entries.as_array().map_or(&[][..], Vec::as_slice);
        let line = |entry: &Value| {
            let status = entry["status"].as_str().unwrap_or("pending");
            format!("- [{status}] {}\n", entry["content"].as_str()?).into()
        };
        let lines: String = entries
            .iter()
            .filter_map(line)
            .collect::<Vec<String>>()
            .concat();
        if !lines.is_empty() {
            self.push(TurnRole::Tool, &format!("Plan:\n{lines}"));
        }
    }

    /// Adds a turn of another role. The agent's current turn continues after it.
    fn push(&mut self, role: TurnRole, content: &str) {
        let content = self.kept(content);
        self.turns.push(Turn::spoken(role, &content));
    }

    /// Returns as much of a text as a turn keeps. Secrets go before anything is cut.
    fn kept(&self, text: &str) -> String {
        shorten(&self.masks.text(text), TURN_TEXT)
    }

    fn close_turn(&mut self, call: Option<ToolCall>) {
        let reasoning = std::mem::take(&mut self.reasoning);
        let text = std::mem::take(&mut self.text);
        self.turns.push(Turn {
            index: 0,
            role: TurnRole::Assistant,
            content: self.kept(&text),
            tool_calls: call.map(|call| vec![call]),
            reasoning: (!reasoning.is_empty()).then(|| self.kept(&reasoning)),
            answers: None,
        });
    }
}

/// Returns what a call is made with; empty if that is not told. What a call that has ended shows is its result.
fn arguments(update: &Value) -> String {
    let has_ended = update["status"] == "completed" || update["status"] == "failed";
    match &update["rawInput"] {
        Value::Null if has_ended => String::new(),
        Value::Null => content_texts(&update["content"]),
        Value::Object(input) if input.is_empty() => String::new(),
        input => input.to_string(),
    }
}

/// Returns the text of a content block. Images, sounds and links have none.
fn content_text(block: &Value) -> Option<String> {
    let text = block["text"]
        .as_str()
        .or(block["resource"]["text"].as_str())?;
    Some(text.to_owned())
}

/// Returns the texts of what a tool call shows: blocks, and the new text of changes to files.
fn content_texts(content: &Value) -> String {
    let items = content.as_array().map_or(&[][..], Vec::as_slice);
    let text = |item: &Value| match item["type"].as_str()? {
        "diff" => Some(format!(
            "{}:\n{}",
            item["path"].as_str()?,
            item["newText"].as_str()?
        )),
        _ => content_text(&item["content"]),
    };
    items.iter().filter_map(text).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests;
