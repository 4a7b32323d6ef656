//! When a watched pipeline is run again: which files count, how long changes settle, and what a running run has to do with it.
//!
//! The caller looks at files and runs the pipeline. It says what it saw and what has ended, and is told what to do.

use std::collections::{BTreeMap, BTreeSet};

use crate::paths::segments;
use crate::{OWN_FOLDER, Pipeline, Step, Work};

/// How long nothing may change before the pipeline is run again, in milliseconds: many programs write several files, or one
/// in several steps.
pub const SETTLE_MS: u64 = 300;

/// What a file looks like from the outside. A file that has changed looks different.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sight {
    /// The number of bytes.
    pub size: u64,
    /// When its content was changed, in nanoseconds since 1970.
    pub modified_ns: i128,
    /// Which file it is: a file that is replaced is another one.
    pub inode: u64,
}

/// The files that are there, by their paths in the workspace.
pub type Sights = BTreeMap<String, Sight>;

/// The files that a run itself changes. Changes of them lead to no other run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OwnFiles {
    folders: Vec<String>,
    files: BTreeSet<String>,
}

impl OwnFiles {
    /// Returns those that the pipeline names: its queues, and output files without variables.
    #[must_use]
    pub fn of(pipeline: &Pipeline) -> Self {
        let queues = &pipeline.queues;
        let folders = [&queues.inbox_dir, &queues.processed_dir, &queues.failed_dir];
        let mut files = BTreeSet::new();
        collect_outputs(&pipeline.steps, &mut files);
        Self {
            folders: folders.map(|folder| normal(folder)).to_vec(),
            files,
        }
    }

    /// Tells whether a path is one of them. Records of runs and of Git always are.
    fn has(&self, path: &str) -> bool {
        let path = normal(path);
        let is_record = |name: &str| [OWN_FOLDER, ".git"].contains(&name);
        let is_in = |folder: &String| {
            let rest = path.strip_prefix(folder.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.files.contains(&path)
            || path.split('/').any(is_record)
            || self.folders.iter().any(is_in)
    }
}

/// What happens to a run while its files change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActiveRun {
    /// It goes on to its end, and another one follows.
    Finishes,
    /// It is ended, and another one follows.
    IsEnded,
}

/// What to do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Todo {
    /// Nothing yet.
    Wait,
    /// Start a run, because these files have changed; none for the first run.
    Start(Vec<String>),
    /// End the run that is active.
    End,
}

/// Whether a run is active.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Idle,
    Running,
    Ending,
}

/// A pipeline that is watched.
#[derive(Debug)]
pub struct Rerun {
    active: ActiveRun,
    own: OwnFiles,
    /// What the last run wrote.
    written: BTreeSet<String>,
    /// What was seen the last time.
    seen: Option<Sights>,
    /// What has changed since the last run was started.
    changed: BTreeSet<String>,
    /// When the last change was seen.
    changed_ms: u64,
    state: State,
}

impl Rerun {
    /// Returns a pipeline that has not run yet.
    #[must_use]
    pub fn new(active: ActiveRun) -> Self {
        Self {
            active,
            own: OwnFiles::default(),
            written: BTreeSet::new(),
            seen: None,
            changed: BTreeSet::new(),
            changed_ms: 0,
            state: State::Idle,
        }
    }

    /// Replaces the files that a run itself changes: the pipeline was read again.
    pub fn set_own(&mut self, own: OwnFiles) {
        self.own = own;
        self.forget_own_changes();
    }

    /// Takes what is seen now, at a time of any clock, and returns what to do. A run that is to start counts as started, and
    /// one that is to end as active until [`ended`](Self::ended).
    pub fn look(&mut self, now_ms: u64, seen: Sights) -> Todo {
        let Some(before) = self.seen.replace(seen) else {
            self.state = State::Running;
            return Todo::Start(Vec::new());
        };
        if self.note_changes(&before) {
            self.changed_ms = now_ms;
        }
        if self.changed.is_empty() || now_ms < self.due_ms() {
            return Todo::Wait;
        }
        match (self.state, self.active) {
            (State::Idle, _) => {
                self.state = State::Running;
                Todo::Start(std::mem::take(&mut self.changed).into_iter().collect())
            }
            (State::Running, ActiveRun::IsEnded) => {
                self.state = State::Ending;
                Todo::End
            }
            (State::Running, ActiveRun::Finishes) | (State::Ending, _) => Todo::Wait,
        }
    }

    /// Takes note that the run has ended, and which files it wrote. Changes of these were its own.
    pub fn ended(&mut self, written: impl IntoIterator<Item = String>) {
        self.state = State::Idle;
        self.written = written.into_iter().map(|path| normal(&path)).collect();
        self.forget_own_changes();
    }

    /// Returns how long to wait until the next look, if nothing ends before: the interval, or until changes have settled.
    #[must_use]
    pub fn wait_ms(&self, now_ms: u64, interval_ms: u64) -> u64 {
        let waits_for_end = self.active == ActiveRun::Finishes && self.state == State::Running;
        if self.changed.is_empty() || self.state == State::Ending || waits_for_end {
            return interval_ms;
        }
        self.due_ms()
            .saturating_sub(now_ms)
            .clamp(1, interval_ms.max(1))
    }

    fn due_ms(&self) -> u64 {
        self.changed_ms.saturating_add(SETTLE_MS)
    }

    /// Notes the files that are new, gone or different, and tells whether there are any.
    fn note_changes(&mut self, before: &Sights) -> bool {
        let Some(now) = &self.seen else {
            return false;
        };
        let paths: BTreeSet<&String> = before.keys().chain(now.keys()).collect();
        let differs = |path: &&String| before.get(*path) != now.get(*path);
        let counts = |path: &&String| !is_own(&self.own, &self.written, path);
        let changed: Vec<String> = paths
            .into_iter()
            .filter(differs)
            .filter(counts)
            .cloned()
            .collect();
        let is_change = !changed.is_empty();
        self.changed.extend(changed);
        is_change
    }

    fn forget_own_changes(&mut self) {
        let (own, written) = (&self.own, &self.written);
        self.changed.retain(|path| !is_own(own, written, path));
    }
}

fn is_own(own: &OwnFiles, written: &BTreeSet<String>, path: &str) -> bool {
    own.has(path) || written.contains(&normal(path))
}

/// Returns a path in the one form that it is compared in.
fn normal(path: &str) -> String {
    segments(path).join("/")
}

/// Collects the output files without variables of steps and of those in their bodies.
fn collect_outputs(steps: &[Step], files: &mut BTreeSet<String>) {
    for step in steps {
        if let Work::Run(run) = &step.work {
            let file = run.output_file.iter();
            let literal = file.filter(|file| file.references().next().is_none());
            files.extend(literal.map(|file| normal(&file.with_names_as(""))));
        }
        if let Some(body) = step.body() {
            collect_outputs(&body.steps, files);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load;

    /// Returns files that look as if each was last changed at the given time.
    fn files(files: &[(&str, i128)]) -> Sights {
        let sight = |modified_ns| Sight {
            size: 1,
            modified_ns,
            inode: 1,
        };
        let files = files.iter();
        files
            .map(|(path, at)| ((*path).to_owned(), sight(*at)))
            .collect()
    }

    fn flow(at: i128) -> Sights {
        files(&[("flow.yaml", at)])
    }

    /// Returns a pipeline whose first run has ended at time 0.
    fn after_the_first(active: ActiveRun) -> Rerun {
        let mut rerun = Rerun::new(active);
        assert_eq!(rerun.look(0, flow(0)), Todo::Start(vec![]));
        rerun.ended([]);
        rerun
    }

    fn start() -> Todo {
        Todo::Start(vec!["flow.yaml".to_owned()])
    }

    #[test]
    fn the_first_look_starts_a_run_and_another_one_without_a_change_does_not() {
        let mut rerun = after_the_first(ActiveRun::Finishes);
        for now in [0, 500, 100_000] {
            assert_eq!(rerun.look(now, flow(0)), Todo::Wait);
        }
        assert_eq!(rerun.wait_ms(100_000, 500), 500);
    }

    #[test]
    fn three_changes_at_once_lead_to_one_run_when_they_have_settled() {
        let mut rerun = after_the_first(ActiveRun::Finishes);
        for (now, at) in [(1000, 1), (1100, 2), (1200, 3)] {
            assert_eq!(rerun.look(now, flow(at)), Todo::Wait);
            assert_eq!(rerun.wait_ms(now, 500), 300);
        }
        assert_eq!(rerun.look(1499, flow(3)), Todo::Wait);
        assert_eq!(rerun.wait_ms(1499, 500), 1);
        assert_eq!(rerun.look(1500, flow(3)), start());
        rerun.ended([]);
        assert_eq!(rerun.look(9000, flow(3)), Todo::Wait);
    }

    #[test]
    fn a_file_that_is_new_gone_replaced_or_shorter_has_changed() {
        let before = flow(0);
        let other = |change: fn(&mut Sight)| {
            let mut seen = before.clone();
            seen.values_mut().for_each(change);
            seen
        };
        for seen in [
            Sights::new(),
            other(|sight| sight.inode = 2),
            other(|sight| sight.size = 0),
            other(|sight| sight.modified_ns = -1),
        ] {
            let mut rerun = after_the_first(ActiveRun::Finishes);
            assert_eq!(rerun.look(1, seen.clone()), Todo::Wait);
            assert_eq!(rerun.look(301, seen), start());
        }
        let mut rerun = after_the_first(ActiveRun::Finishes);
        let more = files(&[("flow.yaml", 0), ("a.md", 0)]);
        assert_eq!(rerun.look(1, more.clone()), Todo::Wait);
        assert_eq!(rerun.look(301, more), Todo::Start(vec!["a.md".to_owned()]));
    }

    #[test]
    fn a_change_during_a_run_waits_for_its_end() {
        let mut rerun = Rerun::new(ActiveRun::Finishes);
        rerun.look(0, flow(0));
        for now in [100, 400, 5000] {
            assert_eq!(rerun.look(now, flow(1)), Todo::Wait);
            assert_eq!(rerun.wait_ms(now, 500), 500);
        }
        rerun.ended([]);
        assert_eq!(rerun.wait_ms(5001, 500), 1);
        assert_eq!(rerun.look(5001, flow(1)), start());
    }

    #[test]
    fn a_run_that_is_to_be_ended_is_ended_once() {
        let mut rerun = Rerun::new(ActiveRun::IsEnded);
        rerun.look(0, flow(0));
        assert_eq!(rerun.look(100, flow(1)), Todo::Wait);
        assert_eq!(rerun.wait_ms(100, 500), 300);
        assert_eq!(rerun.look(400, flow(1)), Todo::End);
        assert_eq!(rerun.look(500, flow(1)), Todo::Wait);
        assert_eq!(rerun.look(600, flow(2)), Todo::Wait);
        assert_eq!(rerun.wait_ms(2000, 500), 500);
        rerun.ended([]);
        assert_eq!(rerun.look(2000, flow(2)), start());
    }

    #[test]
    fn what_a_run_writes_leads_to_no_other_run() {
        let mut rerun = Rerun::new(ActiveRun::Finishes);
        let seen = |at| files(&[("flow.yaml", 0), ("out/a.md", at)]);
        rerun.look(0, seen(0));
        assert_eq!(rerun.look(100, seen(1)), Todo::Wait);
        rerun.ended(["./out//a.md".to_owned()]);
        assert_eq!(rerun.look(1000, seen(1)), Todo::Wait);
        assert_eq!(rerun.look(2000, seen(2)), Todo::Wait);
        assert_eq!(rerun.look(3000, seen(2)), Todo::Wait);
    }

    #[test]
    fn queues_outputs_and_records_are_own_files() {
        let text = "processed_dir: ./out/done\nsteps:\n- name: A\n  command: [a]\n  output_file: a.md\n\
            - name: B\n  for_each:\n    items: [x]\n    steps:\n    - name: C\n      command: [c]\n      output_file: ./c//$$.md\n\
            \x20   - name: D\n      command: [d]\n      output_file: d_${item}.md\n";
        let own = OwnFiles::of(&load(text.as_bytes(), "flow.yaml").unwrap().pipeline);
        for path in [
            "a.md",
            "c/$.md",
            "inbox/x.task",
            "out/done/t/x",
            "failed",
            ".orchestrate/runs/r/state.json",
            ".git/index",
            "lib/.git/index",
        ] {
            assert!(own.has(path), "{path}");
        }
        for path in [
            "flow.yaml",
            "inboxes/x",
            "out/a",
            "processed/x",
            "d_x.md",
            ".gitignore",
            "sub/a.md",
        ] {
            assert!(!own.has(path), "{path}");
        }
        let mut rerun = after_the_first(ActiveRun::Finishes);
        let seen = files(&[("flow.yaml", 0), ("a.md", 0)]);
        assert_eq!(rerun.look(1, seen.clone()), Todo::Wait);
        rerun.set_own(own);
        assert_eq!(rerun.look(1000, seen), Todo::Wait);
    }
}
