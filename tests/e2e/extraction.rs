//! Answers whose front matter does not fit, and the model that reads them: what is accepted, refused and kept.

use serde_json::{Value, json};

use crate::model_server::{ModelServer, Scripted};
use crate::world::World;

const KEY: &str = "sk-very-secret";

/// A reviewer whose verdict routes and whose link names a thing.
const VERDICT: &str = r#"
name: verdict
description: One verdict
roles:
  reviewer:
    description: Reviews
    goal: You review.
    capabilities: []
    procedure: Review.
    output: A verdict.
    frontmatter:
      oneOf:
        - { properties: { $status: { const: approved }, link: { type: string, format: uri } }, required: [$status, link] }
        - { properties: { $status: { const: rejected }, reason: { type: string } }, required: [$status, reason] }
graph:
  $START: { _: { role: reviewer, prompt: "Review it." } }
  reviewer:
    approved: { role: $END, prompt: "" }
    rejected: { role: $END, prompt: "" }
"#;

const PROSE: &str = "All is well and approved, see https://example.com/pull/7.";

/// A world whose agent answers with a text, and whose models are served by a server.
fn world(server: &ModelServer, answer: &str) -> (World, String) {
    let world = World::new();
    world.write("answer.md", answer);
    world.agent("uwf-command", &["--", "cat", "answer.md"]);
    world.model("small", &server.base_url());
    world.configure("providers.local.apiKey", KEY);
    world.configure("defaultModel", "small");
    world.put(VERDICT);
    let thread = world.start("verdict");
    (world, thread)
}

fn approved() -> Scripted {
    let data = json!({ "$status": "approved", "link": "https://example.com/pull/7" });
    Scripted::says(&data.to_string())
}

/// Returns the one step of a thread.
fn the_step(world: &World, thread: &str) -> Value {
    let steps = world.uwf(&["thread", "steps", thread]).exits(0).json();
    steps["steps"][1].clone()
}

#[test]
fn prose_is_read_by_the_model_and_every_view_says_so() {
    let server = ModelServer::start(vec![approved()]);
    let (world, thread) = world(&server, PROSE);
    let report = world.step(&thread).exits(0);
    assert_eq!(report.json()["done"], json!(true));
    assert!(!format!("{}{}", report.stdout, report.stderr).contains(KEY));

    let step = the_step(&world, &thread);
    assert_eq!(
        step["output"],
        json!({ "$status": "approved", "link": "https://example.com/pull/7" })
    );
    let extraction = json!({ "method": "llm", "attempts": 2, "model": "served-model" });
    assert_eq!(step["extraction"], extraction);
    let hash = step["hash"].as_str().unwrap();
    let detail = world.uwf(&["step", "show", hash, "--format", "json"]);
    let detail = detail.exits(0).json();
    assert_eq!(detail["extraction"], extraction);
    assert_eq!(detail["usage"]["inputTokens"], 10);
    let read = world.uwf(&["thread", "read", &thread]).exits(0).stdout;
    assert!(
        read.contains("**Extraction:** llm served-model, attempt 2"),
        "{read}"
    );
    assert!(read.contains(PROSE), "{read}");
    let table = world.uwf(&["thread", "steps", &thread, "--format", "text"]);
    assert!(
        table
            .exits(0)
            .stdout
            .contains("(llm served-model, attempt 2)")
    );

    let requests = server.requests();
    assert_eq!(requests.len(), 1);
    assert_eq!(
        requests[0].header("authorization"),
        Some("Bearer sk-very-secret")
    );
    let messages = requests[0].json()["messages"].clone();
    assert!(
        messages[0]["content"]
            .as_str()
            .unwrap()
            .contains("\"const\": \"approved\"")
    );
    assert_eq!(messages[1]["content"], PROSE);
}

#[test]
fn a_recording_of_what_a_model_read_is_played_without_a_model() {
    let server = ModelServer::start(vec![approved()]);
    let said = format!("---\nverdict: good\n---\n\n{PROSE}\n\n---\n\nBye.\n");
    let (world, thread) = world(&server, &said);
    let recorder = [
        "--to",
        "rec.yaml",
        "--",
        "uwf-command",
        "--",
        "cat",
        "answer.md",
    ];
    world.agent("uwf-record", &recorder);
    world.step(&thread).exits(0);
    assert_eq!(server.requests().len(), 1);

    world.agent("uwf-mock", &["--strict", "rec.yaml"]);
    let again = world.start("verdict");
    world.step(&again).exits(0);
    assert_eq!(server.requests().len(), 1);
    let output = |thread: &str| {
        let hash = the_step(&world, thread)["hash"].clone();
        let step = world.uwf(&["cas", "get", hash.as_str().unwrap()]);
        step.exits(0).json()["payload"]["output"].clone()
    };
    assert_eq!(output(&again), output(&thread));
    let text = world.uwf(&["thread", "read", &again]).exits(0).stdout;
    assert!(text.contains(PROSE) && text.contains("Bye."), "{text}");
    let recording = std::fs::read_to_string(world.project().join("rec.yaml")).unwrap();
    assert!(recording.contains("readBy: served-model"), "{recording}");
}

#[test]
fn an_answer_that_fits_asks_no_model() {
    let server = ModelServer::start(vec![approved()]);
    let answer = "---\n$status: rejected\nreason: no tests\n---\n";
    let (world, thread) = world(&server, answer);
    world.step(&thread).exits(0);
    assert_eq!(server.requests().len(), 0);
    let extraction = the_step(&world, &thread)["extraction"].clone();
    assert_eq!(extraction["method"], "frontmatter");
}

/// Steps a thread whose answer no model may read, and returns the one attempt.
#[track_caller]
fn check_strict(world: &World, server: &ModelServer, thread: &str) -> Value {
    world
        .step(thread)
        .exits(3)
        .says("not accepted after 1 attempt")
        .says(&format!("`uwf thread step {thread}` asks again"))
        .says("shows the answer");
    assert_eq!(server.requests().len(), 0);
    world.show(thread)["attempts"][0].clone()
}

#[test]
fn strict_extraction_asks_no_model() {
    let server = ModelServer::start(vec![approved()]);
    let (world, thread) = world(&server, PROSE);
    world.configure("extract", "strict");
    let attempt = check_strict(&world, &server, &thread);
    let raw = attempt["raw"].as_str().unwrap();
    let raw = world.uwf(&["cas", "get", raw]).exits(0);
    assert!(raw.stdout.contains(PROSE));
    world.configure("extract", "llm");
    world.step(&thread).exits(0);
}

#[test]
fn a_roles_word_beats_the_configs() {
    let server = ModelServer::start(vec![approved()]);
    let (world, _) = world(&server, PROSE);
    let with = |name: &str, policy: &str| {
        let named = VERDICT.replace("name: verdict", &format!("name: {name}"));
        named.replace("    goal:", &format!("    extract: {policy}\n    goal:"))
    };
    world.put(&with("strictly", "strict"));
    let thread = world.start("strictly");
    check_strict(&world, &server, &thread);
    world.put(&with("loosely", "llm"));
    world.configure("extract", "strict");
    let thread = world.start("loosely");
    world.step(&thread).exits(0);
}

#[test]
fn a_blank_answer_is_not_read() {
    let server = ModelServer::start(vec![approved()]);
    let (world, thread) = world(&server, "\n \n");
    world.step(&thread).exits(3);
    assert_eq!(server.requests().len(), 0);
}

#[test]
fn without_a_model_nothing_changes() {
    let world = World::new();
    world.write("answer.md", PROSE);
    world.agent("uwf-command", &["--", "cat", "answer.md"]);
    world.put(VERDICT);
    let thread = world.start("verdict");
    let run = world
        .step(&thread)
        .exits(3)
        .says("not accepted after 1 attempt");
    assert!(!run.stderr.contains("model"), "{}", run.stderr);
}

#[test]
fn a_result_that_does_not_fit_is_corrected_once() {
    let fenced = "```json\n{\"$status\": \"approved\", \"link\": \"https://example.com/pull/7\", \"more\": 1}\n```";
    let server = ModelServer::start(vec![
        Scripted::says(r#"{"$status":"approved"}"#),
        Scripted::says(fenced),
    ]);
    let (world, thread) = world(&server, PROSE);
    world.step(&thread).exits(0);
    let step = the_step(&world, &thread);
    assert_eq!(step["extraction"]["attempts"], 3);
    assert_eq!(step["output"].get("more"), None);
    let correction = server.requests()[1].json()["messages"][3]["content"].to_string();
    assert!(correction.contains("link"), "{correction}");
}

/// Steps a thread whose answer the model reads wrongly again and again.
#[track_caller]
fn check_unread(script: Vec<Scripted>, answer: &str, asked: usize, parts: &[&str]) {
    let server = ModelServer::start(script);
    let (world, thread) = world(&server, answer);
    let mut run = world.step(&thread).exits(3).says("no model could read it");
    for part in parts {
        run = run.says(part);
    }
    assert_eq!(server.requests().len(), asked, "{}", run.stderr);
    let attempt = &world.show(&thread)["attempts"][0];
    assert!(!format!("{}{attempt}", run.stderr).contains(KEY));
    assert_eq!(attempt["phase"], "extract");
    let raw = attempt["raw"].as_str().unwrap();
    let kept = world.uwf(&["cas", "get", raw]).exits(0).stdout;
    assert!(kept.contains(answer), "{kept}");
    assert_eq!(world.show(&thread)["status"], "failed");
}

#[test]
fn what_the_model_makes_up_is_refused() {
    let invented = r#"{"$status":"approved","link":"https://example.com/pull/8"}"#;
    check_unread(
        vec![Scripted::says(invented)],
        PROSE,
        2,
        &["`link` must be copied from the answer", "pull/8"],
    );
}

#[test]
fn a_status_that_the_answer_does_not_state_is_refused_and_cannot_be_changed() {
    check_unread(
        vec![
            Scripted::says(r#"{"$status":"rejected","reason":"no"}"#),
            approved(),
        ],
        "It is not approved, see https://example.com/pull/7.",
        2,
        &["`$status` was `rejected` before, and cannot become `approved`"],
    );
}

#[test]
fn a_status_that_the_answer_denies_is_not_taken_from_a_model() {
    check_unread(
        vec![approved(), approved()],
        "Not approved: the tests fail, see https://example.com/pull/7.",
        2,
        &["`$status` must be stated in the answer, and `approved` is denied there"],
    );
}

#[test]
fn a_model_that_answers_with_prose_is_given_up() {
    check_unread(
        vec![Scripted::says("I see no link.")],
        PROSE,
        2,
        &["it said \"I see no link.\""],
    );
}

#[test]
fn a_model_that_cannot_be_asked_loses_nothing() {
    check_unread(
        vec![Scripted::body(401, r#"{"error":{"message":"bad key"}}"#)],
        PROSE,
        1,
        &[
            "model `small` at http://127.0.0.1",
            "(unauthorized)",
            "refused the key (HTTP 401): bad key",
            "apiKeyEnv",
        ],
    );
    check_unread(
        vec![Scripted::body(404, "")],
        PROSE,
        1,
        &["was not found", "models.small.name"],
    );
    check_unread(
        vec![Scripted::body(200, "<html>")],
        PROSE,
        1,
        &["not understood"],
    );
}

#[test]
fn a_config_that_cannot_be_used_is_named_and_the_answer_kept() {
    let server = ModelServer::start(vec![approved()]);
    let (world, thread) = world(&server, PROSE);
    world.configure("modelOverrides.extract", "smal");
    world
        .step(&thread)
        .exits(3)
        .says("the model `smal` is not in the config, did you mean `small`?");
    let raw = world.show(&thread)["attempts"][0]["raw"].clone();
    assert!(raw.is_string());
}

#[test]
fn the_key_may_stand_in_the_env_file() {
    let server = ModelServer::start(vec![approved()]);
    let (world, thread) = world(&server, PROSE);
    world.configure("providers.local.apiKey", "");
    world.configure("providers.local.apiKeyEnv", "LOCAL_KEY");
    world.step(&thread).exits(3).says("`LOCAL_KEY` is not set");
    std::fs::write(world.root().join(".env"), "LOCAL_KEY=sk-env\n").unwrap();
    world.step(&thread).exits(0);
    assert_eq!(
        server.requests()[0].header("authorization"),
        Some("Bearer sk-env")
    );
}

/// A world in which an answer names a node of the store, and its thread.
fn world_with_a_node(server: &ModelServer) -> (World, String) {
    let world = World::new();
    let node = world.uwf(&["cas", "put-text", "the verdict is in here"]);
    assert!(node.exits(0).stdout.contains(NODE));
    world.write("answer.md", &format!("It is rejected, see {NODE}."));
    world.agent("uwf-command", &["--", "cat", "answer.md"]);
    world.model("extract", &server.base_url());
    world.put(VERDICT);
    let thread = world.start("verdict");
    (world, thread)
}

/// The hash of a text node that says "the verdict is in here".
const NODE: &str = "41FNSFJNSMB3J";

const REJECTED: &str = r#"{"$status":"rejected","reason":"in here"}"#;

#[test]
fn the_model_may_look_up_a_node_that_the_answer_names() {
    let look = || Scripted::calls(&[("cas_get", json!({ "hash": NODE }))]);
    let hand_in = serde_json::from_str(REJECTED).unwrap();
    let server = ModelServer::start(vec![look(), Scripted::calls(&[("hand_in", hand_in)])]);
    let (world, thread) = world_with_a_node(&server);
    world.step(&thread).exits(0);
    let first = server.requests()[0].json();
    assert_eq!(first["tools"][0]["function"]["name"], "cas_get");
    assert_eq!(server.requests()[0].header("authorization"), None);
    let messages = server.requests()[1].json()["messages"].clone();
    assert_eq!(messages[3]["content"], "the verdict is in here");
}

#[test]
fn an_endpoint_without_tools_reads_the_answer_alone() {
    let server = ModelServer::start(vec![
        Scripted::body(400, "tools are not supported"),
        Scripted::says(REJECTED),
    ]);
    let (world, thread) = world_with_a_node(&server);
    world.step(&thread).exits(0);
    assert_eq!(server.requests()[1].json().get("tools"), None);
}

#[test]
fn the_agent_is_told_its_own_part_when_its_session_goes_on() {
    let server = ModelServer::start(vec![Scripted::body(401, "")]);
    let (world, thread) = world(&server, PROSE);
    let script = r#"n=$(($(cat count 2>/dev/null || echo 0) + 1)); echo $n > count
cat > "prompt$n"; echo "$*" > "args$n"; echo "session: s-1" >&2; cat answer.md"#;
    let script = world.script("sessions.sh", script);
    world.agent(
        "uwf-command",
        &[
            "--session-regex",
            "session: (\\S+)",
            "--resume-args",
            "-r {session}",
            "--",
            script.to_str().unwrap(),
        ],
    );
    world.step(&thread).exits(3).says("HTTP 401");
    world.step(&thread).exits(3);
    let left = |name: &str| std::fs::read_to_string(world.project().join(name)).unwrap();
    assert_eq!(left("args4"), "-r s-1\n");
    let told = left("prompt4");
    assert!(told.contains("not accepted after 3 attempts"), "{told}");
    assert!(
        !told.contains("401") && !told.contains("the task"),
        "{told}"
    );
}
