//! The worker process that evaluates conditions: it reads questions from stdin and prints answers, one line each.
//!
//! It runs from this binary. Before each question it lowers its own resource limits, so that the kernel ends it if the
//! engine does not. It keeps no open files beside its three streams, and the kernel kills it when the engine dies.

use std::io::{self, BufRead, Write};
use std::time::Duration;

use rustix::process::{Resource, getrlimit};
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uwf_moderator::condition::{ConditionError, Question, ValueQuestion, Verdict};

use crate::confine::{confine, limit};

/// What the worker reads, one line each.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum Asked {
    /// Which condition holds first?
    First(Question),
    /// What does an expression give?
    Value(ValueQuestion),
}

/// What the worker prints, one line each.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum Reply {
    /// It starts to evaluate the condition with this index.
    At(usize),
    /// The answer to [`Asked::First`].
    Verdict(Verdict),
    /// The answer to [`Asked::Value`].
    Value(Result<Value, ConditionError>),
}

/// The hidden command that runs the worker.
pub const EVALUATOR_COMMAND: &str = "evaluate-conditions";

/// The processor time that a question may take, in seconds. The kernel counts whole seconds, so it may take one more.
pub(super) const WORK_SECONDS: u64 = 2;

/// The memory that a question may take beside its own text, in bytes.
pub(super) const MEMORY: u64 = 512 << 20;

/// The memory that one byte of a question may take: a number of two digits becomes a value of 24 bytes.
const MEMORY_PER_BYTE: u64 = 32;

/// Reads questions from stdin until its end, and prints an answer for each. Returns the exit code.
#[must_use]
pub fn evaluate_conditions() -> i32 {
    let served =
        confine("uwf-conditions").and_then(|()| serve(io::stdin().lock(), io::stdout().lock()));
    match served {
        Ok(()) => 0,
        Err(error) => {
            // The engine reads stderr, if it still runs.
            let _ = writeln!(io::stderr(), "{error}");
            1
        }
    }
}

fn serve(mut questions: impl BufRead, mut replies: impl Write) -> io::Result<()> {
    let mut line = Vec::new();
    while questions.read_until(b'\n', &mut line)? > 0 {
        limit_next(line.len() as u64)?;
        let reply = match serde_json::from_slice(&line)? {
            Asked::First(question) => Reply::Verdict(answer(question, &mut replies)?),
            Asked::Value(question) => Reply::Value(question.answer()),
        };
        print(&mut replies, &reply)?;
        line.clear();
    }
    Ok(())
}

/// Answers a question. Before each condition but the first it prints the index: if this process dies, the engine knows
/// which condition it was evaluating.
fn answer(question: Question, out: &mut impl Write) -> io::Result<Verdict> {
    let mut printed = Ok(());
    let verdict = question.answer_with_progress(&mut |index| {
        if index > 0 && printed.is_ok() {
            printed = print(out, &Reply::At(index));
        }
    });
    printed.map(|()| verdict)
}

fn print(out: &mut impl Write, reply: &Reply) -> io::Result<()> {
    let mut line = serde_json::to_vec(reply)?;
    line.push(b'\n');
    out.write_all(&line)?;
    out.flush()
}

/// Lowers the resource limits to what the next question may take.
fn limit_next(length: u64) -> io::Result<()> {
    let used = clock_gettime(ClockId::ProcessCPUTime);
    let used = Duration::new(
        u64::try_from(used.tv_sec).unwrap_or_default(),
        u32::try_from(used.tv_nsec).unwrap_or_default(),
    );
    let used_seconds = used.as_secs() + u64::from(used.subsec_nanos() > 0);
    limit(Resource::Cpu, used_seconds + WORK_SECONDS)?;
    let memory = MEMORY.saturating_add(length.saturating_mul(MEMORY_PER_BYTE));
    limit(Resource::As, memory)
}

/// Tells whether this process itself has a lower memory limit than a condition.
pub(super) fn has_less_memory() -> bool {
    getrlimit(Resource::As)
        .current
        .is_some_and(|most| most < MEMORY)
}
