//! `uwf thread rename`, `uwf thread label`, and the options that name a new thread.

use clap::Args;
use uwf_protocol::naming::{Label, LabelChange, Labels, Name, Naming};

/// The options that name a new thread.
#[derive(Debug, Args)]
pub(crate) struct NameArgs {
    /// Give the thread a name, which stands for it wherever a thread is wanted
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<Name>,
    /// Give the thread a label; may be repeated
    #[arg(long = "label", value_name = "KEY=VALUE")]
    pub(crate) labels: Vec<Label>,
}

impl From<NameArgs> for Naming {
    fn from(args: NameArgs) -> Self {
        let labels = args.labels.into_iter();
        Self {
            name: args.name,
            labels: labels
                .map(|label| (label.key, label.value))
                .collect::<Labels>(),
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct RenameArgs {
    /// The thread
    pub(crate) thread: String,
    /// Its new name
    #[arg(required_unless_present = "clear")]
    pub(crate) name: Option<Name>,
    /// Take its name away
    #[arg(long, conflicts_with = "name")]
    pub(crate) clear: bool,
}

#[derive(Debug, Args)]
pub(crate) struct LabelArgs {
    /// The thread
    pub(crate) thread: String,
    /// KEY=VALUE sets a label, KEY- removes it (unset: show the labels)
    #[arg(value_name = "LABEL")]
    pub(crate) changes: Vec<LabelChange>,
}
