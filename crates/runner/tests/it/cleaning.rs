//! Emptying the folder of finished tasks.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;

use uwf_pipeline::ErrorKind;

use crate::world::World;

#[test]
fn a_folder_is_emptied_and_stays_and_its_links_are_not_followed() {
    let world = World::new();
    fs::write(world.outside("file"), "").unwrap();
    for path in [
        "processed/t/1.task",
        "processed/.hidden",
        "processed/a\nb",
        "kept/x",
    ] {
        world.write(path, "");
    }
    let invalid = world.inside("processed").join(OsStr::from_bytes(b"\xff"));
    fs::write(invalid, "").unwrap();
    world.link("processed/out", world.outside(""));
    world.link("processed/t/kept", world.inside("kept"));
    world.link("processed/nowhere", "nothing");

    let would = world.workspace.would_clean("processed").unwrap();
    assert_eq!(would.len(), 6);
    assert_eq!(world.names("processed/t"), ["1.task", "kept"]);
    world.workspace.clean("processed").unwrap();
    assert!(world.names("processed").is_empty());
    assert_eq!(world.names_outside(), ["file"]);
    assert_eq!(world.names("kept"), ["x"]);
    world.workspace.clean("processed").unwrap();
}

#[test]
fn a_folder_that_is_not_there_is_clean() {
    let world = World::new();
    world.workspace.clean("none/processed").unwrap();
    assert!(world.workspace.would_clean("none").unwrap().is_empty());
    assert_eq!(world.names(""), ["closed"]);
}

#[test]
fn nothing_else_than_a_folder_strictly_in_the_workspace_is_touched() {
    let world = World::new();
    fs::write(world.outside("file"), "").unwrap();
    world.write("kept/x", "");
    world.write("closed/log", "");
    world.write("around/closed", "");
    world.link("to-kept", "kept");
    world.link("out", world.outside(""));
    for folder in [
        "",
        ".",
        "./.",
        "..",
        "/tmp",
        "../outside",
        "to-kept",
        "out",
        "out/.",
        "kept/x",
        "closed",
    ] {
        let failure = world.workspace.clean(folder).unwrap_err();
        assert_eq!(failure.kind, ErrorKind::PathViolation, "{folder:?}");
        assert!(world.workspace.would_clean(folder).is_err(), "{folder:?}");
    }
    assert_eq!(world.names_outside(), ["file"]);
    assert_eq!(
        (world.names("kept"), world.names("closed")),
        (vec!["x".into()], vec!["log".into()])
    );
}

#[test]
fn a_folder_around_the_records_of_runs_is_not_touched() {
    let world = World::new();
    world.write("around/runs/state", "");
    let closed = [world.inside("around/runs")];
    let workspace = uwf_runner::Workspace::open(&world.inside(""), &closed).unwrap();
    let failure = workspace.clean("around").unwrap_err();
    assert_eq!(failure.kind, ErrorKind::PathViolation);
    assert!(world.inside("around/runs/state").exists());
}
