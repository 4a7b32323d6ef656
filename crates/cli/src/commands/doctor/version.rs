//! Asks a program for its version. The program is not trusted to answer, to be brief, or to end.

use std::io::{self, Read};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::io::ioctl_fionbio;
use uwf_process::{EndRequest, HeldSignals, Limits, OutputSeen, Tree, WaitEnd};

/// The time limit for the answer.
const LIMIT: Duration = Duration::from_secs(10);
/// The time between the request to end and the kill.
const GRACE: Duration = Duration::from_millis(200);
/// How much of the answer is read, in bytes.
const MOST: u64 = 4096;
/// How many characters of the version are shown.
const SHOWN: usize = 80;

/// Returns the first line that the program prints for `--version`.
///
/// # Errors
/// Why there is no version, as text for people.
pub(super) fn of(program: &Path) -> Result<String, String> {
    let answer = ask(program).map_err(|error| format!("it cannot be started: {error}"))?;
    let Some(answer) = answer else {
        let limit = LIMIT.as_secs();
        return Err(format!("it does not answer `--version` within {limit} s"));
    };
    let line = answer.lines().map(str::trim).find(|line| !line.is_empty());
    let line = line.ok_or_else(|| "it prints no version".to_owned())?;
    Ok(line.chars().take(SHOWN).collect())
}

/// Runs the program with `--version`, and returns its output; `None` if it did not end in time.
fn ask(program: &Path) -> io::Result<Option<String>> {
    let held = HeldSignals::new()?;
    let mut command = Command::new(program);
    command
        .arg("--version")
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut tree = Tree::spawn(&mut command)?;
    let mut stdout = tree.take_stdout().expect("stdout is piped");
    // If this fails, reading blocks: then a program that prints nothing is ended at its time limit.
    let _ = ioctl_fionbio(&stdout, true);
    let mut text = Vec::new();
    let limits = Limits {
        wall: Some(LIMIT),
        idle: None,
    };
    let mut look = || {
        // A non-blocking pipe gives an error if there is nothing to read yet.
        let _ = (&mut stdout).take(MOST).read_to_end(&mut text);
        if text.len() as u64 >= MOST {
            OutputSeen::Enough
        } else {
            OutputSeen::Nothing
        }
    };
    let ending = held.with(|signals| {
        let ending = tree.wait(signals, limits, &mut look);
        let _ = tree.end(EndRequest::NotSent, GRACE, signals);
        ending
    });
    drop(held);
    if let WaitEnd::Stopped(stop) = ending {
        #[expect(clippy::exit, reason = "a signal ends doctor before its next check")]
        std::process::exit(128 + stop.signal);
    }
    let text = String::from_utf8_lossy(&text).into_owned();
    let has_answered = matches!(ending, WaitEnd::Exited | WaitEnd::Enough);
    Ok(has_answered.then_some(text))
}
