//! Artefacts: the files that an agent leaves in a folder of its attempt, and that its step keeps.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::world::{ONE_STEP, Run, World};

const ANSWER: &str = "printf -- '---\\nnote: n\\n---\\n'";

/// Does a step whose agent leaves files; returns the world, the thread and the step.
fn step_of(script: &str) -> (World, String, String) {
    let world = World::new();
    world.put(ONE_STEP);
    world.script(
        "leaves.sh",
        &format!("cd \"$UWF_ARTIFACTS\"\n{script}\n{ANSWER}"),
    );
    world.agent("uwf-command", &["--", "./leaves.sh"]);
    let thread = world.start("one");
    let run = world.step(&thread).exits(0);
    let step = run.json()["step"].as_str().unwrap().to_owned();
    (world, thread, step)
}

/// Returns path, size and problem of the artefacts of a step.
fn listed(world: &World, step: &str) -> Vec<(String, u64, Option<String>)> {
    let found = world.uwf(&["step", "artifacts", step]).exits(0).json();
    let one = |one: &Value| {
        let problem = one["problem"].as_str().map(str::to_owned);
        assert_eq!(problem.is_none(), one["node"].is_string(), "{one}");
        let path = one["path"].as_str().unwrap().to_owned();
        (path, one["bytes"].as_u64().unwrap(), problem)
    };
    found["artifacts"]
        .as_array()
        .unwrap()
        .iter()
        .map(one)
        .collect()
}

fn cat(world: &World, step: &str, path: &str) -> Vec<u8> {
    let output = world
        .command(&["step", "cat", step, path])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    output.stdout
}

#[test]
fn files_are_kept_with_the_step_and_fetched_again() {
    let (world, thread, step) = step_of(
        "printf one > a.txt; mkdir -p sub/deep empty; printf '\\000\\377x' > sub/deep/b.bin; : > none",
    );
    let kept = |path: &str, bytes| (path.to_owned(), bytes, None);
    let expected = [kept("a.txt", 3), kept("none", 0), kept("sub/deep/b.bin", 3)];
    assert_eq!(listed(&world, &step), expected);
    assert_eq!(cat(&world, &step, "sub/deep/b.bin"), b"\0\xffx");
    let text = world.uwf(&["step", "artifacts", &step, "--format", "text"]);
    assert!(text.stdout.contains("a.txt  3 B"), "{}", text.stdout);
    let read = world.uwf(&["step", "read", &step]).exits(0).stdout;
    assert!(
        read.contains("**Artefacts:** `a.txt`, `none`, `sub/deep/b.bin`"),
        "{read}"
    );
    assert!(
        !world
            .root()
            .join(format!("runs/{thread}/artifacts"))
            .exists()
    );
    world.uwf(&["cas", "gc", "--grace", "0s"]);
    world.uwf(&["cas", "verify"]).exits(0);
    assert_eq!(cat(&world, &step, "a.txt"), b"one");
}

#[test]
fn files_are_written_into_a_folder_and_replace_nothing_unless_forced() {
    let (world, _, step) = step_of("printf one > a; mkdir s; printf two > s/b");
    let export = |args: &[&str]| world.uwf(&[&["step", "export", &step], args].concat());
    let file = |path: &str| std::fs::read_to_string(world.project().join(path)).unwrap();
    let all = export(&["-o", "out"]).exits(0).json();
    assert_eq!(all["written"].as_array().unwrap().len(), 2);
    assert_eq!(
        (file("out/a"), file("out/s/b")),
        ("one".into(), "two".into())
    );
    world.write("out/a", "mine");
    export(&["-o", "out"])
        .exits(1)
        .says("`a`, `s/b` exists already in `out`")
        .says("hint: choose another folder, or replace them with `--force`");
    assert_eq!(file("out/a"), "mine");
    export(&["a", "-o", "out", "--force"]).exits(0);
    assert_eq!(file("out/a"), "one");
    export(&["s/b", "-o", "one"]).exits(0);
    assert!(!world.project().join("one/a").exists());
    // A link out of the folder is not followed.
    let away = world.project().join("away");
    std::fs::create_dir(&away).unwrap();
    std::fs::create_dir(world.project().join("linked")).unwrap();
    symlink(&away, world.project().join("linked/s")).unwrap();
    export(&["-o", "linked", "--force"])
        .exits(1)
        .says("leads out of it");
    assert!(!away.join("b").exists());
    export(&["b", "-o", "none"])
        .exits(1)
        .says("has no artefact `b`");
}

#[test]
fn no_artefact_is_written_into_the_storage_root() {
    let (world, _, step) = step_of(
        "printf x > threads.yaml; mkdir -p runs/new cas; printf x > runs/new/x; printf x > cas/x; printf x > story",
    );
    let before = world.state("threads.yaml");
    let root = world.root();
    symlink(&root, world.project().join("link")).unwrap();
    symlink(root.join("locks"), world.project().join("deep")).unwrap();
    let export = |args: &[&str]| world.uwf(&[&["step", "export", &step, "--force"], args].concat());
    for folder in [root.to_str().unwrap(), "link", "deep"] {
        for path in ["threads.yaml", "runs/new/x", "cas/x"] {
            export(&[path, "-o", folder])
                .exits(1)
                .says("belongs to the storage root")
                .says("name another");
        }
        export(&["-o", folder]).exits(1);
    }
    assert_eq!(world.state("threads.yaml"), before);
    assert!(!root.join("runs/new").exists() && !root.join("locks/cas").exists());
    export(&["story", "-o", "link"]).exits(0);
}

#[test]
fn what_cannot_be_kept_is_left_out_and_the_step_says_why() {
    let (world, thread, step) = step_of(
        "ln -s /etc/passwd link; mkfifo pipe; truncate -s 300M large; printf x > 'a\nb'\n\
         printf x > \"$(printf '\\377')\"; printf good > ok; ln -s / all",
    );
    let listed = listed(&world, &step);
    let problems: Vec<(&str, &str)> = listed
        .iter()
        .map(|(path, _, problem)| (path.as_str(), problem.as_deref().unwrap_or("")))
        .collect();
    assert_eq!(
        problems,
        [
            ("a\\nb", "its name cannot be shown as it is"),
            ("all", "it is not a regular file"),
            ("large", "a file may have 256.0 MiB at most"),
            ("link", "it is not a regular file"),
            ("ok", ""),
            ("pipe", "it is not a regular file"),
            ("\u{fffd}", "its name cannot be shown as it is"),
        ]
    );
    let said = world.state(&format!("runs/{thread}/stderr"));
    assert!(
        said.contains("warning: left out of the artefacts: "),
        "{said}"
    );
    world
        .uwf(&["step", "cat", &step, "link"])
        .exits(1)
        .says("`link` was not kept: it is not a regular file");
    world.uwf(&["step", "export", &step, "-o", "out"]).exits(0);
    assert_eq!(
        std::fs::read_dir(world.project().join("out"))
            .unwrap()
            .count(),
        1
    );
}

#[test]
fn a_step_keeps_a_thousand_files_and_none_with_a_secret() {
    let world = World::new();
    world.put(ONE_STEP);
    world.script(
        "leaves.sh",
        &format!(
            "cd \"$UWF_ARTIFACTS\"\nprintf 'my %s' \"$(printf %s \"$TOKEN\" | base64)\" > 0000\n\
             i=1; while [ $i -le 1004 ]; do printf %s $i > $(printf %04d $i); i=$((i+1)); done\n{ANSWER}"
        ),
    );
    world.agent("uwf-command", &["--", "./leaves.sh"]);
    std::fs::write(world.root().join(".env"), "TOKEN=s3cr3tvalue\n").unwrap();
    world.configure("agents.default.secrets", "[\"TOKEN\"]");
    let thread = world.start("one");
    let step = world.step(&thread).exits(0).json()["step"].clone();
    let listed = listed(&world, step.as_str().unwrap());
    assert_eq!(listed.len(), 1001);
    assert_eq!(listed[0].2.as_deref(), Some("it has a secret of the agent"));
    assert_eq!(listed[999], ("0999".to_owned(), 3, None));
    let last = listed[1000].2.as_deref().unwrap();
    assert!(
        last.starts_with("a step keeps 1000 files at most"),
        "{last}"
    );
}

#[test]
fn a_secret_at_the_end_of_a_file_or_in_a_path_keeps_the_file_out() {
    let world = World::new();
    world.put(ONE_STEP);
    let script = "cd \"$UWF_ARTIFACTS\"; mkdir \"in-$SHORT\"; touch \"in-$SHORT/file\"
        printf \"the key is $SHORT\" > ends; printf 'YWJjMTIz' > base64; printf 'abc12' > none\n";
    world.script("leaves.sh", &format!("{script}{ANSWER}"));
    world.agent("uwf-command", &["--", "./leaves.sh"]);
    world.configure("agents.default.secrets", r#"["SHORT", "LONG"]"#);
    let env = "SHORT=abc123\nLONG=abc123-dev\n";
    std::fs::write(world.root().join(".env"), env).unwrap();
    let thread = world.start("one");
    let step = world.step(&thread).exits(0).json()["step"].clone();
    let has_secret = |path: &str, what: &str| {
        let problem = Some(format!("{what} has a secret of the agent"));
        (path.to_owned(), 0, problem)
    };
    let mut files = listed(&world, step.as_str().unwrap());
    files.sort();
    let expected = [
        has_secret("base64", "it"),
        has_secret("ends", "it"),
        has_secret("in-***/file", "its name"),
        ("none".to_owned(), 5, None),
    ];
    assert_eq!(files, expected);
}

#[test]
fn a_failed_attempt_leaves_nothing_for_the_next_one() {
    let world = World::new();
    world.put(ONE_STEP);
    world.script(
        "leaves.sh",
        &format!(
            "ls \"$UWF_ARTIFACTS\" >> seen; printf x > \"$UWF_ARTIFACTS/a$(wc -l < tried 2>/dev/null)\"\n\
             [ -e tried ] || {{ echo >> tried; exit 4; }}\n{ANSWER}"
        ),
    );
    world.agent("uwf-command", &["--", "./leaves.sh"]);
    let thread = world.start("one");
    world.step(&thread).exits(3);
    let step = world.step(&thread).exits(0).json()["step"].clone();
    assert_eq!(
        listed(&world, step.as_str().unwrap()),
        [("a1".to_owned(), 1, None)]
    );
    assert_eq!(
        std::fs::read_to_string(world.project().join("seen")).unwrap(),
        ""
    );
}

#[test]
fn a_step_without_artefacts_is_what_it_was() {
    let (world, _, step) = step_of("");
    assert_eq!(listed(&world, &step), []);
    let text = world.uwf(&["step", "artifacts", &step, "--format", "text"]);
    assert_eq!(text.stdout.trim(), "no artefacts");
    let node = world.uwf(&["cas", "get", &step]).exits(0).json();
    let detail = node["payload"]["detail"].as_str().unwrap().to_owned();
    let detail = world.uwf(&["cas", "get", &detail]).exits(0).json();
    assert_eq!(detail["type"], json!("BVC993YSEPJZD"));
    world
        .uwf(&["step", "cat", &step, "x"])
        .exits(1)
        .says(&format!("hint: `uwf step artifacts {step}` lists"));
}

#[test]
fn artefacts_travel_with_their_thread() {
    let (world, thread, step) = step_of("printf one > a");
    world
        .uwf(&["thread", "export", &thread, "-o", "all.tar"])
        .exits(0);
    let other = world.dir().join("other");
    let at_other = |args: &[&str]| -> Run {
        let mut command: Command = world.command(args);
        command
            .env("UWF_STORAGE_ROOT", Path::new(&other))
            .output()
            .unwrap()
            .into()
    };
    at_other(&["thread", "import", "all.tar"]).exits(0);
    assert_eq!(
        at_other(&["step", "cat", &step, "a"]).exits(0).stdout,
        "one"
    );
}
