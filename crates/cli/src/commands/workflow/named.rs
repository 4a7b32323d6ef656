//! `uwf workflow diff` and `export`.

use std::path::Path;

use uwf_engine::{Difference, WorkflowText};

use crate::args::{WorkflowDiffArgs, WorkflowExportArgs};
use crate::commands::Context;
use crate::failure::{Failure, warn};
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
    let exported = uwf_engine::export_workflow(context.site(), &args.workflow)?;
    warn_of_difference(&exported);
    let file = args.output.as_deref();
    let Some(file) = file.filter(|file| *file != Path::new("-")) else {
        return print_source(
            &exported.data,
            &exported.text,
            context.asked,
            &context.pager,
        );
    };
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
    named_file::write(context.site(), file, &exported.text)
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
