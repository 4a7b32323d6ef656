//! The outcome of a call of a tool: an answer, or why there is none.

use std::io::{self, Write as _};

use uwf_agent_kit::{AdapterError, ModelUsage, Reply};
use uwf_protocol::failure::FailureClass;

use crate::complaint::complaint;
use crate::program::{Ended, ProgramEnding, tail};
use crate::signs;

use super::{Tool, Transcript};

/// Decides the outcome of a call that has ended. Prints on stderr if an answer is used although the call ended in an
/// unusual way.
pub(super) fn outcome(
    tool: &Tool,
    program: &str,
    session: Option<&str>,
    seen: &mut Transcript,
    ended: &Ended,
) -> Result<Reply, AdapterError> {
    seen.end_of_pieces(Vec::new());
    let how = ended.ending.what(program);
    let answer = match (&seen.error, seen.answer.take(), &how) {
        // A complete answer is used, even if the tool failed afterwards.
        (None, Some(answer), None) => Some(answer),
        (None, Some(answer), Some(how)) => {
            let _ = writeln!(io::stderr(), "{how}, but had answered before");
            Some(answer)
        }
        (None, None, None) if seen.last_text.is_some() => {
            let _ = writeln!(
                io::stderr(),
                "`{program}` ended without a result; its last message is taken for the answer"
            );
            seen.last_text.take()
        }
        (None, None, _) | (Some(_), _, _) => None,
    };
    match answer {
        Some(text) => Ok(Reply {
            text,
            session_id: seen.session_id.take().or(session.map(ToOwned::to_owned)),
            model: seen.model.take(),
            usage: Some(seen.usage.clone()),
            turns: seen.take_turns(),
            refused: seen.take_refused(),
            ..Reply::default()
        }),
        None => Err(failure(tool, program, session, seen, ended)),
    }
}

fn failure(
    tool: &Tool,
    program: &str,
    session: Option<&str>,
    seen: &mut Transcript,
    ended: &Ended,
) -> AdapterError {
    seen.mask_error();
    let said = [
        seen.error.as_deref().unwrap_or_default(),
        &ended.stderr,
        seen.noise_seen(),
    ];
    let was_cut_short = !matches!(ended.ending, ProgramEnding::Exited(_));
    // The tool was ended from outside: what it printed before is seldom the reason.
    let sources = if was_cut_short { &said[..1] } else { &said[..] };
    let mut complaints = sources.iter().map(|source| complaint(source));
    let complaint = complaints.find(|complaint| !complaint.is_empty());
    let complaint = complaint.as_deref().map(tail);
    let what = ended.ending.what(program).unwrap_or(match seen.error {
        Some(_) => format!("`{program}` failed"),
        None => format!("`{program}` ended without an answer"),
    });
    let message = match complaint {
        Some(complaint) => format!("{what}: {complaint}"),
        None => what,
    };
    let words = [&message, &ended.stderr, seen.noise_seen()].map(str::to_lowercase);
    let has_sign = |signs: &[&str]| {
        let mut texts = words.iter();
        texts.any(|text| signs.iter().any(|sign| text.contains(sign)))
    };
    // A session in which the model has answered exists, whatever the messages say.
    let is_gone = session.is_some() && seen.last_text.is_none() && has_sign(tool.gone);
    let was_refused = !was_cut_short && has_sign(tool.logged_out);
    let class = match (seen.class, ended.ending.class(said.map(tail))) {
        (_, FailureClass::Timeout) => FailureClass::Timeout,
        (Some(class), _) => class,
        (None, _) if was_refused => FailureClass::Auth,
        (None, FailureClass::Crash)
            if seen.error.is_none() && ended.ending.what(program).is_none() =>
        {
            FailureClass::NoAnswer
        }
        (None, class) => class,
    };
    let try_again = seen.try_again.or_else(|| signs::try_again(&message));
    let turns = seen.take_turns();
    // A new session that was cut short before its first turn may not even hold the task.
    let has_task = !turns.is_empty() || !was_cut_short;
    let started = seen.session_id.take().filter(|_| has_task);
    let session_id = started.or(session.map(ToOwned::to_owned));
    AdapterError {
        hint: (class == FailureClass::Auth).then(|| tool.login.to_owned()),
        try_again: try_again.filter(|_| class.is_of_provider()).map(Box::new),
        session_gone: is_gone,
        session_id: session_id.filter(|_| !is_gone),
        usage: Some(Box::new(ModelUsage {
            usage: seen.usage.clone(),
            model: seen.model.take(),
        })),
        exit_code: ended.ending.exit_code(),
        turns,
        ..AdapterError::failed(message).class(class)
    }
}
