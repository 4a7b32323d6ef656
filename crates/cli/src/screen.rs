//! A page that fills the terminal and is drawn again and again, until a key or a signal ends it.
//!
//! Escape sequences are written here and in `style`, and nowhere else.

use std::io::{self, IsTerminal, Write};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};
use signal_hook::consts::SIGINT;
use uwf_process::Signals;
use uwf_protocol::exit::Exit;

use crate::failure::Failure;

/// The other screen of the terminal, without a cursor.
const OPEN: &str = "\u{1b}[?1049h\u{1b}[?25l";
const CLOSE: &str = "\u{1b}[?25h\u{1b}[?1049l";
/// How long a key or a signal waits at most.
const PATIENCE: Duration = Duration::from_millis(100);

/// The key that interrupts.
const CTRL_C: u8 = 3;

/// The settings of the terminal from before the screen was opened. A panic needs them, too.
static SAVED: Mutex<Option<Saved>> = Mutex::new(None);

/// What is restored.
struct Saved {
    /// `None` if keys do not come from a terminal.
    keys: Option<Termios>,
}

/// Draws what a function returns until a key or a signal ends it, and restores the terminal.
pub(crate) fn show(
    signals: &Signals,
    every: Duration,
    mut page: impl FnMut() -> Result<String, Failure>,
) -> Result<Exit, Failure> {
    let failed = |error: io::Error| Failure::request("cannot use the terminal").cause(&error);
    signals.watch().map_err(failed)?;
    let _screen = Screen::open().map_err(failed)?;
    loop {
        draw(&page()?).map_err(failed)?;
        if let Some(exit) = wait(signals, every) {
            return Ok(exit);
        }
    }
}

/// The open screen.
struct Screen;

impl Screen {
    fn open() -> io::Result<Self> {
        let keys = match io::stdin().is_terminal() {
            true => Some(tcgetattr(io::stdin())?),
            false => None,
        };
        if let Some(before) = &keys {
            let mut modes = before.clone();
            // Ctrl-C and Ctrl-Z come as keys: neither may leave the other screen on.
            modes.local_modes -= LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG;
            tcsetattr(io::stdin(), OptionalActions::Now, &modes)?;
        }
        *SAVED.lock().unwrap_or_else(PoisonError::into_inner) = Some(Saved { keys });
        write(OPEN)?;
        Ok(Self)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

/// Restores the terminal if a screen is open.
pub(crate) fn restore() {
    let saved = SAVED.lock().unwrap_or_else(PoisonError::into_inner).take();
    let Some(Saved { keys }) = saved else { return };
    let _ = write(CLOSE);
    if let Some(keys) = keys {
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &keys);
    }
}

/// Draws a page over the last one. Lines that have no room are counted.
fn draw(page: &str) -> io::Result<()> {
    let size = tcgetwinsize(io::stdout()).ok();
    let height = size.map_or(24, |size| usize::from(size.ws_row)).max(2);
    // Each line is cleared when it is drawn, and not before: the page does not flicker.
    let lines = fitting(page, height).into_iter();
    let lines: Vec<String> = lines.map(|line| line + "\u{1b}[K").collect();
    write(&format!("\u{1b}[H{}\u{1b}[J", lines.join("\n")))
}

/// Returns the lines of a page that fit, and how many do not.
fn fitting(page: &str, height: usize) -> Vec<String> {
    let lines: Vec<&str> = page.lines().collect();
    let mut shown: Vec<String> = lines.iter().take(height).map(ToString::to_string).collect();
    if lines.len() > height {
        shown[height - 1] = format!("… {} more", lines.len() - height + 1);
    }
    shown
}

/// Waits for the next time to draw. Returns the exit code if a key or a signal ends the page before.
fn wait(signals: &Signals, every: Duration) -> Option<Exit> {
    let next = Instant::now() + every;
    loop {
        if let Some(stop) = signals.stop() {
            return Some(Exit::Signal(stop.signal));
        }
        let left = next.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return None;
        }
        let end = keys(left.min(PATIENCE))
            .into_iter()
            .find_map(|key| match key {
                b'q' | b'Q' => Some(Exit::Done),
                CTRL_C => Some(Exit::Signal(SIGINT)),
                _ => None,
            });
        if end.is_some() {
            return end;
        }
    }
}

/// Returns the keys that are pressed within this time, as bytes.
fn keys(most: Duration) -> Vec<u8> {
    let stdin = io::stdin();
    let mut pressed = [0; 64];
    let mut count = 0;
    if stdin.is_terminal() {
        let mut ready = [PollFd::new(&stdin, PollFlags::IN)];
        // A signal may end the wait: then there is nothing to read, and reading would wait for a key.
        if !poll(&mut ready, Some(&timeout(most))).is_ok_and(|count| count > 0) {
            return Vec::new();
        }
        count = rustix::io::read(&stdin, &mut pressed).unwrap_or(0);
    }
    if count == 0 {
        // There are no keys: stdin is something else, or the terminal has gone and a signal comes.
        std::thread::sleep(most);
    }
    pressed[..count].to_vec()
}

/// Waits for this time. Returns whether somebody still reads stdout.
pub(crate) fn is_read_after(most: Duration) -> bool {
    let stdout = io::stdout();
    let mut gone = [PollFd::new(&stdout, PollFlags::empty())];
    !poll(&mut gone, Some(&timeout(most))).is_ok_and(|count| count > 0)
}

fn timeout(most: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(most.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: most.subsec_nanos().into(),
    }
}

fn write(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_have_no_room_are_counted() {
        assert_eq!(fitting("a\nb\nc", 3), ["a", "b", "c"]);
        assert_eq!(fitting("a\nb\nc\nd", 3), ["a", "b", "… 2 more"]);
        assert_eq!(fitting("", 3), Vec::<String>::new());
    }
}
