//! Processes of this program that do steps, each of one thread: a process can supervise one agent at a time.
//!
//! The processes are one tree of the supervisor. So an interrupt ends all of them, each with its agent, and each process
//! records its attempt as usual.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::fs::{MemfdFlags, memfd_create};
use uwf_process::{EndRequest, Event, NextExit, Stop, Tree};
use uwf_protocol::exit::Exit;
use uwf_protocol::ids::ThreadId;

use super::many::heading;
use crate::commands::{Context, own_program};
use crate::failure::Failure;
use crate::output;
use crate::stderr::{self, Messages};

/// How long a wait for the next event lasts when no process runs.
const TICK: Duration = Duration::from_millis(100);

/// Processes that do steps.
pub(crate) struct Jobs<'a> {
    context: &'a Context,
    /// How long a process has to end when it is asked to.
    grace: Duration,
    tree: Option<Tree>,
    running: HashMap<u32, Job>,
}

/// What a short wait for processes brought.
pub(crate) enum Next {
    /// The process of a thread has ended, and what it printed was shown, if that was possible.
    Ended(ThreadId, Exit, Result<(), Failure>),
    /// This process was told to stop.
    Stopped(Stop),
    /// Nothing.
    Nothing,
}

impl<'a> Jobs<'a> {
    pub(crate) fn new(context: &'a Context) -> Result<Self, Failure> {
        context
            .runner
            .signals
            .watch()
            .map_err(|error| not_started(&error))?;
        Ok(Self {
            context,
            grace: uwf_engine::configured_grace(context.site())?,
            tree: None,
            running: HashMap::new(),
        })
    }

    /// Returns how many run.
    pub(crate) fn len(&self) -> usize {
        self.running.len()
    }

    /// Returns the threads that they work on.
    pub(crate) fn threads(&self) -> impl Iterator<Item = ThreadId> {
        self.running.values().map(|job| job.thread)
    }

    /// Starts a process for a thread.
    pub(crate) fn start(&mut self, thread: ThreadId, arguments: &[String]) -> Result<(), Failure> {
        let (pid, job) = self
            .spawn(thread, arguments)
            .map_err(|error| not_started(&error))?;
        self.running.insert(pid, job);
        Ok(())
    }

    fn spawn(&mut self, thread: ThreadId, arguments: &[String]) -> std::io::Result<(u32, Job)> {
        let job = Job {
            thread,
            stdout: buffer("stdout")?,
            stderr: buffer("stderr")?,
            prefix: match stderr::messages() {
                Messages::Text => format!("{thread} "),
                Messages::Json => String::new(),
            },
            told: 0,
        };
        let mut command = own_program::command(self.context, arguments);
        command
            .stdin(Stdio::null())
            .stdout(job.stdout.try_clone()?)
            .stderr(job.stderr.try_clone()?);
        let pid = match &mut self.tree {
            Some(tree) => tree.add(&mut command)?,
            None => self.tree.insert(Tree::spawn(&mut command)?).leader(),
        };
        Ok((pid, job))
    }

    /// Waits for a moment until a process ends, or this one is told to stop.
    pub(crate) fn next(&mut self) -> Next {
        let signals = &self.context.runner.signals;
        let tree = self.tree.as_mut().filter(|_| !self.running.is_empty());
        let Some(tree) = tree else {
            return match signals.wait(TICK) {
                Event::Stop(stop) => Next::Stopped(stop),
                Event::Child | Event::Tick => Next::Nothing,
            };
        };
        let ended = match tree.next_exit_soon(signals) {
            Some(NextExit::Exited { pid, status }) => {
                let job = self.running.remove(&pid);
                job.map(|job| (job, exit_of(status)))
            }
            Some(NextExit::Stopped(stop)) => return Next::Stopped(stop),
            Some(NextExit::NoneLeft) => {
                let pid = self.running.keys().next().copied();
                let job = pid.and_then(|pid| self.running.remove(&pid));
                job.map(|job| (job, Exit::Agent))
            }
            None => {
                for job in self.running.values_mut() {
                    job.tell();
                }
                None
            }
        };
        if self.running.is_empty() {
            // A worker goes on for weeks, and a tree knows all that it ever started.
            self.tree = None;
        }
        match ended {
            Some((mut job, exit)) => Next::Ended(job.thread, exit, job.show()),
            None => Next::Nothing,
        }
    }

    /// Ends all processes, each with its agent, and shows what they printed. A step that was finished all the same is done.
    pub(crate) fn end(&mut self, stop: Stop) -> Vec<(Exit, Result<(), Failure>)> {
        stderr::erase_line();
        let asked = match stop.by_supervisor {
            true => EndRequest::SentBySupervisor,
            false => EndRequest::NotSent,
        };
        let mut exits = HashMap::new();
        if let Some(tree) = &mut self.tree {
            tree.ask_by(stop.signal);
            // A process that could not be ended keeps its thread busy, and the next call names it.
            let _ = tree.end(asked, self.grace, &self.context.runner.signals);
            while let Some((pid, status)) = tree.next_known_end() {
                exits.extend(status.code().map(|_| (pid, exit_of(status))));
            }
        }
        let ended = self.running.drain().map(|(pid, mut job)| {
            let exit = exits.get(&pid).copied();
            (exit.unwrap_or(Exit::Signal(stop.signal)), job.show())
        });
        ended.collect()
    }
}

fn not_started(error: &std::io::Error) -> Failure {
    Failure::request("cannot start this program for a thread").cause(error)
}

/// The output of one process. It is kept in memory: a pipe would stop a process whose output nobody reads yet.
struct Job {
    thread: ThreadId,
    stdout: File,
    stderr: File,
    /// What stands before each line of its messages: the thread, unless they are JSON.
    prefix: String,
    /// How many bytes of its messages were shown.
    told: u64,
}

impl Job {
    /// Shows what the process printed.
    fn show(&mut self) -> Result<(), Failure> {
        stderr::erase_line();
        let unread = |error| Failure::request("cannot read the output of a step").cause(&error);
        self.tell();
        let said = self.untold().map_err(unread)?;
        if !said.is_empty() {
            stderr::write(String::from_utf8_lossy(&said).trim_end());
        }
        match text_of(&self.stdout).map_err(unread)? {
            text if text.is_empty() => Ok(()),
            // People read on stderr why there is no step.
            text if text.trim_end() == heading(self.thread) => Ok(()),
            text => output::write(text.trim_end()),
        }
    }

    /// Shows the lines that the process has written to stderr since the last call.
    fn tell(&mut self) {
        // What cannot be read now is read at the end, which reports the error.
        let said = self.untold().unwrap_or_default();
        let Some((lines, length)) = whole_lines(&said) else {
            return;
        };
        self.told += length;
        for line in lines.lines() {
            stderr::write(&format!("{}{line}", self.prefix));
        }
    }

    /// Returns what the process has written to stderr and was not shown. The process goes on to write where it was: its
    /// place in the file is not moved.
    fn untold(&self) -> std::io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let mut chunk = [0; 8192];
        loop {
            match self
                .stderr
                .read_at(&mut chunk, self.told + bytes.len() as u64)?
            {
                0 => return Ok(bytes),
                count => bytes.extend_from_slice(&chunk[..count]),
            }
        }
    }
}

/// Returns the lines that are complete, and how many bytes they have. They may not be UTF-8, and then the text is longer.
fn whole_lines(bytes: &[u8]) -> Option<(Cow<'_, str>, u64)> {
    let end = bytes.iter().rposition(|byte| *byte == b'\n')?;
    Some((String::from_utf8_lossy(&bytes[..end]), end as u64 + 1))
}

/// Returns a file in memory.
pub(crate) fn buffer(name: &str) -> std::io::Result<File> {
    Ok(memfd_create(name, MemfdFlags::CLOEXEC)?.into())
}

/// Returns the whole text of such a file.
pub(crate) fn text_of(mut file: &File) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns the exit code of a process that did steps. One that was ended from outside counts as a failed agent: the next
/// call finds out what happened.
fn exit_of(status: ExitStatus) -> Exit {
    status.code().and_then(Exit::of_code).unwrap_or(Exit::Agent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_as_long_as_they_were_written() {
        let of = |bytes| whole_lines(bytes).map(|(text, length)| (text.into_owned(), length));
        assert_eq!(of(b"a\xff\nb\nc"), Some(("a\u{fffd}\nb".to_owned(), 5)));
        assert_eq!(of(b"\n"), Some((String::new(), 1)));
        assert_eq!(of(b"a\xff"), None);
    }
}
