//! Process identity: process ids are reused, but an id together with its start time is unique. The kernel counts start
//! times in ticks of some 10 ms, and reuses an id only after all the others.

use std::fs::File;
use std::io::Read;
use std::sync::OnceLock;

use rustix::process::{Pid, test_kill_process};
use uwf_protocol::run::ProcessIdentity;

/// Returns the identity of the process that has this id now; `None` if there is none, or without `/proc`.
#[must_use]
pub fn process_identity(pid: u32) -> Option<ProcessIdentity> {
    Some(ProcessIdentity {
        pid,
        started: stat(pid)?.started,
        boot: boot_id()?.to_owned(),
    })
}

/// Tells whether exactly this process still runs. A zombie, which has ended and was not waited for, does not run.
///
/// Where `/proc` hides the processes of other users, any process with the id counts as the one meant. Without `/proc`
/// the answer is no.
#[must_use]
pub fn is_alive(identity: &ProcessIdentity) -> bool {
    match stat(identity.pid) {
        Some(stat) => !stat.ended && is_same(identity, identity.pid, stat.started),
        None => boot_id() == Some(identity.boot.as_str()) && belongs_to_another_user(identity.pid),
    }
}

/// Tells whether a process that was seen just now is the one meant.
pub(crate) fn is_same(identity: &ProcessIdentity, pid: u32, started: u64) -> bool {
    boot_id().is_some_and(|boot| identity.matches(pid, started, boot))
}

fn belongs_to_another_user(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| test_kill_process(pid) == Err(rustix::io::Errno::PERM))
}

/// The fields of `/proc/<pid>/stat` that are needed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Stat {
    pub(crate) ended: bool,
    /// Whether it was stopped by a signal, as with Ctrl-Z.
    pub(crate) stopped: bool,
    /// Whether the kernel is taking it down: no signal changes how it ends.
    pub(crate) exiting: bool,
    pub(crate) parent: u32,
    pub(crate) started: u64,
}

pub(crate) fn stat(pid: u32) -> Option<Stat> {
    parse_stat(&read_proc(&format!("/proc/{pid}/stat"))?)
}

/// Reads a small file of the kernel, which returns it whole in one read.
fn read_proc(path: &str) -> Option<Vec<u8>> {
    let mut content = vec![0; 4096];
    let length = File::open(path).ok()?.read(&mut content).ok()?;
    content.truncate(length);
    Some(content)
}

/// The flag of a process that is being taken down, `PF_EXITING` of `include/linux/sched.h`.
const EXITING: u32 = 0x4;

/// Reads fields 3 (state), 4 (parent), 9 (flags) and 22 (start). Field 2 is the program's name in parentheses,
/// and may have blanks and parentheses itself.
fn parse_stat(content: &[u8]) -> Option<Stat> {
    let name_end = content.iter().rposition(|byte| *byte == b')')?;
    let mut fields = str::from_utf8(&content[name_end + 1..])
        .ok()?
        .split_ascii_whitespace();
    let state = fields.next()?;
    Some(Stat {
        ended: matches!(state, "Z" | "X" | "x"),
        stopped: state == "T",
        parent: fields.next()?.parse().ok()?,
        exiting: fields.nth(4)?.parse::<u32>().ok()? & EXITING != 0,
        started: fields.nth(12)?.parse().ok()?,
    })
}

/// Returns the id of the machine's current boot.
fn boot_id() -> Option<&'static str> {
    static BOOT_ID: OnceLock<Option<String>> = OnceLock::new();
    let read = || {
        let id = String::from_utf8(read_proc("/proc/sys/kernel/random/boot_id")?).ok()?;
        Some(id.trim_end().to_owned())
    };
    BOOT_ID.get_or_init(read).as_deref()
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_name_with_parentheses_does_not_shift_the_fields() {
        let stat = b"7 (a) b) R 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4242 20\n";
        let expected = Stat {
            ended: false,
            stopped: false,
            exiting: true,
            parent: 1,
            started: 4242,
        };
        assert_eq!(parse_stat(stat), Some(expected));
        assert_eq!(parse_stat(b"7 (a) R 1"), None);
        assert_eq!(parse_stat(b""), None);
    }

    #[test]
    fn a_process_is_alive_until_it_ends_even_if_nobody_waits_for_it() {
        let mut command = Command::new("cat");
        command.stdin(Stdio::piped()).stdout(Stdio::null());
        let mut child = command.spawn().unwrap();
        let identity = process_identity(child.id()).unwrap();
        assert!(is_alive(&identity));
        drop(child.stdin.take());
        while is_alive(&identity) {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        child.wait().unwrap();
        assert!(!is_alive(&identity));
    }

    #[test]
    fn another_process_under_the_same_number_is_not_the_one_meant() {
        let me = process_identity(std::process::id()).unwrap();
        assert!(is_alive(&me));
        let mut earlier = me.clone();
        earlier.started -= 1;
        assert!(!is_alive(&earlier));
        let mut before_restart = me;
        before_restart.boot = "another".into();
        assert!(!is_alive(&before_restart));
    }
}
