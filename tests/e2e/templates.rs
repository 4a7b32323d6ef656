//! `uwf init`: what a person copies to begin with is valid, runs to its end, and overwrites nothing.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use uwf_util::shell_words;

use crate::gates::{gated_agent, runs};
use crate::world::World;

/// Returns the names of the templates in the repository, sorted.
fn in_repository() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/templates");
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// Types a line that was proposed, and returns what it prints.
#[track_caller]
fn typed(world: &World, line: &str) -> crate::world::Run {
    let words = shell_words::split(line).unwrap();
    let args: Vec<&str> = words.iter().map(String::as_str).collect();
    assert_eq!(args[0], "uwf", "{line}");
    world.uwf(&args[1..])
}

#[test]
fn every_template_is_listed_with_what_it_is_for() {
    let world = World::new();
    let listed = world.uwf(&["init"]).exits(0).json();
    let mut names: Vec<&str> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["name"].as_str().unwrap())
        .collect();
    names.sort_unstable();
    assert_eq!(names, in_repository());
    let text = world.uwf(&["init", "--format", "text"]).exits(0).stdout;
    assert!(text.contains("hello  "), "{text}");
    assert!(text.contains("uwf init <template>"), "{text}");
    world
        .uwf(&["init", "helo"])
        .exits(2)
        .says("similar value exists: 'hello'");
    assert_eq!(fs::read_dir(world.project()).unwrap().count(), 0);
    let args = ["workflow", "list", "--format", "text"];
    let none = world.uwf(&args).exits(0).stdout;
    assert!(
        none.contains("`uwf init` writes one to begin with"),
        "{none}"
    );
}

#[test]
fn every_template_is_valid_and_runs_to_its_end_with_the_command_that_init_prints() {
    for name in in_repository() {
        let world = World::new();
        let made = world.uwf(&["init", &name]).exits(0).json();
        let file = format!("{name}.yaml");
        let valid = world.uwf(&["workflow", "validate", &file]).exits(0);
        assert_eq!(valid.stderr, "", "{name} has no warnings");
        let run = typed(&world, made["next"]["withMock"].as_str().unwrap());
        assert!([0, 6].contains(&run.code), "{name}: {}", run.stderr);
        let agent = format!("uwf-mock {name}.mock.yaml");
        // A person is asked at most once.
        if run.code == 6 {
            let args = ["thread", "resume", "@", "-p", "yes", "--agent", &agent];
            world.uwf(&args).exits(0);
        }
        let shown = world.show("@");
        assert_eq!(shown["status"], json!("completed"), "{name}");
        assert!(shown["result"].is_string(), "{name}: {shown}");
        // Every role of the workflow worked.
        let steps = world.uwf(&["thread", "steps", "@"]).exits(0).json();
        for role in valid.json()["roles"].as_array().unwrap() {
            let steps = steps["steps"].as_array().unwrap();
            let worked = steps.iter().any(|step| step["role"] == *role);
            assert!(worked, "{name}: {role}");
        }
    }
}

/// Returns the answers that a schema allows: the status, if there is one, and the fields.
fn answers(schema: &Value) -> Vec<(Option<&str>, Vec<&str>)> {
    let variants: Vec<&Value> = match schema["oneOf"].as_array() {
        Some(all) => all.iter().collect(),
        None => vec![schema],
    };
    variants.into_iter().map(answer).collect()
}

/// Returns the answer that one schema describes.
fn answer(variant: &Value) -> (Option<&str>, Vec<&str>) {
    let status = variant["properties"]["$status"]["const"].as_str();
    let names = variant["properties"].as_object().unwrap().keys();
    let names = names.map(String::as_str);
    (status, names.filter(|name| *name != "$status").collect())
}

/// Writes the template whose role `develop` plays into an empty folder, with its mock as an agent that counts its runs.
fn solve_issue() -> World {
    let world = World::new();
    world.uwf(&["init", "solve-issue"]).exits(0);
    let script = fs::read_to_string(world.project().join("solve-issue.mock.yaml"));
    gated_agent(&world, &script.unwrap());
    world
}

#[test]
fn a_template_with_a_role_that_another_workflow_plays_brings_that_workflow() {
    let world = solve_issue();
    world
        .uwf(&["workflow", "validate", "solve-issue.yaml"])
        .exits(0);
    world.uwf(&["workflow", "put", "solve-issue.yaml"]).exits(0);
    let thread = world.start("solve-issue");
    let (mut calls, mut of_develop) = (0, 0);
    loop {
        let step = world.step(&thread).exits(0).json();
        calls += 1;
        // The call that ends the child also records the step of the role.
        assert_eq!(runs(&world), calls, "{step}");
        of_develop += usize::from(step["role"] == "developer");
        match step["status"].as_str().unwrap() {
            "idle" => {}
            "suspended" => break,
            other => panic!("{other}: {step}"),
        }
    }
    // The planner, the coder twice, the reviewer twice, the tester and the committer.
    assert_eq!((calls, of_develop), (9, 7));
    let asked = world.step(&thread).exits(6);
    asked.says("Open a pull request from `fix-names-with-spaces`");
    let ended = world
        .uwf(&["thread", "resume", &thread, "-p", "yes"])
        .exits(0);
    assert_eq!(
        ended.json()["result"],
        json!("https://example.com/greet/pull/7")
    );
    assert_eq!(runs(&world), 10);
}

#[test]
fn a_run_does_all_that_a_workflow_and_the_one_that_plays_its_role_do() {
    let world = solve_issue();
    let run = ["run", "solve-issue.yaml", "-p", "greet prints nothing"];
    let asked = world.uwf(&run).exits(6).stdout;
    assert!(asked.contains("Open a pull request"), "{asked}");
    let thread = world.show("@")["thread"].as_str().unwrap().to_owned();
    let resume = ["thread", "resume", &thread, "-p", "yes"];
    assert_eq!(world.uwf(&resume).exits(0).json()["status"], "completed");
    assert_eq!(runs(&world), 10);
    let steps = world.uwf(&["thread", "steps", &thread]).exits(0).json();
    let fixed = &steps["steps"][2];
    let output = json!({
        "$status": "committed", "branch": "fix-names-with-spaces", "commit": "7d20c4f",
        "filesChanged": ["src/greet.sh", "tests/greet.sh"],
        "summary": "The name is quoted, and the test `names_with_spaces` fails without that.",
    });
    assert_eq!(fixed["output"], output);
}

#[test]
fn templates_that_share_a_file_go_into_one_folder_unless_it_was_changed() {
    for order in [["solve-issue", "develop"], ["develop", "solve-issue"]] {
        let world = World::new();
        for name in order {
            world.uwf(&["init", name]).exits(0);
        }
        assert_eq!(fs::read_dir(world.project()).unwrap().count(), 6);
        // What is there already as it should be is no obstacle.
        world.uwf(&["init", "solve-issue"]).exits(0);
    }
    let world = World::new();
    world.write("develop.yaml", "name: develop\n# mine\n");
    world
        .uwf(&["init", "solve-issue"])
        .exits(1)
        .says("develop.yaml` is there already with other content")
        .says("hint: name another folder: `uwf init solve-issue <dir>`");
    assert_eq!(fs::read_dir(world.project()).unwrap().count(), 1);
}

#[test]
fn every_field_that_a_template_asks_for_is_told_to_whoever_comes_next() {
    for name in in_repository() {
        let world = World::new();
        world.uwf(&["init", &name]).exits(0);
        let file = format!("{name}.yaml");
        let graph = world.uwf(&["workflow", "graph", &file]).exits(0).json();
        let edges = graph["edges"].as_array().unwrap();
        let text = fs::read_to_string(world.project().join(&file)).unwrap();
        let workflow: Value = serde_saphyr::from_str(&text).unwrap();
        for (role, parts) in workflow["roles"].as_object().unwrap() {
            for (status, fields) in answers(&parts["frontmatter"]) {
                let leaves = edges.iter().filter(|edge| {
                    edge["from"] == json!(role)
                        && (status.is_none() || edge["status"] == json!(status))
                });
                let leaves: Vec<&Value> = leaves.collect();
                assert!(!leaves.is_empty(), "{name}: {role}: no edge on {status:?}");
                for prompt in leaves.iter().map(|edge| edge["prompt"].as_str().unwrap()) {
                    for field in &fields {
                        let told = [format!("{{{{{field}}}}}"), format!("{{{{#{field}}}}}")];
                        let is_told = told.iter().any(|form| prompt.contains(form));
                        assert!(is_told, "{name}: {role}: {field} in {prompt}");
                    }
                }
            }
        }
    }
}

#[test]
fn every_template_has_limits_and_a_way_to_ask_a_person() {
    for name in in_repository() {
        let world = World::new();
        world.uwf(&["init", &name]).exits(0);
        let file = format!("{name}.yaml");
        let graph = world.uwf(&["workflow", "graph", &file]).exits(0).json();
        let text = fs::read_to_string(world.project().join(&file)).unwrap();
        assert!(text.contains("\nlimits:\n"), "{name}");
        let edges = graph["edges"].as_array().unwrap();
        let asks = edges.iter().any(|edge| edge["to"] == json!("$SUSPEND"));
        assert!(asks, "{name}");
    }
}

#[test]
fn the_files_go_into_a_new_folder_and_the_commands_lead_there() {
    let world = World::new();
    let args = ["init", "hello", "a b/c", "--format", "text"];
    let text = world.uwf(&args).exits(0).stdout;
    assert!(text.contains("  cd 'a b/c'\n  uwf "), "{text}");
    assert!(
        text.contains("--agent 'uwf-mock hello.mock.yaml'"),
        "{text}"
    );
    assert!(text.contains("uwf setup"), "{text}");
    let mut names: Vec<_> = fs::read_dir(world.project().join("a b/c"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["hello.md", "hello.mock.yaml", "hello.yaml"]);
}

#[test]
fn nothing_is_overwritten_and_nothing_is_written_beside_what_is_there() {
    for taken in ["hello.yaml", "hello.mock.yaml", "hello.md"] {
        let world = World::new();
        world.write(taken, "mine");
        world
            .uwf(&["init", "hello"])
            .exits(1)
            .says(&format!("{taken}` is there already"))
            .says("hint: name another folder: `uwf init hello <dir>`");
        let kept = fs::read_to_string(world.project().join(taken)).unwrap();
        assert_eq!(kept, "mine");
        assert_eq!(fs::read_dir(world.project()).unwrap().count(), 1);
    }
    // A link that leads nowhere is something, too.
    let world = World::new();
    let (link, target) = (world.project().join("hello.md"), world.dir().join("other"));
    std::os::unix::fs::symlink(&target, link).unwrap();
    world.uwf(&["init", "hello"]).exits(1);
    assert!(!target.exists());
}
