//! Families of which one thread cannot be fetched. The other threads come all the same.

use serde_json::{Value, json};

use crate::children_care::{ANSWERS, child, outer, without_thread};
use crate::postgres::{Server, new_schema};
use crate::postgres_admin::Admin;
use crate::sharing::{MORE, at_remote, with_remote, with_server};
use crate::sharing_children::{BRANCHES, family_of, share};
use crate::world::{AGAIN, Run, World};

/// Two machines that share a family, and somebody who may do everything with the database.
struct Family {
    machines: [World; 2],
    thread: String,
    schema: String,
    admin: Admin,
}

impl Family {
    /// The role `it` of the thread is played like this. Its first step is done, and both machines have the thread.
    fn new(server: &Server, role: &str) -> Self {
        let schema = new_schema();
        let answers = format!("{ANSWERS}{}", MORE.trim_start_matches("roles:\n"));
        let machines = [(); 2].map(|()| {
            let world = without_thread(BRANCHES, &answers);
            world.write("again.yaml", &AGAIN.replace('@', ""));
            world.put(&outer(role));
            with_remote(&world, server, &schema);
            world
        });
        let thread = machines[0].start("outer");
        machines[0].step(&thread).exits(0);
        share(&machines, &thread);
        Self {
            machines,
            thread,
            schema,
            admin: Admin::new(&server.url()),
        }
    }

    /// Changes something in the database, where `@` is the schema.
    fn run(&self, sql: &str) {
        self.admin.run(&sql.replace('@', &self.schema));
    }

    /// The first machine makes the children. Returns their ids in the order in which the other machine asks for them.
    fn children(&self) -> [String; 2] {
        let [one, _] = &self.machines;
        one.step(&self.thread).exits(0);
        let children = one.show(&self.thread)["children"].clone();
        let children = children.as_array().unwrap().iter();
        let mut children: Vec<String> = children
            .map(|one| one["thread"].as_str().unwrap().to_owned())
            .collect();
        children.sort();
        children.try_into().unwrap()
    }

    /// Checks that the other machine has fetched all but the first child, and that the result says so.
    #[track_caller]
    fn came_without(&self, first: &str, second: &str, fetched: &Run) {
        let named = fetched.json();
        let named = named.as_array().unwrap().iter();
        let named: Vec<&Value> = named.map(|one| &one["thread"]).collect();
        assert_eq!(named, [&json!(self.thread), &json!(second)]);
        let here = family_of(&self.machines[1], &self.thread);
        assert!(here.contains_key(second) && !here.contains_key(first));
    }
}

#[test]
fn a_child_that_makes_no_sense_at_the_remote_hides_nothing_that_came() {
    with_server(|server| {
        let family = Family::new(server, BRANCHES);
        let [first, second] = family.children();
        family.run(&format!(
            "UPDATE @.threads SET workflow = 5 WHERE id = '{first}'"
        ));
        let fetched = family.machines[1].uwf(&["fetch", &family.thread]);
        let problem = format!("thread {first} is not sound there");
        let fetched = fetched.exits(4).says(&problem);
        family.came_without(&first, &second, &fetched);
    });
}

#[test]
fn a_child_whose_record_is_damaged_at_the_remote_keeps_no_other_child_away() {
    with_server(|server| {
        let family = Family::new(server, BRANCHES);
        let [first, second] = family.children();
        family.run(&format!(
            "UPDATE @.threads SET records = ARRAY['no record'::bytea] WHERE id = '{first}'"
        ));
        let fetched = family.machines[1].uwf(&["fetch", &family.thread]);
        let problem = format!("thread {first} is not whole there");
        let fetched = fetched.exits(4).says(&problem);
        family.came_without(&first, &second, &fetched);
    });
}

#[test]
fn a_child_of_which_the_remote_has_lost_a_node_keeps_no_other_child_away() {
    with_server(|server| {
        let family = Family::new(server, BRANCHES);
        let [first, second] = family.children();
        family.run(&format!(
            "DELETE FROM @.nodes WHERE hash IN (SELECT head FROM @.threads WHERE id = '{first}')"
        ));
        let fetched = family.machines[1].uwf(&["fetch", &family.thread]);
        let fetched = fetched
            .exits(4)
            .says(&format!("thread {first} is not whole there"));
        family.came_without(&first, &second, &fetched);
        // A machine that has the node sends it again.
        family.machines[0]
            .uwf(&["remote", "verify", "--repair"])
            .exits(0);
        family.machines[1].uwf(&["fetch", &family.thread]).exits(0);
    });
}

#[test]
fn a_child_that_was_ended_here_and_goes_on_elsewhere_is_told_with_its_family() {
    with_server(|server| {
        let family = Family::new(server, "workflow: ./again.yaml");
        let ([one, other], thread) = (&family.machines, &family.thread);
        one.step(thread).exits(0);
        other.uwf(&["fetch", thread]).exits(0);
        let child = child(one, thread);
        one.uwf(&["thread", "kill", &child]).exits(0);
        // The server is restored from a backup that does not know the end.
        family.run(&format!(
            "UPDATE @.threads SET status = 'ready' WHERE id = '{child}'"
        ));
        other.step(&child).exits(0);
        one.uwf(&["fetch", thread])
            .exits(1)
            .says(&format!("thread `{child}` was ended here"))
            .says(&format!("`uwf push {child}` tells them"));
        one.uwf(&["push", &child]).exits(0);
        assert_eq!(at_remote(one, &child)["status"], json!("ended"));
        one.uwf(&["fetch", thread]).exits(0);
    });
}

#[test]
fn a_child_that_ended_in_two_ways_is_named_with_its_family() {
    with_server(|server| {
        let family = Family::new(server, "workflow: ./again.yaml");
        let ([one, other], thread) = (&family.machines, &family.thread);
        one.step(thread).exits(0);
        other.uwf(&["fetch", thread]).exits(0);
        let child = child(one, thread);
        family.run("CREATE TABLE @.kept AS SELECT * FROM @.threads");
        // The answer of the second machine differs, so its step does, too.
        for (machine, answer) in [(one, "done"), (other, "done, note: other")] {
            family.run("DELETE FROM @.threads; INSERT INTO @.threads SELECT * FROM @.kept; DELETE FROM @.history");
            let answers = format!("{ANSWERS}  writer:\n    - output: {{ status: {answer} }}\n");
            machine.write("answers.yaml", &answers);
            machine.step(&child).exits(0);
            assert_eq!(at_remote(machine, &child)["status"], json!("ended"));
        }
        let says = format!("thread `{child}` has ended here and, in another way, at the remote");
        for (named, exit) in [
            (&[thread.as_str()][..], 0),
            (&[], 0),
            (&["--all"], 0),
            (&[child.as_str()], 1),
        ] {
            one.uwf(&[&["fetch"], named].concat())
                .exits(exit)
                .says(&says);
        }
    });
}

#[test]
fn a_child_that_the_remote_has_lost_is_shared_again_as_the_hints_say() {
    with_server(|server| {
        let family = Family::new(server, BRANCHES);
        let ([one, other], thread) = (&family.machines, &family.thread);
        let children = family.children();
        family.run(&format!(
            "DELETE FROM @.history WHERE thread <> '{thread}'; DELETE FROM @.threads WHERE id <> '{thread}'"
        ));
        let failed = one.step(thread).exits(1);
        let alone = |child: &String| {
            failed
                .stderr
                .contains(&format!("`uwf thread step {child}`"))
        };
        assert!(children.iter().any(alone), "{}", failed.stderr);
        for child in &children {
            let shares = format!("`uwf push {child}`");
            one.step(child).exits(1).says(&shares);
            one.uwf(&["push", child]).exits(0);
        }
        other.uwf(&["fetch", thread]).exits(0);
        other.step(thread).exits(0);
    });
}
