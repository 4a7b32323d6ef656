//! `uwf init`: writes a workflow to begin with, the answers of a mock for it, and notes.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use uwf_protocol::exit::Exit;
use uwf_util::shell_words;

use crate::args::InitArgs;
use crate::bundled_templates::{BundledTemplate, TEMPLATES};
use crate::commands::Context;
use crate::failure::Failure;
use crate::hints;
use crate::named_file;
use crate::output::print;
use crate::text::{InitializedView, NextCommands, TemplateItem};

pub(crate) fn run(context: &Context, args: &InitArgs) -> Result<Exit, Failure> {
    let chosen = args.template.as_deref().and_then(BundledTemplate::named);
    let Some(template) = chosen else {
        let items = TEMPLATES.iter().map(|template| TemplateItem {
            name: template.name,
            description: template.description(),
        });
        print(&items.collect::<Vec<_>>(), context.format)?;
        return Ok(Exit::Done);
    };
    let cwd = context.site().env.cwd();
    let dir = args
        .dir
        .as_deref()
        .map_or_else(|| cwd.to_owned(), |dir| cwd.join(dir));
    let files = write_new(template, &dir)?;
    let view = InitializedView {
        template: template.name,
        description: template.description(),
        files,
        next: next(template, args.dir.as_deref()),
    };
    print(&view, context.format)?;
    Ok(Exit::Done)
}

/// Writes the files of a template that are not there, and none if another one is in the place of one. Returns the paths of all.
fn write_new(template: &BundledTemplate, dir: &Path) -> Result<Vec<PathBuf>, Failure> {
    let files = template.files().into_iter();
    let files: Vec<_> = files.map(|(name, text)| (dir.join(name), text)).collect();
    let mut missing = Vec::new();
    for (path, text) in &files {
        match path.symlink_metadata() {
            Err(_) => missing.push((path, *text)),
            Ok(_) if named_file::contains(path, text) => {}
            Ok(_) => return Err(is_there(template, path)),
        }
    }
    std::fs::create_dir_all(dir).map_err(|error| {
        Failure::request(format!("cannot make the folder `{}`", dir.display())).cause(&error)
    })?;
    for (path, text) in missing {
        let file = File::options().write(true).create_new(true).open(path);
        match file.and_then(|mut file| file.write_all(text.as_bytes())) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(is_there(template, path));
            }
            Err(error) => {
                let what = format!("cannot write `{}`", path.display());
                return Err(Failure::request(what).cause(&error));
            }
        }
    }
    Ok(files.into_iter().map(|(path, _)| path).collect())
}

fn is_there(template: &BundledTemplate, path: &Path) -> Failure {
    let what = format!(
        "`{}` is there already with other content, and is not overwritten",
        path.display()
    );
    Failure::request(what).hint(format!(
        "name another folder: `uwf init {} <dir>`",
        template.name
    ))
}

/// Returns the commands that run the workflow, for somebody who types them in the working directory.
fn next(template: &BundledTemplate, dir: Option<&Path>) -> NextCommands {
    let workflow = template.workflow_file();
    let run = ["uwf", "run", &workflow, "-p", template.task];
    let agent = format!("uwf-mock {}", template.script_file());
    let with_mock = shell_words::join(run.into_iter().chain(["--agent", &agent]));
    NextCommands {
        folder: dir.map(|dir| format!("cd {}", shell_words::quote(&dir.display().to_string()))),
        with_mock: hints::here(&with_mock).into_owned(),
        set_up: hints::here("uwf setup").into_owned(),
        with_agent: hints::here(&shell_words::join(run)).into_owned(),
    }
}
