//! What people configure: `config.yaml` and `.env` under the storage root, what in them is a secret, and the workflow
//! files of a project.
//!
//! Where the files lie, and the lock under which they change, is said by `uwf-storage`, which knows nothing of what is in
//! them. What a key means to a step is not known here.

mod check;
mod dotenv;
mod draft;
mod edit;
mod error;
mod file;
mod key;
pub mod project;
pub mod secret;

pub use check::{Finding, Findings};
pub use dotenv::load_dotenv;
pub use draft::Draft;
pub use error::ConfigError;
pub use file::{change, check, check_text, get_masked, list_masked, load, set, unset};
pub use key::{Change, keys};
