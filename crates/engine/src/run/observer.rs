//! What a caller sees of a step while its agent works.

use std::time::{Duration, Instant};

use uwf_protocol::ids::RoleName;
use uwf_protocol::nodes::Usage;
use uwf_storage::Scratch;

/// Who gets what can be seen of a running agent. The engine calls these functions from the thread that waits for the
/// agent. What nobody wants to see is not looked for.
#[derive(Debug, Clone, Copy, Default)]
pub struct Observer {
    /// Gets what the agent writes to stderr: printable text, each line behind a margin.
    pub stderr: Option<fn(&str)>,
    /// Gets the progress of the agent once a second, and `None` as soon as the agent has ended or is told to.
    pub progress: Option<fn(Option<&Progress>)>,
}

/// How far a running agent is.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// The role that it plays.
    pub role: RoleName,
    /// Its label.
    pub agent: String,
    /// How long it has been running.
    pub elapsed: Duration,
    /// How long ago it wrote something; `None` if it has written nothing yet.
    pub last_output: Option<Duration>,
    /// What it has used up so far, if it tells.
    pub usage: Option<Usage>,
}

/// The look at one running agent.
pub(crate) struct Watch<'a> {
    show: Option<fn(Option<&Progress>)>,
    scratch: &'a Scratch,
    role: &'a RoleName,
    agent: &'a str,
    started: Instant,
    last_output: Option<Instant>,
    /// The second in which the progress was shown last. Nothing is shown of an agent that ends within the first.
    second: u64,
}

impl<'a> Watch<'a> {
    /// Returns the look at an agent that is started now.
    pub(crate) fn new(
        observer: Observer,
        scratch: &'a Scratch,
        role: &'a RoleName,
        agent: &'a str,
    ) -> Self {
        let now = Instant::now();
        Self {
            show: observer.progress,
            scratch,
            role,
            agent,
            started: now,
            last_output: None,
            second: 0,
        }
    }

    /// Shows the progress if a new second has begun. `has_grown` tells whether there is new output since the last call.
    pub(crate) fn look(&mut self, has_grown: bool) {
        let Some(show) = self.show else { return };
        let now = Instant::now();
        if has_grown {
            self.last_output = Some(now);
        }
        let elapsed = now.duration_since(self.started);
        if elapsed.as_secs() == self.second {
            return;
        }
        self.second = elapsed.as_secs();
        show(Some(&Progress {
            role: self.role.clone(),
            agent: self.agent.to_owned(),
            elapsed,
            last_output: self.last_output.map(|last| now.duration_since(last)),
            usage: self.scratch.usage(),
        }));
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        if let Some(show) = self.show {
            show(None);
        }
    }
}
