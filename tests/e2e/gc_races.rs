//! Collecting garbage while others work, and being killed at it: nobody loses anything.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use crate::gc::{
    DAY, age, age_all, all_views, full_world, gc, has, node_file, nodes, put_text, step_hashes,
    text,
};
use crate::world::{ONE_STEP, World, binary};

#[test]
fn a_collection_that_is_killed_anywhere_leaves_a_sound_store() {
    let (world, _) = full_world();
    let views = all_views(&world);
    let meta = "CTS5P6RD8HMCS";
    let make_garbage = |round: usize| {
        let schema = json!({ "type": "object", "title": format!("garbage {round}"),
            "additionalProperties": { "type": "string", "format": "ocas_ref" } });
        let put = |kind: &str, data: &Value| {
            let put = world.uwf(&["cas", "put", kind, &data.to_string()]).exits(0);
            text(&put.json()["hash"])
        };
        let kind = put(meta, &schema);
        let mut last = put_text(&world, &format!("garbage {round}"));
        for _ in 0..12 {
            last = put(&kind, &json!({ "to": last }));
        }
        age_all(&world, 30 * DAY);
    };
    for round in 0..12 {
        make_garbage(round);
        let mut collector = world.spawn(&["cas", "gc"]);
        std::thread::sleep(Duration::from_micros(4000 + 2000 * round as u64));
        // It may have ended already; then there is nothing to kill.
        let _ = collector.kill();
        collector.wait().unwrap();
        world.uwf(&["cas", "verify"]).exits(0);
        no_node_is_missing(&world);
    }
    gc(&world, &[]).exits(0);
    assert_eq!(all_views(&world), views);
    let by_type = world.uwf(&["cas", "list", "--type", meta]).exits(0).json();
    let listed: Vec<String> = by_type["hashes"]
        .as_array()
        .unwrap()
        .iter()
        .map(text)
        .collect();
    for hash in listed {
        assert!(has(&world, &hash), "{hash}");
    }
}

/// Looks whether everything that a node refers to is there.
fn no_node_is_missing(world: &World) {
    for path in nodes(world) {
        let hash = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let refs = world.uwf(&["cas", "refs", &hash]).exits(0).json();
        for to in refs["refs"].as_array().unwrap() {
            assert!(has(world, &text(to)), "{hash} refers to {to}");
        }
    }
}

/// A writer whose notes are nodes that it puts itself, long before it answers.
const NOTES: &str = r#"
name: notes
description: Notes
roles:
  writer:
    description: Writes
    goal: You write.
    capabilities: []
    procedure: Write.
    output: A note.
    frontmatter:
      type: object
      properties:
        $status: { enum: [more, done] }
        note: { type: string, format: ocas_ref }
      required: [$status, note]
graph:
  $START: { _: { role: writer, prompt: Write. } }
  writer:
    more: { role: writer, prompt: Go on. }
    done: { role: $END, prompt: "" }
"#;

#[test]
fn steps_lose_nothing_to_collectors_that_run_all_the_time() {
    const WORKERS: usize = 3;
    const STEPS: usize = 10;
    let world = World::new();
    world.put(NOTES);
    let uwf = binary().display();
    // Each step has a number of its own, and puts a text that is there already and long out of use.
    let writer = world.script(
        "writer.sh",
        &format!(
            "n=0; until mkdir \"taken-$n\" 2>/dev/null; do n=$((n+1)); done\n\
             hash=$({uwf} cas put-text \"note $n\" --format text)\nsleep 0.05\n\
             printf -- '---\\n$status: more\\nnote: \"%s\"\\n---\\n' \"$hash\""
        ),
    );
    world.agent("uwf-command", &["--", writer.to_str().unwrap()]);
    let notes: Vec<String> = (0..WORKERS * STEPS)
        .map(|number| put_text(&world, &format!("note {number}")))
        .collect();
    let saved: Vec<Vec<u8>> = notes
        .iter()
        .map(|hash| fs::read(node_file(&world, hash)).unwrap())
        .collect();
    let waste = put_text(&world, "waste");
    age_all(&world, 2 * 60 * 60);

    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let worker = || {
            let thread = world.start("notes");
            for _ in 0..STEPS {
                world.step(&thread).exits(0);
            }
            thread
        };
        let workers = [(); WORKERS].map(|()| scope.spawn(worker));
        let collector = scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                // What the collector has removed so far comes back, as old as it was, until a step takes it.
                for (number, (hash, bytes)) in notes.iter().zip(&saved).enumerate() {
                    if !world.project().join(format!("taken-{number}")).exists() {
                        put_old(&world, hash, bytes);
                    }
                }
                gc(&world, &["--older-than", "1h"]).exits(0);
            }
        });
        let threads = workers.map(|worker| worker.join().unwrap());
        done.store(true, Ordering::Relaxed);
        collector.join().unwrap();
        for thread in &threads {
            assert_eq!(step_hashes(&world, thread).len(), STEPS);
            world.uwf(&["thread", "read", thread]).exits(0);
        }
    });
    gc(&world, &["--older-than", "1h"]).exits(0);
    for hash in &notes {
        assert!(has(&world, hash), "{hash} is the note of a step");
    }
    assert!(!has(&world, &waste));
    world.uwf(&["cas", "verify"]).exits(0);
}

/// Brings a node back that was removed, as if it had been there for two hours.
fn put_old(world: &World, hash: &str, bytes: &[u8]) {
    let aside = world.dir().join("aside");
    fs::write(&aside, bytes).unwrap();
    age(&aside, 2 * 60 * 60);
    // Never in the place of one that is there: that may be young.
    let _ = fs::hard_link(&aside, node_file(world, hash));
    fs::remove_file(&aside).unwrap();
}

#[test]
fn an_old_step_that_is_forked_while_garbage_is_collected_is_whole_or_refused() {
    let world = World::new();
    world.put(ONE_STEP);
    world.mock("roles:\n  writer:\n    - output: { note: n }\n");
    for round in 0..15 {
        let thread = world.start("one");
        world.step(&thread).exits(0);
        let head = text(&world.show(&thread)["head"]);
        // As if the thread had never been: its step is garbage.
        fs::write(world.root().join("history.jsonl"), "").unwrap();
        fs::remove_dir_all(world.root().join("runs").join(&thread)).unwrap();
        age_all(&world, 30 * DAY);
        let collector = world.spawn(&["cas", "gc"]);
        std::thread::sleep(Duration::from_millis(round));
        let fork = world.uwf(&["thread", "fork", &head]);
        assert!(collector.wait_with_output().unwrap().status.success());
        if fork.code == 0 {
            let thread = text(&fork.json()["thread"]);
            world.uwf(&["thread", "read", &thread]).exits(0);
            gc(&world, &["--dry-run"]).exits(0);
            world.uwf(&["thread", "kill", &thread]).exits(0);
        } else {
            fork.exits(1).says("is not in the store");
        }
    }
}
