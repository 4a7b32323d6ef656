//! Looking at processes and ending them, each by its number. Only what a test started itself may be ended.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::world::{World, pids_with, wait_until};

/// Tells whether a process with this number runs; one that ended and was not waited for does not.
pub(crate) fn is_running(pid: impl Display) -> bool {
    let state = stat(pid).chars().next();
    state.is_some_and(|state| state != 'Z' && state != 'X')
}

/// Tells whether a process sleeps, as a wait does between two looks.
pub(crate) fn sleeps(pid: impl Display) -> bool {
    stat(pid).starts_with('S')
}

/// Returns when a process started, in the ticks of the kernel.
#[track_caller]
pub(crate) fn started(pid: impl Display) -> u64 {
    stat(pid).split(' ').nth(19).unwrap().parse().unwrap()
}

/// Returns the processes whose command line has these words, with the words of each.
pub(crate) fn that_were_started_with(words: &str) -> Vec<String> {
    let processes = std::fs::read_dir("/proc").unwrap();
    processes
        .filter_map(|entry| std::fs::read(entry.ok()?.path().join("cmdline")).ok())
        .map(|line| String::from_utf8_lossy(&line).replace('\0', " "))
        .filter(|line| line.contains(words))
        .collect()
}

/// Returns number and command line of every process that was started with this variable, such as `NAME=value`.
pub(crate) fn with_variable(variable: &str) -> Vec<String> {
    let found = pids_with(variable).into_iter();
    let found = found.filter_map(|pid| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        Some(format!("{pid} {line}"))
    });
    found.collect()
}

/// Returns a variable with which a process was started.
pub(crate) fn variable(pid: impl Display, name: &str) -> Option<String> {
    let environment = std::fs::read(format!("/proc/{pid}/environ")).ok()?;
    let environment = String::from_utf8_lossy(&environment);
    let mut variables = environment
        .split('\0')
        .filter_map(|one| one.split_once('='));
    let found = variables.find(|(known, _)| *known == name)?;
    Some(found.1.to_owned())
}

/// Returns what the kernel says of a process after its name, beginning with its state; nothing if it is gone.
fn stat(pid: impl Display) -> String {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    after_name.trim().to_owned()
}

/// Starts `tail -f` on all files of a run, as a person does who looks on, and returns when it has them open.
#[track_caller]
pub(crate) fn follow(run: &Path) -> Child {
    let files = std::fs::read_dir(run).unwrap();
    let files = files.map(|file| file.unwrap().path());
    let files: Vec<PathBuf> = files.filter(|path| path.is_file()).collect();
    let mut tail = Command::new("tail");
    let tail = tail.arg("-f").args(&files).stdout(Stdio::null());
    let tail = tail.spawn().unwrap();
    let open = format!("/proc/{}/fd", tail.id());
    wait_until("all files are followed", || {
        let open = std::fs::read_dir(&open).unwrap().flatten();
        let open: Vec<_> = open.flat_map(|fd| std::fs::read_link(fd.path())).collect();
        files.iter().all(|file| open.contains(file))
    });
    tail
}

/// Ends everything at once that works for a world: engines, agents, and what these have started.
pub(crate) fn kill_all_of(world: &World) {
    // As if the machine had died: all stand still first, so none sees the end of another and none is started meanwhile.
    let mut stopped = Vec::new();
    loop {
        let all = of_world(world);
        if all == stopped {
            break;
        }
        send_to_each("STOP", &all);
        stopped = all;
    }
    send_to_each("KILL", &stopped);
}

/// Sends a signal to processes by their numbers. Some may have ended by themselves.
fn send_to_each(name: &str, pids: &[String]) {
    let mut kill = Command::new("kill");
    let kill = kill.args(["-s", name, "--"]).args(pids);
    kill.stderr(Stdio::null()).status().unwrap();
}

/// Returns the numbers of all processes that work for a world.
pub(crate) fn of_world(world: &World) -> Vec<String> {
    let root = format!("UWF_STORAGE_ROOT={}", world.root().display());
    let number = |process: String| process.split(' ').next().unwrap().to_owned();
    with_variable(&root).into_iter().map(number).collect()
}

/// Sends a signal, such as `TERM`, to the process with this number.
#[track_caller]
pub(crate) fn signal(name: &str, pid: impl Display) {
    send(name, &pid.to_string());
}

/// Tells whether a process has a handler for SIGINT: before that, the signal ends it at once.
pub(crate) fn catches_signals(pid: u32) -> bool {
    const INT: u64 = 1 << 1;
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let caught = caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    caught.is_some_and(|mask| mask & INT != 0)
}

/// Ends all of a process group at once, by the number of the process that leads it.
#[track_caller]
pub(crate) fn kill_group(leader: impl Display) {
    send("KILL", &format!("-{leader}"));
}

/// Ends a child at once and waits until it is gone.
#[track_caller]
pub(crate) fn kill(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Ends a process at once if it is still there, and tells whether it was.
pub(crate) fn kill_if_there(pid: &str) -> bool {
    let mut kill = Command::new("kill");
    let sent = kill.args(["-s", "KILL", "--", pid]).stderr(Stdio::null());
    sent.status().unwrap().success()
}

#[track_caller]
fn send(name: &str, target: &str) {
    let sent = Command::new("kill")
        .args(["-s", name, "--", target])
        .status();
    assert!(sent.unwrap().success());
}

#[test]
fn a_test_that_fails_leaves_nothing_at_work() {
    let (tell, told) = std::sync::mpsc::channel();
    let failing = std::thread::spawn(move || {
        let world = World::new();
        let mut sleep = world.command_of("sleep");
        tell.send(sleep.arg("600").spawn().unwrap()).unwrap();
        // As a panic, but nothing is printed.
        std::panic::resume_unwind(Box::new(()));
    });
    assert!(failing.join().is_err());
    let mut sleep = told.recv().unwrap();
    assert!(!sleep.wait().unwrap().success());
}
