//! `uwf cas stats` and `uwf cas repair`.

use uwf_engine::{NodeSource, RepairMode, RepairOptions};
use uwf_protocol::exit::Exit;

use crate::args::RepairArgs;
use crate::commands::Context;
use crate::commands::thread::open_bundle;
use crate::failure::Failure;
use crate::output::print;
use crate::text::RepairView;

pub(super) fn stats(context: &Context) -> Result<(), Failure> {
    print(&uwf_engine::store_stats(context.site())?, context.format)
}

pub(super) fn repair(context: &Context, args: RepairArgs) -> Result<Exit, Failure> {
    let from = match args.from {
        Some(path) if path.is_dir() => Some(NodeSource::Folder(path)),
        Some(path) => Some(NodeSource::Bundle(open_bundle(&path)?)),
        None => None,
    };
    let mode = match args.dry_run {
        true => RepairMode::Look,
        false => RepairMode::Repair,
    };
    let repair = uwf_engine::repair(context.site(), RepairOptions { mode, from })?;
    let is_sound = repair.is_sound();
    print(&RepairView::new(repair, mode), context.format)?;
    Ok(if is_sound { Exit::Done } else { Exit::Store })
}
