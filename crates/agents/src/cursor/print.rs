//! The form that takes its prompt as an argument and prints an answer.

use uwf_agent_kit::{Adapter, AdapterError, Reply, Task};
use uwf_protocol::agent::AgentCall;
use uwf_protocol::failure::FailureClass;
use uwf_storage::Env;

use crate::program::{self, Launch, MAX_OUTPUT};
use crate::stream::Options;

use super::{AGENT, INSTALL, LOGGED_OUT, LOGIN};

/// The program, as it is looked for on PATH.
pub(super) const PROGRAM: &str = "cursor";

pub(super) fn serve(mut options: Options, call: &AgentCall, env: &Env) -> i32 {
    if options.program == AGENT.program {
        options.program = PROGRAM.to_owned();
    }
    uwf_agent_kit::serve(&mut Print { options }, call, env)
}

struct Print {
    options: Options,
}

impl Adapter for Print {
    fn label(&self) -> String {
        AGENT.label.to_owned()
    }

    fn can_resume(&self) -> bool {
        false
    }

    fn run(&mut self, task: &Task) -> Result<Reply, AdapterError> {
        let args = self.args(task)?;
        let launch = Launch {
            program: &self.options.program,
            args: &args,
            cwd: &task.cwd,
            variables: &[],
            stdin: "",
            install: INSTALL,
            timeout: self.options.timeout,
            supervision: task.supervision,
            run_dir: &task.run_dir,
            masks: &task.masks,
            on_start: &|_| {},
        };
        let output = program::run(&launch, MAX_OUTPUT)?;
        let Some(problem) = output.problem else {
            return Ok(Reply {
                text: output.stdout,
                ..Reply::default()
            });
        };
        let told = format!("{}{}", output.stderr, output.stdout).to_lowercase();
        let is_logged_out = LOGGED_OUT.iter().any(|sign| told.contains(sign));
        Err(match is_logged_out {
            true => problem.class(FailureClass::Auth).hint(LOGIN),
            false => problem,
        })
    }

    fn resume(&mut self, _: &Task, _: &str, _: &str) -> Result<Reply, AdapterError> {
        Err(AdapterError::failed(
            "this form of `cursor` has no sessions",
        ))
    }
}

impl Print {
    fn args(&self, task: &Task) -> Result<Vec<String>, AdapterError> {
        let prompt = program::argument(&task.prompt)
            .map_err(|error| error.hint("`--form agent` gives it on standard input"))?;
        let cwd = task.cwd.to_string_lossy();
        let fixed = ["--workspace", &cwd, "--output-format", "text", "--trust"];
        let force = (!self.options.passed.iter().any(|arg| arg == "--force")).then_some("--force");
        let own = ["-p", prompt].into_iter().chain(fixed).chain(force);
        Ok(own
            .map(ToOwned::to_owned)
            .chain(self.options.passed.iter().cloned())
            .chain(self.options.extra.iter().cloned())
            .collect())
    }
}
