//! The logs of a run while it goes on.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use uwf_pipeline::nodes::{Stream, VisitNode};
use uwf_pipeline::{Course, Event, Route, log_name};
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_protocol::run::LeaseRecord;
use uwf_storage::RunRoot;
use uwf_thread::{read_step, steps};

use super::logs::{LogContent, RunLog, Wanted, logs_of};
use super::{Found, found};
use crate::pipelines::chain;
use crate::pipelines::folder::root_of;
use crate::{EngineError, Site};

/// A run whose logs are followed.
pub struct LogFollower<'s> {
    site: &'s Site,
    thread: ThreadId,
    root: RunRoot,
    wanted: Wanted,
    course: Course,
    /// The newest step that was seen, or the start.
    seen: CasRef,
    /// How much of each file was returned, and in which attempt.
    returned: HashMap<PathBuf, (u64, u64)>,
}

/// A part of a log that is new.
#[derive(Debug, Clone)]
pub struct LogPart {
    /// The log. The number of its bytes is where the part ends.
    pub log: RunLog,
    /// Where the part begins in the file.
    pub from: u64,
}

/// What is new in a run.
#[derive(Debug)]
pub struct Followed {
    /// The new parts, in order.
    pub parts: Vec<LogPart>,
    /// Whether a process works on the run, so that there may be more.
    pub goes_on: bool,
}

impl<'s> LogFollower<'s> {
    /// Begins at the beginning of a run.
    ///
    /// # Errors
    /// When the thread is unknown or no run, it has no such step, or a node cannot be read.
    pub fn open(site: &'s Site, thread: ThreadId, step: Option<&str>) -> Result<Self, EngineError> {
        let found = found(site, thread)?;
        let opened = chain::open(&site.store, (thread, found.newest))?;
        let wanted = Wanted::new(step, thread, opened.newest_pipeline())?;
        let begun = opened.begun();
        Ok(Self {
            site,
            thread,
            root: root_of(begun.start.cwd.as_deref(), &begun.run, thread),
            wanted,
            course: begun.course.clone(),
            seen: begun.start_hash,
            returned: HashMap::new(),
        })
    }

    /// Returns what is new.
    ///
    /// # Errors
    /// When a node cannot be read.
    pub fn look(&mut self) -> Result<Followed, EngineError> {
        let found = found(self.site, self.thread)?;
        let mut parts = self.settled(&found)?;
        if let Some(lease) = &found.lease {
            parts.extend(self.live(lease));
        }
        Ok(Followed {
            parts,
            goes_on: found.is_running(),
        })
    }

    /// Returns what is new of the visits that settled since the last look.
    fn settled(&mut self, found: &Found) -> Result<Vec<LogPart>, EngineError> {
        let store = &self.site.store;
        let mut newest_first = Vec::new();
        for step in steps(store, found.newest) {
            let hash = step?.hash;
            if hash == self.seen {
                break;
            }
            newest_first.push(hash);
        }
        let mut parts = Vec::new();
        for hash in newest_first.into_iter().rev() {
            let step = read_step(store, hash)?;
            let event = chain::event_of(store, &step.node)?;
            self.seen = hash;
            if let Event::Visit(visit) = &event {
                let key = visit.key.to_string();
                let detail: VisitNode = chain::payload(store, step.node.detail)?;
                let attempt = detail.attempts.len() as u64;
                let logs: Vec<RunLog> = logs_of(store, &self.root, &key, detail).collect();
                for log in logs {
                    parts.extend(self.part(log, attempt));
                }
            }
            let pushed = self.course.push(event);
            pushed.map_err(|misfit| chain::blocked(self.thread, misfit.to_string()))?;
        }
        Ok(parts)
    }

    /// Returns what is new of the step that is being done.
    fn live(&mut self, lease: &LeaseRecord) -> Vec<LogPart> {
        let key = lease.role.as_str();
        let Some(visit) = visit_of(&self.course.next(), key) else {
            return Vec::new();
        };
        let name = log_name(key, visit);
        let streams = [(Stream::Stdout, "stdout"), (Stream::Stderr, "stderr")];
        let parts = streams.into_iter().filter_map(|(stream, end)| {
            let file = self.root.log(&format!("{name}.{end}"));
            let log = RunLog {
                key: key.to_owned(),
                visit,
                stream,
                bytes: length(&file)?,
                content: LogContent::File(file),
            };
            self.part(log, lease.number.unwrap_or(1))
        });
        parts.collect()
    }

    /// Returns what is new in a log, if anything is.
    fn part(&mut self, log: RunLog, attempt: u64) -> Option<LogPart> {
        if !self.wanted.has(&log.key) {
            return None;
        }
        let LogContent::File(file) = &log.content else {
            return Some(LogPart { log, from: 0 });
        };
        // The log has a mark at its end if it was cut, so the file may be longer than what was printed.
        let end = length(file).unwrap_or(log.bytes);
        let returned = self.returned.get(file);
        let returned =
            returned.filter(|(of_attempt, until)| *of_attempt == attempt && *until <= end);
        let from = returned.map_or(0, |(_, until)| *until);
        if from == end {
            return None;
        }
        self.returned.insert(file.clone(), (attempt, end));
        let log = RunLog { bytes: end, ..log };
        Some(LogPart { log, from })
    }
}

fn length(file: &Path) -> Option<u64> {
    let metadata = file.metadata().ok()?;
    metadata.is_file().then_some(metadata.len())
}

/// Returns the number of the visit that comes next, if it is one of this step.
fn visit_of(next: &Route, key: &str) -> Option<u64> {
    match next {
        Route::To(assignment) if assignment.key.to_string() == key => Some(assignment.visit),
        Route::Look { holds, fails, .. } => visit_of(holds, key).or_else(|| visit_of(fails, key)),
        Route::To(_) | Route::Archive { .. } | Route::Suspend(_) | Route::End(_) => None,
    }
}
