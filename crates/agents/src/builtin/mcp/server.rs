//! One running server: a process under a supervisor of its own, and what is said to it.

use std::io;
use std::process::Child;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use uwf_util::mask::Masks;
use uwf_util::size;
use uwf_util::text::cut_line;

use super::result::bounded;
use super::stderr::Stderr;
use crate::builtin::tools::wait_for;
use crate::program::{OwnedLine, Pipes, Received};
use crate::rpc::{self, Incoming};

/// How much a server may send while we wait for one answer, in bytes.
const MAX_SENT: usize = 32 << 20;
/// How long a server may take to end after its stdin was closed, and how long after its supervisor was told to end it.
const END_TIME: Duration = Duration::from_secs(4);
const GRACE: Duration = Duration::from_secs(10);
/// How much of a line that is no message is quoted, in characters.
const EXCERPT: usize = 200;

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Problem {
    /// The server says so.
    #[error("`{method}` was refused: {message}")]
    Refused { method: String, message: String },
    /// It did not answer in time. It may have said something that is no message.
    #[error("`{method}` was not answered within {} s{}", .limit.as_secs_f64(), said(.noise))]
    Late {
        method: String,
        limit: Duration,
        noise: Option<String>,
    },
    /// A message does not fit into the memory. It may have been the answer.
    #[error("a message of {} is too long", size::format(*.bytes as u64))]
    TooLong { bytes: usize },
    /// It has ended, or was ended by us.
    #[error("{0}")]
    Gone(String),
}

fn said(noise: &Option<String>) -> String {
    match noise {
        Some(line) => format!("; this on its standard output is no message: `{line}`"),
        None => String::new(),
    }
}

/// A server.
pub(super) struct Server {
    process: Child,
    pipes: Pipes,
    stderr: Stderr,
    /// The secrets that no excerpt may show.
    masks: Masks,
    /// The id of the newest request.
    request: u64,
    /// Why nothing can be asked any more.
    gone: Option<String>,
    /// The first line that was no message.
    noise: Option<String>,
}

impl Server {
    /// Returns a server whose supervisor was started.
    pub(super) fn of(name: &str, mut process: Child, masks: &Masks) -> io::Result<Self> {
        let stdin = process.stdin.take().expect("stdin is piped");
        let stdout = process.stdout.take().expect("stdout is piped");
        let stderr = process.stderr.take().expect("stderr is piped");
        // If a thread cannot be started, all pipes are closed, and the supervisor ends the server.
        let stderr = Stderr::pass_on(name, stderr, masks)?;
        let (pipes, threads) = Pipes::new(stdin, stdout);
        threads?;
        Ok(Self {
            process,
            pipes,
            stderr,
            masks: masks.clone(),
            request: 0,
            gone: None,
            noise: None,
        })
    }

    /// Tells the server something that has no answer.
    pub(super) fn tell(&self, method: &str, params: &Value) {
        self.pipes.say(rpc::notification(method, params));
    }

    /// Asks the server, and waits for its answer.
    pub(super) fn ask(
        &mut self,
        method: &str,
        params: &Value,
        limit: Duration,
    ) -> Result<Value, Problem> {
        if let Some(gone) = &self.gone {
            return Err(Problem::Gone(gone.clone()));
        }
        self.request += 1;
        self.pipes.say(rpc::request(self.request, method, params));
        let until = Instant::now() + limit;
        let mut sent = 0;
        loop {
            while let Some(line) = self.pipes.next_line() {
                let answer = match line {
                    OwnedLine::Whole(line) => self.hear(&line),
                    OwnedLine::TooLong { bytes } => return Err(Problem::TooLong { bytes }),
                };
                if let Some(answer) = answer {
                    return answer.map_err(|error| Problem::Refused {
                        method: method.to_owned(),
                        message: bounded(&error.message, &self.masks),
                    });
                }
            }
            let left = until.saturating_duration_since(Instant::now());
            match self.pipes.receive(left) {
                Received::Bytes(bytes) => sent += bytes,
                Received::Closed => return Err(self.ended(method)),
                Received::Nothing => return Err(self.late(method, limit)),
            }
            if sent > MAX_SENT {
                return Err(self.flooded(method));
            }
        }
    }

    /// Takes a line of the server. Returns the answer that we wait for, if it is that.
    fn hear(&mut self, line: &str) -> Option<Result<Value, rpc::RpcError>> {
        match rpc::read(line) {
            Some(Incoming::Reply { id, result }) if id == self.request => return Some(result),
            Some(Incoming::Request { id, method, .. }) if method == "ping" => {
                self.pipes.say(rpc::reply(&id, &json!({})));
            }
            Some(Incoming::Request { id, method, .. }) => {
                self.pipes.say(rpc::not_found(&id, &method));
            }
            Some(Incoming::Reply { .. } | Incoming::Notification { .. }) => {}
            None if line.trim().is_empty() => {}
            None => {
                let masks = &self.masks;
                self.noise
                    .get_or_insert_with(|| cut_line(&masks.text(line), EXCERPT));
            }
        }
        None
    }

    fn late(&self, method: &str, limit: Duration) -> Problem {
        // The answer may still come. Its id tells that nobody waits for it.
        let params = json!({ "requestId": self.request, "reason": "out of time" });
        self.tell("notifications/cancelled", &params);
        Problem::Late {
            method: method.to_owned(),
            limit,
            noise: self.noise.clone(),
        }
    }

    fn flooded(&mut self, method: &str) -> Problem {
        self.end();
        let limit = size::format(MAX_SENT as u64);
        self.no_more(format!(
            "it was ended: it sent more than {limit} without an answer to `{method}`"
        ))
    }

    fn ended(&mut self, method: &str) -> Problem {
        self.end();
        let how = match self.process.try_wait() {
            Ok(Some(status)) => match status.code() {
                Some(code) => format!("it ended (exit code {code})"),
                None => format!("it ended ({status})"),
            },
            Ok(None) | Err(_) => "it closed its output".to_owned(),
        };
        let how = format!("{how} before it answered `{method}`");
        let how = match (self.stderr.tail(), said(&self.noise)) {
            (stderr, noise) if stderr.is_empty() => how + &noise,
            (stderr, _) => format!("{how}: {stderr}"),
        };
        self.no_more(how)
    }

    fn no_more(&mut self, why: String) -> Problem {
        self.gone = Some(why.clone());
        Problem::Gone(why)
    }

    /// Asks the server to end, by closing its stdin.
    pub(super) fn close(&mut self) {
        self.pipes.close_stdin();
    }

    /// Waits for the end of the server and of everything that it has started.
    fn end(&mut self) {
        self.close();
        if wait_for(&mut self.process, END_TIME).is_some() {
            return;
        }
        // The server does not read, so the thread that writes to it keeps its stdin open. The supervisor is our child and not
        // waited for yet, so the number is that of no other process.
        if let Some(pid) = i32::try_from(self.process.id())
            .ok()
            .and_then(Pid::from_raw)
        {
            let _ = kill_process(pid, Signal::TERM);
        }
        if wait_for(&mut self.process, GRACE).is_none() {
            let _ = self.process.kill();
            let _ = self.process.wait();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}
