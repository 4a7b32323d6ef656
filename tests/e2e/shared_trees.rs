//! Threads that work in one folder: a step names the other thread, or waits for it, also if an engine is killed.

use std::process::Child;

use serde_json::json;

use crate::branches;
use crate::processes::{is_running, signal};
use crate::world::{AGAIN, Run, World, wait_until};

/// A world with two threads in one folder, whose agents work while there is a file `wait-<thread>`.
fn world(keys: &str) -> (World, String, String) {
    let world = World::new();
    world.put(&AGAIN.replace('@', keys));
    let project = world.project();
    let agent = format!(
        "#!/bin/sh\ntouch {project}/at-work-$UWF_THREAD_ID\nwhile [ -e {project}/wait-$UWF_THREAD_ID ]; do sleep 0.02; done\nprintf -- '---\\nstatus: more\\n---\\n'\n",
        project = project.display()
    );
    let agent = world.script("agent.sh", &agent);
    world.agent("uwf-command", &["--", agent.to_str().unwrap()]);
    let [first, second] = ["again"; 2].map(|name| world.start(name));
    (world, first, second)
}

/// Lets the agent of a thread work until [`let_go`].
fn at_work(world: &World, thread: &str) -> Child {
    world.write(&format!("wait-{thread}"), "");
    let file = world.project().join(format!("at-work-{thread}"));
    // An earlier step may have left it.
    let _ = std::fs::remove_file(&file);
    let call = world.spawn(&["thread", "step", thread]);
    wait_until("its agent works", || file.exists());
    call
}

fn let_go(world: &World, thread: &str) {
    std::fs::remove_file(world.project().join(format!("wait-{thread}"))).unwrap();
}

fn ends(call: Child) -> Run {
    call.wait_with_output().unwrap().into()
}

#[test]
fn a_thread_is_told_that_another_one_works_in_its_folder() {
    let (world, first, second) = world("");
    let quiet = world.step(&second).exits(0);
    assert_eq!(quiet.stderr, "");
    let working = at_work(&world, &first);
    world
        .step(&second)
        .exits(0)
        .says(&format!(
            "thread {first} works in `{}`, too",
            world.project().display()
        ))
        .says("`workspace: worktree`");
    let allowed = world
        .uwf(&["thread", "step", &second, "--shared-ok"])
        .exits(0);
    assert_eq!(allowed.stderr, "");
    let elsewhere = world.dir().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    let other = [
        "thread",
        "start",
        "again",
        "-p",
        "x",
        "--cwd",
        elsewhere.to_str().unwrap(),
    ];
    let other = world.uwf(&other).exits(0).json();
    let other = world.step(other["thread"].as_str().unwrap()).exits(0);
    assert_eq!(other.stderr, "");
    let_go(&world, &first);
    ends(working).exits(0);
    assert_eq!(world.step(&second).exits(0).stderr, "");
}

#[test]
fn threads_that_share_a_folder_wait_for_each_other() {
    let (world, first, second) = world("workspace: shared");
    let working = at_work(&world, &first);
    world
        .uwf(&["thread", "step", &second, "--no-wait"])
        .exits(5)
        .says(&format!("thread {first} works there"))
        .says("--shared-ok");
    world
        .uwf(&["thread", "step", &second, "--shared-ok"])
        .exits(0);
    let waiting = world.spawn(&["thread", "step", &second]);
    wait_until("it waits", || {
        world.show(&second)["running"]["waiting"] == json!(true)
    });
    assert_eq!(world.show(&second)["steps"], json!(1));
    let_go(&world, &first);
    ends(working).exits(0);
    ends(waiting)
        .exits(0)
        .says("waiting for the working tree")
        .says(&format!("thread {first} works there"));
    assert_eq!(world.show(&second)["steps"], json!(2));
    // A signal ends a call that waits.
    let working = at_work(&world, &first);
    let waiting = world.spawn(&["thread", "step", &second]);
    wait_until("it waits", || {
        world.show(&second)["running"]["waiting"] == json!(true)
    });
    world.uwf(&["thread", "kill", &second]).exits(0);
    ends(waiting).exits(7);
    let_go(&world, &first);
    ends(working).exits(0);
}

#[test]
fn a_folder_stays_taken_while_the_agent_of_a_dead_engine_works_there() {
    let (world, first, second) = world("workspace: shared");
    let working = at_work(&world, &first);
    let agent = world.agent_at_work(&first);
    signal("KILL", working.id());
    working.wait_with_output().unwrap();
    let no_wait = || world.uwf(&["thread", "step", &second, "--no-wait"]);
    no_wait().exits(5).says(&first);
    let_go(&world, &first);
    wait_until("the agent has ended", || !is_running(agent));
    wait_until("nobody works there", || no_wait().code == 0);
    world.step(&first).exits(0);
    // Without its agent, nothing is left of a thread.
    let working = at_work(&world, &first);
    let agent = world.agent_at_work(&first);
    signal("KILL", working.id());
    signal("KILL", agent);
    working.wait_with_output().unwrap();
    let_go(&world, &first);
    wait_until("nobody works there", || no_wait().code == 0);
}

#[test]
fn many_threads_that_share_a_folder_work_one_after_the_other() {
    let (world, first, second) = world("workspace: shared");
    let body = "#!/bin/sh\nmkdir busy || { touch overlapped; exit 9; }\nsleep 0.05\nrmdir busy\nprintf -- '---\\nstatus: more\\n---\\n'\n";
    world.script("agent.sh", body);
    let mut threads = vec![first, second];
    threads.extend((0..3).map(|_| world.start("again")));
    let calls: Vec<Child> = threads
        .iter()
        .map(|thread| world.spawn(&["thread", "step", thread, "--count", "2"]))
        .collect();
    for call in calls {
        ends(call).exits(0);
    }
    assert!(!world.project().join("overlapped").exists());
}

#[test]
fn branches_of_one_thread_do_not_wait_for_each_other() {
    let (world, thread) = branches::world("max: 2", 2);
    world.configure("workspace.mode", "shared");
    for file in ["wait-f0", "wait-f1"] {
        world.write(file, "");
    }
    let call = world.spawn(&["thread", "step", &thread]);
    wait_until("both work", || {
        ["at-work-f0", "at-work-f1"]
            .iter()
            .all(|file| world.project().join(file).exists())
    });
    for file in ["wait-f0", "wait-f1"] {
        std::fs::remove_file(world.project().join(file)).unwrap();
    }
    let done = ends(call).exits(0);
    assert!(!done.stderr.contains("works there"), "{}", done.stderr);
}
