//! Short programs: they get some input, may say a little, and have little time.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::process::{Command, ExitStatus};
use std::time::Duration;

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::ioctl_fionbio;

use crate::end::EndRequest;
use crate::run::{Limits, OutputSeen, WaitEnd};
use crate::signals::Signals;
use crate::tree::Tree;

/// How much a short program may say before it is ended, in bytes.
const MOST_SAID: usize = 1024 * 1024;
/// How much is read at once, in bytes.
const CHUNK: usize = 4096;
/// The time between the request to end and the kill.
const GRACE: Duration = Duration::from_secs(1);

/// What a short program may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShortLimits {
    /// How long it may run.
    pub time: Duration,
    /// How much of the end of what it says is kept, in bytes.
    pub kept: usize,
}

/// The end of a short program.
#[derive(Debug)]
pub struct ShortRun {
    /// How it ended.
    pub end: ShortEnd,
    /// The end of what it said, on both of its outputs.
    pub said: Vec<u8>,
}

/// How a short program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShortEnd {
    /// By itself. What it left running goes on.
    Exited(ExitStatus),
    /// It took longer than this, and was ended with everything that it had started.
    TimedOut(Duration),
    /// It said too much, and was ended likewise.
    TooMuch,
    /// This process was told to stop, so the program was ended likewise.
    Stopped,
}

/// Runs a program to its end, within a time limit. It can read the input or leave it: no pipe can fill up.
///
/// # Errors
/// When the program cannot be started.
pub fn run_short(
    command: &mut Command,
    input: &[u8],
    limits: ShortLimits,
    signals: &Signals,
) -> io::Result<ShortRun> {
    signals.watch()?;
    let mut stdin = File::from(memfd_create("input", MemfdFlags::CLOEXEC)?);
    stdin.write_all(input)?;
    stdin.rewind()?;
    let (output, writer) = io::pipe()?;
    ioctl_fionbio(&output, true)?;
    command
        .stdin(stdin)
        .stdout(writer.try_clone()?)
        .stderr(writer);
    let mut said = Said::new(limits.kept);
    let end = run_watched(command, limits.time, signals, &mut || said.read(&output))?;
    if !matches!(end, ShortEnd::Exited(_)) {
        let _ = said.read(&output);
    }
    Ok(ShortRun {
        end,
        said: said.end,
    })
}

/// Runs a program whose files the caller has set to its end, within a time limit.
///
/// # Errors
/// When the program cannot be started.
pub fn run_limited(
    command: &mut Command,
    time: Duration,
    signals: &Signals,
) -> io::Result<ShortEnd> {
    signals.watch()?;
    run_watched(command, time, signals, &mut || OutputSeen::Nothing)
}

/// Runs a program to its end. What it says is looked at meanwhile.
fn run_watched(
    command: &mut Command,
    time: Duration,
    signals: &Signals,
    look: &mut dyn FnMut() -> OutputSeen,
) -> io::Result<ShortEnd> {
    let mut tree = Tree::spawn(command)?;
    let waiting = Limits {
        wall: Some(time),
        idle: None,
    };
    let end = tree.wait(signals, waiting, look);
    let request = match end {
        WaitEnd::Stopped(stop) if stop.by_supervisor => EndRequest::SentBySupervisor,
        _ => EndRequest::NotSent,
    };
    let end = match (end, tree.status()) {
        (WaitEnd::Exited, Some(status)) => ShortEnd::Exited(status),
        (WaitEnd::Stopped(_), _) => ShortEnd::Stopped,
        (WaitEnd::Enough, _) => ShortEnd::TooMuch,
        (WaitEnd::TimedOut(_) | WaitEnd::Idle(_) | WaitEnd::Exited, _) => ShortEnd::TimedOut(time),
    };
    if !matches!(end, ShortEnd::Exited(_)) {
        // What cannot be ended holds nothing of ours.
        let _ = tree.end(request, GRACE, signals);
    }
    Ok(end)
}

/// What a program said so far.
struct Said {
    end: Vec<u8>,
    length: usize,
    /// How much of the end is kept.
    kept: usize,
}

impl Said {
    fn new(kept: usize) -> Self {
        Self {
            end: Vec::new(),
            length: 0,
            kept,
        }
    }

    /// Reads what is there.
    fn read(&mut self, mut output: &io::PipeReader) -> OutputSeen {
        let mut chunk = [0; CHUNK];
        let mut seen = OutputSeen::Nothing;
        while let Ok(count @ 1..) = output.read(&mut chunk) {
            self.end.extend_from_slice(&chunk[..count]);
            let surplus = self.end.len().saturating_sub(self.kept);
            self.end.drain(..surplus);
            self.length = self.length.saturating_add(count);
            if self.length > MOST_SAID {
                return OutputSeen::Enough;
            }
            seen = OutputSeen::New;
        }
        seen
    }
}
