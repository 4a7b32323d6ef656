//! `uwf thread diff`: two threads, or two steps, side by side.

use uwf_protocol::exit::Exit;

use crate::args::DiffArgs;
use crate::commands::Context;
use crate::failure::Failure;
use crate::output::print_long;
use crate::text::{StepDifferenceView, ThreadDifferenceView};

/// Compares threads if both names are names of threads. Else both name steps: a thread then stands for its head, as
/// wherever a node is wanted.
pub(super) fn diff(context: &Context, args: &DiffArgs) -> Result<Exit, Failure> {
    let site = context.site();
    let thread = |name: &str| uwf_engine::find_thread(site, name);
    if let (Ok(a), Ok(b)) = (thread(&args.a), thread(&args.b)) {
        let difference = uwf_engine::diff_threads(site, a, b)?;
        print_long(
            &ThreadDifferenceView(difference),
            context.format,
            &context.pager,
        )?;
    } else {
        let (a, b) = (context.hash(&args.a)?, context.hash(&args.b)?);
        let difference = uwf_engine::diff_steps(site, a, b)?;
        print_long(
            &StepDifferenceView(difference),
            context.format,
            &context.pager,
        )?;
    }
    Ok(Exit::Done)
}
