//! The `uwf` binary: parse → call → render → exit code. It is also the built-in agents and `ocas`.

mod args;
mod commands;
mod failure;
mod output;
mod panic;
mod text;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use clap::Parser;
use uwf_protocol::exit::Exit;
use uwf_storage::Env;

use crate::args::{Cli, OcasCli};
use crate::commands::Context;
use crate::output::Format;

fn main() -> ExitCode {
    panic::install_hook();
    let env = Env::of_process();
    let given: Vec<OsString> = std::env::args_os().collect();
    let args: Vec<String> = given
        .iter()
        .map(|arg| arg.to_string_lossy().into_owned())
        .collect();
    let name = args.first().map(Path::new).and_then(Path::file_name);
    let name = name.unwrap_or_default().to_string_lossy();
    if let Some((agent, args)) = agent_call(&name, &args)
        && let Some(code) = uwf_agents::run(agent, args, &env)
    {
        return exit(code);
    }
    let code = if name == "ocas" {
        run(OcasCli::parse_from(given).into(), env)
    } else {
        run(Cli::of(&given), env)
    };
    ExitCode::from(code)
}

/// Returns the agent that is called, by the name of the program or by `uwf agent <name>`, and its arguments as
/// they are: a parser of command lines would take a leading `--` for its own.
fn agent_call<'a>(name: &'a str, args: &'a [String]) -> Option<(&'a str, &'a [String])> {
    if let Some(agent) = name.strip_prefix("uwf-") {
        return Some((agent, &args[1..]));
    }
    match args {
        [_, command, agent, args @ ..] if command == "agent" => Some((agent, args)),
        _ => None,
    }
}

/// Runs one command and returns its exit code.
fn run(cli: Cli, env: Env) -> u8 {
    let result = Format::choose(cli.global.format, &env)
        .and_then(|format| Context::new(&cli.global, format, env))
        .and_then(|context| commands::run(&context, cli.command));
    match result {
        Ok(exit) => exit.code(),
        Err(failure) => {
            failure.print();
            failure.exit.code()
        }
    }
}

fn exit(code: i32) -> ExitCode {
    ExitCode::from(u8::try_from(code).unwrap_or(Exit::Request.code()))
}
