//! One module for each noun of the command line: each calls the engine or the store and returns data.

mod agent;
mod cas;
mod config;
mod demo;
mod doctor;
mod log;
mod setup;
mod step;
mod thread;
mod workflow;

pub(crate) use setup::presets;

use std::io::Read;

use signal_hook::consts::SIGINT;
use uwf_cas_fs::Store;
use uwf_engine::{AgentOutput, Engine};
use uwf_process::Signals;
use uwf_protocol::exit::Exit;
use uwf_storage::{Env, Root};

use crate::args::{Command, Global};
use crate::failure::{Failure, note};
use crate::output::Format;

/// What every command gets.
pub(crate) struct Context {
    /// The engine with its root and store.
    pub(crate) engine: Engine,
    /// How data is printed.
    pub(crate) format: Format,
    /// The format that was asked for, if one was: documents are Markdown otherwise.
    pub(crate) asked: Option<Format>,
}

impl Context {
    /// Finds the root and the store; nothing is made yet.
    pub(crate) fn new(global: &Global, asked: Option<Format>, env: Env) -> Result<Self, Failure> {
        let root = Root::resolve(global.root.as_deref(), &env)?;
        let store = Store::open(root.cas_dir(&env));
        let agent_output = if global.verbose > 0 {
            AgentOutput::Shown
        } else {
            AgentOutput::Kept
        };
        Ok(Self {
            engine: Engine {
                env,
                root,
                store,
                built_in_agents: uwf_agents::BUILT_IN,
                signals: Signals::default(),
                agent_output,
                notice: note,
            },
            format: asked.unwrap_or_else(Format::usual),
            asked,
        })
    }
}

/// Runs a command; what it prints is printed when this returns.
pub(crate) fn run(context: &Context, command: Command) -> Result<Exit, Failure> {
    match command {
        Command::Thread { command } => thread::run(context, command),
        Command::Step { command } => step::run(context, command),
        Command::Workflow { command } => workflow::run(context, command),
        Command::Cas { command } => cas::run(context, command),
        Command::Setup(args) => setup::run(context, &args),
        Command::Doctor(args) => doctor::run(context, &args),
        Command::Config { command } => config::run(context, command),
        Command::Log { command } => log::run(context, command),
        Command::Agent { name, args } => agent::run(context, &name, &args),
        Command::Demo { dir } => demo::run(context, dir.as_deref()),
    }
}

/// Returns the text of an argument; `-` stands for standard input.
pub(crate) fn text_or_stdin(text: String) -> Result<String, Failure> {
    if text == "-" { read_stdin() } else { Ok(text) }
}

/// Returns the failure of a question on the terminal; an interrupt is told by the exit code.
pub(crate) fn unanswered(error: &std::io::Error) -> Failure {
    let failure = Failure::request("the question was not answered").cause(error);
    match error.kind() {
        std::io::ErrorKind::Interrupted => Failure {
            exit: Exit::Signal(SIGINT),
            ..failure
        },
        _ => failure,
    }
}

/// Reads standard input to its end.
pub(crate) fn read_stdin() -> Result<String, Failure> {
    let mut text = String::new();
    std::io::stdin()
        .read_to_string(&mut text)
        .map_err(|error| Failure::request("cannot read standard input").cause(&error))?;
    Ok(text)
}
