//! Times: people read those of their own time zone, programs read UTC.

use serde_json::json;

use crate::pty::on_terminal;
use crate::world::{ONE_STEP, Run, World};

/// A time zone of the form that needs no database.
const BERLIN: &str = "CET-1CEST,M3.5.0,M10.5.0/3";

/// A world with a thread of a moment in summer, which its id tells.
fn world() -> (World, &'static str) {
    let thread = "01KT5CF900000000000000000A";
    let world = World::new();
    world.put(ONE_STEP);
    let started = world.start("one");
    let threads = world.state("threads.yaml").replace(&started, thread);
    std::fs::write(world.root().join("threads.yaml"), threads).unwrap();
    std::fs::remove_dir_all(world.root().join("runs")).unwrap();
    std::fs::remove_dir_all(world.root().join("locks")).unwrap();
    (world, thread)
}

fn at(world: &World, zone: &str, args: &[&str]) -> Run {
    let mut command = world.command(args);
    command.env("TZ", zone);
    command.output().unwrap().into()
}

#[test]
fn text_shows_times_of_the_zone_with_their_offset_and_data_shows_utc() {
    let (world, thread) = world();
    let list = |zone: &str, format: &str| {
        let listed = at(&world, zone, &["thread", "list", "--format", format]);
        listed.exits(0).stdout
    };
    assert_eq!(list(BERLIN, "json"), list("UTC", "json"));
    let text = list(BERLIN, "text");
    assert!(
        text.contains("STARTED  ") && text.contains("+02:00"),
        "{text}"
    );
    let text = list("UTC", "text");
    assert!(
        text.contains("STARTED (UTC)") && !text.contains("+0"),
        "{text}"
    );
    let shown = at(
        &world,
        BERLIN,
        &["thread", "show", thread, "--format", "text"],
    );
    let shown = shown.exits(0).stdout;
    let started = shown
        .lines()
        .find(|line| line.starts_with("started "))
        .unwrap();
    let (time, _) = started["started".len()..].trim().split_once(',').unwrap();
    assert!(time.ends_with("+02:00"), "{started}");
    // What is shown can be typed.
    let listed = at(&world, "UTC", &["thread", "list", "--before", time]);
    assert_eq!(listed.exits(0).json(), json!([]));
}

#[test]
fn a_zone_that_nobody_knows_is_utc() {
    let (world, _) = world();
    for zone in [
        "Nowhere/Land",
        "../../etc/passwd",
        "/dev/zero",
        "",
        ":",
        "x",
    ] {
        let listed = at(&world, zone, &["thread", "list", "--format", "text"]);
        let text = listed.exits(0).stdout;
        assert!(text.contains("STARTED (UTC)"), "{zone}: {text}");
    }
}

#[test]
fn the_days_of_sums_are_those_of_utc_in_every_zone_and_the_heading_says_so() {
    let world = World::new();
    world.put(ONE_STEP);
    world.mock("roles:\n  writer:\n    - output: { note: n }\n");
    let thread = world.start("one");
    world.step(&thread).exits(0);
    for zone in [BERLIN, "UTC"] {
        let args = ["thread", "cost", "--by", "day", "--format", "text"];
        let text = at(&world, zone, &args).exits(0).stdout;
        assert!(text.starts_with("DAY (UTC)  "), "{zone}: {text}");
    }
}

#[test]
fn the_process_log_has_room_for_its_messages_and_the_times_of_the_zone() {
    let world = World::new();
    world.put(ONE_STEP);
    world.mock("roles:\n  writer:\n    - output: { note: n }\n");
    let thread = world.start("one");
    world.step(&thread).exits(0);
    let show = ["log", "show", "--format", "text"];
    let text = at(&world, BERLIN, &show).exits(0).stdout;
    assert!(text.starts_with("TIME  ") && text.contains(&thread));
    assert!(text.contains("+01:00") || text.contains("+02:00"), "{text}");
    let narrow = on_terminal(&world, 80, &["log", "show"]);
    for line in narrow.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
    assert!(narrow.contains("agent=uwf-mock role=writer"), "{narrow}");
    assert!(narrow.contains(&thread[..12]), "{narrow}");
    let help = world.uwf(&["--help"]).exits(0).stdout;
    let (_, codes) = help.split_once("Exit codes").unwrap();
    assert!(
        codes.lines().all(|line| line.chars().count() <= 80),
        "{codes}"
    );
}
