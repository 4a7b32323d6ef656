//! Damage and tricks: a run says what is wrong, does nothing twice, and goes on when it is mended.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use crate::crash::reader::{Ledger, visits};
use crate::world::{Run, World};

const RUN: &[&str] = &["orchestrate", "run", "p.yaml"];

/// A run that was stopped by its last step, and its thread. The step succeeds when the file `fail` is gone.
fn stopped() -> (World, String) {
    let world = World::new();
    world.write(
        "p.yaml",
        "steps:
  - {name: A, command: [sh, -c, 'echo A >> ran; echo a; echo e >&2'], output_file: out/a}
  - name: L
    for_each:
      items: [1, 2]
      steps: [{name: E, command: [sh, -c, 'echo E >> ran; echo $1', _, '${item}'], output_capture: json}]
  - {name: C, command: [sh, -c, 'echo C >> ran; test ! -e fail']}
",
    );
    world.write("fail", "");
    world.uwf(RUN).exits(1);
    fs::remove_file(world.project().join("fail")).unwrap();
    let thread = Ledger::read(&world.root())
        .threads
        .into_keys()
        .next()
        .unwrap();
    (world, thread)
}

fn resume(world: &World, thread: &str) -> Run {
    world.uwf(&["orchestrate", "resume", thread])
}

fn ran(world: &World) -> String {
    let ran = fs::read_to_string(world.project().join("ran")).unwrap_or_default();
    ran.replace('\n', "")
}

fn folder(world: &World) -> PathBuf {
    let mut runs = fs::read_dir(world.project().join(".orchestrate/runs")).unwrap();
    runs.next().unwrap().unwrap().path()
}

#[test]
fn a_damaged_node_is_named_and_nothing_runs_until_it_is_repaired() {
    let (world, thread) = stopped();
    let head = Ledger::read(&world.root()).threads[&thread]
        .last()
        .unwrap()
        .clone();
    let walked = world.uwf(&["cas", "walk", &head]).exits(0).stdout;
    let hashes = walked.split(|it: char| !it.is_ascii_alphanumeric());
    let mut hashes: Vec<&str> = hashes.filter(|it| it.len() == 13).collect();
    hashes.sort_unstable();
    hashes.dedup();
    assert!(hashes.len() > 15, "{walked}");
    let (mut refused, mut not_needed) = (0, 0);
    let saved = world.dir().join("saved");
    for hash in hashes {
        let file = world.root().join(format!("cas/{hash}.bin"));
        let Ok(sound) = fs::read(&file) else { continue };
        let copy = |from: &str, to: &str| {
            let [from, to] = [from, to].map(|it| world.dir().join(it));
            let mut copy = std::process::Command::new("cp");
            assert!(copy.arg("-a").args([from, to]).status().unwrap().success());
        };
        let _ = fs::remove_dir_all(&saved);
        fs::create_dir(&saved).unwrap();
        copy("root", "saved");
        copy("project", "saved");
        let mut damaged = sound.clone();
        let middle = damaged.len() / 2;
        damaged[middle] ^= 1;
        fs::write(&file, damaged).unwrap();
        let run = resume(&world, &thread);
        match run.code {
            0 => not_needed += 1,
            1 => {
                refused += 1;
                assert!(run.stderr.contains(hash), "{}", run.stderr);
                assert_eq!(ran(&world), "AEEC", "{}", run.stderr);
                fs::write(&file, sound).unwrap();
                resume(&world, &thread).exits(0);
            }
            code => panic!("{hash}: {code}: {}", run.stderr),
        }
        assert_eq!(ran(&world), "AEECC");
        for folder in ["root", "project"] {
            fs::remove_dir_all(world.dir().join(folder)).unwrap();
            copy(&format!("saved/{folder}"), folder);
        }
    }
    assert!(refused > 8 && not_needed > 0, "{refused}, {not_needed}");
}

#[test]
fn a_run_needs_nothing_of_its_folder_but_the_way_to_its_thread() {
    let (world, thread) = stopped();
    let id = folder(&world)
        .file_name()
        .unwrap()
        .to_str()
        .unwrap()
        .to_owned();
    for file in ["thread", "workflow.yaml"] {
        fs::remove_file(folder(&world).join(file)).unwrap();
    }
    fs::remove_dir_all(folder(&world).join("logs")).unwrap();
    resume(&world, &id)
        .exits(2)
        .says("has no record `thread`")
        .says("`state.json` in it names the thread");
    resume(&world, &thread).exits(0);
    assert_eq!(ran(&world), "AEECC");
}

#[test]
fn nothing_is_written_through_a_link_in_place_of_the_folder_of_a_run() {
    for what in ["", "logs", "state.json"] {
        let (world, thread) = stopped();
        let place = folder(&world).join(what);
        let place = place.to_str().unwrap().trim_end_matches('/').to_owned();
        let elsewhere = world.dir().join("elsewhere");
        fs::rename(&place, &elsewhere).unwrap();
        let before = (!elsewhere.is_dir()).then(|| fs::read(&elsewhere).unwrap());
        symlink(&elsewhere, &place).unwrap();
        let run = resume(&world, &thread);
        assert_eq!(run.code, 1, "{what}: {}", run.stderr);
        let run = run.says("is a symbolic link");
        assert!(run.stderr.contains(&place), "{}", run.stderr);
        assert_eq!(ran(&world), "AEEC");
        if let Some(before) = before {
            assert_eq!(fs::read(&elsewhere).unwrap(), before);
        }
        fs::remove_file(&place).unwrap();
        fs::rename(&elsewhere, &place).unwrap();
        resume(&world, &thread).exits(0);
    }
}

#[test]
fn a_link_that_a_step_puts_in_place_of_the_logs_gets_none_of_them() {
    let world = World::new();
    let elsewhere = world.dir().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    for name in ["A.stdout", "B.stdout"] {
        fs::write(elsewhere.join(name), "theirs").unwrap();
    }
    let swap = "mv \"$ORCHESTRATE_RUN_ROOT/logs\" logs; ln -s \"$1\" \"$ORCHESTRATE_RUN_ROOT/logs\"; echo a; echo A >> ran";
    let steps = serde_json::json!({"steps": [
        {"name": "A", "command": ["sh", "-c", swap, "_", elsewhere]},
        {"name": "B", "command": ["sh", "-c", "echo B >> ran; echo b"]},
    ]});
    world.write("p.yaml", &steps.to_string());
    let run = world.uwf(&[RUN, &["--run-id", "r"]].concat()).exits(1);
    run.says("r/logs` is a symbolic link");
    for name in ["A.stdout", "B.stdout"] {
        let kept = fs::read_to_string(elsewhere.join(name)).unwrap();
        assert_eq!(kept, "theirs");
    }
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 2);
    let logs = folder(&world).join("logs");
    fs::remove_file(&logs).unwrap();
    fs::rename(world.project().join("logs"), &logs).unwrap();
    world.write("p.yaml", &steps.to_string());
    assert!(!ran(&world).contains('B'), "{}", ran(&world));
}

#[test]
fn what_is_no_file_in_place_of_the_picture_is_replaced_on_demand() {
    let (world, _) = stopped();
    let file = folder(&world).join("state.json");
    let id = folder(&world);
    let id = id.file_name().unwrap().to_str().unwrap();
    let elsewhere = world.dir().join("elsewhere");
    fs::write(&elsewhere, "theirs").unwrap();
    world.write("fail", "");
    for (what, problem) in [
        ("fifo", "is no regular file"),
        ("link", "is a symbolic link"),
    ] {
        fs::remove_file(&file).unwrap();
        match what {
            "fifo" => {
                let made = std::process::Command::new("mkfifo").arg(&file).status();
                assert!(made.unwrap().success());
            }
            _ => symlink(&elsewhere, &file).unwrap(),
        }
        resume(&world, id).exits(1).says(problem).says(&format!(
            "`uwf orchestrate resume {id} --repair` puts that aside"
        ));
        world
            .uwf(&["orchestrate", "resume", id, "--repair"])
            .exits(1)
            .says("it was made again");
        assert!(file.is_file() && !file.is_symlink(), "{what}");
        assert_eq!(fs::read_to_string(&elsewhere).unwrap(), "theirs");
    }
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    fs::write(file.join("kept"), "").unwrap();
    resume(&world, id).exits(1).says("is a folder");
    fs::remove_file(world.project().join("fail")).unwrap();
    world
        .uwf(&["orchestrate", "resume", id, "--repair"])
        .exits(0);
    let aside = |name: &str| file.with_file_name(name);
    assert!(aside("state.json.aside.3").join("kept").exists());
    assert!(aside("state.json.aside.2").is_symlink());
    assert!(aside("state.json.aside").exists());
}

#[test]
fn the_folder_of_all_runs_may_be_a_link() {
    let world = World::new();
    let elsewhere = world.dir().join("elsewhere");
    fs::create_dir_all(&elsewhere).unwrap();
    fs::create_dir(world.project().join(".orchestrate")).unwrap();
    symlink(&elsewhere, world.project().join(".orchestrate/runs")).unwrap();
    world.write(
        "p.yaml",
        "steps:\n  - {name: A, command: [sh, -c, 'test ! -e fail']}\n",
    );
    world.write("fail", "");
    world.uwf(&[RUN, &["--run-id", "r"]].concat()).exits(1);
    fs::remove_file(world.project().join("fail")).unwrap();
    resume(&world, "r").exits(0);
    assert!(elsewhere.join("r/state.json").exists());
}

#[test]
fn an_id_that_could_leave_the_folder_of_runs_is_refused() {
    let world = World::new();
    world.write(
        "p.yaml",
        "steps:\n  - {name: A, command: [sh, -c, 'echo A >> ran']}\n",
    );
    let long = "x".repeat(300);
    for id in [
        "..",
        ".",
        "",
        "a/b",
        "../x",
        "/x",
        "a\nb",
        "-x",
        ".x",
        long.as_str(),
        "é",
    ] {
        let option = format!("--run-id={id}");
        world.uwf(&[RUN, &[option.as_str()]].concat()).exits(2);
        resume(&world, &format!("./{id}")).exits(2);
    }
    assert_eq!(ran(&world), "");
    assert!(!world.project().join(".orchestrate").exists());
}

#[test]
fn a_pending_record_that_is_torn_or_of_another_thread_loses_no_step() {
    let (world, thread) = stopped();
    let (other, of_other) = stopped();
    let pending = world.pending_file(&thread);
    fs::write(&pending, "{\"step\": \"0").unwrap();
    let run = resume(&world, &thread).exits(1);
    assert!(
        run.stderr.contains(pending.to_str().unwrap()),
        "{}",
        run.stderr
    );
    assert_eq!(ran(&world), "AEEC");
    // A step of another run does not follow the head.
    let theirs = Ledger::read(&other.root()).threads[&of_other]
        .last()
        .unwrap()
        .clone();
    let head = Ledger::read(&world.root()).threads[&thread]
        .last()
        .unwrap()
        .clone();
    for file in fs::read_dir(other.root().join("cas")).unwrap() {
        let file = file.unwrap();
        if file.file_type().unwrap().is_file() {
            fs::copy(file.path(), world.root().join("cas").join(file.file_name())).unwrap();
        }
    }
    let record = serde_json::json!({"step": theirs, "head": head, "replaces": null, "atMs": 1});
    fs::write(&pending, record.to_string()).unwrap();
    assert_eq!(visits(&world.root(), &head).len(), 5);
    let run = resume(&world, &thread);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let ledger = Ledger::read(&world.root());
    let steps = &ledger.threads[&thread];
    assert!(!steps.contains(&theirs), "{steps:?}");
    assert_eq!(ran(&world), "AEECC");
}
