//! The password of a remote, and the keys in `.env`, are for `uwf` itself: agents neither get nor show them.

use std::fs;
use std::path::Path;

use crate::worktrees::{self, git};
use crate::world::{ONE_STEP, Run, World};

const PASSWORD: &str = "open-sesame-1";

/// Answers with what it gets as the password, and with the password itself.
const TELLS: &str = "printf -- '---\\nnote: \"got:%s knows:%s\"\\n---\\n' \"$UWF_REMOTE_PASSWORD\" \"$(cat known)\"";

/// A world whose agent tells the password, which it may know from elsewhere.
fn world() -> (World, String) {
    let world = World::new();
    world.put(ONE_STEP);
    let tells = world.script("tells.sh", TELLS);
    world.agent("uwf-command", &["--", tells.to_str().unwrap()]);
    world.write("known", "nothing");
    let thread = world.start("one");
    (world, thread)
}

fn in_file(world: &World) {
    let text = format!("UWF_REMOTE_PASSWORD={PASSWORD}\n");
    fs::write(world.root().join(".env"), text).unwrap();
}

/// Does a step whose engine has the password in its environment, and returns the answer.
#[track_caller]
fn told_with_variable(world: &World, thread: &str) -> String {
    let mut step = world.command(&["thread", "step", thread]);
    let step = step.env("UWF_REMOTE_PASSWORD", PASSWORD).output().unwrap();
    Run::from(step).exits(0);
    told(world, thread)
}

fn told(world: &World, thread: &str) -> String {
    let read = world.uwf(&["thread", "read", thread]).exits(0).stdout;
    let begin = read.find("got:").unwrap();
    read[begin..].split(['"', '\n']).next().unwrap().to_owned()
}

#[track_caller]
fn assert_free(folder: &Path) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            assert_free(&path);
        } else if path.file_name().unwrap() != ".env" {
            let bytes = fs::read(&path).unwrap();
            let text = String::from_utf8_lossy(&bytes).into_owned();
            assert!(!text.contains(PASSWORD), "{}: {text}", path.display());
        }
    }
}

#[test]
fn an_agent_does_not_get_the_password_of_the_remote() {
    let (world, thread) = world();
    assert_eq!(told_with_variable(&world, &thread), "got: knows:nothing");
    let (world, thread) = self::world();
    in_file(&world);
    world.step(&thread).exits(0);
    assert_eq!(told(&world, &thread), "got: knows:nothing");
}

#[test]
fn an_agent_whose_secrets_name_the_password_gets_it_and_does_not_show_it() {
    let (world, thread) = world();
    world.configure("agents.default.secrets", r#"["UWF_REMOTE_PASSWORD"]"#);
    assert_eq!(told_with_variable(&world, &thread), "got:*** knows:nothing");
    assert_free(&world.root());
}

#[test]
fn the_password_of_the_remote_is_masked_though_nobody_calls_it_a_secret() {
    let (world, thread) = world();
    world.write("known", PASSWORD);
    in_file(&world);
    world.step(&thread).exits(0);
    assert_eq!(told(&world, &thread), "got: knows:***");
    assert_free(&world.root());
}

#[test]
fn an_agent_does_not_get_the_key_of_an_object_storage_from_the_file_unless_it_names_it() {
    let tells = TELLS.replace("UWF_REMOTE_PASSWORD", "AZURE_STORAGE_ACCOUNT_KEY");
    for (secrets, expected) in [
        (None, "got: knows:nothing"),
        (
            Some(r#"["AZURE_STORAGE_ACCOUNT_KEY"]"#),
            "got:*** knows:nothing",
        ),
    ] {
        let (world, thread) = world();
        world.script("tells.sh", &tells);
        if let Some(secrets) = secrets {
            world.configure("agents.default.secrets", secrets);
        }
        let text = format!("AZURE_STORAGE_ACCOUNT_KEY={PASSWORD}\n");
        fs::write(world.root().join(".env"), text).unwrap();
        world.step(&thread).exits(0);
        assert_eq!(told(&world, &thread), expected);
        assert_free(&world.root());
    }
}

#[test]
fn the_keys_of_an_object_storage_are_masked_though_nobody_calls_them_secrets() {
    for name in [
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
        "AZURE_STORAGE_ACCOUNT_KEY",
    ] {
        let tells = TELLS.replace("UWF_REMOTE_PASSWORD", name);
        // The agent knows it from the file of the root, or inherits it.
        let (world, thread) = world();
        world.script("tells.sh", &tells);
        world.write("known", PASSWORD);
        let text = format!("{name}={PASSWORD}\n");
        fs::write(world.root().join(".env"), text).unwrap();
        world.step(&thread).exits(0);
        assert_eq!(told(&world, &thread), "got: knows:***", "{name}");
        assert_free(&world.root());
        let (world, thread) = self::world();
        world.script("tells.sh", &tells);
        let mut step = world.command(&["thread", "step", &thread]);
        let step = step.env(name, PASSWORD).output().unwrap();
        Run::from(step).exits(0);
        assert_eq!(told(&world, &thread), "got:*** knows:nothing", "{name}");
        assert_free(&world.root());
    }
}

#[test]
fn a_command_of_a_pipeline_does_not_get_the_password_unless_the_pipeline_names_it() {
    for (secrets, expected) in [("", ""), ("secrets: [UWF_REMOTE_PASSWORD]\n", PASSWORD)] {
        let world = World::new();
        let pipeline = format!(
            "version: \"1.1.1\"\nname: p\n{secrets}steps:\n  - name: A\n    command: [sh, -c, 'printf %s \"$UWF_REMOTE_PASSWORD\" > got']\n"
        );
        world.write("p.yaml", &pipeline);
        let mut run = world.command(&["orchestrate", "run", "p.yaml"]);
        let run = run.env("UWF_REMOTE_PASSWORD", PASSWORD).output().unwrap();
        Run::from(run).exits(0);
        let got = fs::read_to_string(world.project().join("got")).unwrap();
        assert_eq!(got, expected);
    }
}

#[test]
fn a_filter_of_a_repository_does_not_get_the_password_of_the_remote() {
    let world = worktrees::world();
    world.write(".gitattributes", "sub/* filter=tells\n");
    git(&world, &["add", ".gitattributes"]);
    git(&world, &["commit", "--quiet", "--message=filtered"]);
    let log = world.dir().join("filter.log");
    let tells = format!(
        "echo \"got:$UWF_REMOTE_PASSWORD\" >> {}; cat",
        log.display()
    );
    git(&world, &["config", "filter.tells.smudge", &tells]);
    let thread = world.start("again");
    let mut step = world.command(&["thread", "step", &thread]);
    let step = step.env("UWF_REMOTE_PASSWORD", PASSWORD).output().unwrap();
    Run::from(step).exits(0);
    let logged = fs::read_to_string(log).unwrap();
    assert_eq!(logged.lines().collect::<Vec<_>>(), ["got:"]);
}
