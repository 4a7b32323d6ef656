//! `uwf serve`: the pages and the JSON over a storage root, for a browser and for programs. Everything that is shown comes
//! from a [`Site`](uwf_engine::Site) as the same typed data that the commands print.
//!
//! The modules, from the top: `server` owns the listener and its connections, and `write_timeout` drops clients that do not read.
//! `routes` is the table of addresses. `guard` admits or refuses each request. It looks at the address (`addresses`), at the host and
//! the origin (`gate`), and at the `visitor`, who has a `session` or the `token`. `handlers` calls the functions that answer: `asked`
//! is their input, with `fields`, and `answer` their output. `permits` limits how many of them work at the same time. `acts` runs a command
//! for each action; an `order` describes the command, and `audit` logs who asked for it. `pages` are for people, `api` is for
//! programs, and `live` sends events. `settings` has the address of a server and its rules of access.
//!
//! Modules import downwards: no two of them use each other, not even by way of others. A test looks (`tests/tidy/modules.rs`).
//!
//! The crate itself writes nothing to disk but lines of the process log. Its state, such as the sessions of visitors, is in
//! memory and ends with the server.
//!
//! A view delays no step. It may take the lock of a thread for an instant, to see whether the lock is free. A call that wants
//! the lock does not fail because of that: it tries again for some milliseconds.

mod acts;
mod addresses;
mod answer;
mod api;
mod app;
mod asked;
mod assets;
mod audit;
mod costs;
mod fields;
mod gate;
mod guard;
mod handlers;
mod host;
mod live;
mod once;
mod order;
mod pages;
mod parts;
mod permits;
mod posted;
mod refusals;
mod remote;
mod routes;
mod selection;
mod sent_forms;
mod server;
mod session;
mod settings;
mod stop;
mod token;
mod trouble;
mod vanished;
mod visitor;
mod write_timeout;

pub use host::{Host, HostError};
pub use order::{Carried, Order};
pub use server::{ServeError, Server};
pub use settings::{FailedCall, Finding, Front, Level, Place, PlaceError, Settings};
pub use token::{Token, TokenError};
pub use trouble::Explained;
pub use visitor::Access;
