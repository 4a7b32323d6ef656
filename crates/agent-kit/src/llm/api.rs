//! The APIs that an endpoint may speak: where each is below the base URL, how it knows us, and who writes and reads its bodies.
//! Pure.

use serde_json::Value;
pub use uwf_protocol::config::Api;

use super::sse::ChatAssembly;
use super::wire::{self, Dialect, WireError};
use super::{ChatReply, ChatRequest, messages, responses};

/// The version of the Messages API that is written here.
const MESSAGES_VERSION: &str = "2023-06-01";

/// Returns where requests go, below the base URL.
pub(super) fn path(api: Api) -> &'static str {
    match api {
        Api::Chat => "chat/completions",
        Api::Messages => "messages",
        Api::Responses => "responses",
    }
}

/// Returns the header with the key: its name, and its value.
pub(super) fn key_header(api: Api, key: &str) -> (&'static str, String) {
    match api {
        Api::Chat | Api::Responses => ("authorization", format!("Bearer {key}")),
        Api::Messages => ("x-api-key", key.to_owned()),
    }
}

/// Returns a header that every request needs, if there is one.
pub(super) fn version_header(api: Api) -> Option<(&'static str, &'static str)> {
    (api == Api::Messages).then_some(("anthropic-version", MESSAGES_VERSION))
}

/// Returns the body of a request.
pub(super) fn request(api: Api, model: &str, request: &ChatRequest<'_>, dialect: Dialect) -> Value {
    match api {
        Api::Chat => wire::request(model, request, dialect),
        Api::Messages => messages::request(model, request, dialect),
        Api::Responses => responses::request(model, request, dialect),
    }
}

/// Reads an answer that came in one piece.
pub(super) fn reply(api: Api, body: &[u8]) -> Result<ChatReply, WireError> {
    match api {
        Api::Chat => wire::reply(body),
        Api::Messages => messages::reply(body),
        Api::Responses => responses::reply(body),
    }
}

/// An answer of which some pieces have arrived.
pub(super) enum Assembly {
    Chat(ChatAssembly),
    Messages(messages::Assembly),
    Responses(responses::Assembly),
}

impl Assembly {
    pub(super) fn of(api: Api) -> Self {
        match api {
            Api::Chat => Self::Chat(ChatAssembly::default()),
            Api::Messages => Self::Messages(messages::Assembly::default()),
            Api::Responses => Self::Responses(responses::Assembly::default()),
        }
    }

    /// Takes the data of an event and returns the text that it adds.
    pub(super) fn take(&mut self, data: &str) -> Result<Option<String>, WireError> {
        match self {
            Self::Chat(assembly) => assembly.take(data),
            Self::Messages(assembly) => assembly.take(data),
            Self::Responses(assembly) => assembly.take(data),
        }
    }

    /// Returns the whole answer.
    pub(super) fn finish(self) -> Result<ChatReply, WireError> {
        match self {
            Self::Chat(assembly) => assembly.finish(),
            Self::Messages(assembly) => assembly.finish(),
            Self::Responses(assembly) => assembly.finish(),
        }
    }
}
