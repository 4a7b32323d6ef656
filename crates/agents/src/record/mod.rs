//! The agent that records another agent: it runs that agent, and adds its prompt and its answer to a file.
//!
//! `uwf-record --to <file> -- <agent> <args…> <thread> <role>`. The agent gets our arguments, environment and
//! streams, and we exit with its exit code. A failure to record is a warning, and never fails the step.

use std::io::{self, Write as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::Instant;

use serde_json::{Map, Value};
use uwf_agent_kit::Supervision;
use uwf_agent_kit::context::{self, Context, Past, Showing};
use uwf_cas_fs::Store;
use uwf_protocol::agent::{AgentCall, parse_answer};
use uwf_protocol::ids::CasRef;
use uwf_protocol::nodes::{Detail, ExtractionMethod, StepNode};
use uwf_storage::{Env, Root, RunDir};
use uwf_util::front_matter;
use uwf_util::mask::{Masks, STARS};

use crate::options::{self, Known};
use crate::program::{self, ProgramEnding};
use crate::recording::{self, Recorded};
use crate::{BUILT_IN, answer, call};

pub(crate) const USAGE: &str = "uwf-record --to <file> -- <agent> <args…> <thread> <role>";

/// The code for a program that cannot be started, as shells have it.
const NOT_STARTED: i32 = 127;

pub(crate) const OPTIONS: [Known; 1] =
    [Known::Valued("--to", "The file that attempts are added to")];

/// Serves one call.
pub(crate) fn serve(args: &[String], env: &Env) -> anyhow::Result<i32> {
    let (own, call) = call::split(args)?;
    let arguments = options::parse(own, &OPTIONS).map_err(anyhow::Error::msg)?;
    let Some([command, inner @ ..]) = arguments.rest else {
        anyhow::bail!("an agent is expected after `--`");
    };
    let Some((_, Some(file))) = arguments.options.last() else {
        anyhow::bail!("`--to <file>` is expected before `--`");
    };
    let file = env.cwd().join(file);
    // The prompt is read before the agent runs: afterwards the head of the thread may have moved.
    let asked = RecordedCall::read(&call, env);
    let began = Instant::now();
    let mut agent = agent(command, env);
    agent
        .args(inner)
        .args(&args[own.len()..])
        .env_clear()
        .envs(env.variables())
        .current_dir(env.cwd());
    let status = match program::pass_through(&mut agent, Supervision::of(env)) {
        Ok(ProgramEnding::Exited(status)) => status,
        // The attempt was cut short: there is nothing to replay.
        Ok(ending @ (ProgramEnding::Stopped(_) | ProgramEnding::TimedOut(_))) => {
            return Ok(ending.exit_code());
        }
        Err(error) => {
            let _ = writeln!(
                io::stderr(),
                "error: `{command}` could not be started: {error}\n\
                 hint: install it, or fix the agent's `args`: it stands after `--`"
            );
            return Ok(NOT_STARTED);
        }
    };
    let duration_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    let code = exit_code(status);
    let recorded = asked.and_then(|asked| match code {
        0 => asked.answered(),
        code => Ok(asked.failed(command, code, duration_ms)),
    });
    if let Err(problem) = recorded.and_then(|recorded| recording::append(&file, &recorded)) {
        let file = file.display();
        let _ = writeln!(
            io::stderr(),
            "warning: this step was not recorded in `{file}`: {problem}"
        );
    }
    Ok(code)
}

/// Returns how to start an agent: from PATH, else from this program if it is built in.
fn agent(command: &str, env: &Env) -> Command {
    let found = env.find_program(command);
    let built_in = command
        .strip_prefix("uwf-")
        .is_some_and(|name| BUILT_IN.contains(&name));
    match found {
        None if built_in => {
            let mut agent = Command::new(env.program());
            agent.arg0(command);
            agent
        }
        found => Command::new(found.unwrap_or_else(|| PathBuf::from(command))),
    }
}

fn exit_code(status: ExitStatus) -> i32 {
    let signal = status.signal().map(|signal| 128 + signal);
    status.code().or(signal).unwrap_or(1)
}

/// Returns what stands below the front matter of an answer.
fn body_of(answer: &str) -> &str {
    front_matter::split(answer).map_or(answer, |parts| parts.body.trim_start_matches('\n'))
}

/// The call of the recorded agent, and where its answer will be.
struct RecordedCall {
    call: AgentCall,
    context: Context,
    instruction: String,
    store: Store,
    run: RunDir,
    /// The secrets of the agent, which a recording must not have.
    masks: Masks,
}

impl RecordedCall {
    fn read(call: &AgentCall, env: &Env) -> Result<Self, String> {
        let read = || {
            let root = Root::resolve(None, env)?;
            let run = root.run(call.thread);
            let config = uwf_config::load(&root)?.unwrap_or_default();
            let showing = Showing {
                past: Past::SinceLastStep,
                usual: config.context,
            };
            let store = Store::open(root.cas_dir(env));
            Ok::<_, uwf_agent_kit::KitError>(Self {
                context: context::read(call, env, &root, &store, &run, showing)?,
                instruction: context::instruction(call, env, &store)?,
                call: call.clone(),
                store,
                run,
                masks: context::masks(call, env),
            })
        };
        read().map_err(|error| error.to_string())
    }

    fn failed(self, agent: &str, code: i32, duration_ms: u64) -> Recorded {
        let name = Path::new(agent).file_name().unwrap_or_default();
        Recorded {
            role: self.call.role,
            visit: self.context.visit,
            instruction: self.masks.text(&self.instruction),
            agent: Some(name.to_string_lossy().into_owned()),
            prompt: None,
            duration_ms: Some(duration_ms),
            usage: None,
            exit: Some(u8::try_from(code).unwrap_or(1)),
            read_by: None,
            answer: None,
        }
    }

    fn answered(self) -> Result<Recorded, String> {
        let step: StepNode = self.node(self.step()?)?;
        if step.prev != self.context.prev || step.role != self.call.role {
            return Err("the agent left another step than it was asked for".to_owned());
        }
        let detail: Detail = self.node(step.detail)?;
        let said: String = self.node(detail.raw)?;
        // A replay should not need the extracting model. What stands in place of a secret is no YAML without quotes.
        let is_masked = !self.masks.is_empty() && said.contains(STARS);
        let (answer, read_by) = match detail.extraction.method {
            ExtractionMethod::Llm => (self.rendered(&step, &said)?, detail.extraction.model),
            ExtractionMethod::Frontmatter | ExtractionMethod::Correction => match is_masked {
                true => (self.rendered(&step, body_of(&said))?, None),
                false => (said, None),
            },
        };
        let instruction = step.edge_prompt.as_ref().unwrap_or(&self.instruction);
        Ok(Recorded {
            role: self.call.role.clone(),
            visit: self.context.visit,
            duration_ms: step.duration_ms(),
            instruction: self.masks.text(instruction),
            agent: Some(step.agent),
            prompt: step.assembled_prompt,
            usage: detail.usage,
            exit: None,
            read_by,
            answer: Some(self.masks.text(&answer)),
        })
    }

    /// Returns an answer whose front matter has the data of a step.
    fn rendered(&self, step: &StepNode, said: &str) -> Result<String, String> {
        let data: Map<String, Value> = self.node(step.output)?;
        Ok(answer::render(&data, said))
    }

    /// Returns the step that the agent finished: from its pending record, else from the last line of its output.
    fn step(&self) -> Result<CasRef, String> {
        let pending = self.run.outbox.read_pending().ok().flatten();
        if let Some(pending) = pending.filter(|pending| pending.head == self.context.head) {
            return Ok(pending.step);
        }
        let printed = self.run.scratch.stdout_end(u64::MAX);
        parse_answer(&printed).map_err(|error| error.to_string())
    }

    fn node<T: serde::de::DeserializeOwned>(&self, hash: CasRef) -> Result<T, String> {
        let node = self.store.get(hash).map_err(|error| error.to_string())?;
        serde_json::from_value(node.payload)
            .map_err(|error| format!("node `{hash}` is not what it should be: {error}"))
    }
}
