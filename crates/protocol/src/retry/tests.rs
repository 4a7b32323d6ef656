//! Which agent is next, and when.

use serde_json::json;

use super::*;
use crate::run::ChosenAgent;
use crate::schemas::TEXT;

const MINUTE: i64 = 60_000;

fn config(agents: &serde_json::Value) -> Config {
    serde_json::from_value(json!({ "agents": agents })).unwrap()
}

/// `a` is tried three times, then `b` once, then `c`, which is tried again after crashes only.
fn chain() -> Config {
    config(&json!({
        "a": { "command": "a", "retry": { "max": 2, "backoff": "1m" }, "fallback": ["b", "c"] },
        "b": { "command": "b" },
        "c": { "command": "c", "retry": { "max": 1, "on": ["crash"] }, "fallback": ["a"] },
    }))
}

fn failed(agent: &str, class: FailureClass, ended_at_ms: i64) -> Attempt {
    Attempt {
        alias: Some(agent.to_owned()),
        class: Some(class),
        ended_at_ms,
        ..Attempt::of(TEXT, "writer".parse().unwrap())
    }
}

fn limited(agent: &str, ended_at_ms: i64) -> Attempt {
    failed(agent, FailureClass::RateLimit, ended_at_ms)
}

#[track_caller]
fn check(config: &Config, attempts: &[Attempt], now_ms: i64, agent: &str, when: When) {
    let place = (TEXT, &"writer".parse().unwrap());
    let next = next_try(config, "a", place, attempts, now_ms);
    assert_eq!((next.agent.as_str(), next.when), (agent, when));
}

#[test]
fn nothing_is_planned_before_a_failure_or_without_a_policy() {
    check(&chain(), &[], 0, "a", When::AnyTime);
    let plain = config(&json!({ "a": { "command": "a" } }));
    check(&plain, &[limited("a", 0)], 1, "a", When::AnyTime);
    check(
        &Config::default(),
        &[limited("a", 0)],
        1,
        "a",
        When::AnyTime,
    );
}

#[test]
fn the_same_agent_waits_twice_as_long_each_time_and_then_its_fallbacks_follow() {
    let chain = chain();
    let mut attempts = vec![limited("a", 0)];
    check(&chain, &attempts, 1, "a", When::At(MINUTE));
    check(&chain, &attempts, MINUTE, "a", When::Due);
    attempts.push(limited("a", MINUTE));
    check(&chain, &attempts, MINUTE, "a", When::At(3 * MINUTE));
    attempts.push(limited("a", 3 * MINUTE));
    check(&chain, &attempts, 3 * MINUTE, "b", When::Due);
    attempts.push(limited("b", 3 * MINUTE));
    check(&chain, &attempts, 3 * MINUTE, "c", When::Due);
    // A limit is no failure that `c` is tried again for: a person decides.
    attempts.push(limited("c", 3 * MINUTE));
    check(&chain, &attempts, 3 * MINUTE, "c", When::AnyTime);
    attempts.push(failed("c", FailureClass::Crash, 3 * MINUTE));
    check(
        &chain,
        &attempts,
        3 * MINUTE,
        "c",
        When::At(3 * MINUTE + 30_000),
    );
    // All are used up: everything is as if nothing was configured.
    attempts.push(failed("c", FailureClass::Crash, 4 * MINUTE));
    check(&chain, &attempts, 4 * MINUTE, "a", When::AnyTime);
}

#[test]
fn attempts_end_when_no_more_are_kept() {
    let config = config(&json!({
        "a": { "command": "a", "retry": { "max": 30, "backoff": "1m" }, "fallback": ["b"] },
        "b": { "command": "b", "retry": { "max": 30, "backoff": "1m" } },
    }));
    let mut attempts = Vec::new();
    for (agent, times) in [("a", 31), ("b", 18)] {
        attempts.extend((0..times).map(|_| limited(agent, 0)));
        check(&config, &attempts, 60 * MINUTE, "b", When::Due);
    }
    attempts.push(limited("b", 0));
    check(&config, &attempts, 60 * MINUTE, "a", When::AnyTime);
    // The oldest one is not kept any more.
    attempts.remove(0);
    attempts.push(limited("a", 0));
    check(&config, &attempts, 60 * MINUTE, "a", When::AnyTime);
}

#[test]
fn a_failure_of_another_class_is_answered_by_nobody_and_changes_no_agent() {
    let chain = chain();
    let crashed = |agent| failed(agent, FailureClass::Crash, 0);
    check(&chain, &[crashed("a")], 1, "a", When::AnyTime);
    let attempts = [limited("a", 0), crashed("a")];
    check(&chain, &attempts, 1, "a", When::AnyTime);
    let used_up = [
        limited("a", 0),
        limited("a", 0),
        limited("a", 0),
        crashed("b"),
    ];
    check(&chain, &used_up, 1, "b", When::AnyTime);
}

#[test]
fn attempts_elsewhere_and_those_that_a_person_asked_for_count_for_nothing() {
    let ordinary = limited("a", 0);
    let others = [
        Attempt {
            replaces: Some(TEXT),
            ..ordinary.clone()
        },
        Attempt {
            head: "0123456789ABC".parse().unwrap(),
            ..ordinary.clone()
        },
        Attempt {
            role: "reviewer".parse().unwrap(),
            ..ordinary.clone()
        },
        Attempt {
            words: Some("Go on".to_owned()),
            ..ordinary.clone()
        },
        Attempt {
            end_unseen: true,
            ..ordinary.clone()
        },
        Attempt {
            class: Some(FailureClass::Cancelled),
            ..ordinary.clone()
        },
        Attempt {
            chosen: Some(ChosenAgent {
                option: Some("a".to_owned()),
                permissions_option: None,
                permissions: None,
                command: Vec::new(),
            }),
            ..ordinary.clone()
        },
    ];
    check(&chain(), &others, 1, "a", When::AnyTime);
    // They do not hide the ordinary one either.
    let all: Vec<Attempt> = std::iter::once(ordinary).chain(others).collect();
    check(&chain(), &all, 1, "a", When::At(MINUTE));
}

#[test]
fn what_the_provider_asks_for_counts_if_it_is_longer() {
    let asked = |ms| Attempt {
        retry_after_ms: Some(ms),
        ..limited("a", 0)
    };
    check(&chain(), &[asked(1)], 1, "a", When::At(MINUTE));
    let day = 24 * 60 * MINUTE;
    check(&chain(), &[asked(86_400_000)], 1, "a", When::At(day));
    check(&chain(), &[asked(u64::MAX)], 1, "a", When::At(8 * day));
}

#[test]
fn doubling_ends_at_an_hour_and_a_longer_backoff_does_not_double() {
    let of = |backoff: &str| {
        let retry = json!({ "max": Retry::MOST, "backoff": backoff });
        config(&json!({ "a": { "command": "a", "retry": retry } }))
    };
    let attempts: Vec<Attempt> = (0..Retry::MOST).map(|_| limited("a", 0)).collect();
    check(&of("1m"), &attempts, 1, "a", When::At(60 * MINUTE));
    check(&of("3h"), &attempts, 1, "a", When::At(180 * MINUTE));
}

#[test]
fn a_clock_that_was_set_back_makes_nobody_wait() {
    let hour = 60 * MINUTE;
    let attempts = [limited("a", hour)];
    check(&chain(), &attempts, hour - 1, "a", When::At(hour + MINUTE));
    check(&chain(), &attempts, hour - 2 * MINUTE, "a", When::Due);
    let far = [limited("a", i64::MAX)];
    check(&chain(), &far, hour, "a", When::Due);
}

#[test]
fn circles_and_repeated_fallbacks_are_walked_once() {
    let circle = config(&json!({
        "a": { "command": "a", "fallback": ["b", "b", "a"] },
        "b": { "command": "b", "fallback": ["c", "a"] },
        "c": { "command": "c", "fallback": ["b"] },
    }));
    check(&circle, &[limited("a", 0)], 0, "b", When::Due);
    let all = ["a", "b"].map(|agent| limited(agent, 0));
    check(&circle, &all, 0, "c", When::Due);
    let all = ["a", "b", "c"].map(|agent| limited(agent, 0));
    check(&circle, &all, 0, "a", When::AnyTime);
}
