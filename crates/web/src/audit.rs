//! Who did what through the server: lines in the process log of the root. Each act has a line before it and one after it. Each
//! log-in has a line. Refused requests have lines up to a limit. No line has a secret: a session is named by its number.

use std::time::Instant;

use axum::http::Method;
use uwf_engine::{ActByPage, Action, log_act};
use uwf_protocol::ids::ThreadId;

use crate::addresses::{API, reads};
use crate::app::Shared;
use crate::asked::Asked;
use crate::order::Carried;
use crate::trouble::{Refusal, Refused};
use crate::visitor::{Peer, Visitor};

/// How many threads of the blocking pool there are for the lines about log-ins, beside those for other work.
pub(crate) const LOG_INS: usize = 1;

/// Does an act between its two lines of the log: that a visitor asked for it, and that it was done, or the code of the refusal. If
/// the server is killed before the result, only the first line says that the act may have been done. An act on no thread may have
/// made one: the second line names it.
pub(crate) fn logged(
    asked: &Asked,
    act: &str,
    thread: Option<ThreadId>,
    work: impl FnOnce() -> Result<Carried, Refusal>,
) -> Result<Carried, Refusal> {
    log(asked, act, thread, "asked");
    let done = work();
    let (result, made) = match &done {
        Ok(done) => ("done", done.thread()),
        Err(refusal) => (refusal.code, None),
    };
    log(asked, act, thread.or(made), result);
    done
}

fn log(asked: &Asked, act: &str, thread: Option<ThreadId>, result: &str) {
    let act = ActByPage {
        act,
        by: &name(&asked.visitor),
        from: asked.peer.0,
        thread,
        result,
    };
    log_act(asked.site(), &act);
}

/// Logs that a visitor logged in. Only the answer to this request waits for the line.
pub(crate) async fn note_log_in(app: &Shared, number: u64, peer: Peer) {
    let request = Request {
        by: session_name(number),
        from: peer,
        act: LOG_IN,
        thread: None,
        matters: true,
    };
    write(app, request, "done".to_owned(), ()).await;
}

/// Writes a line about a request, on a thread of the blocking pool. The place is dropped when the line is written, even if the
/// client is gone by then. A line that cannot be written changes no answer.
async fn write<P: Send + 'static>(app: &Shared, request: Request, result: String, place: P) {
    let app = Shared::clone(app);
    let write = move || {
        let _place = place;
        // Nothing is written to a root that is gone: it would look like a new one.
        if app.seen.check(&app.site.root).is_err() {
            return;
        }
        let act = ActByPage {
            act: request.act,
            by: &request.by,
            from: request.from.0,
            thread: request.thread,
            result: &result,
        };
        log_act(&app.site, &act);
    };
    let _ = tokio::task::spawn_blocking(write).await;
}

const LOG_IN: &str = "log-in";

/// Returns what a visitor is called in the log.
pub(crate) fn name(visitor: &Visitor) -> String {
    match visitor {
        Visitor::Stranger => "nobody".to_owned(),
        Visitor::Program => "token".to_owned(),
        Visitor::Person { number, .. } => session_name(*number),
    }
}

fn session_name(number: u64) -> String {
    format!("session-{number}")
}

/// What the log says about a request.
pub(crate) struct Request {
    by: String,
    from: Peer,
    act: &'static str,
    thread: Option<ThreadId>,
    /// Whether a refusal of it is logged: it may change something, or has a token.
    matters: bool,
}

impl Request {
    /// Returns what the log says about the request of a visitor.
    pub(crate) fn of(
        visitor: &Visitor,
        from: Peer,
        method: &Method,
        path: &str,
        has_token: bool,
    ) -> Self {
        let is_read = reads(method);
        let (act, thread) = match is_read {
            true => (UNNAMED, None),
            false => meant(path),
        };
        Self {
            by: name(visitor),
            from,
            act,
            thread,
            matters: !is_read || has_token,
        }
    }
}

/// The name in the log of an act without a name of its own.
const UNNAMED: &str = "request";

/// Returns the act that a `POST` to an address asks for, and its thread.
fn meant(path: &str) -> (&'static str, Option<ThreadId>) {
    let path = path.strip_prefix(API).unwrap_or(path);
    let parts: Vec<&str> = path.split('/').skip(1).collect();
    match parts[..] {
        ["login"] => (LOG_IN, None),
        ["logout"] => ("log-out", None),
        ["new"] | ["threads"] => ("start", None),
        ["threads", thread, "do", word] | ["threads", thread, word] => {
            let action = word.parse::<Action>();
            (action.map_or(UNNAMED, Action::as_str), thread.parse().ok())
        }
        _ => (UNNAMED, None),
    }
}

/// Logs a refusal, if access is its reason and the request matters. Only the answer to this request waits for the line: the disk
/// may be slow.
pub(crate) async fn note_refusal(app: &Shared, request: Request, refused: Refused) {
    if !refused.is_of_access || !request.matters {
        return;
    }
    let Some(left_out) = app.refusals.count(Instant::now()) else {
        return;
    };
    let code = refused.code;
    let result = match left_out {
        0 => code.to_owned(),
        left_out => format!("{code} left-out={left_out}"),
    };
    let place = PlaceForLine(Shared::clone(app));
    write(app, request, result, place).await;
}

/// The place of one of the [`WRITERS`](crate::refusals::WRITERS). Dropping it gives it back.
struct PlaceForLine(Shared);

impl Drop for PlaceForLine {
    fn drop(&mut self) {
        self.0.refusals.was_written();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_says_what_is_meant() {
        let thread = ThreadId::new(1, 1);
        for (path, expected) in [
            ("/login".to_owned(), (LOG_IN, None)),
            ("/api/v1/threads".to_owned(), ("start", None)),
            (format!("/threads/{thread}/do/kill"), ("kill", Some(thread))),
            (
                format!("/api/v1/threads/{thread}/step"),
                ("step", Some(thread)),
            ),
            ("/threads/x y/do/act=kill".to_owned(), (UNNAMED, None)),
            ("/elsewhere".to_owned(), (UNNAMED, None)),
        ] {
            assert_eq!(meant(&path), expected, "{path}");
        }
    }

    /// Returns the addresses of `routes` that take a `POST`, each with the parts that vary still in braces.
    fn posts() -> Vec<String> {
        let source = include_str!("routes.rs");
        let (pages, data) = source.split_once("fn of_data").unwrap();
        let posts = |source: &str, start: &str| {
            let routes = source.split(".route(").skip(1);
            let posts =
                routes.filter(|it| ["post(", "form(", "act("].iter().any(|by| it.contains(by)));
            let paths = posts.map(|it| format!("{start}{}", it.split('"').nth(1).unwrap()));
            paths.collect::<Vec<_>>()
        };
        [posts(pages, ""), posts(data, API)].concat()
    }

    #[test]
    fn each_address_that_takes_a_form_or_an_act_has_a_name_in_the_log() {
        let thread = ThreadId::new(1, 1);
        let posts = posts();
        assert_eq!(posts.len(), 6, "{posts:?}");
        for path in posts {
            for action in Action::ALL {
                let path = path.replace("{thread}", thread.as_str());
                let path = path.replace("{action}", action.as_str());
                assert_ne!(meant(&path).0, UNNAMED, "{path}");
            }
        }
    }
}
