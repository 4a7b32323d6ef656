//! One step of a thread, and its siblings: start, resume, poke, fork, kill, adopt; and the views that commands
//! print of them.
//!
//! The engine decides with pure functions of the moderator, starts agents as processes, checks what they
//! answer and moves heads. It never parses an answer's text and never knows which agent is behind a
//! command; it prints nothing.

mod adopt;
mod agent_command;
mod agent_hints;
mod answer;
mod attempt;
mod chain;
mod commit;
mod conditions;
mod context;
mod contract;
mod cycle;
mod error;
mod failure;
mod fork;
mod gc;
mod kill;
mod limits;
mod owned;
mod poke;
mod process;
mod register;
mod remedy;
mod resume;
mod slots;
mod start;
mod store_error;
mod tags;
mod thread;
mod view;
mod words;
mod workflow_ref;

use uwf_cas_fs::Store;
use uwf_process::Signals;
use uwf_storage::{Env, Root};

pub use attempt::orphans;
pub use conditions::{EVALUATOR_DOOR, evaluate_conditions};
pub use cycle::{Intervention, Session, StepOptions, step};
pub use error::{EngineError, agent_option};
pub use failure::AgentFailure;
pub use fork::{Forked, fork};
pub use gc::{GcOptions, LEAST_GRACE_MS, USUAL_GRACE_MS, VerifiedStore, broken, gc, verify};
pub use kill::{Killed, kill};
pub use poke::poke;
pub use register::{Checked, Registered, check_file, put_workflow};
pub use remedy::Remedy;
pub use resume::resume;
pub use slots::NoSlot;
pub use start::{StartOptions, Started, start};
pub use store_error::store_exit;
pub use view::activity::{AttemptView, RunningView};
pub use view::list::{ListFilter, ThreadItem, ThreadList, list};
pub use view::read::{ReadOptions, ThreadStory, read_thread};
pub use view::report::{Standing, StepReport, ThreadStatus};
pub use view::show::{ThreadView, show};
pub use view::step_data::{step_details, thread_of};
pub use view::step_detail::{StepPrompt, StepReadOptions, StepTurns, read_step, read_step_prompt};
pub use view::steps::{StartEntry, StepEntry, StepsEntry, StepsView, steps};
pub use view::story::StepStory;
pub use view::turns::{Answers, Call, Turn};
pub use view::workflows::{
    WorkflowItem, WorkflowOrigin, WorkflowView, list_workflows, show_workflow,
};
pub use workflow_ref::Origin;

/// What every operation works on: the machine, the storage root and the store.
pub struct Engine {
    /// What the machine says: variables, directory, clock.
    pub env: Env,
    /// The storage root.
    pub root: Root,
    /// The content-addressed store.
    pub store: Store,
    /// The names of the built-in adapters, without `uwf-`.
    pub built_in_agents: &'static [&'static str],
    /// The signals of this process.
    pub signals: Signals,
    /// Whether the agent's stderr is shown while it runs.
    pub agent_output: AgentOutput,
    /// Tells the user on the spot what a call is waiting for.
    pub notice: fn(&str),
}

/// What happens to the agent's stderr while it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentOutput {
    /// It is kept in a file of the run only.
    Kept,
    /// It is also copied to our stderr.
    Shown,
}
