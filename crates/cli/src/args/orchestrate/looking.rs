//! `uwf orchestrate list`, `status`, `report`, `logs` and `clean`.

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use super::PlaceArgs;
use crate::output::{Form, Format};

#[derive(Debug, Args)]
pub(crate) struct ListRunsArgs {
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
    /// Print data, as `--format json` does
    #[arg(long, conflicts_with = "format")]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RunStatusArgs {
    /// The run: its id or the beginning of it, or its thread (unset: the newest)
    #[arg(value_name = "RUN")]
    pub(crate) run: Option<String>,
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
    /// Print data, as `--format json` does
    #[arg(long, conflicts_with = "format")]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// The run: its id or the beginning of it, or its thread (unset: the newest)
    #[arg(value_name = "RUN")]
    pub(crate) run: Option<String>,
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
    /// Print a Markdown page or data (unset: md)
    // The name is that of the global option: this one takes its place.
    #[arg(
        id = "format",
        long,
        value_name = "FORMAT",
        value_parser = PossibleValuesParser::new(["md", "json"]).map(|name| report_form(&name)),
        hide_possible_values = false
    )]
    pub(crate) format: Option<Form>,
}

fn report_form(name: &str) -> Form {
    Form::Data(match name {
        "json" => Format::Json,
        _ => Format::Text,
    })
}

#[derive(Debug, Args)]
pub(crate) struct RunLogsArgs {
    /// The run: its id or the beginning of it, or its thread
    #[arg(value_name = "RUN")]
    pub(crate) run: String,
    /// A step: `Loop[1].Inner`, `Loop[].Inner` for all items, or `Loop` for everything in it (unset: all)
    #[arg(value_name = "STEP")]
    pub(crate) step: Option<String>,
    /// Print what is added, until the run stops
    #[arg(short, long)]
    pub(crate) follow: bool,
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
    /// Print one object for each log
    #[arg(long, conflicts_with_all = ["format", "follow"])]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CleanRunsArgs {
    /// Remove the folders of runs in which nothing has happened for this long, such as `7d`, or since a date
    #[arg(long, value_name = "TIME")]
    pub(crate) older_than: String,
    /// Keep the newest N runs, however old they are
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) keep: usize,
    /// Say what would be removed, and remove nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
    /// Print data, as `--format json` does
    #[arg(long, conflicts_with = "format")]
    pub(crate) json: bool,
}
