//! Roots and remotes that were restored from an old backup. A machine that is only behind is not told that the thread went on in two
//! ways.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use crate::crash::sweep::kill_everywhere;
use crate::gates::{at_work, open_gate, runs};
use crate::postgres::{new_schema, own_server};
use crate::postgres_admin::Admin;
use crate::processes;
use crate::sharing::{agree, at_remote, failed_attempts, head, machines_in, shared, with_server};
use crate::sharing_place::Place;
use crate::world::{World, wait_until};

/// Returns where the copy of a root is kept.
pub(crate) fn backup(world: &World) -> PathBuf {
    world.dir().join("backup")
}

/// Keeps a copy of a root.
pub(crate) fn back_up(world: &World) {
    copy(&world.root(), &backup(world));
}

/// Gives a machine the root that was kept.
pub(crate) fn put_back(world: &World) {
    fs::remove_dir_all(world.root()).unwrap();
    copy(&backup(world), &world.root());
}

/// Copies a file, or a folder with all that is in it.
pub(crate) fn copy(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg("-a").args([from, to]).status();
    assert!(copied.unwrap().success());
}

/// Checks that a machine is behind, and that a push and a fetch say so and bring it up to date.
#[track_caller]
fn is_only_behind(world: &World, thread: &str) {
    let before = at_remote(world, thread)["head"].clone();
    let pushed = world.uwf(&["push", thread]).exits(0).json();
    assert_eq!(pushed[0]["outcome"], json!("behind"), "{pushed}");
    assert_eq!(at_remote(world, thread)["head"], before);
    let said = world.uwf(&["push", thread, "--format", "text"]).exits(0);
    assert!(said.stdout.contains(&format!("`uwf fetch {thread}`")));
    let fetched = world.uwf(&["fetch", thread]).exits(0).json();
    assert_eq!(fetched[0]["outcome"], json!("fastForwarded"), "{fetched}");
    assert_eq!(json!(head(world, thread)), before);
}

#[test]
fn a_root_from_before_the_first_push_is_only_behind() {
    with_server(|server| {
        let machines = machines_in(server, &new_schema());
        let [one, _] = &machines;
        let thread = one.start("again");
        one.step(&thread).exits(0);
        back_up(one);
        // The remote gets several steps at once, so it never has the head of the copy.
        one.step(&thread).exits(0);
        one.step(&thread).exits(0);
        one.uwf(&["push", &thread]).exits(0);
        put_back(one);
        is_only_behind(one, &thread);
        agree(&machines, &thread, 3);
    });
}

#[test]
fn a_thread_that_a_person_kills_in_an_old_root_ends_for_all_machines() {
    with_server(|server| {
        let machines = machines_in(server, &new_schema());
        let [one, other] = &machines;
        let thread = one.start("again");
        one.step(&thread).exits(0);
        back_up(one);
        one.step(&thread).exits(0);
        one.uwf(&["push", &thread]).exits(0);
        put_back(one);
        one.uwf(&["thread", "kill", &thread]).exits(0);
        assert_eq!(at_remote(other, &thread)["status"], json!("ended"));
        other.uwf(&["fetch", &thread]).exits(0);
        assert_eq!(other.show(&thread)["status"], json!("cancelled"));
    });
}

#[test]
fn a_remote_from_an_old_backup_gets_the_lost_steps_again_and_nobody_has_diverged() {
    with_server(|server| {
        let place = Place::new(server);
        let ([one, other], thread) = (&place.machines, &place.thread);
        one.step(thread).exits(0);
        one.step(thread).exits(0);
        other.uwf(&["fetch", thread]).exits(0);
        one.step(thread).exits(0);
        // The backup has the start alone.
        place.run(
            "UPDATE @.threads SET head = (SELECT from_head FROM @.history ORDER BY version LIMIT 1)",
        );
        place.run("DELETE FROM @.history");
        let is_told = format!("`uwf push {thread}`");
        one.step(thread)
            .exits(1)
            .says("at the remote still at")
            .says(&is_told);
        let fetched = one.uwf(&["fetch", thread, "--format", "text"]).exits(0);
        assert!(fetched.stdout.contains(&is_told));
        let pushed = one.uwf(&["push", thread]).exits(0).json();
        assert_eq!(pushed[0]["outcome"], json!("forwarded"), "{pushed}");
        is_only_behind(other, thread);
        other.step(thread).exits(0);
        agree(&place.machines, thread, 4);
    });
}

#[test]
fn a_head_that_another_machine_moves_during_a_push_is_not_taken_for_another_way() {
    with_server(|server| {
        let place = Place::new(server);
        let ([one, other], thread) = (&place.machines, &place.thread);
        one.step(thread).exits(0);
        other.uwf(&["fetch", thread]).exits(0);
        one.step(thread).exits(0);
        place.run("CREATE TABLE @.newest AS SELECT head FROM @.threads");
        place.run(
            "UPDATE @.threads SET head = (SELECT from_head FROM @.history ORDER BY version LIMIT 1)",
        );
        place.run("DELETE FROM @.history");
        // Another machine moves the head, and the push has seen the one before.
        let admin = Admin::new(&server.url());
        place.run("BEGIN; UPDATE @.threads SET head = (SELECT head FROM @.newest)");
        let mut push = other.spawn(&["push", thread]);
        let waiting = format!(
            "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%\"{}\".threads%'",
            place.schema
        );
        wait_until("the push waits", || admin.row(&waiting) == "1");
        place.run("COMMIT");
        assert_eq!(push.wait().unwrap().code(), Some(5));
        is_only_behind(other, thread);
    });
}

#[test]
fn an_end_that_a_remote_from_an_old_backup_has_forgotten_is_told_again() {
    with_server(|server| {
        let place = Place::new(server);
        let ([one, other], thread) = (&place.machines, &place.thread);
        one.step(thread).exits(0);
        one.uwf(&["thread", "kill", thread]).exits(0);
        place.run("UPDATE @.threads SET status = 'ready'");
        other.step(thread).exits(0);
        one.uwf(&["fetch", thread])
            .exits(1)
            .says("was ended here, and the other machines do not know it yet")
            .says(&format!("`uwf push {thread}` tells them"));
        one.uwf(&["push", thread]).exits(0);
        assert_eq!(at_remote(one, thread)["status"], json!("ended"));
        for world in [one, other] {
            world.uwf(&["fetch", thread]).exits(0);
        }
        assert_eq!(head(one, thread), head(other, thread));
    });
}

#[test]
fn a_root_that_lost_the_records_of_what_is_shared_asks_the_remote_before_it_does_a_step() {
    with_server(|server| {
        let machines = machines_in(server, &new_schema());
        let [one, other] = &machines;
        let (thread, second) = (shared(&machines, "again"), shared(&machines, "again"));
        let own = one.start("again");
        other.step(&thread).exits(0);
        let before = runs(one);
        fs::remove_dir_all(one.root().join("shared")).unwrap();
        one.step(&thread).exits(0);
        agree(&machines, &thread, 2);
        // Every thread has its record again, and a step asks no more.
        other.step(&second).exits(0);
        one.step(&second).exits(0);
        agree(&machines, &second, 2);
        one.step(&own).exits(0);
        assert_eq!(runs(one), before + 3);
    });
}

#[test]
fn a_root_that_lost_these_records_does_no_step_of_its_own_wherever_a_call_is_killed() {
    with_server(|server| {
        let machines = machines_in(server, &new_schema());
        let [one, other] = &machines;
        let (thread, second) = (shared(&machines, "again"), shared(&machines, "again"));
        fs::remove_dir_all(one.root().join("shared")).unwrap();
        other.step(&second).exits(0);
        kill_everywhere(one, &["fetch", &thread], " fetch ", |traced| {
            let call = &traced.killed().unwrap().call;
            one.step(&second).exits(0);
            assert_eq!(
                json!(head(one, &second)),
                at_remote(other, &second)["head"],
                "{call}"
            );
        });
    });
}

#[test]
fn a_remote_that_forgot_a_step_that_was_done_again_is_only_behind() {
    with_server(|server| {
        let place = Place::new(server);
        let [one, other] = &place.machines;
        let thread = &place.thread;
        one.step(thread).exits(0);
        place.run("CREATE TABLE @.kept AS SELECT * FROM @.threads; CREATE TABLE @.kept_history AS SELECT * FROM @.history");
        one.uwf(&["thread", "poke", thread, "-p", "better"])
            .exits(0);
        place.run(
            "DELETE FROM @.threads; INSERT INTO @.threads SELECT * FROM @.kept; \
             DELETE FROM @.history; INSERT INTO @.history SELECT * FROM @.kept_history",
        );
        one.step(thread)
            .exits(1)
            .says(&format!("uwf push {thread}"));
        let pushed = one.uwf(&["push", thread]).exits(0).json();
        assert_eq!(pushed[0]["outcome"], json!("forwarded"), "{pushed}");
        one.step(thread).exits(0);
        other.uwf(&["fetch", thread]).exits(0);
        agree(&place.machines, thread, 2);
    });
}

#[test]
fn a_root_from_before_a_thread_was_pushed_takes_its_lease() {
    with_server(|server| {
        let machines = machines_in(server, &new_schema());
        let [one, other] = &machines;
        let thread = one.start("again");
        one.step(&thread).exits(0);
        back_up(one);
        one.uwf(&["push", &thread]).exits(0);
        other.uwf(&["fetch", &thread]).exits(0);
        put_back(one);
        let mut working = at_work(other, &["thread", "step", &thread]);
        one.step(&thread).exits(5).says("is busy");
        open_gate(other);
        assert!(working.wait().unwrap().success());
        one.step(&thread).exits(0);
        agree(&machines, &thread, 3);
    });
}

#[test]
fn whatever_the_first_call_of_a_restored_root_is_it_knows_what_is_shared() {
    with_server(|server| {
        let machines = machines_in(server, &new_schema());
        let [one, other] = &machines;
        let threads = [(); 3].map(|()| one.start("again"));
        let [killed, migrated, ended] = &threads;
        back_up(one);
        for thread in &threads {
            one.uwf(&["push", thread]).exits(0);
        }
        put_back(one);
        one.uwf(&["thread", "migrate", migrated, "again"])
            .exits(1)
            .says("would change it only here");
        put_back(one);
        one.uwf(&["thread", "kill", killed]).exits(0);
        assert_eq!(at_remote(other, killed)["status"], json!("ended"));
        // An imported thread may be shared by others, too.
        let bundle = one.dir().join("bundle");
        let bundle = bundle.to_str().unwrap();
        one.uwf(&["thread", "export", ended, "-o", bundle]).exits(0);
        one.uwf(&["thread", "rm", "--force", ended]).exits(0);
        one.uwf(&["thread", "import", bundle]).exits(0);
        let marks = || fs::read_dir(one.root().join("shared")).unwrap().count();
        let before = marks();
        one.step(ended).exits(0);
        assert!(marks() > before, "it has its record again");
        assert_eq!(at_remote(other, ended)["head"], json!(head(one, ended)));
    });
}

#[test]
fn a_kill_in_a_restored_root_counts_when_the_remote_can_be_asked_again() {
    let Some(server) = own_server() else {
        return;
    };
    let machines = machines_in(&server, &new_schema());
    let [one, other] = &machines;
    let (thread, own) = (one.start("again"), one.start("again"));
    back_up(one);
    one.uwf(&["push", &thread]).exits(0);
    put_back(one);
    server.pause();
    one.step(&thread)
        .exits(5)
        .says(&format!("not known whether thread `{thread}` is shared"));
    for thread in [&thread, &own] {
        one.uwf(&["thread", "kill", thread])
            .exits(0)
            .says("the other machines do not know it yet");
    }
    server.resume();
    one.uwf(&["fetch"]);
    assert_eq!(one.show(&own)["endNotTold"], json!(null));
    one.uwf(&["push", &thread]).exits(0);
    assert_eq!(at_remote(other, &thread)["status"], json!("ended"));
    other.uwf(&["fetch", &thread]).exits(0);
    assert_eq!(other.show(&thread)["status"], json!("cancelled"));
}

/// Lets a machine finish a step that waits, keeps a copy of its root, and shares the step. Then the machine gets the copy, in which the
/// step still waits. Returns the step.
fn waits_again(world: &World, thread: &str) -> String {
    processes::kill(at_work(world, &["thread", "step", thread]));
    open_gate(world);
    wait_until("the agent has finished", || world.pending(thread).is_some());
    world.wait_until_free(thread);
    back_up(world);
    world.uwf(&["push", thread]).exits(0);
    let step = head(world, thread);
    put_back(world);
    step
}

#[test]
fn a_step_that_the_remote_has_is_not_counted_again_when_its_thread_is_killed() {
    with_server(|server| {
        let machines = machines_in(server, &new_schema());
        let [one, other] = &machines;
        let thread = shared(&machines, "again");
        let step = waits_again(one, &thread);
        one.uwf(&["thread", "kill", &thread]).exits(0);
        other.uwf(&["fetch", &thread]).exits(0);
        for world in &machines {
            assert_eq!(head(world, &thread), step);
            let shown = world.show(&thread);
            assert_eq!(shown["status"], json!("cancelled"));
            assert_eq!(shown["usage"]["runs"], json!(1), "{shown}");
            assert_eq!(failed_attempts(world, &thread), 0);
            let listed = world.uwf(&["thread", "list", "--all"]).exits(0).json();
            assert_eq!(listed[0]["steps"], json!(1), "{listed}");
            assert_eq!(listed[0]["usage"]["runs"], json!(1), "{listed}");
        }
        assert_eq!(runs(one), 1);
    });
}

#[test]
fn a_step_that_others_did_again_is_not_counted_again_where_it_waits() {
    with_server(|server| {
        let machines = machines_in(server, &new_schema());
        let [one, other] = &machines;
        let thread = shared(&machines, "again");
        waits_again(one, &thread);
        other.uwf(&["fetch", &thread]).exits(0);
        other
            .uwf(&["thread", "poke", &thread, "-p", "better"])
            .exits(0);
        one.step(&thread).exits(0);
        other.uwf(&["fetch", &thread]).exits(0);
        for world in &machines {
            let shown = world.show(&thread);
            assert_eq!(shown["attempts"], json!([]), "{shown}");
            // The one that was replaced, the one in its place, and the last.
            assert_eq!(shown["usage"]["runs"], json!(3), "{shown}");
        }
        assert_eq!([one, other].map(runs), [2, 1]);
    });
}

#[test]
fn a_remote_that_forgot_how_a_thread_was_completed_is_told_by_a_worker() {
    with_server(|server| {
        let place = Place::new(server);
        let ([one, other], thread) = (&place.machines, &place.thread);
        one.step(thread).exits(0);
        one.write(
            "answers.yaml",
            "roles:\n  writer:\n    - output: { status: done }\n",
        );
        one.step(thread).exits(0);
        assert_eq!(one.show(thread)["status"], json!("completed"));
        let last = "(SELECT from_head FROM @.history ORDER BY version DESC LIMIT 1)";
        place.run(&format!(
            "UPDATE @.threads SET status = 'ready', head = {last}"
        ));
        place.run(&format!("DELETE FROM @.history WHERE from_head = {last}"));
        let before = runs(one);
        one.uwf(&["work", "--idle", "1s"]).exits(0);
        assert_eq!(runs(one), before, "no agent was started");
        assert_eq!(at_remote(one, thread)["status"], json!("ended"));
        other.uwf(&["fetch", thread]).exits(0);
        assert_eq!(other.show(thread)["status"], json!("completed"));
        assert_eq!(head(one, thread), head(other, thread));
    });
}

#[test]
fn a_thread_that_is_damaged_at_the_remote_keeps_no_other_thread_of_a_restored_root_from_going_on() {
    with_server(|server| {
        let schema = new_schema();
        let machines = machines_in(server, &schema);
        let [one, other] = &machines;
        let [damaged, sound] = [shared(&machines, "again"), shared(&machines, "again")];
        fs::remove_dir_all(one.root().join("shared")).unwrap();
        Admin::new(&server.url()).run(&format!(
            "UPDATE {schema}.threads SET records = ARRAY['no record'::bytea] WHERE id = '{damaged}'"
        ));
        one.step(&sound).exits(0);
        agree(&machines, &sound, 1);
        // It is shared, so nobody steps it without the remote.
        one.step(&damaged).exits(4).says("makes no sense");
        assert_eq!(runs(one), 1);
        assert_eq!(runs(other), 0);
    });
}
