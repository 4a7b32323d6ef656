//! A disk that takes no more: nothing half written gets a name, and the thread goes on when there is room.
//!
//! A limit on the size of files stands in for the full disk: a write beyond it fails as one to a full disk does.

use std::process::Command;

use serde_json::json;

use crate::model_server::{ModelServer, Scripted};
use crate::world::{ONE_STEP, REVIEW, Run, World, binary};

const SCRIPT: &str = "roles:\n  writer:\n    - output: { plan: p }\n  reviewer:\n    - output: { $status: rejected, reason: r }\n";

/// Runs a command while no file can become larger than so many blocks of 512 bytes.
fn uwf_with_room_for(blocks: u32, world: &World, args: &[&str]) -> Run {
    let mut command = command_with_room_for(blocks, world, args);
    command.output().unwrap().into()
}

/// Returns such a command.
pub(crate) fn command_with_room_for(blocks: u32, world: &World, args: &[&str]) -> Command {
    // The shell ignores the signal that comes with the failed write, and so does what it becomes.
    let limited = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"");
    let mut command = world.command_of("sh");
    command.args(["-c", &limited]).arg(binary()).args(args);
    command
}

#[test]
fn a_file_that_becomes_too_large_is_an_error_and_no_signal() {
    let kinds: [(&[&str], &[i32]); 4] = [
        (&["orchestrate", "run", "p.yaml"], &[0, 1]),
        (&["orchestrate", "task", "put", "inbox/1.task"], &[0, 2]),
        (&["workflow", "put", "one.yaml"], &[0, 1]),
        (&["config", "set", "limits.maxSteps", "3"], &[0, 1]),
    ];
    for (args, codes) in kinds {
        let mut failed = 0;
        for blocks in 0..12 {
            let world = World::new();
            world.write("one.yaml", ONE_STEP);
            world.write("p.yaml", "steps: [{name: A, command: ['true']}]\n");
            let mut command = world.command_of("sh");
            let limited = format!("ulimit -f {blocks}; head -c 9000 /dev/zero | \"$0\" \"$@\"");
            command.args(["-c", &limited]).arg(binary()).args(args);
            let run: Run = command.output().unwrap().into();
            assert!(
                codes.contains(&run.code),
                "{args:?}, {blocks} blocks: {} {}",
                run.code,
                run.stderr
            );
            if run.code != 0 {
                failed += 1;
                run.says("error: ").says("File too large");
            }
        }
        assert!(failed > 0, "{args:?}");
    }
}

#[test]
fn a_step_without_room_changes_nothing_and_runs_when_there_is_some() {
    let world = World::new();
    world.put(REVIEW);
    world.mock(SCRIPT);
    let thread = world.start("review");
    let mut failed = 0;
    let mut done = 0;
    for blocks in 0..24 {
        let before = world.show(&thread)["head"].clone();
        let run = uwf_with_room_for(blocks, &world, &["thread", "step", &thread]);
        let after = world.show(&thread)["head"].clone();
        if run.code == 0 {
            done += 1;
            assert_ne!(
                after, before,
                "with {blocks} blocks a step was done, and the head stayed"
            );
        } else {
            failed += 1;
            assert!(
                [1, 3].contains(&run.code),
                "{blocks} blocks: {} {}",
                run.code,
                run.stderr
            );
            assert!(
                run.stderr.contains("error: "),
                "{blocks} blocks: {}",
                run.stderr
            );
            assert_eq!(
                after, before,
                "with {blocks} blocks a step failed, and the head moved"
            );
        }
    }
    assert!(
        failed > 0 && done > 0,
        "the limits are all too small or too large: {failed}, {done}"
    );
    world.uwf(&["cas", "verify"]).exits(0);
    assert_eq!(world.step(&thread).exits(0).json()["done"], json!(false));
}

#[test]
fn nothing_is_registered_or_started_without_room() {
    let world = World::new();
    let hash = world.put(REVIEW);
    let heads = world.state("threads.yaml");
    let start = ["thread", "start", "review", "-p", "task"];
    uwf_with_room_for(0, &world, &start)
        .exits(1)
        .says("error: ");
    assert_eq!(world.state("threads.yaml"), heads);
    assert_eq!(world.put(REVIEW), hash);
    world.start("review");
    world.uwf(&["cas", "verify"]).exits(0);
}

#[test]
fn a_file_that_cannot_be_replaced_keeps_what_it_held() {
    let more = "y".repeat(8 * 1024);
    let patch = json!({ "path": "kept", "search": "MARK", "replace": more });
    let server = ModelServer::start(vec![
        Scripted::calls(&[("patch_file", patch)]),
        Scripted::calls(&[("finish", json!({ "note": "no room", "body": "" }))]),
    ]);
    let world = World::new();
    world.put(ONE_STEP);
    world.model("m", &server.base_url());
    world.configure("defaultModel", "m");
    world.agent("uwf-builtin", &[]);
    let held = "x".repeat(99 * 1024) + "MARK";
    world.write("kept", &held);
    let thread = world.start("one");
    uwf_with_room_for(200, &world, &["thread", "step", &thread]).exits(0);
    let told = server.requests()[1].json()["messages"].clone();
    let told = told.as_array().unwrap().last().unwrap()["content"].to_string();
    assert!(told.contains("could not write `kept`"), "{told}");
    let kept = std::fs::read_to_string(world.project().join("kept")).unwrap();
    assert!(kept == held, "{} bytes are left", kept.len());
}

/// The exit code of a script that may not mount a disk.
const MAY_NOT_MOUNT: i32 = 77;

/// Runs a script while the root is on a small disk that holds a copy of it. Its arguments are the root, the program and
/// the others given. Returns its stdout; `None` if this user may not mount a disk.
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
pub(crate) fn on_a_small_disk(world: &World, script: &str, others: &[&str]) -> Option<String> {
    let script = format!(
        "cp -a \"$1\" \"$1.saved\" || exit 1
mount -t tmpfs -o size=4m tmpfs \"$1\" || exit {MAY_NOT_MOUNT}
cp -a \"$1.saved/.\" \"$1\"
{script}"
    );
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", &script, "sh"]);
    command.arg(world.root()).arg(binary()).args(others);
    let ran = command
        .current_dir(world.project())
        .env_clear()
        .envs(world.environment())
        .output();
    let ran: Run = ran.unwrap().into();
    let is_refused = ran.code == MAY_NOT_MOUNT || ran.stderr.starts_with("unshare: ");
    if is_refused {
        eprintln!("skipped: this user may not mount a small disk");
        return None;
    }
    Some(ran.exits(0).stdout)
}

/// What the tool does to the disk before it answers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fills {
    /// It fills the disk.
    Disk,
    /// It takes the room that was set aside, too, as another thread may have done.
    RoomToo,
}

/// Steps a thread on a small disk that the tool fills up, but for so many pages, before it answers. Returns the exit codes
/// of the step on the full disk and of the same step with room again, and how often the tool ran; and what the first step
/// said.
fn paid_on_a_full_disk(fills: Fills, pages: u32) -> Option<(String, String)> {
    let world = World::new();
    world.put(ONE_STEP);
    let thread = world.start("one");
    let taken = match fills {
        Fills::Disk => "",
        Fills::RoomToo => "rm $UWF_STORAGE_ROOT/locks/room",
    };
    let tool = world.script(
        "tool.sh",
        "echo run >> runs
TAKEN
dd if=/dev/zero of=$UWF_STORAGE_ROOT/fill bs=4096 2>/dev/null
dd if=/dev/null of=$UWF_STORAGE_ROOT/fill bs=4096 seek=$(($(stat -c %s $UWF_STORAGE_ROOT/fill) / 4096 - PAGES)) 2>/dev/null
printf -- '---\\nnote: n\\n---\\n'",
    );
    let body = std::fs::read_to_string(&tool).unwrap();
    std::fs::write(
        &tool,
        body.replace("PAGES", &pages.to_string())
            .replace("TAKEN", taken),
    )
    .unwrap();
    world.agent("uwf-command", &["--", tool.to_str().unwrap()]);
    let script = "\"$2\" thread step \"$3\" >/dev/null 2>said; first=$?
rm -f \"$1/fill\"
\"$2\" thread step \"$3\" >/dev/null 2>&1; second=$?
echo \"$first $second $(wc -l < runs)\"; cat said";
    let ran = on_a_small_disk(&world, script, &[&thread])?;
    let (ran, said) = ran.split_once('\n').unwrap();
    Some((ran.to_owned(), said.to_owned()))
}

#[test]
fn an_answer_that_was_paid_for_survives_a_disk_that_fills_up_meanwhile() {
    for pages in 0..6 {
        let Some((ran, said)) = paid_on_a_full_disk(Fills::Disk, pages) else {
            return;
        };
        let is_kept = ["0 7 1", "1 0 1", "3 0 1"].contains(&ran.as_str());
        assert!(is_kept, "{pages} pages: {ran}: {said}");
    }
}

#[test]
fn a_disk_without_any_room_costs_no_answer_and_is_named() {
    let mut failed = 0;
    for pages in 0..14 {
        let Some((ran, said)) = paid_on_a_full_disk(Fills::RoomToo, pages) else {
            return;
        };
        let is_kept = ["0 7 1", "1 0 1", "3 0 1"].contains(&ran.as_str());
        assert!(is_kept, "{pages} pages: {ran}: {said}");
        if !ran.starts_with('0') {
            failed += 1;
            assert!(
                said.contains("hint: the disk is full"),
                "{pages} pages: {said}"
            );
        }
    }
    assert!(failed > 3, "{failed}");
}

#[test]
fn no_agent_starts_on_a_disk_that_is_almost_full() {
    let world = World::new();
    world.put(ONE_STEP);
    let tool = world.script(
        "tool.sh",
        "echo run >> runs; printf -- '---\\nnote: n\\n---\\n'",
    );
    world.agent("uwf-command", &["--", tool.to_str().unwrap()]);
    let thread = world.start("one");
    // The room was set aside before the disk filled up. The program would have only some pages for its answer.
    let script = "fallocate -l 1m $1/locks/room
dd if=/dev/zero of=$1/fill bs=4096 2>/dev/null
dd if=/dev/null of=$1/fill bs=4096 seek=$(($(stat -c %s $1/fill) / 4096 - 20)) 2>/dev/null
\"$2\" thread step \"$3\" >/dev/null 2>said; first=$?
rm -f \"$1/fill\"
touch runs; before=$(wc -l < runs)
\"$2\" thread step \"$3\" >/dev/null 2>&1
echo \"$first $before $? $(wc -l < runs)\"; cat said";
    let Some(ran) = on_a_small_disk(&world, script, &[&thread]) else {
        return;
    };
    let (ran, said) = ran.split_once('\n').unwrap();
    assert_eq!(ran, "1 0 0 1", "{said}");
    assert!(said.contains("hint: the disk is full"), "{said}");
}
