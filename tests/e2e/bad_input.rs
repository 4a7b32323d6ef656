//! What is asked wrongly is refused with what, why and what to type next, and costs nothing: the thread goes on.

use serde_json::json;

use crate::world::{ONE_STEP, Run, World};

const NOTE: &str = "roles:\n  writer:\n    - output: { note: n }\n";

/// A world with the workflow `one`, the mock as its agent, and a thread that has done nothing yet.
fn world_with_thread() -> (World, String) {
    let world = World::new();
    world.put(ONE_STEP);
    world.mock(NOTE);
    let thread = world.start("one");
    (world, thread)
}

/// Asserts that a command is refused, and with which lines.
#[track_caller]
fn refused(world: &World, args: &[&str], code: i32, lines: &[&str]) {
    complains(world.uwf(args).exits(code), lines);
}

/// Asserts that nothing but complaints was printed, and what they say. A step that failed is a line on stdout, too.
#[track_caller]
fn complains(run: Run, lines: &[&str]) {
    match run.code {
        3 => assert!(run.json()["class"].is_string(), "{}", run.stdout),
        _ => assert_eq!(run.stdout, ""),
    }
    assert!(run.stderr.starts_with("error: "), "{}", run.stderr);
    lines.iter().fold(run, |run, line| run.says(line));
}

/// Asserts that the thread does the step that it was kept from.
#[track_caller]
fn goes_on(world: &World, thread: &str) {
    let report = world.step(thread).exits(0).json();
    assert_eq!(
        (&report["role"], &report["done"]),
        (&json!("writer"), &json!(true))
    );
}

#[test]
fn an_entry_of_the_config_that_is_only_begun_harms_nothing_but_itself() {
    let world = World::new();
    world.put(ONE_STEP);
    world.mock("roles:\n  writer:\n    - output: { note: n }\n");
    world.configure("providers.p.apiKeyEnv", "KEY");
    world
        .uwf(&["config", "set", "agents.half.args", "[]"])
        .exits(0);
    let thread = world.start("one");
    world
        .uwf(&["thread", "step", &thread, "--agent", "half"])
        .exits(1)
        .says("agents.half.command")
        .says("uwf config set");
    world.step(&thread).exits(0);
}

#[test]
fn an_unknown_thread_is_refused_by_every_command_that_takes_one() {
    let (world, thread) = world_with_thread();
    let unknown = "01J7K9Z0000000000000000004";
    for verb in [
        "show", "step", "exec", "steps", "read", "kill", "cancel", "resume",
    ] {
        refused(
            &world,
            &["thread", verb, unknown],
            1,
            &[
                &format!("error: thread `{unknown}` does not exist"),
                "hint: `uwf thread list --all`",
            ],
        );
    }
    refused(
        &world,
        &["step", "list", unknown],
        1,
        &["does not exist", "hint: "],
    );
    assert!(!world.root().join("runs").join(unknown).exists());
    goes_on(&world, &thread);
}

/// The commands that take the hash of a node.
const TAKE_A_HASH: [&[&str]; 10] = [
    &["thread", "fork"],
    &["step", "fork"],
    &["step", "show"],
    &["step", "read"],
    &["thread", "step-details"],
    &["cas", "schema", "get"],
    &["cas", "get"],
    &["cas", "refs"],
    &["cas", "walk"],
    &["workflow", "show"],
];

#[test]
fn a_hash_of_another_kind_is_refused_with_what_it_is() {
    let (world, thread) = world_with_thread();
    let text = world.uwf(&["cas", "put-text", "hello"]).exits(0).json();
    let text = text["hash"].as_str().unwrap();
    let expected = [
        "a thread's start or step",
        "a thread's start or step",
        "a step",
        "a step",
        "a step",
        "a schema",
    ];
    for (command, kind) in TAKE_A_HASH.into_iter().zip(expected) {
        let what = format!("error: node `{text}` is not {kind}");
        refused(
            &world,
            &[command, &[text]].concat(),
            1,
            &[&what, "hint: `uwf cas "],
        );
    }
    let what = format!("error: node `{text}` is not a workflow");
    for command in [
        &["workflow", "show", text][..],
        &["thread", "start", text, "-p", "x"],
    ] {
        refused(
            &world,
            command,
            1,
            &[&what, &format!("hint: `uwf cas get {text}`")],
        );
    }
    goes_on(&world, &thread);
}

#[test]
fn an_unknown_hash_is_refused_by_every_command_that_takes_one() {
    let (world, thread) = world_with_thread();
    for command in TAKE_A_HASH {
        let what = "error: node `0123456789ABC` is not in the store";
        refused(
            &world,
            &[command, &["0123456789ABC"]].concat(),
            1,
            &[what, "hint: `uwf cas list`"],
        );
    }
    goes_on(&world, &thread);
}

#[test]
fn a_workflow_may_be_called_like_a_hash_in_lower_case() {
    let (world, thread) = world_with_thread();
    let head = world.show(&thread)["head"].as_str().unwrap().to_lowercase();
    refused(
        &world,
        &["workflow", "show", &head],
        1,
        &["error: workflow `", "hint: "],
    );
    goes_on(&world, &thread);
}

#[test]
fn no_argument_leads_out_of_its_place() {
    let (world, thread) = world_with_thread();
    std::fs::write(world.root().join("secret.bin"), "secret").unwrap();
    std::fs::write(world.root().join("secret.jsonl"), "secret").unwrap();
    for bad in ["../secret", "/etc/passwd", "..", "", "é!"] {
        for command in &TAKE_A_HASH[..9] {
            refused(
                &world,
                &[*command, &[bad]].concat(),
                1,
                &["is not a hash", "hint: "],
            );
        }
        for verb in ["show", "step", "steps", "read", "kill", "resume"] {
            refused(
                &world,
                &["thread", verb, bad],
                1,
                &["is not a thread id", "hint: "],
            );
        }
        refused(
            &world,
            &["log", "show", "--date", bad],
            1,
            &["is not a day"],
        );
        refused(
            &world,
            &["log", "clean", "--before", bad],
            1,
            &["is not a day"],
        );
        refused(
            &world,
            &["log", "show", "--thread", bad],
            1,
            &["is not a thread id"],
        );
    }
    goes_on(&world, &thread);
}

#[test]
fn a_missing_config_says_how_to_make_one() {
    let world = World::new();
    world.put(ONE_STEP);
    let thread = world.start("one");
    refused(
        &world,
        &["thread", "step", &thread],
        1,
        &[
            "no agent is configured for role `writer` of workflow `one`",
            "hint: `uwf setup --agent <name>`",
        ],
    );
    refused(
        &world,
        &["config", "get", "defaultAgent"],
        1,
        &["there is no config file", "hint: `uwf config set "],
    );
    world.mock(NOTE);
    goes_on(&world, &thread);
}

#[test]
fn a_broken_config_is_named_with_its_place_and_left_as_it_is() {
    let (world, thread) = world_with_thread();
    let good = world.state("config.yaml");
    let path = world.root().join("config.yaml");
    let cases = [
        (
            "agents:\n  a:\n    command: x\n   b: [\n",
            "config.yaml:3:5`",
        ),
        (
            "agents:\n  a:\n    comand: x\n",
            "config.yaml:3:5`: `comand` is not known, did you mean `command`?",
        ),
        (
            "agents: {}\nagents: {}\n",
            "config.yaml:2:1`: the key `agents` is given twice",
        ),
        ("- a\n", "config.yaml:1:1`"),
    ];
    for (text, place) in cases {
        std::fs::write(&path, text).unwrap();
        refused(&world, &["thread", "step", &thread], 1, &[place]);
        // A key that should not be there can be fixed by hand; what cannot be read is not touched.
        if !text.contains("comand") {
            let set = ["config", "set", "agents.a.args", "[]"];
            refused(&world, &set, 1, &[place]);
        }
        assert_eq!(world.state("config.yaml"), text);
    }
    std::fs::write(
        &path,
        "agents: { a: { command: x, timeout: soon } }\ndefaultAgent: a\n",
    )
    .unwrap();
    refused(
        &world,
        &["thread", "step", &thread],
        1,
        &[
            "`agents.a.timeout`",
            "`soon`",
            "hint: `uwf config set agents.a.timeout",
        ],
    );
    // Nothing was tried, so nothing failed.
    assert_eq!(world.show(&thread)["status"], json!("idle"));
    std::fs::write(&path, good).unwrap();
    goes_on(&world, &thread);
}

#[test]
fn an_unknown_agent_alias_is_refused_with_the_one_that_was_meant() {
    let (world, thread) = world_with_thread();
    world.configure("defaultAgent", "defalt");
    refused(
        &world,
        &["thread", "step", &thread],
        1,
        &[
            "error: agent `defalt` is not defined",
            "hint: did you mean `default`?",
        ],
    );
    let blank = ["thread", "step", &thread, "--agent", " "];
    refused(
        &world,
        &blank,
        1,
        &["`--agent`", "hint: `--agent` takes an alias"],
    );
    world.configure("defaultAgent", "default");
    goes_on(&world, &thread);
}

#[test]
fn a_missing_program_is_named_with_what_can_be_done() {
    let (world, thread) = world_with_thread();
    refused(
        &world,
        &["thread", "step", &thread, "--agent", "defalt"],
        1,
        &[
            "error: `defalt` is neither an agent of the config nor a program",
            "hint: did you mean `default`?",
        ],
    );
    refused(
        &world,
        &["thread", "step", &thread, "--agent", "./nowhere -x"],
        1,
        &["`./nowhere` is neither", "hint: `--agent` takes an alias"],
    );
    assert_eq!(world.show(&thread)["attempts"], json!([]));
    world.agent("no-such-program", &[]);
    refused(
        &world,
        &["thread", "step", &thread],
        3,
        &[
            "`no-such-program` could not be started",
            "No such file or directory",
            "hint: install it, or change `agents.default.command`",
        ],
    );
    let shown = world.show(&thread);
    assert_eq!(shown["status"], json!("failed"));
    assert_eq!(shown["attempts"][0]["phase"], json!("spawn"));
    world.mock(NOTE);
    goes_on(&world, &thread);
}

#[test]
fn an_agent_that_is_called_in_the_wrong_way_is_told_the_right_one() {
    let (world, thread) = world_with_thread();
    let prose = world.script("prose.sh", "echo Done, and well done.");
    let prose = prose.to_str().unwrap();
    let check = |agent: &str, code: i32, hint: &str| {
        let args = ["thread", "step", &thread, "--agent", agent];
        refused(&world, &args, code, &[hint]);
    };
    check("claude-code", 1, "hint: did you mean `uwf-claude-code`?");
    check("uwf-claudecode", 1, "hint: did you mean `uwf-claude-code`?");
    check(
        &format!("{prose} -x"),
        3,
        &format!("`--agent 'uwf-command -- {prose} -x'`"),
    );
    check(
        &format!("{prose} \"it's so\""),
        3,
        &format!(r#"`--agent 'uwf-command -- {prose} "it'\''s so"'`"#),
    );
    check(
        "uwf-command sh",
        3,
        "hint: code 2 usually means wrong options of the agent itself: correct what stands after `--agent`",
    );

    for said in [
        "`--agent` is not a command line: the quotation mark ' is never closed",
        "hint: its words are split as a shell splits them",
    ] {
        check("sh -c 'echo", 1, said);
    }
    world.mock(NOTE);
    goes_on(&world, &thread);
}

#[test]
fn an_agent_that_is_configured_in_the_wrong_way_is_told_the_right_one() {
    let (world, thread) = world_with_thread();
    let prose = world.script("prose.sh", "echo Done, and well done.");
    let prose = prose.display();
    let configured = |command: &str, args: &[&str], hint: &str| {
        world.agent(command, args);
        refused(&world, &["thread", "step", &thread], 3, &[hint]);
    };
    configured(
        "uwf-command -- ./greeter.sh",
        &[],
        "hint: arguments belong in `args`: `uwf config set agents.default.command uwf-command` and `uwf config set agents.default.args '[\"--\",\"./greeter.sh\"]'`",
    );
    let hint = "`uwf config set agents.default.command uwf-claude-code`";
    configured("claudecode", &[], hint);
    let hint = format!("`uwf config set agents.default.args '[\"--\",\"{prose}\"]'`");
    configured(&prose.to_string(), &[], &hint);
    configured(
        "uwf-codex",
        &["--modle", "x"],
        "correct `agents.default.args`, which `uwf config get agents.default` shows",
    );
    configured(
        "uwf-mock",
        &["--strickt", "script.yaml"],
        "unknown option `--strickt`; did you mean `--strict`?",
    );
    world.mock(NOTE);
    goes_on(&world, &thread);
}

#[test]
fn an_empty_prompt_is_refused() {
    let (world, thread) = world_with_thread();
    let threads = world.state("threads.yaml");
    for empty in ["", " \n\t"] {
        refused(
            &world,
            &["thread", "start", "one", "-p", empty],
            1,
            &["the prompt is empty", "hint: "],
        );
    }
    assert_eq!(world.state("threads.yaml"), threads);
    goes_on(&world, &thread);
}

#[test]
fn a_directory_that_is_not_there_is_told_before_an_agent_starts() {
    let (world, thread) = world_with_thread();
    let file = world.write("file", "");
    for bad in ["nowhere", file.to_str().unwrap()] {
        refused(
            &world,
            &["thread", "start", "one", "-p", "x", "--cwd", bad],
            1,
            &["does not exist or is not a directory", "hint: create it"],
        );
    }
    let place = world.project().join("place");
    std::fs::create_dir(&place).unwrap();
    let started = world.uwf(&["thread", "start", "one", "-p", "x", "--cwd", "place"]);
    let in_place = started.exits(0).json()["thread"]
        .as_str()
        .unwrap()
        .to_owned();
    std::fs::remove_dir(&place).unwrap();
    refused(
        &world,
        &["thread", "step", &in_place],
        1,
        &[place.to_str().unwrap(), "hint: create it"],
    );
    // No agent was started, so there is no failed attempt.
    assert_eq!(world.show(&in_place)["attempts"], json!([]));
    std::fs::create_dir(&place).unwrap();
    goes_on(&world, &in_place);
    goes_on(&world, &thread);
}

#[test]
fn a_wrong_command_line_is_refused_with_the_right_one() {
    let (world, thread) = world_with_thread();
    let cases: [(&[&str], &str); 7] = [
        (&["thred", "list"], "'thread'"),
        (&["thread", "stepp", &thread], "'step'"),
        (&["--format", "xml", "thread", "list"], "json, yaml, text"),
        (&["thread", "step", &thread, "-c", "0"], "from 1, or `all`"),
        (&["thread", "step", &thread, "-c", "-1"], "-1"),
        (&["thread", "step"], "<THREAD>"),
        (&["thread", "start", "one"], "--prompt"),
    ];
    for (args, text) in cases {
        refused(&world, args, 2, &[text]);
    }
    let run = world
        .command(&["thread", "list"])
        .env("UWF_FORMAT", "xml")
        .output()
        .unwrap();
    complains(Run::from(run).exits(2), &["UWF_FORMAT", "`xml`", "hint: "]);
    goes_on(&world, &thread);
}
