//! The transcript of a session, assembled from the agent's updates: turns, and the answer.

use std::collections::HashMap;

use serde_json::Value;
use uwf_protocol::nodes::{Answered, Outcome, ToolCall, Turn, TurnRole};

use crate::json::plain;
use crate::shorten::{TURN_TEXT, shorten};

/// The transcript so far. The answer is the agent's text after its last tool call: text before it is a comment on the
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
}

/// What the agent said of a tool call before it asks for permission.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct Announced {
    /// Its word for the kind of the tool.
    pub(super) kind: String,
    /// What the tool is called with; null if the agent did not tell it.
    pub(super) input: Value,
}

impl Transcript {
    /// Adds an update, and returns its piece of the answer, if it has one.
    pub(super) fn update(&mut self, update: &Value) -> Option<String> {
        match update["sessionUpdate"].as_str()? {
            "agent_message_chunk" => {
                let text = content_text(&update["content"])?;
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
            "tool_call" => self.tool_call(update),
            "tool_call_update" => self.tool_result(update),
            "plan" => self.plan(&update["entries"]),
            // Newer kinds of updates change neither turns nor answer.
            _ => {}
        }
        None
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

    fn tool_call(&mut self, update: &Value) {
        let kind = update["kind"].as_str().unwrap_or_default();
        self.announce(update);
        let title = update["title"].as_str().filter(|title| !title.is_empty());
        let args = match &update["rawInput"] {
            Value::Null => content_texts(&update["content"]),
            input => input.to_string(),
        };
        self.close_turn(Some(ToolCall {
            name: title.unwrap_or(kind).to_owned(),
            args: shorten(&args, TURN_TEXT),
            id: update["toolCallId"].as_str().map(ToOwned::to_owned),
        }));
        let answer = std::mem::take(&mut self.answer);
        if !answer.trim().is_empty() {
            self.earlier = answer;
        }
    }

    fn tool_result(&mut self, update: &Value) {
        self.announce(update);
        // Earlier updates of a call only have a part of its result.
        let outcome = match update["status"].as_str() {
            Some("completed") => Outcome::Ok,
            Some("failed") => Outcome::Error,
            Some(_) | None => return,
        };
        let text = match content_texts(&update["content"]) {
            text if text.is_empty() => plain(&update["rawOutput"]),
            text => text,
        };
        self.push(TurnRole::Tool, &text);
        let call_id = update["toolCallId"].as_str().map(ToOwned::to_owned);
        if let (Some(call_id), Some(turn)) = (call_id, self.turns.last_mut()) {
            turn.answers = Some(Answered { call_id, outcome });
        }
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
        let content = shorten(content, TURN_TEXT);
        self.turns.push(Turn::spoken(role, &content));
    }

    fn close_turn(&mut self, call: Option<ToolCall>) {
        let reasoning = std::mem::take(&mut self.reasoning);
        let text = std::mem::take(&mut self.text);
        self.turns.push(Turn {
            index: 0,
            role: TurnRole::Assistant,
            content: shorten(&text, TURN_TEXT),
            tool_calls: call.map(|call| vec![call]),
            reasoning: (!reasoning.is_empty()).then(|| shorten(&reasoning, TURN_TEXT)),
            answers: None,
        });
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
mod tests {
    use super::*;
    use serde_json::json;

    fn of(updates: &[Value]) -> Transcript {
        let mut transcript = Transcript::default();
        for update in updates {
            transcript.update(update);
        }
        transcript.close();
        transcript
    }

    fn contents(transcript: &Transcript) -> Vec<&str> {
        let turns = transcript.turns().iter();
        turns.map(|turn| &*turn.content).collect()
    }

    fn says(text: &str) -> Value {
        json!({ "sessionUpdate": "agent_message_chunk", "content": { "type": "text", "text": text } })
    }

    fn thinks(text: &str) -> Value {
        json!({ "sessionUpdate": "agent_thought_chunk", "content": { "type": "text", "text": text } })
    }

    fn calls(id: &str) -> Value {
        json!({ "sessionUpdate": "tool_call", "toolCallId": id, "title": "terminal: ls", "kind": "execute",
            "rawInput": { "command": "ls" } })
    }

    fn ends(id: &str, status: &str) -> Value {
        json!({ "sessionUpdate": "tool_call_update", "toolCallId": id, "status": status,
            "content": [{ "type": "content", "content": { "type": "text", "text": "a.txt" } }] })
    }

    #[test]
    fn the_answer_begins_after_the_last_tool_call() {
        let transcript = of(&[
            says("Let me "),
            says("look.\n"),
            calls("1"),
            ends("1", "completed"),
            says("\n\n---\nnote: "),
            says("good\n---\n"),
        ]);
        assert_eq!(transcript.answer(), "---\nnote: good\n---");
        assert_eq!(
            contents(&transcript),
            ["Let me look.\n", "a.txt", "\n\n---\nnote: good\n---\n"]
        );
        let call = &transcript.turns()[0].tool_calls.as_ref().unwrap()[0];
        assert_eq!(
            (&*call.name, &*call.args),
            ("terminal: ls", r#"{"command":"ls"}"#)
        );
    }

    #[test]
    fn what_was_said_before_a_last_silent_tool_call_is_the_answer() {
        let transcript = of(&[says("Done."), calls("1"), calls("2"), ends("1", "failed")]);
        assert_eq!(transcript.answer(), "Done.");
        assert_eq!(transcript.turns().len(), 3);
    }

    #[test]
    fn thoughts_belong_to_what_is_said_after_them() {
        let transcript = of(&[
            thinks("Hm"),
            thinks("m."),
            says("A"),
            thinks("Oh."),
            says("B"),
        ]);
        let turns = transcript.turns();
        assert_eq!(turns.len(), 2);
        assert_eq!(turns[0].reasoning.as_deref(), Some("Hmm."));
        assert_eq!(turns[1].reasoning.as_deref(), Some("Oh."));
        assert_eq!(transcript.answer(), "AB");
    }

    #[test]
    fn plans_and_decisions_do_not_cut_an_answer() {
        let plan = json!({ "sessionUpdate": "plan", "entries": [
            { "content": "look", "status": "completed" }, { "content": "write" } ] });
        let mut transcript = of(&[says("A"), plan, says("B")]);
        transcript.decision("rejected");
        assert_eq!(transcript.answer(), "AB");
        assert_eq!(
            contents(&transcript),
            [
                "Plan:\n- [completed] look\n- [pending] write\n",
                "AB",
                "rejected"
            ]
        );
    }

    #[test]
    fn unknown_and_broken_updates_change_nothing() {
        let transcript = of(&[
            json!({ "sessionUpdate": "usage_update", "size": 1 }),
            json!({ "sessionUpdate": "agent_message_chunk", "content": { "type": "image" } }),
            json!({ "sessionUpdate": "tool_call_update", "status": "in_progress" }),
            json!({ "sessionUpdate": "plan", "entries": 7 }),
            json!({ "sessionUpdate": 3 }),
            json!(null),
        ]);
        assert_eq!((transcript.turns().len(), transcript.answer()), (0, ""));
    }

    #[test]
    fn turns_are_told_once() {
        let mut transcript = Transcript::default();
        transcript.update(&calls("1"));
        assert_eq!(transcript.news().len(), 1);
        assert_eq!(transcript.news().len(), 0);
        let announced = transcript.announced("1").unwrap();
        assert_eq!(announced.kind, "execute");
        assert_eq!(announced.input, json!({ "command": "ls" }));
        assert_eq!(transcript.announced("2"), None);
    }
}
