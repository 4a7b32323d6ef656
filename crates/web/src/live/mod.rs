//! Streams of events. They tell pages and programs that something has happened, so that these need not poll.

pub(crate) mod event;
pub(crate) mod hub;

use std::time::Duration;

use axum::Extension;
use axum::body::{Body, Bytes};
use axum::extract::{RawQuery, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use http_body_util::channel::{Channel, Sender};
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::{Instant, timeout, timeout_at};
use uwf_protocol::ids::ThreadId;

use crate::answer::refused_data;
use crate::app::Shared;
use crate::fields::Fields;
use crate::trouble::Refusal;
use crate::visitor::{Access, Visitor};

use event::{BEAT, Event, hello};

/// How many streams are open at most. A further one is refused.
pub(crate) const STREAMS: usize = 1024;
/// How often a stream says that it goes on.
const BEATS: Duration = Duration::from_secs(15);
/// How long an event waits for room in the buffer of a listener. Then the listener is dropped.
const PATIENCE: Duration = Duration::from_secs(10);
/// How many events the buffer of a listener has room for.
const WAITING: usize = 16;

/// Answers with a stream of events, about all threads or about one.
pub(crate) async fn events(
    State(app): State<Shared>,
    RawQuery(query): RawQuery,
    Extension(visitor): Extension<Visitor>,
) -> Response {
    let query = Fields::parse(query.as_deref().unwrap_or_default());
    let wanted: Option<ThreadId> = match query.get("thread").map(str::parse).transpose() {
        Ok(wanted) => wanted,
        Err(_) => return refused_data(&Refusal::not_found("no thread has that id")),
    };
    let Ok(place) = app.streams.clone().try_acquire_owned() else {
        let message = format!("{STREAMS} streams are open, which is the most");
        let refusal = Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "busy", message);
        return refused_data(&refusal);
    };
    let (sender, body) = Channel::<Bytes>::new(WAITING);
    let listener = Listener {
        events: app.hub.listen(&app.site.root),
        app,
        wanted,
        visitor,
        sender,
        _place: place,
    };
    tokio::spawn(listener.tell());
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-store"),
        // Some proxies collect an answer before they forward it, which would delay events. This header tells them not to.
        (header::HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    (headers, Body::new(body)).into_response()
}

/// A stream that is open.
struct Listener {
    app: Shared,
    wanted: Option<ThreadId>,
    visitor: Visitor,
    events: Receiver<Event>,
    sender: Sender<Bytes>,
    _place: OwnedSemaphorePermit,
}

impl Listener {
    /// Sends events until the client is gone or too slow, its session ends, or the server ends.
    async fn tell(mut self) {
        let is_closing = *self.app.closing.borrow();
        let mut goes_on = self.say(hello(self.app.access == Access::ReadOnly)).await && !is_closing;
        let mut beat = Instant::now() + BEATS;
        while goes_on {
            let happened = timeout_at(beat, self.events.recv()).await;
            goes_on = self.may_listen()
                && match happened {
                    Ok(Ok(Event::Bye)) => {
                        self.say(Event::Bye.text()).await;
                        false
                    }
                    Ok(Ok(event)) if event.is_for(self.wanted) => self.say(event.text()).await,
                    Ok(Ok(_)) => true,
                    Ok(Err(RecvError::Lagged(_))) => self.say(Event::Reset.text()).await,
                    Ok(Err(RecvError::Closed)) => false,
                    Err(_) => {
                        beat = Instant::now() + BEATS;
                        self.say(BEAT.to_owned()).await
                    }
                };
        }
    }

    /// Tells whether the session is still open. A stream does not count as a use of its session.
    fn may_listen(&self) -> bool {
        match &self.visitor {
            Visitor::Person { session, .. } => self.app.sessions.is_open(session),
            Visitor::Program => true,
            Visitor::Stranger => false,
        }
    }

    /// Sends a text. Tells whether the client is still there and reads.
    async fn say(&mut self, text: String) -> bool {
        let sent = timeout(PATIENCE, self.sender.send_data(Bytes::from(text)));
        matches!(sent.await, Ok(Ok(())))
    }
}
