//! Threads whose next role is played by another workflow or by a pipeline: a page answers as soon as the child works, says that it
//! works, and takes the end of a run for what it is.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::forms::{Person, leads};
use crate::scene::{self, Scene};
use crate::world::wait_until;

/// How soon an answer comes when a child works. Waiting for it in vain takes five seconds.
const SOON: Duration = Duration::from_secs(4);

/// A workflow whose role is played by another one.
const PARENT: &str = r#"
name: parent
roles:
  kid: { goal: It is done., workflow: review }
graph:
  $START: { _: { role: kid, prompt: "Do it." } }
  kid: { _: { role: $END, prompt: "done" } }
"#;

/// A pipeline that works until the file is there.
const LINE: &str = r#"
name: line
steps:
- name: Wait
  command: [sh, -c, "while [ -e line.yaml ] && [ ! -e go ]; do sleep 0.02; done"]
"#;

/// A workflow whose role is played by a pipeline.
const OVER_PIPELINE: &str = r#"
name: over
roles:
  kid: { goal: It is done., workflow: ./line.yaml }
graph:
  $START: { _: { role: kid, prompt: "Do it." } }
  kid: { done: { role: $END, prompt: "done" } }
"#;

/// A pipeline whose step starts a workflow.
const STARTS: &str = r#"
name: starts
steps:
- name: Solve
  workflow: { name: review, task: t }
"#;

/// Returns the thread of the run `r`, as soon as there is one.
#[track_caller]
fn thread_of_run(scene: &Scene) -> String {
    let status = || scene.world.uwf(&["orchestrate", "status", "r", "--json"]);
    wait_until("the run has a thread", || status().code == 0);
    let thread = status().json()["thread"].as_str().map(str::to_owned);
    thread.unwrap()
}

#[test]
fn what_the_child_of_a_run_says_is_told_of_the_run() {
    let scene = Scene::held();
    scene.world.write("starts.yaml", STARTS);
    let args = ["orchestrate", "run", "starts.yaml", "--run-id", "r"];
    let mut run = scene.world.spawn(&args);
    let thread = thread_of_run(&scene);
    let shows = |path: &str| {
        let page = scene.server.get(&format!("/threads/{thread}{path}"));
        page.body
            .contains("a line &lt;b&gt;while&lt;/b&gt; it works")
    };
    wait_until("the page of the turns shows it", || shows("/live"));
    assert!(shows(""));
    let tail = scene.world.uwf(&["thread", "tail", &thread]).exits(0);
    assert!(tail.stdout.contains(scene::LINE), "{}", tail.stdout);
    assert!(
        tail.stdout.contains("\"branch\":\"Solve\""),
        "{}",
        tail.stdout
    );
    std::fs::write(scene.go(), "").unwrap();
    run.wait().unwrap();
}

#[test]
fn what_the_child_of_a_run_used_up_counts_while_it_waits() {
    let scene = Scene::new(&[]);
    let usage = json!({ "inputTokens": 1, "outputTokens": 1, "costUsd": 0.25 });
    let asks = json!({ "output": { "$status": "ask", "question": "Which?" }, "usage": usage });
    let writes = json!({ "output": { "plan": "p" }, "usage": usage });
    let script = json!({ "roles": { "writer": [writes], "reviewer": [asks] } });
    scene.world.mock(&script.to_string());
    scene.world.write("starts.yaml", STARTS);
    scene.world.write(
        "outer.yaml",
        "name: outer\nsteps:\n- name: Outer\n  workflow: { name: ./starts.yaml, task: t }\n",
    );
    for pipeline in ["starts.yaml", "outer.yaml"] {
        let args = [
            "orchestrate",
            "run",
            pipeline,
            "--run-id",
            pipeline,
            "--json",
            "--quiet",
        ];
        scene.world.uwf(&args).exits(1);
        let args = ["orchestrate", "status", pipeline, "--json"];
        let status = scene.world.uwf(&args).exits(0).json();
        let thread = status["thread"].as_str().unwrap();
        let in_all = &scene.world.show(thread)["withChildren"];
        assert_eq!(in_all["steps"], json!(2), "{pipeline}: {in_all}");
        let page = scene.server.get(&format!("/threads/{thread}")).body;
        let costs = scene.server.get(&format!("/threads/{thread}/costs")).body;
        assert!(costs.contains("$0.50"), "{pipeline}: {costs}");
        assert!(page.contains("in all <b>2</b> with its children"), "{page}");
        assert!(page.contains(">$0.50</span></b>"), "{pipeline}: {page}");
    }
}

#[test]
fn a_run_whose_child_asks_waits_for_a_person_and_leads_to_the_child() {
    let scene = Scene::new(&[]);
    let asks = json!({ "output": { "$status": "ask", "question": "Which?" } });
    let approves = json!({ "output": { "$status": "approved", "summary": "s" } });
    let writes = json!({ "output": { "plan": "p" } });
    let script = json!({ "roles": { "writer": [writes], "reviewer": [asks, approves] } });
    scene.world.mock(&script.to_string());
    scene.world.write("starts.yaml", STARTS);
    let args = ["orchestrate", "run", "starts.yaml", "--run-id", "r"];
    scene.world.uwf(&args).exits(1);
    let thread = thread_of_run(&scene);
    let child = child_of(&scene, &thread);

    let all = scene.server.get("/api/v1/threads").json();
    assert_eq!(all["waiting"], json!(1), "{all}");
    assert_eq!(all["urgent"][0]["thread"], json!(thread));
    let counts = json!([{ "status": "suspended", "count": 1 }]);
    assert_eq!(all["counts"], counts);
    let list = scene.server.get("/").body;
    assert!(list.contains(&format!("id=\"waits-{thread}\"")), "{list}");
    assert!(list.contains("Need: Which?"), "{list}");

    let page = scene.server.get(&format!("/threads/{thread}")).body;
    let leads = format!("keeps it from going on: <a href=\"/threads/{child}\"");
    assert!(page.contains(&leads), "{page}");
    // A run takes no answer, and does nothing before its child has one.
    let (possible, _) = scene.possible(&thread);
    assert_eq!(possible, ["pause", "fork", "label", "kill"]);
    let (possible, _) = scene.possible(&child);
    assert_eq!(possible[0], "resume");

    let resume = ["thread", "resume", &child, "-p", "This."];
    scene.world.uwf(&resume).exits(0);
    let (possible, _) = scene.possible(&thread);
    assert_eq!(possible[0], "run");
    let all = scene.server.get("/api/v1/threads").json();
    assert_eq!(all["waiting"], json!(0), "{all}");
}

/// Returns the only child of a thread.
#[track_caller]
fn child_of(scene: &Scene, thread: &str) -> String {
    let path = format!("/api/v1/threads/{thread}");
    let shown = scene.server.get(&path).json();
    let child = shown["children"][0]["thread"].as_str();
    child.unwrap_or_else(|| panic!("{shown}")).to_owned()
}

#[test]
fn a_page_answers_when_a_child_works_and_says_that_it_does() {
    let scene = Scene::held();
    let person = Person::of(&scene.server);
    scene.world.put(PARENT);
    scene.world.write("line.yaml", LINE);
    scene.world.put(OVER_PIPELINE);
    let mut threads = Vec::new();
    for (workflow, action) in [
        ("parent", "step"),
        ("parent", "run"),
        ("over", "step"),
        ("over", "run"),
    ] {
        let thread = scene.world.start(workflow);
        let path = format!("/threads/{thread}/do/{action}");
        let page = person.look(&path);
        let before = Instant::now();
        let sent = person.send(&page, &path, &[]);
        assert_eq!(sent.status, 303, "{workflow}: {}", sent.body);
        assert!(before.elapsed() < SOON, "{workflow} {action}");
        let child = child_of(&scene, &thread);
        let shown = person.look(&format!("/threads/{thread}")).body;
        let says = format!("is at work in <a href=\"/threads/{child}\"");
        assert!(shown.contains(&says), "{workflow} {action}: {shown}");
        let tree = shown.split("<h2 id=\"family\">").nth(1).unwrap();
        let tree = tree.split("</section>").next().unwrap();
        assert!(tree.contains(" is at work"), "{workflow} {action}: {tree}");
        assert!(!tree.contains(" is next"), "{workflow} {action}: {tree}");
        threads.push(thread);
    }
    std::fs::write(scene.go(), "").unwrap();
    for thread in &threads {
        scene.world.uwf(&["thread", "wait", thread]);
    }
}

/// Checks that a thread whose child does its work at once is never refused, and that the child has done a step.
#[track_caller]
fn never_refused(scene: &Scene, person: &Person<'_>, times: usize) {
    for nth in 0..times {
        let thread = scene.world.start("parent");
        let (action, fields): (&str, &[(&str, &str)]) = match nth % 3 {
            0 => ("step", &[]),
            1 => ("step", &[("count", "5")]),
            _ => ("run", &[]),
        };
        let path = format!("/threads/{thread}/do/{action}");
        let sent = person.fill(&path, fields);
        assert_eq!(sent.status, 303, "{nth} {action}: {}", sent.body);
        scene.world.uwf(&["thread", "wait", &thread]);
        let child = child_of(scene, &thread);
        assert!(
            scene.world.show(&child)["steps"].as_u64() >= Some(1),
            "{nth} {action}"
        );
    }
}

#[test]
fn a_child_that_ends_at_once_is_no_refusal_whatever_comes_after_its_step() {
    let scene = Scene::new(&[]);
    let person = Person::of(&scene.server);
    scene.world.put(PARENT);
    // The reviewer asks.
    never_refused(&scene, &person, 6);
    // The reviewer fails.
    let script = scene.world.script("fails.sh", "exit 1");
    scene
        .world
        .configure("agents.fails.command", script.to_str().unwrap());
    scene
        .world
        .configure("agentOverrides.review.reviewer", "fails");
    never_refused(&scene, &person, 6);
    // No agent can play the reviewer.
    scene
        .world
        .configure("agentOverrides.review.reviewer", "nobody");
    never_refused(&scene, &person, 20);
}

#[test]
fn the_page_of_a_thread_counts_what_its_children_did() {
    let scene = Scene::new(&[]);
    let person = Person::of(&scene.server);
    scene.world.put(PARENT);
    let thread = scene.world.start("parent");
    // The writer of the child is done, and its reviewer asks.
    scene
        .world
        .uwf(&["thread", "step", &thread, "--count", "2"]);
    let all = &scene.world.show(&thread)["withChildren"]["steps"];
    assert!(all.as_u64() > Some(0), "{all}");
    let page = person.look(&format!("/threads/{thread}")).body;
    let says = format!("<b>0 steps</b>, in all <b>{all}</b> with its children");
    assert!(page.contains(&says), "{page}");
    let costs = format!("Cost <a href=\"/threads/{thread}/costs\"");
    assert!(page.contains(&costs), "{page}");
}

#[test]
fn a_run_that_stopped_because_a_child_asks_was_not_refused() {
    let scene = Scene::new(&[]);
    let person = Person::of(&scene.server);
    scene.world.put(PARENT);
    let start = [
        ("workflow", "parent"),
        ("prompt", "x"),
        ("cwd", "/"),
        ("then", "run"),
    ];
    let address = leads(&person.fill("/new", &start));
    let thread = address.strip_prefix("/threads/").unwrap();
    scene.wait_for(thread, "suspended", 0);
    let child = child_of(&scene, thread);
    scene.wait_for(&child, "suspended", 2);
    // Now it asks, and another run of it is refused.
    let again = scene.act(&format!("threads/{thread}/run"), &serde_json::json!({}));
    assert_eq!(again.status, 409, "{}", again.body);
}
