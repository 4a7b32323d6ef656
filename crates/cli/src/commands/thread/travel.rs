//! `uwf thread export` and `uwf thread import`.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, IsTerminal, Read};
use std::path::Path;

use uwf_engine::{
    BundleError, Diverging, EngineError, Exported, WaitingAnswer, all_threads, export_threads,
    import_threads,
};
use uwf_protocol::exit::Exit;
use uwf_protocol::ids::ThreadId;
use uwf_util::shell_words;

use crate::args::{ExportArgs, ImportArgs};
use crate::commands::Context;
use crate::failure::{Failure, note};
use crate::hints;
use crate::named_file;
use crate::output::print;
use crate::text::{ExportedView, ImportedView};

/// The path that stands for standard input or output.
const STANDARD: &str = "-";

pub(super) fn export(context: &Context, args: &ExportArgs) -> Result<Exit, Failure> {
    let threads = chosen(context, args)?;
    for thread in &threads {
        if let Some(WaitingAnswer { role, .. }) =
            uwf_engine::waiting_answer(context.site(), *thread)
        {
            note(&format!(
                "an answer of `{role}` waits in {thread} and stays here: no step has it yet"
            ));
        }
    }
    if args.output == Path::new(STANDARD) {
        let exported = to_stdout(context, &threads)?;
        note(&ExportedView::new(exported, None).sentence());
    } else {
        let exported = named_file::write_private(context.site(), &args.output, |out| {
            Ok(export_threads(context.site(), &threads, out)?)
        })?;
        print(
            &ExportedView::new(exported, Some(&args.output)),
            context.format,
        )?;
    }
    Ok(Exit::Done)
}

fn chosen(context: &Context, args: &ExportArgs) -> Result<Vec<ThreadId>, Failure> {
    if args.all {
        return Ok(all_threads(context.site())?);
    }
    let threads = args.threads.iter().map(|thread| context.thread(thread));
    threads.collect()
}

fn to_stdout(context: &Context, threads: &[ThreadId]) -> Result<Exported, Failure> {
    if io::stdout().is_terminal() {
        return Err(
            Failure::usage("a bundle is not text, and standard output is a terminal")
                .hint("name a file with `-o`, or send the output to a program"),
        );
    }
    let mut out = BufWriter::new(io::stdout().lock());
    Ok(export_threads(context.site(), threads, &mut out)?)
}

pub(super) fn import(context: &Context, args: &ImportArgs) -> Result<Exit, Failure> {
    let diverging = match args.as_fork {
        true => Diverging::Fork,
        false => Diverging::Refuse,
    };
    let mut input: Box<dyn Read> = if args.bundle == Path::new(STANDARD) {
        Box::new(io::stdin().lock())
    } else {
        Box::new(BufReader::new(open(&args.bundle)?))
    };
    let imported = import_threads(context.site(), &mut input, diverging).map_err(|error| {
        let has_diverged = matches!(error, EngineError::Bundle(BundleError::Diverged(_)));
        let failure = Failure::from(error);
        match args.bundle.to_str() {
            Some(bundle) if has_diverged => {
                failure.hint(hints::bundle::as_fork(&shell_words::quote(bundle)))
            }
            Some(_) | None => failure,
        }
    })?;
    let is_busy = imported.threads.iter().any(|one| one.outcome.is_held_up());
    print(&ImportedView(imported), context.format)?;
    Ok(if is_busy { Exit::Busy } else { Exit::Done })
}

/// Opens a bundle that a person named.
pub(crate) fn open(path: &Path) -> Result<File, Failure> {
    let unreadable = || Failure::request(format!("cannot read `{}`", path.display()));
    match uwf_durable::open(path) {
        Ok(Some(file)) => Ok(file),
        Ok(None) => Err(unreadable().cause(&"there is no such file")),
        Err(error) => Err(unreadable().cause(&error)),
    }
}
