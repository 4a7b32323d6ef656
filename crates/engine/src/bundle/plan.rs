//! Decides what is to be done about each thread of a bundle, before the first one is changed.

use serde_json::json;
use uwf_cas_fs::hash_of;
use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_storage::{Reason, ReplacedStep, State};

use super::error::{BundleError, Divergence};
use super::lineage::{Relation, Side, relation};
use super::manifest::Travelling;
use crate::{EngineError, Site};

/// What happens to a thread that went on both here and in the bundle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Diverging {
    /// The whole bundle is refused.
    Refuse,
    /// The bundle's thread gets another id. The id depends on the thread and its head, so importing again adds no second
    /// one.
    Fork,
}

/// What is to be done about a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ThreadPlan {
    Add,
    /// Move it from this head to that of the bundle, and end it if it ended there.
    Forward {
        from: CasRef,
        is_ended: bool,
    },
    /// Only add to its records.
    Keep(Relation),
}

/// Decides about all threads before the first one is changed. Returns each with its id in the bundle, if it gets another.
pub(crate) fn plan_all(
    site: &Site,
    threads: Vec<Travelling>,
    diverging: Diverging,
) -> Result<Vec<(Travelling, Option<ThreadId>, ThreadPlan)>, EngineError> {
    let replaced = State::new(&site.root).replaced()?;
    let mut planned = Vec::with_capacity(threads.len());
    let mut diverged = Vec::new();
    for one in threads {
        match (plan(site, &one, &replaced)?, diverging) {
            (Ok(plan), _) => planned.push((one, None, plan)),
            (Err(divergence), Diverging::Refuse) => diverged.push(divergence),
            (Err(_), Diverging::Fork) => {
                let fork = forked(&one);
                match plan(site, &fork, &replaced)? {
                    Ok(plan) => planned.push((fork, Some(one.thread), plan)),
                    Err(divergence) => diverged.push(divergence),
                }
            }
        }
    }
    if diverged.is_empty() {
        return Ok(planned);
    }
    Err(BundleError::Diverged(diverged).into())
}

/// Returns the thread with another id: its time, and digits of its old id and its head.
fn forked(one: &Travelling) -> Travelling {
    let hash = hash_of(None, &json!([one.thread, one.head])).expect("two texts are not nested");
    let time = &one.thread.as_str()[..10];
    let thread = format!("{time}000{hash}").parse();
    let thread = thread.expect("the digits of an id and of a hash are those of an id");
    let mut fork = Travelling {
        thread,
        ..one.clone()
    };
    for step in &mut fork.replaced {
        step.in_thread = thread;
    }
    fork
}

/// Decides about a thread. `replaced` are all steps that were done again here.
pub(crate) fn plan(
    site: &Site,
    one: &Travelling,
    replaced: &[ReplacedStep],
) -> Result<Result<ThreadPlan, Divergence>, EngineError> {
    let Some(found) = State::new(&site.root).find(one.thread)? else {
        return Ok(Ok(ThreadPlan::Add));
    };
    let (here, ended) = (found.head(), found.end().map(|record| record.reason));
    let replaced = replaced.iter().filter(|step| step.in_thread == one.thread);
    let replaced: Vec<ReplacedStep> = replaced.cloned().collect();
    let side = |head, replaced| Side { head, replaced };
    let relation = relation(
        &site.store,
        side(here, &replaced),
        side(one.head, &one.replaced),
    )?;
    Ok(decide(one, here, ended, relation))
}

fn decide(
    one: &Travelling,
    here: CasRef,
    ended: Option<Reason>,
    relation: Relation,
) -> Result<ThreadPlan, Divergence> {
    let (ends, is_ended) = (one.end().is_some(), ended.is_some());
    let is_cancelled = ended == Some(Reason::Cancelled);
    match relation {
        // A person ended it here, and the bundle would bring it back.
        Relation::Behind if is_cancelled && !ends => Err(Divergence {
            thread: one.thread,
            here,
            there: one.head,
            is_cancelled,
        }),
        Relation::Behind => Ok(ThreadPlan::Forward {
            from: here,
            is_ended,
        }),
        Relation::Same if ends && !is_ended => Ok(ThreadPlan::Forward {
            from: here,
            is_ended,
        }),
        // It has ended here since.
        Relation::Same if !ends && is_ended => Ok(ThreadPlan::Keep(Relation::Ahead)),
        Relation::Same | Relation::Ahead => Ok(ThreadPlan::Keep(relation)),
        Relation::Diverged => Err(Divergence {
            thread: one.thread,
            here,
            there: one.head,
            is_cancelled,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn travelling(status: &str) -> Travelling {
        let mut value = json!({ "thread": "01J7K9Z000000000000000000A", "workflow": "CTS5P6RD8HMCS",
            "head": "0123456789012", "status": status });
        if status != "active" {
            value["completedAt"] = json!(1);
        }
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn a_thread_is_only_ever_moved_forward() {
        let here = CasRef::from_u64(7);
        let (active, completed, cancelled) =
            (None, Some(Reason::Completed), Some(Reason::Cancelled));
        let check =
            |status: &str, ended: Option<Reason>, relation, expected: Option<ThreadPlan>| {
                let decided = decide(&travelling(status), here, ended, relation);
                assert_eq!(decided.ok(), expected, "{status} {ended:?} {relation:?}");
            };
        let forward = |is_ended| {
            Some(ThreadPlan::Forward {
                from: here,
                is_ended,
            })
        };
        let keep = |relation| Some(ThreadPlan::Keep(relation));
        for status in ["active", "completed"] {
            check(status, active, Relation::Behind, forward(false));
            check(status, completed, Relation::Behind, forward(true));
            for ended in [active, completed, cancelled] {
                check(status, ended, Relation::Ahead, keep(Relation::Ahead));
                check(status, ended, Relation::Diverged, None);
            }
        }
        check("active", cancelled, Relation::Behind, None);
        check("completed", cancelled, Relation::Behind, forward(true));
        check("cancelled", cancelled, Relation::Behind, forward(true));
        check("active", active, Relation::Same, keep(Relation::Same));
        check("completed", completed, Relation::Same, keep(Relation::Same));
        check("cancelled", active, Relation::Same, forward(false));
        check("active", completed, Relation::Same, keep(Relation::Ahead));
        check("active", cancelled, Relation::Same, keep(Relation::Ahead));
    }

    #[test]
    fn a_fork_has_the_same_id_each_time_and_another_one_for_another_head() {
        let one = travelling("active");
        let other = Travelling {
            head: CasRef::from_u64(8),
            ..one.clone()
        };
        let ids = [&one, &one, &other].map(|one| forked(one).thread);
        assert_eq!(ids[0], ids[1]);
        assert_ne!(ids[0], ids[2]);
        assert_eq!(ids[0].as_str()[..10], one.thread.as_str()[..10]);
    }
}
