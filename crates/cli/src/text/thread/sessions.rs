//! The sessions of agents that a thread knows, and those that were dropped.

use serde::Serialize;
use uwf_engine::{SessionView, SessionsView};
use uwf_protocol::ids::{RoleName, ThreadId};

use crate::local_time::{cell, heading};
use crate::output::Show;
use crate::text::table::{Page, table};

impl Show for SessionsView {
    fn text(&self, _page: Page) -> String {
        if self.sessions.is_empty() {
            return "no sessions".to_owned();
        }
        let (since, used) = (heading("SINCE"), heading("LAST USED"));
        let headings = [
            "ROLE", "AGENT", "SESSION", &since, &used, "STEPS", "FAILED", "",
        ];
        table(&headings, self.sessions.iter().map(row).collect())
    }
}

fn row(session: &SessionView) -> Vec<String> {
    let time = |ms: Option<i64>| ms.map_or_else(|| "-".to_owned(), cell);
    let unfinished = match session.unfinished {
        true => "its step is not done",
        false => "",
    };
    vec![
        session.role.to_string(),
        session.agent.clone(),
        session.session.clone(),
        time(session.since_ms),
        time(session.used_ms),
        session.steps.to_string(),
        session.failed.to_string(),
        unfinished.to_owned(),
    ]
}

/// Sessions that were dropped.
#[derive(Serialize)]
pub(crate) struct DroppedSessionsView {
    thread: ThreadId,
    dropped: Vec<DroppedSession>,
}

#[derive(Serialize)]
struct DroppedSession {
    role: RoleName,
    agent: String,
    session: String,
}

impl DroppedSessionsView {
    pub(crate) fn new(thread: ThreadId, dropped: Vec<SessionView>) -> Self {
        let dropped = dropped.into_iter().map(|one| DroppedSession {
            role: one.role,
            agent: one.agent,
            session: one.session,
        });
        Self {
            thread,
            dropped: dropped.collect(),
        }
    }
}

impl Show for DroppedSessionsView {
    fn text(&self, _page: Page) -> String {
        if self.dropped.is_empty() {
            return "no session was dropped".to_owned();
        }
        let rows = self.dropped.iter();
        let rows =
            rows.map(|one| vec![one.role.to_string(), one.agent.clone(), one.session.clone()]);
        table(&["DROPPED", "AGENT", "SESSION"], rows.collect())
    }
}
