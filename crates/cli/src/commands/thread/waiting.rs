//! `uwf thread wait`.
//!
//! A wait glances at the thread a few times a second. The kernel would wake us when a lock is released, but such a wait
//! knows no time limit, and a change of the state files on a network file system wakes nobody.

use std::time::{Duration, Instant};

use uwf_engine::{Glance, ThreadStatus, ThreadView, glance, is_shared};
use uwf_protocol::exit::Exit;
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_util::text::counted;

use crate::args::{Goal, WaitArgs};
use crate::commands::Context;
use crate::failure::{Failure, note};
use crate::hints;
use crate::output::print;
use crate::text::WaitedView;

/// The pause between two glances while somebody works on the thread.
const PAUSE_AT_WORK: Duration = Duration::from_millis(100);
/// The pause between two glances while nobody does: only a person or another program can change something.
const PAUSE_IDLE: Duration = Duration::from_millis(500);

/// Waits for each thread. The first one that came to something else decides the exit code.
pub(super) fn wait(context: &Context, args: &WaitArgs) -> Result<Exit, Failure> {
    let threads = args.threads.iter().map(|thread| context.thread(thread));
    let threads: Vec<ThreadId> = threads.collect::<Result<_, _>>()?;
    let firsts = threads.iter().map(|thread| glance(context.site(), *thread));
    let firsts: Vec<Glance> = firsts.collect::<Result<_, _>>()?;
    // Nobody works on a thread that has ended.
    let active = threads
        .iter()
        .zip(&firsts)
        .filter(|(_, first)| !first.has_ended);
    let shared = active.map(|(thread, _)| *thread);
    let shared: Vec<ThreadId> = shared
        .filter(|thread| is_shared(context.site(), *thread))
        .collect();
    if let Some(text) = not_watched(&shared) {
        note(&text);
    }
    let deadline = args
        .timeout
        .and_then(|time| Instant::now().checked_add(time));
    let mut decided = Exit::Done;
    for (thread, first) in threads.into_iter().zip(firsts) {
        let waiting = Waiting {
            context,
            thread,
            goal: args.goal,
            head: first.head,
        };
        let (view, exit) = waiting.until(deadline)?;
        print(&WaitedView(view), context.format)?;
        if decided == Exit::Done {
            decided = exit;
        }
    }
    Ok(decided)
}

/// Returns what is said of threads in which other machines may do something that this call does not see.
fn not_watched(shared: &[ThreadId]) -> Option<String> {
    let (are, fetch) = match shared {
        [] => return None,
        [thread] => (format!("thread {thread} is"), format!("uwf fetch {thread}")),
        several => (
            format!("{} are", counted(several.len(), "thread")),
            "uwf fetch".to_owned(),
        ),
    };
    Some(format!(
        "{are} shared, and only this machine is watched: `uwf thread list --remote` shows who else works, `{fetch}` brings new steps"
    ))
}

/// The wait for one thread.
struct Waiting<'a> {
    context: &'a Context,
    thread: ThreadId,
    goal: Option<Goal>,
    /// The head at the beginning.
    head: CasRef,
}

impl Waiting<'_> {
    fn until(&self, deadline: Option<Instant>) -> Result<(ThreadView, Exit), Failure> {
        let mut seen = None;
        loop {
            let now = glance(self.context.site(), self.thread)?;
            let is_new_step = self.goal == Some(Goal::Step) && now.head != self.head;
            if is_new_step || (!now.is_at_work && seen != Some(now)) {
                let mut view = uwf_engine::show(self.context.site(), self.thread)?;
                if let Some(exit) = verdict(self.goal, &view, self.head) {
                    view.hint = hints::thread::hint_here(&view);
                    return Ok((view, exit));
                }
                // Who works on it since the glance may leave no trace that the next one sees.
                seen = Some(now).filter(|_| view.state.status != ThreadStatus::Running);
            }
            let pause = if now.is_at_work {
                PAUSE_AT_WORK
            } else {
                PAUSE_IDLE
            };
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return Err(self.timed_out());
            }
            std::thread::sleep(left.map_or(pause, |left| left.min(pause)));
        }
    }

    fn timed_out(&self) -> Failure {
        let thread = self.thread;
        Failure {
            exit: Exit::Busy,
            ..Failure::request(format!(
                "the time is over, and thread {thread} {}",
                missed(self.goal)
            ))
        }
        .hint(format!("`uwf thread show {thread}` tells where it stands"))
    }
}

/// Says what has not happened.
fn missed(goal: Option<Goal>) -> &'static str {
    match goal {
        Some(Goal::Ended) => "has not ended",
        Some(Goal::Suspended) => "does not wait for a person",
        Some(Goal::Step) => "has no new step",
        None => "is still being worked on",
    }
}

/// Returns the exit code of a wait that is over; `None` if there is something left to wait for. What needs a person ends
/// every wait: it will not change by itself.
fn verdict(goal: Option<Goal>, view: &ThreadView, first_head: CasRef) -> Option<Exit> {
    if goal == Some(Goal::Step) && view.head != first_head {
        return Some(Exit::Done);
    }
    let (done, ended) = (Some(Exit::Done), Some(Exit::Ended));
    match (view.state.status, goal) {
        (ThreadStatus::Running, _) => None,
        (ThreadStatus::Idle | ThreadStatus::Waiting, Some(_)) => None,
        (ThreadStatus::Idle | ThreadStatus::Waiting, None) => done,
        (ThreadStatus::Completed, None | Some(Goal::Ended)) => done,
        (ThreadStatus::Cancelled, Some(Goal::Ended)) => done,
        (ThreadStatus::Completed | ThreadStatus::Cancelled, _) => ended,
        (ThreadStatus::Suspended, Some(Goal::Suspended)) => done,
        (ThreadStatus::Suspended | ThreadStatus::Paused, _) => Some(Exit::Suspended),
        (ThreadStatus::Blocked, _) => Some(Exit::Request),
        (ThreadStatus::Failed, _) => Some(Exit::Agent),
        (ThreadStatus::Corrupt, _) => Some(Exit::Store),
    }
}
