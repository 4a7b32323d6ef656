//! The pages for people. Each page is a function from a request to its own part; `frame` puts what all pages have around it.
//!
//! The page of a thread has parts in modules of their own: `standing` says where the thread stands, `live` what its agents say
//! now, `background` why the last call in the background failed, `family` which threads belong to it, `steps` what it did, and `actions` what can be done to it.

pub(crate) mod action_words;
pub(crate) mod actions;
pub(crate) mod background;
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
