//! The `uwf` binary: parse → call → render → exit code. It is also the built-in agents and `ocas`.

mod args;
mod commands;
mod failure;
mod output;
mod panic;
mod text;

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
    let mut args = std::env::args_os();
    let name = args.next().unwrap_or_default();
    let name = Path::new(&name)
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    if let Some(agent) = name.strip_prefix("uwf-") {
        let args: Vec<String> = args.map(|arg| arg.to_string_lossy().into_owned()).collect();
        if let Some(code) = uwf_agents::run(agent, &args, &env) {
            return exit(code);
        }
    }
    let code = if name == "ocas" {
        run(OcasCli::parse().into(), env)
    } else {
        run(Cli::parse(), env)
    };
    ExitCode::from(code)
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
