//! `uwf agent <name> …`: the built-in agents.

use uwf_protocol::exit::Exit;
use uwf_util::suggest;

use crate::commands::Context;
use crate::failure::Failure;

pub(crate) fn run(context: &Context, name: &str, args: &[String]) -> Result<Exit, Failure> {
    match uwf_agents::run(name, args, &context.site().env) {
        Some(0) => Ok(Exit::Done),
        // The agent has written the error to stderr. Its exit code is for the engine that started it.
        Some(code) => {
            #[expect(clippy::exit, reason = "an agent has codes that no command has")]
            std::process::exit(code);
        }
        None => {
            let known = uwf_agents::BUILT_IN;
            let failure = Failure::request(format!("there is no built-in agent `{name}`"));
            Err(match suggest::nearest(name, known.iter().copied()) {
                Some(near) => failure.hint(format!("did you mean `{near}`?")),
                None => failure.hint(format!("built in are {}", known.join(", "))),
            })
        }
    }
}
