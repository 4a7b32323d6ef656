//! Streamed answers: splits server-sent events, and assembles the deltas of chat completions to one answer. Pure.

use serde_json::Value;

use super::wire::{self, WireError};
use super::{ChatReply, ToolRequest};

/// Splits a stream of bytes into the data of its events, wherever the pieces end.
#[derive(Debug, Default)]
pub(super) struct Events {
    /// The line that is not complete yet.
    line: Vec<u8>,
    /// The data lines of the event that is being read.
    data: Option<String>,
}

impl Events {
    /// Takes the next bytes and returns the data of the events that are complete with them.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Vec<String> {
        let mut complete = Vec::new();
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(piece);
            if self.line.last() == Some(&b'\n') {
                let line = std::mem::take(&mut self.line);
                complete.extend(self.line(&String::from_utf8_lossy(&line)));
            }
        }
        complete
    }

    /// Returns the event that the end of the stream completes.
    pub(super) fn end(&mut self) -> Option<String> {
        let line = std::mem::take(&mut self.line);
        self.line(&String::from_utf8_lossy(&line))
            .or_else(|| self.data.take())
    }

    /// Takes a whole line; a blank one ends an event.
    fn line(&mut self, line: &str) -> Option<String> {
        let line = line.trim_end_matches(['\n', '\r']);
        if line.is_empty() {
            return self.data.take();
        }
        // Comments and other fields than `data` are not needed.
        if let Some(data) = line.strip_prefix("data:") {
            let data = data.strip_prefix(' ').unwrap_or(data);
            match &mut self.data {
                Some(known) => {
                    known.push('\n');
                    known.push_str(data);
                }
                None => self.data = Some(data.to_owned()),
            }
        }
        None
    }
}

/// An answer of which some pieces have arrived.
#[derive(Debug, Default)]
pub(super) struct ChatAssembly {
    reply: ChatReply,
    has_started: bool,
    is_done: bool,
}

impl ChatAssembly {
    /// Takes the data of an event and returns the text that it adds.
    pub(super) fn take(&mut self, data: &str) -> Result<Option<String>, WireError> {
        if data.trim() == "[DONE]" {
            self.is_done = true;
            return Ok(None);
        }
        let event: Value = serde_json::from_str(data).map_err(|_| WireError::NotJson)?;
        wire::check_error(&event)?;
        self.has_started = true;
        let reply = &mut self.reply;
        wire::read_model(&event, &mut reply.model);
        wire::read_usage(&event, &mut reply.usage);
        let Some(choice) = event.pointer("/choices/0") else {
            return Ok(None);
        };
        if let Some(finish) = choice.get("finish_reason").and_then(Value::as_str) {
            reply.finish = Some(finish.to_owned());
        }
        // Some servers end with a whole message instead of a delta.
        let Some(delta) = choice.get("delta").filter(|delta| !delta.is_null()) else {
            return Ok(None);
        };
        if let Some(reasoning) = wire::reasoning(delta) {
            reply.reasoning.get_or_insert_default().push_str(&reasoning);
        }
        for call in delta
            .get("tool_calls")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            add_call(&mut reply.tool_calls, call);
        }
        let text = wire::text(delta).filter(|text| !text.is_empty());
        if let Some(text) = &text {
            reply.text.push_str(text);
        }
        Ok(text)
    }

    /// Returns the whole answer.
    pub(super) fn finish(mut self) -> Result<ChatReply, WireError> {
        if !self.has_started {
            return Err(WireError::Missing("choices"));
        }
        if !self.is_done && self.reply.finish.is_none() {
            return Err(WireError::Truncated);
        }
        self.reply.tool_calls.retain(|call| !call.name.is_empty());
        wire::name_calls(&mut self.reply.tool_calls);
        wire::move_thinking(&mut self.reply);
        Ok(self.reply)
    }
}

/// Adds a piece to the call with its index. Pieces without one belong to the last call, unless they begin one.
fn add_call(calls: &mut Vec<ToolRequest>, piece: &Value) {
    let text = |pointer: &str| piece.pointer(pointer).and_then(Value::as_str);
    let begins = text("/id").is_some_and(|id| calls.last().is_none_or(|last| last.id != id));
    let index = piece.get("index").and_then(Value::as_u64);
    let at = match index.and_then(|index| usize::try_from(index).ok()) {
        Some(index) => index.min(calls.len()),
        None if begins => calls.len(),
        None => calls.len().saturating_sub(1),
    };
    if at == calls.len() {
        calls.push(ToolRequest::default());
    }
    let call = &mut calls[at];
    if let Some(id) = text("/id").filter(|id| !id.is_empty()) {
        id.clone_into(&mut call.id);
    }
    if let Some(name) = text("/function/name") {
        call.name.push_str(name);
    }
    if let Some(arguments) = piece.pointer("/function/arguments") {
        call.arguments.push_str(&wire::arguments(arguments));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn events(text: &str, step: usize) -> Vec<String> {
        let mut events = Events::default();
        let mut found = Vec::new();
        for piece in text.as_bytes().chunks(step) {
            found.extend(events.push(piece));
        }
        found.extend(events.end());
        found
    }

    #[test]
    fn events_are_found_however_the_stream_is_cut() {
        let text = ": hello\ndata: {\"ä\":1}\n\nevent: x\r\ndata:two\r\ndata: lines\r\n\r\n\n\ndata: [DONE]";
        for step in [1, 2, 3, 7, 1000] {
            assert_eq!(
                events(text, step),
                ["{\"ä\":1}", "two\nlines", "[DONE]"],
                "{step}"
            );
        }
    }

    fn assemble(events: &[Value]) -> (Vec<String>, Result<ChatReply, WireError>) {
        let mut assembly = ChatAssembly::default();
        let mut texts = Vec::new();
        for event in events {
            let data = event
                .as_str()
                .map_or_else(|| event.to_string(), ToOwned::to_owned);
            match assembly.take(&data) {
                Ok(text) => texts.extend(text),
                Err(error) => return (texts, Err(error)),
            }
        }
        (texts, assembly.finish())
    }

    #[expect(
        clippy::needless_pass_by_value,
        reason = "literals read better without `&`"
    )]
    fn delta(delta: Value) -> Value {
        json!({ "model": "m-1", "choices": [{ "index": 0, "delta": delta }] })
    }

    #[test]
    fn deltas_become_one_answer() {
        let (texts, reply) = assemble(&[
            delta(json!({ "role": "assistant", "content": "" })),
            delta(json!({ "reasoning_content": "hm" })),
            delta(json!({ "content": "Hel" })),
            delta(json!({ "content": "lo" })),
            json!({ "choices": [{ "delta": {}, "finish_reason": "stop" }] }),
            json!({ "choices": [], "usage": { "prompt_tokens": 3, "completion_tokens": 2 } }),
            json!("[DONE]"),
        ]);
        let reply = reply.unwrap();
        assert_eq!(texts, ["Hel", "lo"]);
        assert_eq!(reply.text, "Hello");
        assert_eq!(reply.reasoning.as_deref(), Some("hm"));
        assert_eq!(reply.finish.as_deref(), Some("stop"));
        assert_eq!(reply.model.as_deref(), Some("m-1"));
        assert_eq!(reply.usage.input_tokens, Some(3));
        assert_eq!(reply.usage.cached_tokens, None);
    }

    #[test]
    fn what_is_thought_aloud_is_no_part_of_the_answer() {
        let (_, reply) = assemble(&[
            delta(json!({ "content": "<thi" })),
            delta(json!({ "content": "nk>\nhm\n</think>\n\n---\na: 1\n---\n" })),
            json!("[DONE]"),
        ]);
        let reply = reply.unwrap();
        assert_eq!(reply.text, "---\na: 1\n---\n");
        assert_eq!(reply.reasoning.as_deref(), Some("hm"));
    }

    #[test]
    fn calls_are_assembled_by_their_index() {
        let (_, reply) = assemble(&[
            delta(json!({ "tool_calls": [
                { "index": 0, "id": "a", "function": { "name": "ls", "arguments": "" } },
                { "index": 1, "id": "b", "function": { "name": "cat", "arguments": "{\"p\"" } },
            ] })),
            delta(json!({ "tool_calls": [{ "index": 1, "function": { "arguments": ":1}" } }] })),
            delta(json!({ "tool_calls": [{ "index": 0, "function": { "arguments": "{}" } }] })),
            json!("[DONE]"),
        ]);
        let calls = reply.unwrap().tool_calls;
        let calls: Vec<_> = calls
            .iter()
            .map(|call| {
                (
                    call.id.as_str(),
                    call.name.as_str(),
                    call.arguments.as_str(),
                )
            })
            .collect();
        assert_eq!(calls, [("a", "ls", "{}"), ("b", "cat", "{\"p\":1}")]);
    }

    #[test]
    fn a_stream_that_breaks_off_is_no_answer() {
        let (_, reply) = assemble(&[delta(json!({ "content": "Hel" }))]);
        assert_eq!(reply, Err(WireError::Truncated));
        assert!(assemble(&[]).1.is_err());
    }

    #[test]
    fn an_error_within_the_stream_is_one() {
        let (texts, reply) = assemble(&[
            delta(json!({ "content": "Hel" })),
            json!({ "error": { "code": 502, "message": "overloaded" } }),
        ]);
        assert_eq!(texts, ["Hel"]);
        assert!(
            matches!(reply, Err(WireError::Provider { status: 502, .. })),
            "{reply:?}"
        );
    }
}
