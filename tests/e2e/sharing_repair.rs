//! What a remote has lost, or has damaged, comes back from a machine that has it.

use serde_json::json;

use crate::postgres::new_schema;
use crate::postgres_admin::Admin;
use crate::sharing::{agree, as_worker, machines_in, shared, with_remote, with_server};
use crate::sharing_place::Place;
use crate::world::World;

#[test]
fn what_a_remote_lost_comes_back_from_a_machine_that_has_it() {
    with_server(|server| {
        let schema = new_schema();
        let machines = machines_in(server, &schema);
        let [one, _] = &machines;
        let thread = shared(&machines, "again");
        let sound = shared(&machines, "again");
        one.step(&thread).exits(0);
        let admin = Admin::new(&server.url());
        let run = |sql: &str| admin.run(&sql.replace('@', &schema));
        run(&format!(
            "UPDATE @.nodes SET payload = payload || ' ' WHERE hash = (SELECT head FROM @.threads WHERE id = '{thread}')"
        ));
        run(&format!(
            "DELETE FROM @.nodes WHERE hash IN (SELECT unnest(refs) FROM @.nodes WHERE hash = (SELECT head FROM @.threads WHERE id = '{thread}')) AND hash NOT IN (SELECT workflow FROM @.threads) AND hash NOT IN (SELECT to_head FROM @.history UNION SELECT from_head FROM @.history)"
        ));
        let stranger = World::new();
        with_remote(&stranger, server, &schema);
        stranger
            .uwf(&["fetch", &thread])
            .exits(4)
            .says("uwf remote verify");
        let verify = ["remote", "verify"];
        let found = one.uwf(&verify).exits(4).json();
        assert_eq!(found["neededByThreads"], json!([thread]), "{found}");
        let said = one.uwf(&["remote", "verify", "--format", "text"]).exits(4);
        assert!(said.stdout.contains(&thread), "{}", said.stdout);
        let next = "uwf remote verify --repair";
        assert!(said.stdout.contains(next), "{}", said.stdout);
        let repair = ["remote", "verify", "--repair"];
        let tried = stranger.uwf(&repair).exits(4).json();
        assert_eq!(tried["repaired"], json!(0), "{tried}");
        let repaired = one.uwf(&repair).exits(0).json();
        assert!(repaired["repaired"].as_u64() > Some(1), "{repaired}");
        stranger.uwf(&["fetch", &thread]).exits(0);
        agree(&machines, &thread, 1);
        agree(&machines, &sound, 0);
        assert_eq!(one.uwf(&repair).exits(0).json()["repaired"], json!(0));
    });
}

#[test]
fn a_worker_sends_what_is_missing_and_leaves_what_is_damaged_to_the_owner() {
    with_server(|server| {
        let schema = new_schema();
        let machines = machines_in(server, &schema);
        let [one, other] = &machines;
        let thread = shared(&machines, "again");
        other.step(&thread).exits(0);
        let admin = Admin::new(&server.url());
        as_worker(&machines[1], server, &schema);
        let run = |sql: &str| admin.run(&sql.replace('@', &schema));
        run(
            "UPDATE @.nodes SET payload = payload || ' ' WHERE hash IN (SELECT workflow FROM @.threads)",
        );
        run("DELETE FROM @.nodes WHERE hash IN (SELECT head FROM @.threads)");
        let repair = ["remote", "verify", "--repair"];
        let repaired = other.uwf(&repair).exits(4).json();
        assert_eq!(repaired["repaired"], json!(1), "{repaired}");
        assert_eq!(repaired["sent"], json!(1), "{repaired}");
        assert_eq!(repaired["needOwner"], json!(1), "{repaired}");
        let left = repaired["problems"].as_array().unwrap();
        assert_eq!(left.len(), 1, "{repaired}");
        assert_eq!(left[0]["verdict"], json!("corrupted"));
        let said = other.uwf(&[&repair[..], &["--format", "text"]].concat());
        let said = said.exits(4).stdout;
        assert!(said.contains("1 damaged node needs the owner"), "{said}");
        assert!(!said.contains("not whole on this machine"), "{said}");
        let as_owner = "as the owner: `uwf config set remote.url <url>`";
        assert!(said.contains(as_owner), "{said}");
        one.uwf(&["fetch", &thread]).exits(0);
        let whole = one.uwf(&repair).exits(0).json();
        assert_eq!(whole["repaired"], json!(1), "{whole}");
        assert_eq!(whole["replaced"], json!(1), "{whole}");
        assert!(whole["needOwner"].is_null(), "{whole}");
        agree(&machines, &thread, 1);
    });
}

#[test]
fn the_owner_repairs_from_a_bundle_what_only_the_machine_of_a_worker_has() {
    with_server(|server| {
        let schema = new_schema();
        let machines = machines_in(server, &schema);
        let [_, other] = &machines;
        let thread = shared(&machines, "again");
        as_worker(other, server, &schema);
        other.step(&thread).exits(0);
        let admin = Admin::new(&server.url());
        let damage = "UPDATE @.nodes SET payload = payload || ' ' WHERE hash IN (SELECT head FROM @.threads)";
        admin.run(&damage.replace('@', &schema));
        let repair = ["remote", "verify", "--repair", "--format", "text"];
        let said = other.uwf(&repair).exits(4).stdout;
        assert!(said.contains("`uwf thread export <thread>"), "{said}");
        let owner = World::new();
        with_remote(&owner, server, &schema);
        let said = owner.uwf(&repair).exits(4).stdout;
        let bring = "`uwf thread export` and `uwf thread import`";
        assert!(said.contains(bring), "{said}");
        let bundle = other.dir().join("thread.tar");
        let bundle = bundle.to_str().unwrap();
        let export = ["thread", "export", &thread, "-o", bundle];
        other.uwf(&export).exits(0);
        owner.uwf(&["thread", "import", bundle]).exits(0);
        owner.uwf(&repair).exits(0);
        agree(&machines, &thread, 1);
    });
}

/// Somebody has removed the row of a thread by hand.
#[test]
fn a_thread_about_which_something_senseless_is_stored_is_removed_and_shared_again() {
    with_server(|server| {
        let place = Place::new(server);
        let ([one, other], thread) = (&place.machines, &place.thread);
        one.step(thread).exits(0);
        other.uwf(&["fetch", thread]).exits(0);
        place.run("DELETE FROM @.threads");
        one.uwf(&["push", thread]).exits(0);
        place.remote_of(0, &["gc"]).exits(4).says("the rest");
        let verify = ["verify", "--repair", "--format", "text"];
        let said = place.remote_of(0, &verify).exits(4).stdout;
        let push = format!("`uwf push {thread}`");
        assert!(said.contains(&push), "{said}");
        let sql = said
            .split('`')
            .find(|one| one.starts_with("DELETE "))
            .unwrap();
        place.admin.run(sql);
        one.uwf(&["push", thread]).exits(0);
        place.remote_of(0, &["gc"]).exits(0);
        place.remote_of(1, &["verify"]).exits(0);
        other.step(thread).exits(0);
        agree(&place.machines, thread, 2);
    });
}
