//! What calls in the background said about a thread: the failure of the last one, and the end of the file with all of it.

use maud::{Markup, html};
use uwf_engine::ThreadView;
use uwf_protocol::exit::Exit;
use uwf_util::time;

use crate::answer::{Disposition, File};
use crate::asked::Asked;
use crate::parts::{Said, thread_address};
use crate::trouble::{Refusal, Trouble};

/// How much of the end of the file is given.
const END: u64 = 1 << 20;

/// Returns a notice that the last call in the background failed. There is none after anything else happened in the thread, or while it
/// is at work, or if a failed attempt tells the same.
pub(super) fn notice(asked: &Asked, view: &ThreadView) -> Markup {
    let failed = (asked.app.failed_call)(asked.site(), view.thread);
    let failed = failed.filter(|failed| {
        let is_new = view
            .outline
            .changed_at_ms
            .is_none_or(|at_ms| at_ms < failed.at_ms);
        let is_on_record = failed.why.exit == Exit::Agent && !view.attempts.is_empty();
        is_new && view.running.is_none() && !is_on_record
    });
    html! {
        @if let Some(failed) = failed {
            section.told aria-label="The last call in the background" {
                p { "The last call in the background failed at " (time::format_utc(failed.at_ms)) " UTC: " (Said(&failed.why.whole())) }
                p { a href=(format!("{}/background", thread_address(view.thread))) { "What such calls said" } }
            }
        }
    }
}

/// Returns the end of what such calls said, as a text.
pub(crate) fn file(asked: &Asked) -> Result<File, Trouble> {
    let site = asked.site();
    let thread = asked.thread()?;
    let end = site.root.run(thread).scratch.background_end(END);
    let end = end.map_err(uwf_engine::EngineError::from)?;
    let missing =
        || Refusal::not_found("no call in the background has said anything about the thread");
    let (_, content) = end.ok_or_else(missing)?;
    Ok(File {
        name: "background.txt".to_owned(),
        content,
        disposition: Disposition::PlainText,
    })
}
