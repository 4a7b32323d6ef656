//! Who did what through the server: lines in the process log of the root. Each act has a line before it and one after it. Each
//! log-in has a line. Refused requests have lines up to a limit. No line has a secret: a session is named by its number.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::http::Method;
use uwf_engine::{ActByPage, Action, log_act};
use uwf_protocol::ids::ThreadId;

use crate::app::Shared;
use crate::asked::Asked;
use crate::guard::reads;
use crate::order::Carried;
use crate::routes::API;
use crate::trouble::{Refusal, Refused};
use crate::visitor::{Peer, Visitor};

/// How many refusals are logged in a [period](PERIOD). A visitor who sends many wrong requests must not fill the disk.
const MOST: u32 = 20;
/// How long a period is.
const PERIOD: Duration = Duration::from_secs(10);

/// How many lines about refused requests are written at the same time. If the disk is slow, further refusals are only counted, so
/// that strangers do not take the threads of the blocking pool from other visitors.
pub(crate) const WRITERS: usize = 2;

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

/// The place of one of the [`WRITERS`]. Dropping it gives it back.
struct PlaceForLine(Shared);

impl Drop for PlaceForLine {
    fn drop(&mut self) {
        self.0.refusals.was_written();
    }
}

/// How many refusals were logged in the current period.
#[derive(Debug, Default)]
pub(crate) struct Refusals(Mutex<Count>);

#[derive(Debug, Default)]
struct Count {
    /// When the period started.
    since: Option<Instant>,
    /// How many refusals of the period were logged.
    logged: u32,
    /// How many lines are being written.
    at_once: usize,
    /// How many refusals were left out since the last line.
    left_out: u64,
}

impl Refusals {
    /// Counts a refusal. Returns how many were left out since the last line, and takes a place for the line of this one; `None` if
    /// this one is left out, too.
    fn count(&self, now: Instant) -> Option<u64> {
        let mut count = self.lock();
        let is_over = |since: Instant| now.saturating_duration_since(since) >= PERIOD;
        if count.since.is_none_or(is_over) {
            count.since = Some(now);
            count.logged = 0;
        }
        if count.logged == MOST || count.at_once == WRITERS {
            count.left_out += 1;
            return None;
        }
        count.logged += 1;
        count.at_once += 1;
        Some(std::mem::take(&mut count.left_out))
    }

    /// Gives back the place of a line.
    fn was_written(&self) {
        self.lock().at_once -= 1;
    }

    fn lock(&self) -> MutexGuard<'_, Count> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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

    #[test]
    fn only_so_many_refusals_are_logged_and_the_next_tells_of_the_rest() {
        let refusals = Refusals::default();
        let start = Instant::now();
        let written = |now| {
            let count = refusals.count(now);
            refusals.was_written();
            count
        };
        for _ in 0..MOST {
            assert_eq!(written(start), Some(0));
        }
        assert_eq!(refusals.count(start), None);
        assert_eq!(refusals.count(start), None);
        assert_eq!(written(start + PERIOD), Some(2));
        assert_eq!(written(start + PERIOD), Some(0));
    }

    #[test]
    fn while_the_disk_is_slow_only_a_few_refusals_wait_for_it() {
        let refusals = Refusals::default();
        let now = Instant::now();
        for _ in 0..WRITERS {
            assert_eq!(refusals.count(now), Some(0));
        }
        assert_eq!(refusals.count(now), None);
        assert_eq!(refusals.count(now), None);
        refusals.was_written();
        assert_eq!(refusals.count(now), Some(2));
    }
}
