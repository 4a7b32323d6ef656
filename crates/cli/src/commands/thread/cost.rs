//! `uwf thread cost`.

use uwf_engine::{CostKey, CostOptions};
use uwf_protocol::exit::Exit;
use uwf_storage::State;

use crate::args::CostArgs;
use crate::commands::{Context, past_time};
use crate::failure::{Failure, warn};
use crate::output::print;

pub(super) fn cost(context: &Context, args: &CostArgs) -> Result<Exit, Failure> {
    let threads = args.threads.iter().map(|thread| context.thread(thread));
    let threads = threads.collect::<Result<Vec<_>, _>>()?;
    let usual = match threads.len() {
        1 => CostKey::Role,
        _ => CostKey::Thread,
    };
    let since_ms = args.since.as_deref().map(|text| past_time(context, text));
    let options = CostOptions {
        by: args.by.map_or(usual, CostKey::from),
        since_ms: since_ms.transpose()?,
        threads,
        labels: args.labels.clone(),
    };
    let report = uwf_engine::cost(context.site(), &options)?;
    for warning in &report.warnings {
        warn(warning);
    }
    print(&report, context.format)?;
    // A damaged line must not hide the sum of all other threads, so the check comes after it.
    State::new(&context.site().root).check()?;
    Ok(Exit::Done)
}
