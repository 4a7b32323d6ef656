//! The example of the specification, as it is printed there, with a stand-in for `claude`.

use std::fs;

use serde_json::json;

use super::runs::{Ran, command, ran, text_of};
use crate::world::{World, path_with};

const EXAMPLE: &str =
    include_str!("../../../crates/pipeline/tests/files/multi_agent_feature_dev.yaml");

/// Notes its call, and prints what it was asked.
const CLAUDE: &str = r#"printf '%s\n' "$1 $3 $4" >> calls
printf 'I did: %s' "$2""#;

/// Returns a workspace with the folders that the example expects, and the stand-in.
fn workspace() -> World {
    let world = World::new();
    world.script("bin/claude", CLAUDE);
    for folder in ["inbox/engineer", "inbox/qa", "processed"] {
        fs::create_dir_all(world.project().join(folder)).unwrap();
    }
    world
}

fn with_claude(world: &World, args: &[&str]) -> Ran {
    let mut command = match args {
        ["resume", run] => world.command(&["orchestrate", "resume", run, "--json"]),
        _ => command(world, EXAMPLE, args),
    };
    command.env("PATH", path_with(&world.project().join("bin")));
    ran(&mut command)
}

#[test]
fn the_example_works_off_its_inbox_and_asks_no_model_twice() {
    let world = workspace();
    world.write("inbox/engineer/login.task", "Write the login");
    world.write("inbox/engineer/logout.task", "Write the logout");
    // Nobody makes the folders that the example moves its tasks to.
    let stopped = with_claude(&world, &[]).exits(1);
    let failed = "ProcessEngineerTasks[0].MoveToProcessed";
    assert_eq!(stopped.summary["failed_step"], failed);
    let time = stopped.id().split_once('-').unwrap().0;
    for index in 0..2 {
        let folder = format!("processed/{time}_{index}");
        fs::create_dir(world.project().join(folder)).unwrap();
    }
    let ran = with_claude(&world, &["resume", stopped.id()]).exits(0);
    assert_eq!(ran.output("NoTasks"), "No pending tasks\n");
    let call = "-p --model claude-sonnet-4-20250514\n";
    assert_eq!(text_of(&world, "calls"), call.repeat(2));
    let items = ran.state["for_each"]["ProcessEngineerTasks"]["items"].clone();
    for index in 0..2 {
        let task = items[index].as_str().unwrap();
        let name = task.strip_prefix("inbox/engineer/").unwrap();
        let done = text_of(&world, &format!("processed/{time}_{index}/{name}"));
        let log = text_of(
            &world,
            &format!("artifacts/engineer/execution_log_{index}.md"),
        );
        assert_eq!(log, format!("I did: {done}"));
        let status = text_of(&world, &format!("artifacts/engineer/status_{index}.json"));
        let status: serde_json::Value = serde_json::from_str(&status).unwrap();
        assert_eq!(status, json!({"success": true, "task": task}));
        let review = text_of(&world, &format!("inbox/qa/review_{index}.task"));
        assert_eq!(review, format!("Review impl_{index}.py\n"));
    }
    assert_eq!(
        fs::read_dir(world.project().join("inbox/engineer"))
            .unwrap()
            .count(),
        0
    );
}

#[test]
fn the_example_has_nothing_to_do_without_tasks_or_without_an_inbox() {
    let world = workspace();
    let ran = with_claude(&world, &[]).exits(0);
    assert_eq!(ran.step("ProcessEngineerTasks"), &json!([]));
    assert_eq!(ran.step("NoTasks")["status"], "completed");
    fs::remove_dir(world.project().join("inbox/engineer")).unwrap();
    let ran = with_claude(&world, &[]).exits(0);
    assert_eq!(ran.step("CheckEngineerInbox")["exit_code"], 1);
    assert!(ran.state["steps"].get("ProcessEngineerTasks").is_none());
    assert_eq!(ran.step("NoTasks")["status"], "completed");
    assert!(!world.project().join("calls").exists());
}

#[test]
fn the_example_fails_with_the_code_of_its_model() {
    let world = workspace();
    world.write("inbox/engineer/login.task", "Write the login");
    world.script("bin/claude", "echo overloaded >&2; exit 1");
    let failed = with_claude(&world, &["--max-retries", "2", "--retry-delay", "1"]).exits(1);
    let step = &failed.step("ProcessEngineerTasks")[0]["ImplementWithClaude"];
    assert_eq!(step["attempts"], 3);
    assert_eq!(step["error"]["stderr_tail"], json!(["overloaded"]));
    assert_eq!(
        text_of(&world, "inbox/engineer/login.task"),
        "Write the login"
    );
}
