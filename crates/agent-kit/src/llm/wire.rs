//! The bodies of requests and answers of chat completions. Pure.
//!
//! Unknown fields are ignored, since every server sends some. An error names the field that is missing or of the wrong
//! kind.

use serde_json::{Map, Value, json};
use uwf_protocol::config::ResponseFormat;
use uwf_protocol::nodes::Usage;

use super::strict::can_be_strict;
use super::{Answer, ChatReply, ChatRequest, ToolRequest, ToolSpec};

/// How many tokens a model may write: what is tried first, and what every model can do.
const OUTPUT_LIMITS: [u64; 2] = [16_000, 4_096];

/// What the endpoint is known to understand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Dialect {
    /// How JSON is asked for.
    pub(super) format: ResponseFormat,
    /// Whether the format is the user's choice and stays.
    pub(super) is_fixed: bool,
    /// The field for the limit of tokens.
    pub(super) max_tokens: &'static str,
    /// How many tokens the model may write where the API wants a limit and the caller has none.
    pub(super) output_limit: u64,
}

impl Dialect {
    /// Returns the dialect that is tried first.
    pub(super) fn first(format: Option<ResponseFormat>) -> Self {
        Self {
            format: format.unwrap_or(ResponseFormat::JsonSchema),
            is_fixed: format.is_some(),
            max_tokens: "max_tokens",
            output_limit: OUTPUT_LIMITS[0],
        }
    }

    /// Returns the dialect to try next when an endpoint refuses a request with this message.
    pub(super) fn simpler(self, request: &ChatRequest<'_>, refusal: &str) -> Option<Self> {
        let refusal = refusal.to_lowercase();
        let newer = "max_completion_tokens";
        if request.max_tokens.is_some() && self.max_tokens != newer && refusal.contains(newer) {
            return Some(Self {
                max_tokens: newer,
                ..self
            });
        }
        let is_about_limit = refusal.contains("max_tokens") && refusal.contains("maximum");
        if request.max_tokens.is_none() && is_about_limit && self.output_limit > OUTPUT_LIMITS[1] {
            return Some(Self {
                output_limit: OUTPUT_LIMITS[1],
                ..self
            });
        }
        let words = [
            "text.format",
            "response_format",
            "response format",
            "json_schema",
            "json_object",
            "json schema",
            "json mode",
            "structured output",
        ];
        let is_about_format = words.iter().any(|word| refusal.contains(word));
        if self.is_fixed || request.answer == Answer::Text || !is_about_format {
            return None;
        }
        let format = match self.format {
            ResponseFormat::JsonSchema => ResponseFormat::JsonObject,
            ResponseFormat::JsonObject => ResponseFormat::None,
            ResponseFormat::None => return None,
        };
        Some(Self { format, ..self })
    }
}

/// What is wrong with an answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum WireError {
    #[error("it is not JSON")]
    NotJson,
    #[error("`{0}` is missing")]
    Missing(&'static str),
    #[error("`{0}` is empty")]
    Empty(&'static str),
    #[error("`{0}` is not {1}")]
    Kind(&'static str, &'static str),
    #[error("it breaks off")]
    Truncated,
    /// An error in place of an answer, although the HTTP status is a success.
    #[error("{body}")]
    Provider { status: u16, body: String },
}

/// Returns the body of a request.
pub(super) fn request(model: &str, request: &ChatRequest<'_>, dialect: Dialect) -> Value {
    let mut body = json!({ "model": model, "messages": request.messages });
    if !request.tools.is_empty() {
        body["tools"] = request.tools.iter().map(tool).collect();
        body["tool_choice"] = "auto".into();
    }
    if let Answer::Json(schema) = request.answer {
        match dialect.format {
            ResponseFormat::JsonSchema => {
                body["response_format"] = json!({
                    "type": "json_schema",
                    "json_schema": { "name": "answer", "schema": schema, "strict": can_be_strict(schema) },
                });
            }
            ResponseFormat::JsonObject => {
                body["response_format"] = json!({ "type": "json_object" });
            }
            ResponseFormat::None => {}
        }
    }
    if let Some(max_tokens) = request.max_tokens {
        body[dialect.max_tokens] = max_tokens.into();
    }
    if request.stream {
        body["stream"] = true.into();
        body["stream_options"] = json!({ "include_usage": true });
    }
    body
}

fn tool(spec: &ToolSpec) -> Value {
    json!({
        "type": "function",
        "function": {
            "name": spec.name,
            "description": spec.description,
            "parameters": spec.parameters,
        },
    })
}

/// Reads an answer that came in one piece.
pub(super) fn reply(body: &[u8]) -> Result<ChatReply, WireError> {
    let body: Value = serde_json::from_slice(body).map_err(|_| WireError::NotJson)?;
    check_error(&body)?;
    let choices = list(&body, "choices")?;
    let choice = choices.first().ok_or(WireError::Empty("choices"))?;
    let message = choice
        .get("message")
        .ok_or(WireError::Missing("choices[0].message"))?;
    if !message.is_object() {
        return Err(WireError::Kind("choices[0].message", "an object"));
    }
    let tool_calls = tool_calls(message);
    let text = match (text(message), message.get("content")) {
        (Some(text), _) => text,
        (None, None | Some(Value::Null)) if !tool_calls.is_empty() => String::new(),
        (None, None | Some(Value::Null)) => {
            return Err(WireError::Missing("choices[0].message.content"));
        }
        (None, Some(_)) => return Err(WireError::Kind("choices[0].message.content", "a text")),
    };
    let finish = choice.get("finish_reason").and_then(Value::as_str);
    let mut reply = ChatReply {
        text,
        reasoning: reasoning(message),
        tool_calls,
        finish: finish.map(ToOwned::to_owned),
        ..ChatReply::default()
    };
    move_thinking(&mut reply);
    read_model(&body, &mut reply.model);
    read_usage(&body, &mut reply.usage);
    Ok(reply)
}

/// Reads the names of the models that an endpoint has.
pub(super) fn models(body: &[u8]) -> Result<Vec<String>, WireError> {
    let body: Value = serde_json::from_slice(body).map_err(|_| WireError::NotJson)?;
    check_error(&body)?;
    let models = match &body {
        Value::Array(models) => models,
        body => list(body, "data")?,
    };
    let name = |model: &Value| model.get("id").or(Some(model))?.as_str().map(str::to_owned);
    Ok(models.iter().filter_map(name).collect())
}

fn list<'a>(body: &'a Value, key: &'static str) -> Result<&'a Vec<Value>, WireError> {
    let value = body.get(key).ok_or(WireError::Missing(key))?;
    value.as_array().ok_or(WireError::Kind(key, "a list"))
}

/// Fails if the body is an error in place of an answer.
pub(super) fn check_error(body: &Value) -> Result<(), WireError> {
    let Some(error) = body.get("error").filter(|error| !error.is_null()) else {
        return Ok(());
    };
    let code = error.get("code").or_else(|| error.get("status"));
    let status = code.and_then(|code| code.as_u64().or_else(|| code.as_str()?.parse().ok()));
    Err(WireError::Provider {
        // An error without a status may be temporary: it counts as a failure of the server.
        status: status
            .and_then(|status| u16::try_from(status).ok())
            .filter(|status| (400..600).contains(status))
            .unwrap_or(500),
        body: body.to_string(),
    })
}

/// Returns the text of a message: a string, a list of parts, or a refusal to answer.
pub(super) fn text(message: &Value) -> Option<String> {
    match message.get("content") {
        Some(Value::String(text)) => Some(text.clone()),
        Some(Value::Array(parts)) => {
            let text = |part: &Value| part.get("text")?.as_str().map(str::to_owned);
            Some(parts.iter().filter_map(text).collect())
        }
        _ => message.get("refusal")?.as_str().map(ToOwned::to_owned),
    }
}

/// Returns the reasoning under the names that servers give it.
pub(super) fn reasoning(message: &Value) -> Option<String> {
    let names = ["reasoning_content", "reasoning"];
    let text = |name: &&str| message.get(name)?.as_str();
    let text = names.iter().find_map(text)?;
    (!text.is_empty()).then(|| text.to_owned())
}

/// Moves the `<think>` block that local models print before their answer to the reasoning.
pub(super) fn move_thinking(reply: &mut ChatReply) {
    let inside = reply.text.trim_start().strip_prefix("<think>");
    let Some((thinking, answer)) = inside.and_then(|rest| rest.split_once("</think>")) else {
        return;
    };
    let (thinking, answer) = (thinking.trim().to_owned(), answer.trim_start().to_owned());
    if !thinking.is_empty() && reply.reasoning.is_none() {
        reply.reasoning = Some(thinking);
    }
    reply.text = answer;
}

/// Returns the calls that have a name.
fn tool_calls(message: &Value) -> Vec<ToolRequest> {
    let calls = message.get("tool_calls").and_then(Value::as_array);
    let call = |call: &Value| {
        let function = call.get("function")?;
        Some(ToolRequest {
            id: call
                .get("id")
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned(),
            name: function.get("name")?.as_str()?.to_owned(),
            arguments: function.get("arguments").map_or(String::new(), arguments),
        })
    };
    let mut calls: Vec<_> = calls.into_iter().flatten().filter_map(call).collect();
    name_calls(&mut calls);
    calls
}

/// Returns arguments as text. Some servers send the object itself.
pub(super) fn arguments(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// Gives an id to calls without one, so that their results can be told apart.
pub(super) fn name_calls(calls: &mut [ToolRequest]) {
    for (at, call) in calls.iter_mut().enumerate() {
        if call.id.is_empty() {
            call.id = format!("call_{at}");
        }
    }
}

pub(super) fn read_model(body: &Value, model: &mut Option<String>) {
    if let Some(name) = body.get("model").and_then(Value::as_str) {
        *model = Some(name.to_owned());
    }
}

/// Reads the usage of an answer. What is not reported stays unknown.
pub(super) fn read_usage(body: &Value, usage: &mut Usage) {
    let Some(reported) = body.get("usage").and_then(Value::as_object) else {
        return;
    };
    let number = |map: &Map<String, Value>, name: &str| map.get(name)?.as_u64();
    let details = reported
        .get("prompt_tokens_details")
        .and_then(Value::as_object);
    let input = number(reported, "prompt_tokens");
    let output = number(reported, "completion_tokens");
    // Some endpoints count what the model reasons in the total only.
    let total = number(reported, "total_tokens");
    let rest = total.and_then(|total| total.checked_sub(input?));
    usage.input_tokens = input.or(usage.input_tokens);
    usage.output_tokens = output
        .map(|output| output.max(rest.unwrap_or(0)))
        .or(usage.output_tokens);
    // DeepSeek and Moonshot have names of their own for it.
    usage.cached_tokens = details
        .and_then(|details| number(details, "cached_tokens"))
        .or_else(|| number(reported, "prompt_cache_hit_tokens"))
        .or_else(|| number(reported, "cached_tokens"))
        .or(usage.cached_tokens);
    usage.cache_write_tokens = details
        .and_then(|details| number(details, "cache_write_tokens"))
        .or(usage.cache_write_tokens);
    usage.cost_usd = reported
        .get("cost")
        .and_then(Value::as_f64)
        .or(usage.cost_usd);
}

#[cfg(test)]
mod tests;
