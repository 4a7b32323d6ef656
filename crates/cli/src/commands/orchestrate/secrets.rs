//! What is said about the secrets of a pipeline before it runs.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use serde_json::{Map, Value};
use uwf_pipeline::{Material, OutputFiles, Pipeline, secret_warnings};

use crate::args::WorkArgs;
use crate::commands::Context;
use crate::failure::warn;

/// Warns of secrets that will stand somewhere.
pub(super) fn warn_of_secrets(
    context: &Context,
    work: &WorkArgs,
    (pipeline, source): (&Pipeline, &[u8]),
    values: &Map<String, Value>,
) {
    let env = &context.site().env;
    let names = pipeline.all_secrets();
    let value = |name: &str| env.var_os(name).map(OsStr::as_bytes);
    let secrets = names.iter().filter_map(|name| Some((*name, value(name)?)));
    let secrets: Vec<(&str, &[u8])> = secrets.collect();
    let material = Material {
        pipeline,
        source: &String::from_utf8_lossy(source),
        context: values,
        output_files: match work.mask_output_files {
            true => OutputFiles::Masked,
            false => OutputFiles::Exact,
        },
    };
    for warning in secret_warnings(&secrets, material) {
        warn(&warning);
    }
}
