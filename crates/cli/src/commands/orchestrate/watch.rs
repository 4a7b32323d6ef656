//! `uwf orchestrate watch`: the pipeline is run by calls of this program, one after the other.

use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use uwf_engine::run_writes;
use uwf_pipeline::{
    ActiveRun, OwnFiles, Rerun, Sight, Sights, Todo, load, path_problem, run_id, timestamp_utc,
};
use uwf_process::{EndRequest, NextExit, Stop, Tree};
use uwf_protocol::exit::Exit;
use uwf_protocol::ids::ThreadId;
use uwf_runner::{GRACE, Workspace};
use uwf_storage::RunRoot;

use super::{bytes_of, place};
use crate::args::WatchArgs;
use crate::commands::{Context, own_program};
use crate::failure::{Failure, note};

/// How long a call has to end: its step has the usual time, and then it leaves its picture.
const CALL_GRACE: Duration = GRACE.saturating_add(Duration::from_secs(5));

/// A call that runs the pipeline.
struct Call {
    tree: Tree,
    /// The folder of its run.
    root: RunRoot,
}

/// A pipeline that is watched.
struct Watch<'a> {
    context: &'a Context,
    args: &'a WatchArgs,
    workspace: Workspace,
    folder: PathBuf,
    rerun: Rerun,
    call: Option<Call>,
    began: Instant,
}

pub(super) fn run(context: &Context, args: &WatchArgs) -> Result<Exit, Failure> {
    bytes_of(&args.run.file, "name the YAML file of a pipeline")?;
    for glob in &args.also {
        if let Some(why) = path_problem(glob) {
            return Err(Failure::usage(format!("`--also {glob}` names no files")).cause(&why));
        }
    }
    let folder = place::workspace(context, &args.run.place)?;
    let workspace = Workspace::open(&folder, &[]);
    let workspace = workspace.map_err(|error| place::no_workspace(&folder, &error))?;
    let active = match args.restart {
        true => ActiveRun::IsEnded,
        false => ActiveRun::Finishes,
    };
    let watched = context.runner.signals.watch();
    watched.map_err(|error| Failure::request("cannot watch for signals").cause(&error))?;
    let watch = Watch {
        context,
        args,
        workspace,
        folder,
        rerun: Rerun::new(active),
        call: None,
        began: Instant::now(),
    };
    watch.watch()
}

impl Watch<'_> {
    /// Runs the pipeline again and again, until a signal tells this process to stop.
    fn watch(mut self) -> Result<Exit, Failure> {
        loop {
            let seen = self.sights();
            match self.rerun.look(self.now_ms(), seen) {
                Todo::Wait => {}
                Todo::Start(changed) => self.start(&changed)?,
                Todo::End => self.end(EndRequest::NotSent),
            }
            if let Some(stop) = self.wait() {
                self.end(match stop.by_supervisor {
                    true => EndRequest::SentBySupervisor,
                    false => EndRequest::NotSent,
                });
                return Ok(Exit::Signal(stop.signal));
            }
        }
    }

    fn say(&self, what: &str) {
        if !self.args.run.work.quiet {
            note(what);
        }
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Returns the files that are watched, as they look now.
    fn sights(&self) -> Sights {
        let also = self.args.also.iter();
        // A folder that cannot be read now may be readable at the next look.
        let also = also.flat_map(|glob| self.workspace.files(glob).unwrap_or_default());
        let mut sights: Sights = also
            .filter_map(|path| Some((path.clone(), sight(&self.folder.join(&path))?)))
            .collect();
        let file = self.context.site().env.cwd().join(&self.args.run.file);
        let name = file.strip_prefix(&self.folder).unwrap_or(&file);
        if let Some(sight) = sight(&file) {
            sights.insert(name.display().to_string(), sight);
        }
        sights
    }

    /// Starts a call that runs the pipeline. It says itself what is wrong with the file.
    fn start(&mut self, changed: &[String]) -> Result<(), Failure> {
        if !changed.is_empty() {
            self.say(&format!("changed: {}", changed.join(", ")));
        }
        let file = &self.args.run.file;
        let source = bytes_of(file, "name the YAML file of a pipeline").ok();
        let loaded = source.and_then(|source| load(&source, &file.to_string_lossy()).ok());
        if let Some(loaded) = loaded {
            self.rerun.set_own(OwnFiles::of(&loaded.pipeline));
        }
        let run_id = self.new_run_id()?;
        let words = ["orchestrate", "run"].map(str::to_owned);
        let mut command = own_program::command(self.context, &words);
        command.args(["--run-id", &run_id]);
        command.args(&self.args.words.0);
        // This program may have been called as `orchestrate`, and then the words would mean something else.
        command.arg0("uwf");
        // A call has a process group of its own, so it could not read a terminal.
        command.stdin(Stdio::null());
        let tree = Tree::spawn(&mut command)
            .map_err(|error| Failure::request("cannot start the run").cause(&error))?;
        let folder = place::state_dir(self.context, &self.args.run.place)?;
        self.call = Some(Call {
            tree,
            root: RunRoot::at(folder.join(run_id)),
        });
        Ok(())
    }

    /// Returns an id by which the run of a call is found again.
    fn new_run_id(&self) -> Result<String, Failure> {
        let env = &self.context.site().env;
        let random = env.random();
        let random =
            random.map_err(|error| Failure::request("cannot get random bits").cause(&error))?;
        let now_ms = env.now_ms();
        let id = ThreadId::new(u64::try_from(now_ms).unwrap_or(0), random);
        Ok(run_id(&timestamp_utc(now_ms), id.as_str()))
    }

    /// Waits until the next look is due or the call has ended. Returns the signal that tells this process to stop.
    fn wait(&mut self) -> Option<Stop> {
        let signals = &self.context.runner.signals;
        let most = self.rerun.wait_ms(self.now_ms(), self.args.interval);
        let most = Duration::from_millis(most);
        let started = Instant::now();
        while started.elapsed() < most {
            let Some(call) = &mut self.call else {
                return signals.sleep(most);
            };
            match call.tree.next_exit_soon(signals) {
                None => {}
                Some(NextExit::Stopped(stop)) => return Some(stop),
                Some(NextExit::Exited { .. } | NextExit::NoneLeft) => {
                    self.ended();
                    break;
                }
            }
        }
        signals.stop()
    }

    /// Ends the call that is active, if one is.
    fn end(&mut self, request: EndRequest) {
        if let Some(call) = &mut self.call {
            // What cannot be ended keeps nobody from another run.
            let _ = call
                .tree
                .end(request, CALL_GRACE, &self.context.runner.signals);
            self.ended();
        }
    }

    /// Takes note that the call has ended, and of what its run wrote.
    fn ended(&mut self) {
        let thread = self.call.take().and_then(|call| call.root.thread());
        let written = thread.and_then(|at| run_writes(self.context.site(), at.thread).ok());
        self.rerun.ended(written.unwrap_or_default());
        self.say("waiting for changes; Ctrl-C ends this");
    }
}

/// Returns what a file looks like, if it is there.
fn sight(path: &Path) -> Option<Sight> {
    let metadata = path.metadata().ok()?;
    let nanoseconds = i128::from(metadata.mtime()) * 1_000_000_000;
    Some(Sight {
        size: metadata.len(),
        modified_ns: nanoseconds + i128::from(metadata.mtime_nsec()),
        inode: metadata.ino(),
    })
}
