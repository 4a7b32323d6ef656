//! Ends of servers of the Model Context Protocol that nobody asked for.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::builtin::results;
use crate::mcp::{assert_all_ended, serve, world_of};
use crate::model_server::Scripted;
use crate::worktrees::repository;

/// Whatever runs between two calls of a server, its end is told to those who started it.
#[test]
fn a_server_that_ended_before_git_was_asked_is_told_with_its_exit_code() {
    let once = r#"
echo $$ >> pids
read -r line; printf '{"id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}}}}\n'
read -r line
read -r line; printf '{"id":2,"result":{"tools":[{"name":"take"}]}}\n'
read -r line; printf '{"id":3,"result":{"content":[{"type":"text","text":"taken"}]}}\n'
exit 3
"#;
    let (world, server) = world_of(vec![Scripted::calls(&[
        ("once__take", json!({})),
        (
            "shell_exec",
            json!({ "command": "while kill -0 $(cat pids); do sleep 0.05; done; sleep 0.5" }),
        ),
        ("diff", json!({})),
        ("once__take", json!({})),
    ])]);
    repository(&world);
    serve(&world, "once", once);
    world.agent("uwf-builtin", &["--mcp", "once", "--allow-shell"]);
    let thread = world.start("one");
    let begun = Instant::now();
    world.step(&thread).exits(0);
    // The server was not waited for: that alone would take 28 s.
    assert!(begun.elapsed() < Duration::from_secs(20));
    let results = results(&server);
    assert_eq!(results[0], "taken");
    assert!(!results[2].starts_with("error"), "{}", results[2]);
    assert!(
        results[3].contains("it ended (exit code 3)"),
        "{}",
        results[3]
    );
    assert_all_ended(&world);
}
