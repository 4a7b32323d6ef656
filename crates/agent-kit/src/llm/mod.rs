//! Calls a model over an endpoint that speaks chat completions, the Messages API or the Responses API.
//!
//! `wire` and `sse` read and write the bodies of chat completions, `messages` and `responses` those of the other APIs, and
//! `api` chooses. All of them are pure. [`resolve()`] finds the endpoint of an alias. Only
//! [`Client`] has effects. This module does not decide what is done with an answer.

mod api;
mod client;
mod error;
mod message;
mod messages;
mod proxy;
mod resolve;
mod responses;
mod retry;
mod secret;
mod sse;
mod strict;
mod talk;
mod tls;
mod wire;

use std::time::Duration;

use serde_json::Value;
pub use uwf_protocol::config::ResponseFormat;
use uwf_protocol::nodes::Usage;

pub use api::Api;
pub use client::Client;
pub use error::{EndpointName, LlmError};
pub use message::{Message, ToolRequest};
pub use resolve::{ModelError, Purpose, reach, resolve};
pub use secret::Secret;

/// Appends the stable code of a problem to its message.
#[must_use]
pub fn with_code(problem: &str, code: &str) -> String {
    format!("{problem} ({code})")
}

/// Where a model is served, and what it is called there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// The alias in the config's `models`; `None` where the provider itself is asked.
    pub alias: Option<String>,
    /// The name in the config's `providers`.
    pub provider: String,
    /// What the provider calls the model.
    pub model: String,
    /// Which API it speaks.
    pub api: Api,
    /// The base URL, without slashes at its end.
    pub base_url: String,
    /// The key, if the endpoint wants one.
    pub key: Option<Secret>,
    /// How JSON is asked for; `None` if the client shall find out.
    pub format: Option<ResponseFormat>,
}

/// The limits of a call in time and memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallLimits {
    /// How long making the connection may take.
    pub connect: Duration,
    /// How long the whole call may take, with all its tries.
    pub timeout: Duration,
    /// How long the endpoint may be silent: between two pieces of an answer, and before the first piece of a stream.
    pub idle: Duration,
    /// How often a call is tried at most, the first time included.
    pub tries: u32,
    /// How long to wait before the second try; each further wait is about twice as long.
    pub first_wait: Duration,
    /// How large an answer may be, in bytes.
    pub max_response: usize,
}

impl Default for CallLimits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(15),
            timeout: Duration::from_secs(10 * 60),
            idle: Duration::from_secs(2 * 60),
            tries: 4,
            first_wait: Duration::from_millis(500),
            max_response: 16 * 1024 * 1024,
        }
    }
}

/// A request to a model.
#[derive(Debug, Clone, Copy)]
pub struct ChatRequest<'a> {
    /// The conversation so far.
    pub messages: &'a [Message],
    /// The tools that the model may call.
    pub tools: &'a [ToolSpec],
    /// The form of the answer.
    pub answer: Answer<'a>,
    /// Whether the answer is streamed.
    pub stream: bool,
    /// How many tokens the model may write.
    pub max_tokens: Option<u64>,
}

impl<'a> ChatRequest<'a> {
    /// Returns the request for any text, in one piece and without tools.
    #[must_use]
    pub fn plain(messages: &'a [Message]) -> Self {
        Self {
            messages,
            tools: &[],
            answer: Answer::Text,
            stream: false,
            max_tokens: None,
        }
    }
}

/// The form of an answer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Answer<'a> {
    /// Any text.
    Text,
    /// JSON that fits a schema, if the endpoint supports that. The answer is not checked here.
    Json(&'a Value),
}

/// A tool that a model may call.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    /// The name.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub parameters: Value,
}

/// The answer of a model.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ChatReply {
    /// The text; empty if there are only tool calls.
    pub text: String,
    /// The reasoning, if the model shows it.
    pub reasoning: Option<String>,
    /// The tools to call, in order.
    pub tool_calls: Vec<ToolRequest>,
    /// Why it stopped, such as `stop`, `length` or `tool_calls`.
    pub finish: Option<String>,
    /// The model that answered, as the provider names it.
    pub model: Option<String>,
    /// What the answer used up.
    pub usage: Usage,
}
