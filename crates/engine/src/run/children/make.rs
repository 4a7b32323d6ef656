//! Making child threads: their start nodes, then their entries among the active threads.

use uwf_cas_fs::Batch;
use uwf_moderator::Assignment;
use uwf_protocol::ids::CasRef;
use uwf_protocol::nodes::StartNode;
use uwf_protocol::work::{Player, alone};
use uwf_protocol::workflow_stored;
use uwf_storage::Located;

use super::round::Said;
use crate::children::Child;
use crate::project::config_for;
use crate::run::contract;
use crate::run::pipelines::put_start;
use crate::run::shared::SharedThread;
use crate::run::shared::family::add_children;
use crate::run::workspace::{self, own_directory};
use crate::thread::{Thread, graph_of};
use crate::{EngineError, Runner, check_files, tags};

/// Makes child threads, all in one change of the state. What a person said to their parent follows their tasks. Their parent is locked by this process, so nobody else makes them.
pub(super) fn make(
    (runner, shared): (&Runner, Option<&SharedThread>),
    thread: &Thread,
    (assignment, said): (&Assignment, Option<&Said>),
    children: &mut [&mut Child],
) -> Result<(), EngineError> {
    let site = &runner.site;
    let (config, _) = config_for(site, &thread.start)?;
    let run = site.root.run(thread.id);
    let worktree = workspace::prepare(runner, &run, (thread, &assignment.role), &config)?.worktree;
    let directory = contract::working_directory(site, thread, assignment, worktree.as_ref())?;
    // In the folder of the parent, and below it, the files of checks are as they were when the parent started.
    let own = own_directory(site, thread, worktree.as_ref());
    let known = check_files::known_to_child(&thread.start.check_files, &own, &directory);
    let _hold = site.store.hold()?;
    let now_ms = site.env.now_ms();
    let mut batch = site.store.batch();
    let mut made = Vec::new();
    for child in children.iter_mut() {
        let task = child.planned.prompt.clone();
        let program = match child.planned.player {
            Player::Workflow(workflow) => Some(workflow),
            Player::Role(_) => None,
        };
        let cwd = directory.display().to_string();
        let start = StartNode {
            check_files: check_files::pin(
                &site.store,
                // A role alone has no checks but those of the workflow that it is in.
                program.unwrap_or(thread.start.workflow),
                Some(&cwd),
                &known,
            )?,
            workflow: workflow_of(&mut batch, thread, child, now_ms)?,
            prompt: match said {
                Some(said) => said.with_task(task),
                None => task,
            },
            cwd: Some(cwd),
            parent: Some(child.parent.clone()),
            run: None,
        };
        let start = put_start(site, &mut batch, child.thread, start, program)?;
        child.place = Some(Located::Active(start));
        made.push((child.thread, start));
    }
    batch.commit()?;
    let parent = (thread.id, thread.expected_head());
    if !add_children(site, shared, parent, &made)? {
        // A person has ended the thread meanwhile.
        crate::thread::active_head(site, thread.id)?;
        return Err(crate::thread::busy(thread.id, None));
    }
    for (child, start) in made {
        let message = format!("thread created head={start} parent={}", thread.id);
        site.log_line(tags::THREAD_CREATED, &message, Some(child), None);
    }
    Ok(())
}

/// Returns the workflow of a child. That of a role alone is put first.
fn workflow_of(
    batch: &mut Batch<'_>,
    thread: &Thread,
    child: &Child,
    now_ms: i64,
) -> Result<CasRef, EngineError> {
    match &child.planned.player {
        Player::Workflow(workflow) => Ok(*workflow),
        Player::Role(role) => {
            let workflow = graph_of(thread)?;
            let (type_hash, payload) = workflow_stored::to_payload(&alone(workflow, role));
            Ok(batch.put(type_hash, &payload, now_ms)?)
        }
    }
}
