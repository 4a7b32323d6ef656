//! Reading a pipe to its end, in a thread of its own.

use std::io::{ErrorKind, Read};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::ioctl_fionbio;

/// How much is read at once: what a pipe holds.
const CHUNK: usize = 64 * 1024;
/// How long to wait for output until `stop` is looked at again.
const TICK: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 50_000_000,
};

/// Reads a pipe until nobody can write to it any more, or until `stop` is set and nothing is in it. `take` gets all of it,
/// chunk by chunk.
///
/// # Errors
/// That of `take`, which then gets no more.
pub(crate) fn drain<E>(
    mut pipe: impl Read + AsFd,
    stop: &AtomicBool,
    mut take: impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), E> {
    // Where the call is not possible, a read only ends with the output.
    let _ = ioctl_fionbio(&pipe, true);
    let mut chunk = vec![0; CHUNK];
    loop {
        match pipe.read(&mut chunk) {
            Ok(0) => break,
            Ok(length) => take(&chunk[..length])?,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                wait(&pipe);
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            // A pipe has no other error; whatever it is, nothing more can be read.
            Err(_) => break,
        }
    }
    Ok(())
}

/// Waits for output, or for a moment.
fn wait(pipe: &impl AsFd) {
    let mut ready = [PollFd::new(pipe, PollFlags::IN)];
    let _ = poll(&mut ready, Some(&TICK));
}
