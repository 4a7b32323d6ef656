//! `uwf thread sessions`.

use uwf_engine::SessionFilter;
use uwf_protocol::exit::Exit;

use crate::args::SessionsArgs;
use crate::commands::Context;
use crate::failure::Failure;
use crate::output::print;
use crate::text::DroppedSessionsView;

pub(super) fn sessions(context: &Context, args: &SessionsArgs) -> Result<Exit, Failure> {
    let thread = context.thread(&args.thread)?;
    let filter = SessionFilter {
        role: args.role.clone(),
        agent: args.agent.clone(),
    };
    if args.drop {
        let dropped = uwf_engine::drop_sessions(&context.runner, thread, &filter)?;
        print(&DroppedSessionsView::new(thread, dropped), context.format)?;
    } else {
        let sessions = uwf_engine::sessions(context.site(), thread, &filter)?;
        print(&sessions, context.format)?;
    }
    Ok(Exit::Done)
}
