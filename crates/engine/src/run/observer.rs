//! What a caller sees of a step while its agent works.

use std::time::{Duration, Instant};

use uwf_protocol::ids::RoleName;
use uwf_protocol::nodes::Usage;
use uwf_protocol::run::RunningCheck;
use uwf_storage::Scratch;

/// Who gets what can be seen of a running agent. The engine calls these functions from the thread that waits for the
/// agent. What nobody wants to see is not looked for.
#[derive(Debug, Clone, Copy, Default)]
pub struct Observer {
    /// Gets what the agent writes to stderr: printable text, each line behind a margin.
    pub stderr: Option<fn(&str)>,
    /// Gets the progress of the step once a second while it waits for a slot and while its agent works. Gets `None` when the
    /// wait is over, when the agent ends, and when it is told to end.
    pub progress: Option<fn(Option<&Progress>)>,
}

/// How far a step is.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// The role that does it.
    pub role: RoleName,
    /// The label of its agent.
    pub agent: String,
    /// How long the agent has been running, or how long the step has been waiting.
    pub elapsed: Duration,
    /// What it does.
    pub doing: Doing,
}

/// What a step does.
#[derive(Debug, Clone, PartialEq)]
pub enum Doing {
    /// It waits for a free slot, or for the working tree.
    Waiting,
    /// It runs as a step of a pipeline.
    StepOf {
        /// Its number among the steps of the pipeline, or that of the loop that it is in.
        number: usize,
        /// How many steps the pipeline has.
        of: usize,
    },
    /// The agent has answered, and a check of the role runs.
    Checking {
        /// The name of the check.
        check: String,
        /// How long it has been running.
        elapsed: Duration,
    },
    /// Its agent works.
    Working {
        /// How long ago the agent wrote something; `None` if it has written nothing yet.
        last_output: Option<Duration>,
        /// What it has used up so far, if it tells.
        usage: Option<Usage>,
    },
}

/// The line about one step, which is shown once a second. Nothing is shown within the first second.
pub(crate) struct Line<'a> {
    show: Option<fn(Option<&Progress>)>,
    role: &'a RoleName,
    agent: &'a str,
    started: Instant,
    /// The second in which the progress was shown last.
    second: u64,
}

impl<'a> Line<'a> {
    /// Returns the line about something that begins now.
    pub(crate) fn new(observer: Observer, role: &'a RoleName, agent: &'a str) -> Self {
        Self {
            show: observer.progress,
            role,
            agent,
            started: Instant::now(),
            second: 0,
        }
    }

    /// Shows the progress if a new second has begun.
    pub(crate) fn look(&mut self, doing: impl FnOnce() -> Doing) {
        let Some(show) = self.show else { return };
        let elapsed = self.started.elapsed();
        if elapsed.as_secs() == self.second {
            return;
        }
        self.second = elapsed.as_secs();
        show(Some(&Progress {
            role: self.role.clone(),
            agent: self.agent.to_owned(),
            elapsed,
            doing: doing(),
        }));
    }
}

impl Drop for Line<'_> {
    fn drop(&mut self) {
        if let Some(show) = self.show {
            show(None);
        }
    }
}

/// The look at one running agent.
pub(crate) struct Watch<'a> {
    line: Line<'a>,
    scratch: &'a Scratch,
    last_output: Option<Instant>,
    /// The check that runs, and since when this process has known of it.
    check: Option<(RunningCheck, Instant)>,
}

impl<'a> Watch<'a> {
    /// Returns the look at an agent that is started now.
    pub(crate) fn new(
        observer: Observer,
        scratch: &'a Scratch,
        role: &'a RoleName,
        agent: &'a str,
    ) -> Self {
        Self {
            line: Line::new(observer, role, agent),
            scratch,
            last_output: None,
            check: None,
        }
    }

    /// Shows the progress if a new second has begun. `has_grown` tells whether there is new output since the last call.
    pub(crate) fn look(&mut self, has_grown: bool) {
        if has_grown {
            self.last_output = Some(Instant::now());
        }
        let Self {
            line,
            scratch,
            last_output,
            check,
        } = self;
        line.look(|| {
            let running = scratch.running_check();
            *check = match (running, check.take()) {
                (Some(new), Some((old, since))) if new == old => Some((old, since)),
                (new, _) => new.map(|new| (new, Instant::now())),
            };
            match check {
                Some((check, since)) => Doing::Checking {
                    check: check.name.clone(),
                    elapsed: since.elapsed(),
                },
                None => Doing::Working {
                    last_output: last_output.map(|last| last.elapsed()),
                    usage: scratch.usage(),
                },
            }
        });
    }
}
