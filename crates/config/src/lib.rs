//! What people configure: `config.yaml` and `.env` under the storage root, the secrets in them, and the workflow files of
//! a project.
//!
//! `uwf-storage` knows the paths of the files and the lock under which they change, but not their content. This crate does
//! not know what a key means to a step.

mod agent_env;
mod check;
mod dotenv;
mod draft;
mod edit;
mod error;
mod file;
mod key;
mod known_secrets;
pub mod project;
mod project_config;
pub mod secret;
mod trust;

pub use agent_env::{AgentEnv, secret_masks, step_masks};
pub use check::{Finding, Findings};
pub use dotenv::load_dotenv;
pub use draft::Draft;
pub use error::ConfigError;
pub use file::{change, check, check_text, get_masked, list_masked, load, set, unset};
pub use key::{Change, keys};
pub use known_secrets::{secrets, secrets_in_output};
pub use project_config::{OwnedValue, ProjectConfig, Unused, load_for, values_for};
pub use secret::MASK;
pub use trust::{Standing, Trust, revoke, trust};
