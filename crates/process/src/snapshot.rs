//! A snapshot of all processes of the machine, read from `/proc`. Without `/proc` it is empty.

use std::ffi::OsStr;
use std::fs;
use std::os::fd::RawFd;
use std::path::PathBuf;

use rustix::fs::OFlags;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use uwf_protocol::agent::env::{SECRETS, SUPERVISORS};
use uwf_protocol::run::ProcessIdentity;
use uwf_util::mask::Masks;

use crate::identity::{Stat, is_same, stat};

/// How many characters of a command line are shown.
const SHOWN: usize = 80;

/// A process that was running when the snapshot was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Process {
    /// Its process id.
    pub pid: u32,
    /// The process id of its parent.
    pub parent: u32,
    /// When it started, in clock ticks since boot. Process id and start time together identify a process.
    pub started: u64,
}

impl Process {
    /// Returns the process that has this id now; `None` if there is none, or it has ended.
    pub(crate) fn at(pid: u32) -> Option<Self> {
        let stat = stat(pid).filter(|stat| !stat.ended)?;
        Some(Self::of(pid, &stat))
    }

    fn of(pid: u32, stat: &Stat) -> Self {
        Self {
            pid,
            parent: stat.parent,
            started: stat.started,
        }
    }

    /// Tells whether both are the same process.
    #[must_use]
    pub fn is(&self, other: &Self) -> bool {
        (self.pid, self.started) == (other.pid, other.started)
    }

    /// Tells whether this is the process that an identity names.
    #[must_use]
    pub fn has(&self, identity: &ProcessIdentity) -> bool {
        is_same(identity, self.pid, self.started)
    }

    /// Tells whether the process has ended, or is past the point at which a signal could change how it ends.
    pub(crate) fn is_ending(&self) -> bool {
        let now = stat(self.pid).filter(|stat| stat.started == self.started);
        now.is_none_or(|stat| stat.ended || stat.exiting)
    }

    /// Sends a signal to exactly this process. A process that has ended is not an error.
    pub fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.pid).ok().and_then(Pid::from_raw);
        // A pidfd always refers to the same process. It is opened first; then the start time proves that it is the
        // right one.
        let Some(process) = pid.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok()) else {
            return;
        };
        if stat(self.pid).is_some_and(|stat| stat.started == self.started) {
            let _ = pidfd_send_signal(&process, signal);
        }
    }

    /// Sends a signal that asks exactly this process to end. A stopped process is continued, so that it can handle the
    /// signal.
    pub fn ask(&self, signal: Signal) {
        self.signal(signal);
        if stat(self.pid).is_some_and(|stat| stat.stopped && stat.started == self.started) {
            self.signal(Signal::CONT);
        }
    }

    /// Returns the process ids of the supervisors above this process, from its environment.
    pub(crate) fn supervisors(&self) -> Vec<u32> {
        let listed = self.variable(SUPERVISORS).unwrap_or_default();
        let numbers = listed.split_ascii_whitespace();
        numbers.filter_map(|number| number.parse().ok()).collect()
    }

    /// Tells whether the process has a handler for a signal.
    #[must_use]
    pub fn catches(&self, signal: Signal) -> bool {
        has_signal(&self.pid.to_string(), "SigCgt:", signal)
    }

    /// Tells whether the program of the process is bash. The name of a process is that of its script.
    pub(crate) fn is_bash(&self) -> bool {
        let program = fs::read_link(format!("/proc/{}/exe", self.pid));
        program.is_ok_and(|program| {
            let name = program.file_name().and_then(OsStr::to_str);
            // That is how the kernel names a program whose file was replaced.
            name.is_some_and(|name| name.trim_end_matches(" (deleted)") == "bash")
        })
    }

    /// Returns one variable of the environment that the process was started with.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<String> {
        let environment = fs::read(format!("/proc/{}/environ", self.pid)).ok()?;
        let value = environment.split(|byte| *byte == 0).find_map(|line| {
            let rest = line.strip_prefix(name.as_bytes())?;
            rest.strip_prefix(b"=")
        })?;
        Some(String::from_utf8_lossy(value).into_owned())
    }

    /// Tells whether the process has one of these files open for writing. A process that only reads them, such as `tail
    /// -f`, does not belong to the program. The paths must be canonical.
    #[must_use]
    pub fn writes_to(&self, files: &[PathBuf]) -> bool {
        self.writable(files).next().is_some()
    }

    /// Tells whether the process has inherited one of these files: it is open for writing and is passed on to the
    /// programs that the process starts. The paths must be canonical.
    #[must_use]
    pub fn has_inherited(&self, files: &[PathBuf]) -> bool {
        let mut writable = self.writable(files);
        writable.any(|flags| !flags.contains(OFlags::CLOEXEC))
    }

    /// Tells whether programs that the process starts get a descriptor.
    pub(crate) fn passes_on(&self, descriptor: RawFd) -> bool {
        let flags = self.open_flags(descriptor);
        flags.is_some_and(|flags| !flags.contains(OFlags::CLOEXEC))
    }

    /// Returns the flags with which the process has any of these files open for writing.
    fn writable(&self, files: &[PathBuf]) -> impl Iterator<Item = OFlags> {
        let of_files = self.descriptors().filter(move |descriptor| {
            let open = fs::read_link(format!("/proc/{}/fd/{descriptor}", self.pid));
            open.is_ok_and(|open| files.contains(&open))
        });
        let flags = of_files.filter_map(|descriptor| self.open_flags(descriptor));
        flags.filter(|flags| flags.intersects(OFlags::WRONLY | OFlags::RDWR))
    }

    /// Returns the numbers of all files that the process has open.
    pub(crate) fn descriptors(&self) -> impl Iterator<Item = RawFd> + use<> {
        let descriptors = fs::read_dir(format!("/proc/{}/fd", self.pid));
        let descriptors = descriptors.into_iter().flatten().flatten();
        descriptors.filter_map(|descriptor| descriptor.file_name().to_str()?.parse().ok())
    }

    /// Returns the flags with which a descriptor was opened.
    fn open_flags(&self, descriptor: RawFd) -> Option<OFlags> {
        let path = format!("/proc/{}/fdinfo/{descriptor}", self.pid);
        let info = fs::read_to_string(path).ok()?;
        let flags = info.lines().find_map(|line| line.strip_prefix("flags:"))?;
        let flags = u32::from_str_radix(flags.trim(), 8).ok()?;
        Some(OFlags::from_bits_retain(flags))
    }

    /// Returns the process id and the beginning of the command line, for people. `masks` are for the secrets that we know. Those
    /// that the environment of the process names are masked, too.
    #[must_use]
    pub fn describe(&self, masks: &Masks) -> String {
        let line = fs::read(format!("/proc/{}/cmdline", self.pid)).unwrap_or_default();
        let words = line
            .split(|byte| *byte == 0)
            .filter(|word| !word.is_empty());
        let words: Vec<_> = words.map(String::from_utf8_lossy).collect();
        // Masked before it is cut, so that no beginning of a secret stays.
        let line = masks.and(&self.own_masks()).text(&words.join(" "));
        let mut shown: String = line.chars().take(SHOWN).collect();
        if shown.len() < line.len() {
            shown.push('…');
        }
        format!("{} `{shown}`", self.pid)
    }

    /// Returns the masks for the secrets that the environment of the process names.
    fn own_masks(&self) -> Masks {
        let names = self.variable(SECRETS).unwrap_or_default();
        let values = names.split(',').filter_map(|name| self.variable(name));
        let values: Vec<String> = values.collect();
        Masks::of(values.iter().map(String::as_bytes))
    }
}

/// Tells whether this process ignores a signal, as one started by `nohup` does.
pub(crate) fn is_ignored_here(signal: Signal) -> bool {
    has_signal("self", "SigIgn:", signal)
}

/// Tells whether a signal is in one of a process's signal sets in `/proc/<pid>/status`.
fn has_signal(process: &str, set: &str, signal: Signal) -> bool {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let set = status.lines().find_map(|line| line.strip_prefix(set));
    let mask = set.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & (1 << (signal.as_raw() - 1)) != 0)
}

/// Returns all processes that have not ended.
#[must_use]
pub fn processes() -> Vec<Process> {
    numbers().filter_map(Process::at).collect()
}

/// Returns the children of this process that have ended, and that nobody has waited for.
pub(crate) fn ended_children() -> Vec<Process> {
    let ended = numbers().filter_map(|pid| {
        let stat = stat(pid).filter(|stat| stat.ended && stat.parent == std::process::id())?;
        Some(Process::of(pid, &stat))
    });
    ended.collect()
}

/// Returns the process ids of the machine.
fn numbers() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Returns the descendants of `roots` among `all`, parents before children. Processes that `leave_out` selects are
/// skipped together with their descendants.
#[must_use]
pub fn below(
    mut all: Vec<Process>,
    roots: &[u32],
    leave_out: impl Fn(&Process) -> bool,
) -> Vec<Process> {
    all.retain(|process| !leave_out(process));
    let mut found: Vec<Process> = Vec::new();
    let mut parents = roots.to_vec();
    while let Some(parent) = parents.pop() {
        let (children, rest) = all.into_iter().partition(|one| one.parent == parent);
        all = rest;
        parents.extend(children.iter().map(|child: &Process| child.pid));
        found.extend(children);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: u32, parent: u32) -> Process {
        Process {
            pid,
            parent,
            started: 0,
        }
    }

    fn found(roots: &[u32], left_out: u32) -> Vec<u32> {
        let all =
            [(2, 1), (3, 2), (4, 3), (5, 1), (6, 5)].map(|(pid, parent)| process(pid, parent));
        let below = below(all.to_vec(), roots, |one| one.pid == left_out);
        let mut pids: Vec<u32> = below.iter().map(|process| process.pid).collect();
        pids.sort_unstable();
        pids
    }

    #[test]
    fn descendants_are_found_at_any_depth_and_left_out_with_all_below_them() {
        assert_eq!(found(&[1], 0), [2, 3, 4, 5, 6]);
        assert_eq!(found(&[3], 0), [4]);
        assert_eq!(found(&[1], 2), [5, 6]);
        assert_eq!(found(&[2, 5], 4), [3, 6]);
    }

    #[test]
    fn a_process_tells_its_variables_and_which_signals_it_catches() {
        let mut command = std::process::Command::new("sh");
        command.args(["-c", "trap : INT; trap '' TERM; echo ready; read _"]);
        command
            .env("UWF_TEST_OF_PROCESS", "a=b")
            .env_remove("EMPTY");
        command.stdin(std::process::Stdio::piped());
        let mut shell = command
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut ready = [0; 6];
        std::io::Read::read_exact(shell.stdout.as_mut().unwrap(), &mut ready).unwrap();
        let process = Process::at(shell.id()).unwrap();
        assert_eq!(process.variable("UWF_TEST_OF_PROCESS").unwrap(), "a=b");
        assert_eq!(process.variable("UWF_TEST_OF"), None);
        assert!(process.catches(Signal::INT));
        assert!(!process.catches(Signal::TERM));
        assert!(process.describe(&Masks::default()).contains("`sh -c trap"));
        process.signal(Signal::KILL);
        shell.wait().unwrap();
        assert_eq!(Process::at(shell.id()), None);
    }
}
