//! The policies that a config or a workflow can set.

use serde::{Deserialize, Serialize};

/// How the data may be extracted from an answer. The setting of a role overrides the setting of the config.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ExtractPolicy {
    /// Only from its front matter.
    Strict,
    /// From its front matter; by a model if that does not fit and a model is configured.
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
