//! Looking at processes and ending them, each by its number. Only what a test started itself may be ended.

use std::fmt::Display;
use std::process::{Child, Command};

/// Tells whether a process with this number runs; one that ended and was not waited for does not.
pub(crate) fn is_running(pid: impl Display) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat
        .rsplit(')')
        .next()
        .unwrap_or_default()
        .trim()
        .chars()
        .next();
    state.is_some_and(|state| state != 'Z' && state != 'X')
}

/// Sends a signal, such as `TERM`, to the process with this number.
#[track_caller]
pub(crate) fn signal(name: &str, pid: impl Display) {
    send(name, &pid.to_string());
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

#[track_caller]
fn send(name: &str, target: &str) {
    let sent = Command::new("kill")
        .args(["-s", name, "--", target])
        .status();
    assert!(sent.unwrap().success());
}
