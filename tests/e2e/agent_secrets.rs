//! The environment of each agent, and its secrets: who gets which variables, and that nothing shows their values.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::processes::signal;
use crate::world::{ONE_STEP, REVIEW, World, wait_until};

/// A secret whose forms in URLs, in JSON and in base64 all differ.
const SECRET: &str = "s3cr3t va/\"ue+1<é";

/// Prints the secret in every form to stderr and to stdout, cut in two with a pause between.
const TELLS_ALL: &str = r#"
tell() {
    printf '%s' "$1" | cut -c1-7 | tr -d '\n'; sleep 0.2; printf '%s\n' "$1" | cut -c8-
}
coded=$(printf %s "$TOKEN" | base64)
web='s3cr3t%20va%2F%22ue%2B1%3C%C3%A9'
quoted='s3cr3t va/\"ue+1<é'
for form in "$TOKEN" "$coded" "$web" "$quoted"; do tell "$form" >&2; done
"#;

/// Adds an answer with the secret in its data and in its text.
fn answers() -> String {
    format!(
        "{TELLS_ALL}\nprintf -- '---\\nnote: \"a %s b %s\"\\n---\\n\\n' \"$quoted\" \"$coded\"\n\
         for form in \"$TOKEN\" \"$coded\" \"$web\" \"$quoted\"; do tell \"$form\"; done"
    )
}

/// A world whose default agent has one secret, and runs this script through an adapter.
fn world_with(script: &str) -> World {
    let world = World::new();
    world.put(ONE_STEP);
    world.script("tells.sh", script);
    world.agent("uwf-command", &["--", "./tells.sh"]);
    secrets(&world, &format!("TOKEN='{SECRET}'\n"), "[\"TOKEN\"]");
    world
}

/// Writes `.env` and names the secrets of the default agent.
fn secrets(world: &World, dotenv: &str, names: &str) {
    std::fs::write(world.root().join(".env"), dotenv).unwrap();
    world.configure("agents.default.secrets", names);
}

/// Returns the forms that must be nowhere.
fn forms() -> Vec<Vec<u8>> {
    let coded = Command::new("sh")
        .args(["-c", "printf %s \"$1\" | base64", "sh", SECRET])
        .output()
        .unwrap()
        .stdout;
    let quoted = Value::from(SECRET).to_string();
    vec![
        SECRET.into(),
        coded.trim_ascii_end().to_owned(),
        b"s3cr3t%20va%2F%22ue%2B1%3C%C3%A9".to_vec(),
        quoted.trim_matches('"').into(),
    ]
}

/// Asserts that no file of the folder has the secret in any form.
#[track_caller]
fn assert_free(folder: &Path) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            assert_free(&path);
        } else if path.file_name().unwrap() != ".env" {
            assert_bytes_free(&std::fs::read(&path).unwrap(), &path.display().to_string());
        }
    }
}

#[track_caller]
fn assert_bytes_free(bytes: &[u8], place: &str) {
    for form in forms() {
        let found = bytes.windows(form.len()).any(|window| window == form);
        let form = String::from_utf8_lossy(&form).into_owned();
        assert!(
            !found,
            "`{form}` in {place}: {}",
            String::from_utf8_lossy(bytes)
        );
    }
}

#[test]
fn a_declared_secret_is_in_no_file_and_on_no_terminal() {
    let world = world_with(&answers());
    let thread = world.start("one");
    let run = world.uwf(&["-v", "thread", "step", &thread]).exits(0);
    assert!(run.stderr.contains("| ***"), "{}", run.stderr);
    assert_free(&world.root());
    let read = world.uwf(&["thread", "read", &thread]).exits(0).stdout;
    assert!(read.contains("a *** b ***"), "{read}");
    let tail = world.uwf(&["thread", "tail", &thread]);
    let log = world.uwf(&["log", "show"]).exits(0);
    for (place, text) in [
        ("the answer", read),
        ("-v", run.stderr),
        ("a tail", tail.stdout + &tail.stderr),
        ("the log", log.stdout),
    ] {
        assert_bytes_free(text.as_bytes(), place);
    }
}

#[test]
fn a_secret_of_several_lines_is_masked_where_its_lines_are_indented() {
    let world = world_with(
        "printf -- '---\\nnote: |\\n'; printf '%s\\n' \"$TOKEN\" | sed 's/^/  /'; echo ---",
    );
    let line = "MIIEabcdefghijklmnop";
    let dotenv = format!("TOKEN=\"-----BEGIN KEY-----\n{line}\n-----END KEY-----\"\n");
    secrets(&world, &dotenv, "[\"TOKEN\"]");
    let thread = world.start("one");
    world.step(&thread).exits(0);
    let read = world.uwf(&["thread", "read", &thread]).exits(0).stdout;
    assert!(read.contains("-----BEGIN KEY-----\n  ***\n"), "{read}");
    let found = Command::new("grep")
        .arg("-rl")
        .arg(line)
        .arg(world.root())
        .output()
        .unwrap();
    let files = String::from_utf8(found.stdout).unwrap();
    assert_eq!(files.trim(), world.root().join(".env").to_str().unwrap());
}

#[test]
fn what_is_shown_of_a_running_agent_has_no_secret() {
    let world = world_with(&format!(
        "{TELLS_ALL}\ntouch told; while [ ! -e go ]; do sleep 0.1; done\nprintf -- '---\\nnote: n\\n---\\n'"
    ));
    let thread = world.start("one");
    let mut step = world.spawn(&["-v", "thread", "step", &thread]);
    wait_until("the agent told its secret", || {
        world.project().join("told").exists()
    });
    let tail = world.uwf(&["thread", "tail", &thread]);
    assert!(tail.stdout.contains("***"), "{}", tail.stdout);
    assert_bytes_free(tail.stdout.as_bytes(), "a tail");
    world.write("go", "");
    assert!(step.wait().unwrap().success());
    assert_free(&world.root());
}

#[test]
fn a_failed_attempt_and_its_hook_have_no_secret() {
    let world = world_with(&format!("{TELLS_ALL}\necho \"no: $TOKEN\" >&2; exit 4"));
    let told = world.dir().join("told");
    world.configure("hooks.failed.command", &format!("cat > {}", told.display()));
    let thread = world.start("one");
    let run = world.step(&thread).exits(3);
    assert_bytes_free(run.stderr.as_bytes(), "stderr");
    let attempts = world.show(&thread)["attempts"].to_string();
    assert!(attempts.contains("***"), "{attempts}");
    assert_bytes_free(attempts.as_bytes(), "the attempts");
    assert_bytes_free(&std::fs::read(told).unwrap(), "the hook");
    assert_free(&world.root());
}

#[test]
fn data_that_needs_the_secret_itself_is_refused() {
    let world = world_with("printf -- '---\\nnote: \"%s\"\\n---\\n' 's3cr3t va/\\\"ue+1<é'");
    world.put(&ONE_STEP.replace(
        "note: { type: string }",
        "note: { type: string, minLength: 10 }",
    ));
    let thread = world.start("one");
    let run = world.step(&thread).exits(3).says("note");
    assert_bytes_free(run.stderr.as_bytes(), "stderr");
    assert_free(&world.root());
}

#[test]
fn an_attempt_that_was_killed_leaves_its_secret_until_the_next_one_only() {
    let world = world_with(&format!("{TELLS_ALL}\ntouch told; exec sleep 600"));
    let thread = world.start("one");
    let mut step = world.spawn(&["thread", "step", &thread]);
    wait_until("the agent told its secret", || {
        world.project().join("told").exists()
    });
    let agent = world.agent_at_work(&thread);
    let launched = world.state(&format!("runs/{thread}/launched.json"));
    let launched: Value = serde_json::from_str(&launched).unwrap();
    for process in [
        u64::from(step.id()),
        agent,
        launched["program"]["pid"].as_u64().unwrap(),
    ] {
        signal("KILL", process);
    }
    step.wait().unwrap();
    world.mock("roles:\n  writer: [{ output: { note: done } }]\n");
    world
        .uwf(&["thread", "step", &thread, "--new-session"])
        .exits(0);
    assert_free(&world.root());
}

#[test]
fn each_agent_gets_its_own_secrets_and_variables() {
    let world = World::new();
    world.put(REVIEW);
    let tells = |answer: &str| {
        format!(
            "echo \"$0 A=$A B=$B C=$C PLACE=$PLACE UWF_SECRETS=$UWF_SECRETS\" >> got\n\
             printf -- '---\\n{answer}\\n---\\n'"
        )
    };
    let writer = world.script("writer.sh", &tells("plan: p"));
    let reviewer = world.script("reviewer.sh", &tells("$status: approved\\nsummary: s"));
    for (agent, script, secrets) in [("w", writer, "[\"A_KEY\"]"), ("r", reviewer, "[]")] {
        world.configure(&format!("agents.{agent}.command"), "uwf-command");
        let args = json!(["--", script]).to_string();
        world.configure(&format!("agents.{agent}.args"), &args);
        world.configure(&format!("agents.{agent}.secrets"), secrets);
        world.configure(&format!("agents.{agent}.env.PLACE"), agent);
    }
    let config = world.state("config.yaml").replace("A_KEY", "A");
    std::fs::write(world.root().join("config.yaml"), config).unwrap();
    world.configure("agentOverrides.review.writer", "w");
    world.configure("agentOverrides.review.reviewer", "r");
    std::fs::write(
        world.root().join(".env"),
        "A=value-a\nB=value-b\nPLACE=file\n",
    )
    .unwrap();
    let thread = world.start("review");
    for _ in 0..2 {
        let mut step = world.command(&["thread", "step", &thread]);
        let run: crate::world::Run = step
            .env("C", "ours")
            .env("PLACE", "ours")
            .output()
            .unwrap()
            .into();
        run.exits(0);
    }
    let got = std::fs::read_to_string(world.project().join("got")).unwrap();
    let got: Vec<&str> = got
        .lines()
        .map(|line| line.split_once(' ').unwrap().1)
        .collect();
    assert_eq!(
        got,
        [
            "A=value-a B= C=ours PLACE=w UWF_SECRETS=A",
            "A= B= C=ours PLACE=r UWF_SECRETS=",
        ]
    );
}

#[test]
fn an_agent_whose_secrets_are_not_there_is_not_started() {
    let world = world_with("touch started");
    secrets(
        &world,
        "TOKEN=x-value\nEMPTY=\n",
        "[\"TOKEN\",\"EMPTY\",\"NONE\"]",
    );
    let thread = world.start("one");
    for call in [
        &["thread", "step", &thread][..],
        &["thread", "step", "--dry-run", &thread],
    ] {
        let run = world.uwf(call).exits(1);
        run.says("secrets `EMPTY`, `NONE` of agent `default` are neither in")
            .says("hint: add a line `NAME=value` for each");
    }
    assert!(!world.project().join("started").exists());
    assert_eq!(world.show(&thread)["steps"], json!(0));
    let validate = world.uwf(&["config", "validate"]).exits(0);
    assert!(
        validate.stdout.contains("the secret `NONE`"),
        "{}",
        validate.stdout
    );
    let doctor = world.uwf(&["doctor", "--offline"]).stdout;
    assert!(
        doctor.contains("the secret `NONE`") && !doctor.contains("x-value"),
        "{doctor}"
    );
}

#[test]
fn a_secret_that_is_too_short_is_said_and_not_masked() {
    let world = world_with("printf -- '---\\nnote: xyz\\n---\\n'");
    secrets(&world, "TOKEN=xyz\n", "[\"TOKEN\"]");
    let thread = world.start("one");
    world
        .step(&thread)
        .exits(0)
        .says("the secret `TOKEN` is too short to be masked");
    let read = world.uwf(&["thread", "read", &thread]).stdout;
    assert!(read.contains("note: xyz"), "{read}");
}

#[test]
fn variables_are_set_shown_and_removed_key_by_key() {
    let world = World::new();
    world.agent("uwf-mock", &[]);
    let key = "agents.default.env.GH_TOKEN";
    let set = world.uwf(&["config", "set", key, "t0ken-value"]).exits(0);
    assert!(!set.stdout.contains("t0ken"), "{}", set.stdout);
    world.configure("agents.default.env.PORT", "8080");
    world.configure("agents.default.secrets", "[\"GH_TOKEN\"]");
    let get = |key: &str| world.uwf(&["config", "get", key]).exits(0).json()["value"].clone();
    assert_eq!(get("agents.default.secrets"), json!(["GH_TOKEN"]));
    assert_eq!(get("agents.default.env")["GH_TOKEN"], json!("***MASKED***"));
    let origin = world.uwf(&["config", "list", "--origin"]).exits(0).stdout;
    assert!(
        origin.contains("agents.default.env.PORT") && !origin.contains("t0ken"),
        "{origin}"
    );
    world
        .uwf(&["config", "unset", "agents.default.env"])
        .exits(0);
    assert!(!world.state("config.yaml").contains("env:"));
    for (key, value, problem) in [
        (
            "agents.default.env.UWF_HEAD",
            "x",
            "`uwf` sets it for every agent",
        ),
        (
            "agents.default.env.1A",
            "x",
            "the name of a variable is needed",
        ),
        (
            "agents.default.env",
            "x",
            "a mapping of variables is needed",
        ),
        (
            "agents.default.secrets",
            "[\"sk-0123456789abcdef\"]",
            "the name of a variable is needed",
        ),
        ("agents.default.secrets", "X", "not a JSON array"),
    ] {
        let run = world
            .uwf(&["config", "set", key, value])
            .exits(1)
            .says(problem);
        assert!(!run.stderr.contains("sk-0123"), "{}", run.stderr);
    }
    let config = "agents:\n  default:\n    command: uwf-mock\n    env: { UWF_ROLE: x, PORT: 80 }\n";
    std::fs::write(world.root().join("config.yaml"), config).unwrap();
    let run = world.uwf(&["config", "validate"]).exits(1);
    assert!(
        run.stdout.contains("`uwf` sets it for every agent"),
        "{}",
        run.stdout
    );
}

#[test]
fn a_recording_has_no_secret_and_is_played_all_the_same() {
    let world = world_with(&answers());
    let args = ["--to", "rec.yaml", "--", "uwf-command", "--", "./tells.sh"];
    world.agent("uwf-record", &args);
    let thread = world.start("one");
    world.step(&thread).exits(0);
    let recording = std::fs::read(world.project().join("rec.yaml")).unwrap();
    assert_bytes_free(&recording, "the recording");
    assert!(String::from_utf8_lossy(&recording).contains("***"));
    world.agent("uwf-mock", &["rec.yaml"]);
    let again = world.start("one");
    world.step(&again).exits(0);
    let output = |thread: &str| {
        let steps = world.uwf(&["thread", "steps", thread]).exits(0).json();
        steps["steps"][1]["output"].clone()
    };
    assert_eq!(output(&again), output(&thread));
}

#[test]
fn an_environment_that_the_system_does_not_take_is_said_with_its_largest_variable() {
    let world = world_with("true");
    secrets(
        &world,
        &format!("TOKEN=abcdef\nLARGE={}\n", "x".repeat(200_000)),
        "[\"TOKEN\"]",
    );
    let thread = world.start("one");
    world
        .uwf(&["config", "unset", "agents.default.secrets"])
        .exits(0);
    let run = world.step(&thread).exits(3);
    run.says("`LARGE` is the largest variable, with 195.3 KiB")
        .says("name the variables of `.env` that the agent needs in its `secrets`");
    world.configure("agents.default.secrets", "[\"TOKEN\"]");
    world.mock("roles:\n  writer: [{ output: { note: done } }]\n");
    world.step(&thread).exits(0);
}

#[test]
fn a_variable_that_an_agent_declares_as_a_secret_is_shown_nowhere() {
    let world = World::new();
    let value = "hunter2hunter2";
    let key = "agents.a.env.DATABASE";
    world.configure("agents.a.command", "uwf-mock");
    world.configure("agents.a.secrets", r#"["DATABASE"]"#);
    world.configure("agents.a.env.PLAIN", "seen");
    let own = format!(
        "agents: {{ own: {{ command: ./x, args: [--token, t], secrets: [DATABASE], env: {{ DATABASE: {value} }} }} }}\n"
    );
    world.write(".uwf/config.yaml", &own);
    let shown = [
        &["config", "set", key, value][..],
        &["config", "get", key],
        &["config", "get", "agents.a"],
        &["config", "list"],
        &["config", "list", "--format", "text"],
        &["trust", "--show"],
        &["trust", "--show", "--format", "text"],
        &["trust", "--yes"],
        &["config", "list", "--origin"],
    ];
    for args in shown {
        let run = world.uwf(args).exits(0);
        let all = format!("{}{}", run.stdout, run.stderr);
        assert!(!all.contains(value), "{args:?}: {all}");
        assert!(all.contains("***"), "{args:?}: {all}");
    }
    assert!(world.state("config.yaml").contains(value));
    let plain = world.uwf(&["config", "get", "agents.a.env.PLAIN"]).exits(0);
    assert_eq!(plain.json()["value"], json!("seen"));
    let trust = world.uwf(&["trust", "--show", "--format", "text"]).exits(0);
    assert!(trust.stdout.contains("--token t"), "{}", trust.stdout);
    assert!(
        trust.stdout.contains("look at them before you trust it"),
        "{}",
        trust.stdout
    );
}

#[test]
fn a_fallback_does_not_tell_the_secret_of_the_agent_before_it() {
    let world = world_with("printf %s \"$TOKEN\" > told; exit 1");
    world.script(
        "repeats.sh",
        "printf -- '---\\nnote: \"a %s b\"\\n---\\n' \"$(base64 < told)\"; cat told >&2",
    );
    world.configure("agents.other.command", "uwf-command");
    world.configure("agents.other.args", r#"["--", "./repeats.sh"]"#);
    world.configure("agents.other.secrets", "[]");
    world.configure("agents.default.fallback", r#"["other"]"#);
    world.configure("agents.default.retry.on", r#"["crash"]"#);
    let thread = world.start("one");
    let first = world.step(&thread).exits(3);
    assert_eq!(first.json()["nextAgent"], json!("other"));
    world.step(&thread).exits(0);
    assert_free(&world.root());
    let read = world.uwf(&["thread", "read", &thread]).exits(0).stdout;
    assert!(read.contains("a *** b"), "{read}");
}

#[test]
fn in_a_worktree_and_in_its_checks_the_secrets_of_the_projects_agents_are_masked() {
    let world = World::new();
    let value = "hunter2hunter2";
    let told = world.dir().join("told");
    std::fs::write(&told, value).unwrap();
    let tells = format!("cat {}", told.display());
    let checks = "workspace: worktree\nroles:\n  writer:\n    checks: { run: [\"sh check.sh\"] }\n";
    world.put(&ONE_STEP.replace("roles:\n  writer:\n", checks));
    crate::worktrees::repository(&world);
    let answers = format!("printf -- '---\\nnote: \"a %s b\"\\n---\\n' \"$({tells})\"");
    let answers = world.script("answers.sh", &answers);
    world.agent("uwf-command", &["--", answers.to_str().unwrap()]);
    world.write("check.sh", &tells);
    let own = format!(
        "agents: {{ own: {{ command: ./x, secrets: [DATABASE], env: {{ DATABASE: {value} }} }} }}\n"
    );
    world.write(".uwf/config.yaml", &own);
    crate::worktrees::git(&world, &["add", "--all"]);
    crate::worktrees::git(&world, &["commit", "--quiet", "--message=checked"]);
    world.uwf(&["trust", "--yes"]).exits(0);
    let thread = world.start("one");
    world.step(&thread).exits(0);
    let read = world.uwf(&["thread", "read", &thread]).exits(0).stdout;
    assert!(read.contains("a *** b"), "{read}");
    let step = world
        .uwf(&["step", "show", &format!("{thread}@1")])
        .exits(0);
    assert_eq!(step.json()["checks"][0]["output"], json!("***"));
}
