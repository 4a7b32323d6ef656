//! Which requests are admitted: by their host and origin, by their session or token, and by whether the server is read-only.
//! `decide` is pure. `admit` acts on its verdict, for every request.
//!
//! What each check prevents:
//! 1. The host: a foreign name that was made to lead here (DNS rebinding) is refused.
//! 2. The origin: a page of another site, or of another port of this machine, cannot make a visitor's browser act. The cookie
//!    alone does not prevent that, because a browser sends it to every port of a host. For the same reason, a server of another
//!    user of this machine may learn the id of a session, and no check here prevents what that user does with it. `docs/web.md`
//!    says what to do about it.
//! 3. The key in a form, which `posted` compares: the same attack as 2, prevented by a value that a foreign page does not know.

use std::time::Instant;

use axum::Extension;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::Response;

use crate::addresses::{self, Kind, reads};
use crate::answer::{because, refused_data, secured, see_other};
use crate::app::{App, Shared};
use crate::audit;
use crate::gate::Gate;
use crate::pages::missing::{self, refused_page, refused_with};
use crate::parts::log_in_address;
use crate::posted;
use crate::trouble::Refusal;
use crate::visitor::{Access, Peer, Visitor};

/// How many threads of the blocking pool there are for looks at the root, beside those for other work. A look is short.
pub(crate) const LOOKS: usize = 1;

/// What [`decide`] needs to know about a request.
#[derive(Debug)]
struct Wish<'a> {
    kind: Kind,
    method: &'a Method,
    host: Option<&'a str>,
    origin: Option<&'a str>,
    visitor: &'a Visitor,
    access: Access,
}

/// What is decided about a request.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    /// A handler answers it.
    Admitted,
    /// It is refused.
    Refused(Refusal),
    /// It is refused until the visitor logs in or sends the token.
    Unknown,
}

/// Decides about a request: first by its host, then by its origin, then by its visitor.
fn decide(gate: &Gate, wish: &Wish<'_>) -> Verdict {
    if !gate.is_ours(wish.host) {
        let refusal = Refusal::new(
            StatusCode::MISDIRECTED_REQUEST,
            "host",
            "this server does not answer to that host name",
        );
        return Verdict::Refused(refusal.hint(
            "open the address that `uwf serve` printed, or start it with `--allow-host NAME:PORT`",
        ));
    }
    let reads = reads(wish.method);
    let is_program = matches!(wish.visitor, Visitor::Program);
    let is_stranger = matches!(wish.visitor, Visitor::Stranger);
    // A program sends no origin. If its token is wrong, that is what it must hear. A stranger may do nothing anyway.
    let may_be_program = is_stranger && wish.kind == Kind::Data && wish.origin.is_none();
    if !reads && !is_program && !may_be_program && !gate.is_from_us(wish.origin) {
        let message = "the request does not come from a page of this server";
        let refusal = Refusal::of_access(StatusCode::FORBIDDEN, "origin", message);
        return Verdict::Refused(refusal.hint("open the page again, and send the form from there"));
    }
    match wish.kind {
        Kind::Open => Verdict::Admitted,
        Kind::Page | Kind::Data | Kind::Session if is_stranger => Verdict::Unknown,
        Kind::Page | Kind::Data if !reads && wish.access == Access::ReadOnly => {
            Verdict::Refused(Refusal::read_only())
        }
        Kind::Page | Kind::Data | Kind::Session => Verdict::Admitted,
    }
}

/// Admits or refuses a request. Every request comes through here.
pub(crate) async fn admit(
    State(app): State<Shared>,
    Extension(peer): Extension<Peer>,
    mut request: Request,
    next: Next,
) -> Response {
    let headers = request.headers();
    let path = request.uri().path();
    let kind = addresses::kind(path);
    let visitor = visitor(&app, headers);
    let has_token = given_token(headers).is_some();
    let noted = audit::Request::of(&visitor, peer, request.method(), path, has_token);
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let wish = Wish {
        kind,
        method: request.method(),
        // The host of an absolute address precedes the header `Host` (RFC 9112, 3.2.2).
        host: request
            .uri()
            .authority()
            .map_or_else(|| text(header::HOST), |authority| Some(authority.as_str())),
        origin: text(header::ORIGIN),
        visitor: &visitor,
        access: app.access,
    };
    let response = match decide(&app.gate, &wish) {
        Verdict::Admitted => match is_there(&app).await {
            Ok(()) => {
                request.extensions_mut().insert(visitor);
                next.run(request).await
            }
            Err(refusal) => refused(kind, &refusal),
        },
        Verdict::Unknown if kind == Kind::Page && *request.method() == Method::POST => {
            session_has_ended(request).await
        }
        Verdict::Unknown => unknown(kind, request.method(), request.uri()),
        Verdict::Refused(refusal) => refused(kind, &refusal),
    };
    if let Some(refused) = response.extensions().get().copied() {
        audit::note_refusal(&app, noted, refused).await;
    }
    secured(response)
}

/// Refuses a request if the root is gone. The look may block, if the disk does not answer. So it runs on a thread of the blocking
/// pool, and requests that are refused anyway do without it.
async fn is_there(app: &Shared) -> Result<(), Refusal> {
    let asked = Shared::clone(app);
    let looked = tokio::task::spawn_blocking(move || asked.seen.check(&asked.site.root));
    looked.await.unwrap_or_else(|_| Err(Refusal::bug()))
}

fn refused(kind: Kind, refusal: &Refusal) -> Response {
    match kind {
        Kind::Data => refused_data(refusal),
        Kind::Page | Kind::Open | Kind::Session => refused_page(refusal),
    }
}

/// Returns the visitor who sends a request: by the token, or by the session in the cookie.
fn visitor(app: &App, headers: &HeaderMap) -> Visitor {
    // A proxy may forward an `Authorization` header that is meant for the proxy itself. Such a header is no token of ours, and a
    // visitor who has a session is admitted in spite of it.
    if given_token(headers).is_some_and(|given| app.token.is(given)) {
        return Visitor::Program;
    }
    let cookies = headers.get_all(header::COOKIE).iter();
    let cookies = cookies.filter_map(|value| value.to_str().ok());
    for cookie in cookies.flat_map(|line| line.split(';')) {
        let Some((name, id)) = cookie.trim().split_once('=') else {
            continue;
        };
        if name == app.gate.cookie
            && let Some(session) = app.sessions.find(id, Instant::now())
        {
            return Visitor::Person {
                session: id.to_owned(),
                number: session.number,
                form_key: session.form_key,
            };
        }
    }
    Visitor::Stranger
}

/// Returns the text that a request sends as the token, right or wrong.
fn given_token(headers: &HeaderMap) -> Option<&str> {
    let given = headers.get(header::AUTHORIZATION)?;
    bearer(given.to_str().ok()?)
}

fn bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    scheme
        .eq_ignore_ascii_case("bearer")
        .then(|| token.trim_start())
}

/// Returns the answer to a stranger: for a page that is only read, the form to log in; otherwise a refusal.
fn unknown(kind: Kind, method: &Method, uri: &Uri) -> Response {
    let refusal = Refusal::of_access(
        StatusCode::UNAUTHORIZED,
        "unknown",
        "the server does not know who asks",
    );
    let refusal = refusal.hint("send the token as `Authorization: Bearer TOKEN`, or log in");
    match (kind, method) {
        (Kind::Page, &Method::GET | &Method::HEAD) => {
            let next = uri.path_and_query().map_or("/", |next| next.as_str());
            because((&refusal).into(), see_other(&log_in_address(next)))
        }
        (Kind::Page | Kind::Open | Kind::Session, _) => refused_page(&refusal),
        (Kind::Data, _) => refused_data(&refusal),
    }
}

/// Refuses a form of a page whose session has ended. A short text that the person typed is on the page, so that it is not lost.
async fn session_has_ended(request: Request) -> Response {
    let page = request.uri().path().to_owned();
    let typed = posted::few_fields(request.into_body()).await;
    let typed = typed.map(missing::typed);
    let message = "the session has ended, so nothing was done";
    let refusal = Refusal::of_access(StatusCode::UNAUTHORIZED, "unknown", message);
    let refusal = match &typed {
        Ok(typed) if typed.0.is_empty() => refusal,
        Ok(_) => refusal.hint("copy what you typed from here"),
        Err(_) => refusal.hint(
            "log in with another tab, go back in this one, and see whether the text is there",
        ),
    };
    refused_with(
        &refusal,
        &missing::log_in(&page, &typed.unwrap_or_default()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::tests::gate;
    use crate::token::Token;

    fn person() -> Visitor {
        Visitor::Person {
            session: String::new(),
            number: 1,
            form_key: Token::of_random([0, 0]),
        }
    }

    /// Each line is a request and its verdict: the kind of the address, the method, the origin, the visitor, the access of the
    /// server, and the verdict.
    const TABLE: &str = "
        page GET    -      person   reading admitted
        page GET    theirs person   full    admitted
        page GET    -      stranger full    unknown
        page HEAD   -      stranger full    unknown
        page POST   ours   person   full    admitted
        page POST   theirs person   full    origin
        page POST   -      person   full    origin
        page POST   ours   stranger full    unknown
        page POST   ours   person   reading read-only
        page POST   -      program  full    admitted
        data GET    -      program  reading admitted
        data GET    -      stranger full    unknown
        data POST   -      program  full    admitted
        data POST   -      program  reading read-only
        data POST   -      stranger full    unknown
        data POST   ours   stranger full    unknown
        data POST   theirs stranger full    origin
        data POST   -      person   full    origin
        data DELETE -      stranger full    unknown
        data DELETE theirs person   full    origin
        open GET    -      stranger full    admitted
        open POST   ours   stranger reading admitted
        open POST   theirs stranger full    origin
        open POST   -      stranger full    origin
        session POST ours  person   reading admitted
        session POST ours  stranger reading unknown
        session POST theirs person  reading origin
    ";

    #[test]
    fn every_kind_of_request_is_decided_by_host_origin_visitor_and_access() {
        for line in TABLE.trim().lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let [kind, method, origin, visitor, access, expected] = words[..] else {
                panic!("{line}");
            };
            let visitor = match visitor {
                "person" => person(),
                "program" => Visitor::Program,
                _ => Visitor::Stranger,
            };
            let wish = Wish {
                kind: match kind {
                    "page" => Kind::Page,
                    "data" => Kind::Data,
                    "session" => Kind::Session,
                    _ => Kind::Open,
                },
                method: &method.parse().unwrap(),
                host: Some("localhost:8930"),
                origin: match origin {
                    "ours" => Some("http://localhost:8930"),
                    "theirs" => Some("http://localhost:8739"),
                    _ => None,
                },
                visitor: &visitor,
                access: match access {
                    "full" => Access::Full,
                    _ => Access::ReadOnly,
                },
            };
            assert_eq!(word(&decide(&gate(), &wish)), expected, "{line}");
            let elsewhere = Wish {
                host: Some("evil.example"),
                ..wish
            };
            assert_eq!(word(&decide(&gate(), &elsewhere)), "host", "{line}");
        }
    }

    fn word(verdict: &Verdict) -> &str {
        match verdict {
            Verdict::Admitted => "admitted",
            Verdict::Unknown => "unknown",
            Verdict::Refused(refusal) => refusal.code,
        }
    }

    #[test]
    fn a_bearer_is_found_in_its_header() {
        assert_eq!(bearer("Bearer abc"), Some("abc"));
        assert_eq!(bearer("bearer  abc"), Some("abc"));
        assert_eq!(bearer("Basic abc"), None);
        assert_eq!(bearer("abc"), None);
    }
}
