//! What a page asks for is done as commands do it: by a process of this program. Those that do steps get a session of their
//! own and outlive the server. The server waits for their end, so that they leave nothing behind.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::process::{Child, ExitStatus, Output, Stdio};

use serde_json::Value;
use uwf_engine::{Glance, Site, glance_at_family};
use uwf_protocol::exit::Exit;
use uwf_protocol::ids::ThreadId;
use uwf_util::shell_words;
use uwf_web::{Carried, Explained, Order};

use super::explain_failure;
use crate::commands::own_program;
use crate::commands::thread::background::{DETACHED, begin};
use crate::commands::thread::jobs::{buffer, text_of};
use crate::failure::Failure;

/// How much of what a process in the background said is read.
const SAID: u64 = 64 * 1024;

/// Carries an order out.
pub(super) fn carry(site: &Site, order: &Order) -> Result<Carried, Explained> {
    match order.works_on {
        Some(thread) => in_background(site, order, thread),
        None => at_once(site, order),
    }
}

/// Waits for the end of the command.
fn at_once(site: &Site, order: &Order) -> Result<Carried, Explained> {
    let stdin = input(order).map_err(|error| not_started(&error))?;
    let output = run(site, &order.words, stdin)?;
    match output.status.success() {
        true => Ok(Carried {
            printed: serde_json::from_slice(&output.stdout).unwrap_or_default(),
            notices: notices(&output.stderr),
        }),
        false => Err(said(&output.stderr, output.status)),
    }
}

/// Runs a command to its end.
pub(super) fn run(site: &Site, words: &[String], stdin: Stdio) -> Result<Output, Explained> {
    let mut command = own_program::on_site(site, words);
    let output = command.stdin(stdin).output();
    output.map_err(|error| not_started(&error))
}

/// Returns as soon as the command works on its thread. What becomes of the step then is on record.
fn in_background(site: &Site, order: &Order, thread: ThreadId) -> Result<Carried, Explained> {
    let mut words = order.words.clone();
    words.push(DETACHED.to_owned());
    let mut command = own_program::on_site(site, &words);
    command.stdin(input(order).map_err(|error| not_started(&error))?);
    let before = Before::of(site, thread);
    let reports = buffer("reports").map_err(|error| not_started(&error))?;
    let begun = begin(site, thread, command, order.may_wait, Some(&reports));
    let mut begun = begun.map_err(explain_failure)?;
    let status = begun.child.try_wait();
    let messages = said_from(&begun.output, begun.from);
    match status {
        Ok(Some(status)) => {
            let has_changed = || before.has_changed(site, thread);
            // What cannot be read says nothing.
            let reported = || tells_of_steps(&text_of(&reports).unwrap_or_default());
            let is_result =
                || begun.was_at_work || reported() || is_on_record(status, &messages, has_changed);
            if !status.success() && !is_result() {
                return Err(match messages.is_empty() {
                    true => silent(order, status),
                    false => said(&messages, status),
                });
            }
        }
        Ok(None) | Err(_) => reap(begun.child),
    }
    Ok(Carried {
        printed: Value::Null,
        notices: notices(&messages),
    })
}

/// A thread and those below it, as they were before a command began; nothing if one of them cannot be read.
struct Before(Option<Vec<(ThreadId, Glance)>>);

impl Before {
    fn of(site: &Site, thread: ThreadId) -> Self {
        Self(glance_at_family(site, thread).ok())
    }

    /// Tells whether something of them has changed, which another process may have done. What cannot be read has not.
    fn has_changed(&self, site: &Site, thread: ThreadId) -> bool {
        // Who works now says nothing about what is on record.
        let at_rest = |&(id, glance): &(ThreadId, Glance)| {
            let is_at_work = false;
            (
                id,
                Glance {
                    is_at_work,
                    ..glance
                },
            )
        };
        match (&self.0, glance_at_family(site, thread)) {
            (Some(before), Ok(now)) => !now.iter().map(at_rest).eq(before.iter().map(at_rest)),
            (None, _) | (_, Err(_)) => false,
        }
    }
}

/// Tells whether the thread says what came of a command that did not succeed.
fn is_on_record(status: ExitStatus, messages: &[u8], has_changed: impl Fn() -> bool) -> bool {
    match status.code().and_then(Exit::of_code) {
        Some(Exit::Agent) => true,
        // A run that stopped, because it asks or is to wait, has no failure among its messages. A call that was refused has one, also
        // if another process has changed the thread meanwhile.
        Some(Exit::Usage | Exit::Busy | Exit::Suspended | Exit::Ended) => {
            failure(messages).is_none()
        }
        _ => has_changed(),
    }
}

/// Tells whether a command that did steps reported one: with each step it prints a report, which has the head of the thread, and a
/// run prints how many steps it did.
fn tells_of_steps(reports: &str) -> bool {
    let tells = |line: &str| {
        let value: Value = serde_json::from_str(line).unwrap_or_default();
        value.get("head").is_some() || value["steps"].as_u64().is_some_and(|steps| steps > 0)
    };
    reports.lines().any(tells)
}

/// Waits for the end of a process on a thread of its own: one that nobody waits for would stay in the table of the system.
fn reap(mut child: Child) {
    let waiting = std::thread::Builder::new().name("reaper".to_owned());
    let _ = waiting.spawn(move || child.wait());
}

/// Returns what the command reads: a text may be longer than an argument may be, and others can read arguments.
fn input(order: &Order) -> std::io::Result<Stdio> {
    let Some(text) = &order.input else {
        return Ok(Stdio::null());
    };
    let mut file = buffer("stdin")?;
    file.write_all(text.as_bytes())?;
    file.seek(SeekFrom::Start(0))?;
    Ok(file.into())
}

fn not_started(error: &std::io::Error) -> Explained {
    explain_failure(Failure::request("cannot start this program").cause(error))
}

/// Returns what was written to a file from a place on, up to [`SAID`].
fn said_from(path: &std::path::Path, from: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|mut file| {
        file.seek(SeekFrom::Start(from))?;
        file.take(SAID).read_to_end(&mut bytes)
    });
    // Without its words, the exit code still says what happened.
    let _ = read;
    bytes
}

/// Returns the notes and warnings among the messages of a command.
fn notices(messages: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(messages);
    let notice = |line: &str| match serde_json::from_str(line).ok()? {
        Value::Object(fields) if fields.len() == 1 => {
            let said = fields.get("warning").or_else(|| fields.get("note"));
            said?.as_str().map(str::to_owned)
        }
        _ => None,
    };
    text.lines().filter_map(notice).collect()
}

/// Returns the last failure among the messages of a command.
fn failure(messages: &[u8]) -> Option<Value> {
    let text = String::from_utf8_lossy(messages);
    let mut lines = text.lines().rev();
    lines.find_map(|line| {
        let value: Value = serde_json::from_str(line).ok()?;
        value.get("exitCode").is_some().then_some(value)
    })
}

/// Returns what is known of a command that failed and left no message. Its messages go to a file under the root.
fn silent(order: &Order, status: ExitStatus) -> Explained {
    let words = shell_words::join(order.words.iter().map(String::as_str));
    Explained {
        exit: status.code().and_then(Exit::of_code).unwrap_or(Exit::Agent),
        message: "the command did nothing, and could not write down why".to_owned(),
        hint: Some(format!(
            "make room if the disk of the root is full; in a terminal, `uwf {words}` says why"
        )),
    }
}

/// Returns why a command failed, from its last message.
pub(super) fn said(messages: &[u8], status: ExitStatus) -> Explained {
    let exit = status.code().and_then(Exit::of_code).unwrap_or(Exit::Agent);
    match failure(messages) {
        Some(failure) => explained(&failure, exit),
        None => Explained {
            exit,
            message: format!("the command ended ({status})"),
            hint: None,
        },
    }
}

/// Returns what a failure says among the messages of a command.
pub(super) fn explained(failure: &Value, exit: Exit) -> Explained {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let what = text(&failure["error"]);
    let causes = failure["causes"].as_array();
    let causes = causes.into_iter().flatten().filter_map(text);
    Explained {
        exit,
        message: what
            .into_iter()
            .chain(causes)
            .collect::<Vec<_>>()
            .join(": "),
        hint: text(&failure["hint"]),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    #[test]
    fn a_command_that_could_not_write_down_why_it_failed_is_told_with_its_words() {
        let order = Order {
            words: ["thread", "step", "a b"].map(str::to_owned).to_vec(),
            input: None,
            works_on: None,
            may_wait: false,
        };
        let told = silent(&order, ExitStatus::from_raw(1 << 8));
        assert_eq!(told.exit, Exit::Request);
        let hint = told.hint.unwrap();
        assert!(hint.contains("`uwf thread step 'a b'` says why"), "{hint}");
    }

    #[test]
    fn a_command_that_did_a_step_before_it_was_refused_was_not_refused() {
        for (reports, expected) in [
            ("", false),
            (r#"{"thread":"x","stopped":"busy","steps":0}"#, false),
            (r#"{"thread":"x","stopped":"busy","steps":1}"#, true),
            (r#"{"thread":"x","head":"y","step":null}"#, true),
        ] {
            assert_eq!(tells_of_steps(reports), expected, "{reports}");
        }
        let suspended = ExitStatus::from_raw(6 << 8);
        assert!(is_on_record(suspended, b"", || false));
        let refusal = br#"{"error":"it asks","exitCode":6}"#;
        assert!(!is_on_record(suspended, refusal, || true));
    }

    #[test]
    fn the_last_failure_says_why_and_notices_are_kept() {
        let messages = br#"{"note":"first"}
{"error":"busy","exitCode":5,"causes":["a","b"],"hint":"later"}
{"note":"after"}"#;
        let explained = said(messages, ExitStatus::from_raw(5 << 8));
        assert_eq!(explained.exit, Exit::Busy);
        assert_eq!(explained.message, "busy: a: b");
        assert_eq!(explained.hint.as_deref(), Some("later"));
        assert_eq!(notices(messages), ["first", "after"]);
        assert_eq!(
            notices(b"{\"warning\":\"w\"}\n{\"thread\":\"x\"}\n\xff"),
            ["w"]
        );
        let silent = said(b"", ExitStatus::from_raw(9));
        assert_eq!(silent.exit, Exit::Agent);
        assert!(silent.message.contains("signal"), "{}", silent.message);
    }
}
