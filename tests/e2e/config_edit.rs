//! Changing the config: what stays, what is refused, what is told all at once, and editing it as a whole.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use crate::pty::Terminal;
use crate::world::{ONE_STEP, Run, World, wait_until};

const CONFIG: &str = "\
# mine
agents:
  writer: { command: uwf-mock, args: [a.yaml] } # flow
  # the second
  other:
    command: x # last
defaultAgent: writer
";

fn config(world: &World, args: &[&str]) -> Run {
    world.uwf(&[&["config"], args].concat())
}

fn world_with(text: &str) -> World {
    let world = World::new();
    fs::create_dir(world.root()).unwrap();
    fs::write(world.root().join("config.yaml"), text).unwrap();
    world
}

fn edit(world: &World, editor: &str) -> Run {
    let mut command = world.command(&["config", "edit"]);
    command.env("EDITOR", editor).output().unwrap().into()
}

/// Returns the copies that an editor left behind.
fn copies(world: &World) -> Vec<String> {
    let entries = fs::read_dir(world.root()).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names
        .filter(|name| name.starts_with("config-edit-"))
        .collect()
}

#[test]
fn set_and_unset_leave_everything_else_as_it_was() {
    let world = world_with(CONFIG);
    config(&world, &["set", "agents.writer.command", "uwf-new"]).exits(0);
    let expected = CONFIG.replace("uwf-mock", "uwf-new");
    assert_eq!(world.state("config.yaml"), expected);
    let unset = config(&world, &["unset", "agents.writer.args"]).exits(0);
    assert_eq!(unset.json(), json!({ "key": "agents.writer.args" }));
    let expected = expected.replace(", args: [a.yaml] ", "");
    assert_eq!(world.state("config.yaml"), expected);
    config(&world, &["unset", "defaultAgent"]).exits(0);
    let expected = expected.replace("defaultAgent: writer\n", "");
    assert_eq!(world.state("config.yaml"), expected);
}

#[test]
fn an_entry_goes_with_the_mappings_that_it_leaves_empty() {
    let world = world_with("# top\nagentOverrides:\n  one:\n    writer: x\ndefaultAgent: x\n");
    config(&world, &["unset", "agentOverrides.one.writer"]).exits(0);
    assert_eq!(world.state("config.yaml"), "# top\ndefaultAgent: x\n");
    config(&world, &["unset", "defaultAgent"]).exits(0);
    assert_eq!(world.state("config.yaml"), "# top\n");
}

#[test]
fn what_is_not_there_is_neither_read_nor_removed() {
    let world = world_with(CONFIG);
    for command in ["get", "unset"] {
        let run = config(&world, &[command, "agents.writr"]).exits(1);
        run.says("did you mean `agents.writer`?");
    }
    config(&world, &["unset", "agents.writer.args.0"]).exits(1);
    assert_eq!(world.state("config.yaml"), CONFIG);
    let empty = World::new();
    config(&empty, &["unset", "defaultAgent"])
        .exits(1)
        .says("no config file");
}

#[test]
fn a_misspelt_key_can_be_removed() {
    let world = world_with("agnts: 1\ndefaultAgent: x\n");
    config(&world, &["unset", "agnts"]).exits(0);
    assert_eq!(world.state("config.yaml"), "defaultAgent: x\n");
}

#[test]
fn rather_than_losing_a_comment_nothing_is_changed() {
    let text = "agents:\n  a:\n    command: x\n    args:\n      - one # the first\n      - two\n";
    let aliased = "base: &b { command: x, args: [] }\nagents:\n  a: *b # shared\n";
    for (text, key, value) in [
        (text, "agents.a.args", "[]"),
        (aliased, "agents.a.command", "y"),
    ] {
        let world = world_with(text);
        let run = config(&world, &["set", key, value]).exits(1);
        run.says("without losing comments").says("uwf config edit");
        assert_eq!(world.state("config.yaml"), text);
    }
    let world = world_with(&aliased.replace(" # shared", ""));
    config(&world, &["set", "agents.a.command", "y"]).exits(0);
    let got = config(&world, &["get", "agents.a.command"]).json();
    assert_eq!(got, json!({ "value": "y" }));
}

#[test]
fn of_two_that_set_at_once_none_is_lost() {
    let world = world_with("# kept\n");
    let children: Vec<_> = (0..8)
        .map(|number| {
            let key = format!("agents.a{number}.command");
            world.spawn(&["config", "set", &key, "x"])
        })
        .collect();
    for child in children {
        Run::from(child.wait_with_output().unwrap()).exits(0);
    }
    let agents = config(&world, &["get", "agents"]).exits(0).json();
    assert_eq!(agents["value"].as_object().unwrap().len(), 8);
    assert!(world.state("config.yaml").starts_with("# kept\n"));
}

#[test]
fn secrets_in_arguments_and_addresses_are_masked() {
    let secret = "sk-0123456789-secret";
    let world = world_with(&format!(
        "providers: {{ p: {{ baseUrl: 'https://me:{secret}@host/v1', apikey: {secret} }} }}\n\
         agents:\n  a: {{ command: x, args: [--api-key, {secret}, --model, m, 'K={secret}'] }}\n"
    ));
    for args in [
        &["list"][..],
        &["get", "agents.a.args"],
        &["get", "agents.a.args.1"],
    ] {
        let run = config(&world, args).exits(0);
        assert!(!run.stdout.contains(secret), "{}", run.stdout);
        assert!(run.stdout.contains("***MASKED***"), "{}", run.stdout);
    }
    let validate = config(&world, &["validate"]).exits(1);
    assert!(!validate.stdout.contains(secret), "{}", validate.stdout);
    let args = config(&world, &["get", "agents.a.args"]).json();
    assert_eq!(args["value"][3], json!("m"));
}

#[test]
fn everything_that_is_wrong_is_told_at_once() {
    let world = world_with(
        "agents:\n  a: { comand: x, timeout: soon }\ndefaultAgent: b\n\
         providers: { p: { baseUrl: http://h, apiKeyEnv: NOT_SET_HERE } }\n",
    );
    let checked = config(&world, &["validate"]).exits(1).json();
    assert_eq!(checked["valid"], json!(false));
    let places: Vec<_> = checked["errors"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["line"].as_u64().unwrap(), one["key"].as_str().unwrap()))
        .collect();
    let expected = [
        (2, "agents.a"),
        (2, "agents.a.comand"),
        (2, "agents.a.timeout"),
        (3, "defaultAgent"),
    ];
    assert_eq!(places, expected);
    assert_eq!(
        checked["warnings"][0]["key"],
        json!("providers.p.apiKeyEnv")
    );
    let text = config(&world, &["validate", "--format", "text"])
        .exits(1)
        .stdout;
    assert!(text.contains("config.yaml:2:8: agents.a.comand: `comand` is not known, did you mean"));
    assert!(text.contains("\nwarning: "), "{text}");
}

#[test]
fn a_warning_alone_is_no_failure_and_env_counts() {
    let world = world_with("providers: { p: { baseUrl: http://h, apiKeyEnv: P_KEY } }\n");
    let checked = config(&world, &["validate"]).exits(0).json();
    assert_eq!(checked["warnings"].as_array().unwrap().len(), 1);
    fs::write(world.root().join(".env"), "P_KEY=x\n").unwrap();
    let checked = config(&world, &["validate"]).exits(0).json();
    assert_eq!(checked["warnings"], json!([]));
}

#[test]
fn a_broken_file_is_told_in_the_same_words_everywhere() {
    for text in [
        "agents: [\n",
        "- x\n",
        "agents: 1\n",
        "a: 1\na: 2\n",
        "agents: { a: x }\n",
    ] {
        let world = world_with("");
        world.put(ONE_STEP);
        let thread = world.start("one");
        fs::write(world.root().join("config.yaml"), text).unwrap();
        let said = world.step(&thread).exits(1).stderr;
        assert!(said.contains("uwf config validate"), "{said}");
        let problem = config(&world, &["validate"]).exits(1).json()["errors"][0]["problem"].clone();
        assert!(said.contains(problem.as_str().unwrap()), "{said} {problem}");
        for args in [
            &["list"][..],
            &["set", "defaultAgent", "x"],
            &["unset", "agents"],
        ] {
            let run = config(&world, args);
            // What is data, but not a config, can be listed and fixed.
            assert!(
                run.code == 0 || run.stderr == said,
                "{args:?}: {}",
                run.stderr
            );
        }
    }
}

#[test]
fn the_path_is_printed() {
    let world = World::new();
    let path = config(&world, &["path"]).exits(0).json();
    assert_eq!(path["path"], json!(world.root().join("config.yaml")));
    let text = config(&world, &["path", "--format", "text"])
        .exits(0)
        .stdout;
    assert!(text.ends_with("/config.yaml\n"));
}

#[test]
fn an_edited_config_is_taken_over_if_it_is_sound() {
    let world = world_with(CONFIG);
    let edited = edit(&world, "sed -i s/uwf-mock/uwf-other/").exits(0).json();
    assert_eq!(edited["changed"], json!(true));
    assert_eq!(
        world.state("config.yaml"),
        CONFIG.replace("uwf-mock", "uwf-other")
    );
    let mode = fs::metadata(world.root().join("config.yaml"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    let edited = edit(&world, "true").exits(0).json();
    assert_eq!(edited["changed"], json!(false));
    assert_eq!(copies(&world), Vec::<String>::new());
}

#[test]
fn a_config_is_made_by_editing() {
    let world = World::new();
    let editor = world.script("editor", "echo 'extract: strict' > \"$1\"");
    edit(&world, editor.to_str().unwrap()).exits(0);
    assert_eq!(world.state("config.yaml"), "extract: strict\n");
}

#[test]
fn what_was_typed_wrongly_is_kept_and_the_config_as_it_was() {
    let world = world_with(CONFIG);
    let run = edit(&world, "sed -i s/command/comand/").exits(1);
    let copies = copies(&world);
    assert_eq!(copies.len(), 1);
    let run = run.says(&copies[0]).says("did you mean `command`?");
    assert!(run.stderr.contains(":3:13: "), "{}", run.stderr);
    assert_eq!(world.state("config.yaml"), CONFIG);
    let copy = world.root().join(&copies[0]);
    assert_eq!(
        fs::metadata(copy).unwrap().permissions().mode() & 0o777,
        0o600
    );
}

#[test]
fn an_editor_that_fails_changes_nothing() {
    let world = world_with(CONFIG);
    edit(&world, "false")
        .exits(1)
        .says("the editor `false` failed");
    edit(&world, "/no/such/editor")
        .exits(1)
        .says("VISUAL or EDITOR");
    assert_eq!(copies(&world), Vec::<String>::new());
    assert_eq!(world.state("config.yaml"), CONFIG);
}

#[test]
fn what_cannot_be_written_is_kept() {
    let world = world_with("");
    let elsewhere = world.write("elsewhere.yaml", CONFIG);
    let config = world.root().join("config.yaml");
    fs::remove_file(&config).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &config).unwrap();
    let run = edit(&world, "sed -i s/uwf-mock/uwf-other/").exits(1);
    run.says("symbolic link").says(&copies(&world)[0]);
    assert_eq!(fs::read_to_string(elsewhere).unwrap(), CONFIG);
}

#[test]
fn a_config_that_changed_while_it_was_edited_is_not_written_over() {
    let world = world_with(CONFIG);
    let go_on = world.project().join("go-on");
    let script = format!(
        "touch '{0}.ready'; while [ ! -e '{0}' ]; do sleep 0.01; done; sed -i s/uwf-mock/mine/ \"$1\"",
        go_on.display()
    );
    let editor = world.script("editor", &script);
    let mut command = world.command(&["config", "edit"]);
    command.env("VISUAL", editor).env("EDITOR", "false");
    let child = command
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    wait_until("the editor runs", || {
        world.project().join("go-on.ready").exists()
    });
    config(&world, &["set", "agents.other.command", "theirs"]).exits(0);
    fs::write(&go_on, "").unwrap();
    let run = Run::from(child.wait_with_output().unwrap()).exits(1);
    run.says("changed meanwhile").says(&copies(&world)[0]);
    assert_eq!(
        world.state("config.yaml"),
        CONFIG.replace("command: x", "command: theirs")
    );
}

#[test]
fn on_a_terminal_a_wrong_config_can_be_edited_again() {
    let world = world_with(CONFIG);
    let script = "if grep -q uwf-mock \"$1\"; then echo 'defaultAgent: nobody' > \"$1\"; \
                  else echo 'extract: strict' > \"$1\"; fi";
    let editor = world.script("editor", script);
    let editor = [("EDITOR", editor.to_str().unwrap())];
    let mut terminal = Terminal::start(&world, &["config", "edit"], &editor);
    terminal
        .shows("`nobody` is not in `agents`")
        .shows("Edit again?")
        .types("y");
    terminal.end().exits(0);
    assert_eq!(world.state("config.yaml"), "extract: strict\n");
    assert_eq!(copies(&world), Vec::<String>::new());

    for (answer, code) in [("n", 1), ("\u{3}", 130)] {
        let world = world_with(CONFIG);
        let mut terminal = Terminal::start(&world, &["config", "edit"], &editor);
        terminal.shows("Edit again?").shows("[Y/n]").types(answer);
        terminal.end().exits(code).says(&copies(&world)[0]);
        assert_eq!(world.state("config.yaml"), CONFIG);
    }
}

const PASSWORD: &str = "hunter2-of-nobody";

/// Asserts that no command shows a text that stands in the config.
#[track_caller]
fn check_never_shown(world: &World, secret: &str, step: &[&str]) {
    for args in [
        &["config", "validate"][..],
        &["config", "validate", "--format", "text"],
        &["config", "list"],
        &["doctor"],
        step,
    ] {
        let run = world.uwf(args);
        let shown = format!("{}{}", run.stdout, run.stderr);
        assert!(!shown.contains(secret), "{args:?}: {shown}");
    }
}

#[test]
fn an_address_that_no_call_would_take_is_refused_and_its_password_never_shown() {
    for (address, why) in [
        ("https://me:hunter2-of-nobody@127.0.0.1:9/v1", "a password"),
        ("https://hunter2-of-nobody@127.0.0.1:9/v1", "a user name"),
        ("hunter2-of-nobody:x@127.0.0.1:9/v1", "`http://`"),
        ("ftp://127.0.0.1/hunter2-of-nobody", "`http://`"),
        ("http://127.0.0.1:hunter2-of-nobody/v1", "port"),
        ("http://127.0.0.1:9/v1?key=hunter2-of-nobody", "its path"),
    ] {
        let world = World::new();
        let set = config(&world, &["set", "providers.p.baseUrl", address]).exits(1);
        let set = set.says(why);
        assert!(!set.stderr.contains(PASSWORD), "{}", set.stderr);
        let text = format!(
            "providers: {{ p: {{ baseUrl: '{address}', apiKey: k }} }}\n\
             models: {{ m: {{ provider: p, name: n }} }}\n\
             agents: {{ a: {{ command: uwf-llm }} }}\ndefaultAgent: a\ndefaultModel: m\n"
        );
        let world = world_with(&text);
        let checked = config(&world, &["validate"]).exits(1).json();
        let problem = checked["errors"][0]["problem"].as_str().unwrap();
        assert!(problem.contains(why), "{problem}");
        world.put(ONE_STEP);
        let thread = world.start("one");
        check_never_shown(&world, PASSWORD, &["thread", "step", &thread]);
    }
}

#[test]
fn a_key_in_the_place_of_a_variable_is_refused_and_never_shown() {
    for key in [
        "sk-proj-0123456789abcdef",
        "ghp_0123456789abcdef",
        "a b.c",
        "9xyzzy",
    ] {
        let world = World::new();
        let set = config(&world, &["set", "providers.p.apiKeyEnv", key]).exits(1);
        let set = set.says("the name of a variable");
        assert!(!set.stderr.contains(key), "{}", set.stderr);
        let args = [
            "setup",
            "--provider",
            "openai",
            "--model",
            "m",
            "--api-key-env",
            key,
        ];
        let setup = world.uwf(&args).exits(1).says("the name of a variable");
        assert!(!setup.stderr.contains(key), "{}", setup.stderr);

        let text = format!(
            "providers: {{ p: {{ baseUrl: 'http://127.0.0.1:9/v1', apiKeyEnv: '{key}' }} }}\n\
             models: {{ m: {{ provider: p, name: n }} }}\n\
             agents: {{ a: {{ command: uwf-llm }} }}\ndefaultAgent: a\ndefaultModel: m\n"
        );
        let world = world_with(&text);
        let checked = config(&world, &["validate"]).exits(1).json();
        assert_eq!(checked["errors"][0]["key"], json!("providers.p.apiKeyEnv"));
        assert_eq!(checked["warnings"], json!([]));
        world.put(ONE_STEP);
        let thread = world.start("one");
        let step = world.step(&thread).says("the name of a variable");
        assert_ne!(step.code, 0);
        check_never_shown(&world, key, &["thread", "step", &thread]);
    }
}

#[test]
fn a_model_has_no_other_purposes_than_those_there_are() {
    let world = world_with("models: { m: { provider: p, name: n } }\n");
    config(&world, &["set", "modelOverrides.extrct", "m"])
        .exits(1)
        .says("did you mean `extract`?");
    config(&world, &["set", "modelOverrides.extract", "m"]).exits(0);
    let world = world_with("modelOverrides: { agnt: m }\n");
    let checked = config(&world, &["validate"]).exits(1).json();
    let problem = checked["errors"][0]["problem"].as_str().unwrap();
    assert!(problem.contains("did you mean `agent`?"), "{problem}");
}

#[test]
fn a_name_that_refers_to_nothing_is_a_warning() {
    let world = world_with(CONFIG);
    let set = config(&world, &["set", "defaultAgent", "othr"]).exits(0);
    let set = set.says("warning: defaultAgent: `othr` is not in `agents`, did you mean `other`?");
    assert_eq!(set.json()["value"], json!("othr"));
    config(&world, &["set", "defaultModel", "x"])
        .exits(0)
        .says("warning: defaultModel: `x` is not in `models`");
    let set = config(&world, &["set", "defaultAgent", "other"]).exits(0);
    assert_eq!(set.stderr, "", "only what is new is told");
    config(&world, &["unset", "agents.other"])
        .exits(0)
        .says("warning: defaultAgent: `other` is not in `agents`");
}

#[test]
fn one_value_does_not_silently_take_the_place_of_several() {
    let world = World::new();
    config(&world, &["set", "limits.maxVisits.writer", "4"]).exits(0);
    let before = world.state("config.yaml");
    config(&world, &["set", "limits.maxVisits", "3"])
        .exits(1)
        .says("would replace `limits.maxVisits.writer`")
        .says("`uwf config unset limits.maxVisits` removes");
    assert_eq!(world.state("config.yaml"), before);
    config(&world, &["unset", "limits.maxVisits"]).exits(0);
    config(&world, &["set", "limits.maxVisits", "3"]).exits(0);
    config(&world, &["set", "limits.maxVisits.writer", "4"])
        .exits(1)
        .says("`uwf config unset limits.maxVisits` removes");
}
