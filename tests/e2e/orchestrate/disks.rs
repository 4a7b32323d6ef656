//! Disks that take no more: the program is ended, nothing further starts, and the run goes on when there is room.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::crash::reader::Ledger;
use crate::full_disk::{command_with_room_for, on_a_small_disk};
use crate::world::{Run, World, binary};

/// Steps that say that they were begun.
const STEPS: &str = "steps:
  - {name: A, command: [sh, -c, 'echo A >> ran; seq 400'], output_file: out/a, output_capture: lines}
  - {name: B, command: [sh, -c, 'echo B >> ran; seq 500']}
  - {name: C, command: [sh, -c, 'echo C >> ran']}
";

fn ran(world: &World) -> String {
    let ran = fs::read_to_string(world.project().join("ran")).unwrap_or_default();
    ran.replace('\n', "")
}

/// Reads the picture of every run that has one.
#[track_caller]
fn pictures(world: &World) -> Vec<Value> {
    let runs = fs::read_dir(world.project().join(".orchestrate/runs"));
    let runs = runs.into_iter().flatten().map(|run| run.unwrap().path());
    let texts = runs.filter_map(|run: std::path::PathBuf| {
        fs::read_to_string(Path::new(&run).join("state.json")).ok()
    });
    texts
        .map(|text| serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}")))
        .collect()
}

#[test]
fn a_run_without_room_stops_says_where_and_goes_on_when_there_is_some() {
    let (mut failed, mut done) = (0, 0);
    for blocks in 0..24 {
        let world = World::new();
        world.write("p.yaml", STEPS);
        let args = ["orchestrate", "run", "p.yaml"];
        let run: Run = command_with_room_for(blocks, &world, &args)
            .output()
            .unwrap()
            .into();
        let pictures = pictures(&world);
        let before = ran(&world);
        match run.code {
            0 => done += 1,
            1 => {
                failed += 1;
                assert!(
                    run.stderr.contains("File too large"),
                    "{blocks}: {}",
                    run.stderr
                );
                assert!(
                    run.stderr.contains("error: cannot "),
                    "{blocks}: {}",
                    run.stderr
                );
            }
            code => panic!("{blocks}: {code}: {}", run.stderr),
        }
        let ledger = Ledger::read(&world.root());
        let Some(thread) = ledger.threads.keys().next() else {
            assert_eq!(before, "", "{blocks}: no step of a run that was not made");
            world.uwf(&args).exits(0);
            continue;
        };
        let has_ended = !ledger.active.contains(thread);
        if run.code != 0 && !has_ended {
            assert!(
                pictures.iter().all(|it| it["status"] != "completed"),
                "{pictures:?}"
            );
            world.uwf(&["orchestrate", "resume", thread]).exits(0);
        }
        let after = ran(&world);
        assert!(
            after.starts_with(&before) && after.ends_with('C'),
            "{before}, {after}"
        );
        // What was begun last may be lost, and nothing else.
        assert!(
            ["ABC", "AABC", "ABBC", "ABCC"].contains(&after.as_str()),
            "{blocks}: {after}"
        );
    }
    assert!(failed > 3 && done > 0, "{failed}, {done}");
}

#[test]
fn a_program_that_fills_the_disk_is_ended_and_runs_again_when_there_is_room() {
    let world = World::new();
    fs::create_dir(world.root()).unwrap();
    world.write(
        "p.yaml",
        "steps:
  - {name: A, command: [sh, -c, 'echo A >> ran']}
  - {name: B, command: [sh, -c, 'echo B >> ran; test ! -e fill || { echo $$$$ > pid; exec yes; }']}
  - {name: C, command: [sh, -c, 'echo C >> ran']}
",
    );
    world.write("fill", "");
    let script = "\"$2\" orchestrate run p.yaml --state-dir \"$1/state\" 2>said; first=$?
run=$(ls \"$1/state\")
\"$2\" orchestrate resume $run --state-dir \"$1/state\" 2>again; second=$?
kill -0 $(cat pid) 2>/dev/null && lives=lives || lives=ended
cp \"$1/state/$run/state.json\" left.json
rm fill \"$1/state/$run/logs/B.stdout\"
\"$2\" orchestrate resume $run --state-dir \"$1/state\" 2>last; third=$?
echo \"$first $second $lives $third $(echo $(cat ran))\"; cat said";
    let Some(ran) = on_a_small_disk(&world, script, &[]) else {
        return;
    };
    let (codes, said) = ran.split_once('\n').unwrap();
    let last = fs::read_to_string(world.project().join("last")).unwrap();
    assert_eq!(codes, "1 1 ended 0 A B B C", "{said}{last}");
    assert!(said.contains("error: cannot write"), "{said}");
    assert!(said.contains("No space left on device"), "{said}");
    let again = "make room on it, then `uwf orchestrate resume ";
    assert!(said.contains(again), "{said}");
    let left = fs::read_to_string(world.project().join("left.json")).unwrap();
    let left: Value = serde_json::from_str(&left).unwrap();
    // A picture that did not fit on the disk is the one before.
    let status = left["status"].as_str().unwrap();
    assert!(matches!(status, "running" | "interrupted"), "{left}");
}

#[test]
fn on_a_read_only_disk_nothing_starts() {
    let world = World::new();
    fs::create_dir(world.root()).unwrap();
    world.write(
        "p.yaml",
        "steps:
  - {name: A, command: [sh, -c, 'echo A >> ran']}
  - {name: B, command: [sh, -c, 'echo B >> ran; test ! -e fail']}
",
    );
    world.write("fail", "");
    let script = "\"$2\" orchestrate run p.yaml --state-dir \"$1/state\" 2>/dev/null; first=$?
run=$(ls \"$1/state\")
rm fail
mount -o remount,ro \"$1\" || exit 1
\"$2\" orchestrate resume $run --state-dir \"$1/state\" 2>said; second=$?
\"$2\" orchestrate run p.yaml --state-dir \"$1/state\" 2>>said; third=$?
mount -o remount,rw \"$1\" || exit 1
\"$2\" orchestrate resume $run --state-dir \"$1/state\" 2>/dev/null; fourth=$?
echo \"$first $second $third $fourth $(echo $(cat ran))\"; cat said";
    let Some(ran) = on_a_small_disk(&world, script, &[]) else {
        return;
    };
    let (codes, said) = ran.split_once('\n').unwrap();
    assert_eq!(codes, "1 1 1 0 A B B", "{said}");
    assert_eq!(
        said.matches("cause: Read-only file system").count(),
        2,
        "{said}"
    );
}

#[test]
fn a_folder_that_cannot_be_made_stops_a_run_before_any_step() {
    let world = World::new();
    world.write("p.yaml", STEPS);
    world.write("file", "");
    for place in ["file", "file/runs", "/proc/runs"] {
        let args = ["orchestrate", "run", "p.yaml", "--state-dir", place];
        let run = world.uwf(&args).exits(1);
        assert!(
            run.stderr.contains("error: cannot create"),
            "{}",
            run.stderr
        );
    }
    assert_eq!(ran(&world), "");
    assert_eq!(world.state("threads.yaml"), "");
}

#[test]
fn a_result_that_was_paid_for_survives_a_disk_that_fills_up_meanwhile() {
    let world = World::new();
    fs::create_dir(world.root()).unwrap();
    world.write(
        "p.yaml",
        "steps:
  - name: B
    command: [sh, -c, 'echo B >> ran; dd if=/dev/zero of=$UWF_STORAGE_ROOT/fill bs=4096 2>/dev/null; echo answer']
  - {name: C, command: [sh, -c, 'echo C >> ran']}
",
    );
    let script = "\"$2\" orchestrate run p.yaml >/dev/null 2>said; first=$?
rm -f \"$1/fill\"
\"$2\" orchestrate resume $(ls .orchestrate/runs) >/dev/null 2>&1; second=$?
echo \"$first $second $(echo $(cat ran))\"; cat said";
    let Some(ran) = on_a_small_disk(&world, script, &[]) else {
        return;
    };
    let (codes, said) = ran.split_once('\n').unwrap();
    assert_eq!(codes, "1 0 B C", "{said}");
    assert!(said.contains("hint: the disk is full"), "{said}");
}

#[test]
fn a_full_disk_under_the_workspace_stops_a_loop_before_its_next_item() {
    let world = World::new();
    fs::create_dir(world.root()).unwrap();
    world.write(
        "p.yaml",
        "steps:
- name: Each
  for_each:
    items: [a, b, c, d]
    steps:
    - name: Pay
      command: [sh, -c, 'echo $0 >> ../log; head -c 1500000 /dev/zero', '${item}']
      output_file: 'out/${item}'
    on_item_complete: {success: {move_to: done}, failure: {move_to: failed}}
",
    );
    // The workspace alone is on the small disk.
    let script = "mkdir \"$1/ws\"; place=\"--state-dir $PWD/runs\"
run() { \"$2\" --root \"$PWD/own\" orchestrate \"$3\" \"$4\" $place $5 2>>said; }
run \"$@\" run p.yaml \"--workspace $1/ws --on-error continue --run-id r\"; first=$?
echo \"$(echo $(cat \"$1/log\"))\" > before
rm \"$1/ws/out/a\" \"$1/ws/out/b\"
run \"$@\" resume r; second=$?
echo \"$first $second, $(cat before), $(echo $(cat \"$1/log\")), $(ls \"$1/ws/out\" | wc -l)\"; cat said";
    let Some(ran) = on_a_small_disk(&world, script, &[]) else {
        return;
    };
    let (codes, said) = ran.split_once('\n').unwrap();
    assert_eq!(codes, "1 0, a b c, a b c c d, 2", "{said}");
    let why = "error: cannot write `out/c`\ncause: No space left on device";
    assert!(said.contains(why), "{said}");
}

#[test]
fn a_task_that_finds_no_room_where_it_is_moved_to_stops_the_run_and_is_moved_later() {
    let world = World::new();
    fs::create_dir(world.root()).unwrap();
    world.write(
        "p.yaml",
        "steps:
- name: Each
  for_each:
    items: [in/a, in/b]
    steps: [{name: Pay, command: [sh, -c, 'echo $0 >> log', '${item}']}]
    on_item_complete: {success: {move_to: done}}
",
    );
    for task in ["in/a", "in/b"] {
        world.write(task, &"x".repeat(20_000));
    }
    let script = "mkdir done; mount -t tmpfs -o size=8k tmpfs done || exit 77
\"$2\" orchestrate run p.yaml --run-id r 2>said; first=$?
umount done
\"$2\" orchestrate resume r 2>>said; second=$?
echo \"$first $second, $(echo $(cat log)), $(echo $(ls done in))\"; cat said";
    let Some(ran) = on_a_small_disk(&world, script, &[]) else {
        return;
    };
    let (codes, said) = ran.split_once('\n').unwrap();
    assert_eq!(codes, "1 0, in/a in/b, done: a b in:", "{said}");
    assert!(said.contains("error: cannot move `in/a`"), "{said}");
}

#[test]
fn a_limit_of_the_size_of_files_is_an_error_and_not_the_end() {
    let world = World::new();
    world.write(
        "p.yaml",
        "steps: [{name: A, command: [sh, -c, 'trap \"\" XFSZ; head -c 3000000 /dev/zero; sleep 43'], output_file: o}]\n",
    );
    let mut command = world.command_of("sh");
    command.args(["-c", "ulimit -f 500; exec \"$0\" \"$@\""]);
    command.arg(binary()).args(["orchestrate", "run", "p.yaml"]);
    let run: Run = command.output().unwrap().into();
    let run = run.exits(1).says("error: cannot write ");
    run.says("File too large");
    assert_eq!(pictures(&world)[0]["status"], "interrupted");
}
