//! `uwf serve`: the pages and the JSON over a storage root, for a browser and for programs. Everything that is shown comes
//! from a [`Site`](uwf_engine::Site) as the same typed data that the commands print.
//!
//! The rooms: `settings` says where and for whom a server is there. `server` owns the listener and its connections. `guard`
//! decides who may ask what, with `session` and `token`. `routes` is the table of addresses. `pages` are for people, `api` is
//! for programs. `acts` does what visitors want, each by an `order`, which is a command. `live` tells what happens. `asked` and `answer` are what every handler gets and gives.
//!
//! The crate never holds a lock that a step needs, and keeps no state but the sessions of its visitors.

mod acts;
mod answer;
mod api;
mod app;
mod asked;
mod assets;
mod guard;
mod live;
mod order;
mod pages;
mod parts;
mod patient;
mod posted;
mod routes;
mod selection;
mod server;
mod session;
mod settings;
mod stop;
mod token;
mod trouble;

pub use guard::Access;
pub use order::Order;
pub use server::{ServeError, Server};
pub use settings::{Finding, Front, Level, Place, PlaceError, Settings};
pub use token::{Token, TokenError};
pub use trouble::Explained;
