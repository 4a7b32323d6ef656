//! What a finished step leaves running when its engine died: it is ended and named, or it may go on and keeps nobody out.

use std::fs;
use std::process::Child;

use serde_json::{Value, json};

use crate::gates::{close_gate, open_gate, runs, wait_for_ends};
use crate::processes::{self, is_running, signal};
use crate::trees::{LOOP, alive};
use crate::world::{World, binary, wait_until};

/// Starts a process that does not have the lock.
const WITHOUT_FILES: &str = "for fd in 3 4 5 6 7 8 9; do eval \"exec $fd>&-\"; done; setsid";

/// A world whose agent waits at the gate, answers with `again`, and leaves a process running that has the lock. `left`
/// is how the process is started.
fn leaver(left: &str) -> (World, String) {
    let world = World::new();
    world.put(LOOP);
    world.write(
        "answers.yaml",
        "roles:\n  writer:\n    - output: { $status: again }\n",
    );
    world.scripted_agent(&format!(
        "cd {project}\necho \"$2\" >> runs\n{left} sleep 1000 >/dev/null 2>&1 </dev/null &\n\
         while [ -e wait ]; do sleep 0.02; done\n{uwf} agent mock answers.yaml \"$@\"",
        project = world.project().display(),
        uwf = binary().display(),
    ));
    let thread = world.start("loop");
    (world, thread)
}

/// Runs a step whose engine is killed while its agent works; the agent finishes on its own.
pub(crate) fn finish_without_an_engine(world: &World, thread: &str) {
    close_gate(world);
    let engine = world.spawn(&["thread", "step", thread]);
    let agent = world.agent_at_work(thread);
    processes::kill(engine);
    world.step(thread).exits(5).says("busy");
    open_gate(world);
    wait_until("the agent has finished", || !is_running(agent));
    assert!(world.pending(thread).is_some());
}

fn end_all(world: &World) {
    for process in alive(world) {
        signal("KILL", process.split_whitespace().next().unwrap());
    }
    wait_until("nothing is left", || alive(world).is_empty());
}

#[test]
fn what_an_adopted_step_left_running_is_ended_and_named() {
    for left in ["setsid", WITHOUT_FILES] {
        let (world, thread) = leaver(left);
        finish_without_an_engine(&world, &thread);
        let shown = world.show(&thread);
        assert!(
            shown["orphans"][0]
                .as_str()
                .unwrap()
                .ends_with("`sleep 1000`"),
            "{shown}"
        );
        assert!(shown["finishedStep"].is_string(), "{shown}");
        let report = world.step(&thread).exits(0).json();
        assert_eq!(report["adopted"], json!(true));
        let named = report["leftRunning"].as_array().unwrap();
        assert_eq!(named.len(), 1, "{report}");
        assert!(named[0].as_str().unwrap().ends_with("`sleep 1000`"));
        assert_eq!(report["keptRunning"], Value::Null);
        assert_eq!(alive(&world), Vec::<String>::new());
        assert_eq!(runs(&world), 1);
    }
}

#[test]
fn what_an_adopted_step_left_running_is_ended_though_its_environment_is_empty() {
    let (world, thread) =
        leaver("setsid env -i PATH=\"$PATH\" sh -c 'echo $$ > left; exec \"$@\"' sh");
    finish_without_an_engine(&world, &thread);
    let left = fs::read_to_string(world.project().join("left")).unwrap();
    assert!(is_running(left.trim()));
    let report = world.step(&thread).exits(0).json();
    assert_eq!(
        report["leftRunning"],
        json!([format!("{} `sleep 1000`", left.trim())])
    );
    assert!(!is_running(left.trim()));
}

#[test]
fn who_reads_the_files_of_a_run_is_not_ended_with_what_it_left_running() {
    let (world, thread) = leaver("setsid");
    finish_without_an_engine(&world, &thread);
    let reader = processes::follow(&world.root().join("runs").join(&thread));
    let report = world.step(&thread).exits(0).json();
    assert_eq!(report["leftRunning"].as_array().unwrap().len(), 1);
    assert_eq!(alive(&world), Vec::<String>::new());
    assert!(is_running(reader.id()));
    processes::kill(reader);
}

#[test]
fn a_text_names_what_an_adopted_step_left_running() {
    let (world, thread) = leaver("setsid");
    finish_without_an_engine(&world, &thread);
    let step = world.uwf(&["thread", "step", &thread, "--format", "text"]);
    let text = step.exits(0).stdout;
    assert!(text.contains("finished earlier"), "{text}");
    assert!(text.contains("ended   left running: "), "{text}");
}

#[test]
fn what_may_go_on_does_not_keep_the_thread_busy_when_its_engine_died() {
    let (world, thread) = leaver("setsid");
    world.configure("agents.default.keepRunning", "true");
    for round in 1..=2 {
        finish_without_an_engine(&world, &thread);
        let report = world.step(&thread).exits(0).json();
        assert_eq!(report["adopted"], json!(true));
        assert_eq!(report["keptRunning"], json!(true));
        assert_eq!(report["leftRunning"].as_array().unwrap().len(), 1);
        assert_eq!(alive(&world).len(), round);
        assert_eq!(runs(&world), round);
        assert_eq!(world.show(&thread)["status"], json!("idle"));
    }
    end_all(&world);
}

#[test]
fn what_may_go_on_does_not_keep_the_slot_of_a_step_whose_engine_died() {
    let (world, thread) = leaver("setsid");
    world.configure("agents.default.keepRunning", "true");
    world.configure("agents.default.maxRunning", "1");
    finish_without_an_engine(&world, &thread);
    let other = world.start("loop");
    let full = world.uwf(&["thread", "step", &other, "--no-wait"]).exits(5);
    full.says(&thread);
    world.step(&thread).exits(0);
    world.uwf(&["thread", "step", &other, "--no-wait"]).exits(0);
    world
        .uwf(&["thread", "step", &thread, "--no-wait"])
        .exits(0);
    end_all(&world);
}

#[test]
fn work_that_is_not_finished_keeps_the_thread_busy_though_it_may_go_on() {
    let (world, thread) = leaver("setsid");
    world.configure("agents.default.keepRunning", "true");
    close_gate(&world);
    let engine = world.spawn(&["thread", "step", &thread]);
    let agent = world.agent_at_work(&thread);
    wait_until("the agent works", || runs(&world) == 1);
    processes::kill(engine);
    signal("KILL", agent);
    wait_until("the agent is gone", || !is_running(agent));
    world.step(&thread).exits(5).says("busy");
    assert_eq!(world.show(&thread)["status"], json!("running"));
    end_all(&world);
    open_gate(&world);
    world.step(&thread).exits(0);
    assert_eq!(runs(&world), 2);
    end_all(&world);
}

#[test]
fn of_twenty_calls_after_an_engine_died_exactly_one_adopts_and_nobody_runs_twice() {
    for keeps in ["true", "false"] {
        let (world, thread) = leaver("setsid");
        world.configure("agents.default.keepRunning", keeps);
        finish_without_an_engine(&world, &thread);
        close_gate(&world);
        let mut calls: Vec<Child> = (0..20)
            .map(|_| world.spawn(&["thread", "step", &thread]))
            .collect();
        // The call after the adopter runs the next step. It waits at the gate until all others have ended.
        wait_for_ends(&mut calls, 19);
        open_gate(&world);
        let ended = calls
            .into_iter()
            .map(|call| call.wait_with_output().unwrap());
        let ended: Vec<_> = ended.collect();
        let adopted = |output: &&std::process::Output| {
            String::from_utf8_lossy(&output.stdout).contains("\"adopted\":true")
        };
        assert_eq!(ended.iter().filter(adopted).count(), 1, "{ended:?}");
        let succeeded = ended.iter().filter(|output| output.status.success());
        // The run that was adopted is one of them.
        assert_eq!(succeeded.count(), runs(&world), "{ended:?}");
        assert!(runs(&world) <= 2, "{ended:?}");
        let refused = ended.iter().filter(|output| !output.status.success());
        for output in refused {
            assert_eq!(output.status.code(), Some(5), "{output:?}");
        }
        end_all(&world);
    }
}
