//! Threads that travel to another root: a *bundle* is a tar archive with threads and every node that they need.
//!
//! The first member is the [manifest](manifest::Manifest). The nodes follow, each under the name and with the bytes of its
//! file in a store. Only starts and steps keep their times. Nodes come after the nodes that they refer to. So the same
//! threads always make the same bundle, and an unpacked bundle is a store.

mod error;
mod export;
mod import;
mod intake;
mod lineage;
mod manifest;
mod members;
mod plan;
mod returning;
mod source;

pub(crate) use error::listed;
pub use error::{BundleError, Divergence};
pub use export::{Exported, all_threads, export_threads};
pub use import::{Imported, ImportedThread, Outcome, TakenName, import_threads};
pub(crate) use import::{apply, apply_imported, contradiction, judged};
pub(crate) use intake::Intake;
pub(crate) use lineage::{Side, had};
pub(crate) use manifest::{Status, Travelling};
pub(crate) use members::LARGEST;
pub use plan::Diverging;
pub(crate) use plan::plan;
pub use source::Given as NodeSource;
pub(crate) use source::Source;
