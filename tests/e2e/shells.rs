//! What shells complete, the manual pages, and the names of commands that people of other tools try.

use std::process::Command;

use crate::world::{REVIEW, World, binary, path_with};

/// Returns what bash proposes for the last of these words, after it has run the script.
fn bash_proposes(world: &World, words: &[&str]) -> Vec<String> {
    let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
    let script = format!(
        "source <(uwf completions bash)
        COMP_WORDS=({}) COMP_CWORD={} COMP_TYPE=9
        $(complete -p uwf | sed 's/.*-F \\([^ ]*\\) .*/\\1/') uwf {}
        printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        quoted.join(" "),
        words.len() - 1,
        quoted.last().unwrap()
    );
    let mut bash: Command = world.command_of("bash");
    bash.env("PATH", path_with(binary().parent().unwrap()));
    let output = bash.args(["-c", &script]).output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    printed
        .lines()
        .map(|line| line.trim_end().to_owned())
        .filter(|line| !line.is_empty())
        .collect()
}

#[test]
fn bash_completes_commands_threads_roles_workflows_and_keys() {
    let world = World::new();
    world.put(REVIEW);
    let thread = world.start("review");
    let check = |words: &[&str], expected: &str| {
        let proposed = bash_proposes(&world, words);
        assert!(
            proposed.iter().any(|one| one == expected),
            "{words:?}: {proposed:?}"
        );
    };
    check(&["uwf", "thre"], "thread");
    check(&["uwf", "thread", "show", ""], &thread);
    check(
        &["uwf", "thread", "show", &thread[..6].to_lowercase()],
        &thread,
    );
    world.uwf(&["thread", "rename", &thread, "fix-42"]).exits(0);
    check(&["uwf", "thread", "show", "fi"], "fix-42");
    check(&["uwf", "workflow", "show", "rev"], "review");
    check(&["uwf", "config", "get", "defaultA"], "defaultAgent");
    check(&["uwf", "thread", "step", &thread, "--agent", "mo"], "mock");
    let elsewhere = world.dir().join("elsewhere");
    let elsewhere = elsewhere.to_str().unwrap();
    let none = bash_proposes(&world, &["uwf", "--root", elsewhere, "thread", "show", ""]);
    assert!(!none.contains(&thread), "{none:?}");
    assert!(!world.dir().join("elsewhere").exists());
}

#[test]
fn a_role_of_a_thread_is_completed_when_it_has_a_step() {
    let world = World::new();
    world.put(REVIEW);
    world.mock("roles: { writer: [{ output: { plan: a draft } }] }");
    let thread = world.start("review");
    world.step(&thread).exits(0);
    let proposed = bash_proposes(&world, &["uwf", "step", "show", &format!("{thread}/")]);
    assert_eq!(proposed, [format!("{thread}/writer")]);
}

#[test]
fn the_scripts_for_other_shells_call_this_program() {
    let world = World::new();
    for shell in ["zsh", "fish"] {
        let script = world.uwf(&["completions", shell]).exits(0).stdout;
        assert!(script.contains("UWF_COMPLETE"), "{script}");
    }
    world.uwf(&["completions", "csh"]).exits(2);
}

#[test]
fn there_is_a_manual_page_for_each_command() {
    let world = World::new();
    let page = world.uwf(&["man"]).exits(0).stdout;
    assert!(page.contains(".TH uwf 1"), "{page}");
    let dir = world.dir().join("man/man1");
    world.uwf(&["man", dir.to_str().unwrap()]).exits(0);
    let step = std::fs::read_to_string(dir.join("uwf-thread-step.1")).unwrap();
    for text in ["no\\\\-wait", "Examples:"] {
        let text = text.replace("\\\\", "\\");
        assert!(step.contains(&text), "{text}: {step}");
    }
    let file = world.write("a-file", "");
    world
        .uwf(&["man", file.to_str().unwrap()])
        .exits(1)
        .says("a-file");
}

#[test]
fn commands_of_other_tools_stand_for_ours() {
    let world = World::new();
    world.put(REVIEW);
    let thread = world.start("review");
    let same = |other: &[&str], ours: &[&str]| {
        let ours = world.uwf(ours).exits(0).stdout;
        assert_eq!(world.uwf(other).exits(0).stdout, ours, "{other:?}");
        assert_ne!(ours, "");
    };
    same(&["ls"], &["thread", "list"]);
    same(&["ps", "--all"], &["thread", "list", "--all"]);
    same(&["thread", "ls"], &["thread", "list"]);
    same(&["workflow", "ls"], &["workflow", "list"]);
    same(&["status"], &["thread", "list"]);
    same(&["status", &thread], &["thread", "show", &thread]);
    same(&["version"], &["--version"]);
    world.uwf(&["logs", &thread]).exits(0);
    world.uwf(&["rm", "--force", &thread]).exits(0);
    world.uwf(&["status", &thread]).exits(1);
}
