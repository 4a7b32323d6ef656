//! Who did what by a page: a line in the process log of the root for each act. Nothing in it is secret: a session has a number there.

use std::net::IpAddr;

use uwf_engine::{ActByPage, Site, log_act};
use uwf_protocol::ids::ThreadId;

use crate::asked::Asked;
use crate::guard::Visitor;
use crate::trouble::Refusal;

/// The address from which a request came. Behind a proxy, it is the proxy's.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer(pub(crate) IpAddr);

/// Logs that somebody did something, or was refused.
pub(crate) fn note(asked: &Asked, act: &str, thread: Option<ThreadId>, refused: Option<&Refusal>) {
    let by = match &asked.visitor {
        Visitor::Stranger => "nobody".to_owned(),
        Visitor::Program => "token".to_owned(),
        Visitor::Person { number, .. } => by_session(*number),
    };
    let act = ActByPage {
        act,
        by: &by,
        from: asked.peer.0,
        thread,
        result: refused.map_or("done", |refusal| refusal.code),
    };
    log_act(asked.site(), &act);
}

/// Logs that somebody came in.
pub(crate) fn note_log_in(site: &Site, number: u64, peer: Peer) {
    let by = by_session(number);
    log_act(
        site,
        &ActByPage {
            act: "log-in",
            by: &by,
            from: peer.0,
            thread: None,
            result: "done",
        },
    );
}

fn by_session(number: u64) -> String {
    format!("session-{number}")
}
