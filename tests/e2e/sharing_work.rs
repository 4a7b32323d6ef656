//! Workers, and the next thread that is ready at the remote.

use std::net::TcpListener;
use std::process::Child;
use std::time::Duration;

use serde_json::json;

use crate::gates::{NOTE, at_work, close_gate, gated_agent, open_gate, runs, with_messages};
use crate::postgres::{new_schema, own_server};
use crate::postgres_admin::Admin;
use crate::processes::{self, signal};
use crate::sharing::{agree, at_remote, machine, machines_in, shared, with_server};
use crate::world::{AGAIN, World, is_soak, wait_until};

/// Answers of a thread of two steps.
const TWO_STEPS: &str =
    "roles:\n  writer:\n    - output: { status: more }\n    - output: { status: done }\n";

/// Starts a worker, and returns when it works on a thread.
fn worker_at_work(world: &World, args: &[&str]) -> Child {
    at_work(world, &[&["work"], args].concat())
}

#[test]
fn the_next_thread_is_one_that_nobody_works_on() {
    with_server(|server| {
        let [one, other] = &machines_in(server, &new_schema());
        let next = ["thread", "step", "--next"];
        other
            .uwf(&next)
            .exits(5)
            .says("no thread is ready at the remote")
            .says("uwf thread list --remote");
        let thread = one.start("again");
        one.uwf(&["push", &thread]).exits(0);
        let mut working = at_work(one, &["thread", "step", &thread]);
        other.uwf(&next).exits(5).says("no thread is ready");
        open_gate(one);
        assert!(working.wait().unwrap().success());
        let report = other.uwf(&next).exits(0).json();
        assert_eq!(report["thread"], json!(thread));
        // The lease has a new owner each time, also if this machine has stepped the thread before.
        for _ in 0..2 {
            let report = one.uwf(&next).exits(0).json();
            assert_eq!(report["thread"], json!(thread));
        }
        one.step(&thread).exits(0);
        assert_eq!([one, other].map(runs), [4, 1]);
    });
}

#[test]
fn a_worker_prints_no_heading_for_a_step_that_failed() {
    with_server(|server| {
        let [one, _] = &machines_in(server, &new_schema());
        let work = ["work", "--idle", "1s", "--format", "text"];
        let thread = one.start("again");
        one.uwf(&["push", &thread]).exits(0);
        one.scripted_agent("exit 3");
        let failed = one.uwf(&work).exits(3);
        assert_eq!(failed.stdout, "");
        failed.says(&format!("{thread} error: `writer` failed"));
        gated_agent(one, TWO_STEPS);
        let done = one.uwf(&work).exits(0).stdout;
        assert!(done.starts_with(&format!("{thread}:\n")), "{done}");
    });
}

#[test]
fn the_next_thread_is_none_at_work_here_though_its_lease_has_ended_in_an_outage() {
    with_server(|server| {
        let machines = machines_in(server, &new_schema());
        let [one, other] = &machines;
        one.configure("remote.lease", "1s");
        let thread = shared(&machines, "again");
        // A stopped process renews its lease as little as one that cannot reach the remote.
        let mut working = at_work(one, &["thread", "step", &thread]);
        signal("STOP", working.id());
        wait_until("the lease has ended", || {
            at_remote(other, &thread)["leftMs"].is_null()
        });
        let next = one.uwf(&["thread", "step", "--next"]).exits(5);
        next.says("no thread is ready");
        one.uwf(&["work", "--idle", "1s"]).exits(0);
        signal("CONT", working.id());
        wait_until("the lease is renewed", || {
            !at_remote(other, &thread)["leftMs"].is_null()
        });
        open_gate(one);
        assert!(working.wait().unwrap().success());
        agree(&machines, &thread, 1);
        assert_eq!(runs(one), 1, "the agent was not ended");
    });
}

#[test]
fn a_thread_with_a_label_goes_to_those_who_have_it() {
    with_server(|server| {
        let [one, other] = &machines_in(server, &new_schema());
        let thread = one.start("again");
        one.uwf(&["push", &thread, "--label", "gpu=yes"]).exits(0);
        let next = ["thread", "step", "--next"];
        other.uwf(&next).exits(5);
        other
            .uwf(&[&next[..], &["--label", "gpu=no"]].concat())
            .exits(5);
        other
            .uwf(&[&next[..], &["--label", "gpu"]].concat())
            .exits(2)
            .says("gpu=<value>");
        let report = other
            .uwf(&[&next[..], &["--label", "gpu=yes"]].concat())
            .exits(0);
        assert_eq!(report.json()["thread"], json!(thread));
        other
            .uwf(&["work", "--idle", "100ms", "--label", "gpu=no"])
            .exits(0)
            .says("0 steps done");
    });
}

#[test]
fn a_finished_step_that_waits_here_is_shared_first() {
    with_server(|server| {
        for next in [&["thread", "step", "--next"][..], &["work", "--idle", "1s"]] {
            let machines = machines_in(server, &new_schema());
            let [one, _] = &machines;
            let thread = shared(&machines, "again");
            processes::kill(at_work(one, &["thread", "step", &thread]));
            open_gate(one);
            wait_until("the agent has finished", || one.pending(&thread).is_some());
            one.wait_until_free(&thread);
            // The worker goes on with the thread, and is ended by its second step.
            one.write("answers.yaml", &NOTE.replace("note: n", "status: done"));
            one.uwf(next).exits(0);
            let steps = one.show(&thread)["steps"].as_u64().unwrap();
            assert_eq!(runs(one) as u64, steps, "no step was paid for twice");
            agree(&machines, &thread, runs(one));
        }
    });
}

#[test]
fn a_step_that_waits_is_kept_though_another_machine_has_ended_the_thread() {
    with_server(|server| {
        let machines = machines_in(server, &new_schema());
        let [one, other] = &machines;
        one.configure("remote.lease", "1s");
        let thread = shared(&machines, "again");
        processes::kill(at_work(one, &["thread", "step", &thread]));
        wait_until("the lease has ended", || {
            at_remote(other, &thread)["leftMs"].is_null()
        });
        other.write("answers.yaml", &NOTE.replace("note: n", "status: done"));
        other.step(&thread).exits(0);
        assert_eq!(at_remote(other, &thread)["status"], json!("ended"));
        open_gate(one);
        wait_until("the agent has finished", || one.pending(&thread).is_some());
        one.wait_until_free(&thread);
        let listed = one.uwf(&["thread", "list", "--remote", "--all"]).exits(0);
        assert_eq!(listed.json()[0]["waiting"], json!(true));
        let shares = format!("`uwf push {thread}` shares it");
        let fetched = one.uwf(&["fetch", &thread, "--format", "text"]).exits(5);
        assert!(fetched.stdout.contains(&shares), "{}", fetched.stdout);
        one.step(&thread).exits(7).says("is not in the thread");
        let kept = one.show(&thread)["refusedSteps"][0]["step"].clone();
        one.uwf(&["step", "read", kept.as_str().unwrap()]).exits(0);
    });
}

#[test]
fn workers_do_each_step_once() {
    with_server(|server| {
        let (count, threads) = if is_soak() { (8, 40) } else { (3, 6) };
        let schema = new_schema();
        let workers: Vec<World> = (0..count)
            .map(|_| {
                let world = machine(server, &schema, &AGAIN.replace('@', ""));
                gated_agent(&world, TWO_STEPS);
                world
            })
            .collect();
        let threads: Vec<String> = (0..threads).map(|_| workers[0].start("again")).collect();
        let named: Vec<&str> = threads.iter().map(String::as_str).collect();
        workers[0].uwf(&[&["push"], &named[..]].concat()).exits(0);
        let running = workers.iter();
        let running = running.map(|world| world.spawn(&["work", "--jobs", "2", "--idle", "4s"]));
        for mut worker in running.collect::<Vec<_>>() {
            assert!(worker.wait().unwrap().success());
        }
        let done: usize = workers.iter().map(runs).sum();
        assert_eq!(done, 2 * threads.len(), "each step was done once");
        let [one, other] = [&workers[0], &workers[1]];
        for thread in &threads {
            assert_eq!(at_remote(one, thread)["status"], json!("ended"));
            for world in [one, other] {
                world.uwf(&["fetch", thread]).exits(0);
                assert_eq!(world.show(thread)["status"], json!("completed"));
            }
        }
        one.uwf(&["remote", "verify"]).exits(0);
    });
}

#[test]
fn a_worker_that_is_told_to_stop_finishes_what_it_has_begun() {
    with_server(|server| {
        let machines = machines_in(server, &new_schema());
        let [one, other] = &machines;
        let thread = shared(&machines, "again");
        let mut worker = worker_at_work(other, &[]);
        signal("TERM", worker.id());
        one.step(&thread).exits(5).says("is busy");
        open_gate(other);
        assert_eq!(worker.wait().unwrap().code(), Some(0));
        agree(&machines, &thread, 1);
        assert_eq!(runs(other), 1, "it began nothing more");
    });
}

#[test]
fn a_worker_that_is_told_to_stop_before_the_server_has_answered_ends_cleanly() {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    let world = World::new();
    let url = format!("postgres://worker@127.0.0.1:{port}/uwf?sslmode=disable");
    world.configure("remote.url", &url);
    let mut worker = world.spawn(&["work"]);
    let silent = server.accept().unwrap();
    signal("TERM", worker.id());
    assert_eq!(worker.wait().unwrap().code(), Some(0));
    drop(silent);
}

#[test]
fn a_worker_that_is_told_to_stop_twice_ends_its_agents() {
    with_server(|server| {
        let machines = machines_in(server, &new_schema());
        let [one, other] = &machines;
        let thread = shared(&machines, "again");
        close_gate(other);
        let (mut worker, said) = with_messages(other, &["work"]);
        let agent = other.agent_at_work(&thread);
        signal("TERM", worker.id());
        // Two signals that wait at once are one.
        wait_until("the first one came", || said().contains("told to stop"));
        signal("TERM", worker.id());
        let code = worker.wait().unwrap().code();
        assert_eq!(code, Some(143));
        wait_until("the agent has ended", || !processes::is_running(agent));
        one.step(&thread).exits(0);
        agree(&machines, &thread, 1);
    });
}

#[test]
fn a_worker_that_is_killed_loses_no_step() {
    with_server(|server| {
        let machines = machines_in(server, &new_schema());
        let [_, other] = &machines;
        let thread = shared(&machines, "again");
        processes::kill(worker_at_work(other, &[]));
        open_gate(other);
        wait_until("the step is done", || other.show(&thread)["steps"] == 1);
        other.wait_until_free(&thread);
        agree(&machines, &thread, 1);
        assert_eq!(runs(other), 1);
    });
}

#[test]
fn a_worker_whose_steps_all_fail_ends_and_says_so() {
    with_server(|server| {
        let machines = machines_in(server, &new_schema());
        let [one, other] = &machines;
        let threads = [(); 3].map(|()| shared(&machines, "again"));
        other.scripted_agent("echo \"$2\" >> failed; exit 9");
        other
            .uwf(&["work", "--max-failures", "2"])
            .exits(3)
            .says("0 steps done, 2 failed");
        // What fails here is left to others.
        let free = threads.iter().map(|thread| at_remote(one, thread));
        assert!(free.into_iter().all(|thread| thread["leftMs"].is_null()));
        one.uwf(&["thread", "step", "--next"]).exits(0);
    });
}

#[test]
fn a_worker_that_leaves_a_failed_step_undone_says_so() {
    with_server(|server| {
        let machines = machines_in(server, &new_schema());
        let [one, other] = &machines;
        let thread = shared(&machines, "again");
        other.scripted_agent("exit 9");
        other
            .uwf(&["work", "--idle", "2s"])
            .exits(3)
            .says(&format!("thread `{thread}` is still ready at the remote"))
            .says("0 steps done, 1 failed");
        // If another machine ends it, nothing is left undone.
        other.scripted_agent(&format!(
            "touch {project}/failing; while [ -e {project}/wait ]; do sleep 0.02; done; exit 9",
            project = other.project().display()
        ));
        close_gate(other);
        let mut worker = other.spawn(&["work", "--idle", "3s"]);
        wait_until("the agent works", || {
            other.project().join("failing").exists()
        });
        open_gate(other);
        one.write("answers.yaml", &NOTE.replace("note: n", "status: done"));
        wait_until("the thread is free", || one.step(&thread).code == 0);
        assert_eq!(at_remote(one, &thread)["status"], json!("ended"));
        assert_eq!(worker.wait().unwrap().code(), Some(0));
    });
}

#[test]
fn a_worker_leaves_nothing_undone_that_another_machine_does() {
    with_server(|server| {
        let machines = machines_in(server, &new_schema());
        let [one, other] = &machines;
        let thread = shared(&machines, "again");
        other.scripted_agent(&format!(
            "touch {}/failing; exit 9",
            other.project().display()
        ));
        let mut worker = other.spawn(&["work", "--idle", "5s"]);
        wait_until("the step has failed", || {
            other.project().join("failing").exists() && at_remote(one, &thread)["leftMs"].is_null()
        });
        close_gate(one);
        let step = ["thread", "step", &thread];
        let mut working = one.spawn(&step);
        wait_until("the agent works", || {
            // For a moment the worker takes the thread again, finds that it leaves it to others, and gives it back.
            if let Some(ended) = working.try_wait().unwrap() {
                assert_eq!(ended.code(), Some(5));
                working = one.spawn(&step);
            }
            runs(one) == 1
        });
        assert_eq!(worker.wait().unwrap().code(), Some(0));
        open_gate(one);
        assert!(working.wait().unwrap().success());
    });
}

#[test]
fn a_worker_does_the_other_threads_if_one_is_damaged_at_the_remote() {
    with_server(|server| {
        let schema = new_schema();
        let machines = machines_in(server, &schema);
        let [one, other] = &machines;
        let damaged = shared(&machines, "again");
        let whole = shared(&machines, "again");
        Admin::new(&server.url()).run(&format!(
            "UPDATE {schema}.threads SET records = ARRAY['no record'::bytea] WHERE id = '{damaged}'"
        ));
        gated_agent(other, TWO_STEPS);
        let worker = other.uwf(&["work", "--idle", "4s"]);
        worker.exits(4).says("trying another thread");
        assert_eq!(at_remote(one, &whole)["status"], json!("ended"));
    });
}

#[test]
fn a_worker_names_what_it_leaves_undone_in_the_order_of_the_threads() {
    with_server(|server| {
        let machines = machines_in(server, &new_schema());
        let [_, other] = &machines;
        let threads = [(); 4].map(|()| shared(&machines, "again"));
        other.scripted_agent("exit 9");
        let said = other.uwf(&["work", "--idle", "2s"]).exits(3).stderr;
        let places = threads.map(|thread| said.find(&format!("thread `{thread}` is still ready")));
        assert!(places.iter().all(Option::is_some), "{said}");
        assert!(places.is_sorted(), "{said}");
    });
}

#[test]
fn a_worker_ends_although_a_thread_waits_for_its_next_attempt() {
    with_server(|server| {
        let machines = machines_in(server, &new_schema());
        let [_, other] = &machines;
        let thread = shared(&machines, "again");
        other.configure("agents.default.retry.max", "1");
        other.configure("agents.default.retry.backoff", "1h");
        other.configure("agents.default.retry.on", r#"["crash"]"#);
        other.scripted_agent("exit 9");
        other.step(&thread).exits(3);
        let mut worker = other.spawn(&["work", "--idle", "3s"]);
        wait_until("the worker has ended", || {
            worker.try_wait().unwrap().is_some()
        });
        let said = worker.wait_with_output().unwrap();
        let stderr = String::from_utf8_lossy(&said.stderr);
        assert_eq!(said.status.code(), Some(0), "{stderr}");
    });
}

#[test]
fn a_worker_waits_for_a_server_that_is_away() {
    let Some(server) = own_server() else {
        return;
    };
    let machines = machines_in(&server, &new_schema());
    let [_, other] = &machines;
    let thread = shared(&machines, "again");
    let mut worker = worker_at_work(other, &["--idle", "3s"]);
    server.pause();
    close_gate(other);
    open_gate(other);
    assert_eq!(worker.wait().unwrap().code(), Some(5), "the remote is away");
    other
        .uwf(&["work", "--idle", "1s"])
        .exits(5)
        .says("cannot be reached");
    // A worker that comes while the server is away waits for it, too.
    other.write("answers.yaml", &NOTE.replace("note: n", "status: done"));
    let (mut late, said) = with_messages(other, &["work"]);
    wait_until("it waits", || said().contains("trying again"));
    assert!(late.try_wait().unwrap().is_none());
    server.resume();
    wait_until("the thread has ended", || {
        at_remote(other, &thread)["status"] == json!("ended")
    });
    signal("TERM", late.id());
    assert_eq!(late.wait().unwrap().code(), Some(0));
    assert_eq!(runs(other), 2, "no step was paid for twice");
    agree(&machines, &thread, 2);
}

#[test]
fn of_two_calls_on_one_machine_the_one_that_comes_late_leaves_the_lease_alone() {
    with_server(|server| {
        let machines = machines_in(server, &new_schema());
        let [one, _] = &machines;
        let count = one.dir().join("begun");
        let body = format!(
            "#!/bin/sh\necho >> {}\nsleep 0.4\nprintf -- '---\\nstatus: more\\n---\\n'\n",
            count.display()
        );
        let agent = one.script("slow.sh", &body);
        one.agent("uwf-command", &["--", agent.to_str().unwrap()]);
        let thread = shared(&machines, "again");
        for round in 0..8 {
            let next = one.spawn(&["thread", "step", "--next"]);
            std::thread::sleep(Duration::from_millis(12 * round));
            // It waits for the other one, so that no round is without a step.
            let named = one.spawn(&["thread", "step", &thread, "--wait"]);
            for call in [next, named] {
                let said = call.wait_with_output().unwrap();
                let said = String::from_utf8_lossy(&said.stderr).into_owned();
                assert!(!said.contains("another machine has"), "{said}");
            }
        }
        let begun = std::fs::read_to_string(&count).unwrap().lines().count();
        let steps = one.show(&thread)["steps"].as_u64().unwrap();
        assert_eq!(begun as u64, steps, "an agent was ended");
        assert!(steps >= 8, "{steps}");
    });
}
