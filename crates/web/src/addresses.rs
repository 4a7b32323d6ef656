//! What the address and the method of a request say before it has a route: which rules of access it has.

use axum::http::Method;

/// Which rules of access an address has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A page for those who logged in.
    Page,
    /// Data for programs that have the token, and for our pages.
    Data,
    /// An address for everybody: it says nothing about the site.
    Open,
    /// An address for those who logged in: it changes their session, and nothing of the site.
    Session,
}

/// The start of the addresses of data.
pub(crate) const API: &str = "/api/v1";
/// The start of the addresses of the files of pages.
pub(crate) const ASSETS: &str = "/assets/";

/// Returns which rules of access an address has.
pub(crate) fn kind(path: &str) -> Kind {
    match path {
        "/login" | "/healthz" => Kind::Open,
        "/logout" => Kind::Session,
        path if path.starts_with(ASSETS) => Kind::Open,
        path if path.starts_with("/api/") => Kind::Data,
        _ => Kind::Page,
    }
}

/// Tells whether requests with a method change nothing.
pub(crate) fn reads(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_says_nothing_about_the_site_is_open() {
        for path in ["/login", "/healthz", "/assets/app.css"] {
            assert_eq!(kind(path), Kind::Open, "{path}");
        }
        for path in ["/", "/threads/x", "/login/x", "/assets", "/healthz/"] {
            assert_eq!(kind(path), Kind::Page, "{path}");
        }
        assert_eq!(kind("/logout"), Kind::Session);
        assert_eq!(kind("/api/v1/threads"), Kind::Data);
        assert_eq!(kind("/api/other"), Kind::Data);
    }
}
