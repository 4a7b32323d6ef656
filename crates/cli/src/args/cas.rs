//! `uwf cas …`, also called as `ocas …`.

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(crate) enum CasCommand {
    /// Show a node
    Get {
        /// The node
        hash: String,
        /// Show when it was first stored too
        #[arg(long)]
        timestamp: bool,
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
    /// List the nodes of the store
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
    /// Make the type index again
    Reindex,
    /// Look at schemas
    #[command(arg_required_else_help = true)]
    Schema {
        #[command(subcommand)]
        command: SchemaCommand,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum SchemaCommand {
    /// List the schemas of the store
    List,
    /// Show a schema
    Get {
        /// The schema
        hash: String,
    },
}
