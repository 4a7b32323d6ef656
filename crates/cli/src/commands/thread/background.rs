//! Processes of this program that do steps in the background, each in a session of its own, whose output goes to a file:
//! `uwf thread step --background`, and the steps that a page of `uwf serve` starts.

use std::fs::File;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, getsid, setsid};
use uwf_engine::{Site, StepOptions, engines_below, glance, plan};
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
/// The pause between two looks at the threads below, of which there may be many.
const PAUSE_BELOW: Duration = Duration::from_millis(20);
/// How long to wait until the new process works on the thread. It goes on if it takes longer.
const START_TIME: Duration = Duration::from_secs(5);
/// What makes a process leave the session of its caller.
pub(crate) const DETACHED: &str = "--detached";

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
    let mut arguments = own_program::step_arguments(args, thread);
    arguments.push(DETACHED.to_owned());
    let mut command = own_program::command(context, &arguments);
    command.stdin(Stdio::null());
    let mut begun = begin(context.site(), thread, command, may_wait, None)?;
    let view = BackgroundView {
        thread,
        pid: begun.child.id(),
        output: begun.output.display().to_string(),
    };
    print(&view, context.format)?;
    match begun.child.try_wait() {
        Ok(Some(status)) if !status.success() => Err(ended_at_once(status, &view.output)),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// A process in the background.
pub(crate) struct Begun {
    pub(crate) child: Child,
    /// The file with the output of all such processes of the thread.
    pub(crate) output: PathBuf,
    /// Where the output of this one begins.
    pub(crate) from: u64,
    /// Whether it was seen at work, on the thread or on one below it.
    pub(crate) was_at_work: bool,
}

/// Starts a process that does steps of a thread, and returns as soon as it works on the thread, has ended, or waits if it may. Its
/// reports go to `reports`, if there is one: the file with the output has those of all processes.
pub(crate) fn begin(
    site: &Site,
    thread: ThreadId,
    mut command: Command,
    may_wait: bool,
    reports: Option<&File>,
) -> Result<Begun, Failure> {
    let (file, output) = site.root.run(thread).scratch.open_background()?;
    let spawned = file.metadata().and_then(|about| {
        command
            .stdout(reports.unwrap_or(&file).try_clone()?)
            .stderr(file.try_clone()?)
            .spawn()
            .map(|child| (child, about.len()))
    });
    let (mut child, from) = spawned.map_err(|error| {
        Failure::request("cannot start this program in the background").cause(&error)
    })?;
    let deadline = Instant::now() + START_TIME;
    let mut was_at_work = false;
    let mut next_look_below = Instant::now();
    while Instant::now() < deadline {
        let has_ended = matches!(child.try_wait(), Ok(Some(_)));
        was_at_work = was_at_work || is_at_work(site, thread, &child);
        if !was_at_work && Instant::now() >= next_look_below {
            was_at_work = is_at_work_below(site, thread, &child);
            next_look_below = Instant::now() + PAUSE_BELOW;
        }
        if has_ended || ((may_wait || was_at_work) && has_left(&child)) {
            break;
        }
        std::thread::sleep(PAUSE);
    }
    Ok(Begun {
        was_at_work,
        child,
        output,
        from,
    })
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

/// Tells whether the process works on the thread.
fn is_at_work(site: &Site, thread: ThreadId, child: &Child) -> bool {
    let record = site.root.run(thread).lease.read_record();
    record.is_some_and(|record| record.engine.pid == child.id())
}

/// Tells whether the process, or one of its session, works on a thread below: several branches are processes of their own.
fn is_at_work_below(site: &Site, thread: ThreadId, child: &Child) -> bool {
    let lease = site.root.run(thread).lease;
    // Only who has the lock of a thread lets the threads below work.
    if lease.read_record().is_some() || !lease.is_held().unwrap_or(false) {
        return false;
    }
    let own = Pid::from_child(child);
    let is_ours = |pid: u32| {
        let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
        pid.is_some_and(|pid| pid == own || getsid(Some(pid)).is_ok_and(|leads| leads == own))
    };
    engines_below(site, thread).is_ok_and(|engines| engines.into_iter().any(is_ours))
}

/// Tells whether the process leads a session of its own: from then on the end of the terminal does not end it.
fn has_left(child: &Child) -> bool {
    let pid = Pid::from_child(child);
    getsid(Some(pid)).is_ok_and(|session| session == pid)
}

/// Makes this process the leader of a new session, without a terminal, if it is to work in the background.
pub(super) fn leave_session_if(detached: bool) -> Result<(), Failure> {
    if !detached {
        return Ok(());
    }
    setsid().map(drop).map_err(|error| {
        Failure::request("cannot start a session of its own").cause(&std::io::Error::from(error))
    })
}
