//! The files of checks that run in another folder than that of the thread, or that are named in a roundabout way.

use std::fs;

use crate::checks::{checked, world};
use crate::checks_kept::OUTER;
use crate::world::World;

const CHANGED: &str = "belongs to the check and was changed since the thread started";

/// A world whose role `writer` has these checks, and works in a folder below that of the thread. Each folder has another check.
fn in_folder(check: &str) -> World {
    let checks = format!("{{ run: [\"{check}\"], attempts: 0 }}");
    let (world, _) = world(&checks, "");
    let below = r#"role: writer, location: sub, prompt: "Write.""#;
    let workflow = checked(&checks, "").replace(r#"role: writer, prompt: "Write.""#, below);
    world.put(&workflow);
    world.write("check.sh", "exit 0 # above\n");
    world.write("sub/check.sh", "exit 0 # below\n");
    world
}

/// Does one step in which the agent does something, and returns what stderr says; empty if the checks pass.
fn step(world: &World, workflow: &str, does: &str) -> String {
    let thread = world.start(workflow);
    for folder in ["sub", "."] {
        let folder = world.project().join(folder);
        fs::create_dir_all(&folder).unwrap();
        for old in fs::read_dir(&folder).unwrap() {
            let old = old.unwrap().path();
            if old.display().to_string().contains("/asked-") {
                fs::remove_file(old).unwrap();
            }
        }
        fs::write(folder.join("do-0"), does).unwrap();
    }
    let run = world.uwf(&["thread", "step", &thread]);
    assert!([0, 3].contains(&run.code), "{}", run.stderr);
    if run.code == 0 {
        String::new()
    } else {
        run.stderr
    }
}

#[test]
fn a_file_of_a_check_is_that_of_the_folder_in_which_it_runs() {
    let world = in_folder("sh check.sh");
    assert_eq!(step(&world, "checked", ""), "");
    let other = step(&world, "checked", "echo exit 1 > ../check.sh");
    assert_eq!(other, "", "no check needs the other file");
    let told = step(&world, "checked", "echo 'exit 0 # weaker' > check.sh");
    assert!(told.contains(CHANGED), "{told}");
}

#[test]
fn a_check_that_only_the_other_folder_has_is_recorded() {
    let world = in_folder("sh ./check.sh");
    fs::remove_file(world.project().join("check.sh")).unwrap();
    let told = step(&world, "checked", "echo 'exit 0 # weaker' > check.sh");
    assert!(told.contains(CHANGED), "{told}");
}

#[test]
fn a_check_above_its_folder_is_recorded() {
    let world = in_folder("sh ../check.sh");
    assert_eq!(step(&world, "checked", "echo exit 1 > check.sh"), "");
    let told = step(&world, "checked", "echo 'exit 0 # weaker' > ../check.sh");
    assert!(told.contains(CHANGED), "{told}");
}

#[test]
fn a_file_is_recorded_however_its_path_is_written() {
    for path in ["ci/../ci/check.sh", "./ci/./check.sh", "ci/x/../check.sh"] {
        let (world, _) = world(&format!("{{ run: [\"sh {path}\"], attempts: 0 }}"), "");
        world.write("ci/check.sh", "exit 0\n");
        world.write("ci/x/file", "");
        assert_eq!(step(&world, "checked", ""), "");
        let told = step(&world, "checked", "echo 'exit 0 # weaker' > ci/check.sh");
        assert!(told.contains(CHANGED), "{path}: {told}");
    }
}

#[test]
fn a_listed_file_must_be_in_the_folder_of_its_check() {
    let world = in_folder("true");
    let checks = r#"[{ command: "true", files: [rules] }]"#;
    let below = r#"role: writer, location: sub, prompt: "Write.""#;
    world.put(&checked(checks, "").replace(r#"role: writer, prompt: "Write.""#, below));
    world.write("rules", "be good\n");
    let start = ["thread", "start", "checked", "-p", "x"];
    let place = world.project().join("sub");
    let says = format!("`rules`, which cannot be read in `{}`", place.display());
    world.uwf(&start).exits(1).says(&says);
    world.write("sub/rules", "be good\n");
    assert_eq!(step(&world, "checked", ""), "");
}

#[test]
fn the_checks_of_a_child_elsewhere_are_those_of_the_start() {
    let (world, _) = world(r#"{ run: ["sh check.sh"], attempts: 0 }"#, "");
    world.write("sub/check.sh", "exit 1\n");
    let second = r#"role: second, location: sub, prompt: "Go on.""#;
    world.put(&OUTER.replace(r#"role: second, prompt: "Go on.""#, second));
    let thread = world.start("outer");
    world.write("do-0", "echo exit 0 > sub/check.sh");
    world.step(&thread).exits(0);
    world.step(&thread).exits(3).says(CHANGED);
}

#[test]
fn a_check_that_only_a_folder_has_that_is_made_later_is_recorded_when_a_role_first_works_there() {
    let world = in_folder("sh check.sh");
    fs::remove_file(world.project().join("check.sh")).unwrap();
    fs::remove_dir_all(world.project().join("sub")).unwrap();
    let thread = world.start("checked");
    world.write("sub/check.sh", "exit 0 # below\n");
    world.write("sub/do-0", "echo 'exit 0 # weaker' > check.sh");
    let changed = "belongs to the check and was changed since a role first worked in its folder";
    world.step(&thread).exits(3).says(changed);
    // The next attempt does not take the weaker check for the first one.
    world.write("sub/do-0", "true");
    let again = ["thread", "step", &thread, "--new-session"];
    world.uwf(&again).exits(3).says(changed);
    // A fork does not, either.
    let fork = world.uwf(&["thread", "fork", &format!("{thread}@0")]);
    let fork = fork.exits(0).json()["thread"].as_str().unwrap().to_owned();
    world.step(&fork).exits(3).says(changed);
    // Nor does one that cannot read the record, and it says what to do.
    let record = world.root().join(format!("runs/{thread}/check-files.json"));
    let recorded = fs::read(&record).unwrap();
    fs::write(&record, "{").unwrap();
    let refused = world.uwf(&again);
    assert_ne!(refused.code, 0);
    refused.says("check-files.json");
    assert_eq!(fs::read(&record).unwrap(), b"{");
    fs::write(&record, recorded).unwrap();
    world.write("sub/check.sh", "exit 0 # below\n");
    world.uwf(&again).exits(0);
}
