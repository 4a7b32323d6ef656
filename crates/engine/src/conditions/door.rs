//! The side of the evaluator: a process of this binary that reads questions and prints verdicts, one line each.
//!
//! Before each question it lowers its own limits, so that it ends by itself even if nobody ends it. It has no
//! more open files than its three streams, and dies with the process that started it.

use std::ffi::CString;
use std::io::{self, BufRead, Write};
use std::time::Duration;

use rustix::process::{
    Resource, Rlimit, Signal, getrlimit, set_parent_process_death_signal, setrlimit,
};
use rustix::thread::set_name;
use rustix::time::{ClockId, clock_gettime};
use uwf_moderator::condition::{Question, Verdict};

use super::evaluator::Reply;

/// The hidden command that opens this side.
pub const EVALUATOR_DOOR: &str = "evaluate-conditions";

/// How many seconds of processor time a question may take. The kernel counts whole seconds: it may be one more.
pub(super) const WORK_SECONDS: u64 = 2;

/// How much memory a question may take beside what it says itself, in bytes.
pub(super) const MEMORY: u64 = 512 << 20;

/// How much memory one byte of a question may take: a number of two digits becomes a value of 24 bytes.
const MEMORY_PER_BYTE: u64 = 32;

/// The highest number of a file that may have been inherited.
const HIGHEST_INHERITED: i32 = 255;

/// Reads questions from stdin until its end, and prints a verdict for each. Returns the exit code.
#[must_use]
pub fn evaluate_conditions() -> i32 {
    let served = confine().and_then(|()| serve(io::stdin().lock(), io::stdout().lock()));
    match served {
        Ok(()) => 0,
        Err(error) => {
            // Who started us reads it, if there is still somebody.
            let _ = writeln!(io::stderr(), "{error}");
            1
        }
    }
}

/// Makes sure that this process outlives nobody and keeps nothing busy.
fn confine() -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // The lock of a thread may be among them. Nothing else is open yet: these numbers belong to nobody here.
    for inherited in 3..=HIGHEST_INHERITED {
        let _ = nix::unistd::close(inherited);
    }
    // For people who look at processes.
    let _ = set_name(&CString::new("uwf-conditions")?);
    limit(Resource::Core, 0)
}

fn serve(mut questions: impl BufRead, mut verdicts: impl Write) -> io::Result<()> {
    let mut line = Vec::new();
    while questions.read_until(b'\n', &mut line)? > 0 {
        limit_next(line.len() as u64)?;
        let question: Question = serde_json::from_slice(&line)?;
        let verdict: Verdict = answer(question, &mut verdicts)?;
        print(&mut verdicts, &Reply::Verdict(verdict))?;
        line.clear();
    }
    Ok(())
}

/// Answers a question, and says before each condition which one it is: that is known then if we do not come back.
fn answer(question: Question, out: &mut impl Write) -> io::Result<Verdict> {
    let mut told = Ok(());
    let verdict = question.answer_telling(&mut |index| {
        if index > 0 && told.is_ok() {
            told = print(out, &Reply::At(index));
        }
    });
    told.map(|()| verdict)
}

fn print(out: &mut impl Write, reply: &Reply) -> io::Result<()> {
    let mut line = serde_json::to_vec(reply)?;
    line.push(b'\n');
    out.write_all(&line)?;
    out.flush()
}

/// Lowers the limits to what the next question may take.
fn limit_next(length: u64) -> io::Result<()> {
    let used = clock_gettime(ClockId::ProcessCPUTime);
    let used = Duration::new(
        u64::try_from(used.tv_sec).unwrap_or_default(),
        u32::try_from(used.tv_nsec).unwrap_or_default(),
    );
    let begun = used.as_secs() + u64::from(used.subsec_nanos() > 0);
    limit(Resource::Cpu, begun + WORK_SECONDS)?;
    let memory = MEMORY.saturating_add(length.saturating_mul(MEMORY_PER_BYTE));
    limit(Resource::As, memory)
}

/// Tells whether this process may not use as much memory as a condition may.
pub(super) fn has_less_memory() -> bool {
    getrlimit(Resource::As)
        .current
        .is_some_and(|most| most < MEMORY)
}

/// Sets a limit, unless a lower one is set from outside.
fn limit(resource: Resource, most: u64) -> io::Result<()> {
    let maximum = getrlimit(resource).maximum;
    let current = Some(maximum.map_or(most, |maximum| maximum.min(most)));
    Ok(setrlimit(resource, Rlimit { current, maximum })?)
}
