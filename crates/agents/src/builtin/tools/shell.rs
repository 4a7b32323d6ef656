//! The tool that runs commands. A [`supervisor`] process starts the command, and ends it with everything that it
//! started at the time limit, or when this process has died.

use std::ffi::OsString;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::{Value, json};
use uwf_util::mask::Masks;

use super::MAX_SHOWN;
use super::workspace::Workspace;
use crate::bounded::BoundedBuffer;
use crate::builtin::supervisor;
use crate::masked_pipe;

/// The time limit of a command: the default, and the largest.
const TIMEOUT: Duration = Duration::from_secs(120);
const MAX_TIMEOUT: Duration = Duration::from_secs(30 * 60);
/// How long the supervisor may take to end a command, and how long to wait for the rest of its output.
const GRACE: Duration = Duration::from_secs(5);
/// The longest pause between two checks whether a command has ended.
const LONGEST_PAUSE: Duration = Duration::from_millis(20);
/// The size of the beginning and of the end of a stream that are kept, in bytes each.
const PART: usize = MAX_SHOWN / 4;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ShellExec {
    command: String,
    cwd: Option<String>,
    timeout_s: Option<u64>,
}

/// The environment of commands.
pub(in crate::builtin) struct Shell {
    /// This program, which is also the supervisor.
    pub(super) program: PathBuf,
    /// The additional variables of the supervisor.
    pub(super) supervision: Vec<(OsString, OsString)>,
    /// The variables of the commands.
    pub(super) variables: Vec<(OsString, OsString)>,
}

impl Shell {
    /// Starts a supervisor in a folder. Its program gets the variables, and these in addition.
    pub(in crate::builtin) fn start(
        &self,
        args: &[&str],
        additional: &IndexMap<String, String>,
        folder: &OwnedFd,
    ) -> io::Result<Child> {
        Command::new(&self.program)
            .arg0("uwf-builtin")
            .args(args)
            .env_clear()
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .envs(additional)
            .envs(self.supervision.iter().map(|(name, value)| (name, value)))
            // The open folder stays the same, even if it is renamed before the program starts.
            .current_dir(format!("/proc/self/fd/{}", folder.as_raw_fd()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // The supervisor must outlive a signal to our group, to end processes that have left the group.
            .process_group(0)
            .spawn()
    }
}

impl ShellExec {
    pub(super) const DESCRIPTION: &str = "Runs a command with `sh -c` and returns its exit code and its output. `cwd`: \
        a folder below the working directory. `timeout_s`: the time limit in seconds, 120 if left out, at most 1800. \
        Standard input is empty. Processes that the command leaves running are killed when it ends.";

    pub(super) fn parameters() -> Value {
        json!({
            "type": "object",
            "properties": {
                "command": { "type": "string" },
                "cwd": { "type": "string" },
                "timeout_s": { "type": "integer", "minimum": 1, "maximum": MAX_TIMEOUT.as_secs() },
            },
            "required": ["command"],
            "additionalProperties": false,
        })
    }

    /// Runs the command. `left` is the time that is left for the step. What it prints is returned without secrets.
    pub(super) fn run(
        &self,
        shell: &Shell,
        workspace: &Workspace,
        left: Option<Duration>,
        masks: &Masks,
    ) -> Result<String, String> {
        if self.command.trim().is_empty() || self.command.contains('\0') {
            return Err("`command` must be a command line".to_owned());
        }
        let asked = self.timeout_s.map_or(TIMEOUT, Duration::from_secs);
        let limit = asked
            .clamp(Duration::from_secs(1), MAX_TIMEOUT)
            .min(left.unwrap_or(MAX_TIMEOUT));
        let folder = workspace.folder(self.cwd.as_deref().unwrap_or("."))?;
        let args = [supervisor::COMMAND, &self.command];
        let mut process = shell
            .start(&args, &IndexMap::new(), &folder)
            .map_err(|error| format!("the command could not be started: {error}"))?;
        let lifeline = process.stdin.take().expect("stdin is piped");
        let stdout = process.stdout.take().expect("stdout is piped");
        let stderr = process.stderr.take().expect("stderr is piped");
        let streams = collect(stdout, masks).and_then(|out| Ok((out, collect(stderr, masks)?)));
        let (stdout, stderr) = match streams {
            Ok(streams) => streams,
            Err(error) => {
                drop(lifeline);
                let _ = process.wait();
                return Err(format!("the command's output could not be read: {error}"));
            }
        };
        let ending = wait(process, lifeline, limit);
        Ok(report(&ending, limit, &text(&stdout), &text(&stderr)))
    }
}

/// Waits for a supervisor. At the time limit, closes its lifeline and returns `None`.
fn wait(mut process: Child, lifeline: ChildStdin, limit: Duration) -> Option<ExitStatus> {
    if let Some(status) = wait_for(&mut process, limit) {
        return Some(status);
    }
    drop(lifeline);
    wait_for(&mut process, GRACE);
    None
}

/// Waits for a process, for `most` at the longest.
pub(in crate::builtin) fn wait_for(process: &mut Child, most: Duration) -> Option<ExitStatus> {
    let deadline = Instant::now() + most;
    let mut pause = Duration::from_millis(1);
    loop {
        if let Ok(Some(status)) = process.try_wait() {
            return Some(status);
        }
        let left = deadline.checked_duration_since(Instant::now())?;
        thread::sleep(pause.min(left));
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Reads a stream to its end in a thread, and keeps its beginning and its end, without secrets.
fn collect(from: impl Read + Send + 'static, masks: &Masks) -> io::Result<Receiver<BoundedBuffer>> {
    let (sender, receiver) = mpsc::channel();
    let masks = masks.clone();
    thread::Builder::new().spawn(move || {
        let mut collected = BoundedBuffer::new(PART);
        masked_pipe::read(from, &masks, &mut |bytes| collected.push(bytes));
        sender.send(collected)
    })?;
    Ok(receiver)
}

fn text(stream: &Receiver<BoundedBuffer>) -> String {
    match stream.recv_timeout(GRACE) {
        Ok(collected) => collected.text_with_gap(),
        Err(_) => "[the output could not be read to its end]".to_owned(),
    }
}

fn report(ending: &Option<ExitStatus>, limit: Duration, stdout: &str, stderr: &str) -> String {
    let mut report = match ending {
        None => format!(
            "error: the command was ended after its time limit of {} s",
            limit.as_secs()
        ),
        Some(status) => match (status.code(), status.signal()) {
            (Some(code), _) => format!("exit code: {code}"),
            (None, signal) => format!("error: ended by signal {}", signal.unwrap_or_default()),
        },
    };
    for (name, said) in [("stdout", stdout), ("stderr", stderr)] {
        if !said.trim().is_empty() {
            report.push_str(&format!("\n--- {name} ---\n{}", said.trim_end()));
        }
    }
    report
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_says_how_a_command_ended_and_what_it_said() {
        let limit = Duration::from_secs(7);
        let ended = |raw| Some(ExitStatus::from_raw(raw));
        assert_eq!(report(&ended(0), limit, "", " \n"), "exit code: 0");
        assert_eq!(
            report(&ended(2 << 8), limit, "a\n", "b\n"),
            "exit code: 2\n--- stdout ---\na\n--- stderr ---\nb"
        );
        assert_eq!(report(&ended(9), limit, "", ""), "error: ended by signal 9");
        let late = report(&None, limit, "so far", "");
        assert!(
            late.starts_with("error: the command was ended after its time limit of 7 s"),
            "{late}"
        );
        assert!(late.ends_with("so far"));
    }
}
