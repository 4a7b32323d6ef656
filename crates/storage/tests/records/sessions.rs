//! The records of the sessions of agents.

use std::fs;

use serde_json::{Value, json};
use uwf_protocol::ids::CasRef;
use uwf_protocol::machine::MachineId;
use uwf_protocol::run::StartedSession;
use uwf_storage::{RunDir, machine_id};

use crate::{role, world};

fn write(run: &RunDir, name: &str, record: &Value) {
    run.create().unwrap();
    fs::write(run.path().join(name), record.to_string()).unwrap();
}

fn read(run: &RunDir, name: &str) -> Value {
    serde_json::from_slice(&fs::read(run.path().join(name)).unwrap()).unwrap()
}

#[test]
fn the_session_of_one_agent_or_of_all_agents_in_a_role_can_be_forgotten() {
    let (_temp, run) = world();
    for (name, agent) in [("writer", "a"), ("writer", "b"), ("editor", "a")] {
        run.sessions.remember(&role(name), agent, "s1").unwrap();
    }
    let known = |name: &str, agent: &str| run.sessions.of_agent(&role(name), agent).is_some();
    run.sessions.forget(&role("writer"), Some("a")).unwrap();
    assert!(!known("writer", "a") && known("writer", "b") && known("editor", "a"));
    run.sessions.forget(&role("writer"), None).unwrap();
    assert!(!known("writer", "b") && known("editor", "a"));
    assert!(run.sessions.is_lost(&role("writer"), "b"));
    assert!(!run.sessions.is_lost(&role("writer"), "c"));
    assert!(!run.sessions.is_lost(&role("editor"), "a"));
}

#[test]
fn each_agent_has_its_own_session_in_each_role() {
    let (_temp, run) = world();
    let (writer, reviewer) = (role("writer"), role("reviewer"));
    run.sessions.remember(&writer, "mock", "s1").unwrap();
    run.sessions.remember(&writer, "other", "s2").unwrap();
    run.sessions.remember(&reviewer, "mock", "s3").unwrap();
    run.sessions.remember(&writer, "mock", "s4").unwrap();
    assert_eq!(
        run.sessions.of_agent(&writer, "mock").as_deref(),
        Some("s4")
    );
    assert_eq!(
        run.sessions.of_agent(&writer, "other").as_deref(),
        Some("s2")
    );
    assert_eq!(
        run.sessions.of_agent(&reviewer, "mock").as_deref(),
        Some("s3")
    );
    assert_eq!(run.sessions.of_agent(&reviewer, "other"), None);
}

#[test]
fn a_session_is_recorded_with_its_machine() {
    let (_temp, run) = world();
    run.sessions
        .remember(&role("writer"), "mock", "s1")
        .unwrap();
    let expected = json!({ "writer": { "mock": { "session": "s1", "machine": machine_id() } } });
    assert_eq!(read(&run, "sessions.json"), expected);
}

#[test]
fn a_session_of_a_version_that_recorded_no_machine_is_one_of_this_machine() {
    let (_temp, run) = world();
    let (writer, old) = (
        role("writer"),
        json!({ "writer": { "mock": "s1", "gone": "" } }),
    );
    write(&run, "sessions.json", &old);
    let session = || run.sessions.of_agent(&writer, "mock");
    assert_eq!(session().as_deref(), Some("s1"));
    assert!(run.sessions.is_lost(&writer, "gone"));
    assert!(!run.sessions.is_lost(&writer, "mock"));
    run.sessions.remember(&writer, "mock", "s1").unwrap();
    assert_eq!(read(&run, "sessions.json"), old, "nothing is new");
    run.sessions.forget(&writer, Some("mock")).unwrap();
    assert_eq!(session(), None);
    assert!(run.sessions.is_lost(&writer, "mock"));
}

#[test]
fn a_session_of_another_machine_is_not_continued_here_and_is_listed() {
    let (_temp, run) = world();
    let writer = role("writer");
    let other = MachineId::from_u64(7);
    write(
        &run,
        "sessions.json",
        &json!({ "writer": { "mock": { "session": "s1", "machine": other } } }),
    );
    assert_eq!(run.sessions.of_agent(&writer, "mock"), None);
    assert!(
        run.sessions.is_lost(&writer, "mock"),
        "the agent must be told everything"
    );
    let listed = (writer.clone(), "mock".to_owned(), "s1".to_owned());
    assert_eq!(run.sessions.all(), [listed]);
    run.sessions.remember(&writer, "mock", "s1").unwrap();
    assert_eq!(
        run.sessions.of_agent(&writer, "mock").as_deref(),
        Some("s1")
    );
}

#[test]
fn a_step_that_was_started_on_another_machine_is_not_gone_on_with_here() {
    let (_temp, run) = world();
    let started = StartedSession {
        head: CasRef::from_u64(1),
        replaces: None,
        role: role("writer"),
        agent: "mock".to_owned(),
        session_id: "s1".to_owned(),
        instruction: String::new(),
    };
    run.sessions.write_started(&started).unwrap();
    assert_eq!(run.sessions.last_started().as_ref(), Some(&started));
    let mut record = read(&run, "begun.json");
    assert_eq!(record["machine"], json!(machine_id()));

    record["machine"] = json!(MachineId::from_u64(7));
    write(&run, "begun.json", &record);
    assert_eq!(run.sessions.last_started(), None);
    record.as_object_mut().unwrap().remove("machine");
    write(&run, "begun.json", &record);
    assert_eq!(run.sessions.last_started(), Some(started));
    run.sessions.forget(&role("writer"), None).unwrap();
    assert_eq!(run.sessions.last_started(), None);
}
