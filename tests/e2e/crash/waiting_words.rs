//! What a person says to a thread at a limit is a part of the instruction: an answer that waits is one to these words only.

use serde_json::json;

use super::waiting_answers::wait_for_an_answer;
use super::windows::{finished, world_of_a_tool};
use crate::world::World;

const RAISE: [&str; 2] = ["--raise", "maxSteps=9"];

/// Returns the arguments of `thread resume`, with these words.
fn resume<'a>(thread: &'a str, words: &'a str) -> [&'a str; 5] {
    ["thread", "resume", thread, "-p", words]
}

fn limit_is_reached(world: &World) {
    world
        .uwf(&["config", "set", "limits.maxSteps", "1"])
        .exits(0);
}

#[test]
fn words_at_a_limit_do_not_drop_an_answer_that_waits() {
    let (world, thread) = world_of_a_tool();
    wait_for_an_answer(&world, &thread, "step", &[]);
    limit_is_reached(&world);
    let hello = [&resume(&thread, "hello")[..], &RAISE].concat();
    let refused = world.uwf(&hello).exits(1);
    let refused = refused.says("an answer of `writer` waits");
    refused.says(&format!("hint: `uwf thread step {thread}`"));
    assert_eq!(finished(&world), 2);
    world.step(&thread).exits(0);
    assert_eq!(finished(&world), 2);
}

#[test]
fn an_answer_to_words_at_a_limit_waits_for_the_same_words() {
    let (world, thread) = world_of_a_tool();
    limit_is_reached(&world);
    wait_for_an_answer(
        &world,
        &thread,
        "resume",
        &[&RAISE[..], &["-p", "hello"]].concat(),
    );
    let waits = &world.show(&thread)["waitingAnswer"];
    assert_eq!(waits["words"], json!("hello"));
    let command = format!("`uwf thread resume {thread} -p hello`");
    let text = world.uwf(&["thread", "show", &thread, "--format", "text"]);
    assert!(text.stdout.contains(&command), "{}", text.stdout);
    for other in [
        &["thread", "step", &thread][..],
        &["thread", "run", &thread],
        &["thread", "resume", &thread, "--raise", "maxSteps=10"],
        &resume(&thread, "goodbye"),
    ] {
        world.uwf(other).exits(1).says(&command);
    }
    assert_eq!(finished(&world), 2);
    world.uwf(&resume(&thread, "hello")).exits(0);
    assert_eq!(finished(&world), 2);
    // Nothing is left that the words belong to.
    let again = world.uwf(&resume(&thread, "hello")).exits(1);
    again.says("is not suspended");
}

#[test]
fn the_hint_of_a_failed_attempt_repeats_the_words_at_a_limit() {
    let (world, thread) = world_of_a_tool();
    limit_is_reached(&world);
    let failing = world.script("failing", "exit 4");
    let fails = ["--agent", failing.to_str().unwrap()];
    let hello = [&resume(&thread, "hello")[..], &RAISE, &fails].concat();
    let command = format!("uwf thread resume {thread}");
    world.uwf(&hello).exits(3).says(&command).says("-p hello");
    world.uwf(&resume(&thread, "hello")).exits(0);
    let read = world.uwf(&["thread", "read", &thread, "--quota", "1"]);
    assert!(read.stdout.contains("hello"), "{}", read.stdout);
}
