//! Asking a program for its version, without trusting it to answer, to be brief, or to end.

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};

/// How long a program may take. Some are slow to start on a busy machine.
const LIMIT: Duration = Duration::from_secs(10);

/// How much of its answer is read, in bytes.
const MOST: u64 = 4096;

/// How much of its answer is shown, in characters.
const SHOWN: usize = 80;

/// Returns the first line that the program prints for `--version`, or why there is none.
pub(super) fn of(program: &Path) -> Result<String, String> {
    let mut child = Command::new(program)
        .arg("--version")
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .map_err(|error| format!("it cannot be started: {error}"))?;
    let answer = first_line(&mut child);
    end(&mut child);
    match answer {
        None => Err(format!(
            "it does not answer `--version` within {} s",
            LIMIT.as_secs()
        )),
        Some(line) if line.is_empty() => Err("it prints no version".to_owned()),
        Some(line) => Ok(line),
    }
}

/// Waits for the end of its output, or as much of it as is read; `None` when that takes too long.
fn first_line(child: &mut Child) -> Option<String> {
    let stdout = child.stdout.take()?;
    let (send, receive) = mpsc::channel();
    thread::spawn(move || {
        let mut text = Vec::new();
        let _ = stdout.take(MOST).read_to_end(&mut text);
        // Nobody listens any more when the time is over.
        let _ = send.send(text);
    });
    let text = receive.recv_timeout(LIMIT).ok()?;
    let text = String::from_utf8_lossy(&text);
    let line = text.lines().map(str::trim).find(|line| !line.is_empty());
    Some(line.unwrap_or_default().chars().take(SHOWN).collect())
}

/// Ends the program with everything that it started.
fn end(child: &mut Child) {
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    if let Some(group) = group {
        // It has ended itself, as it should.
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = child.wait();
}
