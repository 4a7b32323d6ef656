//! The prices that come with the program. They were true on the day of the table; the config goes before them.

use super::Price;

/// The day of the table.
pub const DATE: &str = "2025-12-31";

/// The models of one vendor that cost the same.
pub(super) struct Known {
    /// The page with the vendor's prices.
    pub(super) source: &'static str,
    /// The names of the models, as in the config.
    pub(super) names: &'static [&'static str],
    pub(super) price: Price,
}

const ANTHROPIC: &str = "docs.claude.com/en/docs/about-claude/pricing";
const DEEPSEEK: &str = "api-docs.deepseek.com/quick_start/pricing";
const GOOGLE: &str = "ai.google.dev/gemini-api/docs/pricing";
const OPENAI: &str = "platform.openai.com/docs/pricing";
const XAI: &str = "docs.x.ai/docs/models";

/// The table. Where a vendor has several prices for a model, it is that of a usual call: no batch, no priority, and a prompt
/// that is not longer than the first limit. Names are as short as they can be without naming a model with another price.
#[rustfmt::skip]
pub(super) const TABLE: &[Known] = &[
    writes(&["claude-opus-4-5*"], [5.0, 25.0, 0.5, 6.25]),
    writes(&["claude-opus-4-1*", "claude-opus-4-0", "claude-opus-4-20*", "claude-3-opus*"], [15.0, 75.0, 1.5, 18.75]),
    writes(&["claude-sonnet-4-5*", "claude-sonnet-4-0", "claude-sonnet-4-20*", "claude-3-7-sonnet*", "claude-3-5-sonnet*"], [3.0, 15.0, 0.3, 3.75]),
    writes(&["claude-haiku-4-5*"], [1.0, 5.0, 0.1, 1.25]),
    writes(&["claude-3-5-haiku*"], [0.8, 4.0, 0.08, 1.0]),
    reads(OPENAI, &["gpt-5.2", "gpt-5.2-20*"], [1.75, 14.0, 0.175]),
    reads(OPENAI, &["gpt-5.1", "gpt-5.1-20*", "gpt-5.1-codex", "gpt-5", "gpt-5-20*", "gpt-5-codex"], [1.25, 10.0, 0.125]),
    reads(OPENAI, &["gpt-5-mini*", "gpt-5.1-codex-mini"], [0.25, 2.0, 0.025]),
    reads(OPENAI, &["gpt-5-nano*"], [0.05, 0.4, 0.005]),
    reads(OPENAI, &["gpt-4.1", "gpt-4.1-20*"], [2.0, 8.0, 0.5]),
    reads(OPENAI, &["gpt-4.1-mini*"], [0.4, 1.6, 0.1]),
    reads(OPENAI, &["gpt-4.1-nano*"], [0.1, 0.4, 0.025]),
    reads(OPENAI, &["gpt-4o", "gpt-4o-2024-08-06", "gpt-4o-2024-11-20"], [2.5, 10.0, 1.25]),
    reads(OPENAI, &["gpt-4o-mini", "gpt-4o-mini-20*"], [0.15, 0.6, 0.075]),
    reads(OPENAI, &["o3", "o3-20*"], [2.0, 8.0, 0.5]),
    reads(OPENAI, &["o4-mini", "o4-mini-20*"], [1.1, 4.4, 0.275]),
    reads(GOOGLE, &["gemini-3-pro-preview"], [2.0, 12.0, 0.2]),
    reads(GOOGLE, &["gemini-2.5-pro"], [1.25, 10.0, 0.125]),
    reads(GOOGLE, &["gemini-2.5-flash"], [0.3, 2.5, 0.03]),
    reads(GOOGLE, &["gemini-2.5-flash-lite"], [0.1, 0.4, 0.01]),
    reads(XAI, &["grok-4", "grok-4-0709", "grok-3"], [3.0, 15.0, 0.75]),
    reads(XAI, &["grok-4-fast*"], [0.2, 0.5, 0.05]),
    reads(XAI, &["grok-code-fast-1*"], [0.2, 1.5, 0.02]),
    reads(DEEPSEEK, &["deepseek-chat", "deepseek-reasoner"], [0.28, 0.42, 0.028]),
];

/// Models of a vendor with one special price: that of tokens which were read from a cache.
const fn reads(
    source: &'static str,
    names: &'static [&'static str],
    [input, output, cache_read]: [f64; 3],
) -> Known {
    Known {
        source,
        names,
        price: Price {
            input,
            output,
            cache_read: Some(cache_read),
            cache_write: None,
        },
    }
}

/// Models of Anthropic, with prices of tokens that were read from a cache and written to it. A cache lives for five minutes.
const fn writes(
    names: &'static [&'static str],
    [input, output, cache_read, cache_write]: [f64; 4],
) -> Known {
    Known {
        source: ANTHROPIC,
        names,
        price: Price {
            input,
            output,
            cache_read: Some(cache_read),
            cache_write: Some(cache_write),
        },
    }
}
