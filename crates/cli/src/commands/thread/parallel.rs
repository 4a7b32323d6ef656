//! Steps of several threads at once, each in a process of this program: a process can supervise one agent at a time.
//!
//! The processes are one tree of the supervisor. So an interrupt ends all of them, each with its agent, and each process
//! records its attempt as usual.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::fs::{MemfdFlags, memfd_create};
use uwf_process::{EndRequest, NextExit, Stop, Tree};
use uwf_protocol::exit::Exit;
use uwf_protocol::ids::ThreadId;

use super::many::{Tally, step_arguments};
use crate::args::{Many, StepArgs};
use crate::commands::{Context, own_program};
use crate::failure::Failure;
use crate::text::jobs_line;
use crate::{output, stderr};

/// Does the steps of the threads, as many at once as the caller wants. What a process printed is shown when it has ended.
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
            && jobs.len() < args.jobs
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
            None => line.look(jobs.len()),
            Some(NextExit::Exited { pid, status }) => {
                if let Some(job) = jobs.remove(&pid) {
                    line.done += 1;
                    failure = failure.and(job.show());
                    tally.add(many, exit_of(status));
                }
            }
            Some(NextExit::Stopped(stop)) => {
                end(context, tree, stop, grace);
                for job in jobs.values() {
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
    fn look(&mut self, at_work: usize) {
        let elapsed = self.started.elapsed();
        if self.is_wanted && elapsed.as_secs() != self.second {
            self.second = elapsed.as_secs();
            stderr::show_line(&jobs_line(at_work, self.done, self.all, elapsed));
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
    let mut arguments = step_arguments(args, thread);
    arguments.push(format!("--part-of={}", many.name()));
    let job = Job {
        stdout: buffer("stdout")?,
        stderr: buffer("stderr")?,
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
    stdout: File,
    stderr: File,
}

impl Job {
    /// Shows what the process printed.
    fn show(&self) -> Result<(), Failure> {
        stderr::erase_line();
        let unread = |error| Failure::request("cannot read the output of a step").cause(&error);
        let said = text_of(&self.stderr).map_err(unread)?;
        if !said.is_empty() {
            stderr::write(said.trim_end());
        }
        match text_of(&self.stdout).map_err(unread)? {
            text if text.is_empty() => Ok(()),
            text => output::write(text.trim_end()),
        }
    }
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
