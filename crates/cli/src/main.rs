//! The `uwf` binary: parse → call → render → exit code. The same binary is `ocas`, `orchestrate`, every built-in agent,
//! the process that evaluates conditions, and the one that asks a model about a thread.

mod args;
mod ask;
mod bundled_templates;
mod commands;
mod completion;
mod failure;
mod hints;
mod html;
mod input;
mod local_time;
mod named_file;
mod output;
mod pager;
mod panic;
mod screen;
mod stderr;
mod style;
mod subscriber;
mod text;

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::ExitCode;

use uwf_protocol::exit::Exit;
use uwf_storage::Env;

use crate::args::Cli;
use crate::commands::Context;
use crate::failure::Failure;
use crate::output::{Form, Format};

fn main() -> ExitCode {
    panic::install_hook();
    // Without the handler, a file that becomes too large ends this process, as it ends others.
    let _ = uwf_process::survive_file_limit();
    let env = Env::of_process();
    let given: Vec<OsString> = std::env::args_os().collect();
    completion::answer(&given, &env);
    let name = given.first().map(Path::new).and_then(Path::file_name);
    let name = name.and_then(OsStr::to_str).unwrap_or_default();
    if let Some((agent, args)) = agent_call(name, &given) {
        let args: Result<Vec<String>, OsString> =
            args.iter().cloned().map(OsString::into_string).collect();
        if let Err(failure) = subscriber::install_without_log(&env) {
            return ExitCode::from(refuse(&failure));
        }
        match args {
            Ok(args) => {
                if let Some(code) = uwf_agents::run(agent, &args, &env) {
                    return exit(code);
                }
            }
            Err(arg) => return ExitCode::from(not_text(&arg)),
        }
    }
    if given.len() == 2 && given[1] == uwf_engine::EVALUATOR_COMMAND {
        return exit(uwf_engine::evaluate_conditions());
    }
    if given.len() == 2 && given[1] == uwf_engine::REVIEW_COMMAND {
        return exit(review(&env));
    }
    stderr::choose(Format::of_messages(&given, &env));
    let code = match name {
        "ocas" => run(Cli::of_ocas(&given), env),
        "orchestrate" => run(Cli::of_orchestrate(&given), env),
        _ => run(Cli::of(&given), env),
    };
    ExitCode::from(code)
}

/// Runs the process that asks a model about a thread. Returns the exit code.
fn review(env: &Env) -> i32 {
    match uwf_engine::confine("uwf-review") {
        Ok(()) => uwf_agent_kit::review::answer_request(env),
        Err(_) => i32::from(Exit::Request.code()),
    }
}

/// Returns the agent that is called, by the name of the program or by `uwf agent <name>`, with its arguments. They do not
/// go through clap, which would consume a leading `--`.
fn agent_call<'a>(name: &'a str, args: &'a [OsString]) -> Option<(&'a str, &'a [OsString])> {
    if let Some(agent) = name.strip_prefix("uwf-") {
        return Some((agent, &args[1..]));
    }
    match args {
        [_, command, agent, args @ ..] if command == "agent" => Some((agent.to_str()?, args)),
        _ => None,
    }
}

/// Refuses an argument of an agent that is not Unicode. A lossy conversion could name another file.
fn not_text(arg: &OsStr) -> u8 {
    let failure = Failure::usage(format!("the argument {arg:?} is not valid UTF-8"))
        .hint("rename the file, or pass it by a link whose name is UTF-8");
    refuse(&failure)
}

/// Prints a failure and returns its exit code.
fn refuse(failure: &Failure) -> u8 {
    failure.print();
    failure.exit.code()
}

/// Runs one command and returns its exit code.
fn run(cli: Cli, env: Env) -> u8 {
    if let Some(root) = &cli.global.root {
        hints::set_root(root);
    }
    style::set(cli.global.color, &env);
    local_time::set(&env);
    let result = Format::asked(cli.global.format.and_then(Form::data), &env)
        .and_then(|asked| Context::new(&cli.global, asked, env))
        .and_then(|context| {
            subscriber::install(&context.site().env, &context.site().root)?;
            commands::run(&context, cli.command)
        });
    match result {
        Ok(exit) => exit.code(),
        Err(failure) => refuse(&failure),
    }
}

fn exit(code: i32) -> ExitCode {
    ExitCode::from(u8::try_from(code).unwrap_or(Exit::Request.code()))
}
