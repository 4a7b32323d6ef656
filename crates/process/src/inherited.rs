//! Files that this process inherited: they stay open in it, and no program that it starts gets them.

use std::os::fd::{IntoRawFd, RawFd};

use rustix::io::fcntl_dupfd_cloexec;
use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};

use crate::snapshot::Process;

/// The first descriptor that is neither the input nor an output.
const FIRST: RawFd = 3;

/// Keeps the files that this process has inherited from the programs that it starts from now on, but for its input and its
/// outputs. They stay open under their numbers: one may be locked by whoever started this process, and one may be
/// `/dev/fd/63`, which is yet to be read.
///
/// This process must have no file open that it made inheritable itself. Without `/proc`, nothing is known and nothing
/// changes.
pub fn keep_inherited_files() {
    let Some(this) = Process::at(std::process::id()) else {
        return;
    };
    let open = this.descriptors();
    let inherited = open.filter(|number| *number >= FIRST && this.passes_on(*number));
    // All are known before the first one is closed.
    for number in inherited.collect::<Vec<_>>() {
        make_private(number);
    }
}

/// Opens the file of a descriptor again, so that programs do not inherit it. Changing the flag of a descriptor that is only
/// known by its number would take `unsafe`.
fn make_private(number: RawFd) {
    let this = pidfd_open(getpid(), PidfdFlags::empty());
    // The second descriptor is of the same open file: its lock stays when the first one is closed. A container may forbid
    // this call. Then the file is only closed.
    let second = this.and_then(|this| pidfd_getfd(this, number, PidfdGetfdFlags::empty()));
    let closed = nix::unistd::close(number);
    if let (Ok(second), Ok(())) = (second, closed)
        // The lowest number from there on that is free: the one that was closed.
        && let Ok(private) = fcntl_dupfd_cloexec(second, number)
    {
        // It stays open as long as this process lives, as an inherited file does.
        let _ = private.into_raw_fd();
    }
}
