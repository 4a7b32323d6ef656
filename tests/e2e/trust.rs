//! The config of a project names programs, so it is used only as the user has seen it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use serde_json::{Value, json};

use crate::pty::Terminal;
use crate::world::{ONE_STEP, Run, World};

const NOTE: &str = "roles:\n  writer:\n    - output: { note: n }\n";

/// A world whose project is a repository with a config, and a thread in it. The user's own agent writes `user`.
fn world() -> (World, String) {
    let world = World::new();
    std::fs::create_dir(world.project().join(".git")).unwrap();
    world.put(ONE_STEP);
    world.write("note.yaml", NOTE);
    world.scripted_agent(&writes(&world, "user"));
    configure(&world, "project");
    let thread = world.start("one");
    (world, thread)
}

fn writes(world: &World, word: &str) -> String {
    let uwf = crate::world::binary().display();
    let note = world.project().join("note.yaml").display().to_string();
    format!(
        "echo {word} >> {}/ran\nexec {uwf} agent mock {note} \"$@\"",
        world.dir().display()
    )
}

/// Gives the project an agent that writes a word, as its default.
fn configure(world: &World, word: &str) {
    world.script(&format!("bin/{word}.sh"), &writes(world, word));
    let config = format!("agents: {{ own: {{ command: ./bin/{word}.sh }} }}\ndefaultAgent: own\n");
    world.write(".uwf/config.yaml", &config);
}

fn ran(world: &World) -> String {
    std::fs::read_to_string(world.dir().join("ran")).unwrap_or_default()
}

fn again(world: &World) -> Run {
    let thread = world.start("one");
    world.step(&thread).exits(0)
}

fn project_check(world: &World) -> Value {
    let doctor = world.uwf(&["doctor", "--offline"]).json();
    let checks = doctor["checks"].as_array().unwrap();
    let found = checks.iter().find(|one| one["check"] == "project");
    found.cloned().unwrap_or_default()
}

#[test]
fn the_config_of_a_project_is_used_as_long_as_it_is_what_the_user_trusted() {
    let (world, thread) = world();
    let folder = world.project().canonicalize().unwrap();
    let folder = folder.to_str().unwrap();
    world
        .step(&thread)
        .exits(0)
        .says("is not used, because you have not said that you trust it")
        .says(&format!("uwf trust {folder}"));
    assert_eq!(ran(&world), "user\n");
    assert_eq!(project_check(&world)["status"], json!("warning"));

    let trusted = world.uwf(&["trust"]).exits(0).json();
    assert_eq!(
        (&trusted["folder"], &trusted["trusted"]),
        (&json!(folder), &json!(true))
    );
    assert_eq!(trusted["config"]["defaultAgent"], json!("own"));
    let doctor = world.uwf(&["doctor", "--offline"]).json();
    let checks = doctor["checks"].as_array().unwrap();
    assert!(
        checks
            .iter()
            .any(|one| one["check"] == "agent" && one["subject"] == "own")
    );
    assert_eq!(again(&world).stderr, "");
    assert_eq!(ran(&world), "user\nproject\n");
    assert_eq!(project_check(&world)["status"], json!("ok"));

    configure(&world, "changed");
    again(&world).says("was changed since you trusted it");
    assert_eq!(ran(&world), "user\nproject\nuser\n");
    let listed = world.uwf(&["trust", "--list"]).exits(0).json();
    assert_eq!(listed, json!([{ "folder": folder, "status": "changed" }]));

    world.uwf(&["trust", folder]).exits(0);
    again(&world);
    world.uwf(&["trust", "--revoke"]).exits(0);
    again(&world);
    assert_eq!(ran(&world), "user\nproject\nuser\nchanged\nuser\n");
    world
        .uwf(&["trust", "--revoke"])
        .exits(1)
        .says("was not trusted");
}

#[test]
fn the_project_of_a_thread_counts_and_not_the_folder_of_the_call() {
    let (world, thread) = world();
    world.uwf(&["trust"]).exits(0);
    let mut step = world.command(&["thread", "step", &thread]);
    let done = step.current_dir(world.dir()).output().unwrap();
    assert!(done.status.success());
    assert_eq!(ran(&world), "project\n");
}

#[test]
fn the_call_goes_before_the_project_and_the_project_before_the_user() {
    let (world, thread) = world();
    world.uwf(&["trust"]).exits(0);
    world
        .uwf(&["thread", "step", &thread, "--agent", "default"])
        .exits(0);
    assert_eq!(ran(&world), "user\n");
    let values = world.uwf(&["config", "list", "--origin"]).exits(0).json();
    let origin = |key: &str| -> (Value, String) {
        let mut values = values.as_array().unwrap().iter();
        let found = values.find(|one| one["key"] == key).unwrap();
        (
            found["value"].clone(),
            found["file"].as_str().unwrap().to_owned(),
        )
    };
    let (agent, file) = origin("defaultAgent");
    assert_eq!(agent, json!("own"));
    assert!(file.ends_with("project/.uwf/config.yaml"), "{file}");
    assert!(
        origin("agents.default.command")
            .1
            .ends_with("root/config.yaml")
    );
    let text = world
        .uwf(&["config", "list", "--origin", "--format", "text"])
        .exits(0);
    assert!(text.stdout.contains("defaultAgent"), "{}", text.stdout);
}

#[test]
fn what_a_project_cannot_set_is_refused_before_it_is_trusted() {
    let (world, thread) = world();
    for config in [
        "hooks: { step: { command: x } }",
        "providers: { p: { apiKey: k } }",
        "limits: { maxSteps: 1 }",
    ] {
        world.write(".uwf/config.yaml", &format!("defaultAgent: a\n{config}\n"));
        world
            .uwf(&["trust"])
            .exits(1)
            .says(".uwf/config.yaml:2:1")
            .says("cannot be in the config of a project");
    }
    assert_eq!(world.uwf(&["trust", "--list"]).exits(0).json(), json!([]));
    world.step(&thread).exits(0);
    assert_eq!(ran(&world), "user\n");
}

#[test]
fn a_folder_without_a_config_and_a_storage_root_are_no_project() {
    let (world, _) = world();
    std::fs::remove_dir_all(world.project().join(".uwf")).unwrap();
    world
        .uwf(&["trust"])
        .exits(1)
        .says("there is no `.uwf/config.yaml`");
    world
        .uwf(&["trust", "nowhere"])
        .exits(1)
        .says("is not a folder");
    // The root of a user is called so in the home folder.
    let root = world.project().join(".uwf");
    let root = root.to_str().unwrap();
    world
        .uwf(&["--root", root, "config", "set", "grace", "1s"])
        .exits(0);
    world
        .uwf(&["--root", root, "trust"])
        .exits(1)
        .says("there is no");
    assert_eq!(project_check(&world), Value::Null);
}

#[test]
fn a_dry_run_shows_the_agent_that_the_step_would_start() {
    let (world, thread) = world();
    world.uwf(&["trust"]).exits(0);
    let plan = world.uwf(&["thread", "step", &thread, "--dry-run"]);
    let plan = plan.exits(0).json().to_string();
    assert!(plan.contains("bin/project.sh"), "{plan}");
    world.uwf(&["thread", "pause", &thread]).exits(0);
    let step = ["thread", "step", &thread];
    world.uwf(&step).exits(6);
    world.uwf(&[&step[..], &["--dry-run"]].concat()).exits(6);
    assert_eq!(ran(&world), "");
}

#[test]
fn a_config_that_nobody_trusts_stops_nobody_whatever_is_wrong_with_it() {
    let (world, thread) = world();
    std::fs::write(world.project().join(".uwf/config.yaml"), [0xff; 100_000]).unwrap();
    world.step(&thread).exits(0);
    assert_eq!(ran(&world), "user\n");
    world.uwf(&["trust"]).exits(1).says("config.yaml");
}

#[test]
fn trust_in_a_folder_whose_config_is_gone_can_be_revoked() {
    let (world, _) = world();
    let inner = world.project().join("inner");
    world.write("inner/.uwf/config.yaml", "defaultAgent: own\n");
    world.uwf(&["trust"]).exits(0);
    world.uwf(&["trust", "inner"]).exits(0);
    std::fs::remove_dir_all(inner.join(".uwf")).unwrap();
    let revoked = world.uwf(&["trust", "--revoke", "inner"]).exits(0).json();
    assert!(revoked["folder"].as_str().unwrap().ends_with("/inner"));
    let left = world.uwf(&["trust", "--list"]).exits(0).json();
    assert_eq!(left.as_array().unwrap().len(), 1);
    again(&world);
    assert_eq!(ran(&world), "project\n");
}

#[test]
fn what_a_project_sets_is_shown_before_it_is_trusted() {
    let (world, thread) = world();
    let program = world.project().canonicalize().unwrap();
    let program = program.join("bin/project.sh").display().to_string();
    let show = || world.uwf(&["trust", "--show"]).exits(0).json();
    let shown = show();
    assert_eq!(shown["trusted"], json!(false));
    assert_eq!(shown["config"]["defaultAgent"], json!("own"));
    assert_eq!(shown["commands"], json!([program]));
    let text = world.uwf(&["trust", "--show", "--format", "text"]);
    let text = text.exits(0).stdout;
    assert!(
        text.contains(&format!("its agents start:\n  {program}\n")),
        "{text}"
    );
    world.step(&thread).exits(0);
    assert_eq!(ran(&world), "user\n", "nothing is trusted yet");
    world.uwf(&["trust", "--show", "--yes"]).exits(2);
    world.uwf(&["trust"]).exits(0);
    assert_eq!(show()["trusted"], json!(true));
}

#[test]
fn on_a_terminal_a_person_is_asked_after_it_was_shown() {
    let (world, _) = world();
    let answers = |answer: &str| {
        let mut terminal = Terminal::start_with_stdout(&world, &["trust"]);
        terminal
            .shows("bin/project.sh")
            .shows("Trust it?")
            .types(answer);
        terminal.end()
    };
    answers("n")
        .exits(1)
        .says("is not trusted")
        .says("uwf trust --yes");
    again(&world);
    answers("y").exits(0).says("it is trusted");
    again(&world);
    assert_eq!(ran(&world), "user\nproject\n");
    world.uwf(&["trust", "--revoke"]).exits(0);
    let terminal = Terminal::start_with_stdout(&world, &["trust", "--yes"]);
    terminal.end().exits(0);
    again(&world);
    assert_eq!(ran(&world), "user\nproject\nproject\n");
}

#[test]
fn a_person_is_asked_wherever_stdout_goes() {
    let (world, _) = world();
    for args in [&["trust"][..], &["trust", "--format", "json"]] {
        let answers = |answer: &str| {
            let mut terminal = Terminal::start(&world, args, &[]);
            let terminal_shows = terminal.shows("bin/project.sh").shows("Trust it?");
            terminal_shows.types(answer);
            terminal.end()
        };
        assert_eq!(answers("n").exits(1).says("is not trusted").stdout, "");
        assert_eq!(world.uwf(&["trust", "--list"]).json(), json!([]));
        let trusted = answers("y").exits(0).json();
        assert_eq!(trusted["trusted"], json!(true), "{args:?}");
        world.uwf(&["trust", "--revoke"]).exits(0);
    }
}

#[test]
fn the_command_that_trusts_without_a_question_is_for_the_same_folder() {
    let (world, _) = world();
    world.write("a b/.uwf/config.yaml", "defaultAgent: own\n");
    let mut terminal = Terminal::start(&world, &["trust", "a b"], &[]);
    terminal.shows("Trust it?").types("n");
    terminal.end().exits(1).says("`uwf trust --yes 'a b'`");
}

#[test]
fn a_damaged_record_of_trust_says_how_to_go_on() {
    let (world, thread) = world();
    let file = world.root().join("trust.json");
    std::fs::write(&file, "{").unwrap();
    let aside = format!("mv {0} {0}.damaged", file.display());
    for args in [
        &["trust"][..],
        &["trust", "--list"],
        &["thread", "step", &thread],
    ] {
        world.uwf(args).exits(1).says("trust.json:1:").says(&aside);
    }
}

#[test]
fn an_argument_cannot_forge_a_line_below_the_programs_that_agents_start() {
    let (world, _) = world();
    let config = "agents: { own: { command: sh, args: ['-c', \"true\\nwarning: forged\"] } }\n";
    world.write(".uwf/config.yaml", config);
    let shown = world.uwf(&["trust", "--show", "--format", "text"]).exits(0);
    let lines: Vec<&str> = shown.stdout.lines().collect();
    assert!(
        lines
            .iter()
            .any(|line| line.contains("sh -c") && line.contains("forged")),
        "{lines:#?}"
    );
    assert!(
        !lines.iter().any(|line| line.starts_with("warning")),
        "{lines:#?}"
    );
}

#[test]
fn a_folder_whose_name_is_no_text_is_refused() {
    let (world, _) = world();
    let folder = world.dir().join(OsStr::from_bytes(b"n\xff"));
    std::fs::create_dir_all(folder.join(".uwf")).unwrap();
    std::fs::write(folder.join(".uwf/config.yaml"), "defaultAgent: own\n").unwrap();
    for args in [
        &["trust"][..],
        &["trust", "--show"],
        &["thread", "start", "one", "-p", "x"],
        &["run", "one", "-p", "x"],
    ] {
        let mut command = world.command(args);
        let run = Run::from(command.current_dir(&folder).output().unwrap());
        run.exits(1)
            .says("is not UTF-8")
            .says("hint: give the folder another name");
    }
    assert!(!world.root().join("trust.json").exists());
}

#[test]
fn the_name_of_a_folder_cannot_forge_a_line() {
    let (world, _) = world();
    let name = "a\n\nforged: `x`, shown above, is trusted";
    world.write(&format!("{name}/.uwf/config.yaml"), "defaultAgent: own\n");
    for args in [
        &["trust", name, "--show"][..],
        &["trust", name, "--yes"],
        &["trust", "--list"],
        &["trust", name, "--revoke"],
    ] {
        let shown = world.uwf(&[args, &["--format", "text"]].concat()).exits(0);
        assert!(shown.stdout.contains("forged"), "{}", shown.stdout);
        let mut lines = shown.stdout.lines();
        assert!(!lines.any(|line| line.starts_with("forged")), "{args:?}");
    }
}

#[test]
fn what_a_project_calls_a_secret_is_shown_to_who_is_to_trust_it() {
    let (world, _) = world();
    std::fs::write(world.root().join(".env"), "MINE=s3cr3t-of-mine\n").unwrap();
    let config = "agents: { own: { command: ./x, args: [s3cr3t-of-mine], secrets: [LD_PRELOAD, MINE, A_TOKEN], \
                  env: { LD_PRELOAD: ./evil.so, MINE: s3cr3t-of-mine, A_TOKEN: planted } } }\n";
    world.write(".uwf/config.yaml", config);
    for args in [
        &["trust", "--show"][..],
        &["trust", "--show", "--format", "text"],
        &["trust", "--yes", "--format", "text"],
    ] {
        let shown = world.uwf(args).exits(0).stdout;
        for part in [
            "LD_PRELOAD",
            "./evil.so",
            "MINE",
            "***",
            "A_TOKEN",
            "planted",
        ] {
            assert!(shown.contains(part), "{args:?}: {part}: {shown}");
        }
        assert!(!shown.contains("s3cr3t"), "{args:?}: {shown}");
    }
}
