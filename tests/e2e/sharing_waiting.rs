//! Finished steps that wait on a machine: what `push` and `fetch` make of them, and what they say.

use std::fs;
use std::process::Command;

use serde_json::json;

use crate::gates::{at_work, open_gate, runs};
use crate::gc::text;
use crate::postgres::{new_schema, own_server};
use crate::processes;
use crate::sharing::{agree, at_remote, head, machines_in, shared, with_server};
use crate::sharing_place::Place;
use crate::sharing_runs;
use crate::sharing_runs_played::with_child_begun;
use crate::world::{World, wait_until};

/// Lets an agent finish whose engine is killed. Its step waits on the machine then.
fn let_a_step_wait(world: &World, thread: &str) {
    processes::kill(at_work(world, &["thread", "step", thread]));
    open_gate(world);
    wait_until("the agent has finished", || world.pending(thread).is_some());
    world.wait_until_free(thread);
}

#[test]
fn a_push_shares_the_finished_step_that_waits_here() {
    with_server(|server| {
        let machines = machines_in(server, &new_schema());
        let [one, other] = &machines;
        let thread = shared(&machines, "again");
        let_a_step_wait(one, &thread);
        let fetched = one.uwf(&["fetch", &thread]).exits(0).json();
        assert!(fetched[0]["waitingStep"].is_string(), "{fetched}");
        let fetched = one.uwf(&["fetch", &thread, "--format", "text"]).exits(0);
        let shares = format!("`uwf push {thread}` shares it");
        assert!(fetched.stdout.contains(&shares), "{}", fetched.stdout);
        let pushed = one.uwf(&["push", &thread]).exits(0).json();
        assert_eq!(pushed[0]["outcome"], json!("forwarded"), "{pushed}");
        assert!(pushed[0]["nodes"].as_u64() > Some(0), "{pushed}");
        assert_eq!(runs(one), 1, "no agent was started");
        assert!(at_remote(other, &thread)["leftMs"].is_null());
        agree(&machines, &thread, 1);
        let pushed = one.uwf(&["push", &thread]).exits(0).json();
        assert_eq!(pushed[0]["outcome"], json!("unchanged"), "{pushed}");
    });
}

#[test]
fn a_push_shares_a_thread_with_the_finished_step_that_waits_here() {
    with_server(|server| {
        let [one, _] = &machines_in(server, &new_schema());
        let thread = one.start("again");
        let_a_step_wait(one, &thread);
        let pushed = one.uwf(&["push", &thread]).exits(0).json();
        assert_eq!(pushed[0]["outcome"], json!("shared"), "{pushed}");
        assert_eq!(one.show(&thread)["steps"], json!(1));
        assert_eq!(at_remote(one, &thread)["head"], json!(head(one, &thread)));
    });
}

/// A server that was restored from a backup does not know the thread, or its last steps.
#[test]
fn a_push_shares_the_waiting_step_of_a_thread_that_the_remote_has_lost() {
    with_server(|server| {
        for loses_all in [true, false] {
            let place = Place::new(server);
            let ([one, other], thread) = (&place.machines, &place.thread);
            let start = head(one, thread);
            one.step(thread).exits(0);
            let_a_step_wait(one, thread);
            place.run(match loses_all {
                true => "DELETE FROM @.threads",
                false => "UPDATE @.threads SET lease_owner = NULL, lease_until = NULL, head = (SELECT from_head FROM @.history ORDER BY version LIMIT 1)",
            });
            place.run("DELETE FROM @.history");
            let said = one.uwf(&["work", "--idle", "1s"]).exits(1);
            said.says(&format!("`uwf push {thread}` shares it"));
            let pushed = one.uwf(&["push", thread]).exits(0).json();
            let outcome = if loses_all { "shared" } else { "forwarded" };
            assert_eq!(pushed[0]["outcome"], json!(outcome), "{pushed}");
            assert_eq!(runs(one), 2, "no agent was started");
            assert_ne!(at_remote(one, thread)["head"], json!(start));
            assert_eq!(at_remote(one, thread)["status"], json!("ready"));
            other.step(thread).exits(0);
            agree(&place.machines, thread, 3);
        }
    });
}

/// The server was restored from a backup. The thread is shared again, and somebody ends it before the step comes.
#[test]
fn a_push_names_the_step_that_it_keeps_beside_a_thread_that_the_remote_had_lost() {
    with_server(|server| {
        let place = Place::new(server);
        let ([one, _], thread) = (&place.machines, &place.thread);
        one.step(thread).exits(0);
        let_a_step_wait(one, thread);
        place.run(
            "DELETE FROM @.threads; DELETE FROM @.history;
             CREATE FUNCTION @.ends() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.status = 'ended'; RETURN NEW; END $$;
             CREATE TRIGGER ends BEFORE INSERT ON @.threads FOR EACH ROW EXECUTE FUNCTION @.ends()",
        );
        let pushed = one.uwf(&["push", thread]).exits(0).json();
        let kept = one.show(thread)["refusedSteps"][0]["step"].clone();
        assert!(kept.is_string());
        assert_eq!(pushed[0]["kept"], kept, "{pushed}");
        assert_eq!(pushed[0]["outcome"], json!("shared"), "{pushed}");
    });
}

#[test]
fn a_push_says_that_a_step_waits_here_while_another_machine_works() {
    with_server(|server| {
        let machines = machines_in(server, &new_schema());
        let [one, other] = &machines;
        one.configure("remote.lease", "1s");
        let thread = shared(&machines, "again");
        let_a_step_wait(one, &thread);
        wait_until("the lease has ended", || {
            at_remote(other, &thread)["leftMs"].is_null()
        });
        let mut working = at_work(other, &["thread", "step", &thread]);
        one.uwf(&["push", &thread])
            .exits(5)
            .says("is busy: machine `")
            .says("is finished and waits here")
            .says(&format!("`uwf push {thread}` shares it"));
        open_gate(other);
        assert!(working.wait().unwrap().success());
        one.uwf(&["push", &thread])
            .exits(0)
            .says("is not in the thread: it is kept");
        let kept = text(&one.show(&thread)["refusedSteps"][0]["step"]);
        one.uwf(&["thread", "fork", &kept]).exits(0);
        agree(&machines, &thread, 1);
    });
}

#[test]
fn hooks_are_told_of_a_step_that_a_push_shared_when_the_thread_is_free() {
    with_server(|server| {
        let machines = machines_in(server, &new_schema());
        let [one, _] = &machines;
        let thread = shared(&machines, "again");
        let_a_step_wait(one, &thread);
        let said = one.dir().join("said");
        // A busy thread says so before its head is compared.
        let body = format!(
            "{} thread step \"$UWF_HOOK_THREAD\" --head 0000000000000 2> {}",
            crate::world::binary().display(),
            said.display()
        );
        let hook = one.script("hook.sh", &body);
        one.configure("hooks.step.command", hook.to_str().unwrap());
        one.uwf(&["push", &thread]).exits(0);
        let said = fs::read_to_string(said).unwrap();
        assert!(said.contains("nothing was done"), "{said}");
    });
}

#[test]
fn a_push_shares_the_steps_of_a_run_that_wait_here() {
    let Some(server) = own_server() else {
        return;
    };
    let machines = sharing_runs::machines(&server, &sharing_runs::pipeline(&["A", "B", "C"]));
    let [one, other] = &machines;
    let thread = sharing_runs::shared(&machines);
    let mut engine = sharing_runs::at_work(&machines, one, &["thread", "step", &thread]);
    server.pause();
    sharing_runs::open_gate(&machines);
    assert_eq!(engine.wait().unwrap().code(), Some(5));
    server.resume();
    let pushed = one.uwf(&["push", &thread]).exits(0).json();
    assert_eq!(pushed[0]["outcome"], json!("forwarded"), "{pushed}");
    assert_eq!(sharing_runs::done(&machines), "AB");
    assert!(at_remote(other, &thread)["leftMs"].is_null());
    sharing_runs::resume(other, &thread).exits(0);
    sharing_runs::agree_on(&machines, &thread, &["A", "B", "_resume", "C"]);
}

#[test]
fn a_push_sends_nothing_of_a_waiting_step_that_the_remote_has() {
    with_server(|server| {
        let machines = machines_in(server, &new_schema());
        let [one, _] = &machines;
        let thread = shared(&machines, "again");
        let_a_step_wait(one, &thread);
        // As if the call had died that had moved the head at the remote.
        let (root, kept) = (one.root(), one.dir().join("kept"));
        let copied = Command::new("cp").arg("-a").args([&root, &kept]).status();
        assert!(copied.unwrap().success());
        one.uwf(&["push", &thread]).exits(0);
        fs::remove_dir_all(&root).unwrap();
        fs::rename(&kept, &root).unwrap();
        assert!(one.pending(&thread).is_some());
        let pushed = one.uwf(&["push", &thread]).exits(0).json();
        assert_eq!(pushed[0]["outcome"], json!("unchanged"), "{pushed}");
        assert_eq!(pushed[0]["nodes"], json!(0), "{pushed}");
        agree(&machines, &thread, 1);
    });
}

#[test]
fn the_finished_step_of_a_child_is_named_when_its_run_is_ended() {
    with_server(|server| {
        for ends in [
            &["thread", "kill"][..],
            &["orchestrate", "clean", "--older-than", "0d"],
        ] {
            let (machines, thread, child) = with_child_begun(server);
            let one = &machines[0];
            let_a_step_wait(one, &child);
            let step = text(&one.pending(&child).unwrap()["step"]);
            let is_kill = ends[0] == "thread";
            let named: &[&str] = if is_kill { &[&thread] } else { &[] };
            let ended = one.uwf(&[ends, named].concat()).exits(0);
            let fork = format!("uwf thread fork {step}");
            if is_kill {
                let expected = json!([{ "thread": child, "step": step }]);
                assert_eq!(ended.json()["finishedBelow"], expected);
            } else {
                assert!(ended.stdout.contains(&child), "{}", ended.stdout);
                assert!(ended.stdout.contains(&fork), "{}", ended.stdout);
            }
            assert_eq!(one.show(&child)["status"], json!("cancelled"));
            one.uwf(&["thread", "fork", &step]).exits(0);
        }
    });
}

#[test]
fn a_worker_names_a_finished_step_that_it_cannot_share() {
    with_server(|server| {
        let machines = machines_in(server, &new_schema());
        let [one, other] = &machines;
        one.configure("remote.lease", "1s");
        let thread = shared(&machines, "again");
        processes::kill(at_work(one, &["thread", "step", &thread]));
        wait_until("the lease has ended", || {
            at_remote(other, &thread)["leftMs"].is_null()
        });
        let mut working = at_work(other, &["thread", "step", &thread]);
        open_gate(one);
        wait_until("the agent has finished", || one.pending(&thread).is_some());
        one.wait_until_free(&thread);
        one.uwf(&["work", "--idle", "1s"])
            .exits(5)
            .says(&format!("`uwf push {thread}` shares it"));
        open_gate(other);
        assert!(working.wait().unwrap().success());
        one.uwf(&["thread", "step", &thread]);
        let kept = one.show(&thread)["refusedSteps"].clone();
        assert_eq!(kept.as_array().map(Vec::len), Some(1), "{kept}");
        assert_eq!(
            runs(one) + runs(other),
            one.show(&thread)["usage"]["runs"].as_u64().unwrap() as usize
        );
    });
}

#[test]
fn a_step_that_waits_when_its_thread_is_killed_counts_when_the_remote_can_be_asked() {
    with_server(|server| {
        let machines = machines_in(server, &new_schema());
        let [one, other] = &machines;
        let thread = shared(&machines, "again");
        let_a_step_wait(one, &thread);
        one.configure("remote.url", "postgres://uwf@127.0.0.1:1/none");
        one.uwf(&["thread", "kill", &thread])
            .exits(0)
            .says("is finished and waits here");
        one.configure("remote.url", &server.url());
        let step = one.pending(&thread).unwrap()["step"].clone();
        let pushed = one.uwf(&["push", &thread]).exits(0).says("is kept").json();
        assert_eq!(pushed[0]["kept"], step, "{pushed}");
        other.uwf(&["fetch", &thread]).exits(0);
        for world in &machines {
            let shown = world.show(&thread);
            assert_eq!(shown["status"], json!("cancelled"));
            assert_eq!(shown["usage"]["runs"], json!(1), "{shown}");
        }
        assert!(one.pending(&thread).is_none());
        assert_eq!(runs(one), 1);
    });
}
