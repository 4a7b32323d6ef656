//! The engine's side of evaluating conditions: it starts the worker process, asks it, and ends it if it takes too long.

use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::ioctl_fionbio;
use rustix::process::Signal;

use super::worker::{Asked, EVALUATOR_COMMAND, Reply};
use uwf_process::Signals;

/// The file of this program, even if it was replaced on disk meanwhile.
const OWN_PROGRAM: &str = "/proc/self/exe";

/// How often we look whether a signal has come.
const TICK: Duration = Duration::from_millis(50);

/// How much of a failed worker's stderr is read, in bytes.
const MAX_STDERR: u64 = 4096;

/// The exit code of a Rust program that panicked.
const PANICKED: i32 = 101;

/// Why there is no verdict.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    /// The condition took too much processor time.
    Work,
    /// The condition took too much memory.
    Memory,
    /// The condition nested too deeply.
    Depth,
    /// The time was up.
    Late,
    /// A signal told us to stop.
    Stopped(i32),
    /// The condition made the worker panic, and would do so again.
    Failed(String),
    /// The worker could not be started, or was ended from outside.
    Broken(String),
}

/// The worker process, as the engine has it. Dropping it ends the process.
pub(super) struct Evaluator {
    child: Child,
    questions: ChildStdin,
    replies: ChildStdout,
    /// The received bytes that are not a whole line yet.
    buffer: Vec<u8>,
}

impl Evaluator {
    /// Starts the process in a group of its own, so that signals from the terminal reach only the engine.
    pub(super) fn start() -> Result<Self, Trouble> {
        let broken = |error: io::Error| {
            Trouble::Broken(format!("cannot be started from `{OWN_PROGRAM}`: {error}"))
        };
        let mut child = Command::new(OWN_PROGRAM)
            .arg0("uwf")
            .arg(EVALUATOR_COMMAND)
            .env_clear()
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(broken)?;
        let questions = child.stdin.take().expect("stdin is a pipe");
        let replies = child.stdout.take().expect("stdout is a pipe");
        let started = Self {
            child,
            questions,
            replies,
            buffer: Vec::new(),
        };
        for pipe in [started.questions.as_fd(), started.replies.as_fd()] {
            ioctl_fionbio(pipe, true).map_err(|error| broken(error.into()))?;
        }
        Ok(started)
    }

    /// Returns the answer, or the trouble with the index of the condition that was being evaluated.
    pub(super) fn answer(
        &mut self,
        asked: &Asked,
        deadline: Instant,
        signals: Option<&Signals>,
    ) -> Result<Reply, (usize, Trouble)> {
        let mut line = serde_json::to_vec(asked).expect("a question is plain data");
        line.push(b'\n');
        let mut unsent = line.as_slice();
        let mut at = 0;
        loop {
            while let Some(reply) = self.next_reply() {
                match reply {
                    Ok(Reply::At(index)) => at = index,
                    Ok(answer @ (Reply::Verdict(_) | Reply::Value(_))) => return Ok(answer),
                    Err(error) => return Err((at, Trouble::Broken(format!("said: {error}")))),
                }
            }
            if let Some(stop) = signals.and_then(Signals::stop) {
                return Err((at, Trouble::Stopped(stop.signal)));
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err((at, Trouble::Late));
            }
            self.wait(left.min(TICK), !unsent.is_empty());
            let gone = self.send(&mut unsent).is_err() | self.receive().is_err();
            if gone && !self.buffer.contains(&b'\n') {
                return Err((at, self.cause_of_end()));
            }
        }
    }

    /// Returns the next whole line that was received.
    fn next_reply(&mut self) -> Option<serde_json::Result<Reply>> {
        let end = self.buffer.iter().position(|byte| *byte == b'\n')?;
        let line: Vec<u8> = self.buffer.drain(..=end).collect();
        Some(serde_json::from_slice(&line))
    }

    /// Waits until there is something to read, or room to write, but at most this long.
    fn wait(&self, most: Duration, sending: bool) {
        let timeout = Timespec {
            tv_sec: i64::try_from(most.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: most.subsec_nanos().into(),
        };
        let mut pipes = vec![PollFd::new(&self.replies, PollFlags::IN)];
        if sending {
            pipes.push(PollFd::new(&self.questions, PollFlags::OUT));
        }
        // A signal interrupts the wait. The caller looks for signals.
        let _ = poll(&mut pipes, Some(&timeout));
    }

    /// Sends what the pipe has room for. An error means that the worker no longer reads.
    fn send(&mut self, unsent: &mut &[u8]) -> io::Result<()> {
        while !unsent.is_empty() {
            match self.questions.write(unsent) {
                Ok(sent) => *unsent = &unsent[sent..],
                Err(error) => return ignore_would_block(error),
            }
        }
        Ok(())
    }

    /// Receives what is there. An error means that nothing more will come.
    fn receive(&mut self) -> io::Result<()> {
        let mut chunk = [0; 4096];
        loop {
            match self.replies.read(&mut chunk) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => self.buffer.extend_from_slice(&chunk[..count]),
                Err(error) => return ignore_would_block(error),
            }
        }
    }

    /// Returns why the process ended.
    fn cause_of_end(&mut self) -> Trouble {
        // It may have closed its streams and still run.
        let _ = self.child.kill();
        let status = match self.child.wait() {
            Ok(status) => status,
            Err(error) => return Trouble::Broken(format!("is lost: {error}")),
        };
        let mut message = Vec::new();
        if let Some(stderr) = self.child.stderr.take() {
            let _ = stderr.take(MAX_STDERR).read_to_end(&mut message);
        }
        explain(status, String::from_utf8_lossy(&message).trim())
    }
}

impl Drop for Evaluator {
    fn drop(&mut self) {
        // It has nothing to finish. An error means that it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn ignore_would_block(error: io::Error) -> io::Result<()> {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(()),
        _ => Err(error),
    }
}

/// Returns what the end of the worker means, by its exit status and its stderr.
fn explain(status: ExitStatus, stderr: &str) -> Trouble {
    let ended_by = |signal: Signal| status.signal() == Some(signal.as_raw());
    if ended_by(Signal::XCPU) {
        Trouble::Work
    } else if stderr.contains("memory allocation of") || stderr.contains("capacity overflow") {
        Trouble::Memory
    } else if stderr.contains("overflowed its stack") || ended_by(Signal::SEGV) {
        Trouble::Depth
    } else if status.code() == Some(PANICKED) {
        Trouble::Failed(stderr.lines().next().unwrap_or_default().to_owned())
    } else {
        let said = stderr.lines().next().unwrap_or_default();
        Trouble::Broken(format!("ended with {status}: {said}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_that_was_ended_from_outside_is_told_from_one_that_its_condition_ended() {
        let signalled = |signal: Signal| ExitStatus::from_raw(signal.as_raw());
        let exited = |code: i32| ExitStatus::from_raw(code << 8);
        let broken = |status, said| matches!(explain(status, said), Trouble::Broken(_));
        assert!(broken(signalled(Signal::KILL), ""));
        assert!(broken(signalled(Signal::TERM), ""));
        assert!(broken(exited(1), "Cannot allocate memory"));
        assert_eq!(explain(signalled(Signal::XCPU), ""), Trouble::Work);
        assert_eq!(explain(signalled(Signal::SEGV), ""), Trouble::Depth);
        let said = "memory allocation of 7 bytes failed";
        assert_eq!(explain(signalled(Signal::ABORT), said), Trouble::Memory);
        let failed = Trouble::Failed("a bug".to_owned());
        assert_eq!(explain(exited(PANICKED), "a bug\nat line 7"), failed);
    }
}
