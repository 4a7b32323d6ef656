//! `uwf workflow diff` and `export`.

use std::path::Path;

use uwf_engine::{Difference, WorkflowFile, WorkflowText};

use crate::args::{WorkflowDiffArgs, WorkflowExportArgs};
use crate::commands::Context;
use crate::failure::{Failure, note, warn};
use crate::named_file;
use crate::output::{print_long, print_source};

pub(super) fn diff(context: &Context, args: &WorkflowDiffArgs) -> Result<(), Failure> {
    let site = context.site();
    let difference = match &args.other_workflow {
        Some(other) => uwf_engine::diff_workflows(site, &args.workflow, other)?,
        None => uwf_engine::diff_with_registered(site, &args.workflow)?,
    };
    print_long(&difference, context.format, &context.pager)
}

pub(super) fn export(context: &Context, args: &WorkflowExportArgs) -> Result<(), Failure> {
    let file = args.output.as_deref();
    match file.filter(|file| *file != Path::new("-")) {
        Some(file) => export_files(context, &args.workflow, file),
        None => export_text(context, &args.workflow),
    }
}

fn export_text(context: &Context, workflow: &str) -> Result<(), Failure> {
    let exported = uwf_engine::export_workflow(context.site(), workflow)?;
    warn_of_difference(&exported);
    if exported.plays_by_hash {
        note(&format!(
            "the workflows that play its roles are named by their hashes; `-o {}.yaml` writes them, too",
            exported.name
        ));
    }
    print_source(
        &exported.data,
        &exported.text,
        context.asked,
        &context.pager,
    )
}

/// Writes a workflow as a file, and the workflows that play its roles beside it.
fn export_files(context: &Context, workflow: &str, file: &Path) -> Result<(), Failure> {
    let site = context.site();
    let name = file.file_name().unwrap_or(file.as_os_str());
    let files = uwf_engine::export_workflow_files(site, workflow, &name.to_string_lossy())?;
    let (first, others) = files.split_first().expect("the workflow itself is written");
    let folder = file.parent().unwrap_or(Path::new(""));
    let beside = |other: &WorkflowFile| folder.join(&other.path);
    let taken = others.iter().find(|other| is_other(&beside(other), other));
    if let Some(taken) = taken {
        return Err(is_there(&beside(taken), file));
    }
    files
        .iter()
        .for_each(|file| warn_of_difference(&file.workflow));
    let exported = &first.workflow;
    if file
        .file_stem()
        .is_none_or(|stem| stem != exported.name.as_str())
    {
        warn(&format!(
            "`{}` is not named after the workflow: `uwf workflow put` wants `{}.yaml`",
            file.display(),
            exported.name
        ));
    }
    named_file::write_in_folder(site, file, &exported.text)?;
    for other in others {
        let path = beside(other);
        named_file::write_in_folder(site, &path, &other.workflow.text)?;
        note(&format!("`{}` is written, too", path.display()));
    }
    Ok(())
}

/// Tells whether something else is in the place of a file.
fn is_other(path: &Path, file: &WorkflowFile) -> bool {
    path.symlink_metadata().is_ok() && !named_file::contains(path, &file.workflow.text)
}

fn is_there(path: &Path, file: &Path) -> Failure {
    let what = format!(
        "`{}` is there already with other content, and is not overwritten",
        path.display()
    );
    let name = file.file_name().unwrap_or(file.as_os_str());
    Failure::request(what).hint(format!(
        "a workflow that plays a role is written there: name another folder, as in `-o export/{}`",
        name.display()
    ))
}

/// Warns if the text does not give the same workflow again.
fn warn_of_difference(exported: &WorkflowText) {
    match &exported.differs {
        Some(Difference::Hash(other)) => warn(&format!(
            "another program stored this workflow: registered again, it is `{other}` and not `{}`",
            exported.hash
        )),
        Some(Difference::Refused) => warn(
            "another program stored this workflow: `uwf workflow validate` names what is wrong with it",
        ),
        None => {}
    }
}
