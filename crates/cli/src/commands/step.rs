//! `uwf step …`, and the commands of `uwf thread …` that do the same.

use std::io::{self, BufWriter, ErrorKind, Write as _};

use uwf_engine::{EngineError, Overwrite, StepReadOptions};
use uwf_protocol::exit::Exit;

use crate::args::{StepCommand, StepExportArgs, StepReadArgs};
use crate::commands::{Context, fork};
use crate::failure::Failure;
use crate::named_file;
use crate::output::{print, print_document, write, yaml};
use crate::text::{ArtifactsView, DetailView, ExportedArtifactsView};

pub(crate) fn run(context: &Context, command: StepCommand) -> Result<Exit, Failure> {
    match command {
        StepCommand::List { thread } => list(context, &thread),
        StepCommand::Show { step } => show(context, &step),
        StepCommand::Read(args) => read(context, &args),
        StepCommand::Artifacts { step } => artifacts(context, &step),
        StepCommand::Cat { step, path } => cat(context, &step, &path),
        StepCommand::Export(args) => export(context, &args),
        StepCommand::Fork(args) => fork::fork(context, args),
    }
}

pub(crate) fn list(context: &Context, thread: &str) -> Result<Exit, Failure> {
    let steps = uwf_engine::steps(context.site(), context.thread(thread)?)?;
    print(&steps, context.format)?;
    Ok(Exit::Done)
}

fn show(context: &Context, step: &str) -> Result<Exit, Failure> {
    let details = uwf_engine::step_details(context.site(), context.hash(step)?)?;
    print(&DetailView(details), context.format)?;
    Ok(Exit::Done)
}

/// Prints what a step recorded as YAML in every format.
pub(crate) fn details_as_yaml(context: &Context, step: &str) -> Result<Exit, Failure> {
    let details = uwf_engine::step_details(context.site(), context.hash(step)?)?;
    write(&yaml(&details)?)?;
    Ok(Exit::Done)
}

fn read(context: &Context, args: &StepReadArgs) -> Result<Exit, Failure> {
    let step = context.hash(&args.step)?;
    if args.prompt {
        let prompt = uwf_engine::read_step_prompt(context.site(), step)?;
        print_document(&prompt, &prompt.document, context.asked, &context.pager)?;
    } else {
        let options = StepReadOptions { quota: args.quota };
        let turns = uwf_engine::read_step(context.site(), step, &options)?;
        print_document(&turns, &turns.document, context.asked, &context.pager)?;
    }
    Ok(Exit::Done)
}

fn artifacts(context: &Context, step: &str) -> Result<Exit, Failure> {
    let artifacts = uwf_engine::artifacts(context.site(), context.hash(step)?)?;
    print(&ArtifactsView(artifacts), context.format)?;
    Ok(Exit::Done)
}

/// Prints the bytes of an artefact as they are, in every format.
fn cat(context: &Context, step: &str, path: &str) -> Result<Exit, Failure> {
    let step = context.hash(step)?;
    let mut out = Unbroken(BufWriter::new(io::stdout().lock()));
    uwf_engine::write_artifact(context.site(), step, path, &mut out)?;
    let flushed = out.flush();
    flushed.map_err(|error| Failure::request("cannot write the file").cause(&error))?;
    Ok(Exit::Done)
}

fn export(context: &Context, args: &StepExportArgs) -> Result<Exit, Failure> {
    let step = context.hash(&args.step)?;
    let overwrite = match args.force {
        true => Overwrite::Always,
        false => Overwrite::Never,
    };
    let all = || -> Result<Vec<String>, EngineError> {
        let known = uwf_engine::artifacts(context.site(), step)?.artifacts;
        Ok(known.into_iter().map(|one| one.path).collect())
    };
    let paths = match args.paths.as_slice() {
        [] => all()?,
        paths => paths.to_vec(),
    };
    for path in &paths {
        named_file::refuse_own(context.site(), &args.output.join(path))?;
    }
    let place = (args.output.as_path(), overwrite);
    let exported = uwf_engine::export_artifacts(context.site(), step, &args.paths, place)?;
    print(&ExportedArtifactsView(exported), context.format)?;
    Ok(Exit::Done)
}

/// An output whose reader may go away, which is no error.
struct Unbroken<W>(W);

impl<W: io::Write> io::Write for Unbroken<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.0.write(bytes) {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(bytes.len()),
            written => written,
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self.0.flush() {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
            flushed => flushed,
        }
    }
}
