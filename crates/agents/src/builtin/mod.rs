//! The builtin agent: a model with tools in a loop, confined to the step's working directory.
//!
//! `uwf-builtin [options] <thread> <role>`. The tool loop is the kit's, one round at a time: between rounds the
//! conversation is saved, and the limits of time and turns are checked.

mod compaction;
mod instructions;
mod options;
mod result_schema;
mod supervisor;
mod task_loop;
mod tools;

use std::time::{Duration, Instant};

use uwf_agent_kit::cas_tool::CasTool;
use uwf_agent_kit::llm::{CallLimits, Client};
use uwf_agent_kit::{Adapter, AdapterError, Reply, Task};
use uwf_cas_fs::Store;
use uwf_config::load_dotenv;
use uwf_protocol::agent::env::GRACE_MS;
use uwf_protocol::config::Config;
use uwf_storage::{Env, Root};

use crate::call;
use crate::chat::{self, Session};
use compaction::Compaction;
use options::Options;
use result_schema::ResultSchema;

pub(crate) use options::OPTIONS;
use task_loop::TaskLoop;
use tools::environment::Variables;
use tools::workspace::Workspace;
use tools::{Commands, DiffOf, Tools};

const LABEL: &str = "uwf-builtin";

pub(crate) const USAGE: &str = "uwf-builtin [--model <alias>] [--tools <name>,…] [--allow-shell] \
    [--allow-outside] [--keep-env <name>]… [--max-turns <number>] [--max-context <tokens>] [--timeout <duration>] <thread> <role>";

/// How often tools may be called in one step.
const MAX_CALLS: u32 = 500;

/// Serves one call.
pub(crate) fn serve(args: &[String], env: &Env) -> anyhow::Result<i32> {
    if let [argument, command] = args
        && argument == supervisor::ARGUMENT
    {
        let grace = env.var(GRACE_MS).and_then(|ms| ms.parse().ok());
        let grace = grace.map_or(uwf_process::GRACE, Duration::from_millis);
        return Ok(supervisor::supervise(command, grace));
    }
    let (own, call) = call::split(args)?;
    let root = Root::resolve(None, env)?;
    let mut builtin = Builtin {
        options: Options::parse(own).map_err(anyhow::Error::msg)?,
        store: Store::open(root.cas_dir(env)),
        root,
        env,
        started: Instant::now(),
        client: None,
        calls: MAX_CALLS,
    };
    Ok(uwf_agent_kit::serve(&mut builtin, &call, env))
}

struct Builtin<'a> {
    options: Options,
    store: Store,
    root: Root,
    env: &'a Env,
    /// When the step started. Corrections count from there, too.
    started: Instant,
    client: Option<(Client, Config)>,
    /// How often tools may still be called.
    calls: u32,
}

impl Adapter for Builtin<'_> {
    fn label(&self) -> String {
        LABEL.to_owned()
    }

    fn can_resume(&self) -> bool {
        true
    }

    fn run(&mut self, task: &Task) -> Result<Reply, AdapterError> {
        if let Some(session) = &task.session {
            return self.resume(task, session, &task.prompt);
        }
        let result_schema = result_schema(task)?;
        let system = instructions::system(&task.cwd, &self.options, &result_schema);
        let session = Session::start(task, self.env, Some(system));
        self.ask(task, &result_schema, session, &task.prompt)
    }

    fn resume(&mut self, task: &Task, session: &str, message: &str) -> Result<Reply, AdapterError> {
        let session = Session::load(task, session).ok_or_else(|| chat::gone(session))?;
        self.ask(task, &result_schema(task)?, session, message)
    }
}

fn result_schema(task: &Task) -> Result<ResultSchema, AdapterError> {
    ResultSchema::new(&task.schema).map_err(|error| {
        AdapterError::not_started(format!(
            "the schema of `{}` cannot be used: {error}",
            task.role
        ))
    })
}

impl Builtin<'_> {
    fn ask(
        &mut self,
        task: &Task,
        result_schema: &ResultSchema,
        mut session: Session,
        message: &str,
    ) -> Result<Reply, AdapterError> {
        session.ask(message);
        session.save()?;
        let options = &self.options;
        let (client, config) = match &mut self.client {
            Some(made) => made,
            None => self.client.insert(connect(&self.root, self.env, options)?),
        };
        let deadline = options.timeout.map(|timeout| self.started + timeout);
        let workspace = Workspace::open(&task.cwd, options.reach, &self.root)
            .map_err(AdapterError::not_started)?;
        let variables = Variables {
            secret: secrets(&self.root, config),
            keep: options.keep_env.clone(),
        };
        let mut tools = Tools {
            offered: &options.tools,
            workspace,
            commands: Commands::of(self.env, &variables),
            cas: CasTool::new(&self.store),
            diff: DiffOf {
                task,
                snapshots: &config.snapshots,
                hidden: self.root.path(),
            },
            calls_left: self.calls,
            refused: Vec::new(),
            turns_left: options.max_turns,
            deadline,
        };
        let result = TaskLoop {
            task,
            result_schema,
            client,
            tools: &mut tools,
            max_turns: options.max_turns,
            compaction: Compaction::new(options.max_context),
            deadline,
        }
        .run(&mut session);
        self.calls = tools.calls_left;
        result
    }
}

fn connect(root: &Root, env: &Env, options: &Options) -> Result<(Client, Config), AdapterError> {
    let config = chat::config(root)?;
    let mut limits = CallLimits::default();
    limits.timeout = options
        .timeout
        .map_or(limits.timeout, |timeout| limits.timeout.min(timeout));
    let client = chat::client(root, &config, env, options.model.as_deref(), limits)?;
    Ok((client, config))
}

/// Returns the variables that the user has declared secret: all of `.env`, and those that the configuration names for
/// keys.
fn secrets(root: &Root, config: &Config) -> Vec<String> {
    let dotenv = load_dotenv(root).unwrap_or_default();
    let keys = config.providers.values();
    let keys = keys.filter_map(|provider| provider.api_key_env.clone());
    dotenv
        .into_iter()
        .map(|(name, _)| name)
        .chain(keys)
        .collect()
}
