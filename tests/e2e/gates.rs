//! Agents that work until their test opens a gate, so that no test is decided by a clock.

use std::fs::{self, File};
use std::process::{Child, Stdio};

use crate::world::{World, binary, wait_until};

/// A script of the mock for a workflow of one step.
pub(crate) const NOTE: &str = "roles:\n  writer:\n    - output: { note: n }\n";

/// Makes an agent that answers from a script of the mock. It counts its runs, and waits while the gate is closed.
pub(crate) fn gated_agent(world: &World, script: &str) {
    world.write("answers.yaml", script);
    world.scripted_agent(&format!(
        "echo \"$2\" >> {project}/runs\nwhile [ -e {project}/wait ]; do sleep 0.02; done\nexec {uwf} agent mock {project}/answers.yaml \"$@\"",
        project = world.project().display(),
        uwf = binary().display(),
    ));
}

/// Keeps agents that start from now on at work.
pub(crate) fn close_gate(world: &World) {
    world.write("wait", "");
}

/// Lets all agents finish.
pub(crate) fn open_gate(world: &World) {
    fs::remove_file(world.project().join("wait")).unwrap();
}

/// Returns how many agents have been started.
pub(crate) fn runs(world: &World) -> usize {
    let runs = fs::read_to_string(world.project().join("runs"));
    runs.unwrap_or_default().lines().count()
}

/// Closes the gate, starts a command, and returns when an agent works for it.
#[track_caller]
pub(crate) fn at_work(world: &World, args: &[&str]) -> Child {
    close_gate(world);
    let before = runs(world);
    let engine = world.spawn(args);
    wait_until("the agent works", || runs(world) == before + 1);
    engine
}

/// Starts a command whose messages go to a file. Returns also what reads them.
pub(crate) fn with_messages(world: &World, args: &[&str]) -> (Child, impl Fn() -> String + use<>) {
    let file = world.dir().join("messages");
    let mut command = world.command(args);
    let messages = File::create(&file).unwrap();
    let command = command.stdout(Stdio::null()).stderr(messages);
    let read = move || fs::read_to_string(&file).unwrap();
    (command.spawn().unwrap(), read)
}

/// Waits until so many of the processes have ended.
#[track_caller]
pub(crate) fn wait_for_ends(processes: &mut [Child], count: usize) {
    wait_until("enough processes have ended", || {
        let ended = processes
            .iter_mut()
            .filter_map(|process| process.try_wait().unwrap());
        ended.count() >= count
    });
}
