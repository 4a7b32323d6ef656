//! `uwf orchestrate task …`.

use std::io;
use std::path::{Path, PathBuf};

use uwf_pipeline::{OWN_FOLDER, Queues, env, run_time};
use uwf_protocol::agent::env::ATTEMPT;
use uwf_protocol::exit::Exit;
use uwf_runner::{Claimant, Queue, Workspace};
use uwf_storage::{Env, RunRoot};
use uwf_util::time::{format_compact, is_compact};

use super::place::{STATE_DIR, no_workspace};
use super::{invalid, read};
use crate::args::{FinishArgs, QueueArgs, TaskCommand};
use crate::commands::Context;
use crate::failure::{Failure, note, warn};
use crate::hints::queues::{Wanted, no_queue, options, refused};
use crate::output::{Format, Show, print_paths};
use crate::text::{MovedTask, PutTask, TaskList};

pub(super) fn run(context: &Context, command: TaskCommand) -> Result<Exit, Failure> {
    match command {
        TaskCommand::Put { path, queue } => Desk::open(context, &queue)?.put(path),
        TaskCommand::Done(args) => {
            let desk = Desk::open(context, &args.queue)?;
            desk.finish(&args, &desk.queues.processed_dir)
        }
        TaskCommand::Fail(args) => {
            let desk = Desk::open(context, &args.queue)?;
            desk.finish(&args, &desk.queues.failed_dir)
        }
        TaskCommand::List { dir, queue } => Desk::open(context, &queue)?.list(dir),
        TaskCommand::Claim { dir, run_id, queue } => {
            Desk::open(context, &queue)?.claim(dir, run_id.as_deref())
        }
    }
}

/// The queues of a workspace, and how results are printed.
struct Desk<'a> {
    env: &'a Env,
    queues: Queues,
    workspace: Workspace,
    format: Format,
    /// The options that the next call needs, too.
    options: String,
}

impl<'a> Desk<'a> {
    fn open(context: &'a Context, args: &QueueArgs) -> Result<Self, Failure> {
        let queues = match &args.pipeline {
            Some(file) => {
                let loaded = read(file)?.map_err(|problems| invalid(file, &problems))?;
                loaded.pipeline.queues
            }
            None => Queues::default(),
        };
        Ok(Self {
            env: &context.site().env,
            queues,
            workspace: workspace(context, args.workspace.as_deref())?,
            format: match args.json {
                true => Format::Json,
                // Programs open what is printed, also where other results are data.
                false => context.asked.unwrap_or(Format::Text),
            },
            options: options(args),
        })
    }

    fn put(&self, path: String) -> Result<Exit, Failure> {
        if let Some(why) = self.queues.task_problem(&path) {
            return Err(Failure::usage(format!("`{path}` is no path of a task"))
                .cause(&why)
                .hint(format!(
                    "name a file such as `{}/qa/1{}`",
                    self.queues.inbox_dir, self.queues.task_extension
                )));
        }
        let put = self.workspace.put_task(&path, &mut io::stdin().lock());
        put.map_err(|failure| self.refused(failure, Wanted::NewTask))?;
        self.print(&PutTask { path })
    }

    fn finish(&self, args: &FinishArgs, folder: &str) -> Result<Exit, Failure> {
        let folder = format!("{folder}/{}", self.time(args.timestamp.as_deref())?);
        let moved = self.workspace.move_into(&args.file, &folder);
        let path = moved.map_err(|failure| self.refused(failure, Wanted::Task))?;
        let from = args.file.clone();
        self.print(&MovedTask { from, path })
    }

    /// Returns the time that the folder of a finished task is called after.
    fn time(&self, given: Option<&str>) -> Result<String, Failure> {
        match given {
            Some(time) if is_compact(time) => Ok(time.to_owned()),
            Some(time) => Err(Failure::usage(format!("`{time}` is no time of a run"))
                .hint("write it as `--timestamp 20261121T093000Z`")),
            None => {
                let of_run = self.env.var(env::RUN_ID).and_then(run_time);
                Ok(of_run.map_or_else(|| format_compact(self.env.now_ms()), str::to_owned))
            }
        }
    }

    fn list(&self, dir: Option<String>) -> Result<Exit, Failure> {
        let dir = dir.unwrap_or_else(|| self.queues.inbox_dir.clone());
        let tasks = self.workspace.tasks(&dir, &self.queues.task_extension);
        let tasks = tasks.map_err(|failure| self.refused(failure, Wanted::Folder))?;
        for failure in &tasks.unnamed {
            warn(&format!("a task is left out: {}", failure.message));
        }
        let tasks = tasks.paths;
        if tasks.is_empty() && self.is_missing(&dir) {
            note(&format!("there is no folder `{dir}`"));
        }
        self.print(&TaskList { dir, tasks })
    }

    /// Claims one task. Scripts repeat this until nothing is left, so only that exits with 1.
    fn claim(&self, dir: Option<String>, run_id: Option<&str>) -> Result<Exit, Failure> {
        let is_named = dir.is_some();
        let dir = dir.unwrap_or_else(|| self.queues.inbox_dir.clone());
        let claimed = self.claimed_dir(run_id)?;
        let queue = Queue {
            folder: &dir,
            extension: &self.queues.task_extension,
            claimed: &claimed,
        };
        let claim = self
            .workspace
            .claim_task(&queue, self.claimant().as_ref())
            .map_err(|failure| self.refused(failure, Wanted::Folder))?;
        if claim.is_again {
            note("an earlier attempt of this step had claimed the task");
        }
        let mut left = claim.refused.into_iter();
        let Some((from, path)) = claim.task else {
            return match left.next() {
                Some(failure) => Err(self.refused(failure, Wanted::Task)),
                None if is_named && self.is_missing(&dir) => {
                    Err(no_queue(&dir, &self.queues, &self.options))
                }
                None => Ok(Exit::Request),
            };
        };
        for failure in left {
            warn(&format!("a task is not claimed: {}", failure.message));
        }
        let printed = self.print(&MovedTask { from, path });
        printed.map_err(|failure| Failure {
            exit: Exit::Usage,
            ..failure
        })
    }

    /// Returns the attempt of a step that this call is a part of. Calls of people are none.
    fn claimant(&self) -> Option<Claimant> {
        let root = self.env.var_os(env::RUN_ROOT)?;
        Some(Claimant {
            file: RunRoot::at(self.env.cwd().join(root)).claims_file(),
            entry: self.env.var(env::ENTRY)?.to_owned(),
            attempt: self.env.var(ATTEMPT)?.to_owned(),
        })
    }

    /// Returns the failure of a call, with what to type next for the same queues.
    fn refused(&self, failure: uwf_pipeline::Failure, wanted: Wanted) -> Failure {
        refused(failure, wanted, &self.options)
    }

    fn is_missing(&self, dir: &str) -> bool {
        !self.workspace.path().join(dir).exists()
    }

    /// Returns the folder of what the run has claimed.
    fn claimed_dir(&self, given: Option<&str>) -> Result<String, Failure> {
        let Some(run_id) = given.or(self.env.var(env::RUN_ID)) else {
            return Err(Failure::usage("nobody is named who claims the task")
                .cause(&format!(
                    "there is no `--run-id`, and no {} in the environment",
                    env::RUN_ID
                ))
                .hint("name the worker, such as `--run-id nightly`; steps of a run need not"));
        };
        self.queues.claimed_dir(run_id).ok_or_else(|| {
            Failure::usage(format!("`{run_id}` cannot be the id of a run")).hint(
                "an id has 1 to 100 letters, digits, `.`, `_` and `-`, and no `.` at the beginning",
            )
        })
    }

    fn print(&self, result: &impl Show) -> Result<Exit, Failure> {
        print_paths(result, self.format)?;
        Ok(Exit::Done)
    }
}

/// Opens the workspace. Our own folders in it are closed.
fn workspace(context: &Context, given: Option<&Path>) -> Result<Workspace, Failure> {
    let site = context.site();
    let folder = match given {
        Some(folder) => site.env.cwd().join(folder),
        None => site.env.cwd().to_owned(),
    };
    let state = site
        .env
        .var_os(STATE_DIR)
        .map(|dir| site.env.cwd().join(dir));
    let root = site.root.path().to_owned();
    let closed = [Some(folder.join(OWN_FOLDER)), state, Some(root)];
    let closed = closed.into_iter().flatten();
    let closed: Vec<PathBuf> = closed.filter(|folder| folder.is_dir()).collect();
    Workspace::open(&folder, &closed).map_err(|error| no_workspace(&folder, &error))
}
