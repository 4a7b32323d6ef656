//! The labels of shared threads: what another push with a label changes, and who may do that.

use serde_json::json;

use crate::gates::runs;
use crate::postgres::new_schema;
use crate::postgres_admin::Admin;
use crate::sharing::{as_worker, at_remote, head, machines_in, with_server};
use crate::sharing_children::{BRANCHES, family, family_at_remote, machines, share};
use crate::world::wait_until;

const LABEL: [&str; 2] = ["--label", "gpu=yes"];

#[test]
fn children_that_are_only_at_the_remote_get_the_label_too() {
    with_server(|server| {
        let (machines, thread) = family(server, "workflow: ./middle.yaml");
        let [one, other] = &machines;
        share(&machines, &thread);
        // The second machine makes the child and that of the child.
        other.step(&thread).exits(0);
        assert_eq!(runs(other), 1);
        let labels = || {
            let all = family_at_remote(one, &thread).into_iter();
            all.map(|one| one["label"].clone()).collect::<Vec<_>>()
        };
        assert_eq!(labels(), [(); 3].map(|()| json!(null)));
        let pushed = one.uwf(&[&["push", &thread], &LABEL[..]].concat());
        let pushed = pushed.exits(0).json();
        assert_eq!(labels(), [(); 3].map(|()| json!("gpu=yes")), "{pushed}");
        assert_eq!(pushed[2]["thread"], json!(thread), "{pushed}");
        let pushed = one.uwf(&[&["push", &thread], &LABEL[..]].concat());
        let pushed = pushed.exits(0).json();
        assert_eq!(pushed.as_array().unwrap().len(), 1, "{pushed}");
        one.uwf(&["push", &thread, "--no-label", "--label", "gpu=no"])
            .exits(2);
        let pushed = one.uwf(&["push", &thread, "--no-label"]).exits(0).json();
        assert_eq!(labels(), [(); 3].map(|()| json!(null)), "{pushed}");
        assert_eq!(pushed[2]["relabelled"], json!(null), "{pushed}");
        assert_eq!(pushed[2]["unlabelled"], json!(true), "{pushed}");
        let again = one.uwf(&["push", &thread, "--no-label"]).exits(0).json();
        assert_eq!(again.as_array().unwrap().len(), 1, "{again}");
        assert_eq!(again[0]["unlabelled"], json!(null), "{again}");
    });
}

#[test]
fn children_get_the_label_though_others_have_gone_on_with_their_parent() {
    with_server(|server| {
        let machines = machines(server, BRANCHES);
        let [one, other] = &machines;
        let thread = one.start("outer");
        share(&machines, &thread);
        // The second machine makes the children for a step that the first one does not know.
        for _ in 0..2 {
            other.step(&thread).exits(0);
        }
        let pushed = one.uwf(&[&["push", &thread], &LABEL[..]].concat());
        let pushed = pushed.exits(0).json();
        let labels = family_at_remote(one, &thread).into_iter();
        let labels: Vec<_> = labels.map(|one| one["label"].clone()).collect();
        assert_eq!(labels, [(); 3].map(|()| json!("gpu=yes")), "{pushed}");
        assert_eq!(pushed[2]["outcome"], json!("unchanged"), "{pushed}");
        assert_eq!(head(one, &thread), head(other, &thread));
    });
}

#[test]
fn children_that_are_made_during_a_push_with_a_label_get_it() {
    with_server(|server| {
        let machines = machines(server, BRANCHES);
        let [one, other] = &machines;
        let thread = one.start("outer");
        one.step(&thread).exits(0);
        share(&machines, &thread);
        let schema = one.uwf(&["config", "get", "remote.schema"]).exits(0);
        let schema = schema.json()["value"].as_str().unwrap().to_owned();
        // The other machine has looked at the label, and cannot send the first nodes of the children yet.
        let [blocking, looking] = [(); 2].map(|()| Admin::new(&server.url()));
        let lock = format!("BEGIN; LOCK TABLE {schema}.nodes IN SHARE MODE");
        blocking.run(&lock);
        let mut making = other.spawn(&["thread", "step", &thread]);
        wait_until("the nodes wait for the lock", || {
            let waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = ";
            looking.row(&format!("{waiting}'{schema}.nodes'::regclass")) != "0"
        });
        let pushed = one.uwf(&[&["push", &thread], &LABEL[..]].concat());
        let pushed = pushed.exits(0).json();
        assert_eq!(pushed[0]["relabelled"], json!(true), "{pushed}");
        blocking.run("COMMIT");
        assert!(making.wait().unwrap().success());
        let labels = family_at_remote(one, &thread).into_iter();
        let labels: Vec<_> = labels.map(|one| one["label"].clone()).collect();
        assert_eq!(labels, [(); 3].map(|()| json!("gpu=yes")), "{pushed}");
    });
}

#[test]
fn children_that_a_call_put_there_before_it_failed_get_the_label_by_the_next_step() {
    with_server(|server| {
        let machines = machines(server, BRANCHES);
        let [one, other] = &machines;
        let thread = one.start("outer");
        one.step(&thread).exits(0);
        share(&machines, &thread);
        let schema = one.uwf(&["config", "get", "remote.schema"]).exits(0);
        let schema = schema.json()["value"].as_str().unwrap().to_owned();
        let admin = Admin::new(&server.url());
        // The first child gets there, and the second one does not.
        admin.run(&format!(
            "CREATE FUNCTION {schema}.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
               IF (SELECT count(*) FROM {schema}.threads) >= 2 THEN
                 RAISE insufficient_privilege;
               END IF;
               RETURN NEW;
             END $$;
             CREATE TRIGGER refuse BEFORE INSERT ON {schema}.threads
             FOR EACH ROW EXECUTE FUNCTION {schema}.refuse()"
        ));
        other.step(&thread).exits(1);
        assert_eq!(family_at_remote(one, &thread).len(), 2);
        admin.run(&format!("DROP TRIGGER refuse ON {schema}.threads"));
        // As a push did that had looked for the children before they were there.
        admin.run(&format!(
            "UPDATE {schema}.threads SET label = 'gpu=yes' WHERE id = '{thread}'"
        ));
        other.step(&thread).exits(0);
        let labels = family_at_remote(one, &thread).into_iter();
        let labels: Vec<_> = labels.map(|one| one["label"].clone()).collect();
        assert_eq!(labels, [(); 3].map(|()| json!("gpu=yes")));
    });
}

#[test]
fn who_may_not_change_a_label_is_told_what_was_pushed_and_what_to_do() {
    with_server(|server| {
        let schema = new_schema();
        let [one, owner] = &machines_in(server, &schema);
        let thread = one.start("again");
        one.uwf(&["push", &thread]).exits(0);
        as_worker(one, server, &schema);
        Admin::new(&server.url()).run(&format!(
            "REVOKE UPDATE (label) ON {schema}.threads FROM {schema}_worker"
        ));
        let push = [&["push", &thread], &LABEL[..]].concat();
        let refused = one.uwf(&push).exits(1);
        assert_eq!(refused.json()[0]["outcome"], json!("unchanged"));
        let said = refused.says(&format!("thread `{thread}` keeps its label"));
        said.says("uwf remote migrate");
        owner.uwf(&["remote", "migrate"]).exits(0);
        let pushed = one.uwf(&push).exits(0).json();
        assert_eq!(pushed[0]["relabelled"], json!(true), "{pushed}");
        assert_eq!(at_remote(owner, &thread)["label"], json!("gpu=yes"));
    });
}
