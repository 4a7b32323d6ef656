//! What a process of this program does first if the engine starts it for a question: it lets go of what it inherited.

use std::ffi::CString;
use std::io;

use rustix::process::{
    Resource, Rlimit, Signal, getrlimit, set_parent_process_death_signal, setrlimit,
};
use rustix::thread::set_name;

/// The highest number of a file that may have been inherited.
const HIGHEST_INHERITED: i32 = 255;

/// Makes sure that this process dies with the engine, and that it keeps no inherited lock. `name` is what people see in
/// `ps`. The process must not have opened any file itself yet.
///
/// # Errors
/// When the kernel refuses.
pub fn confine(name: &str) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // The lock of a thread may be among the inherited files.
    for inherited in 3..=HIGHEST_INHERITED {
        let _ = nix::unistd::close(inherited);
    }
    let _ = set_name(&CString::new(name)?);
    limit(Resource::Core, 0)
}

/// Sets a resource limit, unless a lower one was set from outside.
pub(crate) fn limit(resource: Resource, most: u64) -> io::Result<()> {
    let maximum = getrlimit(resource).maximum;
    let current = Some(maximum.map_or(most, |maximum| maximum.min(most)));
    Ok(setrlimit(resource, Rlimit { current, maximum })?)
}
