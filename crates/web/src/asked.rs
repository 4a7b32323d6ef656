//! The input of every handler of a page or of data.

use std::str::FromStr;

use axum::Extension;
use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{RawPathParams, RawQuery, State};
use axum::http::HeaderMap;
use uwf_engine::Site;
use uwf_protocol::ids::{CasRef, ThreadId};

use crate::app::Shared;
use crate::fields::Fields;
use crate::trouble::Refusal;
use crate::visitor::{Peer, Visitor};

/// A request for a page or for data.
pub(crate) struct Asked {
    pub(crate) app: Shared,
    pub(crate) visitor: Visitor,
    pub(crate) query: Fields,
    pub(crate) headers: HeaderMap,
    pub(crate) peer: Peer,
    path: Vec<(String, String)>,
}

impl Asked {
    pub(crate) fn site(&self) -> &Site {
        &self.app.site
    }

    /// Returns the thread in the address.
    pub(crate) fn thread(&self) -> Result<ThreadId, Refusal> {
        self.parsed("thread", "thread")
    }

    /// Returns the hash in the address.
    pub(crate) fn hash(&self) -> Result<CasRef, Refusal> {
        self.parsed("hash", "node")
    }

    /// Returns a part of the path by its name in the route; an empty text if the route has no such part.
    pub(crate) fn part(&self, name: &str) -> &str {
        let found = self.path.iter().find(|(part, _)| part == name);
        found.map_or("", |(_, text)| text)
    }

    /// Returns a part of the path as a value.
    ///
    /// # Errors
    /// When the part is no such value: an address with it does not exist.
    pub(crate) fn parsed<T: FromStr>(&self, part: &str, noun: &str) -> Result<T, Refusal> {
        let text = self.part(part);
        let refused = || Refusal::not_found(format!("`{text}` is no {noun}"));
        text.parse().map_err(|_| refused())
    }
}

/// The parts of a request, as the router extracts them.
pub(crate) type AskedParts = (
    State<Shared>,
    Result<RawPathParams, RawPathParamsRejection>,
    RawQuery,
    HeaderMap,
    Extension<Visitor>,
    Extension<Peer>,
);

/// Returns the input of a handler.
pub(crate) fn asked(
    (State(app), path, RawQuery(query), headers, Extension(visitor), Extension(peer)): AskedParts,
) -> Asked {
    let owned = |(name, text): (&str, &str)| (name.to_owned(), text.to_owned());
    Asked {
        // A path that is not UTF-8 has no parts here, so no handler finds what it needs.
        path: path.map_or_else(|_| Vec::new(), |path| path.iter().map(owned).collect()),
        query: Fields::parse(query.as_deref().unwrap_or_default()),
        app,
        visitor,
        headers,
        peer,
    }
}
