//! The care for a remote: whether it is whole, its garbage, its roles, and leases of machines that are gone.

use serde_json::json;

use crate::gates::{at_work, open_gate, runs};
use crate::gc::text;
use crate::postgres::{USER, new_schema};
use crate::processes;
use crate::pty::Terminal;
use crate::sharing::{
    agree, as_worker, at_remote, head, machines_in, shared, with_remote, with_server,
};
use crate::sharing_place::Place;
use crate::world::{Run, World};

/// Stores a node that nothing needs.
fn litter(place: &Place) {
    place.run(
        "INSERT INTO @.nodes SELECT 77, type, payload, digest, stamp, '{}' FROM @.nodes LIMIT 1",
    );
}

fn litter_is_there(place: &Place) -> bool {
    place.count("nodes WHERE hash = 77") == "1"
}

#[test]
fn what_is_damaged_or_missing_at_the_remote_is_found() {
    with_server(|server| {
        let place = Place::new(server);
        let sound = place.remote_of(1, &["verify"]).exits(0).json();
        assert_eq!(sound["ok"], json!(true));
        assert_eq!(sound["threads"], json!(1));
        let head = head(&place.machines[0], &place.thread);
        place.run("UPDATE @.nodes SET payload = payload || ' ' WHERE hash IN (SELECT head FROM @.threads)");
        let damaged = place.remote_of(1, &["verify"]).exits(4).json();
        assert_eq!(damaged["ok"], json!(false));
        assert_eq!(damaged["problems"][0]["verdict"], json!("corrupted"));
        assert_eq!(damaged["problems"][0]["node"], json!(head));
        place.run("DELETE FROM @.nodes WHERE hash IN (SELECT head FROM @.threads)");
        let lacking = place.remote_of(1, &["verify"]).exits(4).json();
        assert_eq!(lacking["problems"][0]["thread"], json!(place.thread));
        assert_eq!(lacking["problems"][0]["missing"], json!([head]));
        let said = place
            .remote_of(1, &["verify", "--format", "text"])
            .exits(4)
            .stdout;
        assert!(said.contains("needs nodes that are missing"), "{said}");
        assert!(said.contains("1 problem"), "{said}");
    });
}

#[test]
fn garbage_of_the_remote_is_condemned_and_removed_later() {
    with_server(|server| {
        let place = Place::new(server);
        let collected = || place.remote_of(1, &["gc"]).exits(0).json();
        let kept = || place.remote_of(1, &["status"]).exits(0).json()["kept"].clone();
        let counts = |condemned, removed| json!({ "condemned": condemned, "reprieved": 0, "removed": removed });
        assert_eq!(collected(), counts(0, 0));
        let nodes = kept()["nodes"].as_u64().unwrap();
        litter(&place);
        let dry = place.remote_of(1, &["gc", "--dry-run"]).exits(0).json();
        assert_eq!(
            (&dry["condemned"], &dry["dryRun"]),
            (&json!(1), &json!(true))
        );
        assert_eq!(collected(), counts(1, 0));
        assert_eq!(collected(), counts(0, 0));
        assert!(litter_is_there(&place));
        assert_eq!(kept()["condemned"], json!(1));
        assert_eq!(kept()["byStatus"], json!({ "ready": 1 }));
        place.run("UPDATE @.nodes SET condemned_at = now() - interval '13 days' WHERE hash = 77");
        assert_eq!(collected(), counts(0, 0));
        let dry = ["gc", "--older-than", "12d", "--dry-run"];
        assert_eq!(
            place.remote_of(1, &dry).exits(0).json()["removed"],
            json!(1)
        );
        let sooner = place.remote_of(1, &["gc", "--older-than", "12d"]).exits(0);
        assert_eq!(sooner.json(), counts(0, 1));
        assert!(!litter_is_there(&place));
        assert_eq!(kept()["nodes"], json!(nodes));
        place.remote_of(1, &["verify"]).exits(0);
        place.machines[0].step(&place.thread).exits(0);
        agree(&place.machines, &place.thread, 1);
        place
            .remote_of(1, &["gc", "--older-than", "30m"])
            .exits(2)
            .says("at least 1h");
    });
}

#[test]
fn the_lease_of_a_machine_that_is_gone_is_ended_and_its_step_is_kept() {
    with_server(|server| {
        let place = Place::new(server);
        let [one, other] = &place.machines;
        let thread = &place.thread;
        let mut gone = at_work(one, &["thread", "step", thread]);
        other.step(thread).exits(5).says("uwf remote release");
        let released = place.remote_of(1, &["release", thread]).exits(0).json();
        assert_eq!(released["released"], json!(true));
        assert!(at_remote(other, thread)["leftMs"].is_null());
        other.step(thread).exits(0);
        open_gate(one);
        assert_eq!(gone.wait().unwrap().code(), Some(5));
        agree(&place.machines, thread, 1);
        let kept = text(&one.show(thread)["refusedSteps"][0]["step"]);
        one.uwf(&["thread", "fork", &kept]).exits(0);
        let again = place.remote_of(1, &["release", thread]).exits(0).json();
        assert_eq!(again, json!({ "thread": thread, "released": false }));
    });
}

#[test]
fn a_machine_whose_lease_was_ended_shares_its_step_later_if_no_other_one_has_gone_on() {
    with_server(|server| {
        let place = Place::new(server);
        let [one, _] = &place.machines;
        let thread = &place.thread;
        let working = at_work(one, &["thread", "step", thread]);
        place.remote_of(1, &["release", thread]).exits(0);
        open_gate(one);
        let said = Run::from(working.wait_with_output().unwrap()).exits(5);
        said.says("no longer leased to this machine")
            .says(&format!("`uwf push {thread}` shares what is finished here"));
        let waiting = text(&one.show(thread)["finishedStep"]);
        one.uwf(&["step", "read", &waiting]).exits(0);
        let pushed = one.uwf(&["push", thread]).exits(0).json();
        assert_eq!(pushed[0]["outcome"], json!("forwarded"), "{pushed}");
        assert_eq!(pushed[0]["head"], json!(waiting), "{pushed}");
        assert_eq!(runs(one), 1, "the step was not paid for twice");
        agree(&place.machines, thread, 1);
        for world in &place.machines {
            let shown = world.show(thread);
            let counted = (&shown["usage"]["runs"], &shown["refusedSteps"]);
            assert_eq!(counted, (&json!(1), &json!(null)), "{shown}");
        }
    });
}

#[test]
fn a_machine_keeps_its_lease_if_the_remote_does_not_take_its_step() {
    with_server(|server| {
        let place = Place::new(server);
        let [one, other] = &place.machines;
        let thread = &place.thread;
        let mut working = at_work(one, &["thread", "step", thread]);
        place.run("CREATE FUNCTION @.fails() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''no room''; END'");
        place.run("CREATE TRIGGER fails BEFORE INSERT ON @.nodes EXECUTE FUNCTION @.fails()");
        open_gate(one);
        assert_eq!(working.wait().unwrap().code(), Some(4));
        other.step(thread).exits(5).says("is busy");
        place.run("DROP TRIGGER fails ON @.nodes");
        let adopted = one.step(thread).exits(0).json();
        assert_eq!(adopted["adopted"], json!(true), "{adopted}");
        assert_eq!(runs(one), 1, "the step was not paid for twice");
        agree(&place.machines, thread, 1);
        other.step(thread).exits(0);
    });
}

#[test]
fn a_lease_is_ended_only_if_a_person_agrees() {
    with_server(|server| {
        let place = Place::new(server);
        let [one, other] = &place.machines;
        let thread = &place.thread;
        let mut working = at_work(one, &["thread", "step", thread]);
        let answers = |answer: &str| {
            let mut terminal = Terminal::start(other, &["remote", "release", thread], &[]);
            terminal.shows("End its lease?").types(answer);
            terminal.end()
        };
        answers("n")
            .exits(1)
            .says("was not ended")
            .says(&format!("uwf remote release --yes {thread}"));
        assert!(at_remote(other, thread)["leftMs"].is_u64());
        answers("y").exits(0);
        assert!(at_remote(other, thread)["leftMs"].is_null());
        open_gate(one);
        assert_eq!(working.wait().unwrap().code(), Some(5));
        let free = Terminal::start(other, &["remote", "release", thread], &[]);
        free.end().exits(0);
        place
            .remote_of(1, &["release", "01J7K9Z0000000000000000000"])
            .exits(1)
            .says("is not at the remote");
    });
}

#[test]
fn the_roles_may_do_what_they_are_for() {
    with_server(|server| {
        let place = Place::new(server);
        place.run(&place.remote_of(1, &["roles"]).exits(0).stdout);
        let may = |role: &str, sql: &str| {
            let sql = format!("SET ROLE {}_{role}; {sql}", place.schema);
            let is_allowed = place.admin.may(&sql.replace('@', &place.schema));
            place.admin.run("RESET ROLE");
            is_allowed
        };
        let release = "UPDATE @.threads SET fence = fence + 1, lease_owner = NULL";
        assert!(may("reader", "SELECT count(*) FROM @.nodes"));
        assert!(!may("reader", release));
        assert!(may("worker", release));
        assert!(!may("worker", "DELETE FROM @.nodes"));
    });
}

#[test]
fn a_push_that_is_refused_leaves_the_thread_as_it_was() {
    with_server(|server| {
        let place = Place::new(server);
        place.run(&place.remote_of(1, &["roles"]).exits(0).stdout);
        place.run("CREATE ROLE @_guest LOGIN; GRANT @_reader TO @_guest");
        let one = &place.machines[0];
        let guest = format!("//{}_guest@", place.schema);
        let url = server.url().replace(&format!("//{USER}@"), &guest);
        assert!(url.contains(&guest), "{url}");
        let thread = one.start("again");
        one.configure("remote.url", &url);
        one.uwf(&["push", &thread])
            .exits(1)
            .says("refuses this user");
        one.step(&thread).exits(0);
        one.configure("remote.url", &server.url());
        one.uwf(&["push", &thread]).exits(0);
        assert_eq!(at_remote(one, &thread)["head"], json!(head(one, &thread)));
    });
}

#[test]
fn a_worker_who_may_not_collect_garbage_condemns_nothing() {
    with_server(|server| {
        let place = Place::new(server);
        litter(&place);
        as_worker(&place.machines[1], server, &place.schema);
        place
            .remote_of(1, &["gc"])
            .exits(1)
            .says("only the owner of the schema")
            .says("with the address of the owner");
        assert_eq!(place.count("nodes WHERE condemned_at IS NOT NULL"), "0");
        let collected = place.remote_of(0, &["gc"]).exits(0).json();
        assert!(collected["condemned"].as_u64() > Some(0), "{collected}");
    });
}

#[test]
fn the_care_for_a_remote_needs_one() {
    let world = World::new();
    for args in [
        &["verify"][..],
        &["gc"],
        &["roles"],
        &["release", "01J7K9Z0000000000000000000"],
    ] {
        world
            .uwf(&[&["remote"], args].concat())
            .exits(1)
            .says("no remote is configured")
            .says("uwf remote add");
    }
}

#[test]
fn a_kill_ends_a_thread_for_all_machines_and_a_removal_only_forgets_it_here() {
    with_server(|server| {
        let machines = machines_in(server, &new_schema());
        let [one, other] = &machines;
        let thread = shared(&machines, "again");
        one.uwf(&["thread", "kill", &thread]).exits(0);
        // The head is the same here and there.
        let pushed = other.uwf(&["push", &thread]).exits(0).json();
        assert_eq!(pushed[0]["outcome"], json!("behind"), "{pushed}");
        other.step(&thread).exits(7);
        assert_eq!(other.show(&thread)["status"], json!("cancelled"));
        one.uwf(&["thread", "rm", &thread]).exits(0);
        let shared_here = one.root().join("shared").join(format!("{thread}.json"));
        assert!(!shared_here.exists());
        one.uwf(&["fetch", &thread]).exits(0);
        assert_eq!(one.show(&thread)["status"], json!("cancelled"));
    });
}

#[test]
fn a_kill_counts_although_another_machine_works_whose_step_is_kept() {
    with_server(|server| {
        let machines = machines_in(server, &new_schema());
        let [one, other] = &machines;
        let thread = shared(&machines, "again");
        let mut working = at_work(other, &["thread", "step", &thread]);
        let killed = one.uwf(&["thread", "kill", &thread]).exits(0);
        let says = format!("was at work on thread `{thread}`: its lease is ended");
        assert!(killed.stderr.contains(&says), "{}", killed.stderr);
        assert_eq!(at_remote(one, &thread)["status"], json!("ended"));
        open_gate(other);
        assert_eq!(working.wait().unwrap().code(), Some(7));
        for world in &machines {
            assert_eq!(world.show(&thread)["status"], json!("cancelled"));
        }
        other.step(&thread).exits(7);
        let kept = text(&other.show(&thread)["refusedSteps"][0]["step"]);
        other.uwf(&["thread", "fork", &kept]).exits(0);
        agree(&machines, &thread, 0);
    });
}

#[test]
fn a_kill_ends_the_agent_of_another_machine() {
    with_server(|server| {
        let machines = machines_in(server, &new_schema());
        let [one, other] = &machines;
        other.configure("remote.lease", "2s");
        let thread = shared(&machines, "again");
        let working = at_work(other, &["thread", "step", &thread]);
        let agent = other.agent_at_work(&thread);
        one.uwf(&["thread", "kill", &thread]).exits(0);
        let working = working.wait_with_output().unwrap();
        assert_eq!(working.status.code(), Some(7));
        let said = String::from_utf8_lossy(&working.stderr);
        assert!(
            said.contains(&format!("attempt 1 of thread {thread}")),
            "{said}"
        );
        assert!(!said.contains("thread list --remote"), "{said}");
        let attempts = other.state(&format!("runs/{thread}/attempts.jsonl"));
        assert!(
            attempts.contains("so the agent was ended: the thread has ended on another machine"),
            "{attempts}"
        );
        assert!(!processes::is_running(agent), "it works for nothing");
        assert_eq!(other.show(&thread)["status"], json!("cancelled"));
        agree(&machines, &thread, 0);
    });
}

#[test]
fn a_remote_that_is_chosen_anew_has_the_schema_that_the_call_names() {
    with_server(|server| {
        let world = World::new();
        with_remote(&world, server, &new_schema());
        let url = server.url();
        let added = world.uwf(&["remote", "add", &url]).exits(0).json();
        assert_eq!(added["schema"], json!("uwf"));
        let status = world.uwf(&["remote", "status"]).exits(0).json();
        assert_eq!(status["schema"], json!("uwf"), "{status}");
    });
}

/// Each statement is a round trip.
#[test]
fn a_step_changes_the_thread_at_the_remote_by_two_statements() {
    with_server(|server| {
        let place = Place::new(server);
        place.run("CREATE TABLE @.told (one int)");
        place.run(
            "CREATE FUNCTION @.tell() RETURNS trigger LANGUAGE plpgsql
             AS 'BEGIN INSERT INTO @.told VALUES (1); RETURN NULL; END'",
        );
        place.run("CREATE TRIGGER tell AFTER UPDATE ON @.threads EXECUTE FUNCTION @.tell()");
        let rounds = 2;
        for _ in 0..rounds {
            for machine in &place.machines {
                machine.step(&place.thread).exits(0);
            }
        }
        let steps = 2 * rounds;
        assert_eq!(place.count("told"), (2 * steps).to_string());
        let costs = place.machines.each_ref().map(|machine| {
            machine.uwf(&["fetch", &place.thread]).exits(0);
            machine.show(&place.thread)["usage"].clone()
        });
        assert_eq!(costs[0], costs[1]);
    });
}
