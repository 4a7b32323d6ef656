//! `uwf thread step --dry-run`: who is next, and what the agent would be told.

use uwf_agent_kit::KitError;
use uwf_agent_kit::context::{self, Past, Showing};
use uwf_engine::{AgentPlan, Session, StepOptions, StepPlan, ThreadAt, plan};
use uwf_protocol::agent::{AgentCall, CallForm};

use crate::commands::Context;
use crate::failure::Failure;
use crate::output::print;
use crate::text::PlanView;

pub(super) fn show(context: &Context, at: ThreadAt, options: &StepOptions) -> Result<(), Failure> {
    let thread = at.id;
    let view = match plan(&context.runner, at, options)? {
        StepPlan::Agent(plan) => {
            let prompt = prompt(context, &plan, options.session)?;
            PlanView::agent(*plan, prompt)
        }
        StepPlan::Children(role) => PlanView::children(thread, role),
        StepPlan::Visit(key) => PlanView::visit(thread, key),
        StepPlan::Commit(step) => PlanView::commit(thread, step),
        StepPlan::End => PlanView::end(thread),
    };
    print(&view, context.format)
}

/// Returns the whole prompt, as the kit of a built-in agent would build it.
fn prompt(context: &Context, plan: &AgentPlan, session: Session) -> Result<String, Failure> {
    let site = context.site();
    let call = AgentCall {
        thread: plan.thread,
        role: plan.role.clone(),
        prompt: Some(plan.instruction.clone()),
        form: CallForm::Positional,
    };
    let past = match session {
        Session::Known => Past::SinceLastStep,
        Session::New => Past::Whole,
    };
    let run = site.root.run(plan.thread);
    let read = uwf_config::load(&site.root).map_err(KitError::from);
    let read = read.and_then(|config| {
        let usual = config.unwrap_or_default().context;
        let showing = Showing { past, usual };
        context::read(&call, &site.env, &site.root, &site.store, &run, showing)
    });
    let read = read.map_err(|error| {
        Failure::request("the prompt cannot be built").cause(&uwf_util::causes::with_causes(&error))
    })?;
    Ok(read.prompt(&call, &plan.instruction))
}
