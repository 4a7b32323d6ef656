//! The policies that a config or a workflow can set.

use std::num::NonZeroU32;

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

/// Which session an agent gets on a later visit of its role.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SessionPolicy {
    /// That of the visit before.
    Keep,
    /// A new one, with the whole prompt. Corrections and further attempts at the step go on in the session of their visit.
    Fresh,
}

impl SessionPolicy {
    /// Every policy.
    pub const ALL: [Self; 2] = [Self::Keep, Self::Fresh];

    /// Returns the word for it, as workflows write it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Keep => "keep",
            Self::Fresh => "fresh",
        }
    }
}

/// What a prompt shows of the steps that do not fit into it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Older {
    /// How many they are.
    Drop,
    /// A summary that a model writes.
    Summary,
}

impl Older {
    /// Every choice.
    pub const ALL: [Self; 2] = [Self::Drop, Self::Summary];

    /// Returns the word for it, as workflows and configs write it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Drop => "drop",
            Self::Summary => "summary",
        }
    }
}

/// How much of what happened a prompt shows. A role overrides its workflow, and a workflow the config, key by key.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ContextPolicy {
    /// How many characters; [`USUAL_CHARS`](Self::USUAL_CHARS) if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_chars: Option<NonZeroU32>,
    /// What becomes of the steps that do not fit; they are dropped if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub older: Option<Older>,
}

impl ContextPolicy {
    /// How many characters a prompt shows if nobody says it.
    pub const USUAL_CHARS: u32 = 32_000;

    /// The smallest number of characters: less would not hold the data of one step.
    pub const LEAST_CHARS: u32 = 1_000;

    /// The keys, as workflows and configs write them.
    pub const KEYS: [&str; 2] = ["maxChars", "older"];

    /// Returns this policy with what it does not say taken from another one.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            max_chars: self.max_chars.or(other.max_chars),
            older: self.older.or(other.older),
        }
    }

    /// Returns how many characters of history a prompt shows.
    #[must_use]
    pub fn most_chars(&self) -> usize {
        let chars = self.max_chars.map_or(Self::USUAL_CHARS, NonZeroU32::get);
        usize::try_from(chars.max(Self::LEAST_CHARS)).unwrap_or(usize::MAX)
    }

    /// Tells whether nothing is set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
