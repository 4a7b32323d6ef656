//! `uwf serve`: the pages and the JSON over a storage root, for a browser and for programs. Everything that is shown comes
//! from a [`Site`](uwf_engine::Site) as the same typed data that the commands print.
//!
//! The rooms: `settings` has the address of a server and its rules of access. `server` owns the listener and its connections.
//! `guard` admits or refuses each request, with `session` and `token`. `routes` is the table of addresses. `pages` are for people,
//! `api` is for programs. `acts` starts a command for each action, which an `order` describes, and `audit` logs who did it. `live` sends events. `handlers` calls what answers: `asked` is
//! its input, with `fields`, and `answer` its output; `desks` limits how many are at work.
//!
//! The crate keeps no state but the sessions of its visitors. A view delays no step: it may take the lock of a thread for an instant, to
//! see whether that is free, and calls try for some milliseconds.

mod acts;
mod answer;
mod api;
mod app;
mod asked;
mod assets;
mod audit;
mod costs;
mod desks;
mod fields;
mod guard;
mod handlers;
mod live;
mod once;
mod order;
mod pages;
mod parts;
mod patient;
mod posted;
mod remote;
mod routes;
mod selection;
mod server;
mod session;
mod settings;
mod stop;
mod token;
mod trouble;
mod vanished;

pub use guard::Access;
pub use order::{Carried, Order};
pub use server::{ServeError, Server};
pub use settings::{Finding, Front, Level, Place, PlaceError, Settings};
pub use token::{Token, TokenError};
pub use trouble::Explained;
