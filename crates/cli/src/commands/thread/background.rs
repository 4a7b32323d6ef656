//! `uwf thread step --background`: a process of this program in a session of its own, whose output goes to a file.

use std::fs::File;
use std::process::{Child, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, getsid, setsid};
use uwf_engine::{Glance, StepOptions, glance, plan};
use uwf_protocol::exit::Exit;
use uwf_protocol::ids::ThreadId;
use uwf_util::shell_words;

use crate::args::StepArgs;
use crate::commands::{Context, own_program};
use crate::failure::Failure;
use crate::output::print;
use crate::text::BackgroundView;

/// The pause between two looks at the new process.
const PAUSE: Duration = Duration::from_millis(5);
/// How long to wait until the new process works on the thread. It goes on if it takes longer.
const START_TIME: Duration = Duration::from_secs(5);

/// Starts the step and returns as soon as its process works on the thread. So a `thread wait` after this call waits for
/// this step.
pub(super) fn start(context: &Context, args: &StepArgs, thread: ThreadId) -> Result<(), Failure> {
    // An unknown thread gets no folder.
    let before = glance(context.site(), thread)?;
    let may_wait = before.is_at_work && args.patience.wait.is_some();
    if before.is_at_work && !may_wait {
        // The error says who works on the thread.
        plan(&context.runner, thread, &StepOptions::default())?;
    }
    let scratch = context.site().root.run(thread).scratch;
    let (file, output) = scratch.open_background()?;
    let mut arguments = own_program::step_arguments(args, thread);
    arguments.push("--detached".to_owned());
    let mut child = spawn(context, &arguments, &file).map_err(|error| {
        Failure::request("cannot start this program in the background").cause(&error)
    })?;
    let deadline = Instant::now() + START_TIME;
    while Instant::now() < deadline {
        let has_ended = matches!(child.try_wait(), Ok(Some(_)));
        let has_begun = may_wait || has_begun(context, thread, &child, before)?;
        if has_ended || (has_begun && has_left(&child)) {
            break;
        }
        std::thread::sleep(PAUSE);
    }
    let view = BackgroundView {
        thread,
        pid: child.id(),
        output: output.display().to_string(),
    };
    print(&view, context.format)?;
    match child.try_wait() {
        Ok(Some(status)) if !status.success() => Err(ended_at_once(status, &view.output)),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Returns the failure of a process that did not come to work on its thread.
fn ended_at_once(status: ExitStatus, output: &str) -> Failure {
    let exit = status.code().and_then(Exit::of_code);
    Failure {
        exit: exit.unwrap_or(Exit::Request),
        ..Failure::request(format!(
            "the call in the background ended at once ({status})"
        ))
    }
    .hint(format!(
        "`{}` shows why",
        shell_words::join(["tail", output])
    ))
}

fn spawn(context: &Context, arguments: &[String], file: &File) -> std::io::Result<Child> {
    own_program::command(context, arguments)
        .stdin(Stdio::null())
        .stdout(file.try_clone()?)
        .stderr(file.try_clone()?)
        .spawn()
}

/// Tells whether the process works on the thread, or has.
fn has_begun(
    context: &Context,
    thread: ThreadId,
    child: &Child,
    before: Glance,
) -> Result<bool, Failure> {
    let record = context.site().root.run(thread).lease.read_record();
    let now = glance(context.site(), thread)?;
    let is_done = Glance {
        is_at_work: before.is_at_work,
        ..now
    } != before;
    Ok(is_done || record.is_some_and(|record| record.engine.pid == child.id()))
}

/// Tells whether the process leads a session of its own: from then on the end of the terminal does not end it.
fn has_left(child: &Child) -> bool {
    let pid = Pid::from_child(child);
    getsid(Some(pid)).is_ok_and(|session| session == pid)
}

/// Makes this process the leader of a new session, without a terminal.
pub(super) fn leave_session() -> Result<(), Failure> {
    setsid().map(drop).map_err(|error| {
        Failure::request("cannot start a session of its own").cause(&std::io::Error::from(error))
    })
}
