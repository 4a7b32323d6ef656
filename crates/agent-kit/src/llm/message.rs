//! The messages of a conversation, and their JSON on the wire. Sessions are saved in the same form.

use serde::{Deserialize, Serialize};

/// One message of a conversation with a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Wire", try_from = "Wire")]
pub enum Message {
    /// The system prompt.
    System(String),
    /// A message to the model.
    User(String),
    /// An answer of the model.
    Assistant {
        /// The text; empty if the model only called tools.
        text: String,
        /// The tools that the model called.
        tool_calls: Vec<ToolRequest>,
    },
    /// The result of a tool call.
    Tool {
        /// The id of the call.
        call_id: String,
        /// The result.
        text: String,
    },
}

/// A tool call of a model.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolRequest {
    /// The id of the call.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments as the model wrote them, usually JSON.
    pub arguments: String,
}

/// A message as JSON.
#[derive(Clone, Serialize, Deserialize)]
struct Wire {
    role: Role,
    content: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<WireCall>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<String>,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Role {
    System,
    User,
    Assistant,
    Tool,
}

#[derive(Clone, Serialize, Deserialize)]
struct WireCall {
    id: String,
    #[serde(rename = "type", default)]
    kind: Function,
    function: WireFunction,
}

#[derive(Clone, Copy, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Function {
    #[default]
    Function,
}

#[derive(Clone, Serialize, Deserialize)]
struct WireFunction {
    name: String,
    arguments: String,
}

impl From<Message> for Wire {
    fn from(message: Message) -> Self {
        let plain = |role, content| Self {
            role,
            content: Some(content),
            tool_calls: Vec::new(),
            tool_call_id: None,
        };
        match message {
            Message::System(text) => plain(Role::System, text),
            Message::User(text) => plain(Role::User, text),
            Message::Assistant { text, tool_calls } => Self {
                role: Role::Assistant,
                // Some endpoints refuse an empty text beside tool calls.
                content: (!text.is_empty() || tool_calls.is_empty()).then_some(text),
                tool_calls: tool_calls.into_iter().map(WireCall::from).collect(),
                tool_call_id: None,
            },
            Message::Tool { call_id, text } => Self {
                tool_call_id: Some(call_id),
                ..plain(Role::Tool, text)
            },
        }
    }
}

impl TryFrom<Wire> for Message {
    type Error = &'static str;

    fn try_from(wire: Wire) -> Result<Self, Self::Error> {
        let text = wire.content.unwrap_or_default();
        Ok(match wire.role {
            Role::System => Self::System(text),
            Role::User => Self::User(text),
            Role::Assistant => Self::Assistant {
                text,
                tool_calls: wire.tool_calls.into_iter().map(ToolRequest::from).collect(),
            },
            Role::Tool => Self::Tool {
                call_id: wire
                    .tool_call_id
                    .ok_or("a message of a tool needs `tool_call_id`")?,
                text,
            },
        })
    }
}

impl From<ToolRequest> for WireCall {
    fn from(request: ToolRequest) -> Self {
        Self {
            id: request.id,
            kind: Function::Function,
            function: WireFunction {
                name: request.name,
                arguments: request.arguments,
            },
        }
    }
}

impl From<WireCall> for ToolRequest {
    fn from(call: WireCall) -> Self {
        Self {
            id: call.id,
            name: call.function.name,
            arguments: call.function.arguments,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(message: &Message, line: &str) {
        assert_eq!(serde_json::to_string(message).unwrap(), line);
        assert_eq!(serde_json::from_str::<Message>(line).unwrap(), *message);
    }

    #[test]
    fn every_message_survives_a_line_of_json() {
        check(
            &Message::System("s".to_owned()),
            r#"{"role":"system","content":"s"}"#,
        );
        check(
            &Message::User("u".to_owned()),
            r#"{"role":"user","content":"u"}"#,
        );
        check(
            &Message::Assistant {
                text: String::new(),
                tool_calls: Vec::new(),
            },
            r#"{"role":"assistant","content":""}"#,
        );
        check(
            &Message::Assistant {
                text: String::new(),
                tool_calls: vec![ToolRequest {
                    id: "c1".to_owned(),
                    name: "ls".to_owned(),
                    arguments: "{}".to_owned(),
                }],
            },
            r#"{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"ls","arguments":"{}"}}]}"#,
        );
        check(
            &Message::Tool {
                call_id: "c1".to_owned(),
                text: "a".to_owned(),
            },
            r#"{"role":"tool","content":"a","tool_call_id":"c1"}"#,
        );
    }

    #[test]
    fn what_is_no_message_is_refused() {
        let read = serde_json::from_str::<Message>;
        assert!(read(r#"{"role":"tool","content":"a"}"#).is_err());
        assert!(read(r#"{"role":"poet","content":"a"}"#).is_err());
    }
}
