//! The shared part of the adapters that call a model themselves: the client of the configured model, and sessions.

mod session;

use uwf_agent_kit::llm::{CallLimits, Client, LlmError, Purpose, resolve, with_code};
use uwf_agent_kit::{AdapterError, ModelUsage, TryAgain};
use uwf_config::load_dotenv;
use uwf_process::{Stop, told_to_stop};
use uwf_protocol::config::Config;
use uwf_protocol::failure::FailureClass;
use uwf_protocol::nodes::Usage;
use uwf_storage::{Env, Root};

pub(crate) use session::Session;

/// Reads the configuration; without a file it is empty.
pub(crate) fn config(root: &Root) -> Result<Config, AdapterError> {
    let config = uwf_config::load(root).map_err(|error| {
        AdapterError::not_started(with_code(&error.to_string(), "bad_config"))
            .hint("`uwf config validate` shows what is wrong")
    })?;
    Ok(config.unwrap_or_default())
}

/// Returns a client of the model with this alias, else of the one that the config has for agents. Its key may be in `.env`,
/// whatever the engine passes of it.
pub(crate) fn client(
    root: &Root,
    config: &Config,
    env: &Env,
    alias: Option<&str>,
    limits: CallLimits,
) -> Result<Client, AdapterError> {
    let dotenv = load_dotenv(root).map_err(|error| AdapterError::not_started(error.to_string()))?;
    let env = &env.clone().with_defaults(dotenv);
    let purpose = alias.map_or(Purpose::Agent, Purpose::Alias);
    let endpoint = resolve(config, env, purpose).map_err(|error| {
        AdapterError::not_started(with_code(&error.to_string(), error.code())).hint(error.hint())
    })?;
    Ok(Client::new(endpoint, limits, env))
}

/// Converts the error of a model call to the error of an agent.
pub(crate) fn failed(error: &LlmError) -> AdapterError {
    let nothing = || ModelUsage {
        usage: Usage::nothing(),
        model: None,
    };
    AdapterError {
        usage: error.used_nothing().then(|| Box::new(nothing())),
        try_again: error.asked().map(TryAgain::After).map(Box::new),
        ..AdapterError::failed(with_code(&error.to_string(), error.code()))
            .class(error.class())
            .hint(error.hint())
    }
}

/// Tells whether a step may go on: while git works, signals are held back, and one may have told the step to stop. At other
/// times it ends this process.
///
/// # Errors
/// When such a signal came.
pub(crate) fn go_on() -> Result<(), AdapterError> {
    match told_to_stop() {
        None => Ok(()),
        Some(Stop { signal, .. }) => Err(AdapterError {
            exit_code: 128 + signal,
            ..AdapterError::failed(format!("the step was stopped by signal {signal}"))
                .class(FailureClass::Cancelled)
        }),
    }
}

/// Returns the error for a session that does not exist any more.
pub(crate) fn gone(session: &str) -> AdapterError {
    AdapterError {
        session_gone: true,
        ..AdapterError::failed(format!("the session `{session}` is gone"))
    }
}
