//! What the statuses and bodies of providers mean.

use super::*;

fn endpoint() -> Endpoint {
    Endpoint {
        alias: Some("big".to_owned()),
        provider: "mine".to_owned(),
        model: "vendor/big".to_owned(),
        api: crate::llm::Api::Chat,
        base_url: "http://h/v1".to_owned(),
        key: Some(Secret::new("sk-123")),
        format: None,
    }
}

fn refused(status: u16, body: &str) -> LlmError {
    let refusal = Refusal {
        status,
        body,
        location: None,
        asked: Some(Duration::from_secs(7)),
    };
    endpoint().refused(refusal, 4)
}

#[test]
fn each_status_has_its_code() {
    let check = |status, code| assert_eq!(refused(status, "").code(), code);
    check(401, "unauthorized");
    check(403, "unauthorized");
    check(404, "not_found");
    check(429, "rate_limited");
    check(400, "refused");
    check(302, "redirected");
    check(500, "unavailable");
    check(529, "unavailable");
    check(413, "context_too_long");
}

#[test]
fn only_a_provider_that_will_answer_later_says_when() {
    let asked = |status| refused(status, "").asked().map(|time| time.as_secs());
    assert_eq!(
        [429, 503, 400, 401].map(asked),
        [Some(7), Some(7), None, None]
    );
}

#[test]
fn a_request_that_is_too_long_is_told_from_other_refusals() {
    let check = |body: &str, code: &str| assert_eq!(refused(400, body).code(), code, "{body}");
    let too_long = "context_too_long";
    check(
        r#"{"error":{"message":"This model's maximum context length is 8192 tokens.","code":"context_length_exceeded"}}"#,
        too_long,
    );
    check(
        r#"{"error":{"message":"no","code":"context_length_exceeded"}}"#,
        too_long,
    );
    check(
        r#"{"error":{"message":"prompt is too long: 200001 tokens > 200000 maximum"}}"#,
        too_long,
    );
    check(
        r#"{"error":"the request exceeds the available context size"}"#,
        too_long,
    );
    check(
        "The input token count (1048577) exceeds the maximum number of tokens allowed",
        too_long,
    );
    check(r#"{"error":"response_format is not supported"}"#, "refused");
    check("max_tokens is too large: 9000", "refused");
}

#[test]
fn hints_name_the_entries_of_the_config() {
    let hint = refused(401, "").hint();
    assert!(hint.contains("`providers.mine.apiKey`"), "{hint}");
    let hint = refused(404, "").hint();
    assert!(
        hint.contains("`models.big.name`") && hint.contains("`providers.mine.baseUrl`"),
        "{hint}"
    );
    let listing = Endpoint {
        alias: None,
        ..endpoint()
    };
    assert_eq!(listing.name().to_string(), "provider `mine` at http://h/v1");
}

#[test]
fn the_providers_word_is_found_in_every_shape() {
    let check = |body: &str| {
        assert_eq!(
            refused(400, body).to_string(),
            "model `big` at http://h/v1 refused the request (HTTP 400): no",
            "{body}"
        );
    };
    check(r#"{"error":{"message":"no","code":"x"}}"#);
    check(r#"{"error":"no"}"#);
    check(r#"{"message":"no"}"#);
    check(r#"{"detail":"no"}"#);
    check("no\n");
    check(r#""no""#);
}

#[test]
fn a_message_is_short_printable_and_without_the_key() {
    let long = "x".repeat(600);
    assert_eq!(excerpt(&long, None).chars().count(), EXCERPT + 1);
    let body = "bad \u{1b}[31mkey sk-123";
    let text = refused(401, body).to_string();
    assert!(
        !text.contains("sk-123") && !text.contains('\u{1b}'),
        "{text}"
    );
}
