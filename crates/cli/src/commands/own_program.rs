//! This program as a process of its own, which does a part of the work.

use std::process::Command;

use uwf_engine::{AgentChoice, Early, NoSlot, Session, Sharing, Site, StepOptions};
use uwf_protocol::ids::ThreadId;

use crate::args::{AgentArgs, Many, Patience, StepArgs};
use crate::commands::Context;
use crate::output::Format;

/// Returns a command of this program, with the options of every command as they were given to this call. Its output is for
/// a file, and not for a terminal.
pub(super) fn command(context: &Context, args: &[String]) -> Command {
    let mut command = Command::new(context.site().env.program());
    command.args(args);
    if let Some(root) = &context.global.root {
        command.arg("--root").arg(root);
    }
    command.args(std::iter::repeat_n("-v", context.global.verbose.into()));
    // `--format json` also turns messages into JSON, so it is passed on only if the caller chose it.
    if context.asked.is_some() || context.format != Format::usual_elsewhere() {
        command.args(["--format", context.format.name()]);
    }
    command
}

/// Returns a command of this program on a site, with messages as JSON. The last words may be anything: what follows `--` is
/// no option.
pub(super) fn on_site(site: &Site, words: &[String]) -> Command {
    let mut command = Command::new(site.env.program());
    command.arg("--root").arg(site.root.path());
    command.args(["--format", "json"]).args(words);
    command
}

/// Returns a command of this program that does one step of a thread, with messages as JSON.
pub(super) fn one_step(site: &Site, thread: ThreadId, options: &StepOptions) -> Command {
    let mut command = Command::new(site.env.program());
    command.args([
        "thread",
        "step",
        thread.as_str(),
        "--format",
        "json",
        "--quiet",
    ]);
    command.arg("--root").arg(site.root.path());
    command.args(chosen(&options.choice));
    if options.session == Session::New {
        command.arg("--new-session");
    }
    if options.early == Early::TryNow {
        command.arg("--now");
    }
    if options.no_slot == NoSlot::GiveUp {
        command.arg("--no-wait");
    }
    if options.sharing == Sharing::Allowed {
        command.arg("--shared-ok");
    }
    command
}

/// Returns the arguments that choose an agent and what it may do.
fn chosen(choice: &AgentChoice) -> impl Iterator<Item = String> {
    let agent = choice.agent.as_ref();
    let agent = agent.map(|agent| format!("--agent={agent}"));
    let permissions = choice.permissions.map(|it| format!("--permissions={it}"));
    agent.into_iter().chain(permissions)
}

/// Returns the arguments that say how agents work.
fn agent_arguments(args: &AgentArgs) -> Vec<String> {
    let mut arguments: Vec<String> = chosen(&args.choice()).collect();
    arguments.extend(given(&[
        (args.no_wait, "--no-wait"),
        (args.shared_ok, "--shared-ok"),
    ]));
    arguments
}

fn given(flags: &[(bool, &str)]) -> Vec<String> {
    let given = flags.iter().filter(|(is_given, _)| *is_given);
    given.map(|(_, flag)| (*flag).to_owned()).collect()
}

/// Returns the arguments of a call that does one step of a thread, in a process of its own.
pub(super) fn one_of_many(agent: &AgentArgs, thread: ThreadId) -> Vec<String> {
    let mut arguments = ["thread", "step", thread.as_str(), "--quiet"]
        .map(str::to_owned)
        .to_vec();
    arguments.extend(agent_arguments(agent));
    arguments.push(format!("--part-of={}", Many::All.name()));
    arguments
}

/// Returns the arguments of a call that does the same for one thread, in a process of its own.
pub(super) fn step_arguments(args: &StepArgs, thread: ThreadId) -> Vec<String> {
    let mut arguments = ["thread", "step", thread.as_str(), "--quiet", "--count"]
        .map(str::to_owned)
        .to_vec();
    arguments.push(match args.count {
        u64::MAX => "all".to_owned(),
        count => count.to_string(),
    });
    arguments.extend(agent_arguments(&args.agent));
    arguments.extend(given(&[
        (args.new_session, "--new-session"),
        (args.early.now, "--now"),
    ]));
    arguments.extend(args.at.head.as_ref().map(|head| format!("--head={head}")));
    arguments.extend(args.patience.wait.map(|patience| match patience {
        Patience::Endless => "--wait".to_owned(),
        Patience::Limited(time) => format!("--wait={}ms", time.as_millis()),
    }));
    arguments
}
