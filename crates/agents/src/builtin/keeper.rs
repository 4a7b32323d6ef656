//! The keeper of a command: a process between the agent and a command that its model runs.
//!
//! It ends everything that the command started, also what left its process group or its parents, as soon as the
//! command is over or the agent lets go of the keeper's standard input, which it does by ending, too, however it ends.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, WaitStatus, getpid, pidfd_open, pidfd_send_signal,
    set_child_subreaper, wait,
};
use uwf_storage::process_parent;

/// The argument by which the agent's own program becomes a keeper; the command follows.
pub(super) const ARGUMENT: &str = "--keep-command";

/// How long a command has to end after it was asked to.
const GRACE: Duration = Duration::from_millis(1000);
/// How long all that it started has to be gone after it was killed.
const PATIENCE: Duration = Duration::from_secs(4);
const PAUSE: Duration = Duration::from_millis(5);

/// Runs a command to its end, and returns the exit code: its own, or 128 and the signal that ended it.
pub(super) fn keep(command: &str) -> i32 {
    match run(command) {
        Ok(code) => code,
        Err(error) => {
            let _ = writeln!(io::stderr(), "the command could not be run: {error}");
            126
        }
    }
}

fn run(command: &str) -> io::Result<i32> {
    // Orphans of the command become our children, so that none is lost from sight.
    set_child_subreaper(Some(getpid()))?;
    let shell = Command::new("sh")
        .args(["-c", command])
        .env_remove("PWD")
        .stdin(Stdio::null())
        .spawn()?;
    let shell = Pid::from_child(&shell);
    let (sender, over) = mpsc::channel();
    let let_go = sender.clone();
    thread::spawn(move || sender.send(Some(reap(shell))));
    thread::spawn(move || {
        let _ = io::stdin().read_to_end(&mut Vec::new());
        let_go.send(None)
    });
    let code = over.recv().ok().flatten();
    if code.is_none() {
        signal_descendants(Signal::TERM);
        let deadline = Instant::now() + GRACE;
        while Instant::now() < deadline && !descendants().is_empty() {
            thread::sleep(PAUSE);
        }
    }
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline && signal_descendants(Signal::KILL) > 0 {
        thread::sleep(PAUSE);
    }
    Ok(code.unwrap_or(128 + Signal::KILL.as_raw()))
}

/// Waits for all that ends until the shell does, and returns the exit code of that.
fn reap(shell: Pid) -> i32 {
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == shell => return exit_code(status),
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return 126,
        }
    }
}

fn exit_code(status: WaitStatus) -> i32 {
    let signal = status.terminating_signal().map(|signal| 128 + signal);
    status.exit_status().or(signal).unwrap_or(126)
}

/// Signals all that we started, directly or not, and returns how many there were.
fn signal_descendants(signal: Signal) -> usize {
    let descendants = descendants();
    for (pid, parent) in &descendants {
        // Whether it is still the same process is known only when a descriptor holds it.
        let Ok(process) = pidfd_open(*pid, PidfdFlags::empty()) else {
            continue;
        };
        if parent_of(*pid) == Some(*parent) || parent_of(*pid) == Some(getpid()) {
            let _ = pidfd_send_signal(&process, signal);
        }
    }
    descendants.len()
}

/// Returns the processes below us that have not ended, each with its parent.
fn descendants() -> Vec<(Pid, Pid)> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids =
        processes.filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?));
    let mut others: Vec<(Pid, Pid)> = pids
        .filter_map(|pid| Some((pid, parent_of(pid)?)))
        .collect();
    let mut found: Vec<(Pid, Pid)> = Vec::new();
    let mut parents = vec![getpid()];
    while let Some(parent) = parents.pop() {
        let (children, rest) = others.into_iter().partition(|(_, of)| *of == parent);
        others = rest;
        parents.extend(children.iter().map(|(pid, _): &(Pid, Pid)| *pid));
        found.extend(children);
    }
    found
}

fn parent_of(pid: Pid) -> Option<Pid> {
    let pid = u32::try_from(pid.as_raw_pid()).ok()?;
    Pid::from_raw(process_parent(pid)?.try_into().ok()?)
}
