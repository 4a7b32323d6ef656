//! Dotted keys and their values.

use serde_json::json;

use super::*;

fn check(key: &str, value: &str, path: &[&str], expected: &Value) {
    let change = Change::parse(key, value).unwrap();
    assert_eq!(change, Change::set(path, expected.clone()));
}

fn check_error(key: &str, value: &str, parts: &[&str]) {
    let error = Change::parse(key, value).unwrap_err().to_string();
    for part in parts {
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn keys_of_every_shape_are_parsed() {
    let check_text = |key: &str, path: &[&str]| check(key, "10m", path, &"10m".into());
    check_text("defaultAgent", &["defaultAgent"]);
    let variable = ["providers", "p", "apiKeyEnv"];
    check("providers.p.apiKeyEnv", "P_KEY", &variable, &"P_KEY".into());
    check_text("models.gpt-4.1.name", &["models", "gpt-4.1", "name"]);
    check_text("agents.a.idleTimeout", &["agents", "a", "idleTimeout"]);
    check_text("agentOverrides.w.r.x", &["agentOverrides", "w", "r.x"]);
    check_text("modelOverrides.extract", &["modelOverrides", "extract"]);
    let protocol = ["agents", "a", "protocol"];
    check("agents.a.protocol", "named", &protocol, &"named".into());
    check("limits.maxSteps", "10", &["limits", "maxSteps"], &10.into());
    let visits = ["limits", "maxVisits", "a.b"];
    check("limits.maxVisits.a.b", "3", &visits, &3.into());
    check_text("limits.maxDuration", &["limits", "maxDuration"]);
    let price = ["prices", "gpt-4.1*", "cacheRead"];
    check("prices.gpt-4.1*.cacheRead", "0.5", &price, &0.5.into());
    let running = ["concurrency", "maxRunning"];
    check("concurrency.maxRunning", "2", &running, &2.into());
    let running = ["agents", "a", "maxRunning"];
    check("agents.a.maxRunning", "1", &running, &1.into());
    let most = ["agents", "a.b", "retry", "max"];
    check("agents.a.b.retry.max", "3", &most, &3.into());
    check_text(
        "agents.a.retry.backoff",
        &["agents", "a", "retry", "backoff"],
    );
    check_text("agents.retry.timeout", &["agents", "retry", "timeout"]);
    check_text("agents.a.retry.timeout", &["agents", "a.retry", "timeout"]);
    let on = ["agents", "a", "retry", "on"];
    check("agents.a.retry.on", r#"["auth"]"#, &on, &json!(["auth"]));
    let hook = ["hooks", "failed", "command"];
    check("hooks.failed.command", "mail me", &hook, &"mail me".into());
    let variable = ["agents", "a.b", "env", "PORT"];
    check("agents.a.b.env.PORT", "8080", &variable, &"8080".into());
    let secrets = ["agents", "a", "secrets"];
    check(
        "agents.a.secrets",
        r#"["GH_TOKEN"]"#,
        &secrets,
        &serde_json::json!(["GH_TOKEN"]),
    );
    let args = ["agents", "a", "args"];
    check("agents.a.args", r#"["x"]"#, &args, &json!(["x"]));
}

#[test]
fn a_wrong_key_is_refused_with_the_valid_ones() {
    check_error(
        "provders.x.apiKey",
        "",
        &["did you mean `providers`?", "`defaultModel`"],
    );
    check_error(
        "agents.a.arg",
        "",
        &["did you mean `args`?", "`idleTimeout`"],
    );
    check_error("agents.a", "", &["incomplete", "`command`"]);
    check_error("agents.a.retry", "3", &["incomplete", "`backoff`"]);
    check_error("agents.a.retry.maxx", "3", &["did you mean `max`?"]);
    check_error(
        "agentOverrides.w",
        "",
        &["`agentOverrides.<workflow>.<role>`"],
    );
    check_error(
        "modelOverrides",
        "",
        &["`modelOverrides.<purpose>`", "`extract`"],
    );
    check_error(
        "hooks.ended.command",
        "x",
        &["`ended` is not known", "`completed`"],
    );
    check_error("remote.lease", "999ms", &["`999ms` is too short", "`1s`"]);
    check_error("remote.lease", "31d", &["`31d` is too long", "`30d`"]);
    check_error("remote.lease", "soon", &["`soon` is not a duration"]);
    check_error("hooks.step", "x", &["incomplete", "`suspended`"]);
    check_error("defaultAgent.x", "", &["has no keys"]);
    check_error("models..name", "", &["empty"]);
    check_error("", "", &["is not known"]);
}

#[test]
fn a_wrong_value_is_refused() {
    check_error("agents.a.args", "x", &["JSON array"]);
    check_error("agents.a.args", "[1]", &["JSON array"]);
    check_error("limits.maxSteps", "0", &["a whole number from 1"]);
    check_error("limits.maxStep", "1", &["did you mean `maxSteps`?"]);
    check_error("limits", "1", &["incomplete", "`maxTokens`"]);
    check_error("limits.maxCostUsd", "much", &["an amount above 0"]);
    check_error("concurrency.maxRunning", "0", &["a whole number from 1"]);
    check_error("prices.m", "1", &["incomplete", "`cacheRead`"]);
    check_error("prices.m.inptu", "1", &["did you mean `input`?"]);
    check_error("prices.m*n.input", "1", &["with one `*` at the end"]);
    for price in ["-1", "nan", "1e400", "cheap"] {
        check_error("prices.m.input", price, &["a number from 0"]);
    }
    check_error("concurrency", "1", &["incomplete", "`maxRunning`"]);
    check_error("hooks.step.timeout", "soon", &["`soon` is not a duration"]);
    check_error("agents.a.timeout", "soon", &["`soon` is not a duration"]);
    check_error("agents.a.retry.max", "0", &["a whole number from 1"]);
    check_error("agents.a.retry.max", "41", &["from 1 to 40"]);
    check_error("agents.a.retry.backoff", "soon", &["not a duration"]);
    check_error("agents.a.retry.on", "auth", &["JSON array"]);
    check_error("agents.a.retry.on", "[]", &["one or more of", "`auth`"]);
    check_error("agents.a.retry.on", r#"["cancelled"]"#, &["`rate-limit`"]);
    check_error("agents.a.protocol", "both", &["`positional` or `named`"]);
    check_error("extract", "always", &["`strict` or `llm`"]);
    check_error("models.m.responseFormat", "xml", &["`json_schema`"]);
}
