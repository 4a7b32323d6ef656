//! What people should know about the secrets of a pipeline before it runs.

use serde_json::{Map, Value};
use uwf_util::mask::{Masks, is_maskable};

use crate::{Pipeline, Step, Work};

/// What a run is made of, as far as secrets may stand in it.
#[derive(Debug, Clone, Copy)]
pub struct Material<'a> {
    /// The pipeline.
    pub pipeline: &'a Pipeline,
    /// Its text.
    pub source: &'a str,
    /// The context of the run.
    pub context: &'a Map<String, Value>,
    /// What goes into output files.
    pub output_files: OutputFiles,
}

/// What goes into output files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputFiles {
    /// The bytes of the programs.
    Exact,
    /// The same without secrets.
    Masked,
}

/// Returns what people should know. `secrets` are the declared ones that the environment has, with their values.
#[must_use]
pub fn secret_warnings(secrets: &[(&str, &[u8])], material: Material<'_>) -> Vec<String> {
    let is_short = |value: &[u8]| !value.is_empty() && !is_maskable(value);
    let short = secrets.iter().filter(|(_, value)| is_short(value));
    let short = short.map(|(name, _)| format!("the secret `{name}` is too short to be masked"));
    let mut warnings: Vec<String> = short.collect();
    if !secrets.iter().any(|(_, value)| is_maskable(value)) {
        return warnings;
    }
    let masks = Masks::of(secrets.iter().map(|(_, value)| *value));
    let context = Value::Object(material.context.clone());
    let shown = [
        (
            "workflow file",
            masks.text(material.source) != material.source,
        ),
        ("context", masks.json(&context) != context),
    ];
    for (what, _) in shown.into_iter().filter(|(_, has_secret)| *has_secret) {
        warnings.push(format!(
            "the {what} contains a secret: the store keeps it as it is, and it is masked where it is shown"
        ));
    }
    let exact = match material.output_files {
        OutputFiles::Masked => Vec::new(),
        OutputFiles::Exact => exact_steps(material.pipeline),
    };
    if !exact.is_empty() {
        warnings.push(format!(
            "the output files of `{}` may contain secrets: they are written as they are",
            exact.join("`, `")
        ));
    }
    warnings
}

/// Returns the names of the steps that have secrets and write an output file, each once.
fn exact_steps(pipeline: &Pipeline) -> Vec<&str> {
    fn add<'p>(steps: &'p [Step], all: bool, found: &mut Vec<&'p str>) {
        for step in steps {
            let has_secrets = all || !step.secrets.is_empty();
            match &step.work {
                Work::Run(run) if has_secrets && run.output_file.is_some() => {
                    found.push(&step.name);
                }
                Work::ForEach(each) => add(&each.steps, has_secrets, found),
                Work::Run(_) | Work::WaitFor(_) | Work::Workflow(_) => {}
            }
        }
    }
    let mut found = Vec::new();
    add(&pipeline.steps, !pipeline.secrets.is_empty(), &mut found);
    found.sort_unstable();
    found.dedup();
    found
}
