//! The mock agent, and with it the kit.

use serde_json::json;
use uwf_protocol::chain::ChainSummary;
use uwf_protocol::nodes::{ExtractionMethod, TurnRole};
use uwf_protocol::run::Phase;
use uwf_protocol::schemas;

use crate::world::{NOW, World, says};

fn scripted(script: &str) -> World {
    let world = World::new();
    world.write("script.yaml", script);
    world
}

const PLAIN: &str = "
roles:
  writer:
    - output: { $status: done, text: one }
      body: '# First'
    - output: { $status: done, text: two }
  reviewer:
    - output: { $status: done, text: fine }
      body: |
        ## Moderator Instruction
        Not mine.
";

#[test]
fn a_finished_step_has_every_key_and_is_on_record() {
    let mut world = scripted(PLAIN);
    let step = world.step("mock", &["script.yaml"], "writer");
    let payload = world.store.get(step.hash).unwrap().payload;
    let mut keys: Vec<&str> = payload
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    keys.sort_unstable();
    assert_eq!(
        keys,
        [
            "agent",
            "assembledPrompt",
            "completedAtMs",
            "cwd",
            "detail",
            "edgePrompt",
            "output",
            "prev",
            "role",
            "start",
            "startedAtMs"
        ]
    );
    assert_eq!(payload["prev"], json!(null));
    assert_eq!(payload["agent"], "uwf-mock");
    assert_eq!(payload["edgePrompt"], "Begin.");
    assert_eq!(payload["startedAtMs"], NOW);
    assert_eq!(payload["start"], world.start.as_str());
    assert_eq!(step.output, json!({ "$status": "done", "text": "one" }));
    assert_eq!(
        world.text(step.detail.raw),
        "---\n$status: done\ntext: one\n---\n\n# First"
    );
    assert_eq!(step.detail.extraction.method, ExtractionMethod::Frontmatter);
    assert_eq!(step.detail.usage, None);
    for part in [
        "## Task\n\nWrite about trees.",
        "You write.",
        "step 1, visit 1",
        "Begin.",
    ] {
        assert!(step.prompt.contains(part), "{part}: {}", step.prompt);
    }
}

#[test]
fn a_prompt_shows_the_steps_that_the_role_does_not_know() {
    let mut world = scripted(PLAIN);
    let first = world.step("mock", &["script.yaml"], "writer");
    let second = world.step("mock", &["script.yaml"], "reviewer");
    assert_eq!(second.node.prev, Some(first.hash));
    assert!(
        second
            .prompt
            .contains("<step number=\"1\" role=\"writer\" agent=\"uwf-mock\">")
    );
    assert!(
        second.prompt.contains("# First\n</content>"),
        "{}",
        second.prompt
    );
    let third = world.step("mock", &["script.yaml"], "writer");
    assert_eq!(third.output["text"], "two");
    assert!(third.prompt.contains("step 3, visit 2"));
    assert!(
        third
            .prompt
            .contains("<step number=\"2\" role=\"reviewer\""),
        "{}",
        third.prompt
    );
    assert!(!third.prompt.contains("# First"), "{}", third.prompt);
}

#[test]
fn counts_come_from_the_summary_as_far_as_it_goes() {
    let mut world = scripted(PLAIN);
    let first = world.step("mock", &["script.yaml"], "writer");
    let mut summary = ChainSummary::of_start(world.start);
    summary.push(first.hash, &"writer".parse().unwrap());
    world
        .run_dir()
        .ledger
        .write_chain_summary(&summary)
        .unwrap();
    let second = world.step("mock", &["script.yaml"], "writer");
    assert!(second.prompt.contains("step 2, visit 2"));
    let third = world.step("mock", &["script.yaml"], "reviewer");
    assert!(third.prompt.contains("step 3, visit 1"), "{}", third.prompt);
    summary.push(second.hash, &"writer".parse().unwrap());
    summary.push(third.hash, &"reviewer".parse().unwrap());
    world
        .run_dir()
        .ledger
        .write_chain_summary(&summary)
        .unwrap();
    // A later visit needs no node before the role's last step.
    std::fs::remove_file(world.path("root/cas").join(format!("{}.bin", first.hash))).unwrap();
    let fourth = world.step("mock", &["script.yaml"], "reviewer");
    assert!(
        fourth.prompt.contains("step 4, visit 2"),
        "{}",
        fourth.prompt
    );
}

#[test]
fn a_correction_in_the_same_session_is_accepted_and_nothing_is_lost() {
    let mut world = scripted(
        "roles: { writer: [{ output: the work, corrections: [{ text: x }, { $status: done, text: y }] }] }",
    );
    let step = world.step("mock", &["script.yaml"], "writer");
    assert_eq!(step.output["text"], "y");
    assert_eq!(step.detail.extraction.method, ExtractionMethod::Correction);
    assert_eq!(step.detail.extraction.attempts, 3);
    let turns: Vec<_> = step
        .detail
        .turns
        .iter()
        .map(|hash| world.store.get(*hash).unwrap().payload)
        .collect();
    assert_eq!(turns.len(), 5);
    assert_eq!(turns[0]["content"], "the work");
    assert_eq!(turns[1]["role"], json!(TurnRole::User));
    assert!(
        turns[3]["content"].as_str().unwrap().contains("$status"),
        "{}",
        turns[3]
    );
    assert!(step.prompt.contains("## Task"));
}

#[test]
fn an_answer_that_never_fits_is_a_failure_with_the_answer_on_record() {
    let world = scripted(
        "roles: { writer: [{ output: { $status: nope, text: x }, corrections: [a, b, c] }] }",
    );
    let failure = world.fail("mock", &["script.yaml"], "writer");
    assert_eq!(failure.phase, Phase::Extract);
    says(&failure, "after 3 attempts");
    assert_eq!(world.text(failure.raw.unwrap()), "b");
    let world = scripted("roles: { writer: [{ output: \"---\\na: b: c\\n---\\n\" }] }");
    let failure = world.fail("mock", &["script.yaml"], "writer");
    says(&failure, "not valid YAML");
    says(&failure, "after 1 attempt:");
}

#[test]
fn a_failed_attempt_is_continued_with_a_correction() {
    let mut world = scripted(
        "roles: { writer: [{ output: a, corrections: [b], continued: { $status: done, text: late } }] }",
    );
    let failure = world.fail("mock", &["script.yaml"], "writer");
    assert!(failure.session_id.is_some());
    let step = world.step("mock", &["script.yaml"], "writer");
    assert_eq!(step.output["text"], "late");
    assert_eq!(step.detail.session_id, failure.session_id);
    assert_eq!(step.detail.extraction.method, ExtractionMethod::Correction);
}

#[test]
fn a_scripted_exit_is_the_exit_code() {
    let world = scripted("roles: { writer: [{ exit: 9, stderr: out of money }] }");
    assert_eq!(world.call("mock", &["script.yaml"], "writer"), 9);
    assert_eq!(
        world.run_dir().scratch.read_failure().unwrap().phase,
        Phase::Agent
    );
}

#[test]
fn another_role_than_the_script_says_fails() {
    let world = scripted("steps: [{ role: reviewer, output: x }]");
    let failure = world.fail("mock", &["script.yaml"], "writer");
    says(&failure, "the script has `reviewer` at step 1");
}

#[test]
fn any_role_may_suspend() {
    let mut world =
        scripted("roles: { writer: [{ output: { $status: $SUSPEND, reason: which tree? } }] }");
    let step = world.step("mock", &["script.yaml"], "writer");
    assert_eq!(
        step.output,
        json!({ "$status": "$SUSPEND", "reason": "which tree?" })
    );
    let node = world.store.get(step.node.output).unwrap();
    assert_eq!(node.type_hash, schemas::OBJECT);
}

#[test]
fn a_script_that_cannot_be_used_fails_without_a_step() {
    let world = scripted(PLAIN);
    assert_eq!(world.call("mock", &["script.yaml"], "nobody"), 1);
    assert_eq!(
        world.run_dir().scratch.read_failure(),
        None,
        "what does not exist leaves no folder"
    );
    world.run_dir().create().unwrap();
    let failure = world.fail("mock", &["script.yaml"], "nobody");
    says(&failure, "no role `nobody`");
    assert_eq!(world.call("mock", &["missing.yaml"], "writer"), 1);
    assert_eq!(
        world.run_dir().scratch.read_failure().unwrap().phase,
        Phase::Spawn
    );
    assert_eq!(world.call("mock", &[], "writer"), 2);
    assert_eq!(world.call("mock", &["script.yaml"], "$START"), 2);
    assert_eq!(world.run_dir().outbox.read_pending().unwrap(), None);
}

#[test]
fn an_agent_that_was_started_by_hand_does_not_work_on_a_busy_thread() {
    let world = scripted(PLAIN);
    let run = world.run_dir();
    let lock = run.lease.try_acquire().unwrap().unwrap();
    assert_eq!(world.call("mock", &["script.yaml"], "writer"), 5);
    assert_eq!(run.outbox.read_pending().unwrap(), None);
    assert_eq!(
        run.scratch.read_failure(),
        None,
        "what runs there is not its own"
    );
    lock.release().unwrap();
    assert_eq!(world.call("mock", &["script.yaml"], "writer"), 0);
    assert!(run.lease.try_acquire().unwrap().is_some());
}
