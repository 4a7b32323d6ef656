//! The builtin agent: a model with tools in a loop, confined to the step's working directory.
//!
//! `uwf-builtin [options] <thread> <role>`. The tool loop is the kit's, one round at a time: between rounds the
//! conversation is saved, and the limits of time and turns are checked.

mod compaction;
mod instructions;
mod mcp;
mod options;
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
use crate::result_schema::ResultSchema;
use compaction::Compaction;
use mcp::Servers;
use options::Options;
use supervisor::Supervised;

pub(crate) use options::OPTIONS;
pub use options::mcp_servers;
use task_loop::TaskLoop;
use tools::environment::Variables;
use tools::workspace::Workspace;
use tools::{Commands, DiffOf, Tools};

const LABEL: &str = "uwf-builtin";

pub(crate) const USAGE: &str = "uwf-builtin [--model <alias>] [--tools <name>,…] [--allow-shell] \
    [--allow-outside] [--mcp <server>]… [--keep-env <name>]… [--max-turns <number>] [--max-context <tokens>] [--timeout <duration>] <thread> <role>";

/// How often tools may be called in one step.
const MAX_CALLS: u32 = 500;

/// Serves one call.
pub(crate) fn serve(args: &[String], env: &Env) -> anyhow::Result<i32> {
    if let Some(supervised) = Supervised::of(args) {
        let grace = env.var(GRACE_MS).and_then(|ms| ms.parse().ok());
        let grace = grace.map_or(uwf_process::GRACE, Duration::from_millis);
        return Ok(supervised.supervise(grace));
    }
    let (own, call) = call::split(args)?;
    let root = Root::resolve(None, env)?;
    let mut builtin = Builtin {
        options: Options::parse(own).map_err(anyhow::Error::msg)?,
        store: Store::open(root.cas_dir(env)),
        root,
        env,
        started: Instant::now(),
        ready: None,
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
    /// What the answers of an attempt share, once there is one.
    ready: Option<Ready>,
    /// How often tools may still be called.
    calls: u32,
}

/// What the answers of an attempt share.
struct Ready {
    client: Client,
    config: Config,
    servers: Servers,
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
        self.make_ready(task)?;
        let ready = self.ready.as_ref().expect("it was made ready above");
        let system = instructions::system(&task.cwd, &self.options, &ready.servers, &result_schema);
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
        self.make_ready(task)?;
        session.ask(message);
        session.save()?;
        let options = &self.options;
        let deadline = self.deadline();
        let workspace = self.workspace(task)?;
        let Ready {
            client,
            config,
            servers,
        } = self.ready.as_mut().expect("it was made ready above");
        let variables = Variables {
            secret: secrets(&self.root, config),
            keep: options.keep_env.clone(),
        };
        let mut tools = Tools {
            offered: &options.tools,
            workspace,
            commands: Commands::of(self.env, &variables),
            cas: CasTool::new(&self.store, &task.masks),
            diff: DiffOf {
                task,
                snapshots: &config.snapshots,
                hidden: self.root.path(),
            },
            servers,
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

    /// Makes the client and starts the servers, unless an earlier answer of the attempt needed them.
    fn make_ready(&mut self, task: &Task) -> Result<(), AdapterError> {
        if self.ready.is_some() {
            return Ok(());
        }
        let (client, config) = connect(&self.root, self.env, &self.options)?;
        let start = mcp::Start {
            task,
            env: self.env,
            config: &config,
            workspace: &self.workspace(task)?,
            secret: &secrets(&self.root, &config),
            deadline: self.deadline(),
        };
        let servers = Servers::start(&self.options.servers, &start)?;
        self.ready = Some(Ready {
            client,
            config,
            servers,
        });
        Ok(())
    }

    fn workspace(&self, task: &Task) -> Result<Workspace, AdapterError> {
        Workspace::open(&task.cwd, self.options.reach, &self.root)
            .map_err(AdapterError::not_started)
    }

    /// Returns when the time of the step is over.
    fn deadline(&self) -> Option<Instant> {
        self.options.timeout.map(|timeout| self.started + timeout)
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
