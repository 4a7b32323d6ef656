//! `uwf doctor`: what it finds, that it changes nothing, and how it ends.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::model_server::{ModelServer, Scripted};
use crate::world::{ONE_STEP, Run, World, binary, path_with, wait_until};

/// Runs the doctor with the binary as `uwf` on PATH.
fn doctor(world: &World, args: &[&str]) -> Run {
    let mut command = world.command(&[&["doctor"], args].concat());
    command.env("PATH", path_with(binary().parent().unwrap()));
    command.output().unwrap().into()
}

/// Returns the checks of one kind: subject, status, message, hint.
fn found(run: &Run, check: &str) -> Vec<[String; 4]> {
    let checks = run.json()["checks"].as_array().unwrap().clone();
    let of = |one: &Value, key: &str| one[key].as_str().unwrap_or_default().to_owned();
    checks
        .iter()
        .filter(|one| one["check"] == json!(check))
        .map(|one| ["subject", "status", "message", "hint"].map(|key| of(one, key)))
        .collect()
}

/// Asserts that one check of this kind has this status and says this.
#[track_caller]
fn finds(run: &Run, check: &str, status: &str, says: &str) {
    let found = found(run, check);
    let fits =
        |one: &[String; 4]| one[1] == status && (one[2].contains(says) || one[3].contains(says));
    assert!(
        found.iter().any(fits),
        "{check} {status} {says}: {found:#?}"
    );
}

/// A world with a thread of one step that was done by the mock.
fn sound() -> World {
    let world = World::new();
    world.put(ONE_STEP);
    world.mock("roles:\n  writer: [{ output: { note: n } }]\n");
    let thread = world.start("one");
    world.step(&thread).exits(0);
    world.start("one");
    world
}

/// Returns every file with its content and mode.
fn snapshot(dir: &Path) -> Vec<(PathBuf, u32, Vec<u8>)> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let mode = path.metadata().unwrap().permissions().mode();
        if path.is_dir() {
            files.push((path.clone(), mode, Vec::new()));
            files.extend(snapshot(&path));
        } else {
            let content = fs::read(&path).unwrap();
            files.push((path, mode, content));
        }
    }
    files.sort();
    files
}

#[test]
fn a_sound_world_is_ok_and_stays_as_it_is() {
    let world = sound();
    let before = snapshot(&world.root());
    let run = doctor(&world, &["--offline"]).exits(0);
    let json = run.json();
    assert_eq!(json["ok"], json!(true));
    for one in json["checks"].as_array().unwrap() {
        assert_eq!(one["status"], json!("ok"), "{one}");
    }
    assert_eq!(snapshot(&world.root()), before);
    let all = doctor(&world, &["--offline", "--all"]).exits(0);
    finds(&all, "threads", "ok", "2 can be read");
}

#[test]
fn its_form_is_fixed() {
    let world = World::new();
    fs::create_dir(world.root()).unwrap();
    fs::set_permissions(world.root(), fs::Permissions::from_mode(0o700)).unwrap();
    let config = world.root().join("config.yaml");
    fs::write(&config, "agents: { a: { comand: x } }\n").unwrap();
    fs::set_permissions(&config, fs::Permissions::from_mode(0o600)).unwrap();
    let mut json = doctor(&world, &["--offline"]).exits(1).json();
    // What the clock and the disk say is different every time.
    for varying in [0, 3] {
        json["checks"][varying]["message"] = json!("…");
    }
    let check = |check: &str, status: &str, message: &str, hint: Value| json!({ "check": check, "status": status, "subject": null, "message": message, "hint": hint });
    let ok = |name: &str, message: &str| check(name, "ok", message, Value::Null);
    let edit = json!("`uwf config edit` opens it");
    let choose =
        json!("`uwf setup --agent <name>` or `uwf config set defaultAgent <alias>` chooses one");
    let path = |name: &str| world.root().join(name).display().to_string();
    let expected = [
        ok("clock", "…"),
        ok("path", &format!("`uwf` is {}", binary().display())),
        ok("root", &world.root().display().to_string()),
        ok("space", "…"),
        ok(
            "permissions",
            "only the owner has access to the root and its secrets",
        ),
        check(
            "config",
            "error",
            "line 1: agents.a: `command` is missing",
            edit,
        ),
    ];
    assert_eq!(json["ok"], json!(false));
    assert_eq!(json["checks"].as_array().unwrap()[..6], expected);
    let expected = [
        ok("state", "no recorded thread or workflow is missing"),
        ok("names", "0 names; 0 threads with a name or labels"),
        ok("threads", "0 can be read"),
        ok("lock", "no thread is locked"),
        ok("pending", "every finished step is committed"),
        ok("leftovers", "none"),
        ok("store", &format!("{} is not there yet", path("cas"))),
    ];
    // A config that cannot be read has no agents to look at.
    assert_eq!(json["checks"].as_array().unwrap()[7..], expected);
    fs::write(&config, "").unwrap();
    let text = doctor(&world, &["--offline", "--format", "text"])
        .exits(0)
        .stdout;
    let lines: Vec<&str> = text.lines().collect();
    let warning = [
        "WARNING  agent: there is no default agent".to_owned(),
        format!("         → {}", choose.as_str().unwrap()),
        "ok       state: no recorded thread or workflow is missing".to_owned(),
    ];
    assert_eq!(lines[6..9], warning);
    assert_eq!(*lines.last().unwrap(), "13 ok, 1 warning, 0 errors");
}

#[test]
fn without_a_root_there_is_little_to_look_at() {
    let world = World::new();
    let run = doctor(&world, &[]).exits(0);
    finds(&run, "root", "warning", "uwf setup");
    assert!(!world.root().exists());
}

#[test]
fn what_others_can_read_is_told() {
    let world = sound();
    let chmod = |path: PathBuf, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    chmod(world.root(), 0o755);
    finds(
        &doctor(&world, &["--offline"]).exits(0),
        "permissions",
        "warning",
        "chmod 700",
    );
    fs::write(world.root().join(".env"), "K=v\n").unwrap();
    chmod(world.root().join(".env"), 0o640);
    chmod(world.root().join("config.yaml"), 0o604);
    let run = doctor(&world, &["--offline"]).exits(1);
    finds(&run, "permissions", "error", "/root/.env");
    finds(&run, "permissions", "error", "/root/config.yaml");
}

#[test]
fn agents_are_looked_for_with_their_versions() {
    let world = sound();
    let here = world.script("bin/uwf-here", "echo here 1.2.3");
    let slow = world.script("bin/uwf-slow", "sleep 60");
    let endless = world.script("bin/uwf-endless", "yes version");
    let mine = world.script("bin/mine", "echo worked > worked");
    std::os::unix::fs::symlink(binary(), world.project().join("uwf-mock")).unwrap();
    let config = format!(
        "agents:\n  here: {{ command: {} }}\n  slow: {{ command: {} }}\n  endless: {{ command: {} }}\n  \
         gone: {{ command: no-such-program }}\n  mock: {{ command: uwf-mock }}\n  \
         cmd: {{ command: uwf-command, args: [--, no-such-tool] }}\n  \
         mine: {{ command: {} }}\n  \
         claude: {{ command: uwf-claude-code, args: [--program, {}] }}\n  \
         linked: {{ command: {}/uwf-mock }}\ndefaultAgent: here\n",
        here.display(),
        slow.display(),
        endless.display(),
        mine.display(),
        here.display(),
        world.project().display(),
    );
    fs::write(world.root().join("config.yaml"), config).unwrap();
    let run = doctor(&world, &["--offline"]).exits(1);
    let agents = found(&run, "agent");
    let of = |alias: &str| agents.iter().find(|one| one[0] == alias).unwrap();
    let check = |alias: &str, status: &str, says: &str| {
        let one = of(alias);
        assert!(one[1] == status && one[2].contains(says), "{one:?}");
    };
    check("here", "ok", "here 1.2.3");
    check("slow", "warning", "--version");
    check("endless", "ok", "(version)");
    check("mine", "ok", "bin/mine");
    assert!(!world.project().join("worked").exists(), "it was run");
    check("claude", "ok", "here 1.2.3");
    check("gone", "error", "`no-such-program` is not there");
    check("mock", "ok", "built in");
    check("linked", "ok", "built in");
    check("cmd", "error", "`no-such-tool`");
}

#[test]
fn providers_are_called_unless_that_is_not_wanted() {
    let world = sound();
    let models = json!({ "data": [{ "id": "m" }] }).to_string();
    let good = ModelServer::start(vec![Scripted::body(200, &models)]);
    let bad = ModelServer::start(vec![Scripted::body(401, "wrong key")]);
    for (name, server) in [("good", &good), ("bad", &bad)] {
        let key = format!("providers.{name}.baseUrl");
        world.configure(&key, &server.base_url());
        let key = format!("providers.{name}.apiKeyEnv");
        world.configure(&key, "THE_KEY");
    }
    fs::write(world.root().join(".env"), "THE_KEY=sk-of-env\n").unwrap();
    fs::set_permissions(world.root().join(".env"), fs::Permissions::from_mode(0o600)).unwrap();
    let run = doctor(&world, &[]).exits(1);
    finds(&run, "provider", "ok", "1 models");
    finds(&run, "provider", "error", "refused the key");
    finds(&run, "provider", "error", " (unauthorized)");
    let request = &good.requests()[0];
    assert_eq!(
        (request.method.as_str(), request.target.as_str()),
        ("GET", "/v1/models")
    );
    assert_eq!(request.header("authorization"), Some("Bearer sk-of-env"));
    let run = doctor(&world, &["--offline"]).exits(0);
    assert_eq!(found(&run, "provider").len(), 0);
    assert_eq!(good.requests().len(), 1);
}

#[test]
fn damage_in_the_store_is_found() {
    let world = sound();
    let head = world.uwf(&["thread", "list", "--all"]).exits(0).json()[0]["head"].clone();
    let node = world
        .root()
        .join(format!("cas/{}.bin", head.as_str().unwrap()));
    fs::write(&node, b"not a node").unwrap();
    let run = doctor(&world, &["--offline", "--all"]).exits(1);
    finds(&run, "store", "error", head.as_str().unwrap());
    finds(&run, "threads", "error", "cannot be read");
}

#[test]
fn who_holds_a_thread_and_what_was_left_is_told() {
    let world = sound();
    let go_on = world.project().join("go-on");
    let agent = world.script(
        "agent",
        &format!(
            "touch '{0}.ready'; while [ ! -e '{0}' ]; do sleep 0.01; done",
            go_on.display()
        ),
    );
    let thread = world.start("one");
    let agent = agent.to_str().unwrap();
    let mut child = world.spawn(&["thread", "step", &thread, "--agent", agent]);
    wait_until("the agent runs", || {
        world.project().join("go-on.ready").exists()
    });
    let run = doctor(&world, &["--offline"]).exits(0);
    assert_eq!(found(&run, "lock")[0][0], thread);
    finds(&run, "lock", "ok", "a step runs for");
    fs::write(&go_on, "").unwrap();
    child.wait().unwrap();

    fs::create_dir(world.root().join("runs/of-nobody")).unwrap();
    fs::write(world.root().join("config-edit-1.yaml"), "").unwrap();
    let run = doctor(&world, &["--offline"]).exits(0);
    finds(&run, "lock", "ok", "no thread is locked");
    finds(&run, "leftovers", "warning", "2 unused");
}

#[test]
fn a_finished_step_in_a_folder_without_a_thread_is_not_to_be_committed() {
    let world = sound();
    let thread = &world.uwf(&["thread", "list", "--all"]).exits(0).json()[1];
    let head = thread["head"].as_str().unwrap();
    let forgotten = format!("{}.forgotten", thread["thread"].as_str().unwrap());
    let folder = world.root().join("runs").join(&forgotten);
    fs::create_dir(&folder).unwrap();
    let pending = json!({ "step": head, "head": head, "atMs": 1 });
    fs::write(folder.join("pending.json"), pending.to_string()).unwrap();
    let run = doctor(&world, &["--offline"]).exits(0);
    finds(&run, "leftovers", "warning", &forgotten);
    let [[subject, _, message, hint]] = &found(&run, "pending")[..] else {
        panic!("one check is expected: {}", run.stdout)
    };
    assert_eq!(subject, &forgotten);
    assert!(message.contains("is not here any more"), "{message}");
    assert!(!hint.contains("thread step"), "{hint}");
    assert!(
        hint.contains(&format!("`uwf thread fork {head}`")),
        "{hint}"
    );
    world.uwf(&["thread", "fork", head]).exits(0);
}

#[test]
fn a_broken_config_is_told_in_full() {
    let world = sound();
    fs::write(
        world.root().join("config.yaml"),
        "agents: { a: { comand: x, timeout: y } }\n",
    )
    .unwrap();
    let run = doctor(&world, &["--offline"]).exits(1);
    assert_eq!(found(&run, "config").len(), 3);
    finds(&run, "config", "error", "did you mean `command`?");
}

#[test]
fn a_script_that_cannot_be_run_is_an_error() {
    let world = sound();
    let script = world.write("x.sh", "#!/bin/sh\n");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o644)).unwrap();
    let config = "agents:\n  plain: { command: ./x.sh }\n  \
        driven: { command: uwf-command, args: [--, ./x.sh] }\n  \
        gone: { command: uwf-command, args: [--, /nowhere/y.sh] }\ndefaultAgent: plain\n";
    fs::write(world.root().join("config.yaml"), config).unwrap();
    let run = doctor(&world, &["--offline"]).exits(1);
    let agents = found(&run, "agent");
    for (alias, says) in [
        ("plain", "`./x.sh` is not executable"),
        ("driven", "`./x.sh`, which it drives, is not executable"),
        ("gone", "`/nowhere/y.sh`, which it drives, is not there"),
    ] {
        let one = agents.iter().find(|one| one[0] == alias).unwrap();
        assert!(one[1] == "error" && one[2].contains(says), "{one:?}");
    }
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let agents = found(&doctor(&world, &["--offline"]), "agent");
    let errors = agents.iter().filter(|one| one[1] == "error").count();
    assert_eq!(errors, 1, "{agents:?}");
}

#[test]
fn a_model_that_is_not_served_and_a_key_that_is_not_there_are_told() {
    let world = sound();
    let models = json!({ "data": [{ "id": "large" }, { "id": "vendor/small" }] }).to_string();
    let server = ModelServer::start(vec![Scripted::body(200, &models)]);
    let config = |key: &str| {
        format!(
            "providers: {{ p: {{ baseUrl: '{}'{key} }} }}\n\
             models: {{ a: {{ provider: p, name: larg }}, b: {{ provider: p, name: small }} }}\n",
            server.base_url()
        )
    };
    let path = world.root().join("config.yaml");
    fs::write(&path, config(", apiKeyEnv: NOT_SET_HERE")).unwrap();
    let run = doctor(&world, &[]).exits(1);
    finds(&run, "provider", "error", "`NOT_SET_HERE` is not set");
    assert!(server.requests().is_empty());
    fs::write(&path, config("")).unwrap();
    let run = doctor(&world, &[]).exits(0);
    finds(&run, "provider", "ok", "2 models");
    finds(
        &run,
        "provider",
        "warning",
        "no `larg`, the model `a`, did you mean `large`?",
    );
    assert_eq!(found(&run, "provider").len(), 2);
}

#[test]
fn an_override_for_a_role_that_nothing_has_is_named() {
    let world = sound();
    for (key, value) in [
        ("permissionOverrides.one.writer", "read"),
        ("permissionOverrides.one.writr", "read"),
        ("agentOverrides.two.writer", "default"),
    ] {
        world.configure(key, value);
    }
    let found = found(&doctor(&world, &[]), "overrides");
    let subjects: Vec<&str> = found.iter().map(|one| one[0].as_str()).collect();
    assert_eq!(
        subjects,
        ["agentOverrides.two.writer", "permissionOverrides.one.writr"]
    );
    assert!(found.iter().all(|one| one[1] == "warning"), "{found:?}");
    assert_eq!(found[1][2], "nothing is called `writr`; is `writer` meant?");
    assert_eq!(
        found[1][3],
        "`uwf config unset permissionOverrides.one.writr` removes it"
    );
}
