//! One step of several children at once, each in a process of this program: a process can supervise one agent at a time.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::fs::{MemfdFlags, memfd_create};
use serde::Deserialize as _;
use serde_json::Value;
use uwf_process::{EndRequest, NextExit, Tree};
use uwf_protocol::config::Config;
use uwf_protocol::exit::Exit;
use uwf_protocol::ids::ThreadId;

use crate::error::about::BusyElsewhere;
use crate::planned_try::PlannedTry;
use crate::run::agent_command;
use crate::run::cycle::{Session, StepOptions};
use crate::{EngineError, Runner};

/// How the step of one child ended.
pub(super) struct StepEnd {
    pub(super) thread: ThreadId,
    pub(super) exit: Exit,
    /// How many steps were recorded, with those of its children.
    pub(super) steps: u64,
    /// What went wrong, if something did.
    pub(super) problem: Option<String>,
    /// The thread that another process works on, if that is what went wrong.
    pub(super) busy: Option<ThreadId>,
    /// The thread that another machine works on, if that is what went wrong.
    pub(super) elsewhere: Option<BusyElsewhere>,
    /// The attempt that follows by itself, if one does.
    pub(super) next_try: Option<PlannedTry>,
}

impl StepEnd {
    /// Returns the end of a step that was not done, whose problem the caller knows.
    pub(super) fn failed(thread: ThreadId) -> Self {
        Self {
            thread,
            exit: Exit::Agent,
            steps: 0,
            problem: Some(String::new()),
            busy: None,
            elsewhere: None,
            next_try: None,
        }
    }
}

/// How the steps of several children ended.
pub(super) enum Ended {
    /// Each by itself.
    All(Vec<StepEnd>),
    /// This signal told us to stop.
    Interrupted(i32),
}

/// What happens when the step of a child has ended.
pub(super) enum Then {
    /// The others go on.
    Wait,
    /// Steps of these begin, too.
    Start(Vec<ThreadId>),
    /// The others are not needed any more.
    Enough,
}

/// A process that does a step.
struct Running {
    pid: u32,
    thread: ThreadId,
    report: File,
    messages: File,
}

/// Does one step of each of these threads at once. When one has ended, `then` says what happens. An interrupt ends all of
/// them, each with its agent.
pub(super) fn step(
    runner: &Runner,
    threads: &[ThreadId],
    options: &StepOptions,
    config: &Config,
    then: &mut dyn FnMut(&StepEnd) -> Result<Then, EngineError>,
) -> Result<Ended, EngineError> {
    let grace = agent_command::grace(config)?;
    let unwatched = |source| EngineError::Io {
        action: "watch for signals".to_owned(),
        source,
    };
    runner.signals.watch().map_err(unwatched)?;
    let mut steps = Steps {
        runner,
        options: options.clone(),
        tree: None,
        running: Vec::new(),
    };
    if let Err(error) = steps.start(threads) {
        steps.end(grace);
        steps.tell_left();
        return Err(error);
    }
    // A further cycle goes on with the session of the first.
    steps.options.session = Session::Known;
    let mut ended = Vec::new();
    // After a failure none are started any more. Those that are at work are paid for, so they go on to their end.
    let mut failure = Ok(());
    loop {
        let Some(tree) = &mut steps.tree else {
            return Ok(Ended::All(ended));
        };
        match tree.next_exit(&runner.signals) {
            NextExit::Exited { pid, status } => {
                let Some(end) = steps.take_end(pid, status) else {
                    continue;
                };
                let next = match &failure {
                    Ok(()) => then(&end),
                    Err(_) => Ok(Then::Wait),
                };
                ended.push(end);
                match next {
                    Ok(Then::Wait) => {}
                    Ok(Then::Start(threads)) => failure = steps.start(&threads),
                    Ok(Then::Enough) => {
                        steps.end(grace);
                        steps.tell_left();
                        return Ok(Ended::All(ended));
                    }
                    Err(error) => failure = Err(error),
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
                steps.tell_left();
                return Ok(Ended::Interrupted(stop.signal));
            }
            NextExit::NoneLeft => return failure.map(|()| Ended::All(ended)),
        }
    }
}

/// The processes that do steps now.
struct Steps<'a> {
    runner: &'a Runner,
    options: StepOptions,
    tree: Option<Tree>,
    running: Vec<Running>,
}

impl Steps<'_> {
    fn start(&mut self, threads: &[ThreadId]) -> Result<(), EngineError> {
        for thread in threads {
            let one = start(self.runner, *thread, &self.options, &mut self.tree);
            self.running.push(one.map_err(not_started)?);
        }
        Ok(())
    }

    /// Ends all of them, each with its agent. What could not be ended keeps its thread busy, and the next call names it.
    fn end(&mut self, grace: Duration) {
        if let Some(tree) = &mut self.tree {
            let _ = tree.end(EndRequest::NotSent, grace, &self.runner.signals);
        }
    }

    /// Tells the person what the processes have said whose ends nobody takes.
    fn tell_left(&mut self) {
        for mut one in std::mem::take(&mut self.running) {
            self.tell(&lines_of(&mut one.messages));
        }
    }

    fn tell(&self, messages: &[Value]) {
        for note in messages.iter().filter_map(note_in) {
            (self.runner.notice)(note);
        }
    }

    /// Returns how the step of this process ended; `None` if the process did none.
    fn take_end(&mut self, pid: u32, status: ExitStatus) -> Option<StepEnd> {
        let at = self.running.iter().position(|one| one.pid == pid)?;
        let mut one = self.running.swap_remove(at);
        let silent = || format!("its process ended with {status}");
        let exit = status.code().and_then(Exit::of_code).unwrap_or(Exit::Agent);
        // An agent that had outlived its engine has ended the thread meanwhile.
        let has_ended = exit == Exit::Ended;
        let messages = lines_of(&mut one.messages);
        let problem = messages.iter().find_map(problem_in);
        self.tell(&messages);
        let report = lines_of(&mut one.report).into_iter().next_back();
        Some(StepEnd {
            thread: one.thread,
            exit,
            steps: report.as_ref().map_or(0, steps_in),
            problem: problem
                .or_else(|| (!status.success()).then(silent))
                .filter(|_| !has_ended),
            busy: messages.iter().find_map(busy_in),
            elsewhere: messages.iter().find_map(elsewhere_in),
            next_try: messages
                .iter()
                .find_map(|message| PlannedTry::read(one.thread, message)),
        })
    }
}

fn not_started(source: std::io::Error) -> EngineError {
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
    let report: File = memfd_create("report", MemfdFlags::CLOEXEC)?.into();
    let messages: File = memfd_create("messages", MemfdFlags::CLOEXEC)?.into();
    let mut command = (runner.step_command)(&runner.site, thread, options);
    command
        .stdin(Stdio::null())
        .stdout(report.try_clone()?)
        .stderr(messages.try_clone()?);
    let pid = match tree {
        Some(tree) => tree.add(&mut command)?,
        None => tree.insert(Tree::spawn(&mut command)?).leader(),
    };
    Ok(Running {
        pid,
        thread,
        report,
        messages,
    })
}

/// Returns what a process wrote: JSON, one object on each line.
fn lines_of(file: &mut File) -> Vec<Value> {
    let mut text = String::new();
    let read = file
        .seek(SeekFrom::Start(0))
        .and_then(|_| file.read_to_string(&mut text));
    match read {
        Ok(_) => {
            let lines = text.lines();
            lines
                .filter_map(|line| serde_json::from_str(line).ok())
                .collect()
        }
        Err(_) => Vec::new(),
    }
}

/// Returns the error that a message tells, with its causes.
fn problem_in(message: &Value) -> Option<String> {
    let causes = message["causes"].as_array().into_iter().flatten();
    let parts: Vec<&str> = std::iter::once(message.get("error")?)
        .chain(causes)
        .filter_map(Value::as_str)
        .collect();
    Some(parts.join(": "))
}

/// Returns what people are told by a message of a child. The parent tells at most one error of its children, so each step that is kept is
/// told here.
fn note_in(message: &Value) -> Option<&str> {
    let text = match (message.get("error"), message.get("keptStep")) {
        (Some(error), Some(_)) => Some(error),
        (Some(_), None) => None,
        (None, _) => message.get("note").or(message.get("warning")),
    };
    text?.as_str()
}

/// Returns the busy thread that an error names.
fn busy_in(message: &Value) -> Option<ThreadId> {
    message.get("busy")?.as_str()?.parse().ok()
}

/// Returns the thread that another machine works on, if an error names one.
fn elsewhere_in(message: &Value) -> Option<BusyElsewhere> {
    BusyElsewhere::deserialize(message.get("busyElsewhere")?).ok()
}

/// Returns how many steps the report of a step tells of, with those of children.
fn steps_in(report: &Value) -> u64 {
    let own = u64::from(report["step"].is_string());
    let children = report["children"].as_array().into_iter().flatten();
    let children = children.chain(report.get("child"));
    own + children.map(steps_in).sum::<u64>()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn people_are_told_notes_and_each_step_that_is_kept_and_no_other_error() {
        let told = [
            json!({ "note": "n" }),
            json!({ "warning": "w" }),
            json!({ "error": "e", "note": "of an attempt" }),
            json!({ "error": "kept", "keptStep": "0000000000000" }),
        ];
        let told: Vec<&str> = told.iter().filter_map(note_in).collect();
        assert_eq!(told, ["n", "w", "kept"]);
    }

    #[test]
    fn an_error_names_the_thread_that_another_machine_works_on() {
        let thread = ThreadId::new(1, 0);
        let busy = json!({ "thread": thread, "machine": "machine `m`" });
        let named = elsewhere_in(&json!({ "error": "e", "busyElsewhere": busy }));
        assert_eq!(named.unwrap().thread, thread);
        assert_eq!(elsewhere_in(&json!({ "busy": thread })), None);
    }
}
