//! Parts of messages: who works on a thread, which limits are reached, which signal came.

use uwf_protocol::limits::Reached;
use uwf_protocol::run::LeaseRecord;
use uwf_storage::{Paused, Reason};
use uwf_util::{shell_words, time};

/// Returns ` -p <text>`, quoted for a shell. The text of a file begins with an `@`, and a text of that kind with two.
#[must_use]
pub fn message_option(text: &str) -> String {
    let at = if text.starts_with('@') { "@" } else { "" };
    format!(" -p {}", shell_words::quote(&format!("{at}{text}")))
}

/// Returns the reached limits in one line.
#[must_use]
pub(crate) fn describe_reached(reached: &[Reached]) -> String {
    let reached: Vec<String> = reached.iter().map(ToString::to_string).collect();
    reached.join("; ")
}

/// Returns the name of a signal for people.
pub(crate) fn signal_name(signal: i32) -> String {
    match signal {
        1 => "SIGHUP".to_owned(),
        2 => "SIGINT (Ctrl-C)".to_owned(),
        15 => "SIGTERM".to_owned(),
        other => format!("signal {other}"),
    }
}

pub(crate) fn describe_reason(reason: Reason) -> &'static str {
    match reason {
        Reason::Completed => "completed",
        Reason::Cancelled => "cancelled",
    }
}

/// Returns a text about a pause: its time, its author and its reason, as in `since 2026-11-21 10:00:00 UTC by ann: wait`.
/// `since` is the time as text: text for people has it in local time, errors have it in UTC.
#[must_use]
pub fn describe_pause(paused: &Paused, since: &str) -> String {
    let by = paused.by.as_ref();
    let by = by.map_or_else(String::new, |by| format!(" by {by}"));
    let reason = paused.reason.as_ref();
    let reason = reason.map_or_else(String::new, |reason| format!(": {reason}"));
    format!("since {since}{by}{reason}")
}

/// Returns a time for an error message, which does not depend on the time zone of the machine.
pub(crate) fn utc(ms: i64) -> String {
    format!("{} UTC", time::format_utc(ms))
}

/// Returns what is lost with a thread that has not ended.
pub(crate) fn describe_loss(
    steps: Option<u64>,
    has_finished_step: bool,
    is_shared: bool,
) -> String {
    if is_shared {
        let lost = match has_finished_step {
            true => ", and lose a finished step that waits to be shared",
            false => "",
        };
        return format!(
            "removing it would forget it here{lost}; it goes on at the remote, if that has it"
        );
    }
    let steps = match steps {
        None => "its steps".to_owned(),
        Some(0) => "its task".to_owned(),
        Some(1) => "its step".to_owned(),
        Some(many) => format!("its {many} steps"),
    };
    match has_finished_step {
        true => {
            format!("removing it would lose {steps} and a finished step that waits to be committed")
        }
        false => format!("removing it would lose {steps}"),
    }
}

pub(crate) fn describe_owner(record: Option<&LeaseRecord>, orphaned: bool) -> String {
    let Some(record) = record else {
        return ": another process holds it".to_owned();
    };
    let role = &record.role;
    match &record.agent {
        None if orphaned => format!(
            ": the engine that started `{role}` is gone (process {}), and processes of its agent still run",
            record.engine.pid
        ),
        None if record.waiting => format!(
            ": `{role}` waits until its agent may start (process {})",
            record.engine.pid
        ),
        Some(agent) if orphaned => format!(
            ": `{role}` is at work (agent `{}`, process {}), though the engine that started it is gone (process {}); when it has finished, the next call commits its step",
            record.label, agent.pid, record.engine.pid
        ),
        Some(agent) => format!(
            ": `{role}` is at work (process {} runs agent `{}`, process {})",
            record.engine.pid, record.label, agent.pid
        ),
        None => format!(
            ": `{role}` is being started (process {} starts agent `{}`)",
            record.engine.pid, record.label
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_quoted_and_names_no_file() {
        assert_eq!(message_option("the blue one"), " -p 'the blue one'");
        assert_eq!(message_option("@home"), " -p @@home");
    }
}
