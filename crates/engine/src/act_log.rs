//! The line of the process log about something that a person or a program did by a page.

use std::net::IpAddr;

use uwf_protocol::ids::ThreadId;

use crate::{Site, tags};

/// Something that was done, or refused.
#[derive(Debug, Clone, Copy)]
pub struct ActByPage<'a> {
    /// What it is, such as `kill`.
    pub act: &'a str,
    /// Who did it. It is not secret.
    pub by: &'a str,
    /// Where the request came from.
    pub from: IpAddr,
    /// The thread, if it is about one.
    pub thread: Option<ThreadId>,
    /// `done`, or a word for why not.
    pub result: &'a str,
}

/// Logs something that was done by a page.
pub fn log_act(site: &Site, act: &ActByPage<'_>) {
    let ActByPage {
        act,
        by,
        from,
        thread,
        result,
    } = act;
    let message = format!("act={act} by={by} from={from} result={result}");
    site.log_line(tags::ACTED_BY_PAGE, &message, *thread, None);
}
