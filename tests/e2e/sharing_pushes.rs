//! Calls that send families to the remote, and find that others are in the way, or stop halfway.

use serde_json::{Value, json};

use crate::children_care::{ANSWERS, without_thread};
use crate::postgres::{Server, new_schema};
use crate::postgres_admin::Admin;
use crate::sharing::{with_remote, with_server};
use crate::sharing_children::{BRANCHES, agree, family_at_remote};
use crate::world::{Run, World, wait_until};

/// Two machines with one remote. The first one has a thread whose role two children play, which is not shared yet.
struct Family {
    machines: [World; 2],
    thread: String,
    schema: String,
    admin: Admin,
}

impl Family {
    /// The first steps are done. The second one makes the children.
    fn new(server: &Server, steps: usize) -> Self {
        let schema = new_schema();
        let machines = [(); 2].map(|()| {
            let world = without_thread(BRANCHES, ANSWERS);
            with_remote(&world, server, &schema);
            world
        });
        let thread = machines[0].start("outer");
        for _ in 0..steps {
            machines[0].step(&thread).exits(0);
        }
        Self {
            machines,
            thread,
            schema,
            admin: Admin::new(&server.url()),
        }
    }

    fn children(&self) -> Vec<String> {
        let children = self.machines[0].show(&self.thread)["children"].clone();
        let children = children.as_array().unwrap().iter();
        children
            .map(|one| one["thread"].as_str().unwrap().to_owned())
            .collect()
    }

    /// Changes something in the database, where `@` is the schema.
    fn run(&self, sql: &str) {
        self.admin.run(&sql.replace('@', &self.schema));
    }

    /// Lets the server do something as soon as it gets the thread itself, which comes after its children.
    fn when_the_thread_comes(&self, statement: &str) {
        self.run(&format!(
            "CREATE FUNCTION @.comes() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {statement}; RETURN NULL; END $$;
             CREATE TRIGGER comes AFTER INSERT ON @.threads FOR EACH ROW WHEN (NEW.id = '{}') EXECUTE FUNCTION @.comes()",
            self.thread
        ));
    }
}

/// Returns the threads that a push names.
fn named(pushed: &Value) -> Vec<&str> {
    let pushed = pushed.as_array().unwrap().iter();
    pushed.map(|one| one["thread"].as_str().unwrap()).collect()
}

/// A worker of another machine may take the thread as soon as it is at the remote, and a child with it.
#[test]
fn a_push_of_a_family_whose_child_another_machine_takes_at_once_has_done_everything() {
    with_server(|server| {
        let family = Family::new(server, 2);
        let [one, _] = &family.machines;
        let children = family.children();
        family.when_the_thread_comes(&format!(
            "UPDATE @.threads SET fence = fence + 1, lease_owner = '0000000000000 mark other', lease_until = now() + interval '1 hour' WHERE id = '{}'",
            children[0]
        ));
        let pushed = one.uwf(&["push", &family.thread]).exits(0).json();
        assert_eq!(
            named(&pushed),
            [&children[..], std::slice::from_ref(&family.thread)].concat()
        );
        let there = family_at_remote(one, &family.thread);
        let ready = there.iter().filter(|one| one["status"] == json!("ready"));
        assert_eq!(
            ready.count(),
            2,
            "the other child is not left waiting: {there:?}"
        );
        // That machine dies.
        family.run("UPDATE @.threads SET lease_until = now()");
        one.uwf(&["push", &family.thread]).exits(0);
        let there = family_at_remote(one, &family.thread);
        assert!(
            there.iter().all(|one| one["status"] == json!("ready")),
            "{there:?}"
        );
        agree(&family.machines, &family.thread, 3);
    });
}

#[test]
fn a_push_that_stops_halfway_says_what_the_remote_has_got() {
    with_server(|server| {
        let family = Family::new(server, 2);
        let [one, _] = &family.machines;
        family.when_the_thread_comes("RAISE EXCEPTION 'not now'");
        let stopped = one.uwf(&["push", &family.thread]);
        assert_ne!(stopped.code, 0);
        let stopped = stopped.says("not now").json();
        assert_eq!(named(&stopped), family.children());
        family.run("DROP TRIGGER comes ON @.threads");
        one.uwf(&["push", &family.thread]).exits(0);
        agree(&family.machines, &family.thread, 3);
    });
}

#[test]
fn a_step_whose_lease_is_ended_before_it_makes_children_says_so() {
    with_server(|server| {
        let family = Family::new(server, 1);
        let ([one, _], thread) = (&family.machines, &family.thread);
        one.uwf(&["push", thread]).exits(0);
        // Nodes are read, and not written.
        let holder = Admin::new(&server.url());
        let nodes = format!("{}.nodes", family.schema);
        holder.run(&format!("BEGIN; LOCK TABLE {nodes} IN SHARE MODE"));
        let step = one.spawn(&["thread", "step", thread]);
        let waiting = format!(
            "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = '{nodes}'::regclass"
        );
        wait_until("the children are about to be made", || {
            family.admin.row(&waiting) == "1"
        });
        family.run("UPDATE @.threads SET fence = fence + 1, lease_owner = NULL");
        holder.run("COMMIT");
        let ended = Run::from(step.wait_with_output().unwrap()).exits(5);
        ended.says(&format!(
            "thread `{thread}` is no longer leased to this machine"
        ));
        one.step(thread).exits(0);
        agree(&family.machines, thread, 3);
    });
}
