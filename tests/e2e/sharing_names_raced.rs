//! Machines that share one name of a workflow at the same time.

use serde_json::json;

use crate::postgres::{Server, new_schema};
use crate::postgres_admin::Admin;
use crate::sharing::{machine, with_server};
use crate::world::{AGAIN, World, wait_until};

/// Lets the machines push the name at the same time: each has read what the name stands for before the first one sets it. Returns the
/// exit codes.
fn push_at_once(server: &Server, schema: &str, machines: &[World], args: &[&str]) -> Vec<i32> {
    let [holder, watcher] = [(); 2].map(|()| Admin::new(&server.url()));
    holder.run(&format!(
        "BEGIN; SELECT FROM \"{schema}\".names WHERE name = 'again' FOR UPDATE"
    ));
    let push = [&["push", "--workflow", "again"], args].concat();
    let pushes = machines.iter().map(|world| world.spawn(&push));
    let pushes: Vec<_> = pushes.collect();
    let waiting = format!(
        "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%\"{schema}\".names%'"
    );
    wait_until("all are about to set the name", || {
        watcher.row(&waiting) == machines.len().to_string()
    });
    holder.run("COMMIT");
    let ends = pushes.into_iter().map(|mut push| push.wait().unwrap());
    ends.map(|end| end.code().unwrap()).collect()
}

fn version(description: &str) -> String {
    AGAIN.replace('@', &format!("description: {description}"))
}

#[test]
fn a_forced_push_of_a_name_succeeds_beside_another_one() {
    with_server(|server| {
        let schema = new_schema();
        let machines = ["1", "2", "3"].map(|_| machine(server, &schema, &version("First")));
        machines[0].uwf(&["push", "--workflow", "again"]).exits(0);
        let hashes: Vec<_> = ["Second", "Third", "Fourth"]
            .iter()
            .zip(&machines)
            .map(|(description, world)| world.put(&version(description)))
            .collect();
        let codes = push_at_once(server, &schema, &machines, &["--force"]);
        assert_eq!(codes, [0; 3]);
        let fetch = ["fetch", "--workflow", "again", "--force"];
        let there = machines[0].uwf(&fetch).exits(0).json()[0]["hash"].clone();
        assert!(
            hashes.iter().any(|hash| json!(hash) == there),
            "one of them came last"
        );
        let versions = format!("SELECT version FROM \"{schema}\".names");
        assert_eq!(Admin::new(&server.url()).row(&versions), "4");
        // Without force, what another machine has set meanwhile is left alone.
        let fifth = machines.each_ref().map(|world| {
            world.uwf(&fetch).exits(0);
            world.put(&version(&world.dir().display().to_string()))
        });
        let mut codes = push_at_once(server, &schema, &machines, &[]);
        codes.sort_unstable();
        assert_eq!(codes, [0, 1, 1], "{fifth:?}");
    });
}

/// The name is compared before its nodes come, and again when it is registered.
#[test]
fn a_fetch_of_a_name_does_not_replace_what_was_registered_meanwhile() {
    with_server(|server| {
        let schema = new_schema();
        let [one, other] = ["1", "2"].map(|_| machine(server, &schema, &version("First")));
        let fetch = ["fetch", "--workflow", "again"];
        one.uwf(&["push", "--workflow", "again"]).exits(0);
        one.put(&version("Second"));
        one.uwf(&["push", "--workflow", "again"]).exits(0);
        let [holder, watcher] = [(); 2].map(|()| Admin::new(&server.url()));
        holder.run(&format!("BEGIN; LOCK TABLE \"{schema}\".nodes"));
        let mut fetching = other.spawn(&fetch);
        let waiting = format!(
            "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%\"{schema}\".nodes%'"
        );
        wait_until("the nodes are about to come", || {
            watcher.row(&waiting) == "1"
        });
        let meanwhile = other.put(&version("Mine"));
        holder.run("COMMIT");
        assert_eq!(fetching.wait().unwrap().code(), Some(1));
        let here = other.uwf(&["workflow", "list"]).exits(0).json();
        assert_eq!(here[0]["hash"], json!(meanwhile), "{here}");
        other
            .uwf(&fetch)
            .exits(1)
            .says(&format!("the name `again` stands for `{meanwhile}` here"));
        other
            .uwf(&["fetch", "--workflow", "again", "--force"])
            .exits(0);
    });
}
