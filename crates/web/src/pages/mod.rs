//! What people see. Each page is a function from a request to its parts; `frame` puts them into the page.
//!
//! A thread is made of rooms of its own: `standing` says where it stands, `steps` what it did, `family` which threads belong
//! to it. What a person may do about it will stand below its state.

pub(crate) mod costs;
pub(crate) mod diff;
mod family;
pub(crate) mod frame;
pub(crate) mod help;
pub(crate) mod live;
pub(crate) mod login;
pub(crate) mod machine;
pub(crate) mod missing;
pub(crate) mod node;
pub(crate) mod overview;
mod standing;
pub(crate) mod step;
mod step_parts;
mod steps;
pub(crate) mod thread;
pub(crate) mod workflows;
