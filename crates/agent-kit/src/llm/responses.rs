//! The bodies of the Responses API of OpenAI. Pure.
//!
//! A conversation is a list of items: messages, calls of tools and their results. Nothing is kept on the server.

use serde_json::{Value, json};
use uwf_protocol::config::ResponseFormat;
use uwf_protocol::nodes::Usage;

use super::strict::can_be_strict;
use super::wire::{Dialect, WireError, arguments, name_calls, read_model};
use super::{Answer, ChatReply, ChatRequest, Message, ToolRequest, ToolSpec};

/// Returns the body of a request.
pub(super) fn request(model: &str, request: &ChatRequest<'_>, dialect: Dialect) -> Value {
    let input: Vec<Value> = request.messages.iter().flat_map(items).collect();
    let mut body = json!({ "model": model, "input": input, "store": false });
    if !request.tools.is_empty() {
        body["tools"] = request.tools.iter().map(tool).collect();
        body["tool_choice"] = "auto".into();
    }
    if let Answer::Json(schema) = request.answer {
        match dialect.format {
            ResponseFormat::JsonSchema => {
                body["text"]["format"] = json!({
                    "type": "json_schema",
                    "name": "answer",
                    "schema": schema,
                    "strict": can_be_strict(schema),
                });
            }
            ResponseFormat::JsonObject => {
                body["text"]["format"] = json!({ "type": "json_object" });
            }
            ResponseFormat::None => {}
        }
    }
    if let Some(max_tokens) = request.max_tokens {
        body["max_output_tokens"] = max_tokens.into();
    }
    if request.stream {
        body["stream"] = true.into();
    }
    body
}

/// Returns the items of a message.
fn items(message: &Message) -> Vec<Value> {
    let said = |role: &str, kind: &str, text: &str| json!({ "type": "message", "role": role, "content": [{ "type": kind, "text": text }] });
    match message {
        Message::System(text) => vec![said("system", "input_text", text)],
        Message::User(text) => vec![said("user", "input_text", text)],
        Message::Assistant { text, tool_calls } => {
            let text = (!text.is_empty()).then(|| said("assistant", "output_text", text));
            let call = |call: &ToolRequest| {
                json!({
                    "type": "function_call",
                    "call_id": call.id,
                    "name": call.name,
                    "arguments": call.arguments,
                })
            };
            text.into_iter()
                .chain(tool_calls.iter().map(call))
                .collect()
        }
        Message::Tool { call_id, text } => {
            vec![json!({ "type": "function_call_output", "call_id": call_id, "output": text })]
        }
    }
}

fn tool(spec: &ToolSpec) -> Value {
    json!({
        "type": "function",
        "name": spec.name,
        "description": spec.description,
        "parameters": spec.parameters,
        "strict": false,
    })
}

/// Reads an answer that came in one piece.
pub(super) fn reply(body: &[u8]) -> Result<ChatReply, WireError> {
    let body: Value = serde_json::from_slice(body).map_err(|_| WireError::NotJson)?;
    read(&body)
}

fn read(body: &Value) -> Result<ChatReply, WireError> {
    check_error(body)?;
    let output = body.get("output").ok_or(WireError::Missing("output"))?;
    let output = output.as_array();
    let output = output.ok_or(WireError::Kind("output", "a list"))?;
    let mut reply = ChatReply::default();
    for item in output {
        add_item(&mut reply, item);
    }
    name_calls(&mut reply.tool_calls);
    read_model(body, &mut reply.model);
    let cut_off = body["incomplete_details"]["reason"] == "max_output_tokens";
    reply.finish = match (cut_off, reply.tool_calls.is_empty()) {
        (true, _) => Some("length".to_owned()),
        (false, false) => Some("tool_calls".to_owned()),
        (false, true) => Some("stop".to_owned()),
    };
    let number = |pointer: &str| body["usage"].pointer(pointer).and_then(Value::as_u64);
    reply.usage = Usage {
        input_tokens: number("/input_tokens"),
        output_tokens: number("/output_tokens"),
        cached_tokens: number("/input_tokens_details/cached_tokens"),
        ..Usage::default()
    };
    Ok(reply)
}

fn add_item(reply: &mut ChatReply, item: &Value) {
    let texts = |list: &str, key: &str| {
        let parts = item[list].as_array().into_iter().flatten();
        parts
            .filter_map(|part| part[key].as_str())
            .collect::<String>()
    };
    let text = |key: &str| item[key].as_str().unwrap_or_default().to_owned();
    match item["type"].as_str() {
        Some("message") => {
            reply.text += &texts("content", "text");
            reply.text += &texts("content", "refusal");
        }
        Some("reasoning") => {
            let summary = texts("summary", "text");
            if !summary.is_empty() {
                *reply.reasoning.get_or_insert_default() += &summary;
            }
        }
        Some("function_call") => reply.tool_calls.push(ToolRequest {
            id: text("call_id"),
            name: text("name"),
            arguments: arguments(&item["arguments"]),
        }),
        _ => {}
    }
}

/// Fails if the body is an error in place of an answer.
fn check_error(body: &Value) -> Result<(), WireError> {
    let Some(error) = body.get("error").filter(|error| !error.is_null()) else {
        return Ok(());
    };
    let code = error["code"].as_str().or_else(|| error["type"].as_str());
    let status = match code {
        Some("context_length_exceeded" | "invalid_prompt" | "invalid_request_error") => 400,
        Some("rate_limit_exceeded") => 429,
        // Another one may be temporary: it counts as a failure of the server.
        _ => 500,
    };
    Err(WireError::Provider {
        status,
        body: json!({ "error": error }).to_string(),
    })
}

/// An answer of which some pieces have arrived. The last event has all of it.
#[derive(Debug, Default)]
pub(super) struct Assembly {
    whole: Option<ChatReply>,
    has_started: bool,
}

impl Assembly {
    /// Takes the data of an event and returns the text that it adds.
    pub(super) fn take(&mut self, data: &str) -> Result<Option<String>, WireError> {
        let event: Value = serde_json::from_str(data).map_err(|_| WireError::NotJson)?;
        self.has_started = true;
        match event["type"].as_str() {
            Some("response.output_text.delta") => {
                let piece = event["delta"].as_str().filter(|piece| !piece.is_empty());
                return Ok(piece.map(str::to_owned));
            }
            Some("response.completed" | "response.incomplete" | "response.failed") => {
                self.whole = Some(read(&event["response"])?);
            }
            // Such an event is the error itself.
            Some("error") => check_error(&json!({ "error": event }))?,
            _ => check_error(&event)?,
        }
        Ok(None)
    }

    /// Returns the whole answer.
    pub(super) fn finish(self) -> Result<ChatReply, WireError> {
        let missing = match self.has_started {
            true => WireError::Truncated,
            false => WireError::Missing("response.completed"),
        };
        self.whole.ok_or(missing)
    }
}

#[cfg(test)]
mod tests;
