//! Poking a thread: its newest step is done again, and the new step replaces the old one.
//!
//! Nothing is lost. The replaced step stays in the store, and the history records which step replaced it.

use uwf_moderator::{Assignment, Performer, Route, assign};
use uwf_protocol::chain::StepContext;

use crate::children::refuse_to_leave;
use crate::person_message::MessageContext;
use crate::pipelines::chain::is_run;
use crate::pipelines::error::PipelineError;
use crate::read::report::StepReport;
use crate::run::admission;
use crate::run::adopt::{Adoption, adopt};
use crate::run::attempted::Verb;
use crate::run::children::poke_children;
use crate::run::cycle::{Job, do_step};
use crate::run::hooks;
use crate::run::owned::with_thread_to_step;
use crate::run::shared::refuse_only_here;
use crate::thread::{self, Thread, ThreadAt};
use crate::workspace::earlier::folder_again;
use crate::{EngineError, Intervention, Runner};

/// Runs the role of the newest step again, with its answer and the message of a person. The route after that step does
/// not matter: a thread that is suspended or blocked can be poked, too.
///
/// # Errors
/// When there is no step, or as for a step.
pub fn poke(
    runner: &Runner,
    at: impl Into<ThreadAt>,
    options: &Intervention,
) -> Result<StepReport, EngineError> {
    let at = at.into();
    hooks::after(runner, at.id, poke_untold(runner, at, options))
}

/// Pokes a thread. The hooks are not told.
pub(crate) fn poke_untold(
    runner: &Runner,
    at: impl Into<ThreadAt>,
    options: &Intervention,
) -> Result<StepReport, EngineError> {
    let at = at.into();
    let id = at.id;
    with_thread_to_step(runner, at, |run| {
        let head = thread::active_head(&runner.site, id)?;
        if is_run(&runner.site.store, head)? {
            return Err(PipelineError::NotReplaced(id).into());
        }
        let thread = Thread::load(&runner.site.store, id, head)?;
        admission::raise(&runner.site, run, &thread, &options.raises)?;
        let thread = match adopt(runner, run, thread)? {
            Adoption::Committed(report) => return Ok(*report),
            Adoption::Nothing(thread) => *thread,
        };
        admission::accept(&runner.site, run, &thread, &options.accepts)?;
        refuse_to_leave(&runner.site, &thread)?;
        let without = thread.without_last(&runner.site.store)?;
        let (before, last) = without.ok_or(EngineError::NoStep(id))?;
        if Performer::of_role(&before.program, &last.node.role) == Performer::Children {
            // The child has ended for all machines.
            refuse_only_here(runner, id, "thread poke")?;
            return poke_children(runner, run, before, &last, options);
        }
        let replaced = last.hash;
        let assignment = again(runner, &before, last, options.prompt.as_deref())?;
        let verb = Verb::Poke(options.prompt.clone());
        let admitted = admission::admit(
            &runner.site,
            run,
            &before,
            &assignment,
            (&verb, &options.step),
        )?;
        let job = Job {
            assignment: &assignment,
            admitted,
            options: &options.step,
            verb,
            restore: options.restore.then_some(replaced),
        };
        do_step(runner, run, before, job)
    })
}

/// Returns the assignment: the old instruction with the message of the person. The agent reads the old answer itself, by
/// the hash of the step.
fn again(
    runner: &Runner,
    before: &Thread,
    last: StepContext,
    prompt: Option<&str>,
) -> Result<Assignment, EngineError> {
    let StepContext { hash, node, .. } = last;
    let instruction = match node.edge_prompt {
        Some(instruction) => instruction,
        // Older steps have no instruction on record.
        None => match before.route(Some(&runner.signals))? {
            Ok(Route::To(assignment)) if assignment.role == node.role => assignment.prompt,
            Ok(_) | Err(_) => String::new(),
        },
    };
    let redo = MessageContext::Redo {
        instruction,
        step: hash,
    };
    let location = node.cwd.filter(|cwd| !cwd.is_empty());
    let location = location.map(|cwd| folder_again(&runner.site, before, cwd));
    let prompt = redo.compose(prompt);
    Ok(assign(&before.program, node.role, prompt, location))
}
