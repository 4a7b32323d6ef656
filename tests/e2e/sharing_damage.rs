//! What is damaged at a remote leads nobody to remove what is needed.

use std::fs;

use serde_json::{Value, json};

use crate::gc::text;
use crate::sharing::{agree, as_worker, head, with_remote, with_server};
use crate::sharing_place::Place;
use crate::world::World;

fn verdicts(found: &Value) -> Vec<(Value, Value)> {
    let problems = found["problems"].as_array().unwrap().iter();
    let verdict = |one: &Value| (one["verdict"].clone(), one["node"].clone());
    problems.map(verdict).collect()
}

#[test]
fn a_node_whose_references_were_changed_is_found_and_nothing_is_removed() {
    with_server(|server| {
        let place = Place::new(server);
        let [one, other] = &place.machines;
        one.step(&place.thread).exits(0);
        let head = head(one, &place.thread);
        let nodes = place.count("nodes");
        place.run("UPDATE @.nodes SET refs = '{}' WHERE hash IN (SELECT head FROM @.threads)");
        let found = place.remote_of(0, &["verify"]).exits(4).json();
        assert_eq!(verdicts(&found), [(json!("mislinked"), json!(head))]);
        assert_eq!(found["neededByThreads"], json!([place.thread]), "{found}");
        for args in [&["gc"][..], &["gc", "--dry-run"]] {
            place
                .remote_of(0, args)
                .exits(4)
                .says("nothing is removed")
                .says(&head)
                .says("uwf remote verify --repair");
        }
        assert_eq!(place.count("nodes WHERE condemned_at IS NOT NULL"), "0");
        assert_eq!(place.count("nodes"), nodes);
        as_worker(other, server, &place.schema);
        let tried = other.uwf(&["remote", "verify", "--repair"]).exits(4).json();
        assert_eq!(
            (&tried["repaired"], &tried["needOwner"]),
            (&json!(0), &json!(1))
        );
        let text = ["remote", "verify", "--repair", "--format", "text"];
        let said = other.uwf(&text).exits(4).stdout;
        assert!(
            said.contains("the references of 1 node need the owner"),
            "{said}"
        );
        assert!(!said.contains("damaged node"), "{said}");
        // What the node refers to is read from the remote, also by a machine that does not have it.
        let stranger = World::new();
        with_remote(&stranger, server, &place.schema);
        let repaired = stranger.uwf(&["remote", "verify", "--repair"]).exits(0);
        let repaired = repaired.json();
        let counts = ["repaired", "sent", "replaced", "relinked"].map(|of| &repaired[of]);
        assert_eq!(counts, [1, 0, 0, 1].map(|count| json!(count)).each_ref());
        let collected = place.remote_of(0, &["gc"]).exits(0).json();
        assert_eq!(collected["condemned"], json!(0), "{collected}");
        agree(&place.machines, &place.thread, 1);
    });
}

#[test]
fn a_node_whose_references_cannot_be_checked_keeps_everything() {
    with_server(|server| {
        let place = Place::new(server);
        let one = &place.machines[0];
        one.step(&place.thread).exits(0);
        let head = head(one, &place.thread);
        place.run(
            "DELETE FROM @.nodes WHERE hash IN (SELECT type FROM @.nodes WHERE hash IN (SELECT head FROM @.threads))",
        );
        place.run("UPDATE @.nodes SET refs = '{}' WHERE hash IN (SELECT head FROM @.threads)");
        for args in [&["gc"][..], &["gc", "--dry-run"]] {
            let refused = place.remote_of(0, args).exits(4);
            refused.says("nothing is removed").says(&head);
        }
        assert_eq!(place.count("nodes WHERE condemned_at IS NOT NULL"), "0");
        // The schema is the fault, and not each of its nodes.
        let found = place.remote_of(0, &["verify"]).exits(4).json();
        let verdicts = verdicts(&found);
        assert!(
            verdicts.iter().all(|one| one.0 == json!("lacking")),
            "{found}"
        );
        let repaired = place.remote_of(0, &["verify", "--repair"]).exits(0).json();
        assert_eq!(repaired["relinked"], json!(1), "{repaired}");
        assert!(repaired["sent"].as_u64() > Some(0), "{repaired}");
        let collected = place.remote_of(0, &["gc"]).exits(0).json();
        assert_eq!(collected["condemned"], json!(0), "{collected}");
        agree(&place.machines, &place.thread, 1);
    });
}

#[test]
fn a_node_that_has_another_content_than_its_hash_says_is_damaged() {
    with_server(|server| {
        let place = Place::new(server);
        let head = head(&place.machines[0], &place.thread);
        place.run(
            "UPDATE @.nodes SET (payload, digest, refs, type) = (SELECT payload, digest, refs, type FROM @.nodes WHERE hash = (SELECT workflow FROM @.threads)) WHERE hash = (SELECT head FROM @.threads)",
        );
        let found = place.remote_of(0, &["verify"]).exits(4).json();
        assert_eq!(verdicts(&found), [(json!("corrupted"), json!(head))]);
        place.remote_of(0, &["gc"]).exits(4).says(&head);
        let repaired = place.remote_of(0, &["verify", "--repair"]).exits(0).json();
        assert_eq!(repaired["repaired"], json!(1), "{repaired}");
        place.remote_of(0, &["gc"]).exits(0);
        agree(&place.machines, &place.thread, 0);
    });
}

/// Shares a thread with the text of a failed attempt, which its record names. A step shares the record alone, and `push` sends the text.
fn share_failed_attempt(place: &Place) -> String {
    let (one, thread) = (&place.machines[0], &place.thread);
    one.write("answer.md", "There is more.");
    one.agent("uwf-command", &["--", "cat", "answer.md"]);
    one.configure("extract", "strict");
    one.step(thread).exits(3);
    one.uwf(&["push", thread]).exits(0);
    text(&one.show(thread)["attempts"][0]["raw"])
}

#[test]
fn who_needs_a_text_is_known_by_the_record_that_names_it() {
    with_server(|server| {
        let place = Place::new(server);
        let raw = share_failed_attempt(&place);
        // The next record is stored when the text is there.
        place.machines[0].step(&place.thread).exits(3);
        let texts = "hash IN (SELECT unnest(roots) FROM @.threads)";
        place.run(&format!("DELETE FROM @.nodes WHERE {texts}"));
        let found = place.remote_of(0, &["verify"]).exits(4).json();
        let problem = &found["problems"][0];
        assert_eq!(problem["thread"], json!(place.thread), "{found}");
        let missing = problem["missing"].as_array().unwrap();
        assert!(missing.contains(&json!(raw)), "{found}");
        place.remote_of(0, &["verify", "--repair"]).exits(0);
        place.run(&format!(
            "UPDATE @.nodes SET payload = payload || ' ' WHERE {texts}"
        ));
        place.run("UPDATE @.threads SET roots = '{}'");
        let found = place.remote_of(0, &["verify"]).exits(4).json();
        assert_eq!(found["neededByThreads"], json!([place.thread]), "{found}");
        place.remote_of(0, &["gc"]).exits(4).says(&raw);
    });
}

#[test]
fn a_text_that_a_record_names_stays_whenever_it_came_and_whatever_is_stored_beside_the_record() {
    with_server(|server| {
        let place = Place::new(server);
        let ([_, other], thread) = (&place.machines, &place.thread);
        let raw = share_failed_attempt(&place);
        let dry = place.remote_of(0, &["gc", "--dry-run"]).exits(0).json();
        assert_eq!(dry["condemned"], json!(0), "{dry}");
        place.run("UPDATE @.threads SET roots = '{}'");
        let collected = place.remote_of(0, &["gc"]).exits(0).json();
        assert_eq!(collected["condemned"], json!(0), "{collected}");
        place.run("UPDATE @.nodes SET condemned_at = now() - interval '15 days'");
        let reprieved = place.remote_of(0, &["gc"]).exits(0).json();
        assert_eq!(reprieved["removed"], json!(0), "{reprieved}");
        other.uwf(&["fetch", thread]).exits(0);
        other.uwf(&["cas", "get", &raw]).exits(0);
        place.run("UPDATE @.threads SET records = ARRAY['no record'::bytea]");
        place
            .remote_of(0, &["gc"])
            .exits(4)
            .says(&format!("the thread {thread} makes no sense"));
    });
}

/// What is missing needs something itself, which nothing else may keep.
#[test]
fn nothing_is_removed_while_something_needed_is_missing() {
    with_server(|server| {
        let place = Place::new(server);
        let [one, _] = &place.machines;
        for _ in 0..2 {
            one.step(&place.thread).exits(0);
        }
        one.uwf(&["push", "--workflow", "again"]).exits(0);
        let refuses = |why: &str| {
            for args in [&["gc"][..], &["gc", "--dry-run"]] {
                place
                    .remote_of(0, args)
                    .exits(4)
                    .says("nothing is removed")
                    .says(why);
            }
            assert_eq!(place.count("nodes WHERE condemned_at IS NOT NULL"), "0");
        };
        place.run("DELETE FROM @.nodes WHERE hash = (SELECT from_head FROM @.history ORDER BY version DESC LIMIT 1)");
        refuses("needs nodes that are missing");
        place.remote_of(0, &["verify", "--repair"]).exits(0);
        place.run("UPDATE @.names SET hash = 5");
        refuses("stands for a node that is missing");
        place.run("DELETE FROM @.names");
        place.remote_of(0, &["gc"]).exits(0);
        place.run("UPDATE @.threads SET head = 7");
        refuses("0000000000007");
    });
}

#[test]
fn damage_that_no_command_makes_is_named_too_and_put_right_or_left() {
    with_server(|server| {
        let place = Place::new(server);
        place.run("UPDATE @.nodes SET refs = ARRAY[NULL::bigint] WHERE hash IN (SELECT head FROM @.threads)");
        let head = head(&place.machines[0], &place.thread);
        let found = place.remote_of(0, &["verify"]).exits(4).json();
        assert_eq!(verdicts(&found), [(json!("mislinked"), json!(head))]);
        place.remote_of(0, &["verify", "--repair"]).exits(0);
        place.run("UPDATE @.threads SET records = ARRAY[NULL::bytea]");
        let said = place.remote_of(0, &["verify", "--format", "text"]).exits(4);
        assert!(
            said.stdout.contains("a record of it is missing"),
            "{}",
            said.stdout
        );
        place
            .remote_of(0, &["gc"])
            .exits(4)
            .says("a record of it is missing");
    });
}

#[test]
fn a_step_that_finds_damage_keeps_no_lease() {
    with_server(|server| {
        let place = Place::new(server);
        place.run("UPDATE @.threads SET records = ARRAY['no record'::bytea]");
        for machine in &place.machines {
            machine
                .step(&place.thread)
                .exits(4)
                .says("a record cannot be read")
                .says("uwf remote verify");
            assert_eq!(place.count("threads WHERE lease_owner IS NOT NULL"), "0");
        }
    });
}

#[test]
fn a_push_that_is_refused_again_does_not_bring_the_other_steps_again() {
    with_server(|server| {
        let place = Place::new(server);
        let ([one, other], thread) = (&place.machines, &place.thread);
        other.step(thread).exits(0);
        // As if the first machine had been given back an older disk, on which the thread was not shared yet.
        fs::remove_file(one.root().join("shared").join(format!("{thread}.json"))).unwrap();
        one.step(thread).exits(0);
        let push = || one.uwf(&["push", thread]).exits(1);
        push().says("has gone on in two ways");
        place.run("DELETE FROM @.nodes WHERE hash IN (SELECT head FROM @.threads)");
        push().says("has gone on in two ways");
    });
}
