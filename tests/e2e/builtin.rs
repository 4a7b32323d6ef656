//! The agents that speak with a model themselves, whole threads of them, against a model's server on this machine:
//! what their tools do, what they must not do, and what becomes of them when something is killed.

use std::fs;

use serde_json::{Value, json};

use crate::model_server::{ModelServer, Scripted, delta};
use crate::processes::{is_running, signal};
use crate::world::{ONE_STEP, REVIEW, World, wait_until};

const KEY: &str = "sk-very-secret-1";

/// A world with a workflow whose model answers from a script.
pub(crate) fn world(yaml: &str, server: &ModelServer) -> World {
    let world = World::new();
    world.put(yaml);
    world.model("m", &server.base_url());
    world.configure("providers.local.apiKeyEnv", "MODEL_ACCESS");
    world.configure("defaultModel", "m");
    fs::write(
        world.root().join(".env"),
        format!("MODEL_ACCESS={KEY}\nHARMLESS_NAME=of-dotenv\n"),
    )
    .unwrap();
    world
}

pub(crate) fn finish(result: Value) -> Scripted {
    Scripted::calls(&[("finish", result)])
}

pub(crate) fn note(text: &str) -> Scripted {
    finish(json!({ "note": text, "body": "# Done" }))
}

fn shell(command: &str) -> Scripted {
    Scripted::calls(&[("shell_exec", json!({ "command": command }))])
}

/// Returns what the tools answered, as the last request shows it.
pub(crate) fn results(server: &ModelServer) -> Vec<String> {
    let request = server.requests().last().unwrap().json();
    let messages = request["messages"].as_array().unwrap().clone();
    let tools = messages.iter().filter(|message| message["role"] == "tool");
    tools
        .map(|message| message["content"].as_str().unwrap().to_owned())
        .collect()
}

/// Runs one step in which the model does this, and returns what the tools answered.
pub(crate) fn tools(options: &[&str], calls: &[(&str, Value)]) -> (World, Vec<String>) {
    let server = ModelServer::start(vec![Scripted::calls(calls), note("n")]);
    let world = world(ONE_STEP, &server);
    world.write("notes.md", "one\ntwo\n");
    world.agent("uwf-builtin", options);
    let thread = world.start("one");
    world.step(&thread).exits(0);
    let results = results(&server);
    assert_eq!(results.len(), calls.len());
    (world, results)
}

fn detail(world: &World, thread: &str) -> Value {
    let steps = world.uwf(&["thread", "steps", thread]).exits(0).json();
    let last = steps["steps"].as_array().unwrap().last().unwrap().clone();
    node(world, &node(world, &last["hash"])["detail"])
}

fn node(world: &World, hash: &Value) -> Value {
    let node = world.uwf(&["cas", "get", hash.as_str().unwrap()]);
    node.exits(0).json()["payload"].clone()
}

/// A model that plans with tools, hangs when it reviews, and then needs two tries for its verdict.
fn planner_and_reviewer() -> ModelServer {
    ModelServer::start(vec![
        Scripted::calls(&[
            ("read_file", json!({ "path": "notes.md" })),
            (
                "write_file",
                json!({ "path": "plan/a.md", "content": "A plan.\n" }),
            ),
        ]),
        Scripted::calls(&[(
            "patch_file",
            json!({ "path": "plan/a.md", "search": "A plan", "replace": "The plan" }),
        )]),
        finish(json!({ "plan": "the plan", "body": "I planned." })),
        Scripted::Stall(vec![delta("thinking")]),
        // Once more, after the kill.
        finish(json!({ "status": "approved", "body": "Fine." })),
        finish(json!({ "status": "approved", "summary": "good: yes", "body": "Fine." })),
    ])
}

#[test]
fn a_thread_of_two_roles_works_with_tools_and_is_gone_on_with_after_a_kill() {
    let server = planner_and_reviewer();
    let world = world(REVIEW, &server);
    world.write("notes.md", "remember\n");
    world.agent("uwf-builtin", &[]);
    let thread = world.start("review");
    assert_eq!(world.step(&thread).exits(0).json()["role"], "writer");
    let plan = fs::read_to_string(world.project().join("plan/a.md")).unwrap();
    assert_eq!(plan, "The plan.\n");
    let writer = detail(&world, &thread);
    assert_eq!(writer["agent"], "uwf-builtin");
    assert_eq!(writer["model"], "served-model");
    assert_eq!(writer["extraction"]["method"], "frontmatter");
    assert_eq!(writer["usage"]["inputTokens"], 30);
    assert_eq!(writer["usage"]["turns"], 3);
    assert_eq!(writer["turns"].as_array().unwrap().len(), 6);
    let first = server.requests()[0].json();
    let messages = first["messages"].as_array().unwrap();
    assert_eq!(messages.len(), 2);
    assert!(
        messages[0]["content"]
            .as_str()
            .unwrap()
            .contains("read_file")
    );
    assert!(
        messages[1]["content"]
            .as_str()
            .unwrap()
            .contains("the task")
    );
    assert_eq!(
        server.requests()[0].header("authorization"),
        Some(&*format!("Bearer {KEY}"))
    );

    let mut step = world.spawn(&["thread", "step", &thread]);
    let live = format!("runs/{thread}/live.jsonl");
    wait_until("the model writes", || {
        world.state(&live).contains("thinking")
    });
    signal("KILL", world.agent_at_work(&thread));
    assert_eq!(step.wait().unwrap().code(), Some(3));

    let ended = world.step(&thread).exits(0).json();
    assert_eq!(ended["done"], true, "{ended}");
    let again = server.requests()[4].json();
    let said = again["messages"].as_array().unwrap().last().unwrap()["content"].clone();
    assert!(said.as_str().unwrap().contains("last attempt"), "{said}");
    let reviewer = detail(&world, &thread);
    assert_eq!(reviewer["turns"].as_array().unwrap().len(), 4);
    assert!(
        results(&server)[0].contains("summary"),
        "{:?}",
        results(&server)
    );
}

#[test]
fn mistakes_of_the_model_are_told_to_it_and_nothing_leaves_the_directory() {
    let (world, results) = tools(
        &[],
        &[
            ("read_file", json!({ "path": "nothing.md" })),
            ("read_file", json!({ "file": "notes.md" })),
            ("read_fil", json!({ "path": "notes.md" })),
            ("shell_exec", json!({ "command": "id" })),
            ("write_file", json!({ "path": "../out.md", "content": "x" })),
            ("read_file", json!({ "path": "/etc/passwd" })),
            (
                "patch_file",
                json!({ "path": "notes.md", "search": "three", "replace": "3" }),
            ),
            ("cas_get", json!({ "hash": "0000000000000" })),
            ("read_file", json!({ "path": "notes.md", "offset": 2 })),
        ],
    );
    let parts = [
        "there is no `nothing.md`",
        "the arguments of `read_file` do not fit",
        "did you mean `read_file`?",
        "there is no tool `shell_exec`",
        "`..`",
        "outside the working directory",
        "`search` does not occur",
        "not in the store",
    ];
    for (result, part) in results.iter().zip(parts) {
        assert!(
            result.starts_with("error: ") && result.contains(part),
            "{part}: {result}"
        );
    }
    assert_eq!(results[8], "two\n");
    assert!(!world.dir().join("out.md").exists());
}

#[test]
fn a_result_is_corrected_until_it_fits_and_text_with_front_matter_is_one() {
    let server = ModelServer::start(vec![
        Scripted::says("I shall think about it."),
        finish(json!({ "body": "no note" })),
        Scripted::calls(&[("finish", json!("nothing"))]),
        Scripted::says("---\nnote: [\n---\n"),
        Scripted::says("---\nnote: in words\n---\n\nBody."),
    ]);
    let world = world(ONE_STEP, &server);
    world.agent("uwf-builtin", &["--model", "m"]);
    let thread = world.start("one");
    let done = world.step(&thread).exits(0).json();
    assert_eq!(done["done"], true);
    let messages = server.requests().last().unwrap().json()["messages"].to_string();
    for part in [
        "neither a tool call",
        "note",
        "must be a JSON object",
        "not valid YAML",
    ] {
        assert!(messages.contains(part), "{part}: {messages}");
    }
    let detail = detail(&world, &thread);
    assert_eq!(detail["extraction"]["method"], "frontmatter");
    // What was never said to the model is not on record: the accepted text is the last that was said.
    let turns = detail["turns"].as_array().unwrap();
    let last = node(&world, turns.last().unwrap());
    assert_eq!(last["role"], "assistant", "{last}");
    assert!(last["content"].as_str().unwrap().contains("in words"));
    let before = node(&world, &turns[turns.len() - 2]);
    assert!(
        before["content"]
            .as_str()
            .unwrap()
            .contains("not valid YAML"),
        "{before}"
    );
}

#[test]
fn limits_end_a_step_and_the_next_attempt_goes_on_with_the_conversation() {
    let read = || Scripted::calls(&[("read_file", json!({ "path": "notes.md" }))]);
    let server = ModelServer::start(vec![read(), read(), note("late")]);
    let world = world(ONE_STEP, &server);
    world.write("notes.md", "remember\n");
    world.agent("uwf-builtin", &["--max-turns", "2"]);
    let thread = world.start("one");
    world
        .step(&thread)
        .exits(3)
        .says("within 2 turns (max_rounds_exceeded)")
        .says("--max-turns");
    let second = server.requests()[1].json()["messages"].to_string();
    assert!(second.contains("You can answer 1 more time"), "{second}");
    world.step(&thread).exits(0);
    // The attempt before gave no answer that could have been corrected.
    let method = detail(&world, &thread)["extraction"]["method"].clone();
    assert_eq!(method, "frontmatter");
    let last = server.requests().last().unwrap().json()["messages"].clone();
    let roles: Vec<&str> = last
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["role"].as_str().unwrap())
        .collect();
    assert_eq!(
        roles,
        [
            "system",
            "user",
            "assistant",
            "tool",
            "assistant",
            "tool",
            "user"
        ]
    );
    assert!(
        last[6]["content"]
            .as_str()
            .unwrap()
            .contains("within 2 turns")
    );
}

#[test]
fn what_is_wrong_with_the_model_is_said_with_what_to_do() {
    let check = |script: Scripted, words: &[&str]| {
        let server = ModelServer::start(vec![script]);
        let world = world(ONE_STEP, &server);
        for agent in ["uwf-builtin", "uwf-llm"] {
            world.agent(agent, &["--timeout", "2s"]);
            let thread = world.start("one");
            let mut run = world.step(&thread).exits(3);
            for word in words {
                run = run.says(word);
            }
            assert!(!run.stderr.contains(KEY), "{}", run.stderr);
        }
    };
    let refused = format!("{{\"error\":{{\"message\":\"bad key {KEY}\"}}}}");
    check(
        Scripted::body(401, &refused),
        &["401", "apiKey", " (unauthorized)\n"],
    );
    check(
        Scripted::body(404, "no such model"),
        &["404", "models.m.name", " (not_found)\n"],
    );
    check(Scripted::Hang, &["hint:"]);
    check(Scripted::Stall(vec![delta("half an ans")]), &["hint:"]);
}

#[test]
fn commands_get_no_secrets_and_their_output_is_bounded() {
    let server = ModelServer::start(vec![
        Scripted::calls(&[
            ("shell_exec", json!({ "command": "env; pwd; cat; exit 3" })),
            (
                "shell_exec",
                json!({ "command": "yes x | head -c 62914560; echo END; echo oh >&2" }),
            ),
            ("shell_exec", json!({ "command": "pwd", "cwd": "sub" })),
            ("shell_exec", json!({ "command": "pwd", "cwd": ".." })),
        ]),
        note("n"),
    ]);
    let world = world(ONE_STEP, &server);
    world.write("sub/x", "");
    world.agent(
        "uwf-builtin",
        &["--allow-shell", "--keep-env", "KEPT_TOKEN"],
    );
    let thread = world.start("one");
    let stepped = world
        .command(&["thread", "step", &thread])
        .env("GITHUB_TOKEN", "ghp_1")
        .env("KEPT_TOKEN", "kept")
        .env("LANG", "C.UTF-8")
        .status();
    assert!(stepped.unwrap().success());
    let results = results(&server);
    let environment = &results[0];
    for part in ["exit code: 3", "PATH=", "LANG=C.UTF-8", "KEPT_TOKEN=kept"] {
        assert!(environment.contains(part), "{part}: {environment}");
    }
    for part in [KEY, "ghp_1", "of-dotenv", "UWF_ENGINE", "UWF_HEAD"] {
        assert!(!environment.contains(part), "{part}: {environment}");
    }
    let project = world.project().canonicalize().unwrap();
    assert!(environment.contains(&format!("\n{}", project.display())));
    assert!(results[1].chars().count() < 40_000, "{}", results[1].len());
    for part in ["bytes left out", "END", "oh"] {
        assert!(results[1].contains(part), "{part}");
    }
    assert!(results[2].ends_with("/project/sub"));
    assert!(results[3].starts_with("error: "));
    // The conversation is kept, but for its owner alone, and no key is in it.
    let said = world.state(&format!("runs/{thread}/live.jsonl"));
    assert!(said.contains("shell_exec") && !said.contains(KEY));
}

/// A command that starts another one outside of its group and its parents, and waits.
const DAEMON: &str =
    "(setsid sh -c 'echo $$ > daemon; exec sleep 100' &) ; echo $$ > shell; sleep 100";

#[test]
fn a_command_is_over_at_its_time_limit_with_all_that_it_started() {
    let server = ModelServer::start(vec![
        Scripted::calls(&[("shell_exec", json!({ "command": DAEMON, "timeout_s": 1 }))]),
        shell("(setsid sleep 100 & echo $! > left) ; until [ -s left ]; do :; done"),
        note("n"),
    ]);
    let world = world(ONE_STEP, &server);
    world.agent("uwf-builtin", &["--allow-shell"]);
    let thread = world.start("one");
    world.step(&thread).exits(0);
    let results = results(&server);
    assert!(
        results[0].contains("after its time limit of 1 s"),
        "{results:?}"
    );
    assert!(results[1].starts_with("exit code: 0"), "{results:?}");
    for name in ["daemon", "shell", "left"] {
        let pid = fs::read_to_string(world.project().join(name)).unwrap();
        assert!(!is_running(pid.trim()), "{name}");
    }
    world.uwf(&["thread", "show", &thread]).exits(0);
}

#[test]
fn a_command_does_not_outlive_its_agent() {
    for how in ["agent", "engine and agent", "thread kill"] {
        let server = ModelServer::start(vec![shell(DAEMON), note("n")]);
        let world = world(ONE_STEP, &server);
        world.agent("uwf-builtin", &["--allow-shell"]);
        let thread = world.start("one");
        let mut step = world.spawn(&["thread", "step", &thread]);
        let pid = |name: &str| {
            let text = fs::read_to_string(world.project().join(name)).unwrap_or_default();
            text.trim().to_owned()
        };
        wait_until("the command runs", || {
            !pid("daemon").is_empty() && !pid("shell").is_empty()
        });
        let agent = world.agent_at_work(&thread);
        match how {
            "thread kill" => {
                world.uwf(&["thread", "kill", &thread]).exits(0);
            }
            "agent" => signal("KILL", agent),
            _ => {
                step.kill().unwrap();
                signal("KILL", agent);
            }
        }
        step.wait().unwrap();
        for name in ["daemon", "shell"] {
            wait_until(&format!("{name} is gone: {how}"), || !is_running(pid(name)));
        }
        if how != "thread kill" {
            wait_until("the thread is free", || world.step(&thread).code == 0);
        }
    }
}

#[test]
fn the_plain_model_answers_is_corrected_and_remembers() {
    let server = ModelServer::start(vec![
        Scripted::streams(&["---\nplan: fir", "st\n---\n\nBody."]),
        Scripted::says("no front matter"),
        Scripted::says("---\n$status: rejected\nreason: thin\n---\n"),
        Scripted::says("---\nplan: second\n---\n"),
        Scripted::says("---\n$status: approved\nsummary: s\n---\n"),
    ]);
    let world = world(REVIEW, &server);
    world.agent("uwf-llm", &["--system", "Be brief.", "--max-tokens", "500"]);
    let thread = world.start("review");
    world.step(&thread).exits(0);
    let live = world.state(&format!("runs/{thread}/live.jsonl"));
    assert!(live.contains(r#"{"delta":"---\nplan: fir"}"#), "{live}");
    world.step(&thread).exits(0);
    let reviewer = detail(&world, &thread);
    assert_eq!(reviewer["extraction"]["method"], "correction");
    assert_eq!(reviewer["usage"]["inputTokens"], 20);
    world.step(&thread).exits(0);
    let request = server.requests()[3].json();
    let messages = request["messages"].as_array().unwrap();
    assert_eq!(
        messages[0],
        json!({ "role": "system", "content": "Be brief." })
    );
    assert_eq!(messages.len(), 4, "the writer remembers its first visit");
    assert_eq!(request["stream"], true);
    world.step(&thread).exits(0);
    assert_eq!(world.step(&thread).code, 7);
}

#[test]
fn an_answer_that_was_cut_off_is_no_answer() {
    let cut = json!({
        "choices": [{ "message": { "role": "assistant", "content": "---\nnote: n\n---\n\nThe rep" },
                      "finish_reason": "length" }],
    });
    let server = ModelServer::start(vec![Scripted::body(200, &cut.to_string())]);
    let world = world(ONE_STEP, &server);
    world.agent("uwf-llm", &[]);
    let thread = world.start("one");
    world
        .step(&thread)
        .exits(3)
        .says("cut off")
        .says("--max-tokens");
}

#[test]
fn a_conversation_that_the_model_cannot_read_any_more_is_followed_by_a_new_one() {
    let too_long = r#"{"error":{"message":"no","code":"context_length_exceeded"}}"#;
    for agent in ["uwf-builtin", "uwf-llm"] {
        let answer = match agent {
            "uwf-llm" => Scripted::says("---\nnote: n\n---\n"),
            _ => note("n"),
        };
        let server = ModelServer::start(vec![Scripted::body(400, too_long), answer]);
        let world = world(ONE_STEP, &server);
        world.agent(agent, &[]);
        let thread = world.start("one");
        let failed = world.step(&thread).exits(3);
        assert_eq!(failed.json()["class"], json!("context-too-long"), "{agent}");
        failed
            .says("(context_too_long)")
            .says("begins a new session");
        world.step(&thread).exits(0);
        let asked = server.requests().last().unwrap().json();
        let of_user = asked["messages"].as_array().unwrap().iter();
        let of_user: Vec<&Value> = of_user
            .filter(|message| message["role"] == "user")
            .collect();
        assert_eq!(of_user.len(), 1, "{asked}");
        assert!(of_user[0]["content"].as_str().unwrap().contains("## Task"));
    }
}
