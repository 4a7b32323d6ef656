//! Finds the failure class in a tool's error text, and when the tool may be asked again. Pure.
//!
//! Most tools report failures as text for people. A tool that reports a class in its events does not need this.

use std::sync::LazyLock;
use std::time::Duration;

use regex::{Captures, Regex};
use uwf_agent_kit::TryAgain;
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

/// The time after which a tool says that a call may be made again, such as `try again in 1 hour 5.5 minutes`.
static AGAIN: LazyLock<Regex> = LazyLock::new(|| {
    let regex = Regex::new(r"\btry again in ((?:[0-9]+(?:\.[0-9]+)?\s*[a-z]+[\s,]*(?:and )?)+)");
    regex.expect("the expression is fixed")
});

/// A part of that time.
static PART: LazyLock<Regex> = LazyLock::new(|| {
    let regex = Regex::new(r"([0-9]+(?:\.[0-9]+)?)\s*([a-z]+)");
    regex.expect("the expression is fixed")
});

/// Returns when a call may be made again, if a text says so.
pub(crate) fn try_again(text: &str) -> Option<TryAgain> {
    let text = text.to_lowercase();
    let found = AGAIN.captures(&text)?.get(1)?;
    let parts = PART.captures_iter(found.as_str());
    let seconds =
        parts.map_while(|part| Some(part[1].parse::<f64>().ok()? * seconds_of(&part[2])?));
    let sum: f64 = seconds.sum();
    let time = Duration::try_from_secs_f64(sum).ok()?;
    (!time.is_zero()).then_some(TryAgain::After(time))
}

/// Returns how many seconds a unit of time has.
fn seconds_of(unit: &str) -> Option<f64> {
    Some(match unit {
        "ms" | "millisecond" | "milliseconds" => 0.001,
        "s" | "sec" | "secs" | "second" | "seconds" => 1.0,
        "m" | "min" | "mins" | "minute" | "minutes" => 60.0,
        "h" | "hour" | "hours" => 3600.0,
        "day" | "days" => 86_400.0,
        _ => return None,
    })
}

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
    fn the_time_after_which_a_tool_may_be_asked_again_is_read() {
        let check = |text: &str, ms: Option<u64>| {
            let read = try_again(text).map(|when| when.from_now_ms(0));
            assert_eq!(read, ms, "{text}");
        };
        check(
            "Rate limit reached. Please try again in 20s. Visit x",
            Some(20_000),
        );
        check("Please try again in 1.5s.", Some(1500));
        check("try again in 350ms", Some(350));
        check("Try again in 35 seconds.", Some(35_000));
        check(
            "Try again in 1 day, 2 hours and 3 minutes.",
            Some(93_780_000),
        );
        check("try again in 2 hours 5 files are left", Some(7_200_000));
        check("try again in a while", None);
        check("try again in 3 fortnights", None);
        check("try again later", None);
    }

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
