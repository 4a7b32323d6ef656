//! `uwf thread rename` and `uwf thread label`.

use uwf_protocol::exit::Exit;

use crate::args::{LabelArgs, RenameArgs};
use crate::commands::Context;
use crate::failure::Failure;
use crate::output::print;

pub(super) fn rename(context: &Context, args: RenameArgs) -> Result<Exit, Failure> {
    let thread = context.thread(&args.thread)?;
    let named = uwf_engine::rename(context.site(), thread, args.name)?;
    print(&named, context.format)?;
    Ok(Exit::Done)
}

pub(super) fn label(context: &Context, args: &LabelArgs) -> Result<Exit, Failure> {
    let thread = context.thread(&args.thread)?;
    let named = if args.changes.is_empty() {
        uwf_engine::naming(context.site(), thread)?
    } else {
        uwf_engine::label(context.site(), thread, &args.changes)?
    };
    print(&named, context.format)?;
    Ok(Exit::Done)
}
