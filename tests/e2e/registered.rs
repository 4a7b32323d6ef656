//! The names of workflows: what they mean, what they meant before, and the way back. And workflows as files again.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::formats::demo;
use crate::gc::age_all;
use crate::golden::Transcript;
use crate::world::{ONE_STEP, REVIEW, Run, World, fixture};

/// Runs a command with this standard input.
fn fed(world: &World, args: &[&str], input: &str) -> Run {
    let path = world.dir().join("input");
    fs::write(&path, input).unwrap();
    let mut command = world.command(args);
    Run::from(command.stdin(File::open(path).unwrap()).output().unwrap())
}

/// A world in which `one` stood for two workflows; returns both, the older one first.
fn two_versions() -> (World, String, String) {
    let world = World::new();
    let old = world.put(ONE_STEP);
    let new = world.put(&changed(ONE_STEP));
    assert_ne!(old, new);
    (world, old, new)
}

/// Returns the workflow with another goal.
fn changed(yaml: &str) -> String {
    let changed = yaml.replacen("goal: ", "goal: NOW ", 1);
    assert_ne!(changed, yaml);
    changed
}

fn registered(world: &World) -> String {
    world.state("registry.yaml")
}

fn history(world: &World, name: &str) -> Value {
    world.uwf(&["workflow", "history", name]).exits(0).json()
}

/// Returns what a name stood for, oldest first.
fn hashes(world: &World, name: &str) -> Vec<Value> {
    let history = history(world, name);
    let versions = history["versions"].as_array().unwrap().iter();
    versions.map(|version| version["hash"].clone()).collect()
}

/// Returns all files below a folder whose names end in `.yaml`.
fn yaml_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            yaml_files(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "yaml") {
            found.push(path);
        }
    }
}

#[test]
fn a_workflow_is_put_from_standard_input_under_the_name_that_it_says() {
    let world = World::new();
    let hash = world.put(ONE_STEP);
    let put = fed(&world, &["workflow", "put", "-"], ONE_STEP).exits(0);
    assert_eq!(put.json(), json!({ "name": "one", "hash": hash }));
    let valid = fed(&world, &["workflow", "validate", "-"], REVIEW).exits(0);
    assert_eq!(valid.json()["name"], json!("review"));
    let like_a_file = ONE_STEP.replace("name: one", "name: one.yaml");
    fed(&world, &["workflow", "put", "-"], &like_a_file)
        .exits(1)
        .says("<stdin>:")
        .says("`one.yaml` looks like a file");
    assert_eq!(registered(&world), format!("one: {hash}\n"));
}

#[test]
fn every_workflow_of_the_repository_is_exported_and_registered_again_as_the_same() {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    yaml_files(&repository.join("examples"), &mut files);
    yaml_files(&fixture("workflows"), &mut files);
    let mut seen = BTreeSet::new();
    for file in files {
        let world = World::new();
        let put = world.uwf(&["workflow", "put", file.to_str().unwrap()]);
        if put.code != 0 {
            continue;
        }
        let put = put.json();
        let name = put["name"].as_str().unwrap();
        let path = world.dir().join(format!("{name}.yaml"));
        let path = path.to_str().unwrap();
        let export = ["workflow", "export", name, "-o", path];
        let said = world.uwf(&export).exits(0).stderr;
        // Only the workflows that play its roles are worth a word.
        assert!(!said.contains("warning"), "{said}");
        let again = world.uwf(&["workflow", "put", path]).exits(0).json();
        assert_eq!(again["hash"], put["hash"], "{}", file.display());
        // The same by its hash, through a pipe.
        let printed = world.uwf(&["workflow", "export", put["hash"].as_str().unwrap()]);
        let again = fed(&world, &["workflow", "put", "-"], &printed.exits(0).stdout);
        assert_eq!(again.exits(0).json()["hash"], put["hash"]);
        seen.insert(name.to_owned());
    }
    assert!(seen.len() >= 10, "{seen:?}");
    assert!(seen.contains("debate"), "a list with conditions: {seen:?}");
}

#[test]
fn texts_that_are_hard_to_write_are_exported_exactly() {
    let world = World::new();
    for (number, text) in [
        "a\n\n\n",
        "  a\n b",
        "\n\na",
        "a \n",
        "a\tb\n\tc",
        "yes",
        "# a",
        "a: b",
        "'",
        "\"",
        "é\u{85}\n",
        "---\na",
        "{{a}}",
        "!include x.yaml",
        "1e3",
        "a\r\nb",
        "word ".repeat(60).as_str(),
    ]
    .iter()
    .enumerate()
    {
        let yaml = format!(
            "name: hard\nroles:\n  a:\n    goal: {goal}\n    procedure: {goal}\n    frontmatter: {{ type: object, description: {goal} }}\ngraph:\n  $START: {{ _: {{ role: a, prompt: go }} }}\n  a: {{ _: {{ role: $END, prompt: {goal} }} }}\n",
            goal = json!(text)
        );
        let put = fed(&world, &["workflow", "put", "-"], &yaml);
        if put.code != 0 {
            // It is no template.
            assert!(text.contains("{{"), "{number}: {}", put.stderr);
            continue;
        }
        let printed = world.uwf(&["workflow", "export", "hard"]).exits(0);
        assert_eq!(printed.stderr, "", "{text:?}");
        let again = fed(&world, &["workflow", "put", "-"], &printed.stdout);
        assert_eq!(
            again.exits(0).json()["hash"],
            put.json()["hash"],
            "{text:?}"
        );
    }
}

#[test]
fn an_export_warns_if_the_file_has_another_name_than_the_workflow() {
    let world = World::new();
    world.put(ONE_STEP);
    world
        .uwf(&["workflow", "export", "one", "-o", "two.yaml"])
        .exits(0)
        .says("`uwf workflow put` wants `one.yaml`");
    let data = world.uwf(&["workflow", "export", "one", "--format", "json"]);
    assert_eq!(data.exits(0).json()["name"], json!("one"));
}

#[test]
fn a_name_means_the_nearest_file_and_hides_the_others_and_the_registry() {
    let world = World::new();
    let hash = world.put(ONE_STEP);
    world.put(REVIEW);
    fs::create_dir_all(world.project().join(".git")).unwrap();
    let outer = world.write(".workflow/one.yaml", &changed(ONE_STEP));
    let inner = world.write("sub/.workflows/one/index.yaml", ONE_STEP);
    let broken = world.write("sub/.workflows/one/index.yml", "name: [");
    let mut command = world.command(&["workflow", "which", "one"]);
    let command = command.current_dir(world.project().join("sub"));
    let found = Run::from(command.output().unwrap()).exits(0).json();
    assert_eq!(
        found["used"],
        json!({ "origin": "local", "path": inner, "hash": hash })
    );
    let hidden = found["hidden"].as_array().unwrap();
    let paths: Vec<&Value> = hidden.iter().map(|one| &one["path"]).collect();
    let registry = world.root().join("registry.yaml");
    assert_eq!(json!(paths), json!([broken, outer, registry]));
    assert_eq!(hidden[0]["hash"], json!(null));
    assert_eq!(hidden[2]["origin"], json!("global"));
    world
        .uwf(&["workflow", "which", "reviwe"])
        .exits(1)
        .says("hint: did you mean `review`?");
}

#[test]
fn a_file_of_the_project_is_compared_with_the_registered_workflow() {
    let world = World::new();
    let hash = world.put(ONE_STEP);
    world
        .uwf(&["workflow", "diff", "one"])
        .exits(1)
        .says("no file of this project is the workflow `one`")
        .says("hint: name both: `uwf workflow diff one ");
    let file = world.write(".workflow/one.yaml", &changed(ONE_STEP));
    let diff = world.uwf(&["workflow", "diff", "one"]).exits(0).json();
    assert_eq!(diff["before"], json!({ "name": "one", "hash": hash }));
    assert_eq!(diff["after"]["path"], json!(file));
    let roles = json!([{ "role": "writer", "change": "changed", "fields": ["goal"] }]);
    assert_eq!(diff["diff"]["roles"], roles);
    let of_path = world.uwf(&["workflow", "diff", file.to_str().unwrap()]);
    assert_eq!(of_path.exits(0).json()["diff"], diff["diff"]);
    // Nothing was stored.
    let after = diff["after"]["hash"].as_str().unwrap();
    world.uwf(&["workflow", "show", after]).exits(1);
    let same = world.uwf(&["workflow", "diff", &hash, "one", "--format", "text"]);
    assert!(same.exits(0).stdout.contains("~ role writer: goal"));
    let same = ["workflow", "diff", &hash, &hash, "--format", "text"];
    assert!(
        world
            .uwf(&same)
            .exits(0)
            .stdout
            .ends_with("\nthe same workflow\n")
    );
}

#[test]
fn a_name_goes_back_to_what_it_stood_for() {
    let (world, old, new) = two_versions();
    // To register the same again is no change.
    world.put(&changed(ONE_STEP));
    assert_eq!(hashes(&world, "one"), [json!(old), json!(new)]);
    let back = world.uwf(&["workflow", "rollback", "one"]).exits(0).json();
    assert_eq!(back, json!({ "name": "one", "hash": old, "before": new }));
    assert_eq!(registered(&world), format!("one: {old}\n"));
    let history = history(&world, "one");
    assert_eq!(history["current"], json!(old));
    let last = &history["versions"][2];
    assert_eq!(last["action"], json!("rollback"));
    assert_eq!(
        (&last["number"], &last["current"]),
        (&json!(3), &json!(true))
    );
    // Without a word, two rollbacks undo each other.
    world.uwf(&["workflow", "rollback", "one"]).exits(0);
    assert_eq!(registered(&world), format!("one: {new}\n"));
    world.uwf(&["workflow", "rollback", "one", "1"]).exits(0);
    assert_eq!(registered(&world), format!("one: {old}\n"));
    let begin = new[..6].to_lowercase();
    world.uwf(&["workflow", "rollback", "one", &begin]).exits(0);
    assert_eq!(registered(&world), format!("one: {new}\n"));
    world
        .uwf(&["workflow", "rollback", "one", "77"])
        .exits(1)
        .says("the name `one` never stood for a version `77`")
        .says("hint: `uwf workflow history one` lists its versions");
}

#[test]
fn threads_of_a_removed_name_go_on_and_the_name_comes_back() {
    let (world, old, new) = two_versions();
    world.mock("roles:\n  writer:\n    - output: { note: n }\n");
    let thread = world.start("one");
    fs::remove_file(world.project().join("one.yaml")).unwrap();
    let removed = world.uwf(&["workflow", "rm", "one"]).exits(0).json();
    assert_eq!(removed, json!({ "name": "one", "hash": new }));
    assert_eq!(registered(&world), "{}\n");
    world.uwf(&["workflow", "show", "one"]).exits(1);
    world
        .uwf(&["workflow", "rm", "one"])
        .exits(1)
        .says("workflow `one` was not found");
    world.step(&thread).exits(0);
    assert_eq!(hashes(&world, "one"), [json!(old), json!(new), json!(null)]);
    assert_eq!(history(&world, "one")["current"], json!(null));
    world.uwf(&["workflow", "rollback", "one"]).exits(0);
    assert_eq!(registered(&world), format!("one: {new}\n"));
    world.uwf(&["doctor"]).exits(0);
}

#[test]
fn a_name_is_removed_between_others_and_nothing_counts_as_lost() {
    let world = World::new();
    let one = world.put(ONE_STEP);
    let review = world.put(REVIEW);
    // What is left is the beginning of what was there.
    world.uwf(&["workflow", "rm", "review"]).exits(0);
    assert_eq!(registered(&world), format!("one: {one}\n"));
    world.uwf(&["workflow", "list"]).exits(0);
    world.uwf(&["workflow", "rollback", "review"]).exits(0);
    assert_eq!(
        registered(&world),
        format!("one: {one}\nreview: {review}\n")
    );
}

#[test]
fn whoever_reads_while_a_name_is_removed_sees_no_loss() {
    let world = World::new();
    world.put(ONE_STEP);
    world.put(REVIEW);
    std::thread::scope(|scope| {
        let changes = scope.spawn(|| {
            for _ in 0..15 {
                world.uwf(&["workflow", "rm", "review"]).exits(0);
                world.uwf(&["workflow", "rollback", "review"]).exits(0);
            }
        });
        while !changes.is_finished() {
            let listed = world.uwf(&["workflow", "list"]).exits(0).json();
            assert!([1, 2].contains(&listed.as_array().unwrap().len()));
        }
    });
}

#[test]
fn a_name_of_another_program_is_not_removed() {
    let world = World::new();
    let hash = world.put(ONE_STEP);
    world.uwf(&["workflow", "rm", "one"]).exits(0);
    let foreign = world.root().join("workflows.yaml");
    fs::write(&foreign, format!("one: {hash}\n")).unwrap();
    world
        .uwf(&["workflow", "rm", "one"])
        .exits(1)
        .says("`workflows.yaml`, which other programs write");
    assert_eq!(
        fs::read_to_string(foreign).unwrap(),
        format!("one: {hash}\n")
    );
}

#[test]
fn without_its_history_a_name_stands_for_its_workflow_and_the_next_one_is_on_record() {
    let (world, old, new) = two_versions();
    let path = world.root().join("registry.history.jsonl");
    fs::remove_file(&path).unwrap();
    assert_eq!(registered(&world), format!("one: {new}\n"));
    assert_eq!(hashes(&world, "one"), [json!(new)]);
    world
        .uwf(&["workflow", "rollback", "one"])
        .exits(1)
        .says("the name `one` has no earlier version");
    // As after an older version of the program: what is replaced gets on record first.
    world.put(ONE_STEP);
    assert_eq!(hashes(&world, "one"), [json!(new), json!(old)]);
    assert_eq!(
        history(&world, "one")["versions"][0]["timestamp"],
        json!(null)
    );
    world.uwf(&["workflow", "rollback", "one"]).exits(0);
    assert_eq!(registered(&world), format!("one: {new}\n"));
}

#[test]
fn a_damaged_line_of_the_history_is_counted_and_damages_nothing_else() {
    let (world, old, new) = two_versions();
    let path = world.root().join("registry.history.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("{text}{{\"name\":\"one\"")).unwrap();
    assert_eq!(history(&world, "one")["unreadable"], json!(1));
    world.uwf(&["workflow", "rollback", "one"]).exits(0);
    assert_eq!(hashes(&world, "one"), [json!(old), json!(new), json!(old)]);
    let text = world.uwf(&["workflow", "history", "one", "--format", "text"]);
    assert!(
        text.exits(0)
            .stdout
            .contains("1 line of `registry.history.jsonl` cannot be read")
    );
}

#[test]
fn the_collector_keeps_what_a_name_may_go_back_to_and_misses_nothing_that_is_gone() {
    let (world, old, _) = two_versions();
    age_all(&world, 60 * 24 * 60 * 60);
    world.uwf(&["cas", "gc"]).exits(0);
    let uses = world.uwf(&["cas", "which", &old]).exits(0).json();
    assert_eq!(uses["reachable"], json!(true));
    assert_eq!(uses["earlier"], json!([{ "name": "one", "hash": old }]));
    assert_eq!(uses["workflows"], json!([]));
    world.uwf(&["workflow", "rollback", "one"]).exits(0);
    world.uwf(&["workflow", "rollback", "one"]).exits(0);
    // Without the history, nothing needs the old one.
    let path = world.root().join("registry.history.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    fs::remove_file(&path).unwrap();
    age_all(&world, 60 * 24 * 60 * 60);
    world.uwf(&["cas", "gc"]).exits(0);
    world.uwf(&["workflow", "show", &old]).exits(1);
    // A version that is gone is no damage, and nobody goes back to it.
    fs::write(&path, text).unwrap();
    world.uwf(&["cas", "verify"]).exits(0);
    world.uwf(&["cas", "gc"]).exits(0);
    world.uwf(&["workflow", "rollback", "one"]).exits(4);
    assert!(!registered(&world).contains(&old));
}

#[test]
fn names_of_workflows() {
    let world = demo("roles: {}\n");
    let mut transcript = Transcript::of(&world);
    let yaml = fs::read_to_string(world.project().join("demo.yaml")).unwrap();
    world.put(&changed(&yaml));
    transcript.show(&["workflow", "which", "demo"]);
    transcript.show(&["workflow", "diff", "FMY62H9Z46AAV", "demo"]);
    transcript.show_each([&["workflow", "rollback", "demo"]; 3]);
    transcript.show(&["workflow", "history", "demo"]);
    transcript.say(&["workflow", "export", "demo"]);
    transcript.say(&["workflow", "rm", "demo"]);
    transcript.say(&["workflow", "rm", "demo"]);
    transcript.say(&["workflow", "rollback", "demo", "99"]);
    transcript.say(&["workflow", "diff", "demo"]);
    transcript.matches("names-of-workflows");
}

#[test]
fn a_registration_says_which_version_it_replaced() {
    let world = World::new();
    let put = |yaml: &str, options: &[&str]| {
        let args = [&["workflow", "put", "-"], options].concat();
        fed(&world, &args, yaml).exits(0)
    };
    let old = put(ONE_STEP, &[]).json();
    assert_eq!(old.get("was"), None, "it is new");
    assert_eq!(put(ONE_STEP, &[]).json(), old, "it is as before");
    let new = put(&changed(ONE_STEP), &[]).json();
    assert_eq!(new["was"], old["hash"]);
    let text = put(ONE_STEP, &["--format", "text"]).stdout;
    let (old, new) = (old["hash"].as_str(), new["hash"].as_str());
    assert_eq!(
        text,
        format!("{}  one  (was {})\n", old.unwrap(), new.unwrap())
    );
}
