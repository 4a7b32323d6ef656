//! The view of one thread.

use serde_json::json;
use uwf_storage::Reason;

use super::{NOW, World};
use crate::read::thread_state::ThreadStatus;
use crate::{EngineError, show};

#[test]
fn a_thread_shows_with_the_keys_of_the_format_in_its_order() {
    let world = World::new();
    let thread = world.start(10, "Hello");
    let head = world.step(thread, "writer", &json!({}), "");
    let workflow = world.workflow;
    let (started, changed) = (NOW - 10, NOW + 1500);
    let used = r#"{"runs":1,"costUsd":null,"costUnknown":1,"tokens":null,"tokensUnknown":1,"durationMs":1500,"durationUnknown":0}"#;
    let shown = serde_json::to_string(&show(&world.site, thread).unwrap()).unwrap();
    let expected = format!(
        r#"{{"workflow":"{workflow}","thread":"{thread}","head":"{head}","status":"idle","currentRole":"reviewer","suspendedRole":null,"suspendMessage":null,"done":false,"background":null,"hint":null,"blockedReason":null,"attempts":[],"steps":1,"running":null,"name":null,"labels":{{}},"workflowName":"demo","task":"Hello","startedAtMs":{started},"changedAtMs":{changed},"usage":{used},"result":null}}"#
    );
    assert_eq!(shown, expected);
}

#[test]
fn a_suspended_thread_says_what_is_asked_and_how_to_answer() {
    let world = World::new();
    let thread = world.start(10, "Hello");
    world.step(thread, "writer", &json!({}), "");
    world.step(
        thread,
        "reviewer",
        &json!({ "$status": "ask", "question": "which?" }),
        "",
    );
    let view = show(&world.site, thread).unwrap();
    assert_eq!(view.state.status, ThreadStatus::Suspended);
    assert_eq!(view.state.suspend_message.as_deref(), Some("Need: which?"));
    assert_eq!(view.steps, 2);
}

#[test]
fn a_failed_attempt_shows_until_a_step_is_done() {
    let world = World::new();
    let thread = world.start(10, "Hello");
    world.fail(thread, "exited with code 1");
    let view = show(&world.site, thread).unwrap();
    assert_eq!(view.state.status, ThreadStatus::Failed);
    assert_eq!(view.state.current_role.unwrap().as_str(), "writer");
    let attempt = serde_json::to_value(&view.attempts[0]).unwrap();
    let keys: Vec<&String> = attempt.as_object().unwrap().keys().collect();
    let expected = [
        "number",
        "role",
        "phase",
        "class",
        "error",
        "hint",
        "exitCode",
        "stderrTail",
        "sessionId",
        "agent",
        "alias",
        "directory",
        "usage",
        "startedAtMs",
        "endedAtMs",
        "head",
        "raw",
    ];
    assert_eq!(keys, expected);
    world.step(thread, "writer", &json!({}), "");
    let view = show(&world.site, thread).unwrap();
    assert_eq!(
        (view.state.status, view.attempts.len()),
        (ThreadStatus::Idle, 0)
    );
}

#[test]
fn a_thread_is_running_while_it_is_held_and_not_when_its_record_is_stale() {
    let world = World::new();
    let thread = world.start(10, "Hello");
    world.write_lease(thread, "writer");
    assert_eq!(
        show(&world.site, thread).unwrap().state.status,
        ThreadStatus::Idle
    );
    let _lock = world
        .site
        .root
        .run(thread)
        .lease
        .try_acquire()
        .unwrap()
        .unwrap();
    let view = show(&world.site, thread).unwrap();
    assert_eq!(view.state.status, ThreadStatus::Running);
    assert_eq!(view.running.unwrap().agent_pid, Some(42));
}

#[test]
fn a_thread_without_a_way_on_is_blocked_and_says_why() {
    let world = World::new();
    let thread = world.start(10, "Hello");
    world.step(thread, "writer", &json!({}), "");
    world.step(thread, "reviewer", &json!({ "$status": "maybe" }), "");
    let view = show(&world.site, thread).unwrap();
    assert_eq!(view.state.status, ThreadStatus::Blocked);
    assert!(view.blocked_reason.unwrap().contains("`maybe`"));
}

#[test]
fn an_ended_thread_is_shown_from_the_history() {
    let world = World::new();
    for (reason, status) in [
        (Reason::Completed, ThreadStatus::Completed),
        (Reason::Cancelled, ThreadStatus::Cancelled),
    ] {
        let thread = world.start(status as i64, "Hello");
        world.step(thread, "writer", &json!({}), "");
        world.end(thread, reason);
        let view = show(&world.site, thread).unwrap();
        assert_eq!((view.state.status, view.state.done), (status, true));
        assert_eq!((view.steps, view.state.current_role), (1, None));
    }
}

#[test]
fn an_unknown_thread_is_an_error() {
    let world = World::new();
    let thread = "01J7K9Z000000000000000000A".parse().unwrap();
    let error = show(&world.site, thread).unwrap_err();
    assert!(matches!(error, EngineError::UnknownThread(unknown) if unknown.what == thread));
}
