//! Structured answers of command line tools: the tool is given the schema of the answer, and what it gives back is an answer like
//! any other. The tools are scripts that print what those print.

use std::fs;

use serde_json::{Value, json};

use crate::world::{Run, World, path_with};

/// A role with a status, a number within limits, and a list of objects.
const REVIEW: &str = r#"
name: review
description: A review
roles:
  reviewer:
    description: Reviews
    goal: You review.
    capabilities: []
    procedure: Review.
    output: A review.
    frontmatter:
      type: object
      properties:
        $status: { enum: [approved, rejected] }
        score: { type: integer, minimum: 1 }
        found: { type: array, items: { type: object, properties: { file: { type: string }, line: { type: integer } }, required: [file] } }
      required: [$status, score]
graph:
  $START: { _: { role: reviewer, prompt: "Review it." } }
  reviewer:
    approved: { role: $END, prompt: "Approved: {{score}}" }
    rejected: { role: $END, prompt: "Rejected." }
"#;

/// What each stand-in does first: it leaves its arguments, one a line, and what it was asked.
const NOTES: &str = r#"n=$(ls asked-* 2>/dev/null | wc -l); cat > asked-$n; for a in "$@"; do echo "$a"; done > args-$n
"#;

/// Codex: its answers are the files `answer-0`, `answer-1` and so on.
const CODEX: &str = r#"echo '{"type":"thread.started","thread_id":"s1"}'
cat answer-$n
echo '{"type":"turn.completed","usage":{"input_tokens":5,"output_tokens":2}}'"#;

fn world(workflow: &str, tool: &str, script: &str, options: &[&str]) -> (World, String) {
    let world = World::new();
    world.put(workflow);
    world.script(&format!("bin/{tool}"), &format!("{NOTES}{script}"));
    let agent = match tool {
        "claude" => "uwf-claude-code",
        _ => "uwf-codex",
    };
    world.agent(agent, options);
    let thread = world.start("review");
    (world, thread)
}

fn step(world: &World, thread: &str) -> Run {
    let mut command = world.command(&["-v", "thread", "step", thread]);
    command.env("PATH", path_with(&world.project().join("bin")));
    command.output().unwrap().into()
}

fn read(world: &World, name: &str) -> String {
    fs::read_to_string(world.project().join(name)).unwrap()
}

/// Writes the message with which Codex answers a call.
fn codex_says(world: &World, call: usize, text: &str) {
    let item = json!({ "type": "item.completed", "item": { "id": "i", "type": "agent_message", "text": text } });
    world.write(&format!("answer-{call}"), &format!("{item}\n"));
}

/// Returns the argument after an option.
fn value_of(world: &World, call: usize, option: &str) -> Option<String> {
    let args = read(world, &format!("args-{call}"));
    let mut args = args.lines().skip_while(|arg| *arg != option);
    args.nth(1).map(ToOwned::to_owned)
}

fn payload(world: &World, hash: &Value) -> Value {
    let node = world.uwf(&["cas", "get", hash.as_str().unwrap()]).exits(0);
    node.json()["payload"].clone()
}

/// Returns the data, the detail and the whole answer of the step that a call did.
fn done(world: &World, run: &Run) -> (Value, Value, String) {
    let step = payload(world, &run.json()["step"]);
    let detail = payload(world, &step["detail"]);
    let raw = payload(world, &detail["raw"]);
    let raw = raw.as_str().map_or_else(|| raw.to_string(), str::to_owned);
    (payload(world, &step["output"]), detail, raw)
}

#[test]
fn codex_gets_a_closed_schema_and_its_json_becomes_the_output() {
    let (world, thread) = world(REVIEW, "codex", CODEX, &["--structured"]);
    codex_says(
        &world,
        0,
        r##"{"status":"approved","score":3,"found":[{"file":"a.rs","line":null}],"reason":null,"body":"# Fine\n\nAll **good**."}"##,
    );
    let run = step(&world, &thread).exits(0);
    let (output, detail, raw) = done(&world, &run);
    assert_eq!(
        output,
        json!({ "$status": "approved", "score": 3, "found": [{ "file": "a.rs" }] })
    );
    assert_eq!(detail["extraction"]["method"], json!("frontmatter"));
    assert!(
        raw.contains("# Fine\\n\\nAll **good**.") || raw.contains("# Fine\n\nAll **good**."),
        "{raw}"
    );

    let schema = fs::read_to_string(value_of(&world, 0, "--output-schema").unwrap()).unwrap();
    let schema: Value = serde_json::from_str(&schema).unwrap();
    assert_eq!(
        schema["required"],
        json!(["status", "found", "score", "reason", "body"])
    );
    assert_eq!(schema["additionalProperties"], json!(false));
    assert_eq!(schema["properties"]["score"], json!({ "type": "integer" }));
    let asked = read(&world, "asked-0");
    assert!(asked.contains("## Structured answer"), "{asked}");
    assert!(asked.contains("`status` stands for `$status`"), "{asked}");
}

#[test]
fn a_structured_answer_that_does_not_fit_is_corrected_in_the_session() {
    let (world, thread) = world(REVIEW, "codex", CODEX, &["--structured"]);
    let answer = |score: u32| json!({ "status": "approved", "score": score, "found": null, "reason": null, "body": "B." });
    codex_says(&world, 0, &answer(0).to_string());
    codex_says(&world, 1, &answer(1).to_string());
    let run = step(&world, &thread).exits(0);
    let (output, detail, _) = done(&world, &run);
    assert_eq!(output, json!({ "$status": "approved", "score": 1 }));
    assert_eq!(detail["extraction"]["method"], json!("correction"));
    let args = read(&world, "args-1");
    assert!(
        args.contains("--output-schema") && args.contains("resume\ns1"),
        "{args}"
    );
    assert!(read(&world, "asked-1").contains("score"));
}

#[test]
fn a_question_to_a_person_needs_no_other_field() {
    let (world, thread) = world(REVIEW, "codex", CODEX, &["--structured"]);
    let answer = json!({ "status": "$SUSPEND", "score": 0, "found": null, "reason": "Which one?", "body": "" });
    codex_says(&world, 0, &answer.to_string());
    let run = step(&world, &thread).exits(0);
    let (output, ..) = done(&world, &run);
    assert_eq!(
        output,
        json!({ "$status": "$SUSPEND", "reason": "Which one?" })
    );
}

#[test]
fn a_tool_that_refuses_the_schema_is_asked_for_front_matter_in_the_same_step() {
    let front = r"---\n$status: approved\nscore: 2\n---\n\nText.";
    let unknown = "error: unexpected argument '--output-schema' found";
    let refused =
        r#"{"type":"turn.failed","error":{"message":"{\"code\":\"invalid_json_schema\"}"}}"#;
    for refusal in [
        format!("echo \"{unknown}\" >&2; exit 2"),
        format!("echo '{refused}'; exit 1"),
    ] {
        let script = format!("case \"$*\" in *--output-schema*) {refusal} ;; esac\n{CODEX}");
        let (world, thread) = world(REVIEW, "codex", &script, &["--structured"]);
        codex_says(&world, 1, &front.replace("\\n", "\n"));
        let run = step(&world, &thread).exits(0).says("refused the schema");
        let (output, ..) = done(&world, &run);
        assert_eq!(output, json!({ "$status": "approved", "score": 2 }));
        assert!(!read(&world, "asked-1").contains("## Structured answer"));
        assert!(
            world.show(&thread)["attempts"]
                .as_array()
                .is_none_or(Vec::is_empty)
        );
    }
}

#[test]
fn a_role_whose_schema_cannot_be_closed_and_an_agent_without_the_option_answer_with_front_matter() {
    let open = REVIEW.replace(
        "required: [$status, score]",
        "required: [$status, score]\n      additionalProperties: true",
    );
    assert_ne!(open, REVIEW);
    for (workflow, options) in [(open.as_str(), &["--structured"][..]), (REVIEW, &[])] {
        let (world, thread) = world(workflow, "codex", CODEX, options);
        codex_says(&world, 0, "---\n$status: approved\nscore: 2\n---\n\nText.");
        let run = step(&world, &thread).exits(0);
        assert_eq!(
            run.stderr.contains("cannot be given the schema"),
            !options.is_empty()
        );
        assert_eq!(done(&world, &run).0["score"], json!(2));
        assert!(!read(&world, "args-0").contains("--output-schema"));
        assert!(!read(&world, "asked-0").contains("## Structured answer"));
    }
}

#[test]
fn claude_gets_the_schema_inline_and_what_it_said_stands_for_an_empty_body() {
    let said = json!({ "type": "assistant", "message": { "content": [{ "type": "text", "text": "I found **nothing**." }] }, "session_id": "s1" });
    let data = json!({ "status": "approved", "score": 4, "body": "" });
    let result = json!({ "type": "result", "subtype": "success", "is_error": false, "result": "", "structured_output": data, "session_id": "s1" });
    let script = format!("echo '{said}'; echo '{result}'");
    let (world, thread) = world(REVIEW, "claude", &script, &["--structured"]);
    let run = step(&world, &thread).exits(0);
    let (output, _, raw) = done(&world, &run);
    assert_eq!(output, json!({ "$status": "approved", "score": 4 }));
    assert!(raw.contains("I found **nothing**."), "{raw}");
    let schema: Value =
        serde_json::from_str(&value_of(&world, 0, "--json-schema").unwrap()).unwrap();
    assert_eq!(schema["required"], json!(["status", "score", "body"]));
    assert!(read(&world, "asked-0").contains("`StructuredOutput`"));
}

#[test]
fn claude_may_answer_with_front_matter_all_the_same() {
    let text = "---\n$status: rejected\nscore: 1\n---\n\nNo.";
    let result = json!({ "type": "result", "subtype": "success", "is_error": false, "result": text, "session_id": "s1" });
    let script = format!("cat <<'END'\n{result}\nEND");
    let (world, thread) = world(REVIEW, "claude", &script, &["--structured"]);
    let run = step(&world, &thread).exits(0);
    assert_eq!(done(&world, &run).0["$status"], json!("rejected"));
}
