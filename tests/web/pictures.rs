//! The pictures of `docs/web.md`. `UWF_TEST_PICTURES="$PWD/docs/pictures" cargo test -p uwf --test web -- pictures::` makes them
//! again; look at each of them before it is committed.

use std::path::{Path, PathBuf};
use std::process::Child;

use serde_json::json;

use crate::browser::Browser;
use crate::web_client::{Server, TOKEN};
use crate::world::{REVIEW, World};

/// What each answer of the mock is said to use up.
const USAGE: &str =
    "    - usage: { inputTokens: 48200, outputTokens: 2100, costUsd: 0.31 }\n      output: |";

const PIPELINE: &str = r#"
name: nightly
description: The nightly checks
steps:
- name: Find
  command: [echo, "api\nshop\nmail"]
  output_capture: lines
- name: Each
  for_each:
    items_from: steps.Find.lines
    as: service
    steps:
    - name: Test
      command: [sh, -c, "echo \"$0: 128 tests passed in 12.4 s\"", "${service}"]
- name: Summary
  command: [sh, -c, "echo '{\"services\": 3, \"failed\": 0}'"]
  output_capture: json
"#;

/// Returns a file of the template that the pictures show.
fn template(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/templates/develop");
    std::fs::read_to_string(folder.join(name)).unwrap()
}

/// A world in which something of everything has happened.
struct Shown {
    world: World,
    /// A thread that has come to its end.
    done: String,
    /// A run of a pipeline.
    run: String,
    workflow: String,
    at_work: Child,
}

impl Shown {
    fn new() -> Self {
        let world = World::new();
        let start = |workflow: &str, task: &str| {
            let args = ["thread", "start", workflow, "-p", task];
            let started = world.uwf(&args).exits(0).json();
            started["thread"].as_str().unwrap().to_owned()
        };
        let steps = |thread: &str, count: &str| {
            world.uwf(&["thread", "step", thread, "--count", count]);
        };
        world.mock(&template("develop.mock.yaml").replace("    - output: |", USAGE));
        let workflow = world.put(&template("develop.yaml"));
        world.put(REVIEW);
        let paused = start("develop", "Drop support for the old format");
        let message = ["thread", "pause", &paused, "-m", "after the release"];
        world.uwf(&message).exits(0);
        let done = start("develop", "Add an option --loud to greet");
        steps(&done, "all");
        let name = ["thread", "rename", &done, "loud"];
        world.uwf(&name).exits(0);
        steps(&start("develop", "Translate greet to French"), "3");
        let failing = json!({ "roles": { "planner": [
            { "exit": 3, "class": "rate-limit", "stderr": "too many requests" } ] } });
        world.mock(&failing.to_string());
        steps(
            &start("develop", "Greet in the colours of the terminal"),
            "1",
        );
        let question = "The release removes `--plain`. Should the announcement say so?";
        let asking = json!({ "roles": {
            "writer": [{ "output": { "plan": "Three paragraphs: what is new, what changes, how to update" } }],
            "reviewer": [{ "output": { "$status": "ask", "question": question } }] } });
        world.mock(&asking.to_string());
        steps(&start("review", "Announce version 2"), "2");
        let file = world.write("nightly.yaml", PIPELINE);
        let ran = world.uwf(&["orchestrate", "run", file.to_str().unwrap(), "--json"]);
        let run = ran.exits(0).json()["thread"].as_str().unwrap().to_owned();
        let at_work = Self::at_work(&world, &start("develop", "Time every command"));
        Self {
            done,
            run,
            workflow,
            at_work,
            world,
        }
    }

    /// Begins a step that goes on while the pictures are made.
    fn at_work(world: &World, thread: &str) -> Child {
        let says = "echo 'Reading src/greet.sh' >&2\nexec sleep 600";
        let agent: PathBuf = world.script("agent.sh", says);
        world.agent("uwf-command", &["--", agent.to_str().unwrap()]);
        let child = world.spawn(&["thread", "step", thread]);
        world.agent_at_work(thread);
        child
    }
}

#[test]
fn the_pictures_of_the_documents_can_be_made_again() {
    if std::env::var_os("UWF_TEST_PICTURES").is_none() {
        return;
    }
    let Some(browser) = Browser::start() else {
        return;
    };
    let mut shown = Shown::new();
    let server = Server::start(&shown.world, &[]);
    browser.open(&format!("http://{}/login#{TOKEN}", server.at));
    browser.wait_for("document.getElementById('fresh')");
    let (done, run, workflow) = (&shown.done, &shown.run, &shown.workflow);
    let thread = format!("/threads/{done}");
    for (name, path, width, height, scheme) in [
        ("web-threads", "/", 1100, 620, "light"),
        ("web-thread", &thread, 1100, 900, "light"),
        ("web-thread-dark", &thread, 1100, 900, "dark"),
        ("web-thread-phone", &thread, 320, 640, "light"),
        ("web-run", &format!("/threads/{run}"), 1100, 760, "light"),
        (
            "web-workflow",
            &format!("/workflows/{workflow}"),
            1100,
            760,
            "light",
        ),
    ] {
        browser.scheme(scheme);
        browser.screen(width, height);
        browser.open(&format!("http://{}{path}", server.at));
        browser.wait_for("!document.getElementById('fresh').textContent.includes('not')");
        browser.picture(name);
    }
    shown.world.uwf(&["thread", "kill", "--", "@"]);
    let _ = shown.at_work.wait();
}
