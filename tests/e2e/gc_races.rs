//! Collecting garbage while others work: nobody loses anything.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::gc::{age, age_all, gc, has, node_file, put_text, step_hashes};
use crate::world::{World, binary};

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
