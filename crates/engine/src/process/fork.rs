//! Copying this process, and what a copy must know of signals. All `unsafe` code of the project is in this file.

#![expect(
    unsafe_code,
    reason = "no safe function copies a process, resets or asks for a signal, or sets a variable"
)]

use std::io;
use std::mem::MaybeUninit;
use std::ptr;

use nix::libc;
use nix::sys::signal::{SigHandler, SigSet, SigmaskHow, Signal, signal};
use nix::unistd::{ForkResult, fork};
use rustix::process::Pid;

/// What the copy must not inherit: the signals that this process watches.
const WATCHED: [Signal; 4] = [
    Signal::SIGCHLD,
    Signal::SIGHUP,
    Signal::SIGINT,
    Signal::SIGTERM,
];

/// Copies this process and returns the number of the copy, which does `work` with these variables set and exits
/// with the code that `work` returns.
///
/// The copy ends by signals as a program does that was just started: none that comes while it is made is lost.
///
/// # Errors
/// When a variable cannot be set, or the system has no room for another process.
pub(super) fn in_copy(
    variables: &[(String, String)],
    work: impl FnOnce() -> i32,
) -> io::Result<Pid> {
    debug_assert_eq!(
        threads(),
        1,
        "a lock of another thread would stay locked in the copy"
    );
    let has_zero = |(name, value): &(String, String)| name.contains('\0') || value.contains('\0');
    if variables.iter().any(has_zero) {
        let problem = "a variable has a zero byte";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
    }
    let before = SigSet::all().thread_swap_mask(SigmaskHow::SIG_SETMASK)?;
    // SAFETY: this process has one thread, so that the copy finds no lock held and no data half changed.
    let forked = unsafe { fork() };
    if let Ok(ForkResult::Child) = forked {
        for watched in WATCHED {
            // SAFETY: the default of a signal calls no code of ours.
            let inherited = unsafe { signal(watched, SigHandler::SigDfl) };
            if matches!(inherited, Ok(SigHandler::SigIgn)) {
                // SAFETY: to ignore a signal calls no code of ours either.
                let _ = unsafe { signal(watched, SigHandler::SigIgn) };
            }
        }
        // Who starts a program blocks none of its signals, whatever is blocked in the starter.
        let _ = SigSet::empty().thread_set_mask();
        for (name, value) in variables {
            // SAFETY: the copy has one thread: nobody reads the environment meanwhile.
            unsafe { std::env::set_var(name, value) };
        }
        std::process::exit(work());
    }
    before.thread_set_mask()?;
    match forked? {
        ForkResult::Parent { child } => {
            Ok(Pid::from_raw(child.as_raw()).ok_or(io::ErrorKind::Other)?)
        }
        ForkResult::Child => unreachable!("the copy has exited"),
    }
}

/// Returns how many threads this process has, as far as the system tells.
fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").map_or(1, Iterator::count)
}

/// Tells whether this process was told to ignore a signal, as `nohup` does.
pub(crate) fn is_ignored(signal: libc::c_int) -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: without a new action nothing changes; the old one is read only if the call has filled it in.
    unsafe {
        libc::sigaction(signal, ptr::null(), action.as_mut_ptr()) == 0
            && action.assume_init().sa_sigaction == libc::SIG_IGN
    }
}
