//! The config and the log: what may be set, what is never shown, who may read it, and where it lies.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::lost_state::doctor;
use crate::model_server::{ModelServer, Scripted};
use crate::world::{ONE_STEP, Run, World};

const SECRET: &str = "sk-0123456789-secret";

fn config(world: &World, args: &[&str]) -> Run {
    world.uwf(&[&["config"], args].concat())
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn a_value_is_set_and_read_back() {
    let world = World::new();
    for (key, value, expected) in [
        ("defaultAgent", "mock", json!("mock")),
        ("defaultModel", "12", json!("12")),
        ("agents.mock.command", "uwf-mock", json!("uwf-mock")),
        ("agents.mock.args", r#"["a", "b c"]"#, json!(["a", "b c"])),
        ("agents.mock.args", "[]", json!([])),
        ("agents.mock.timeout", "1h", json!("1h")),
        ("models.sonnet.name", "a/b", json!("a/b")),
        ("providers.p.baseUrl", "http://x/v1", json!("http://x/v1")),
        ("agentOverrides.one.writer", "mock", json!("mock")),
        ("modelOverrides.extract", "sonnet", json!("sonnet")),
    ] {
        let set = config(&world, &["set", key, value]).exits(0).json();
        assert_eq!(set, json!({ "key": key, "value": expected }));
        let got = config(&world, &["get", key]).exits(0).json();
        assert_eq!(got, json!({ "value": expected }));
    }
    let got = config(&world, &["get", "agents.mock"]).exits(0).json();
    assert_eq!(got["value"]["command"], json!("uwf-mock"));
}

#[test]
fn keys_are_shown_nowhere() {
    let world = World::new();
    let set = config(&world, &["set", "providers.p.apiKey", SECRET]).exits(0);
    let list = config(&world, &["list"]).exits(0);
    let key = config(&world, &["get", "providers.p.apiKey"]).exits(0);
    let provider = config(&world, &["get", "providers.p"]).exits(0);
    for run in [&set, &list, &key, &provider] {
        assert!(!run.stdout.contains(SECRET) && !run.stderr.contains(SECRET));
        assert!(run.stdout.contains("***MASKED***"), "{}", run.stdout);
    }
    assert!(world.state("config.yaml").contains(SECRET));
    config(&world, &["set", "defaultAgent", "x"]).exits(0);
    assert!(world.state("config.yaml").contains(SECRET));
}

#[test]
fn a_key_of_a_broken_file_is_not_in_the_message_about_it() {
    let world = World::new();
    config(&world, &["set", "defaultAgent", "x"]).exits(0);
    let broken = format!("providers:\n  p: {{ apiKey: {SECRET}, baseUrl: [}}\n");
    fs::write(world.root().join("config.yaml"), broken).unwrap();
    for args in [&["list"][..], &["set", "defaultAgent", "y"]] {
        let run = config(&world, args).exits(1);
        assert!(!run.stderr.contains(SECRET), "{}", run.stderr);
        assert!(run.stderr.contains("config.yaml:2:"), "{}", run.stderr);
    }
}

#[test]
fn what_is_not_known_is_refused_with_what_was_meant() {
    let world = World::new();
    for (key, value, says) in [
        ("agent.mock.command", "x", "did you mean `agents`?"),
        ("agents.mock.comand", "x", "did you mean `command`?"),
        ("agents.mock", "x", "incomplete"),
        ("agents", "x", "incomplete"),
        ("providers.p.apikey", "x", "did you mean `apiKey`?"),
        ("defaultAgent.x", "y", "defaultAgent"),
        ("agentOverrides.one", "x", "incomplete"),
        ("agents..command", "x", "empty"),
        ("agents.mock.args", "x", "JSON array"),
        ("agents.mock.args", r#"[1]"#, "agents.mock.args"),
        ("agents.mock.timeout", "soon", "soon"),
        ("agents.mock.protocol", "other", "named"),
    ] {
        let run = config(&world, &["set", key, value]).exits(1);
        assert!(run.stderr.contains(says), "{key}: {}", run.stderr);
    }
    assert_eq!(world.state("config.yaml"), "");
}

#[test]
fn a_misspelt_key_in_the_file_is_told_with_its_place() {
    let world = World::new();
    world.put(ONE_STEP);
    let thread = world.start("one");
    let text = "agents:\n  mock: { comand: uwf-mock }\ndefaultAgent: mock\n";
    fs::write(world.root().join("config.yaml"), text).unwrap();
    let run = world.step(&thread).exits(1).says("config.yaml:2:11");
    run.says("did you mean `command`?");
}

#[test]
fn a_file_that_cannot_be_understood_is_never_written_over() {
    let world = World::new();
    config(&world, &["set", "defaultAgent", "x"]).exits(0);
    for text in ["a: [", "- a list\n", "a: 1\na: 2\n", "\0"] {
        fs::write(world.root().join("config.yaml"), text).unwrap();
        config(&world, &["set", "defaultAgent", "y"]).exits(1);
        assert_eq!(world.state("config.yaml"), text);
    }
}

#[test]
fn comments_and_foreign_keys_stay() {
    let world = World::new();
    config(&world, &["set", "defaultAgent", "x"]).exits(0);
    let text = "# mine\ndefaultAgent: x # the best\nagents:\n  x:\n    command: a\n";
    fs::write(world.root().join("config.yaml"), text).unwrap();
    config(&world, &["set", "agents.x.command", "b"]).exits(0);
    config(&world, &["set", "defaultAgent", "z"]).exits(0);
    let text = world.state("config.yaml");
    let expected = "# mine\ndefaultAgent: z # the best\nagents:\n  x:\n    command: b\n";
    assert_eq!(text, expected);
}

#[test]
fn only_the_owner_may_look() {
    let world = World::new();
    world.put(ONE_STEP);
    world.mock("roles:\n  writer: [{ output: { note: n } }]\n");
    let thread = world.start("one");
    world.step(&thread).exits(0);
    assert_eq!(mode(&world.root()), 0o700);
    assert_eq!(mode(&world.root().join("config.yaml")), 0o600);
    for entry in fs::read_dir(world.root().join("logs")).unwrap() {
        assert_eq!(mode(&entry.unwrap().path()), 0o600);
    }
    fs::set_permissions(
        world.root().join("config.yaml"),
        fs::Permissions::from_mode(0o644),
    )
    .unwrap();
    config(&world, &["set", "defaultAgent", "default"]).exits(0);
    assert_eq!(mode(&world.root().join("config.yaml")), 0o600);
}

#[test]
fn the_root_is_the_flag_then_the_variables_then_the_home() {
    let world = World::new();
    let [flag, first, second] = ["flag", "first", "second"].map(|name| world.dir().join(name));
    let put = |args: &[&str], vars: &[(&str, &Path)]| {
        let mut command = world.command(&[&["cas", "put-text", "x"], args].concat());
        command.env_remove("UWF_STORAGE_ROOT");
        command.envs(vars.iter().copied());
        assert_eq!(command.output().unwrap().status.code(), Some(0));
    };
    let first_var = ("UWF_STORAGE_ROOT", first.as_path());
    let second_var = ("WORKFLOW_STORAGE_ROOT", second.as_path());
    let empty = ("UWF_STORAGE_ROOT", Path::new(""));
    put(
        &["--root", flag.to_str().unwrap()],
        &[first_var, second_var],
    );
    assert!(flag.join("cas").is_dir() && !first.exists() && !second.exists());
    put(&[], &[first_var, second_var]);
    assert!(first.join("cas").is_dir() && !second.exists());
    put(&[], &[empty, second_var]);
    assert!(second.join("cas").is_dir() && !world.dir().join(".uwf").exists());
    put(&[], &[]);
    assert!(world.dir().join(".uwf/cas").is_dir());
    assert_eq!(mode(&world.dir().join(".uwf")), 0o700);
}

#[test]
fn the_store_may_lie_elsewhere() {
    let world = World::new();
    let shared = world.dir().join("shared");
    let mut command = world.command(&["cas", "put-text", "hello"]);
    command.env("OCAS_DIR", &shared).output().unwrap();
    assert!(shared.join("95ST8MZ0QTKP9.bin").is_file());
    assert!(!world.root().join("cas").exists());
}

/// Runs a thread whose agent fails once, with secrets wherever there can be some.
fn world_with_secrets() -> (World, String) {
    let world = World::new();
    world.put(ONE_STEP);
    config(&world, &["set", "providers.p.apiKey", SECRET]).exits(0);
    config(
        &world,
        &["set", "providers.p.baseUrl", "http://127.0.0.1:9"],
    )
    .exits(0);
    fs::write(world.root().join(".env"), format!("TOKEN={SECRET}\n")).unwrap();
    world.mock(&format!(
        "roles:\n  writer:\n    - {{ exit: 3, stderr: \"{SECRET}\\n\" }}\n"
    ));
    let task = format!("{SECRET} {}", "word ".repeat(200));
    let started = world.uwf(&["thread", "start", "one", "-p", &task]).exits(0);
    let thread = started.json()["thread"].as_str().unwrap().to_owned();
    world.step(&thread).exits(3);
    world.mock("roles:\n  writer: [{ output: { note: n } }]\n");
    world.step(&thread).exits(0);
    (world, thread)
}

#[test]
fn the_log_has_no_prompts_and_no_secrets() {
    let (world, thread) = world_with_secrets();
    let shown = world.uwf(&["log", "show", "--thread", &thread]).exits(0);
    let entries = shown.json();
    let entries = entries.as_array().unwrap();
    assert!(entries.len() >= 5, "{entries:?}");
    for entry in entries {
        for (key, value) in entry.as_object().unwrap() {
            let value = value.to_string();
            assert!(value.chars().count() <= 210, "{key}: {value}");
            assert!(!value.contains(SECRET), "{key}: {value}");
        }
    }
    for entry in fs::read_dir(world.root().join("logs")).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        assert!(!text.contains(SECRET), "{text}");
    }
}

/// Runs a step with diagnostics and returns what is said on stderr.
fn diagnosed(world: &World, filter: &str) -> String {
    let thread = world.start("one");
    let mut command = world.command(&["-v", "thread", "step", &thread]);
    let run = Run::from(command.env("UWF_LOG", filter).output().unwrap());
    run.exits(0).stderr
}

#[test]
fn diagnostics_are_shown_as_far_as_they_are_asked_for() {
    let (world, _) = world_with_secrets();
    let info = diagnosed(&world, "info");
    assert!(info.contains("info: uwf_engine::"), "{info}");
    assert!(info.contains(" tag=M3K8V9T1 event=routed "), "{info}");
    assert!(!info.contains("debug: "), "{info}");
    let debug = diagnosed(&world, "debug");
    assert!(
        debug.contains("\ndebug: uwf_engine::run::process "),
        "{debug}"
    );
    // The agent is a process of its own.
    assert!(debug.contains("\n| debug: uwf_agent_kit::"), "{debug}");
    let part = diagnosed(&world, "off,uwf_agent_kit=debug");
    assert!(!part.contains("uwf_engine"), "{part}");
    assert!(part.contains("| debug: uwf_agent_kit::"), "{part}");
    assert_eq!(diagnosed(&world, ""), "");
}

#[test]
fn diagnostics_hold_no_key_not_even_of_the_client_that_sends_it() {
    let server = ModelServer::start(vec![Scripted::says("---\nnote: n\n---\n")]);
    let world = World::new();
    world.put(ONE_STEP);
    world.model("m", &server.base_url());
    world.configure("providers.local.apiKey", SECRET);
    world.agent("uwf-llm", &["--model", "m"]);
    let shown = diagnosed(&world, "trace,hyper_util=trace,reqwest=trace");
    assert!(shown.contains("status=200 tries=1"), "{shown}");
    assert!(!shown.contains(SECRET), "{shown}");
    assert!(!shown.contains("hyper"), "{shown}");
    let bearer = format!("Bearer {SECRET}");
    assert_eq!(server.requests()[0].header("authorization"), Some(&*bearer));
}

#[test]
fn diagnostics_that_are_asked_for_wrongly_are_an_error() {
    let world = World::new();
    for args in [&["thread", "list"][..], &["agent", "mock", "--help"]] {
        let run = world
            .command(args)
            .env("UWF_LOG", "degub")
            .output()
            .unwrap();
        let run = Run::from(run).exits(2).says("hint: levels are ");
        run.says("error: `degub` is not a level in `UWF_LOG`");
    }
}

#[test]
fn every_entry_has_a_time_a_process_a_tag_and_a_message() {
    let (world, thread) = world_with_secrets();
    let entries = world.uwf(&["log", "show"]).exits(0).json();
    let entries = entries.as_array().unwrap();
    let times: Vec<&str> = entries
        .iter()
        .map(|entry| entry["ts"].as_str().unwrap())
        .collect();
    assert!(times.is_sorted());
    for entry in entries {
        let keys: Vec<&String> = entry.as_object().unwrap().keys().collect();
        assert_eq!(keys[..4], ["ts", "pid", "tag", "msg"]);
        assert_eq!(entry["tag"].as_str().unwrap().len(), 8);
        assert!(entry["event"].as_str().unwrap().len() > 3);
        let (pid, process) = (entry["pid"].as_u64().unwrap(), entry["process"].clone());
        assert!(process.as_str().unwrap().ends_with(&format!("-{pid}")));
        assert_eq!(entry["thread"], json!(thread));
    }
    let process = entries[0]["process"].as_str().unwrap();
    let of_process = world.uwf(&["log", "show", "--process", process]).json();
    let same: Vec<&Value> = entries
        .iter()
        .filter(|entry| entry["process"] == json!(process))
        .collect();
    assert_eq!(of_process, json!(same));
    let none = world.uwf(&["log", "show", "--date", "2001-01-01"]).exits(0);
    assert_eq!(none.json(), json!([]));
}

#[test]
fn the_log_says_what_failed_and_why() {
    let world = World::new();
    world.put(ONE_STEP);
    fs::write(world.root().join(".env"), format!("TOKEN={SECRET}\n")).unwrap();
    let script = world.script("fails.sh", "echo no room for $TOKEN >&2; exit 9");
    world.agent("uwf-command", &["--", script.to_str().unwrap()]);
    let thread = world.start("one");
    world.step(&thread).exits(3);
    let event = |name: &str| -> Value {
        let shown = world.uwf(&["log", "show", "--thread", &thread]).exits(0);
        let entries = shown.json();
        let mut entries = entries.as_array().unwrap().iter();
        let found = entries.find(|entry| entry["event"] == json!(name));
        found.unwrap_or_else(|| panic!("no {name}: {entries:?}"))["msg"].clone()
    };
    let failed = event("step-failed").as_str().unwrap().to_owned();
    for part in [
        "role=writer",
        "agent=uwf-command",
        "phase=agent",
        "exit=3",
        "code 9",
        "no room",
    ] {
        assert!(failed.contains(part), "{part}: {failed}");
    }
    assert!(
        failed.contains("***") && !failed.contains(SECRET),
        "{failed}"
    );
    // An interrupted run is told, too, and a call that could do nothing.
    world.scripted_agent("sleep 30");
    let mut step = world.spawn(&["thread", "step", &thread]);
    world.agent_at_work(&thread);
    world.step(&thread).exits(5);
    let pid = rustix::process::Pid::from_child(&step);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    step.wait().unwrap();
    let interrupted = event("step-interrupted");
    assert!(
        interrupted.as_str().unwrap().contains("exit=130"),
        "{interrupted}"
    );
    let refused = event("refused").as_str().unwrap().to_owned();
    assert!(refused.starts_with("exit=5 error=thread "), "{refused}");
}

#[test]
fn the_log_is_printed_as_lines_and_in_part() {
    let (world, _) = world_with_secrets();
    let all = world.uwf(&["log", "show"]).exits(0).json();
    let lines = world.uwf(&["log", "show", "--lines"]).exits(0).stdout;
    let lines: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(json!(lines), all);
    let last = world.uwf(&["log", "show", "--last", "2"]).exits(0).json();
    assert_eq!(last, json!(lines[lines.len() - 2..]));
    let text = world.uwf(&["log", "show", "--format", "text"]).exits(0);
    assert!(
        text.stdout.contains("B8T5N1V6  step-failed"),
        "{}",
        text.stdout
    );
}

#[test]
fn the_log_is_chosen_by_event_and_followed() {
    let (world, thread) = world_with_secrets();
    let all = world.uwf(&["log", "show"]).exits(0).json();
    let created = world.uwf(&["log", "show", "--event", "thread-created"]);
    assert_eq!(created.json(), json!([all[0]]));
    let short = &thread[..12].to_lowercase();
    assert_eq!(world.uwf(&["log", "show", "--thread", short]).json(), all);
    let later = world.uwf(&["log", "show", "--after", "2100-01-01"]);
    assert_eq!(later.exits(0).json(), json!([]));
    let tail = world.uwf(&["log", "tail", "-n", "1"]).exits(0);
    assert_eq!(tail.json(), *all.as_array().unwrap().last().unwrap());

    let thread = world.start("one");
    let mut follow = world.command(&["log", "tail", "-f", "-n", "1", "--event", "killed"]);
    let mut follow = follow.stdout(Stdio::piped()).spawn().unwrap();
    world.uwf(&["thread", "kill", &thread]).exits(0);
    let mut line = String::new();
    let mut lines = BufReader::new(follow.stdout.take().unwrap());
    lines.read_line(&mut line).unwrap();
    follow.kill().unwrap();
    follow.wait().unwrap();
    let entry: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(entry["thread"], json!(thread));
}

#[test]
fn a_torn_line_is_told_and_hides_no_other() {
    let (world, _) = world_with_secrets();
    let before = world.uwf(&["log", "show"]).json();
    let name = world.uwf(&["log", "list"]).json()[0]["name"].clone();
    let path = world.root().join("logs").join(name.as_str().unwrap());
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("{{\"ts\": \n{text}{{\"ts\"")).unwrap();
    let shown = world.uwf(&["log", "show"]).exits(0);
    assert_eq!(shown.json(), before);
    shown.says(".jsonl:1");
}

#[test]
fn old_logs_are_cleaned_and_dates_lead_nowhere_else() {
    let (world, _) = world_with_secrets();
    let logs = world.root().join("logs");
    for name in ["2020-01-01.jsonl", "2020-01-02.jsonl", "notes.jsonl"] {
        fs::write(logs.join(name), "").unwrap();
    }
    let listed = world.uwf(&["log", "list"]).exits(0).json();
    assert_eq!(listed.as_array().unwrap().len(), 3);
    assert_eq!(listed[2]["name"], json!("2020-01-01.jsonl"));
    for date in ["../x", "2020-1-1", "z", ""] {
        world.uwf(&["log", "clean", "--before", date]).exits(1);
        world.uwf(&["log", "show", "--date", date]).exits(1);
    }
    let cleaned = world.uwf(&["log", "clean", "--before", "2020-01-02"]);
    assert_eq!(cleaned.exits(0).json(), json!({ "deleted": 1 }));
    assert!(!logs.join("2020-01-01.jsonl").exists());
    assert!(logs.join("2020-01-02.jsonl").exists());
    let older = world.uwf(&["log", "clean", "--before", "30d"]).exits(0);
    assert_eq!(older.json(), json!({ "deleted": 1 }));
    assert!(logs.join("notes.jsonl").exists());
    world.uwf(&["log", "clean"]).exits(2);
}

#[test]
fn a_log_that_cannot_be_written_stops_no_step() {
    let world = World::new();
    world.put(ONE_STEP);
    world.mock("roles:\n  writer: [{ output: { note: n } }]\n");
    let logs = world.root().join("logs");
    let _ = fs::remove_dir_all(&logs);
    fs::write(&logs, "in the way").unwrap();
    let (level, message, _) = doctor(&world, "log");
    assert_eq!(level, "warning");
    assert!(message.contains("is not a folder"), "{message}");
    let thread = world.start("one");
    let stepped = world.step(&thread).exits(0);
    let lacks = stepped.stderr.matches("`uwf log` lacks what happens now");
    assert_eq!(lacks.count(), 1, "{}", stepped.stderr);
}
