//! `uwf import-store`.

use uwf_engine::{StoreImport, import_store};
use uwf_protocol::exit::Exit;

use crate::args::ImportStoreArgs;
use crate::commands::Context;
use crate::failure::Failure;
use crate::hints;
use crate::output::print;
use crate::text::StoreImportView;

pub(super) fn run(context: &Context, args: &ImportStoreArgs) -> Result<Exit, Failure> {
    let import = import_store(context.site(), &args.dir, args.cas.as_deref())?;
    let refused = refused(&import);
    let is_busy = import.threads.iter().any(|one| {
        one.result
            .as_ref()
            .is_ok_and(|outcome| outcome.is_held_up())
    });
    print(&StoreImportView::from(import), context.format)?;
    match refused {
        Some(failure) => Err(failure),
        None if is_busy => Ok(Exit::Busy),
        None => Ok(Exit::Done),
    }
}

/// How many refused threads and names a message names. The result names all.
const NAMED: usize = 5;

/// Returns what was not taken, if anything, with a hint for the first thread.
fn refused(import: &StoreImport) -> Option<Failure> {
    let threads = import.threads.iter();
    let threads: Vec<_> = threads
        .filter_map(|one| Some((one, one.result.as_ref().err()?)))
        .collect();
    let names = import.workflows.iter();
    let names: Vec<_> = names
        .filter_map(|one| Some((&one.name, one.result.as_ref().err()?)))
        .collect();
    if threads.is_empty() && names.is_empty() {
        return None;
    }
    let mut failure = Failure::request(format!(
        "{} of {} threads and {} of {} workflow names were refused",
        threads.len(),
        import.threads.len(),
        names.len(),
        import.workflows.len()
    ));
    let said = threads
        .iter()
        .map(|(one, refusal)| format!("thread `{}`: {refusal}", one.thread));
    let of_names = names
        .iter()
        .map(|(name, refusal)| format!("workflow `{name}`: {refusal}"));
    let all = threads.len() + names.len();
    for cause in said.chain(of_names).take(NAMED) {
        failure = failure.cause(&cause);
    }
    if all > NAMED {
        failure = failure.cause(&format!("and {} more, which the result names", all - NAMED));
    }
    Some(match threads.first() {
        Some((one, refusal)) => failure.hint(hints::foreign::refused(one, refusal, &import.nodes)),
        None => failure,
    })
}
