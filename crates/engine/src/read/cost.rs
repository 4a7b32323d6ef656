//! What threads cost: the usage of their runs, summed by what the runs have in common. Each run counts once, as for limits.

use uwf_protocol::ids::{CasRef, ThreadId};
use uwf_storage::State;

use crate::children::with_descendants;
use crate::read::cost_sums::{CostOptions, CostReport, Sums};
use crate::read::list::{Heads, every_thread};
use crate::read::removed_cost::OfRemoved;
use crate::{EngineError, Site, thread};

/// Sums what threads used up: their steps, their failed attempts, and steps that were replaced.
///
/// Forks share steps with the thread that they come from. Such a step counts once, for the oldest of the threads. If no
/// thread is named, removed threads count, too, unless only some of their runs or labels are asked for.
///
/// # Errors
/// When a named thread, the files of the state, or (with `labels`) the labels cannot be read.
pub fn cost(site: &Site, options: &CostOptions) -> Result<CostReport, EngineError> {
    // All runs of a thread ended before it was removed.
    let is_in_time = |_, removed_at| {
        let since = options.since_ms;
        since.is_none_or(|since| removed_at >= since)
    };
    let removed = match options.threads.is_empty() {
        true => OfRemoved::read(site, is_in_time)?,
        false => OfRemoved::default(),
    };
    let mut sums = Sums::new(options, removed);
    sums.tell_replaced(&State::new(&site.root).history()?.replaced);
    let (threads, damaged) = threads(site, options)?;
    sums.warnings.extend(damaged);
    for (id, head) in threads {
        match sums.read(site, id, head) {
            Ok(account) => sums.add(&account),
            Err(error) if options.threads.is_empty() => {
                let warning = format!("thread `{id}` is left out: {error}");
                sums.warnings.push(warning);
            }
            Err(error) => return Err(error),
        }
    }
    sums.add_removed();
    Ok(sums.report())
}

/// Returns the threads that are asked for, each once.
fn threads(site: &Site, options: &CostOptions) -> Result<Heads, EngineError> {
    let (mut found, warnings) = match options.threads.as_slice() {
        [] => every_thread(site)?,
        ids => (heads_of(site, &with_descendants(site, ids)?)?, Vec::new()),
    };
    if !options.labels.is_empty() {
        let namings = State::new(&site.root).namings()?;
        found.retain(|(id, _)| {
            let labels = namings.of(*id).labels;
            options.labels.iter().all(|one| one.selects(&labels))
        });
    }
    Ok((found, warnings))
}

/// Returns threads with their heads, each once, oldest first.
fn heads_of(site: &Site, threads: &[ThreadId]) -> Result<Vec<(ThreadId, CasRef)>, EngineError> {
    let mut ids = threads.to_vec();
    ids.sort_by_key(|id| (id.time_ms(site.env.now_ms()), *id));
    ids.dedup();
    let head = |id| Ok((id, thread::find(site, id)?.head()));
    ids.into_iter().map(head).collect()
}
