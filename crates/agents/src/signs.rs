//! Finds the failure class in a tool's error text. Pure.
//!
//! Most tools report failures as text for people. A tool that reports a class in its events does not need this.

use std::sync::LazyLock;

use regex::{Captures, Regex};
use uwf_protocol::failure::FailureClass;

/// The signs of each class, in lower case. The first class with a sign in the text wins: a text about a conversation
/// that is too long may also mention a limit, and one about a refused key may also mention a permission.
const SIGNS: [(FailureClass, &[&str]); 5] = [
    (
        FailureClass::ContextTooLong,
        &[
            "prompt is too long",
            "prompt too long",
            "conversation too long",
            "conversation is too long",
            "input is too long",
            "context_length_exceeded",
            "context_window_exceeded",
            "context length exceeded",
            "maximum context length",
            "model's context window",
            "exceeds the context window",
            "exceed context limit",
            "exceeds the available context size",
            "exceeds the maximum number of tokens",
        ],
    ),
    (
        FailureClass::Auth,
        &[
            "not logged in",
            "please log in",
            "please run /login",
            "authentication_error",
            "authentication_failed",
            "authentication required",
            "unauthenticated",
            "invalid api key",
            "invalid_api_key",
            "incorrect api key",
            "api key not valid",
            "no api key",
            "missing api key",
        ],
    ),
    (
        FailureClass::RateLimit,
        &[
            "rate limit",
            "rate_limit",
            "ratelimit",
            "too many requests",
            "quota exceeded",
            "exceeded your current quota",
            "insufficient_quota",
            "usage limit",
            "hit your limit",
            "resource_exhausted",
        ],
    ),
    (
        FailureClass::Overloaded,
        &[
            "overloaded",
            "at capacity",
            "service unavailable",
            "temporarily unavailable",
            "bad gateway",
            "gateway timeout",
            "internal server error",
            "econnrefused",
            "econnreset",
            "enotfound",
            "connection refused",
            "connection error",
            "could not resolve host",
        ],
    ),
    (
        FailureClass::Permission,
        &[
            "trusted directory",
            "trusted folder",
            "requires approval",
            "approval required",
            "requested permissions",
            "permission denied",
            "operation not permitted",
            "read-only file system",
        ],
    ),
];

/// An HTTP status after a word that says that it is one.
static STATUS: LazyLock<Regex> = LazyLock::new(|| {
    let regex =
        Regex::new(r"\b(?:https?|status|error|code|rejected)\b[^0-9\n]{0,12}\b([45][0-9]{2})\b");
    regex.expect("the expression is fixed")
});

/// Returns the class that a text indicates, if any.
pub(crate) fn class_of(text: &str) -> Option<FailureClass> {
    let text = text.to_lowercase();
    let says = |signs: &[&str]| signs.iter().any(|sign| text.contains(sign));
    let mut spoken = SIGNS.iter().filter(|(_, signs)| says(signs));
    let by_words = spoken.next().map(|(class, _)| *class);
    let status = |found: Captures<'_>| of_status(found[1].parse().ok()?);
    by_words.or_else(|| STATUS.captures_iter(&text).find_map(status))
}

/// Returns the class of the first text that indicates one, else `Crash`.
pub(crate) fn class_in<'a>(texts: impl IntoIterator<Item = &'a str>) -> FailureClass {
    let spoken = texts.into_iter().find_map(class_of);
    spoken.unwrap_or(FailureClass::Crash)
}

/// Returns the class of an HTTP status, if it has one.
pub(crate) fn of_status(status: u64) -> Option<FailureClass> {
    match status {
        401 | 403 => Some(FailureClass::Auth),
        402 | 429 => Some(FailureClass::RateLimit),
        413 => Some(FailureClass::ContextTooLong),
        500..=599 => Some(FailureClass::Overloaded),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_tools_have_their_class() {
        let check = |text: &str, class| assert_eq!(class_of(text), class, "{text}");
        let is = Some;
        check("Prompt is too long", is(FailureClass::ContextTooLong));
        check(
            "Codex ran out of room in the model's context window. Start a new conversation",
            is(FailureClass::ContextTooLong),
        );
        check(
            "This model's maximum context length is 8192 tokens",
            is(FailureClass::ContextTooLong),
        );
        check(
            r#"API Error: 429 {"type":"error","error":{"type":"rate_limit_error"}}"#,
            is(FailureClass::RateLimit),
        );
        check(
            "API Error: Request rejected (429)",
            is(FailureClass::RateLimit),
        );
        check("HTTP 402: no credit", is(FailureClass::RateLimit));
        check("unexpected status 401 Unauthorized", is(FailureClass::Auth));
        check(
            "Invalid API key · Please run /login",
            is(FailureClass::Auth),
        );
        check(
            "stream error: exceeded retry limit, last status: 503 x",
            is(FailureClass::Overloaded),
        );
        check(
            "API Error: Repeated 529 Overloaded errors",
            is(FailureClass::Overloaded),
        );
        check(
            "Not inside a trusted directory and --skip-git-repo-check was not specified.",
            is(FailureClass::Permission),
        );
        check("line 429 of main.rs: panic", None);
        check(
            "error: 429 files were looked at",
            is(FailureClass::RateLimit),
        );
        check("it broke", None);
        assert_eq!(class_in(["it broke", "HTTP 429"]), FailureClass::RateLimit);
        assert_eq!(class_in(["it broke", ""]), FailureClass::Crash);
    }
}
