//! Threads that two machines work on, each with a root of its own, by a real PostgreSQL server.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::gates::{NOTE, at_work, gated_agent, open_gate, runs};
use crate::gc::text;
use crate::postgres::{self, Server, new_schema, own_server, server};
use crate::postgres_admin::Admin;
use crate::processes::{self, signal};
use crate::resumes;
use crate::world::{AGAIN, REVIEW, Run, World, is_soak, wait_until};

/// Answers for a role that works again and again.
pub(crate) const MORE: &str = "roles:\n  writer:\n    - output: { status: more }\n";

/// A machine whose root has a remote.
pub(crate) fn machine(server: &Server, schema: &str, workflow: &str) -> World {
    let world = World::new();
    world.put(workflow);
    with_remote(&world, server, schema);
    world
}

/// Gives the root of a machine a remote.
pub(crate) fn with_remote(world: &World, server: &Server, schema: &str) {
    let url = server.url();
    let add = ["remote", "add", &url, "--schema", schema];
    world.uwf(&add).exits(0);
}

/// Lets a machine use the remote as a worker, who may do less than the owner. Returns the name of its user.
pub(crate) fn as_worker(world: &World, server: &Server, schema: &str) -> String {
    as_user_with(world, server, schema, "worker")
}

/// Lets a machine only read the remote. Returns the name of its user.
pub(crate) fn as_reader(world: &World, server: &Server, schema: &str) -> String {
    as_user_with(world, server, schema, "reader")
}

/// Makes the roles of the remote, and a user with one of them for a machine.
fn as_user_with(world: &World, server: &Server, schema: &str, role: &str) -> String {
    let admin = Admin::new(&server.url());
    admin.run(&world.uwf(&["remote", "roles"]).exits(0).stdout);
    let user = format!("{schema}_machine");
    admin.run(&format!(
        "CREATE ROLE {user} LOGIN; GRANT {schema}_{role} TO {user}"
    ));
    let url = server
        .url()
        .replace(&format!("//{}@", postgres::USER), &format!("//{user}@"));
    world.configure("remote.url", &url);
    user
}

/// Two machines with one remote, and the agents for a role that works again and again.
fn machines(server: &Server) -> [World; 2] {
    machines_in(server, &new_schema())
}

/// The same, in a schema with this name.
pub(crate) fn machines_in(server: &Server, schema: &str) -> [World; 2] {
    [(); 2].map(|()| {
        let world = machine(server, schema, &AGAIN.replace('@', ""));
        gated_agent(&world, MORE);
        world
    })
}

/// Starts a thread on the first machine, and shares it with the second one.
pub(crate) fn shared([one, other]: &[World; 2], workflow: &str) -> String {
    let thread = one.start(workflow);
    one.uwf(&["push", &thread]).exits(0);
    other.uwf(&["fetch", &thread]).exits(0);
    thread
}

pub(crate) fn head(world: &World, thread: &str) -> String {
    text(&world.show(thread)["head"])
}

/// Returns the thread at the remote.
pub(crate) fn at_remote(world: &World, thread: &str) -> Value {
    let listed = world.uwf(&["thread", "list", "--remote", "--all"]);
    let listed = listed.exits(0).json();
    let mut threads = listed.as_array().unwrap().iter();
    threads
        .find(|one| one["thread"] == json!(thread))
        .unwrap()
        .clone()
}

/// Checks that both machines and the remote have one head, after this many steps, and that both stores are whole.
#[track_caller]
pub(crate) fn agree(machines: &[World; 2], thread: &str, steps: usize) {
    for world in machines {
        world.uwf(&["fetch", thread]).exits(0);
        world.uwf(&["cas", "verify"]).exits(0);
        let listed = world.uwf(&["thread", "steps", thread]).exits(0).json();
        assert_eq!(
            listed["steps"].as_array().map(Vec::len),
            Some(steps + 1),
            "{listed}"
        );
    }
    let [one, other] = machines.each_ref().map(|world| head(world, thread));
    assert_eq!(one, other);
    assert_eq!(at_remote(&machines[0], thread)["head"], json!(one));
}

/// Runs a test with the server that all tests share.
pub(crate) fn with_server(test: impl FnOnce(&Arc<Server>)) {
    if let Some(server) = server() {
        test(&server);
    }
}

#[test]
fn two_machines_step_one_thread_in_turn() {
    with_server(|server| {
        let machines = machines(server);
        let thread = shared(&machines, "again");
        let turns = if is_soak() { 100 } else { 6 };
        for _ in 0..turns {
            for world in &machines {
                world.step(&thread).exits(0);
            }
        }
        agree(&machines, &thread, 2 * turns);
        assert_eq!(machines.each_ref().map(runs), [turns, turns]);
    });
}

#[test]
fn a_thread_that_another_machine_works_on_is_busy() {
    with_server(|server| {
        let machines = machines(server);
        let [one, other] = &machines;
        let thread = shared(&machines, "again");
        let mut working = at_work(one, &["thread", "step", &thread]);
        other
            .step(&thread)
            .exits(5)
            .says("is busy: machine `")
            .says("works on it");
        assert_eq!(runs(other), 0);
        assert_eq!(at_remote(other, &thread)["status"], json!("ready"));
        assert!(at_remote(other, &thread)["leftMs"].as_u64().is_some());
        open_gate(one);
        assert!(working.wait().unwrap().success());
        other.step(&thread).exits(0);
        agree(&machines, &thread, 2);
    });
}

#[test]
fn a_machine_that_stops_loses_its_lease_and_its_step_is_kept_beside_the_thread() {
    with_server(|server| {
        let machines = machines(server);
        let [one, other] = &machines;
        one.configure("remote.lease", "1s");
        let thread = shared(&machines, "again");
        let mut stopped = at_work(one, &["thread", "step", &thread]);
        let agent = one.agent_at_work(&thread);
        signal("STOP", stopped.id());
        wait_until("the lease has ended", || {
            at_remote(other, &thread)["leftMs"].is_null()
        });
        other.step(&thread).exits(0);
        open_gate(one);
        wait_until("the agent has finished", || !processes::is_running(agent));
        signal("CONT", stopped.id());
        assert_eq!(stopped.wait().unwrap().code(), Some(5));
        agree(&machines, &thread, 1);
        let kept = text(&one.show(&thread)["refusedSteps"][0]["step"]);
        one.uwf(&["step", "read", &kept]).exits(0);
        // It was paid for, and counts on all machines.
        let runs = |machine: &World| {
            let cost = machine.uwf(&["thread", "cost", &thread]).exits(0).json();
            cost["total"]["runs"].clone()
        };
        assert_eq!(runs(one), json!(2));
        one.uwf(&["push", &thread]).exits(0);
        other.uwf(&["fetch", &thread]).exits(0);
        assert_eq!(runs(other), json!(2));
        one.uwf(&["thread", "fork", &kept]).exits(0);
    });
}

#[test]
fn an_agent_whose_thread_another_machine_took_over_is_ended() {
    with_server(|server| {
        let machines = machines(server);
        let [one, other] = &machines;
        one.configure("remote.lease", "2s");
        let thread = shared(&machines, "again");
        let mut working = at_work(one, &["thread", "step", &thread]);
        let agent = one.agent_at_work(&thread);
        other.uwf(&["remote", "release", &thread, "--yes"]).exits(0);
        other.step(&thread).exits(0);
        assert_eq!(working.wait().unwrap().code(), Some(5));
        assert!(!processes::is_running(agent), "it works for nothing");
        let attempts = one.state(&format!("runs/{thread}/attempts.jsonl"));
        assert!(
            attempts.contains("no longer has the lease of the thread"),
            "{attempts}"
        );
        open_gate(one);
        one.step(&thread).exits(0);
        agree(&machines, &thread, 2);
    });
}

#[test]
fn a_step_whose_engine_is_killed_is_shared_by_the_next_call() {
    with_server(|server| {
        let machines = machines(server);
        let [one, other] = &machines;
        let thread = shared(&machines, "again");
        let engine = at_work(one, &["thread", "step", &thread]);
        processes::kill(engine);
        open_gate(one);
        wait_until("the agent has finished", || one.pending(&thread).is_some());
        one.wait_until_free(&thread);
        other.step(&thread).exits(5).says("is busy");
        let adopted = one.step(&thread).exits(0).json();
        assert_eq!(adopted["adopted"], json!(true), "{adopted}");
        assert_eq!(runs(one), 1, "the step was not paid for twice");
        agree(&machines, &thread, 1);
        other.step(&thread).exits(0);
        agree(&machines, &thread, 2);
    });
}

#[test]
fn a_step_that_finds_no_server_is_kept_and_shared_when_there_is_one_again() {
    let Some(server) = own_server() else {
        return;
    };
    let machines = machines(&server);
    let [one, _] = &machines;
    let thread = shared(&machines, "again");
    let working = at_work(one, &["thread", "step", &thread]);
    server.pause();
    open_gate(one);
    Run::from(working.wait_with_output().unwrap())
        .exits(5)
        .says(&format!("a finished step of thread `{thread}` waits here"))
        .says("cannot be reached")
        .says(&format!("`uwf push {thread}` shares it"));
    one.step(&thread)
        .exits(5)
        .says("cannot be reached")
        .says("nothing is lost");
    server.resume();
    one.step(&thread).exits(0);
    assert_eq!(runs(one), 1, "the step was not paid for twice");
    agree(&machines, &thread, 1);
}

#[test]
fn a_server_that_is_killed_again_and_again_loses_no_step() {
    let Some(server) = own_server() else {
        return;
    };
    const STEPS: usize = 6;
    let machines = machines(&server);
    let thread = shared(&machines, "again");
    std::thread::scope(|scope| {
        let workers = machines.each_ref().map(|world| {
            let thread = &thread;
            scope.spawn(move || {
                let mut done = 0;
                while done < STEPS {
                    match world.step(thread).code {
                        0 => done += 1,
                        // The other machine works on it, or the server is away.
                        5 => std::thread::sleep(Duration::from_millis(20)),
                        code => panic!("exit {code}"),
                    }
                }
            })
        });
        while !workers
            .iter()
            .all(std::thread::ScopedJoinHandle::is_finished)
        {
            server.kill_and_start();
            std::thread::sleep(Duration::from_millis(700));
        }
    });
    let paid = machines.each_ref().map(runs).iter().sum();
    // A call that got no answer may have done a step, too.
    assert!(paid >= 2 * STEPS);
    // No step was paid for twice, and none is beside the thread.
    agree(&machines, &thread, paid);
}

#[test]
fn what_one_machine_asks_another_one_answers_and_the_end_is_that_of_all() {
    with_server(|server| {
        let schema = new_schema();
        let machines = [(); 2].map(|()| machine(server, &schema, REVIEW));
        let [one, other] = &machines;
        let script = "roles:\n  writer:\n    - output: { plan: p }\n    - output: { plan: better }\n  reviewer:\n    - output: { $status: ask, question: q }\n    - output: { $status: approved, summary: s }\n";
        for world in &machines {
            world.mock(script);
        }
        let thread = shared(&machines, "review");
        one.uwf(&["thread", "step", &thread, "-c", "2"]).exits(0);
        assert_eq!(at_remote(one, &thread)["status"], json!("suspended"));
        other.step(&thread).exits(6);
        other
            .uwf(&["thread", "resume", &thread, "-p", "yes"])
            .exits(0);
        assert_eq!(at_remote(one, &thread)["status"], json!("ended"));
        one.step(&thread).exits(7);
        assert_eq!(one.show(&thread)["status"], json!("completed"));
        agree(&machines, &thread, 3);
    });
}

#[test]
fn a_thread_that_has_ended_for_all_machines_is_not_taken_up_on_one() {
    with_server(|server| {
        let schema = new_schema();
        let world = machine(server, &schema, &resumes::again());
        world.mock(NOTE);
        let thread = world.start("again");
        world.uwf(&["push", &thread]).exits(0);
        world.step(&thread).exits(0);
        let resume = ["thread", "resume", &thread, "-p", "more"];
        world
            .uwf(&resume)
            .exits(1)
            .says("would change it only here")
            .says("uwf thread fork");
        assert_eq!(world.show(&thread)["status"], json!("completed"));
    });
}

#[test]
fn a_step_that_another_machine_did_again_takes_the_place_of_the_one_before() {
    with_server(|server| {
        let machines = machines(server);
        let [one, other] = &machines;
        let thread = shared(&machines, "again");
        one.step(&thread).exits(0);
        let replaced = head(one, &thread);
        other
            .uwf(&["thread", "poke", &thread, "-p", "better"])
            .exits(0);
        assert_ne!(head(other, &thread), replaced);
        one.step(&thread).exits(0);
        agree(&machines, &thread, 2);
        let uses = one.uwf(&["cas", "which", &replaced]).exits(0).stdout;
        assert!(uses.contains("replaced"), "{uses}");
    });
}

#[test]
fn a_thread_that_went_on_in_two_ways_is_not_mixed() {
    with_server(|server| {
        let machines = machines(server);
        let [one, other] = &machines;
        let thread = shared(&machines, "again");
        other.step(&thread).exits(0);
        // As if the first machine had been given back an older disk, on which the thread was not shared yet.
        std::fs::remove_file(one.root().join("shared").join(format!("{thread}.json"))).unwrap();
        one.step(&thread).exits(0);
        let here = head(one, &thread);
        one.uwf(&["push", &thread])
            .exits(1)
            .says("has gone on in two ways")
            .says(&format!("uwf thread fork {here}"));
        one.uwf(&["fetch", &thread])
            .exits(1)
            .says("has gone on in two ways");
        one.step(&thread).exits(1).says("has gone on in two ways");
        assert_eq!(head(one, &thread), here, "nothing of it is lost");
        assert_eq!(at_remote(one, &thread)["head"], json!(head(other, &thread)));
        assert!(
            at_remote(one, &thread)["leftMs"].is_null(),
            "the lease is given back"
        );
    });
}

/// Returns how many failed attempts of a thread are on record on a machine.
pub(crate) fn failed_attempts(world: &World, thread: &str) -> usize {
    let file = format!("runs/{thread}/attempts.jsonl");
    world.state(&file).lines().count()
}

#[test]
fn what_was_used_up_elsewhere_counts_also_when_a_step_is_set_aside() {
    let Some(server) = own_server() else {
        return;
    };
    let machines = machines(&server);
    let [one, other] = &machines;
    let thread = shared(&machines, "again");
    let mut working = at_work(one, &["thread", "step", &thread]);
    server.pause();
    open_gate(one);
    assert_eq!(working.wait().unwrap().code(), Some(5));
    server.resume();
    other.uwf(&["remote", "release", "--yes", &thread]).exits(0);
    other.scripted_agent("exit 9");
    other.step(&thread).exits(3);
    gated_agent(other, MORE);
    other.step(&thread).exits(0);
    // The step that it had finished does not follow the head, and it does another one.
    one.step(&thread).exits(0);
    assert_eq!(runs(one), 2);
    assert!(one.show(&thread)["refusedSteps"][0]["step"].is_string());
    // The one that failed elsewhere, and the one whose step is kept.
    assert_eq!(failed_attempts(one, &thread), 2);
    agree(&machines, &thread, 2);
}

#[test]
fn what_was_used_up_on_one_machine_counts_on_all() {
    with_server(|server| {
        let machines = machines(server);
        let [one, other] = &machines;
        let thread = shared(&machines, "again");
        one.write("answer.md", "There is more.");
        one.agent("uwf-command", &["--", "cat", "answer.md"]);
        one.configure("extract", "strict");
        one.step(&thread).exits(3);
        let raw = text(&one.show(&thread)["attempts"][0]["raw"]);
        let attempts = |world| failed_attempts(world, &thread);
        assert_eq!([one, other].map(attempts), [1, 0]);
        // What the record of the attempt names is sent by `push` and brought by `fetch`.
        let pushed = one.uwf(&["push", &thread]).exits(0).json();
        assert_eq!(pushed[0]["outcome"], json!("unchanged"), "{pushed}");
        other.uwf(&["fetch", &thread]).exits(0);
        assert_eq!([one, other].map(attempts), [1, 1]);
        other.uwf(&["cas", "get", &raw]).exits(0);
        other.step(&thread).exits(0);
        assert_eq!([one, other].map(attempts), [1, 1]);
    });
}

#[test]
fn a_thread_that_is_not_shared_asks_no_remote() {
    let Some(server) = own_server() else {
        return;
    };
    // `uwf remote add` has asked for what is shared.
    let world = machine(&server, &new_schema(), &AGAIN.replace('@', ""));
    gated_agent(&world, MORE);
    let shared_here = world.root().join("shared");
    let thread = world.start("again");
    // A call that asked would fail.
    server.pause();
    world.step(&thread).exits(0);
    let is_shared = || std::fs::read_dir(&shared_here).unwrap().count() > 1;
    assert!(!is_shared());
    let run: Run = world.uwf(&["push", &thread]);
    run.exits(5).says("cannot be reached");
    // It is shared only when the remote has it.
    assert!(!is_shared());
    world.step(&thread).exits(0);
}

#[test]
fn without_a_remote_the_commands_say_how_to_choose_one() {
    let world = World::new();
    world.put(&AGAIN.replace('@', ""));
    let thread = world.start("again");
    for args in [["push", &thread], ["fetch", &thread], ["remote", "status"]] {
        world
            .uwf(&args)
            .exits(1)
            .says("no remote is configured")
            .says("uwf remote add");
    }
    let record = "{\"remote\":\"r\",\"mark\":\"1\"}";
    std::fs::create_dir_all(world.root().join("shared")).unwrap();
    std::fs::write(world.root().join(format!("shared/{thread}.json")), record).unwrap();
    world
        .step(&thread)
        .exits(1)
        .says("is shared, and no remote is configured")
        .says(&format!("`uwf thread fork --thread {thread}`"));
    world
        .uwf(&["remote", "add", "postgres://u:secret@127.0.0.1/d"])
        .exits(1)
        .says("UWF_REMOTE_PASSWORD");
    world
        .uwf(&["remote", "add", "postgres://u@10.0.0.1/d?sslmode=disable"])
        .exits(1)
        .says("sslmode=disable");
}
