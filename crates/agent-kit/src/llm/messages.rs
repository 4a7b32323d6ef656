//! The bodies of the Messages API of Anthropic. Pure.
//!
//! Its messages are lists of blocks, and those of the user and of the model take turns. A result of a tool is a block of the
//! user. The system prompt stands beside the messages.

use serde_json::{Map, Value, json};
use uwf_protocol::nodes::Usage;

use super::wire::{Dialect, WireError, arguments, read_model};
use super::{ChatReply, ChatRequest, Message, ToolRequest, ToolSpec};

/// Returns the body of a request.
pub(super) fn request(model: &str, request: &ChatRequest<'_>, dialect: Dialect) -> Value {
    let mut body = json!({
        "model": model,
        // The API wants a limit.
        "max_tokens": request.max_tokens.unwrap_or(dialect.output_limit),
        "messages": turns(request.messages),
    });
    let system = system(request.messages);
    if !system.is_empty() {
        body["system"] = json!([{ "type": "text", "text": system }]);
    }
    if !request.tools.is_empty() {
        body["tools"] = request.tools.iter().map(tool).collect();
        // A model with tools is asked again and again with the same beginning.
        mark(body.pointer_mut("/system/0"));
        let blocks = body["messages"].as_array_mut().and_then(|turns| {
            let last = turns.last_mut()?;
            last["content"].as_array_mut()?.last_mut()
        });
        mark(blocks);
    }
    if request.stream {
        body["stream"] = true.into();
    }
    body
}

/// Lets the endpoint keep what comes before the end of a block in its cache.
fn mark(block: Option<&mut Value>) {
    if let Some(block) = block {
        block["cache_control"] = json!({ "type": "ephemeral" });
    }
}

fn system(messages: &[Message]) -> String {
    let texts = messages.iter().filter_map(|message| match message {
        Message::System(text) => Some(text.as_str()),
        Message::User(_) | Message::Assistant { .. } | Message::Tool { .. } => None,
    });
    texts.collect::<Vec<_>>().join("\n\n")
}

/// Returns the messages as turns: neighbours of one side are one turn.
fn turns(messages: &[Message]) -> Vec<Value> {
    let mut turns: Vec<(&str, Vec<Value>)> = Vec::new();
    for message in messages {
        let (role, blocks) = match message {
            Message::System(_) => continue,
            Message::User(text) => ("user", text_block(text).into_iter().collect()),
            Message::Assistant { text, tool_calls } => {
                let calls = tool_calls.iter().map(call_block);
                let blocks = text_block(text).into_iter().chain(calls);
                ("assistant", blocks.collect::<Vec<_>>())
            }
            Message::Tool { call_id, text } => ("user", vec![result_block(call_id, text)]),
        };
        match turns.last_mut() {
            Some((last, known)) if *last == role => known.extend(blocks),
            _ => turns.push((role, blocks)),
        }
    }
    let spoken = turns.into_iter().filter(|(_, blocks)| !blocks.is_empty());
    spoken
        .map(|(role, content)| json!({ "role": role, "content": content }))
        .collect()
}

/// Returns the block of a text. The API refuses one without any.
fn text_block(text: &str) -> Option<Value> {
    (!text.trim().is_empty()).then(|| json!({ "type": "text", "text": text }))
}

fn call_block(call: &ToolRequest) -> Value {
    let input: Option<Value> = serde_json::from_str(&call.arguments).ok();
    // The model may have written no JSON. The API takes an object only.
    let input = input.filter(Value::is_object).unwrap_or_else(|| json!({}));
    json!({ "type": "tool_use", "id": call.id, "name": call.name, "input": input })
}

fn result_block(call_id: &str, text: &str) -> Value {
    let mut block = json!({ "type": "tool_result", "tool_use_id": call_id, "content": text });
    if text.starts_with("error:") {
        block["is_error"] = true.into();
    }
    block
}

fn tool(spec: &ToolSpec) -> Value {
    json!({ "name": spec.name, "description": spec.description, "input_schema": spec.parameters })
}

/// Reads an answer that came in one piece.
pub(super) fn reply(body: &[u8]) -> Result<ChatReply, WireError> {
    let body: Value = serde_json::from_slice(body).map_err(|_| WireError::NotJson)?;
    check_error(&body)?;
    let content = body.get("content").ok_or(WireError::Missing("content"))?;
    let blocks = content.as_array();
    let blocks = blocks.ok_or(WireError::Kind("content", "a list"))?;
    let mut reply = ChatReply::default();
    for block in blocks {
        add_block(&mut reply, block);
    }
    read_model(&body, &mut reply.model);
    reply.finish = body["stop_reason"].as_str().map(finish);
    reply.usage = usage(body["usage"].as_object());
    Ok(reply)
}

fn add_block(reply: &mut ChatReply, block: &Value) {
    let text = |key: &str| block[key].as_str().unwrap_or_default();
    match block["type"].as_str() {
        Some("text") => reply.text += text("text"),
        Some("thinking") if !text("thinking").is_empty() => {
            *reply.reasoning.get_or_insert_default() += text("thinking");
        }
        Some("tool_use") => reply.tool_calls.push(ToolRequest {
            id: text("id").to_owned(),
            name: text("name").to_owned(),
            arguments: arguments(&block["input"]),
        }),
        _ => {}
    }
}

/// Returns the word of the other APIs for why the model stopped.
fn finish(reason: &str) -> String {
    match reason {
        "end_turn" | "stop_sequence" => "stop",
        "max_tokens" => "length",
        "tool_use" => "tool_calls",
        other => other,
    }
    .to_owned()
}

/// Reads the usage. The API counts what came from a cache, and what went into one, beside the other tokens.
fn usage(reported: Option<&Map<String, Value>>) -> Usage {
    let number = |key: &str| reported?.get(key)?.as_u64();
    let (read, written) = (
        number("cache_read_input_tokens"),
        number("cache_creation_input_tokens"),
    );
    Usage {
        input_tokens: number("input_tokens")
            .map(|tokens| tokens + read.unwrap_or(0) + written.unwrap_or(0)),
        output_tokens: number("output_tokens"),
        cached_tokens: read,
        cache_write_tokens: written,
        ..Usage::default()
    }
}

/// Fails if the body is an error in place of an answer.
fn check_error(body: &Value) -> Result<(), WireError> {
    let Some(error) = body.get("error").filter(|error| !error.is_null()) else {
        return Ok(());
    };
    let status = match error["type"].as_str() {
        Some("invalid_request_error") => 400,
        Some("authentication_error") => 401,
        Some("permission_error") => 403,
        Some("not_found_error") => 404,
        Some("request_too_large") => 413,
        Some("rate_limit_error") => 429,
        Some("overloaded_error") => 529,
        // Another one may be temporary: it counts as a failure of the server.
        _ => 500,
    };
    Err(WireError::Provider {
        status,
        body: body.to_string(),
    })
}

/// An answer of which some pieces have arrived.
#[derive(Debug, Default)]
pub(super) struct Assembly {
    blocks: Vec<Value>,
    model: Option<String>,
    finish: Option<String>,
    /// The newest number of each kind.
    usage: Map<String, Value>,
    has_started: bool,
    is_done: bool,
}

impl Assembly {
    /// Takes the data of an event and returns the text that it adds.
    pub(super) fn take(&mut self, data: &str) -> Result<Option<String>, WireError> {
        let event: Value = serde_json::from_str(data).map_err(|_| WireError::NotJson)?;
        check_error(&event)?;
        match event["type"].as_str() {
            Some("message_start") => {
                self.has_started = true;
                read_model(&event["message"], &mut self.model);
                self.count(&event["message"]["usage"]);
            }
            Some("content_block_start") => {
                let mut block = event["content_block"].clone();
                if block["type"] == "tool_use" {
                    // The arguments come in pieces of their text.
                    block["input"] = "".into();
                }
                self.blocks.push(block);
            }
            Some("content_block_delta") => return Ok(self.add(&event["delta"])),
            Some("message_delta") => {
                self.finish = event["delta"]["stop_reason"].as_str().map(finish);
                self.count(&event["usage"]);
            }
            Some("message_stop") => self.is_done = true,
            _ => {}
        }
        Ok(None)
    }

    /// Adds a piece to the last block.
    fn add(&mut self, delta: &Value) -> Option<String> {
        let block = self.blocks.last_mut()?;
        let (key, piece) = match delta["type"].as_str()? {
            "text_delta" => ("text", delta["text"].as_str()?),
            "thinking_delta" => ("thinking", delta["thinking"].as_str()?),
            "input_json_delta" => ("input", delta["partial_json"].as_str()?),
            _ => return None,
        };
        let known = block[key].as_str().unwrap_or_default();
        block[key] = (known.to_owned() + piece).into();
        (key == "text" && !piece.is_empty()).then(|| piece.to_owned())
    }

    fn count(&mut self, usage: &Value) {
        let reported = usage.as_object().into_iter().flatten();
        let known = reported.filter(|(_, number)| number.is_u64());
        self.usage
            .extend(known.map(|(key, number)| (key.clone(), number.clone())));
    }

    /// Returns the whole answer.
    pub(super) fn finish(self) -> Result<ChatReply, WireError> {
        if !self.has_started {
            return Err(WireError::Missing("message_start"));
        }
        if !self.is_done && self.finish.is_none() {
            return Err(WireError::Truncated);
        }
        let mut reply = ChatReply::default();
        for block in &self.blocks {
            add_block(&mut reply, block);
        }
        Ok(ChatReply {
            model: self.model,
            finish: self.finish,
            usage: usage(Some(&self.usage)),
            ..reply
        })
    }
}

#[cfg(test)]
mod tests;
