//! `uwf cas …`, also called as `ocas …`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use uwf_engine::LEAST_GRACE_MS;
use uwf_util::time;

#[derive(Debug, Subcommand)]
pub(crate) enum CasCommand {
    /// Show nodes
    Get {
        /// The nodes
        #[arg(required = true, value_name = "HASH")]
        hashes: Vec<String>,
        /// Show when it was first stored too
        #[arg(long)]
        timestamp: bool,
    },
    /// Print the text or the bytes that nodes hold, unchanged
    Cat {
        /// The nodes
        #[arg(required = true, value_name = "HASH")]
        hashes: Vec<String>,
    },
    /// Store a node and print its hash
    Put {
        /// The hash of its schema
        r#type: String,
        /// JSON, the path of a JSON file, or - for standard input
        #[arg(allow_hyphen_values = true)]
        data: String,
        /// Store it even if it does not fit its schema
        #[arg(long)]
        no_validate: bool,
    },
    /// Store a text node and print its hash
    PutText {
        /// The text, or - for standard input
        #[arg(allow_hyphen_values = true)]
        text: String,
    },
    /// Print the hash that a node would have; nothing is stored
    Hash {
        /// The hash of its schema, or - for a node that types itself
        r#type: String,
        /// JSON, the path of a JSON file, or - for standard input
        #[arg(allow_hyphen_values = true)]
        data: String,
    },
    /// Tell whether a node is stored; exit code 1 if not
    Has {
        /// The node
        hash: String,
    },
    /// List the nodes that a node refers to
    Refs {
        /// The node
        hash: String,
    },
    /// List a node and all that can be reached from it, breadth first
    Walk {
        /// The node
        hash: String,
    },
    /// Tell what a node is, and which threads, steps and workflows need it; exit code 4 if it cannot be read
    Which {
        /// The node
        hash: String,
    },
    /// List the nodes of the store
    #[command(visible_alias = "ls")]
    List {
        /// Only nodes of this schema
        #[arg(long, value_name = "HASH")]
        r#type: Option<String>,
    },
    /// Check nodes against their hashes and schemas; exit code 4 if one is damaged
    Verify {
        /// The nodes (unset: all)
        hashes: Vec<String>,
    },
    /// Tell what is in the store: types, sizes, what is in use
    Stats,
    /// Move damaged files aside, bring nodes back, and name what stays lost; exit code 4 if something does
    Repair(RepairArgs),
    /// Rebuild the type index
    Reindex,
    /// Remove nodes that nothing refers to and that are older than a grace period
    Gc(GcArgs),
    /// List and show schemas
    #[command(arg_required_else_help = true)]
    Schema {
        #[command(subcommand)]
        command: SchemaCommand,
    },
}

#[derive(Debug, Args)]
pub(crate) struct GcArgs {
    /// Only list what would be removed
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Keep what was written or put again within this time; 1h at least
    #[arg(long, value_name = "TIME", default_value = "14d", value_parser = parse_grace)]
    pub(crate) older_than: u64,
    /// Another storage root that uses the store; may be repeated
    #[arg(long, value_name = "DIR")]
    pub(crate) used_by: Vec<PathBuf>,
    /// Accept the loss of this missing or damaged node, and of nodes that only it refers to; may be repeated
    #[arg(long, value_name = "HASH")]
    pub(crate) lost: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct RepairArgs {
    /// Only tell what would be done
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Bring missing nodes back from here: another root, a copy of a store, or a bundle of `thread export`
    #[arg(long, value_name = "PATH")]
    pub(crate) from: Option<PathBuf>,
}

pub(super) fn parse_grace(text: &str) -> Result<u64, String> {
    match time::parse_duration(text) {
        Some(ms) if ms >= LEAST_GRACE_MS => Ok(ms),
        Some(_) | None => {
            Err("a time of at least 1h is expected, such as 12h, 3d or 14d".to_owned())
        }
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum SchemaCommand {
    /// List the schemas of the store
    #[command(visible_alias = "ls")]
    List,
    /// Show a schema
    Get {
        /// The schema
        hash: String,
    },
}
