//! The example of the manual and its tutorial: both run as they stand there.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::readme::every_command_prints_what_is_said;
use crate::world::World;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn every_command_of_the_tutorial_prints_what_it_says() {
    let world = World::new();
    let examples = repository().join("examples").canonicalize().unwrap();
    symlink(examples, world.project().join("examples")).unwrap();
    let path = repository().join("docs/orchestrate-tutorial.md");
    every_command_prints_what_is_said(&path, 10, &world);
}

#[test]
fn the_tutorial_shows_the_pipeline_of_the_example() {
    let read = |name: &str| fs::read_to_string(repository().join(name)).unwrap();
    let pipeline = read("examples/orchestrate/reviews.yaml");
    let tutorial = read("docs/orchestrate-tutorial.md");
    assert!(tutorial.contains(&format!("```yaml\n{pipeline}```\n")));
}

#[test]
fn every_example_of_a_pipeline_is_valid_without_a_warning() {
    let world = World::new();
    let mut count = 0;
    for entry in fs::read_dir(repository().join("examples/orchestrate")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|ending| ending == "yaml") {
            let args = ["orchestrate", "validate", path.to_str().unwrap()];
            assert_eq!(world.uwf(&args).exits(0).stderr, "");
            count += 1;
        }
    }
    assert!(count > 0);
}
