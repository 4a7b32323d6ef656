//! A user of the server who may only read: what would change a shared thread for all machines is refused, and changes nothing here.

use serde_json::json;

use crate::gates::{at_work, gated_agent, open_gate, runs};
use crate::postgres::{USER, new_schema};
use crate::postgres_admin::Admin;
use crate::sharing::{
    MORE, agree, as_reader, as_worker, at_remote, machine, machines_in, shared, with_server,
};
use crate::world::{AGAIN, World};

#[test]
fn the_kill_of_a_reader_is_refused_and_changes_nothing() {
    with_server(|server| {
        let schema = new_schema();
        let machines = machines_in(server, &schema);
        let [one, other] = &machines;
        let thread = shared(&machines, "again");
        as_reader(other, server, &schema);
        let mut working = at_work(one, &["thread", "step", &thread]);
        let before = other.show(&thread);
        for _ in 0..2 {
            let refused = other.uwf(&["thread", "kill", &thread]).exits(1);
            let said = refused.says(&format!(
                "thread `{thread}` goes on, here and at the remote"
            ));
            said.says("the remote refuses this user")
                .says("hint: this user may only read; ")
                .says(&format!("GRANT {schema}_worker TO"))
                .says(&format!("`uwf thread rm --force {thread}`"));
            assert_eq!(other.show(&thread), before);
        }
        assert!(at_remote(other, &thread)["leftMs"].as_u64().is_some());
        open_gate(one);
        assert!(working.wait().unwrap().success(), "its agent was not ended");
        agree(&machines, &thread, 1);
        one.uwf(&["thread", "kill", &thread]).exits(0);
        assert_eq!(at_remote(other, &thread)["status"], json!("ended"));
        // There is nothing to refuse, whether the end is known here or only there.
        for _ in 0..2 {
            other.uwf(&["thread", "kill", &thread]).exits(7);
        }
    });
}

#[test]
fn who_has_lost_all_rights_ends_no_thread_and_who_is_not_let_in_ends_it_here() {
    with_server(|server| {
        let schema = new_schema();
        let machines = machines_in(server, &schema);
        let [one, other] = &machines;
        let thread = shared(&machines, "again");
        let user = as_worker(other, server, &schema);
        let admin = Admin::new(&server.url());
        admin.run(&format!("REVOKE {schema}_worker FROM {user}"));
        other
            .uwf(&["thread", "kill", &thread])
            .exits(1)
            .says("goes on, here and at the remote");
        one.step(&thread).exits(0);
        admin.run(&format!("ALTER ROLE {user} NOLOGIN"));
        other
            .uwf(&["thread", "kill", &thread])
            .exits(0)
            .says("the other machines do not know it yet");
        admin.run(&format!(
            "ALTER ROLE {user} LOGIN; GRANT {schema}_worker TO {user}"
        ));
        other.uwf(&["push", &thread]).exits(0);
        assert_eq!(at_remote(one, &thread)["status"], json!("ended"));
    });
}

#[test]
fn a_reader_that_adds_the_remote_is_not_told_to_push() {
    with_server(|server| {
        let schema = new_schema();
        let machines = machines_in(server, &schema);
        let [one, other] = &machines;
        let thread = shared(&machines, "again");
        let add = |world: &World, url: &str| {
            let add = ["remote", "add", url, "--schema", &schema];
            let text = [&add[..], &["--format", "text"]].concat();
            let only_reads = world.uwf(&add).exits(0).json()["onlyReads"].clone();
            (only_reads, world.uwf(&text).exits(0).stdout)
        };
        let (only_reads, said) = add(one, &server.url());
        assert!(only_reads.is_null());
        assert!(said.contains("`uwf push <thread>` shares one"), "{said}");
        let user = as_reader(other, server, &schema);
        let url = server
            .url()
            .replace(&format!("//{USER}@"), &format!("//{user}@"));
        let (only_reads, said) = add(other, &url);
        assert_eq!(only_reads, json!(true));
        assert!(!said.contains("push"), "{said}");
        assert!(said.contains("`uwf fetch --all` brings them"), "{said}");
        let stranger = World::new();
        add(&stranger, &url);
        stranger.uwf(&["fetch", "--all"]).exits(0);
        assert_eq!(stranger.show(&thread)["shared"], json!(true));
    });
}

#[test]
fn a_limit_that_a_reader_raises_is_not_raised() {
    with_server(|server| {
        let schema = new_schema();
        let limited = AGAIN.replace('@', "limits: { maxSteps: 1 }");
        let machines = [(); 2].map(|()| {
            let world = machine(server, &schema, &limited);
            gated_agent(&world, MORE);
            world
        });
        let [one, other] = &machines;
        let thread = shared(&machines, "again");
        one.step(&thread).exits(0);
        other.uwf(&["fetch", &thread]).exits(0);
        as_reader(other, server, &schema);
        let before = other.show(&thread);
        assert_eq!(before["status"], json!("suspended"));
        let raise = ["thread", "resume", &thread, "--raise", "maxSteps=3"];
        let refused = other.uwf(&raise).exits(1);
        refused.says("the remote refuses this user");
        assert_eq!(other.show(&thread), before);
        assert_eq!(at_remote(one, &thread)["status"], json!("suspended"));
    });
}

#[test]
fn the_other_commands_of_a_reader_are_refused_in_the_same_way() {
    with_server(|server| {
        let schema = new_schema();
        let machines = machines_in(server, &schema);
        let [one, other] = &machines;
        let thread = shared(&machines, "again");
        one.step(&thread).exits(0);
        other.uwf(&["fetch", &thread]).exits(0);
        as_reader(other, server, &schema);
        let before = other.show(&thread);
        for command in [
            &["thread", "step", &thread][..],
            &["thread", "run", &thread],
            &["thread", "poke", &thread, "-p", "Better."],
        ] {
            let refused = other.uwf(command);
            assert_eq!(refused.code, 1, "{command:?}: {}", refused.stderr);
            let said = refused.says("the remote refuses this user");
            said.says("hint: this user may only read; ")
                .says(&format!("GRANT {schema}_worker TO"));
            assert_eq!(other.show(&thread), before, "{command:?}");
        }
        assert_eq!(runs(other), 0);
        // These are about this machine only.
        other.uwf(&["thread", "pause", &thread]).exits(0);
        other.uwf(&["thread", "unpause", &thread]).exits(0);
        agree(&machines, &thread, 1);
    });
}
