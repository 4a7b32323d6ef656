//! One step of several children at once, each in a process of this program: a process can supervise one agent at a time.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::process::Stdio;

use rustix::fs::{MemfdFlags, memfd_create};
use serde_json::Value;
use uwf_process::{EndRequest, NextExit, Tree};
use uwf_protocol::config::Config;
use uwf_protocol::exit::Exit;
use uwf_protocol::ids::ThreadId;

use crate::run::agent_command;
use crate::run::cycle::StepOptions;
use crate::{EngineError, Runner};

/// How the step of one child ended.
pub(super) struct StepEnd {
    pub(super) thread: ThreadId,
    pub(super) exit: Exit,
    /// What went wrong, if something did.
    pub(super) problem: Option<String>,
}

/// How the steps of several children ended.
pub(super) enum Ended {
    /// Each by itself.
    All(Vec<StepEnd>),
    /// This signal told us to stop.
    Interrupted(i32),
}

/// A process that does a step.
struct Running {
    pid: u32,
    thread: ThreadId,
    messages: File,
}

/// Does one step of each of these threads at once. An interrupt ends all of them, each with its agent. So does `is_enough`,
/// which is asked when one has ended.
pub(super) fn step(
    runner: &Runner,
    threads: &[ThreadId],
    options: &StepOptions,
    config: &Config,
    is_enough: &dyn Fn() -> bool,
) -> Result<Ended, EngineError> {
    let grace = agent_command::grace(config)?;
    runner.signals.watch().map_err(failed)?;
    let mut tree: Option<Tree> = None;
    let mut running = Vec::new();
    for thread in threads {
        match start(runner, *thread, options, &mut tree) {
            Ok(one) => running.push(one),
            Err(error) => {
                if let Some(mut tree) = tree {
                    // What could not be ended keeps its thread busy, and the next call names it.
                    let _ = tree.end(EndRequest::NotSent, grace, &runner.signals);
                }
                return Err(failed(error));
            }
        }
    }
    let mut ended = Vec::new();
    let Some(mut tree) = tree else {
        return Ok(Ended::All(ended));
    };
    loop {
        match tree.next_exit(&runner.signals) {
            NextExit::Exited { pid, status } => {
                if let Some(at) = running.iter().position(|one| one.pid == pid) {
                    let mut one = running.swap_remove(at);
                    let exit = status.code().and_then(Exit::of_code).unwrap_or(Exit::Agent);
                    let silent = || format!("its process ended with {status}");
                    let problem = problem_in(&mut one.messages);
                    ended.push(StepEnd {
                        thread: one.thread,
                        exit,
                        problem: problem.or_else(|| (!status.success()).then(silent)),
                    });
                    if is_enough() {
                        // What could not be ended is ended with its thread.
                        let _ = tree.end(EndRequest::NotSent, grace, &runner.signals);
                        return Ok(Ended::All(ended));
                    }
                }
            }
            NextExit::Stopped(stop) => {
                let asked = match stop.by_supervisor {
                    true => EndRequest::SentBySupervisor,
                    false => EndRequest::NotSent,
                };
                tree.ask_by(stop.signal);
                // A process that could not be ended keeps its thread busy, and the next call names it.
                let _ = tree.end(asked, grace, &runner.signals);
                return Ok(Ended::Interrupted(stop.signal));
            }
            NextExit::NoneLeft => return Ok(Ended::All(ended)),
        }
    }
}

fn failed(source: std::io::Error) -> EngineError {
    EngineError::Io {
        action: "start this program for a child thread".to_owned(),
        source,
    }
}

fn start(
    runner: &Runner,
    thread: ThreadId,
    options: &StepOptions,
    tree: &mut Option<Tree>,
) -> std::io::Result<Running> {
    let messages: File = memfd_create("messages", MemfdFlags::CLOEXEC)?.into();
    let mut command = (runner.step_command)(&runner.site, thread, options);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(messages.try_clone()?);
    let pid = match tree {
        Some(tree) => tree.add(&mut command)?,
        None => tree.insert(Tree::spawn(&mut command)?).leader(),
    };
    Ok(Running {
        pid,
        thread,
        messages,
    })
}

/// Returns the error in what a process said: its messages are JSON, one line each.
fn problem_in(messages: &mut File) -> Option<String> {
    let mut said = String::new();
    messages.seek(SeekFrom::Start(0)).ok()?;
    messages.read_to_string(&mut said).ok()?;
    let mut lines = said
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines.find_map(|line| line.get("error")?.as_str().map(str::to_owned))
}
