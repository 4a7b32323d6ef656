//! Who sends a request, from where, and what the server lets visitors do.

use std::net::IpAddr;

use crate::token::Token;

/// What visitors may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// They may only look.
    ReadOnly,
    /// They may look and act.
    Full,
}

/// Who sends a request.
#[derive(Debug, Clone)]
pub(crate) enum Visitor {
    /// A visitor without a valid token and without a session.
    Stranger,
    /// A program with the token.
    Program,
    /// A person in a browser.
    Person {
        /// The id of the session.
        session: String,
        /// Its number, which is not secret.
        number: u64,
        /// The key that forms have.
        form_key: Token,
    },
}

/// The address from which a request came. Behind a proxy, it is the proxy's.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer(pub(crate) IpAddr);
