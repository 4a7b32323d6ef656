//! Steps of several threads at once, each in a process of this program: a process can supervise one agent at a time.
//!
//! The processes are one tree of the supervisor. So an interrupt ends all of them, each with its agent, and each process
//! records its attempt as usual.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::fs::{MemfdFlags, memfd_create};
use uwf_process::{EndRequest, NextExit, Stop, Tree};
use uwf_protocol::exit::Exit;
use uwf_protocol::ids::ThreadId;

use super::tally::Tally;
use crate::args::{Many, StepArgs};
use crate::commands::{Context, own_program};
use crate::failure::Failure;
use crate::output;
use crate::stderr::{self, Messages};
use crate::text::{JobCounts, jobs_line};

/// Does the steps of the threads, as many at once as the caller wants. What a process printed is shown when it has ended, and
/// with `-v`, what it says to people as soon as it says it.
pub(super) fn step(
    context: &Context,
    args: &StepArgs,
    many: Many,
    threads: &[ThreadId],
    tally: &mut Tally,
) -> Result<(), Failure> {
    let signals = &context.runner.signals;
    let failed = |error: std::io::Error| {
        Failure::request("cannot start this program for a thread").cause(&error)
    };
    signals.watch().map_err(failed)?;
    let grace = uwf_engine::configured_grace(context.site())?;
    let mut queue = threads.iter();
    let mut tree: Option<Tree> = None;
    let mut jobs: HashMap<u32, Job> = HashMap::new();
    let mut line = Line::new(context, threads.len());
    // After a failure no more are started. Those that are at work are paid for, so they go on to their end.
    let mut failure = Ok(());
    loop {
        while failure.is_ok()
            && jobs.len() < args.jobs.unwrap_or(1)
            && let Some(thread) = queue.next()
        {
            match start(context, args, many, *thread, &mut tree) {
                Ok((pid, job)) => drop(jobs.insert(pid, job)),
                Err(error) => failure = Err(failed(error)),
            }
        }
        let Some(tree) = &mut tree else {
            return failure;
        };
        match tree.next_exit_soon(signals) {
            None => {
                for job in jobs.values_mut() {
                    job.tell();
                }
                line.look(context, jobs.values());
            }
            Some(NextExit::Exited { pid, status }) => {
                if let Some(mut job) = jobs.remove(&pid) {
                    line.done += 1;
                    failure = failure.and(job.show());
                    tally.add(many, exit_of(status));
                }
            }
            Some(NextExit::Stopped(stop)) => {
                end(context, tree, stop, grace);
                for job in jobs.values_mut() {
                    failure = failure.and(job.show());
                    tally.add(many, Exit::Signal(stop.signal));
                }
                return failure;
            }
            Some(NextExit::NoneLeft) => return failure,
        }
    }
}

/// Ends all processes, each with its agent.
fn end(context: &Context, tree: &mut Tree, stop: Stop, grace: Duration) {
    stderr::erase_line();
    let asked = match stop.by_supervisor {
        true => EndRequest::SentBySupervisor,
        false => EndRequest::NotSent,
    };
    tree.ask_by(stop.signal);
    // A process that could not be ended keeps its thread busy, and the next call names it.
    let _ = tree.end(asked, grace, &context.runner.signals);
}

/// The line about the threads, for a terminal.
struct Line {
    is_wanted: bool,
    all: usize,
    done: usize,
    started: Instant,
    /// The second in which the line was drawn last.
    second: u64,
}

impl Line {
    fn new(context: &Context, all: usize) -> Self {
        Self {
            is_wanted: context.runner.observer.progress.is_some(),
            all,
            done: 0,
            started: Instant::now(),
            second: 0,
        }
    }

    /// Draws the line if a new second has begun.
    fn look<'j>(&mut self, context: &Context, jobs: impl Iterator<Item = &'j Job>) {
        let elapsed = self.started.elapsed();
        if self.is_wanted && elapsed.as_secs() != self.second {
            self.second = elapsed.as_secs();
            let (waiting, at_work): (Vec<&Job>, Vec<&Job>) = jobs.partition(|job| {
                let record = context.site().root.run(job.thread).lease.read_record();
                record.is_some_and(|record| record.waiting)
            });
            let counts = JobCounts {
                at_work: at_work.len(),
                waiting: waiting.len(),
                done: self.done,
                all: self.all,
            };
            stderr::show_line(&jobs_line(&counts, elapsed));
        }
    }
}

fn start(
    context: &Context,
    args: &StepArgs,
    many: Many,
    thread: ThreadId,
    tree: &mut Option<Tree>,
) -> std::io::Result<(u32, Job)> {
    let mut arguments = own_program::step_arguments(args, thread);
    arguments.push(format!("--part-of={}", many.name()));
    let job = Job {
        thread,
        stdout: buffer("stdout")?,
        stderr: buffer("stderr")?,
        tells_early: context.global.verbose > 0 && stderr::messages() == Messages::Text,
        told: 0,
    };
    let mut command = own_program::command(context, &arguments);
    command
        .stdin(Stdio::null())
        .stdout(job.stdout.try_clone()?)
        .stderr(job.stderr.try_clone()?);
    let pid = match tree {
        Some(tree) => tree.add(&mut command)?,
        None => tree.insert(Tree::spawn(&mut command)?).leader(),
    };
    Ok((pid, job))
}

/// The output of one process. It is kept in memory: a pipe would stop a process whose output nobody reads yet.
struct Job {
    thread: ThreadId,
    stdout: File,
    stderr: File,
    /// Whether its messages are shown as soon as they are there.
    tells_early: bool,
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
            text => output::write(text.trim_end()),
        }
    }

    /// Shows the lines that the process has written to stderr since the last call, each with its thread.
    fn tell(&mut self) {
        if !self.tells_early {
            return;
        }
        // What cannot be read now is read at the end, which reports the error.
        let said = self.untold().unwrap_or_default();
        let Some((lines, length)) = whole_lines(&said) else {
            return;
        };
        self.told += length;
        for line in lines.lines() {
            stderr::write(&format!("{} {line}", self.thread));
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

fn buffer(name: &str) -> std::io::Result<File> {
    Ok(memfd_create(name, MemfdFlags::CLOEXEC)?.into())
}

fn text_of(mut file: &File) -> std::io::Result<String> {
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
