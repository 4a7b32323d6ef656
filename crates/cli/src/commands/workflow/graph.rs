//! `uwf workflow graph`.

use std::path::Path;

use uwf_engine::GraphView;
use uwf_words::graph::svg;

use super::note_hidden;
use crate::args::GraphArgs;
use crate::commands::Context;
use crate::failure::Failure;
use crate::named_file;
use crate::output::{Drawing, Form, Format, print, rendered, write_document};
use crate::text::{Page, dot, mermaid};

pub(super) fn run(context: &Context, args: &GraphArgs) -> Result<(), Failure> {
    let form = form(context, args)?;
    let view = view(context, args)?;
    note_hidden(view.hidden.as_ref());
    let Some(file) = file(args) else {
        return match form {
            Form::Data(format) => print(&view, format),
            Form::Drawing(drawing) => write_document(&drawn(&view, drawing)?, &context.pager),
        };
    };
    let text = match form {
        Form::Data(format) => rendered(&view, format, Page::default())?,
        Form::Drawing(drawing) => drawn(&view, drawing)?,
    };
    let text = format!("{}\n", text.trim_end());
    match args.thread {
        Some(_) => named_file::write_private_text(context.site(), file, &text),
        None => named_file::write(context.site(), file, &text),
    }
}

/// Returns the file to write; `-` stands for standard output.
fn file(args: &GraphArgs) -> Option<&Path> {
    let file = args.output.as_deref();
    file.filter(|file| *file != Path::new("-"))
}

/// Returns the graph of the workflow, or that of the workflow that the thread runs.
fn view(context: &Context, args: &GraphArgs) -> Result<GraphView, Failure> {
    let site = context.site();
    let named = match &args.workflow {
        Some(workflow) => Some(uwf_engine::workflow_graph(site, workflow)?),
        None => None,
    };
    let Some(thread) = &args.thread else {
        return named.ok_or_else(|| Failure::usage("a workflow or --thread is needed"));
    };
    let id = context.thread(thread)?;
    let view = uwf_engine::thread_graph(site, id)?;
    match named.filter(|named| named.workflow != view.workflow) {
        Some(other) => Err(Failure::request(format!(
            "thread `{id}` runs the workflow `{}`, not `{}`",
            view.workflow, other.workflow
        ))
        .hint(format!(
            "`uwf workflow graph --thread {id}` draws the workflow that it runs"
        ))),
        None => Ok(view),
    }
}

/// Returns the format: that of the option, else that of the file's name, else the usual one.
fn form(context: &Context, args: &GraphArgs) -> Result<Form, Failure> {
    match (args.format, file(args)) {
        (Some(form), _) => Ok(form),
        (None, Some(file)) => of_name(file),
        (None, None) => Ok(Form::Data(context.format)),
    }
}

/// Returns the format that the ending of a file's name means.
fn of_name(file: &Path) -> Result<Form, Failure> {
    let ending = file.extension().and_then(|ending| ending.to_str());
    match ending.map(str::to_ascii_lowercase).as_deref() {
        Some("svg") => Ok(Form::Drawing(Drawing::Svg)),
        Some("dot" | "gv") => Ok(Form::Drawing(Drawing::Dot)),
        Some("mmd" | "mermaid") => Ok(Form::Drawing(Drawing::Mermaid)),
        Some("json") => Ok(Form::Data(Format::Json)),
        Some("yaml" | "yml") => Ok(Form::Data(Format::Yaml)),
        Some("txt") => Ok(Form::Data(Format::Text)),
        _ => Err(Failure::usage(format!(
            "the name `{}` does not tell a format",
            file.display()
        ))
        .hint("add `--format svg`, or let the name end in .svg, .dot, .mmd, .json, .yaml or .txt")),
    }
}

fn drawn(view: &GraphView, drawing: Drawing) -> Result<String, Failure> {
    match drawing {
        Drawing::Mermaid => Ok(mermaid(view)),
        Drawing::Dot => Ok(dot(view)),
        Drawing::Svg => svg(view).map_err(|error| {
            Failure::request(format!("`{}` cannot be drawn as a picture", view.name))
                .cause(&error)
                .hint("`--format dot` and `--format mermaid` leave the layout to other programs")
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> Option<Form> {
        of_name(Path::new(name)).ok()
    }

    #[test]
    fn the_ending_of_a_name_tells_the_format() {
        assert_eq!(named("a/b.svg"), Some(Form::Drawing(Drawing::Svg)));
        assert_eq!(named("b.GV"), Some(Form::Drawing(Drawing::Dot)));
        assert_eq!(named("b.x.json"), Some(Form::Data(Format::Json)));
        assert_eq!(named("svg"), None);
        assert_eq!(named("b.png"), None);
    }
}
