//! How a person logs in and out. The address that `uwf serve` prints has the token after `#`. A browser does not send that
//! part; our script puts it into the form. Without scripts, the person does.

use std::time::{Duration, Instant};

use axum::Extension;
use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use maud::{Markup, html};

use crate::answer::{because, html as html_answer, see_other};
use crate::app::{App, Shared};
use crate::audit;
use crate::fields::Fields;
use crate::pages::frame::bare;
use crate::pages::missing::{broken, refused_page};
use crate::posted;
use crate::token::Token;
use crate::trouble::Refused;
use crate::visitor::{Peer, Visitor};

/// How long the answer to a wrong token in the form is delayed.
const DELAY: Duration = Duration::from_millis(500);

/// Answers with the form.
pub(crate) async fn form(RawQuery(query): RawQuery) -> Response {
    let query = Fields::parse(query.as_deref().unwrap_or_default());
    html_answer(StatusCode::OK, page(next_of(&query), None))
}

/// Opens a session if the form has the right token.
pub(crate) async fn submit(
    State(app): State<Shared>,
    Extension(peer): Extension<Peer>,
    body: Body,
) -> Response {
    let fields = match posted::few_fields(body).await {
        Ok(fields) => fields,
        Err(refusal) => return refused_page(&refusal),
    };
    let next = next_of(&fields);
    if !app.token.is(fields.get("token").unwrap_or_default().trim()) {
        tokio::time::sleep(DELAY).await;
        let wrong = page(next, Some("This is not the token of this server."));
        return because(
            Refused::of_access("token"),
            html_answer(StatusCode::UNAUTHORIZED, wrong),
        );
    }
    match open(&app, peer).await {
        Some(cookie) => with_cookie(see_other(next), &cookie),
        None => broken(),
    }
}

/// Ends the session of the visitor.
pub(crate) async fn leave(
    State(app): State<Shared>,
    Extension(visitor): Extension<Visitor>,
    body: Body,
) -> Response {
    let fields = posted::few_fields(body).await;
    let checked = fields.and_then(|fields| posted::check_key(&visitor, &fields));
    if let Err(refusal) = checked {
        return refused_page(&refusal);
    }
    if let Visitor::Person { session, .. } = &visitor {
        app.sessions.close(session);
        app.hub.session_closed();
    }
    let cookie = cookie(&app, "", "; Max-Age=0");
    with_cookie(see_other("/login"), &cookie)
}

/// Opens a session and returns its cookie; `None` if the kernel gives no random bits.
async fn open(app: &Shared, peer: Peer) -> Option<String> {
    let random = || app.site.env.random().ok();
    let id = Token::of_random([random()?, random()?]);
    let form_key = Token::of_random([random()?, random()?]);
    let number = app.sessions.open(&id, form_key, Instant::now());
    audit::note_log_in(app, number, peer).await;
    Some(cookie(app, id.reveal(), ""))
}

fn cookie(app: &App, value: &str, more: &str) -> String {
    let name = &app.gate.cookie;
    let secure = match app.gate.is_secure {
        true => "; Secure",
        false => "",
    };
    format!("{name}={value}; Path=/; HttpOnly; SameSite=Strict{secure}{more}")
}

fn with_cookie(mut response: Response, cookie: &str) -> Response {
    match HeaderValue::from_str(cookie) {
        Ok(cookie) => {
            response.headers_mut().insert(header::SET_COOKIE, cookie);
            response
        }
        Err(_) => broken(),
    }
}

/// Returns the page to which a log-in leads. An address elsewhere is replaced by `/`.
fn next_of(query: &Fields) -> &str {
    let next = query.get("next").unwrap_or("/");
    let mut chars = next.chars();
    let is_ours = chars.next() == Some('/') && !matches!(chars.next(), Some('/' | '\\'));
    match is_ours && next.chars().all(|c| c.is_ascii_graphic()) {
        true => next,
        false => "/",
    }
}

fn page(next: &str, problem: Option<&str>) -> Markup {
    bare(
        "Log in",
        &html! {
            h1 { "Log in" }
            @if let Some(problem) = problem { p.problem role="alert" { (problem) } }
            form #login method="post" action="/login" {
                input type="hidden" name="next" value=(next);
                label for="token" { "Token" }
                input #token type="password" name="token" autocomplete="current-password" required autofocus;
                button type="submit" { "Log in" }
            }
            p.hint { code { "uwf serve" } " printed an address that has the token after " code { "#" } ". Open it, or copy that part." }
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_on_is_a_page_of_ours() {
        let next =
            |text: &str| next_of(&Fields(vec![("next".to_owned(), text.to_owned())])).to_owned();
        assert_eq!(next("/threads/x?a=b"), "/threads/x?a=b");
        for foreign in [
            "//evil.example",
            "/\\evil.example",
            "https://evil.example",
            "x",
            "/a\r\nb",
            "/\tx",
        ] {
            assert_eq!(next(foreign), "/", "{foreign}");
        }
    }
}
