//! The recipes of docs/adapters.md, each run with a stand-in for its program.

use std::path::Path;

use crate::acp::TWICE;
use crate::world::{ONE_STEP, Run, World, path_with};

/// What a stand-in does: it keeps its arguments and its prompt, and answers as wordily as programs do.
const STAND_IN: &str = r#"printf '%s\n' "$@" > argv
for last; do :; done
if [ -f "$last" ]; then cat "$last" > asked; else cat > asked; fi
echo 'Stand-in v1'
printf -- '---\nnote: n\n---\n\nDone.\n\nTokens: 1k sent, 9 received.\n'"#;

/// A line of the table.
struct Recipe {
    program: String,
    args: Vec<String>,
    checked: String,
}

fn docs() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/adapters.md");
    std::fs::read_to_string(path).unwrap()
}

fn recipes() -> Vec<Recipe> {
    let text = docs();
    let (_, section) = text.split_once("\n## Recipes\n").unwrap();
    let rows = section.lines().filter(|line| line.contains("`[\"--\""));
    let recipe = |row: &str| {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let [program, args, checked] = cells[..] else {
            panic!("three cells are expected: {row}");
        };
        Recipe {
            program: program.to_owned(),
            args: serde_json::from_str(args.trim_matches('`')).unwrap(),
            checked: checked.to_owned(),
        }
    };
    rows.map(recipe).collect()
}

/// Does a step by a recipe and returns what its program was called with.
fn run(recipe: &Recipe) -> Vec<String> {
    let world = World::new();
    let program = &recipe.args[1];
    match program.as_str() {
        "sh" => drop(world.script("roles/writer.sh", STAND_IN)),
        program => drop(world.script(&format!("bin/{program}"), STAND_IN)),
    }
    world.agent(
        "uwf-command",
        &recipe.args.iter().map(String::as_str).collect::<Vec<_>>(),
    );
    world.put(ONE_STEP);
    let thread = world.start("one");
    let mut command = world.command(&["thread", "step", &thread]);
    command.env("PATH", path_with(&world.project().join("bin")));
    Run::from(command.output().unwrap()).exits(0);
    let left = |name: &str| std::fs::read_to_string(world.project().join(name)).unwrap();
    assert!(
        left("asked").starts_with("## Deliverable"),
        "{}",
        recipe.program
    );
    left("argv").lines().map(str::to_owned).collect()
}

#[test]
fn every_recipe_does_a_step_and_says_how_far_it_was_checked() {
    let recipes = recipes();
    assert!(recipes.len() >= 4, "{}", recipes.len());
    for recipe in &recipes {
        assert!(!recipe.checked.is_empty(), "{}", recipe.program);
        let argv = run(recipe);
        let fixed = recipe.args[2..].iter().filter(|arg| !arg.contains('{'));
        for arg in fixed {
            assert!(
                argv.contains(arg),
                "{}: {arg} is not in {argv:?}",
                recipe.program
            );
        }
    }
}

#[test]
fn aider_installs_fetches_and_changes_nothing_by_itself() {
    let recipes = recipes();
    let aider = recipes.iter().find(|one| one.program == "aider").unwrap();
    let argv = run(aider);
    for option in [
        "--no-show-release-notes",
        "--no-show-model-warnings",
        "--no-detect-urls",
        "--no-gitignore",
        "--no-suggest-shell-commands",
        "--no-check-update",
        "--no-auto-commits",
        "--analytics-disable",
    ] {
        assert!(
            argv.iter().any(|arg| arg == option),
            "{option} is not in {argv:?}"
        );
    }
}

/// Returns what follows a mark in docs/adapters.md, up to an end.
fn documented(mark: &str, end: &str) -> String {
    let docs = docs();
    let (_, rest) = docs.split_once(mark).unwrap();
    rest.split_once(end).unwrap().0.to_owned()
}

/// Sets an agent as the docs do, over their script and a stand-in for its program, which answers badly once.
fn with_session(program: &str) -> World {
    let world = World::new();
    world.put(TWICE);
    let script = documented(&format!("```sh\n# {program}.sh\n"), "```");
    let script = world.script(&format!("{program}.sh"), &script);
    let stand_in = r#"printf '%s\n' "$*" >> called
for last; do case $last in *-writer.*) log=$last ;; esac; done
cat >> "$log"
if [ -e answered ]; then printf -- '---\n$status: again\nnote: n\n---\n'; else echo nothing; touch answered; fi"#;
    world.script(&format!("bin/{program}"), stand_in);
    let args = documented(
        &format!("\n  {program}:\n    command: uwf-command\n    args: "),
        "\n",
    );
    let args: Vec<String> = serde_json::from_str(&args).unwrap();
    let folder = script.parent().unwrap().to_str().unwrap();
    let args: Vec<String> = args
        .iter()
        .map(|arg| arg.replace("/path/to", folder))
        .collect();
    world.agent(
        "uwf-command",
        &args.iter().map(String::as_str).collect::<Vec<_>>(),
    );
    world
}

#[test]
fn llm_and_aider_go_on_with_a_session_by_the_scripts_of_the_docs() {
    for (program, goes_on, log) in [
        ("llm", "-c -d", "llm-writer.db"),
        ("aider", "--restore-chat-history", "aider-writer.md"),
    ] {
        let world = with_session(program);
        let thread = world.start("twice");
        let step = || {
            let mut command = world.command(&["thread", "step", &thread]);
            command.env("PATH", path_with(&world.project().join("bin")));
            Run::from(command.output().unwrap()).exits(0)
        };
        step();
        step();
        let called = || std::fs::read_to_string(world.project().join("called")).unwrap();
        let calls = called();
        let calls: Vec<&str> = calls.lines().collect();
        // The first answer was corrected in the session, and the second visit went on with it.
        assert_eq!(calls.len(), 3, "{calls:?}");
        assert!(calls[1].contains(goes_on), "{calls:?}");
        assert!(calls[2].contains(goes_on), "{calls:?}");
        assert!(calls.iter().all(|call| call.contains(log)), "{calls:?}");
        let file = world.root().join("runs").join(&thread).join(log);
        std::fs::remove_file(file).unwrap();
        step();
        let calls = called();
        assert_eq!(calls.lines().count(), 4, "{calls}");
    }
}
