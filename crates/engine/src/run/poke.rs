//! Doing the newest step of a thread again: the new step takes the place of the old one.
//!
//! Nothing is lost by it. The replaced step stays in the store, and the history tells which step replaced it.

use uwf_moderator::{Assignment, Route, assign};
use uwf_protocol::chain::StepContext;
use uwf_protocol::ids::ThreadId;

use crate::read::report::StepReport;
use crate::run::admission;
use crate::run::adopt::{Adoption, adopt};
use crate::run::cycle::{Job, do_step};
use crate::run::failure::Verb;
use crate::run::owned::with_thread;
use crate::thread::{self, Thread};
use crate::words::Occasion;
use crate::{EngineError, Intervention, Runner, tags};

/// Runs the role of the newest step again, with its answer and what a person says about it. Where the graph leads
/// from there does not matter: a thread that asks, or is blocked, can be poked, too.
///
/// # Errors
/// When there is no step, or as for a step.
pub fn poke(
    runner: &Runner,
    id: ThreadId,
    options: &Intervention,
) -> Result<StepReport, EngineError> {
    with_thread(runner, id, |run| {
        let head = thread::active_head(&runner.site, id)?;
        let thread = Thread::load(&runner.site.store, id, head)?;
        admission::raise(&runner.site, run, &thread, &options.raises)?;
        let thread = match adopt(runner, run, thread)? {
            Adoption::Committed(report) => return Ok(*report),
            Adoption::Nothing(thread) => *thread,
        };
        admission::accept(&runner.site, run, &thread, &options.accepts)?;
        let without = thread.without_last(&runner.site.store)?;
        let (before, last) = without.ok_or(EngineError::NoStep(id))?;
        let assignment = again(runner, &before, last, options.prompt.as_deref())?;
        let admitted = admission::admit(&runner.site, run, &before, &assignment.role)?;
        let message = format!("role={} replaces={head}", assignment.role);
        runner.site.log(&before, tags::POKED, &message);
        let job = Job {
            assignment: &assignment,
            admitted,
            options: &options.step,
            verb: Verb::Poke(options.prompt.clone()),
        };
        do_step(runner, run, before, job)
    })
}

/// Returns what the role is told: its instruction as it was, and what is said about the answer. The answer itself
/// is read by the agent, which knows the step.
fn again(
    runner: &Runner,
    before: &Thread,
    last: StepContext,
    prompt: Option<&str>,
) -> Result<Assignment, EngineError> {
    let StepContext { hash, node, .. } = last;
    let asked = match node.edge_prompt {
        Some(asked) => asked,
        // Older steps do not have it.
        None => match before.route(Some(&runner.signals))? {
            Ok(Route::To(assignment)) if assignment.role == node.role => assignment.prompt,
            Ok(_) | Err(_) => String::new(),
        },
    };
    let redo = Occasion::Redo { asked, step: hash };
    let location = node.cwd.filter(|cwd| !cwd.is_empty());
    let prompt = redo.instruction(prompt);
    Ok(assign(&before.program, node.role, prompt, location))
}
