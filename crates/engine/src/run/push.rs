//! Sends a thread to the remote, or its new steps.

mod label;
mod lease;
mod outcome;
mod sharable;

use uwf_protocol::head_status::HeadStatus;
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_remote::{Found, NewThread, Put, Remote, RemoteError};
use uwf_storage::{Located, RunDir, SharedRecord};

use crate::children::{children_by_parent, has_children};
use crate::limits::status_for_others;
use crate::needs::push::nodes_of_push;
use crate::run::finished::{Waited, commit_waiting_step};
use crate::run::owned::{OwnedRun, with_thread};
use crate::run::shared::ended::keep_waiting_step;
use crate::sharing::error::SharingError;
use crate::sharing::family::{bring_missing_children, there};
use crate::sharing::{
    check_remote, has_on_its_way, new_record, nodes, settle_end, waiting_step, was_head_here,
};
use crate::thread::{self, Thread};
use crate::{EngineError, Runner, Site, lost_run};

use label::{bring_new_steps, relabel};
use sharable::{check_sharable, refuse_hidden};

pub use label::{NewLabel, Relabelled};
pub use outcome::{PushOutcome, Pushed};

/// Sends a thread and all threads below it: new threads, new steps, and finished steps that wait here. `label` says which label
/// each of them gets. Threads below that are only at the remote get it, too, so they are brought. `pushed` gets the threads that
/// changed, and always the given thread, after those below it.
///
/// # Errors
/// When one of the threads is busy here or elsewhere, or has diverged; when the thread cannot be shared. What the remote got before
/// the error is in `pushed`.
pub fn push(
    runner: &Runner,
    remote: &mut dyn Remote,
    id: ThreadId,
    label: NewLabel<'_>,
    pushed: &mut Vec<Pushed>,
) -> Result<(), EngineError> {
    let located = thread::find(&runner.site, id)?;
    let top = Thread::load(&runner.site.store, id, located.head())?;
    check_sharable(&runner.site, remote, &top)?;
    let is_new = there(remote, id, None)?.is_none();
    let mut family = Family {
        runner,
        label,
        below: match is_new {
            true => Line::Waits,
            false => Line::Ready,
        },
        waiting: Vec::new(),
        pushed,
    };
    let top = family.push(remote, id, Line::Ready)?;
    family.pushed.push(top);
    let waiting = family.waiting.into_iter();
    let each = waiting.map(|child| put_in_line(runner, remote, child));
    // If one of them fails, the others are tried all the same.
    each.fold(Ok(()), Result::and)
}

/// Lets workers take a thread that waits at the remote although a step of it can be done.
///
/// The thread above is at the remote, so a call here or elsewhere may have taken this one already. Nothing is left to do then: such a
/// call tells the remote whether a step can be done, when its work is over.
fn put_in_line(runner: &Runner, remote: &mut dyn Remote, id: ThreadId) -> Result<(), EngineError> {
    match push_alone(runner, remote, id) {
        Err(error) if is_busy(&error, id) => Ok(()),
        pushed => pushed.map(drop),
    }
}

/// Tells whether an error is that another call works on a thread, here or elsewhere.
fn is_busy(error: &EngineError, id: ThreadId) -> bool {
    match error {
        EngineError::Sharing(error) => matches!(**error, SharingError::Busy { .. }),
        error => error.busy() == Some(id),
    }
}

/// Sends a thread or its new steps to the remote, and nothing of its children.
pub(crate) fn push_alone(
    runner: &Runner,
    remote: &mut dyn Remote,
    id: ThreadId,
) -> Result<Pushed, EngineError> {
    with_thread(runner, id, |run| {
        push_one(runner, run, remote, (id, NewLabel::Kept), Line::Ready).map(|sent| sent.pushed)
    })
}

/// A thread that is pushed with all below it.
struct Family<'a> {
    runner: &'a Runner,
    label: NewLabel<'a>,
    /// Whether workers may take the children at once.
    below: Line,
    /// The threads that wait at the remote, although a step of them can be done: no worker takes them yet.
    waiting: Vec<ThreadId>,
    /// The children of which the remote got something.
    pushed: &'a mut Vec<Pushed>,
}

impl Family<'_> {
    /// Pushes a thread with the finished step that waits here, if there is one.
    fn push(
        &mut self,
        remote: &mut dyn Remote,
        id: ThreadId,
        line: Line,
    ) -> Result<Pushed, EngineError> {
        let shared_again = match has_lost(&self.runner.site, remote, id)? {
            // The step can only follow a head that the remote has. No worker may take the thread before the step is there.
            true => Some(self.push_committed(remote, id, Line::Waits)?),
            false => None,
        };
        let waited = commit_waiting_step(self.runner, id)?;
        if self.label.is_change() && self.below == Line::Ready {
            bring_new_steps(self.runner, remote, id)?;
        }
        let mut pushed = self.push_committed(remote, id, line)?;
        if let Waited::Kept(step) = waited {
            pushed.kept = Some(step);
        }
        if let Some(first) = shared_again {
            pushed.outcome = first.outcome;
            pushed.nodes += first.nodes;
            pushed.relabelled = pushed.relabelled.or(first.relabelled);
        } else if let Waited::Committed(before) = waited
            && pushed.outcome == PushOutcome::Unchanged
        {
            pushed.outcome = PushOutcome::Forwarded;
            let sent = nodes_of_push(&self.runner.site.store, pushed.head, Some(before))?;
            pushed.nodes = sent.len();
        }
        Ok(pushed)
    }

    /// Pushes a thread after its children, because a machine that has the thread would make the children that it does not find.
    /// While the thread above is not at the remote, no worker may take a child: it would not know how to work.
    fn push_committed(
        &mut self,
        remote: &mut dyn Remote,
        id: ThreadId,
        line: Line,
    ) -> Result<Pushed, EngineError> {
        with_thread(self.runner, id, |run| {
            let site = &self.runner.site;
            let thread = Thread::load(&site.store, id, thread::find(site, id)?.head())?;
            let (mut children, mut relabelled) = (Vec::new(), None);
            if has_children(&thread.program) || thread.is_run() {
                refuse_hidden(site, &thread)?;
                if self.label.is_change() && self.below == Line::Ready {
                    // A call that makes children looks at the label of their parent once more when they are there. So the parent gets the
                    // label before its children are looked for.
                    if let Some(found) = there(remote, id, None)? {
                        relabelled = relabel(remote, &found.listed, self.label)?;
                    }
                    bring_missing_children(site, remote, &thread)?;
                }
                children = children_by_parent(site)?.remove(&id).unwrap_or_default();
            }
            for child in children {
                let one = self.push(remote, child.thread, self.below)?;
                if one.is_news() {
                    self.pushed.push(one);
                }
            }
            let about = (id, self.label);
            let mut sent = push_one(self.runner, run, remote, about, line)?;
            self.waiting.extend(sent.must_wait.then_some(id));
            sent.pushed.relabelled = relabelled.or(sent.pushed.relabelled);
            Ok(sent.pushed)
        })
    }
}

/// Tells whether a finished step of a shared thread waits here, and the remote does not know the head that the step follows. It has
/// lost that: the server was restored from a backup.
fn has_lost(site: &Site, remote: &mut dyn Remote, id: ThreadId) -> Result<bool, EngineError> {
    if waiting_step(site, id)?.is_none() || site.root.shared(id).read()?.is_none() {
        return Ok(false);
    }
    let head = thread::find(site, id)?.head();
    let found = there(remote, id, Some(head))?;
    Ok(!found.is_some_and(|found| found.had || found.listed.head == head))
}

/// Whether a pushed thread is in the line of ready threads, so that workers may take it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line {
    /// It is, if a step can be done.
    Ready,
    /// It is not yet. The remote gets it as one that waits for a person.
    Waits,
}

/// What became of a thread that was pushed, and what is still to do.
struct Sent {
    pushed: Pushed,
    /// Whether it waits at the remote although a step can be done.
    must_wait: bool,
}

/// Pushes one thread. The caller has its lock.
fn push_one(
    runner: &Runner,
    run: &OwnedRun,
    remote: &mut dyn Remote,
    (id, label): (ThreadId, NewLabel<'_>),
    line: Line,
) -> Result<Sent, EngineError> {
    let located = thread::find(&runner.site, id)?;
    let head = located.head();
    let thread = Thread::load(&runner.site.store, id, head)?;
    let status = status_of((&runner.site, run), &thread, &located)?;
    let store = remote.hello().map_err(SharingError::from)?.store;
    let known = runner.site.root.shared(id).read()?;
    if let Some(record) = &known {
        check_remote(id, record, &store)?;
    }
    let mut kept = None;
    if status == HeadStatus::Ended {
        // No step of the thread comes that would settle what waits, or count a run that was lost. A run of a pipeline can be resumed, and
        // takes its step then.
        if !thread.is_run() {
            kept = keep_waiting_step(runner, run, id)?;
        }
        lost_run::record_at(&runner.site, run, id, head)?;
    }
    let must_wait = line == Line::Waits && status == HeadStatus::Ready;
    let job = Job {
        site: &runner.site,
        run,
        thread: &thread,
        status: match must_wait {
            true => HeadStatus::Suspended,
            false => status,
        },
        must_wait,
        is_cancelled: located.is_cancelled(),
        notice: runner.notice,
        store,
        known,
    };
    let (outcome, nodes, found) = job.send(remote, label)?;
    let relabelled = match found {
        Some(found) => relabel(remote, &found.listed, label)?,
        None => None,
    };
    if job.is_cancelled {
        settle_end(&runner.site, id)?;
    }
    let pushed = Pushed {
        thread: id,
        head,
        outcome,
        nodes,
        kept,
        relabelled,
    };
    Ok(Sent { pushed, must_wait })
}

/// Returns whether a step can be done at the head. A thread that has ended here has ended for all machines.
fn status_of(
    (site, run): (&Site, &RunDir),
    thread: &Thread,
    located: &Located,
) -> Result<HeadStatus, EngineError> {
    if located.end().is_some() {
        return Ok(HeadStatus::Ended);
    }
    status_for_others(&site.store, &run.ledger, thread, &thread.route(None)?)
}

/// The push of one thread.
struct Job<'a> {
    site: &'a Site,
    run: &'a RunDir,
    thread: &'a Thread,
    status: HeadStatus,
    /// Whether it is to wait at the remote although a step can be done.
    must_wait: bool,
    /// Whether a person has ended it here.
    is_cancelled: bool,
    /// Prints a message for the user at once.
    notice: fn(&str),
    /// The id of the remote.
    store: String,
    /// The record that the thread is shared, if there was one before.
    known: Option<SharedRecord>,
}

impl Job<'_> {
    /// Returns the record that the thread is shared, and makes one if there is none. It is durable before the thread is at the
    /// remote. A call that dies in between leaves the record of a thread that is not there yet, and the next push shares the
    /// thread.
    fn record(&self) -> Result<SharedRecord, EngineError> {
        if let Some(record) = &self.known {
            return Ok(record.clone());
        }
        let new = new_record(self.site, self.store.clone())?;
        Ok(self.site.root.shared(self.thread.id).create(&new)?)
    }

    /// Puts a new thread at the remote, whose nodes are there already. If the remote refuses it, the record is removed: the thread
    /// is not shared.
    fn put(&self, remote: &mut dyn Remote, new: &NewThread) -> Result<Put, EngineError> {
        self.record()?;
        let answer = remote.put(&[], Some(new));
        let is_refused = matches!(
            answer,
            Err(RemoteError::Denied(..) | RemoteError::NotLetIn(..)) | Ok(Put::Clash(_))
        );
        // If the answer to an earlier try was lost, the thread may be there.
        if is_refused
            && self.known.is_none()
            && matches!(remote.find(new.thread, new.head), Ok(None))
        {
            self.site.root.shared(new.thread).remove()?;
        }
        Ok(answer.map_err(SharingError::from)?)
    }

    /// Sends the thread, if it is new to the remote, or what is new of it. Returns what became of it, how many nodes were sent, and the
    /// thread as the remote had it before.
    fn send(
        &self,
        remote: &mut dyn Remote,
        label: NewLabel<'_>,
    ) -> Result<(PushOutcome, usize, Option<Found>), EngineError> {
        let mut sent = 0;
        for _ in 0..nodes::TIMES {
            let found = remote.find(self.thread.id, self.thread.head);
            let found = found.map_err(SharingError::from)?;
            let (outcome, nodes) = match &found {
                None => self.share(remote, label)?,
                Some(found) => {
                    let (outcome, nodes) = self.forward(remote, found)?;
                    (Some(outcome), nodes)
                }
            };
            sent += nodes;
            if let Some(outcome) = outcome {
                return Ok((outcome, sent, found));
            }
        }
        Err(contended("other machines share the thread again and again"))
    }

    /// Sends a new thread to the remote: the nodes first, then the thread. The outcome is `None` if another machine has shared it meanwhile, or an
    /// earlier try of this call whose answer was lost.
    fn share(
        &self,
        remote: &mut dyn Remote,
        label: NewLabel<'_>,
    ) -> Result<(Option<PushOutcome>, usize), EngineError> {
        let head = self.thread.head;
        let new = NewThread {
            thread: self.thread.id,
            workflow: self.thread.start.workflow,
            head,
            status: self.status,
            label: label.of_new(),
            record: self.run.ledger.export_at(head),
        };
        let mut needed = nodes_of_push(&self.site.store, head, None)?;
        needed.extend(nodes::of_record(self.site, &new.record)?);
        let mut sent = 0;
        for _ in 0..nodes::TIMES {
            sent += nodes::send(self.site, remote, &needed)?;
            match self.put(remote, &new)? {
                Put::Done => return Ok((Some(PushOutcome::Shared), sent)),
                // Another machine has shared it at this head or another one. Its status and its label may be others, too.
                Put::Already | Put::HeadIs(_) => return Ok((None, sent)),
                Put::Lacking(_) => {}
                Put::Clash(nodes) => return Err(SharingError::Clash(nodes).into()),
            }
        }
        Err(SharingError::forgets().into())
    }

    /// Sends what is new, if the remote has an earlier head. It also sends the nodes that the record here names, because a step
    /// sends only the record.
    fn forward(
        &self,
        remote: &mut dyn Remote,
        found: &Found,
    ) -> Result<(PushOutcome, usize), EngineError> {
        let record = self.record()?;
        let (here, there) = (self.thread.head, found.listed.head);
        let named = nodes::of_record(self.site, &self.run.ledger.export_at(self.thread.head))?;
        // The head of the remote may be a step that was never here, so its node is looked for first.
        let own = (self.thread.id, here);
        let is_ahead = self.site.store.has(there)? && was_head_here(self.site, own, there)?;
        let is_on_way_there = found.had || (!is_ahead && self.leads_there(remote, there)?);
        let goes_on_there = is_on_way_there && found.listed.status != HeadStatus::Ended;
        if self.is_cancelled && goes_on_there {
            // A person has ended it here, so it ends there, even if other machines have done steps since.
            let sent = nodes::send(self.site, remote, &named)?;
            self.end_there(remote, &record)?;
            return Ok((PushOutcome::Ended, sent));
        }
        let has_status = found.listed.status == self.status
            // Another machine that shares the family has put it in the line of ready threads already.
            || (self.must_wait && found.listed.status == HeadStatus::Ready);
        if here == there && has_status {
            let sent = nodes::send(self.site, remote, &named)?;
            self.tell(remote, found, &record)?;
            return Ok((PushOutcome::Unchanged, sent));
        }
        // If the heads are the same, the thread here is behind if it has ended there.
        let is_behind = match here == there {
            true => found.listed.status == HeadStatus::Ended,
            false => is_on_way_there,
        };
        if is_behind {
            let sent = nodes::send(self.site, remote, &named)?;
            self.tell(remote, found, &record)?;
            return Ok((PushOutcome::Behind, sent));
        }
        if !is_ahead {
            return Err(self.diverged(there));
        }
        let mut needed = nodes_of_push(&self.site.store, here, Some(there))?;
        needed.extend(named);
        let sent = nodes::send(self.site, remote, &needed)?;
        self.move_head(remote, (there, here), &record)?;
        Ok((PushOutcome::Forwarded, sent))
    }

    /// Tells whether the head here is on the way to the one at the remote, although it never was the head there. A push sends several
    /// steps at once, and a machine may be restored from a backup in between.
    ///
    /// Only the chain of the head there can tell this. So the chain comes with all that it needs, unless an earlier call brought it. A
    /// node that the remote has lost is an error, because it is unknown then whether the thread has diverged.
    fn leads_there(&self, remote: &mut dyn Remote, there: CasRef) -> Result<bool, EngineError> {
        let here = self.thread.head;
        if !self.site.store.has(there)? {
            let had = nodes::had_with(self.site, here)?;
            nodes::bring(self.site, remote, &[there], &had)?;
        }
        has_on_its_way(self.site, there, here)
    }

    fn diverged(&self, there: CasRef) -> EngineError {
        SharingError::Diverged {
            thread: self.thread.id,
            here: self.thread.head,
            there,
        }
        .into()
    }
}

/// Returns the error of a call that other calls were in the way of.
fn contended(problem: &str) -> EngineError {
    SharingError::Remote(RemoteError::Contended(problem.to_owned())).into()
}
