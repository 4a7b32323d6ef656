//! Parses hermes' own record of a session: an export of its database, or its older session file. Both are JSON of
//! nearly the same form. The chat module fetches the record.

use serde::Deserialize;
use serde_json::Value;
use uwf_protocol::nodes::{ToolCall, Turn, TurnRole, Usage};
use uwf_util::mask::Masks;
use uwf_util::text::shorten;

use crate::bounded::TURN_TEXT;

/// A session as hermes recorded it. The fields are those that every version has, and those that we need.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub(super) struct Record {
    #[serde(default, alias = "session_id")]
    id: String,
    #[serde(default)]
    pub(super) model: Option<String>,
    /// The session that was split into this one because it became too long.
    #[serde(default)]
    parent_session_id: Option<String>,
    #[serde(default)]
    messages: Vec<Message>,
    #[serde(flatten)]
    totals: Totals,
}

/// The usage of a session since its start. The older session file does not have it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(default)]
struct Totals {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_read_tokens: Option<u64>,
    cache_write_tokens: Option<u64>,
    api_call_count: Option<u64>,
    estimated_cost_usd: Option<f64>,
    actual_cost_usd: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
struct Message {
    role: String,
    #[serde(default)]
    content: Value,
    #[serde(default)]
    reasoning: Option<String>,
    #[serde(default)]
    tool_calls: Value,
}

impl Record {
    /// Reads an export or a session file; `None` if the text is neither.
    pub(super) fn read(json: &str) -> Option<Self> {
        let record: Self = serde_json::from_str(json).ok()?;
        (!record.id.is_empty()).then_some(record)
    }

    /// Returns the turns since an earlier record. Messages to the agent are left out: the kit has them.
    /// Secrets go before anything is cut.
    pub(super) fn turns(&self, before: Option<&Self>, masks: &Masks) -> Vec<Turn> {
        let news = self.news(before).iter();
        news.filter_map(|message| turn(message, masks)).collect()
    }

    /// Returns the agent's last text since an earlier record.
    pub(super) fn answer(&self, before: Option<&Self>) -> Option<String> {
        let said = self.news(before).iter().rev();
        let mut said = said
            .filter(|message| message.role == "assistant")
            .map(Message::text);
        said.find(|text| !text.trim().is_empty())
    }

    /// Returns the usage since an earlier record, as far as it is known.
    pub(super) fn usage(&self, before: Option<&Self>) -> Usage {
        let before = match before {
            Some(before) if before.id == self.id => before.totals,
            // A part of the usage of a split session is counted in its parent.
            Some(_) => return Usage::default(),
            None if self.parent_session_id.is_some() => return Usage::default(),
            None => Totals::default(),
        };
        let (now, was) = (self.totals, before);
        let count = |pick: fn(&Totals) -> Option<u64>| {
            pick(&now)?.checked_sub(pick(&was).unwrap_or_default())
        };
        let cached = count(|totals| totals.cache_read_tokens);
        let written = count(|totals| totals.cache_write_tokens);
        let input = count(|totals| totals.input_tokens);
        // Hermes counts cached tokens separately, and counts unknown ones as zero.
        let input = input.map(|input| input + cached.unwrap_or(0) + written.unwrap_or(0));
        let told = |count: Option<u64>| count.filter(|_| input.is_some_and(|input| input > 0));
        let cost = |totals: &Totals| totals.actual_cost_usd.or(totals.estimated_cost_usd);
        let cost_usd = cost(&now).map(|now| now - cost(&was).unwrap_or_default());
        let cost_usd = cost_usd.filter(|cost| *cost > 0.0);
        Usage {
            input_tokens: told(input),
            output_tokens: told(count(|totals| totals.output_tokens)),
            cached_tokens: told(cached),
            cache_write_tokens: told(written),
            turns: count(|totals| totals.api_call_count).filter(|turns| *turns > 0),
            cost_usd,
            cost_estimated: cost_usd.is_some() && now.actual_cost_usd.is_none(),
            duration_ms: None,
        }
    }

    /// Returns the new messages. If the session was shortened or split in between, these are the last message to the agent
    /// and the messages after it.
    fn news(&self, before: Option<&Self>) -> &[Message] {
        let Some(before) = before else {
            return &self.messages;
        };
        if self.messages == before.messages {
            return &[];
        }
        if before.id == self.id && self.messages.len() > before.messages.len() {
            return &self.messages[before.messages.len()..];
        }
        let asked = self
            .messages
            .iter()
            .rposition(|message| message.role == "user");
        &self.messages[asked.unwrap_or_default()..]
    }
}

impl Message {
    /// Returns the text, joined if the message has parts.
    fn text(&self) -> String {
        match &self.content {
            Value::String(text) => text.clone(),
            Value::Array(parts) => {
                let texts = parts.iter().filter_map(|part| part["text"].as_str());
                texts.collect::<Vec<_>>().join("\n")
            }
            _ => String::new(),
        }
    }

    fn tool_calls(&self, masks: &Masks) -> Option<Vec<ToolCall>> {
        // Some versions store the calls as JSON in a string.
        let parsed: Option<Value> = self
            .tool_calls
            .as_str()
            .and_then(|text| serde_json::from_str(text).ok());
        let calls = parsed.as_ref().unwrap_or(&self.tool_calls).as_array()?;
        let call = |call: &Value| {
            let function = &call["function"];
            let args = &function["arguments"];
            Some(ToolCall {
                id: None,
                name: function["name"].as_str()?.to_owned(),
                args: match args.as_str() {
                    Some(text) => shorten(&masks.text(text), TURN_TEXT),
                    None => shorten(&masks.text(&args.to_string()), TURN_TEXT),
                },
            })
        };
        let calls: Vec<ToolCall> = calls.iter().filter_map(call).collect();
        (!calls.is_empty()).then_some(calls)
    }
}

fn turn(message: &Message, masks: &Masks) -> Option<Turn> {
    let role = match message.role.as_str() {
        "assistant" => TurnRole::Assistant,
        "tool" => TurnRole::Tool,
        _ => return None,
    };
    Some(Turn {
        index: 0,
        role,
        content: shorten(&masks.text(&message.text()), TURN_TEXT),
        tool_calls: message.tool_calls(masks),
        reasoning: message.reasoning.clone().filter(|text| !text.is_empty()),
        answers: None,
    })
}

#[cfg(test)]
mod tests;
