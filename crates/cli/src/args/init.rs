//! `uwf init`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::PossibleValuesParser;

use crate::bundled_templates::TEMPLATES;

#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// Which one (unset: list them)
    #[arg(value_parser = PossibleValuesParser::new(TEMPLATES.map(|template| template.name)))]
    pub(crate) template: Option<String>,
    /// Where to put it (unset: this folder); the folder is made if it is not there
    pub(crate) dir: Option<PathBuf>,
}
