//! When a limit is reached, what a raise does, and what counts as unknown.

use serde_json::{Value, json};

use super::*;
use crate::ids::CasRef;
use crate::nodes::Usage;
use crate::run::Phase;

fn writer() -> RoleName {
    "writer".parse().unwrap()
}

fn limits(value: Value) -> Limits {
    serde_json::from_value(value).unwrap()
}

/// Returns what is reached by a thread of ten steps, three by the writer, who is next.
fn reached(workflow: Value, config: Value, raises: &[&str], used: Used) -> Vec<String> {
    let raises: Vec<Setting> = raises.iter().map(|raise| raise.parse().unwrap()).collect();
    let rules = Rules {
        workflow: &limits(workflow),
        config: &limits(config),
        raises: &raises,
    };
    let role = writer();
    let spent = Spent {
        steps: 10,
        role: &role,
        visits: 3,
        used,
    };
    let reached = rules.reached(&spent);
    reached
        .iter()
        .map(|one| format!("{one}; {}", one.raise))
        .collect()
}

fn by_workflow(workflow: Value, used: Used) -> Vec<String> {
    reached(workflow, json!({}), &[], used)
}

fn used(cost: Option<f64>, tokens: Option<u64>, ms: Option<u64>) -> Used {
    let usage = Usage {
        input_tokens: tokens,
        output_tokens: tokens,
        cost_usd: cost,
        ..Usage::default()
    };
    let mut used = Used::default();
    used.add(Some(&usage), ms);
    used
}

#[test]
fn a_limit_is_reached_when_the_next_step_would_go_beyond_it() {
    let none = Used::default();
    assert_eq!(
        by_workflow(json!({ "maxSteps": 11, "maxVisits": 4 }), none.clone()),
        [""; 0]
    );
    assert_eq!(
        by_workflow(
            json!({ "maxSteps": 10, "maxVisits": { "writer": 3 } }),
            none.clone()
        ),
        [
            "`maxSteps` is reached: 10 of 10 steps (set by the workflow); maxSteps=20",
            "`maxVisits` is reached: 3 of 3 visits of `writer` (set by the workflow); maxVisits.writer=6",
        ]
    );
    assert_eq!(
        by_workflow(json!({ "maxVisits": { "other": 1 } }), none),
        [""; 0]
    );
    let all = json!({ "maxCostUsd": 1, "maxTokens": 100, "maxDuration": "1m" });
    assert_eq!(
        by_workflow(all.clone(), used(Some(0.99), Some(49), Some(59_999))),
        [""; 0]
    );
    assert_eq!(
        by_workflow(all, used(Some(3.5), Some(50), Some(60_000))),
        [
            "`maxCostUsd` is reached: $3.50 of $1.00 were paid (set by the workflow); maxCostUsd=4",
            "`maxTokens` is reached: 100 of 100 tokens (set by the workflow); maxTokens=200",
            "`maxDuration` is reached: 1m00s of 1m00s of work (set by the workflow); maxDuration=2m",
        ]
    );
}

#[test]
fn the_stricter_of_workflow_and_config_counts() {
    let check = |workflow: u64, config: u64, expected: &[&str]| {
        let (workflow, config) = (
            json!({ "maxSteps": workflow }),
            json!({ "maxSteps": config }),
        );
        assert_eq!(reached(workflow, config, &[], Used::default()), expected);
    };
    check(
        5,
        20,
        &["`maxSteps` is reached: 10 of 5 steps (set by the workflow); maxSteps=20"],
    );
    check(
        20,
        5,
        &["`maxSteps` is reached: 10 of 5 steps (set by the config); maxSteps=20"],
    );
    check(20, 20, &[]);
}

#[test]
fn unknown_usage_counts_as_reaching_the_limit_unless_it_is_ignored() {
    let mut some = used(Some(0.5), None, None);
    some.add(None, None);
    let cost = "`maxCostUsd` may be reached: 1 of 2 runs do not tell their cost (limit $1.00, set by the workflow); unknownUsage=ignore";
    assert_eq!(
        by_workflow(json!({ "maxCostUsd": 1 }), some.clone()),
        [cost]
    );
    let lax = json!({ "maxCostUsd": 1, "unknownUsage": "ignore" });
    assert_eq!(by_workflow(lax.clone(), some.clone()), [""; 0]);
    // The config may still demand what the workflow ignores.
    let strict = json!({ "maxTokens": 9, "maxDuration": "1h" });
    assert_eq!(
        reached(lax, strict.clone(), &[], some.clone()),
        [
            "`maxTokens` may be reached: 2 of 2 runs do not tell their tokens (limit 9, set by the config); unknownUsage=ignore",
            "`maxDuration` may be reached: 2 of 2 runs do not tell how long they took (limit 1h00m, set by the config); unknownUsage=ignore",
        ]
    );
    assert_eq!(
        reached(json!({}), strict, &["unknownUsage=ignore"], some),
        [""; 0]
    );
}

#[test]
fn a_raise_lets_the_thread_go_on_and_never_lowers() {
    let steps = |raises: &[&str]| {
        reached(
            json!({ "maxSteps": 8 }),
            json!({ "maxSteps": 9 }),
            raises,
            Used::default(),
        )
        .len()
    };
    assert_eq!(steps(&[]), 1);
    assert_eq!(steps(&["maxSteps=10"]), 1);
    assert_eq!(steps(&["maxSteps=11"]), 0);
    assert_eq!(steps(&["maxSteps=11", "maxSteps=1"]), 0);
    let visits = |raise: &str| {
        reached(
            json!({ "maxVisits": 2 }),
            json!({}),
            &[raise],
            Used::default(),
        )
        .len()
    };
    assert_eq!(
        [
            visits("maxVisits=4"),
            visits("maxVisits.writer=4"),
            visits("maxVisits.other=4")
        ],
        [0, 0, 1]
    );
}

#[test]
fn a_setting_that_raises_nothing_is_refused() {
    let check = |raise: &str, expected: Option<&str>| {
        let workflow = limits(json!({ "maxSteps": 10, "maxVisits": { "writer": 3 } }));
        let raises = ["maxSteps=15".parse().unwrap()];
        let rules = Rules {
            workflow: &workflow,
            config: &Limits::default(),
            raises: &raises,
        };
        let roles = [writer(), "other".parse().unwrap()];
        let error = rules.check_raise(&raise.parse().unwrap(), &roles).err();
        assert_eq!(
            error.map(|error| error.to_string()).as_deref(),
            expected,
            "{raise}"
        );
    };
    check("maxSteps=16", None);
    check("maxSteps=15", None);
    check(
        "maxSteps=12",
        Some("`maxSteps=12` would lower a limit that is 15"),
    );
    check("maxVisits=4", None);
    check("maxVisits.writer=4", None);
    check(
        "maxVisits.writer=2",
        Some("`maxVisits.writer=2` would lower a limit that is 3"),
    );
    check(
        "maxVisits.other=4",
        Some("`maxVisits.other=4` raises nothing: the thread has no such limit"),
    );
    check(
        "maxTokens=4",
        Some("`maxTokens=4` raises nothing: the thread has no such limit"),
    );
    check("unknownUsage=ignore", None);
    check(
        "unknownUsage=suspend",
        Some("`unknownUsage=suspend` raises nothing: only `unknownUsage=ignore` does"),
    );
}

#[test]
fn an_attempt_that_started_no_agent_cost_nothing_and_others_may_have() {
    let attempt = |phase, usage| Attempt {
        phase,
        usage,
        started_at_ms: 1_000,
        ended_at_ms: 3_500,
        ..Attempt::of(CasRef::from_u64(1), writer())
    };
    let mut used = Used::default();
    used.add_attempt(&attempt(Phase::Spawn, None));
    assert_eq!(
        (used.cost_unknown, used.tokens_unknown, used.duration_ms),
        (0, 0, 2_500)
    );
    used.add_attempt(&attempt(Phase::Agent, None));
    assert_eq!(
        (used.cost_unknown, used.tokens_unknown, used.runs),
        (1, 1, 2)
    );
    let cost = Usage {
        cost_usd: Some(2.0),
        ..Usage::default()
    };
    used.add_attempt(&attempt(Phase::Extract, Some(cost.clone())));
    assert_eq!((used.cost_unknown, used.tokens_unknown), (1, 2));
    used.add(
        Some(&Usage {
            cost_usd: Some(-1.0),
            ..cost
        }),
        Some(0),
    );
    assert_eq!(
        (used.cost_unknown, used.cost_usd.to_string()),
        (2, "2".to_owned())
    );
}

#[test]
fn an_attempt_whose_answer_is_in_a_step_counts_no_time_because_the_step_does() {
    let lost = Attempt {
        end_unseen: true,
        started_at_ms: 1_000,
        ended_at_ms: 3_500,
        ..Attempt::of(CasRef::from_u64(1), writer())
    };
    let used = Used::of_attempt(&lost);
    assert_eq!((used.duration_ms, used.duration_unknown), (2_500, 1));
    let used = Used::of_attempt(&Attempt {
        counted_in: Some(CasRef::from_u64(2)),
        ..lost
    });
    assert_eq!((used.duration_ms, used.duration_unknown), (0, 0));
}

#[test]
fn a_machine_reads_what_people_read() {
    let rules = Rules {
        workflow: &limits(json!({ "maxSteps": 2 })),
        config: &Limits::default(),
        raises: &[],
    };
    let role = writer();
    let spent = Spent {
        steps: 2,
        role: &role,
        visits: 1,
        used: Used::default(),
    };
    assert_eq!(
        serde_json::to_value(&rules.reached(&spent)[0]).unwrap(),
        json!({
            "key": "maxSteps", "role": "writer", "max": 2, "spent": 2, "unknown": null, "runs": 0,
            "setBy": "workflow", "raise": "maxSteps=4",
        })
    );
}
