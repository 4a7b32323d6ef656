//! One module for each command. It calls the engine or the store, and prints the result through `output`.

mod agent;
mod cas;
mod config;
mod demo;
mod doctor;
mod fork;
mod import_store;
mod init;
mod log;
mod manual;
mod orchestrate;
mod own_program;
mod prompt;
mod serve;
mod setup;
mod sharing;
mod step;
mod thread;
mod trust;
mod workflow;

#[cfg(test)]
pub(crate) use prompt::text as text_for_agents;
pub(crate) use setup::presets;

use uwf_cas_fs::Store;
use uwf_engine::{NameError, Observer, Runner, Site, ThreadAt};
use uwf_process::Signals;
use uwf_protocol::exit::Exit;
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_storage::{Env, Root};
use uwf_util::time;

use crate::args::{Command, Global, HeadArgs};
use crate::failure::{Failure, note};
use crate::output::Format;
use crate::pager::Pager;
use crate::stderr;

/// What every command gets.
pub(crate) struct Context {
    /// The engine that does steps, with the root and the store.
    pub(crate) runner: Runner,
    /// The format of data.
    pub(crate) format: Format,
    /// The requested format, if there was one. Without one, documents are Markdown.
    pub(crate) asked: Option<Format>,
    /// What shows long texts on a terminal.
    pub(crate) pager: Pager,
    /// The options of every command, for a process of this program that goes on with a part of the work.
    pub(crate) global: Global,
}

impl Context {
    /// Finds the root and the store, and makes neither.
    pub(crate) fn new(global: &Global, asked: Option<Format>, env: Env) -> Result<Self, Failure> {
        let root = Root::resolve(global.root.as_deref(), &env)?;
        let store = Store::open(root.cas_dir(&env));
        let can_redraw = stderr::can_redraw(&env);
        let observer = Observer {
            stderr: (global.verbose > 0).then_some(stderr::write_piece),
            progress: can_redraw.then_some(stderr::show_progress),
        };
        let pager = if global.no_pager {
            Pager::None
        } else {
            Pager::of(&env)
        };
        Ok(Self {
            pager,
            runner: Runner {
                site: Site { env, root, store },
                built_in_agents: uwf_agents::BUILT_IN,
                signals: Signals::default(),
                observer,
                notice: note,
                remotes: sharing::open,
                step_command: own_program::one_step,
            },
            format: asked.unwrap_or_else(Format::usual),
            asked,
            global: global.clone(),
        })
    }
}

impl Context {
    /// Returns the root with its store.
    pub(crate) fn site(&self) -> &Site {
        &self.runner.site
    }

    /// Notes that nothing is under the root, for commands that would look as if all were well: its path may be mistyped.
    pub(crate) fn note_empty_root(&self) {
        let site = self.site();
        let files = [site.root.config_file(), site.store.dir().to_owned()];
        if site.root.has_state() || files.iter().any(|file| file.exists()) {
            return;
        }
        let path = site.root.path().display();
        note(&format!(
            "nothing is at `{path}`: no thread, no workflow, no node (`--root` or UWF_STORAGE_ROOT names another folder)"
        ));
    }

    /// Returns the node that an argument names: a hash, or one of the [short names](uwf_engine::find_node).
    pub(crate) fn hash(&self, text: &str) -> Result<CasRef, Failure> {
        Ok(uwf_engine::find_node(self.site(), text)?)
    }

    /// Returns a thread with the head at which the caller saw it, if that was given.
    pub(crate) fn thread_at(&self, id: ThreadId, at: &HeadArgs) -> Result<ThreadAt, Failure> {
        let head = at.head.as_deref().map(|text| self.hash(text)).transpose()?;
        Ok(ThreadAt { id, head })
    }

    /// Returns the thread that an argument names: an id, or one of the [short names](uwf_engine::find_thread). The error
    /// tells a hash in its place from a typing error.
    pub(crate) fn thread(&self, text: &str) -> Result<ThreadId, Failure> {
        let error = match uwf_engine::find_thread(self.site(), text) {
            Ok(thread) => return Ok(thread),
            Err(error) => error,
        };
        let (NameError::NoThread(_), Ok(hash)) = (&error, text.to_ascii_uppercase().parse()) else {
            return Err(error.into());
        };
        let hint = match uwf_engine::thread_of(self.site(), hash)? {
            Some(thread) => {
                format!("it belongs to thread `{thread}`; `uwf cas get {hash}` shows it")
            }
            None => format!(
                "`uwf cas get {hash}` shows the node; `uwf thread list --all` shows every thread"
            ),
        };
        Err(Failure::request(format!("`{text}` is a hash; a thread is expected")).hint(hint))
    }
}

/// Runs a command and prints its result.
pub(crate) fn run(context: &Context, command: Command) -> Result<Exit, Failure> {
    match command {
        Command::Run(args) => thread::run_new(context, args.0),
        Command::Thread { command } => thread::run(context, command.0),
        Command::Step { command } => step::run(context, command.0),
        Command::Workflow { command } => workflow::run(context, command.0),
        Command::Init(args) => init::run(context, &args),
        Command::Cas { command } => cas::run(context, command.0),
        Command::Orchestrate { command } => orchestrate::run(context, command.0),
        Command::Push(args) => sharing::push_threads(context, &args),
        Command::Fetch(args) => sharing::fetch_threads(context, &args),
        Command::Work(args) => thread::work(context, &args),
        Command::Remote { command } => sharing::run(context, command.0),
        Command::Serve(args) => serve::run(context, &args),
        Command::ImportStore(args) => import_store::run(context, &args),
        Command::Setup(args) => setup::run(context, &args),
        Command::Doctor(args) => doctor::run(context, &args),
        Command::Config { command } => config::run(context, command.0),
        Command::Trust(args) => trust::run(context, &args),
        Command::Log { command } => log::run(context, command.0),
        Command::Agent { name, args } => agent::run(context, &name, &args),
        Command::Completions { shell } => manual::completions(shell),
        Command::Prompt { topic } => prompt::run(topic),
        Command::Man { dir } => manual::man(dir.as_deref()),
        Command::Version => manual::version(),
        Command::Short(command) => thread::run(context, command.meant()),
        Command::Demo { dir } => demo::run(context, dir.as_deref()),
    }
}

/// Returns the time that an option names, in milliseconds since 1970: `7d` ago, or a date.
pub(crate) fn past_time(context: &Context, text: &str) -> Result<i64, Failure> {
    time::parse_filter(text, context.site().env.now_ms()).map_err(|error| {
        Failure::request(error.to_string())
            .hint("write `7d`, `12h`, `30m`, or a date such as 2026-06-03")
    })
}
