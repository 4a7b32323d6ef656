//! `uwf orchestrate …`.

mod clean;
mod logs;
mod looking;
mod place;
mod queues;
mod resume;
mod run;
mod run_step;
mod secrets;
mod watch;
mod work;

use std::io;
use std::path::Path;

use serde_json::{Map, Value};
use uwf_pipeline::{
    ContextUse, Loaded, MAX_FILE_BYTES, Pipeline, Problem, dot, graph, is_workflow, load, mermaid,
    status_problems,
};
use uwf_protocol::exit::Exit;
use uwf_protocol::ids::ThreadId;
use uwf_util::text::counted;

use crate::args::PlaceArgs;
use crate::args::{OrchestrateCommand, PipelineGraphArgs, StatusJsonCommand};
use crate::commands::Context;
use crate::failure::{Failure, warn};
use crate::hints;
use crate::output::{Drawing, Form, Format, print, print_line, print_yaml, write_document};
use crate::text::{InvalidPipeline, StatusView, ValidPipeline, problem_line, told};

/// Finds a run of the current folder by its id.
pub(super) fn find_run(context: &Context, name: &str) -> Result<ThreadId, Failure> {
    place::find(context, &PlaceArgs::default(), name)
}

/// Finds a thread as every thread is named, or a run of the current folder by its id.
pub(super) fn thread_or_run(context: &Context, name: &str) -> Result<ThreadId, Failure> {
    context.thread(name).or_else(|unknown| {
        let run = find_run(context, name);
        run.map_err(|_| unknown)
    })
}

pub(super) fn run(context: &Context, command: OrchestrateCommand) -> Result<Exit, Failure> {
    match command {
        OrchestrateCommand::Run(args) => return run::run(context, &args),
        OrchestrateCommand::Resume(args) => return resume::run(context, &args),
        OrchestrateCommand::RunStep(args) => return run_step::run(context, &args),
        OrchestrateCommand::Watch(args) => return watch::run(context, &args),
        OrchestrateCommand::List(args) => looking::list(context, &args)?,
        OrchestrateCommand::Status(args) => looking::status(context, &args)?,
        OrchestrateCommand::Report(args) => looking::report(context, &args)?,
        OrchestrateCommand::Logs(args) => logs::run(context, &args)?,
        OrchestrateCommand::Clean(args) => return clean::run(context, &args),
        OrchestrateCommand::Validate { file } => validate(context, &file)?,
        OrchestrateCommand::Graph(args) => draw(context, &args)?,
        OrchestrateCommand::StatusJson { command } => match command {
            StatusJsonCommand::Validate { file } => validate_status(context, &file)?,
        },
        OrchestrateCommand::Task { command } => return queues::run(context, command),
    }
    Ok(Exit::Done)
}

fn validate(context: &Context, file: &Path) -> Result<(), Failure> {
    let loaded = match read(file)? {
        Err(problems) if context.format != Format::Text => {
            print(&InvalidPipeline::from(&*problems), context.format)?;
            return Err(invalid(file, &problems));
        }
        loaded => loaded.map_err(|problems| invalid(file, &problems))?,
    };
    warn_all(&loaded.warnings);
    print(&ValidPipeline::from(&loaded), context.format)
}

fn draw(context: &Context, args: &PipelineGraphArgs) -> Result<(), Failure> {
    let loaded = read(&args.file)?.map_err(|problems| invalid(&args.file, &problems))?;
    warn_all(&loaded.warnings);
    let graph = graph(&loaded.pipeline);
    match args.format.unwrap_or(Form::Drawing(Drawing::Mermaid)) {
        Form::Drawing(Drawing::Dot) => write_document(&dot(&graph), &context.pager),
        Form::Drawing(_) | Form::Data(Format::Text) => {
            write_document(&mermaid(&graph), &context.pager)
        }
        Form::Data(Format::Json) => print_line(&graph),
        Form::Data(Format::Yaml) => print_yaml(&graph),
    }
}

/// Reads a workflow file: its pipeline, or what is wrong with it.
fn read(file: &Path) -> Result<Result<Loaded, Vec<Problem>>, Failure> {
    let bytes = bytes_of(file, "name the YAML file of a pipeline")?;
    Ok(load_told(&bytes, file))
}

/// Reads the text of a workflow file. One of the other language has one mistake only.
fn load_told(source: &[u8], file: &Path) -> Result<Loaded, Vec<Problem>> {
    load(source, &file.to_string_lossy()).map_err(|problems| match is_workflow(source) {
        true => vec![hints::pipeline::of_other_language(file)],
        false => problems,
    })
}

fn validate_status(context: &Context, file: &Path) -> Result<(), Failure> {
    let bytes = bytes_of(file, "agents usually write `artifacts/<agent>/status.json`")?;
    if bytes.len() > MAX_FILE_BYTES {
        let most = MAX_FILE_BYTES >> 20;
        return Err(
            Failure::usage(format!("`{}` is larger than {most} MiB", file.display()))
                .hint("put large results into files of their own: `outputs` names them"),
        );
    }
    let problems = status_problems(&bytes);
    let view = StatusView::new(file, &problems);
    print(&view, context.format)?;
    if problems.is_empty() {
        return Ok(());
    }
    let mistakes = counted(problems.len(), "mistake");
    Err(Failure {
        causes: view.lines(),
        ..Failure::usage(format!("`{}` has {mistakes}", file.display()))
    }
    .hint("`docs/orchestrate.md` says what such a file contains"))
}

/// Returns the beginning of a file. One byte more than a file may have shows that it is too large.
fn bytes_of(file: &Path, hint: &str) -> Result<Vec<u8>, Failure> {
    let unread = || Failure::usage(format!("cannot read `{}`", file.display()));
    match uwf_durable::read_start(file, MAX_FILE_BYTES + 1) {
        Ok(Some(bytes)) => Ok(bytes),
        Ok(None) => Err(unread().cause(&"there is no such file").hint(hint)),
        Err(error) => Err(unread().cause(&io::Error::from(error))),
    }
}

/// Returns the failure of a file with mistakes. Its warnings are said as those of a usable file.
fn invalid(file: &Path, problems: &[Problem]) -> Failure {
    let (warnings, mistakes): (Vec<&Problem>, Vec<&Problem>) = problems
        .iter()
        .partition(|problem| problem.code.is_warning());
    let (told_warnings, more_warnings) = told(&warnings);
    for warning in told_warnings {
        warn(&problem_line(warning));
    }
    if more_warnings > 0 {
        warn(&format!("and {}", counted(more_warnings, "more warning")));
    }
    let count = counted(mistakes.len(), "mistake");
    let what = match warnings.len() {
        0 => format!("`{}` has {count}", file.display()),
        more => {
            let more = counted(more, "warning");
            format!("`{}` has {count} and {more}", file.display())
        }
    };
    if let [only] = mistakes.as_slice()
        && let Some(hint) = only.hint.as_ref().filter(|hint| hint.starts_with("`uwf "))
    {
        return Failure::usage(what).cause(only).hint(hint);
    }
    let (told_mistakes, more) = told(&mistakes);
    let more = (more > 0).then(|| format!("and {}", counted(more, "more mistake")));
    let causes = told_mistakes.iter().map(|mistake| problem_line(mistake));
    Failure {
        causes: causes.chain(more).collect(),
        ..Failure::usage(what)
    }
}

/// Fails if a variable of a pipeline has no value in the context of a run: nothing is run that a step without it would stop.
fn need_context(
    loaded: &Loaded,
    pipeline: &Pipeline,
    values: &Map<String, Value>,
) -> Result<(), Failure> {
    let missing = loaded.missing_context(pipeline, values);
    let [first, ..] = missing.as_slice() else {
        return Ok(());
    };
    let count = counted(missing.len(), "value");
    let what = format!("`{}` lacks {count} of the context", first.place.file);
    let problems = missing.iter().map(ContextUse::problem);
    let failure = Failure {
        causes: problems.map(|problem| problem_line(&problem)).collect(),
        ..Failure::usage(what)
    };
    Err(failure.hint(hints::pipeline::of_missing(&missing)))
}

/// Warns of what the author probably did not mean.
fn warn_all(warnings: &[Problem]) {
    for warning in warnings {
        warn(&problem_line(warning));
    }
}
