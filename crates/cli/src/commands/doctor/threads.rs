//! Checks the threads: whether all can be read, which are locked, and what was left behind.

use std::collections::BTreeSet;
use std::path::PathBuf;

use uwf_engine::{
    Children, ListFilter, Site, ThreadItem, ThreadStatus, left_behind, list, orphans,
};
use uwf_process::is_alive;
use uwf_protocol::ids::ThreadId;
use uwf_storage::{RunDir, State, StorageError};
use uwf_util::text::counted;
use uwf_util::time;

use crate::commands::thread::costly;
use crate::failure::Failure;
use crate::hints;
use crate::text::Check;

pub(super) fn look(site: &Site) -> Vec<Check> {
    let everything = ListFilter {
        all: true,
        children: Children::Listed,
        ..ListFilter::default()
    };
    let threads = match list(site, &everything) {
        Ok(threads) => threads,
        Err(error) => {
            let failure = Failure::from(error);
            let hint = failure.hint.unwrap_or_else(|| "fix the file".to_owned());
            return vec![Check::error("threads", failure.what, hint)];
        }
    };
    let mut checks = vec![state(site), names(site), readable(&threads.threads)];
    checks.extend(conditions(&threads.threads));
    let known: BTreeSet<ThreadId> = threads.threads.iter().map(|one| one.thread).collect();
    let removed = removed(site, &known);
    let is_removed = |run: &Run| run.thread.is_some_and(|thread| removed.contains(&thread));
    let (half_removed, runs): (Vec<Run>, Vec<Run>) =
        run_dirs(site).into_iter().partition(is_removed);
    checks.extend(locks(site, &runs));
    // What to do about the folder of a lost thread is said with the state.
    let lost = lost(site);
    let is_lost = |run: &Run| run.thread.is_some_and(|thread| lost.contains(&thread));
    let runs: Vec<Run> = runs.into_iter().filter(|run| !is_lost(run)).collect();
    checks.extend(pending(&runs, &threads.threads));
    checks.extend(ends_not_told(site, &threads.threads));
    checks.extend(leftovers(site, &runs, &known));
    checks.extend(half_removed.iter().map(unfinished_removal));
    checks
}

/// Returns the threads that were removed, as far as that can be read.
fn removed(site: &Site, known: &BTreeSet<ThreadId>) -> BTreeSet<ThreadId> {
    let history = State::new(&site.root).history().unwrap_or_default();
    let removed = history.removed.into_iter().map(|one| one.removed);
    removed.filter(|thread| !known.contains(thread)).collect()
}

/// Returns the threads of which the files of the state do not tell, although they should.
fn lost(site: &Site) -> BTreeSet<ThreadId> {
    match State::new(&site.root).check() {
        Err(StorageError::Vanished(vanished)) => {
            let threads = vanished.threads.into_iter();
            threads.map(|(thread, _)| thread).collect()
        }
        Ok(()) | Err(_) => BTreeSet::new(),
    }
}

/// Reports the folder of a removed thread, which a call left that was interrupted.
fn unfinished_removal(run: &Run) -> Check {
    let thread = name_of(run);
    let hint = format!("`uwf thread rm {thread}` removes it");
    Check::warning(
        "leftovers",
        "the thread was removed, and its folder is left",
        hint,
    )
    .of(&thread)
}

/// Checks that the files of the state have lost nothing.
fn state(site: &Site) -> Check {
    const NAME: &str = "state";
    let state = State::new(&site.root);
    match state.check().and_then(|()| state.workflows()) {
        Ok(_) => Check::ok(NAME, "no recorded thread or workflow is missing"),
        Err(error) => {
            let hint = hints::storage::hint(&error)
                .unwrap_or_else(|| "make the file readable for you".to_owned());
            Check::error(NAME, error.to_string(), hint)
        }
    }
}

/// Checks that the names and labels of threads can be read.
fn names(site: &Site) -> Check {
    const NAME: &str = "names";
    match State::new(&site.root).namings() {
        Ok(namings) => {
            let (threads, names) = (namings.threads().count(), namings.names().count());
            Check::ok(
                NAME,
                format!(
                    "{}; {} with a name or labels",
                    counted(names, "name"),
                    counted(threads, "thread")
                ),
            )
        }
        Err(error) => {
            let hint = hints::storage::hint(&error)
                .unwrap_or_else(|| "make the file readable for you".to_owned());
            Check::error(NAME, error.to_string(), hint)
        }
    }
}

/// Checks that the head of every thread can be read.
fn readable(threads: &[ThreadItem]) -> Check {
    let trouble = |item: &ThreadItem| {
        let reason = item.error.as_ref()?;
        Some(format!("thread `{}` cannot be read: {reason}", item.thread))
    };
    let trouble: Vec<String> = threads.iter().filter_map(trouble).collect();
    match &trouble[..] {
        [] => Check::ok("threads", format!("{} can be read", threads.len())),
        [first, rest @ ..] => {
            let more = match rest.len() {
                0 => String::new(),
                count => format!(", and {count} more"),
            };
            let hint =
                "`uwf thread list --all` names them; bring the nodes back from a copy of the store";
            Check::error("threads", format!("{first}{more}"), hint)
        }
    }
}

/// Warns of threads whose conditions exceed their limits, or the limits of a list.
fn conditions(threads: &[ThreadItem]) -> Option<Check> {
    let hint = if threads.iter().any(|one| one.costs_too_much) {
        "`uwf thread show <thread>` tells why; put a corrected workflow and start a new thread on it"
    } else {
        "`uwf thread show <thread>` evaluates the conditions of one thread alone"
    };
    let costly = costly(threads);
    (!costly.is_empty()).then(|| Check::warning("conditions", costly.join("; "), hint))
}

/// A directory of `runs/`.
struct Run {
    path: PathBuf,
    /// The thread whose id is its name, if its name is an id.
    thread: Option<ThreadId>,
    dir: RunDir,
}

fn run_dirs(site: &Site) -> Vec<Run> {
    let runs = site.root.runs().unwrap_or_default();
    let run = |dir: RunDir| {
        let path = dir.path().to_owned();
        let name = path.file_name().and_then(|name| name.to_str());
        Run {
            thread: name.and_then(|name| name.parse().ok()),
            path,
            dir,
        }
    };
    runs.into_iter().map(run).collect()
}

/// Reports the locked threads. If the engine of a locked thread has ended, it left a process behind.
fn locks(site: &Site, runs: &[Run]) -> Vec<Check> {
    let mut checks = Vec::new();
    for run in runs {
        let Some(record) = run.dir.lease.read_record() else {
            continue;
        };
        let orphans = orphans(site, &run.dir);
        let is_held = || matches!(run.dir.lease.is_held(), Ok(true));
        if orphans.is_empty() && !is_held() {
            continue;
        }
        let since = u64::try_from(site.env.now_ms() - record.started_at_ms).unwrap_or(0);
        let since = time::format_duration(since / 1000 * 1000);
        let engine_lives = is_alive(&record.engine);
        let agent = record.agent.as_ref();
        let holder_text = match agent {
            Some(agent) => format!("role `{}`, agent process {}", record.role, agent.pid),
            None => format!("role `{}`, process {}", record.role, record.engine.pid),
        };
        let thread = name_of(run);
        let hint = format!("wait until it ends, or `uwf thread kill {thread}` ends it");
        let check = if engine_lives {
            Check::ok("lock", format!("a step runs for {since}: {holder_text}"))
        } else if orphans.is_empty() {
            let locked = format!("locked for {since} without an engine: {holder_text}");
            Check::warning("lock", locked, hint)
        } else {
            let alive = orphans.join(", ");
            let alive = format!("its engine is gone, and this still runs: {alive}");
            Check::warning("lock", alive, hint)
        };
        checks.push(check.of(&thread));
    }
    if checks.is_empty() {
        checks.push(Check::ok("lock", "no thread is locked"));
    }
    checks
}

/// Reports the threads that were ended here, as far as other machines may not know it.
fn ends_not_told(site: &Site, threads: &[ThreadItem]) -> Vec<Check> {
    let ended = threads
        .iter()
        .filter(|item| item.status == ThreadStatus::Cancelled);
    let not_told = ended.filter(|item| site.root.shared(item.thread).owes_end().unwrap_or(true));
    let check = |item: &ThreadItem| {
        let message = "the thread was ended here, and the other machines do not know it yet";
        let hint = format!("`uwf push {}` tells them", item.thread);
        Check::warning("ends", message, hint).of(item.thread.to_string())
    };
    not_told.map(check).collect()
}

/// Reports finished steps that are not committed yet, and answers that have no step yet.
fn pending(runs: &[Run], threads: &[ThreadItem]) -> Vec<Check> {
    let mut checks = Vec::new();
    for run in runs {
        let thread = name_of(run);
        let item = threads.iter().find(|item| Some(item.thread) == run.thread);
        match (run.dir.outbox.read_pending(), item) {
            (Ok(None), _) => {}
            // A running thread will commit the step; a thread that has it as head will remove the record.
            (Ok(Some(pending)), Some(item))
                if item.head == pending.step || item.status == ThreadStatus::Running => {}
            (Ok(Some(pending)), item) => {
                let (message, hint) = match item {
                    Some(item) if item.status.is_ended() => (
                        "a step was finished when the thread ended",
                        format!("`uwf thread fork {}` goes on from it", pending.step),
                    ),
                    // The folder is one of the leftovers, which can be deleted then.
                    None => (
                        "a step was finished for a thread that is not here any more",
                        format!("`uwf thread fork {}` goes on from it", pending.step),
                    ),
                    Some(_) => (
                        "a finished step is not committed yet",
                        format!("`uwf thread step {thread}` commits it"),
                    ),
                };
                checks.push(Check::warning("pending", message, hint).of(&thread));
            }
            (Err(error), _) => {
                let hint = hints::storage::hint(&error)
                    .unwrap_or_else(|| "make the file readable for you".to_owned());
                checks.push(Check::error("pending", error.to_string(), hint).of(&thread));
            }
        }
    }
    for item in threads {
        let Some(answer) = &item.waiting_answer else {
            continue;
        };
        let message = format!("an answer of `{}` has no step yet", answer.role);
        let hint = hints::thread::use_answer(item.thread, answer);
        checks.push(Check::warning("pending", message, hint).of(item.thread.to_string()));
    }
    if checks.is_empty() {
        checks.push(Check::ok("pending", "every finished step is committed"));
    }
    checks
}

/// Reports files and folders that nothing will use again.
fn leftovers(site: &Site, runs: &[Run], known: &BTreeSet<ThreadId>) -> Vec<Check> {
    const NAME: &str = "leftovers";
    let mut checks = Vec::new();
    let is_unused = |run: &&Run| run.thread.is_none_or(|thread| !known.contains(&thread));
    let unused = runs.iter().filter(is_unused);
    let mut paths: Vec<PathBuf> = unused.map(|run| run.path.clone()).collect();
    paths.extend(copies_of_config(site));
    if let [first, ..] = &paths[..] {
        checks.push(Check::warning(
            NAME,
            format!("{} unused, the first is {}", paths.len(), first.display()),
            "look into them, then delete them while no `uwf` runs",
        ));
    }
    match left_behind(site) {
        Ok(files) => checks.extend(files.first().map(|first| {
            Check::warning(
                NAME,
                format!(
                    "{} of killed programs, the first is {}",
                    counted(files.len(), "temporary file"),
                    first.display()
                ),
                "`uwf cas gc` removes temporary files that are older than two weeks, and nodes of that age that nothing needs",
            )
        })),
        Err(error) => {
            let hint = "make the folders of the root readable for you";
            checks.push(Check::error(NAME, error.to_string(), hint));
        }
    }
    if checks.is_empty() {
        checks.push(Check::ok(NAME, "none"));
    }
    checks
}

/// Returns the copies of the config that an editor left.
fn copies_of_config(site: &Site) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(site.root.path())
        .into_iter()
        .flatten()
        .flatten();
    let mut files: Vec<PathBuf> = entries
        .filter(|entry| {
            let name = entry.file_name();
            name.to_string_lossy().starts_with("config-edit-")
        })
        .map(|entry| entry.path())
        .collect();
    files.sort();
    files
}

fn name_of(run: &Run) -> String {
    let name = run.path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}
