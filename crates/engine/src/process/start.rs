//! Starting an agent: a program of its own, or an adapter of this one.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use rustix::process::{Pid, setpgid};
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout};
use rustix::thread::set_name;

use super::{Launch, Program, fork};

/// Starts the agent in a process group of its own and returns its number, which is also the group's.
pub(super) fn start(launch: &Launch, stdout: File, stderr: File) -> io::Result<Pid> {
    match launch.program {
        Program::File(path) => {
            let child = Command::new(path)
                .args(launch.args)
                .envs(launch.env.iter().map(|(name, value)| (name, value)))
                .current_dir(launch.cwd)
                .stdin(Stdio::null())
                .stdout(stdout)
                .stderr(stderr)
                .process_group(0)
                .spawn()?;
            Ok(Pid::from_child(&child))
        }
        Program::BuiltIn(name) => {
            let stdin = File::open("/dev/null")?;
            let pid = fork::in_copy(launch.env, || {
                let entered = enter(launch, name, &stdin, &stdout, &stderr);
                entered.map_or_else(
                    |error| {
                        eprintln!("error: cannot start `uwf-{name}`\ncause: {error}");
                        1
                    },
                    |()| (launch.play)(name, launch.args),
                )
            })?;
            // Both sides do it: neither may go on before it is done.
            let _ = setpgid(Some(pid), Some(pid));
            Ok(pid)
        }
    }
}

/// Makes the copy of this process what a program would be started as.
fn enter(
    launch: &Launch,
    name: &str,
    stdin: &File,
    stdout: &File,
    stderr: &File,
) -> io::Result<()> {
    setpgid(None, None)?;
    // For people who look at processes; the arguments that they see there are still ours.
    let _ = set_name(&CString::new(format!("uwf-{name}"))?);
    dup2_stdin(stdin)?;
    dup2_stdout(stdout)?;
    dup2_stderr(stderr)?;
    std::env::set_current_dir(launch.cwd)
}
