//! Reading a workflow file: from its bytes to a pipeline, or to everything that is wrong with it.
//!
//! Rules about one value stand where the value is read: `document.rs` for V01, `values.rs` for V03, and so on. Rules that
//! need the whole file stand in `scope.rs`.

mod document;
mod elsewhere;
mod fields;
mod file;
mod foreign;
mod literals;
mod names;
mod output;
mod providers;
mod reader;
mod scope;
mod step;
mod values;
mod work;
mod workflow;

use serde_json::{Map, Value};
use uwf_yaml::Data;

use crate::needs::{ContextUse, missing_context};
use crate::problem::at_place;
use crate::{Pipeline, Problem};

pub use document::{MAX_FILE_BYTES, is_pipeline};
use reader::Reader;
pub(crate) use scope::ITEM;

/// A workflow file that can be used.
#[derive(Debug, Clone, PartialEq)]
pub struct Loaded {
    /// What it says.
    pub pipeline: Pipeline,
    /// What its author probably did not mean, sorted by place.
    pub warnings: Vec<Problem>,
    /// The variables of the context in it, sorted by place.
    pub context_uses: Vec<ContextUse>,
}

impl Loaded {
    /// Returns the variables without a value in a run of this pipeline, which may be one of a single step of the file.
    #[must_use]
    pub fn missing_context(
        &self,
        pipeline: &Pipeline,
        context: &Map<String, Value>,
    ) -> Vec<ContextUse> {
        missing_context(&self.context_uses, pipeline, context)
    }
}

/// Reads a workflow file. `file_name` stands in messages, and its stem is the name of a pipeline that has none.
///
/// # Errors
/// Everything that is wrong with the file, and its warnings, sorted by place.
pub fn load(text: &[u8], file_name: &str) -> Result<Loaded, Vec<Problem>> {
    let mut reader = Reader::default();
    let root = document::read(text, &mut reader);
    let pipeline = match root.data {
        Data::Broken => None,
        _ => file::pipeline(&root, file_name, &mut reader),
    };
    let mut uses = reader.context_uses();
    uses.sort_unstable_by_key(|(at, _)| *at);
    let uses = uses.into_iter().map(|(at, path)| ContextUse {
        place: at_place(at, file_name),
        path,
    });
    let uses = uses.collect();
    let mut findings = reader.finish();
    findings.sort_by_key(|finding| (finding.at, finding.code));
    let is_usable = findings.iter().all(|finding| finding.code.is_warning());
    let problems = findings.into_iter();
    let problems: Vec<Problem> = problems.map(|finding| finding.in_file(file_name)).collect();
    match pipeline {
        Some(pipeline) if is_usable => Ok(Loaded {
            pipeline,
            warnings: problems,
            context_uses: uses,
        }),
        _ => Err(problems),
    }
}
