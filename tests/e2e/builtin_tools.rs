//! The tools of `uwf-builtin` that look at files: lists, searches, and what has changed.

use std::fs;
use std::process::Stdio;

use serde_json::json;

use crate::builtin::{note, results, tools, world};
use crate::model_server::{ModelServer, Scripted};
use crate::processes::signal;
use crate::trees::alive;
use crate::worktrees::{git, repository};
use crate::world::{ONE_STEP, wait_until};

#[test]
fn files_are_listed_and_searched_and_what_the_step_changed_is_shown() {
    let server = ModelServer::start(vec![
        Scripted::calls(&[(
            "write_file",
            json!({ "path": "src/new.rs", "content": "fn new() {}\n" }),
        )]),
        Scripted::calls(&[
            ("list_files", json!({ "pattern": "*.rs" })),
            ("search", json!({ "pattern": "^fn ", "files": "*.rs" })),
            ("diff", json!({})),
            (
                "write_file",
                json!({ "path": ".git/config", "content": "x" }),
            ),
        ]),
        note("n"),
    ]);
    let world = world(ONE_STEP, &server);
    for args in [
        &["init", "-q"][..],
        &["config", "user.email", "a@b.c"],
        &["config", "user.name", "a"],
    ] {
        let status = world.command_of("git").args(args).status().unwrap();
        assert!(status.success());
    }
    world.write("src/old.rs", "fn old() {}\n");
    world.write("built/out.rs", "fn out() {}\n");
    world.write(".gitignore", "built/\n");
    world.agent("uwf-builtin", &[]);
    let thread = world.start("one");
    world.step(&thread).exits(0);
    let results = results(&server);
    assert_eq!(results[1], "src/new.rs\nsrc/old.rs\n");
    assert_eq!(
        results[2],
        "src/new.rs:1: fn new() {}\nsrc/old.rs:1: fn old() {}\n"
    );
    assert!(
        results[3].contains("+fn new() {}") && !results[3].contains("old"),
        "{}",
        results[3]
    );
    assert!(results[4].starts_with("error: ") && results[4].contains("belongs to git"));
}

#[test]
fn what_changed_is_not_shown_outside_of_a_repository() {
    let (_world, results) = tools(&[], &[("diff", json!({}))]);
    assert!(
        results[0].contains("in no git repository"),
        "{}",
        results[0]
    );
}

#[test]
fn a_filter_that_hangs_does_not_hold_a_diff_for_longer_than_its_part_of_the_time() {
    let server = ModelServer::start(vec![
        Scripted::calls(&[(
            "write_file",
            json!({ "path": "slow.txt", "content": "new\n" }),
        )]),
        Scripted::calls(&[("diff", json!({}))]),
        note("n"),
    ]);
    let world = world(ONE_STEP, &server);
    repository(&world);
    world.write(".gitattributes", "slow.txt filter=slow\n");
    let script = world.script("filter.sh", "sleep 1000");
    git(
        &world,
        &["config", "filter.slow.clean", script.to_str().unwrap()],
    );
    world.agent("uwf-builtin", &[]);
    world.configure("agents.default.timeout", "16s");
    let thread = world.start("one");
    world.step(&thread).exits(0);
    let diff = &results(&server)[1];
    assert!(
        diff.starts_with("error: ") && diff.contains("4 s"),
        "{diff}"
    );
    assert_eq!(alive(&world), Vec::<String>::new());
}

#[test]
fn a_signal_during_a_diff_ends_the_agent_without_another_call_of_the_model() {
    let server = ModelServer::start(vec![
        Scripted::calls(&[(
            "write_file",
            json!({ "path": "slow.txt", "content": "new\n" }),
        )]),
        Scripted::calls(&[
            ("diff", json!({})),
            ("write_file", json!({ "path": "after", "content": "x" })),
        ]),
        note("n"),
    ]);
    let world = world(ONE_STEP, &server);
    repository(&world);
    world.write(".gitattributes", "slow.txt filter=slow\n");
    let filtering = world.root().join("filtering");
    let body = format!("touch {}; sleep 1000", filtering.display());
    let script = world.script("filter.sh", &body);
    git(
        &world,
        &["config", "filter.slow.clean", script.to_str().unwrap()],
    );
    world.agent("uwf-builtin", &[]);
    let thread = world.start("one");
    let mut command = world.command(&["thread", "step", &thread]);
    let engine = command
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_until("the filter runs", || filtering.exists());
    signal("TERM", engine.id());
    let output = engine.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(143), "{output:?}");
    assert_eq!(server.requests().len(), 2);
    assert!(!world.project().join("after").exists());
    assert_eq!(alive(&world), Vec::<String>::new());
}

/// A secret in the middle of what is kept of a long output: a part of it would be left if the output were cut first.
#[test]
fn a_secret_at_the_place_where_a_long_output_is_cut_is_masked() {
    let secret = "ghp_a_secret_of_some_length_0123456789";
    let half = &secret[..12];
    // The kept beginning ends within the secret, and so does the kept end begin.
    let command = concat!(
        "head -c 7980 /dev/zero | tr '\\0' a; printf %s \"$GH_TOKEN\"; head -c 50000 /dev/zero | tr '\\0' b; ",
        "printf %s \"$GH_TOKEN\"; head -c 7980 /dev/zero | tr '\\0' c"
    );
    let server = ModelServer::start(vec![
        Scripted::calls(&[("shell_exec", json!({ "command": command }))]),
        note("n"),
    ]);
    let world = world(ONE_STEP, &server);
    fs::write(
        world.root().join(".env"),
        format!("MODEL_ACCESS=sk-1\nGH_TOKEN={secret}\n"),
    )
    .unwrap();
    world.agent("uwf-builtin", &["--allow-shell", "--keep-env", "GH_TOKEN"]);
    world.configure("agents.default.secrets", r#"["GH_TOKEN"]"#);
    let thread = world.start("one");
    world.step(&thread).exits(0);
    let result = &results(&server)[0];
    assert!(result.contains("bytes left out"), "{result}");
    assert_eq!(result.matches("***").count(), 2, "{result}");
    for part in [half, &secret[secret.len() - 12..]] {
        assert!(!result.contains(part), "{part}");
    }
}
