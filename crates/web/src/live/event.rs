//! The events of a stream. An event only says that something may have changed: listeners then ask for the data again.

use serde_json::{Value, json};
use uwf_protocol::ids::{CasRef, ThreadId};

/// An event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Event {
    /// Anything may have happened: listeners ask for everything again.
    Reset,
    /// Threads started or ended, heads moved, or names or labels changed.
    Threads,
    /// A thread has another head, or work on it started or stopped. A thread that is not active has no head here.
    Thread(ThreadId, Option<CasRef>),
    /// The agent of a thread printed something.
    Turn(ThreadId),
    /// A visitor logged out. It wakes all listeners, so that those of the session end at once. It is not sent.
    LoggedOut,
    /// The server ends.
    Bye,
}

/// How long a browser waits before it connects again, in milliseconds.
const RETRY: u32 = 2000;
/// The event that keeps an idle connection open, and by which a page sees that the stream goes on.
pub(crate) const BEAT: &str = "event: beat\ndata: {}\n\n";

/// Returns the first event of a stream.
pub(crate) fn hello(read_only: bool) -> String {
    let data = json!({ "version": env!("CARGO_PKG_VERSION"), "readOnly": read_only });
    format!("retry: {RETRY}\n{}", written("hello", &data))
}

impl Event {
    /// Tells whether a listener gets the event. It asked for one thread, or for all.
    pub(crate) fn is_for(&self, wanted: Option<ThreadId>) -> bool {
        match self {
            Self::Reset | Self::Threads | Self::Bye => true,
            Self::LoggedOut => false,
            Self::Thread(thread, _) | Self::Turn(thread) => {
                wanted.is_none_or(|wanted| wanted == *thread)
            }
        }
    }

    /// Returns the event as it is sent.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Reset => written("reset", &json!({})),
            Self::Threads => written("threads", &json!({})),
            Self::Thread(thread, head) => {
                written("thread", &json!({ "thread": thread, "head": head }))
            }
            Self::Turn(thread) => written("turn", &json!({ "thread": thread })),
            Self::LoggedOut => String::new(),
            Self::Bye => written("bye", &json!({})),
        }
    }
}

fn written(name: &str, data: &Value) -> String {
    format!("event: {name}\ndata: {data}\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_written_as_browsers_read_it() {
        let thread = ThreadId::new(1, 1);
        let event = Event::Thread(thread, None);
        assert_eq!(
            event.text(),
            format!("event: thread\ndata: {{\"thread\":\"{thread}\",\"head\":null}}\n\n")
        );
        assert!(event.is_for(None) && event.is_for(Some(thread)));
        assert!(!event.is_for(Some(ThreadId::new(2, 2))));
        assert!(Event::Threads.is_for(Some(thread)));
        assert!(hello(true).starts_with("retry: 2000\nevent: hello\ndata: {"));
    }
}
