//! The other processes of our own process group: all that the program started and did not set apart.

use std::fs;
use std::os::fd::OwnedFd;

use rustix::process::{Pid, PidfdFlags, Signal, getpgrp, getpid, pidfd_open, pidfd_send_signal};
use uwf_storage::process_group;

/// Signals a program, with all that it started if that can be told: if our group is ours alone.
pub(super) fn signal(program: &OwnedFd, signal: Signal) {
    if !signal_others(signal) {
        let _ = pidfd_send_signal(program, signal);
    }
}

/// Signals every other process of our group, if we lead it, and tells whether we do. Another's group holds
/// more than what we started.
pub(super) fn signal_others(signal: Signal) -> bool {
    let own = getpid();
    if getpgrp() != own {
        return false;
    }
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids =
        processes.filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?));
    for pid in pids.filter(|pid| *pid != own && group_of(*pid) == Some(own)) {
        // Whether it is still the same process is known only when a descriptor holds it.
        let Ok(process) = pidfd_open(pid, PidfdFlags::empty()) else {
            continue;
        };
        if group_of(pid) == Some(own) {
            let _ = pidfd_send_signal(&process, signal);
        }
    }
    true
}

fn group_of(pid: Pid) -> Option<Pid> {
    let pid = u32::try_from(pid.as_raw_pid()).ok()?;
    Pid::from_raw(process_group(pid)?.try_into().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_tells_the_group_of_a_process() {
        assert_eq!(group_of(getpid()), Some(getpgrp()));
    }
}
