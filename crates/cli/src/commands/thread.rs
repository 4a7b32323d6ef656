//! `uwf thread …`.

pub(super) mod background;
mod care;
mod chosen_remote;
mod cost;
mod dry_run;
mod files;
mod following;
mod idle;
pub(super) mod jobs;
mod listing;
mod live;
mod many;
mod naming;
mod next;
mod next_try;
mod parallel;
mod paused_here;
mod reading;
mod remote_list;
mod resting;
mod running;
mod sessions;
mod step_command;
mod stepping;
mod tally;
mod travel;
mod waiting;
mod worker_count;
mod working;

use uwf_engine::{StartOptions, Started};
use uwf_protocol::exit::Exit;

use crate::args::{Deferred, StartArgs, SummarizeArgs, ThreadCommand};
use crate::commands::workflow::{note_hidden, warn_all};
use crate::commands::{Context, fork, sharing, step};
use crate::failure::{Failure, warn};
use crate::hints;
use crate::input::prompt_text;
use crate::output::print;
use crate::text::{ShownView, StartedView, SummarizedView};

pub(crate) use listing::costly;
pub(crate) use running::run_new;
use step_command::run_steps;
use stepping::{Said, intervene};
pub(crate) use travel::open as open_bundle;
pub(crate) use working::work;

pub(crate) fn run(context: &Context, command: ThreadCommand) -> Result<Exit, Failure> {
    match command {
        ThreadCommand::Start(Deferred(args)) => start(context, args),
        ThreadCommand::Step(args) => run_steps(context, &args),
        ThreadCommand::Run(args) => running::run_known(context, &args),
        ThreadCommand::Wait(args) => waiting::wait(context, &args),
        ThreadCommand::Show { thread } => show(context, &thread),
        ThreadCommand::List(args) if args.remote => remote_list::list(context, &args),
        ThreadCommand::List(args) if args.watch => live::watch(context, &args),
        ThreadCommand::List(args) => listing::list(context, &args),
        ThreadCommand::Cost(args) => cost::cost(context, &args),
        ThreadCommand::Top => live::top(context),
        ThreadCommand::Steps { thread } => step::list(context, &thread),
        ThreadCommand::Sessions(args) => sessions::sessions(context, &args),
        ThreadCommand::Read(args) => reading::read(context, &args),
        ThreadCommand::Tail(args) => following::tail(context, &args),
        ThreadCommand::Summarize(args) => summarize(context, &args),
        ThreadCommand::Diff(args) => files::diff(context, &args),
        ThreadCommand::Restore(args) => files::restore(context, &args),
        ThreadCommand::Fork(Deferred(args)) => fork::fork(context, args),
        ThreadCommand::Migrate(args) => fork::migrate(context, &args),
        ThreadCommand::StepDetails { step } => step::details_as_yaml(context, &step),
        ThreadCommand::Rename(Deferred(args)) => naming::rename(context, args),
        ThreadCommand::Label(args) => naming::label(context, &args),
        ThreadCommand::Kill(args) => care::kill(context, &args),
        ThreadCommand::Pause(args) => care::pause(context, &args),
        ThreadCommand::Unpause(args) => care::unpause(context, &args),
        ThreadCommand::Rm(args) => care::rm(context, &args),
        ThreadCommand::Prune(args) => care::prune(context, &args),
        ThreadCommand::Export(args) => travel::export(context, &args),
        ThreadCommand::Import(args) => travel::import(context, &args),
        ThreadCommand::Resume(Deferred(args)) => intervene(
            context,
            uwf_engine::resume,
            &args.thread,
            Said {
                prompt: args.prompt,
                restore: false,
                how: args.how,
            },
        ),
        ThreadCommand::Poke(Deferred(args)) => intervene(
            context,
            uwf_engine::poke,
            &args.thread,
            Said {
                prompt: args.prompt,
                restore: args.restore,
                how: args.how,
            },
        ),
    }
}

fn start(context: &Context, args: StartArgs) -> Result<Exit, Failure> {
    let started = start_thread(context, args)?;
    print(&StartedView::from(started), context.format)?;
    Ok(Exit::Done)
}

/// Starts a thread, and says what is worth knowing about its workflow.
fn start_thread(context: &Context, args: StartArgs) -> Result<Started, Failure> {
    let options = StartOptions {
        prompt: prompt_text(args.prompt)?,
        cwd: args.cwd,
        naming: args.naming.into(),
    };
    let site = context.site();
    let started = uwf_engine::start(site, &args.workflow, &options)
        .map_err(|error| sharing::may_be_there(site, error))?;
    note_hidden(started.hidden.as_ref());
    warn_all(&started.warnings);
    Ok(started)
}

fn summarize(context: &Context, args: &SummarizeArgs) -> Result<Exit, Failure> {
    let thread = context.thread(&args.thread)?;
    let summarized =
        || uwf_engine::summarize_thread(&context.runner, thread, args.model.as_deref());
    if args.detached {
        background::leave_session_if(true)?;
        // The call that started this one may see its exit code, and must not take it for that of an agent.
        let _ = summarized();
        return Ok(Exit::Done);
    }
    let summary = summarized()?;
    print(&SummarizedView { thread, summary }, context.format)?;
    Ok(Exit::Done)
}

fn show(context: &Context, thread: &str) -> Result<Exit, Failure> {
    let mut view = uwf_engine::show(context.site(), context.thread(thread)?)?;
    if let Some(reason) = &view.unnamed {
        warn(&format!("the name of the thread cannot be read: {reason}"));
    }
    view.hint = hints::thread::hint_here(&view);
    let shown = ShownView {
        thread: view,
        now_ms: context.site().env.now_ms(),
    };
    print(&shown, context.format)?;
    Ok(Exit::Done)
}
