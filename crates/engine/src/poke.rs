//! Doing the newest step of a thread again: the new step takes the place of the old one.
//!
//! Nothing is lost by it. The replaced step stays in the store, and the history tells which step replaced it.

use uwf_moderator::{Assignment, Route};
use uwf_protocol::chain::StepContext;
use uwf_protocol::ids::ThreadId;

use crate::adopt::{Adoption, adopt};
use crate::cycle::{Job, play};
use crate::failure::Verb;
use crate::owned::with_thread;
use crate::thread::{self, Thread};
use crate::view::report::StepReport;
use crate::words::Occasion;
use crate::{Engine, EngineError, Intervention, limits, tags};

/// Runs the role of the newest step again, with its answer and what a person says about it. Where the graph leads
/// from there does not matter: a thread that asks, or is blocked, can be poked, too.
///
/// # Errors
/// When there is no step, or as for a step.
pub fn poke(
    engine: &Engine,
    id: ThreadId,
    options: &Intervention,
) -> Result<StepReport, EngineError> {
    with_thread(engine, id, |run| {
        let head = thread::active_head(engine, id)?;
        let thread = Thread::load(&engine.store, id, head)?;
        limits::raise(engine, run, &thread, &options.raises)?;
        let thread = match adopt(engine, run, thread)? {
            Adoption::Taken(report) => return Ok(*report),
            Adoption::Nothing(thread) => *thread,
        };
        limits::accept(engine, run, &thread, &options.accepts)?;
        let without = thread.without_last(&engine.store)?;
        let (before, last) = without.ok_or(EngineError::NoStep(id))?;
        let assignment = again(engine, &before, last, options.prompt.as_deref())?;
        let admitted = limits::admit(engine, run, &before, &assignment.role)?;
        let message = format!("role={} replaces={head}", assignment.role);
        engine.log(&before, tags::POKED, &message);
        let job = Job {
            assignment: &assignment,
            admitted,
            options: &options.step,
            verb: Verb::Poke(options.prompt.clone()),
        };
        play(engine, run, before, job)
    })
}

/// Returns what the role is told: its instruction as it was, and what is said about the answer. The answer itself
/// is read by the agent, which knows the step.
fn again(
    engine: &Engine,
    before: &Thread,
    last: StepContext,
    prompt: Option<&str>,
) -> Result<Assignment, EngineError> {
    let StepContext { hash, node, .. } = last;
    let asked = match node.edge_prompt {
        Some(asked) => asked,
        // Older steps do not have it.
        None => match before.route(engine)? {
            Ok(Route::To(assignment)) if assignment.role == node.role => assignment.prompt,
            Ok(_) | Err(_) => String::new(),
        },
    };
    let redo = Occasion::Redo { asked, step: hash };
    Ok(Assignment {
        role: node.role,
        prompt: redo.instruction(prompt),
        location: node.cwd.filter(|cwd| !cwd.is_empty()),
    })
}
