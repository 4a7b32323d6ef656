//! Why the last call of a thread in the background failed, if the status of the thread does not tell it.

use std::time::UNIX_EPOCH;

use serde_json::Value;
use uwf_engine::Site;
use uwf_protocol::exit::Exit;
use uwf_protocol::ids::ThreadId;
use uwf_web::{Explained, FailedCall};

use super::acting::explained;

/// How much of the end of the file is read.
const END: u64 = 64 * 1024;
/// The keys of a failure that helps itself: somebody else works on the thread, or the next attempt comes.
const AWAITED: [&str; 2] = ["busy", "nextTryAt"];

/// Returns the failure of the last call of a thread in the background; `None` if it did not fail, if a step
/// was committed since, or if the status of the thread tells it.
pub(super) fn failed_call(site: &Site, thread: ThreadId) -> Option<FailedCall> {
    let run = site.root.run(thread);
    let (written_at, end) = run.scratch.background_end(END).ok()??;
    // A call that committed its step since then is newer, also if the step itself is older. At the same tick of the clock of the file
    // system, the failed call itself has put its step on record.
    if run.outbox.changed_at().is_some_and(|at| at > written_at) {
        return None;
    }
    let since_1970 = written_at.duration_since(UNIX_EPOCH).ok()?;
    Some(FailedCall {
        at_ms: i64::try_from(since_1970.as_millis()).ok()?,
        why: last_failure(&String::from_utf8_lossy(&end))?,
    })
}

/// Returns the last message of calls, if it is a failure that the status of the thread does not tell.
fn last_failure(said: &str) -> Option<Explained> {
    let last = said.lines().rfind(|line| !line.trim().is_empty())?;
    let failure: Value = serde_json::from_str(last).ok()?;
    let code = i32::try_from(failure.get("exitCode")?.as_i64()?).ok()?;
    let is_awaited = AWAITED.iter().any(|key| failure.get(key).is_some());
    match Exit::of_code(code)? {
        // The status of the thread says it, or the caller was told.
        Exit::Done | Exit::Usage | Exit::Suspended | Exit::Ended | Exit::Run(_) => None,
        _ if is_awaited => None,
        exit => Some(explained(&failure, exit)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn why(said: &str) -> Option<(String, Option<String>)> {
        last_failure(said).map(|why| (why.message, why.hint))
    }

    #[test]
    fn the_last_message_counts_if_the_status_does_not_tell_it() {
        let failed = r#"{"error":"a","causes":["b"],"exitCode":5,"hint":"c"}"#;
        let told = Some(("a: b".to_owned(), Some("c".to_owned())));
        assert_eq!(why(failed), told);
        assert_eq!(why(&format!("{{\"note\":\"n\"}}\n{failed}\n\n")), told);
        assert_eq!(why(&format!("{failed}\n{{\"note\":\"n\"}}\n")), None);
        for told in [
            "",
            "error: a text",
            r#"{"error":"a","exitCode":6}"#,
            r#"{"error":"a","exitCode":5,"busy":"06"}"#,
            r#"{"error":"a"}"#,
        ] {
            assert_eq!(why(told), None, "{told}");
        }
    }
}
