//! What a config or a workflow allows.

use serde::{Deserialize, Serialize};

/// Who may get the data out of an answer. What a role says beats what the config says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ExtractPolicy {
    /// Its front matter alone.
    Strict,
    /// Where the front matter does not fit, a model, if one is configured.
    Llm,
}

impl ExtractPolicy {
    /// Every policy.
    pub const ALL: [Self; 2] = [Self::Strict, Self::Llm];

    /// Returns the word for it, as workflows and configs write it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Strict => "strict",
            Self::Llm => "llm",
        }
    }
}
