//! `uwf orchestrate resume`.

use uwf_engine::resume_pipeline;
use uwf_pipeline::nodes::ResumeNode;
use uwf_protocol::exit::Exit;

use super::place;
use super::run::on_error;
use super::work::{failed, finish, settings};
use crate::args::ResumeArgs;
use crate::commands::Context;
use crate::failure::Failure;

pub(super) fn run(context: &Context, args: &ResumeArgs) -> Result<Exit, Failure> {
    let settings = settings(context, &args.work)?;
    let thread = place::find(context, &args.place, &args.run)?;
    let resume = ResumeNode {
        lost: None,
        from: args.from.clone(),
        on_error: on_error(args.on_error),
        accepted: None,
    };
    let report = resume_pipeline(&context.runner, thread, resume, &settings);
    finish(&args.work, &report.map_err(failed)?)
}
