//! A worker and the finished steps that wait on its machine, because the lease was lost when they were finished.

use std::process::Child;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::gates::{NOTE, at_work, close_gate, open_gate, runs, with_messages};
use crate::postgres::new_schema;
use crate::postgres_admin::Admin;
use crate::processes::{self, signal};
use crate::sharing::{agree, as_worker, at_remote, machines_in, shared, with_server};
use crate::world::{World, wait_until};

/// How soon a worker shares a step: it asks every second or two. It leaves a busy thread alone for ten seconds.
const SOON: Duration = Duration::from_secs(9);

/// Starts a worker on the first machine, and ends the lease of the thread on which it works. The step that it is at ends the thread.
fn worker_without_a_lease([one, other]: &[World; 2], thread: &str) -> Child {
    one.write("answers.yaml", &NOTE.replace("note: n", "status: done"));
    let worker = at_work(one, &["work"]);
    let release = ["remote", "release", thread, "--yes"];
    other.uwf(&release).exits(0);
    worker
}

/// Lets the second machine work on the thread, whose agent fails when its gate is opened. Then the step of the first one is finished.
fn finished_while_the_other_is_at_work([one, other]: &[World; 2], thread: &str) -> Child {
    other.scripted_agent(&format!(
        "echo run >> {project}/runs; while [ -e {project}/wait ]; do sleep 0.02; done; exit 9",
        project = other.project().display()
    ));
    let working = at_work(other, &["thread", "step", thread]);
    open_gate(one);
    wait_until("the step is finished", || one.pending(thread).is_some());
    one.wait_until_free(thread);
    working
}

/// Waits until the thread has ended at the remote, and fails if that takes too long.
#[track_caller]
fn is_soon_shared([one, other]: &[World; 2], thread: &str) {
    let begun = Instant::now();
    wait_until("the step is shared", || {
        at_remote(other, thread)["status"] == json!("ended")
    });
    let took = begun.elapsed();
    assert!(took < SOON, "{took:?}");
    assert_eq!(runs(one), 1);
}

#[test]
fn a_worker_shares_a_step_at_once_whose_lease_was_ended() {
    with_server(|server| {
        let machines = machines_in(server, &new_schema());
        let [one, _] = &machines;
        let thread = shared(&machines, "again");
        let mut worker = worker_without_a_lease(&machines, &thread);
        open_gate(one);
        is_soon_shared(&machines, &thread);
        signal("TERM", worker.id());
        assert_eq!(worker.wait().unwrap().code(), Some(0));
    });
}

#[test]
fn a_worker_shares_a_step_that_waits_as_soon_as_its_thread_is_free() {
    with_server(|server| {
        let machines = machines_in(server, &new_schema());
        let [_, other] = &machines;
        let thread = shared(&machines, "again");
        let mut worker = worker_without_a_lease(&machines, &thread);
        let mut working = finished_while_the_other_is_at_work(&machines, &thread);
        open_gate(other);
        assert_eq!(working.wait().unwrap().code(), Some(3));
        is_soon_shared(&machines, &thread);
        signal("TERM", worker.id());
        assert_eq!(worker.wait().unwrap().code(), Some(0));
    });
}

#[test]
fn a_worker_finishes_its_step_and_ends_when_another_remote_is_chosen() {
    with_server(|server| {
        let machines = machines_in(server, &new_schema());
        let [one, _] = &machines;
        let thread = shared(&machines, "again");
        let worker = at_work(one, &["work", "--format", "json"]);
        let second = new_schema();
        one.uwf(&["remote", "add", &server.url(), "--schema", &second])
            .exits(0);
        open_gate(one);
        let ended = worker.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(1), "{said}");
        assert!(said.contains("no longer names the remote"), "{said}");
        assert_eq!(runs(one), 1, "{said}");
        assert_eq!(one.show(&thread)["steps"], json!(1), "{said}");
    });
}

#[test]
fn a_worker_that_is_told_to_stop_names_the_step_that_waits() {
    with_server(|server| {
        let machines = machines_in(server, &new_schema());
        let [one, other] = &machines;
        let thread = shared(&machines, "again");
        let worker = worker_without_a_lease(&machines, &thread);
        let mut working = finished_while_the_other_is_at_work(&machines, &thread);
        signal("TERM", worker.id());
        let said = worker.wait_with_output().unwrap();
        let stderr = String::from_utf8_lossy(&said.stderr);
        assert_eq!(said.status.code(), Some(0), "{stderr}");
        let waits = format!(
            "a finished step of thread `{thread}` still waits here: `uwf push {thread}` shares it"
        );
        assert_eq!(stderr.matches(&waits).count(), 1, "{stderr}");
        // The next worker begins with it.
        open_gate(other);
        assert_eq!(working.wait().unwrap().code(), Some(3));
        close_gate(one);
        one.uwf(&["work", "--idle", "0s"]).exits(0);
        assert_eq!(at_remote(other, &thread)["status"], json!("ended"));
        assert_eq!(runs(one), 1);
    });
}

#[test]
fn a_worker_that_the_remote_refuses_finishes_its_step_though_it_is_told_to_stop() {
    with_server(|server| {
        let schema = new_schema();
        let machines = machines_in(server, &schema);
        let [one, _] = &machines;
        let user = as_worker(one, server, &schema);
        let thread = shared(&machines, "again");
        let admin = Admin::new(&server.url());
        close_gate(one);
        let (mut worker, said) = with_messages(one, &["work", "--jobs", "2"]);
        wait_until("the agent works", || runs(one) == 1);
        admin.run(&format!("REVOKE {schema}_worker FROM {user}"));
        wait_until("it is told", || said().contains("nothing more is begun"));
        admin.run(&format!("GRANT {schema}_worker TO {user}"));
        signal("TERM", worker.id());
        wait_until("it is told to stop", || said().contains("told to stop"));
        open_gate(one);
        assert_eq!(worker.wait().unwrap().code(), Some(1), "{}", said());
        assert!(said().contains("error: the remote refuses this user"));
        agree(&machines, &thread, 1);
    });
}

#[test]
fn a_worker_without_a_remote_ends_though_several_steps_wait() {
    with_server(|server| {
        let machines = machines_in(server, &new_schema());
        let [one, _] = &machines;
        let threads = [(); 3].map(|()| shared(&machines, "again"));
        for thread in &threads {
            processes::kill(at_work(one, &["thread", "step", thread]));
            open_gate(one);
            wait_until("the agent has finished", || one.pending(thread).is_some());
            one.wait_until_free(thread);
        }
        one.configure("remote.url", "postgres://uwf@127.0.0.1:1/none");
        let work = ["work", "--idle", "1s"];
        let worker = one.uwf(&[&work[..], &["--format", "text"]].concat());
        let worker = worker
            .exits(5)
            .says("error: ")
            .says("hint: nothing is lost");
        let messages = one.uwf(&[&work[..], &["--format", "json"]].concat());
        messages.exits(5).says("\"exitCode\":5");
        for thread in &threads {
            assert!(
                worker
                    .stderr
                    .contains(&format!("`uwf push {thread}` shares it"))
            );
        }
        one.configure("remote.url", &server.url());
        for thread in &threads {
            one.uwf(&["push", thread]).exits(0);
            agree(&machines, thread, 1);
        }
    });
}
