//! A user of the server who may only read: what would change a shared thread for all machines is refused, and changes nothing here.

use serde_json::json;

use crate::gates::{at_work, open_gate, runs};
use crate::postgres::new_schema;
use crate::sharing::{agree, as_reader, at_remote, machines_in, shared, with_server};

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
            said.says(&format!("GRANT {schema}_worker TO"));
            assert_eq!(other.show(&thread), before, "{command:?}");
        }
        assert_eq!(runs(other), 0);
        // These are about this machine only.
        other.uwf(&["thread", "pause", &thread]).exits(0);
        other.uwf(&["thread", "unpause", &thread]).exits(0);
        agree(&machines, &thread, 1);
    });
}
