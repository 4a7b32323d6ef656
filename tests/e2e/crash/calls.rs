//! What a stopped process is about to do, read from what the kernel says about it.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use nix::libc;
use nix::unistd::Pid;

/// Where the file of a call is named, by the places of the arguments.
#[derive(Clone, Copy)]
enum Files {
    Open(usize),
    Path(usize),
    Paths(usize, usize),
}

/// Returns what the stopped task is about to do, if that changes a file below the folder, takes a lock there or
/// starts a process. Paths are told from the folder on.
pub(super) fn describe(task: Pid, folder: &Path) -> Option<String> {
    let (number, arguments) = stopped_at(task)?;
    if let Some(starts) = starting(task, number, &arguments) {
        return Some(starts);
    }
    let (verb, files) = changing(number, &arguments)?;
    let path = |place: usize| text_at(task, arguments[place]);
    let paths = match files {
        Files::Open(place) => vec![open_file(task, arguments[place])?],
        Files::Path(place) => vec![path(place)?],
        Files::Paths(from, to) => vec![path(from)?, path(to)?],
    };
    let mut told = verb.to_owned();
    for path in paths {
        told.push(' ');
        told.push_str(&path.strip_prefix(folder).ok()?.to_string_lossy());
    }
    Some(told)
}

/// Returns the number of the call and its arguments.
fn stopped_at(task: Pid) -> Option<(i64, [u64; 6])> {
    let line = fs::read_to_string(format!("/proc/{task}/syscall")).ok()?;
    let mut words = line.split_ascii_whitespace();
    let number = words.next()?.parse().ok()?;
    let mut arguments = [0; 6];
    for argument in &mut arguments {
        *argument = u64::from_str_radix(words.next()?.strip_prefix("0x")?, 16).ok()?;
    }
    Some((number, arguments))
}

/// Tells a call that makes a process or another program of one. A new thread is none.
fn starting(task: Pid, number: i64, arguments: &[u64; 6]) -> Option<String> {
    #[cfg(target_arch = "x86_64")]
    if [libc::SYS_fork, libc::SYS_vfork].contains(&number) {
        return Some("start a process".to_owned());
    }
    let flags = match number {
        libc::SYS_clone => arguments[0],
        libc::SYS_clone3 => {
            let mut flags = [0; 8];
            memory(task)?.read_exact_at(&mut flags, arguments[0]).ok()?;
            u64::from_ne_bytes(flags)
        }
        libc::SYS_execve => {
            let program = text_at(task, arguments[0])?;
            return Some(format!("become {}", program.display()));
        }
        _ => return None,
    };
    let is_thread = flags & u64::from(libc::CLONE_THREAD.cast_unsigned()) != 0;
    (!is_thread).then(|| "start a process".to_owned())
}

/// Returns the verb of a call that changes files, and where these are named.
fn changing(number: i64, arguments: &[u64; 6]) -> Option<(&'static str, Files)> {
    #[cfg(target_arch = "x86_64")]
    match number {
        libc::SYS_rename => return Some(("rename", Files::Paths(0, 1))),
        libc::SYS_link => return Some(("link", Files::Paths(0, 1))),
        libc::SYS_unlink => return Some(("remove", Files::Path(0))),
        libc::SYS_mkdir => return Some(("make folder", Files::Path(0))),
        libc::SYS_rmdir => return Some(("remove folder", Files::Path(0))),
        _ => {}
    }
    Some(match number {
        libc::SYS_openat if arguments[2] & u64::from(libc::O_CREAT.cast_unsigned()) != 0 => {
            ("create", Files::Path(1))
        }
        libc::SYS_write | libc::SYS_pwrite64 | libc::SYS_writev => ("write", Files::Open(0)),
        libc::SYS_ftruncate => ("cut", Files::Open(0)),
        libc::SYS_fallocate => ("allocate", Files::Open(0)),
        libc::SYS_fsync | libc::SYS_fdatasync => ("sync", Files::Open(0)),
        libc::SYS_flock => ("lock", Files::Open(0)),
        libc::SYS_renameat | libc::SYS_renameat2 => ("rename", Files::Paths(1, 3)),
        libc::SYS_linkat => ("link", Files::Paths(1, 3)),
        libc::SYS_unlinkat => ("remove", Files::Path(1)),
        libc::SYS_mkdirat => ("make folder", Files::Path(1)),
        _ => return None,
    })
}

/// Returns the path of an open file.
fn open_file(task: Pid, descriptor: u64) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{task}/fd/{descriptor}")).ok()
}

/// Returns the path that an argument points to. One that is not absolute begins where the process is.
fn text_at(task: Pid, address: u64) -> Option<PathBuf> {
    let memory = memory(task)?;
    let mut text = Vec::new();
    let mut byte = [0];
    loop {
        memory
            .read_exact_at(&mut byte, address + text.len() as u64)
            .ok()?;
        if byte == [0] {
            break;
        }
        text.push(byte[0]);
    }
    let path = PathBuf::from(String::from_utf8_lossy(&text).into_owned());
    let here = fs::read_link(format!("/proc/{task}/cwd")).ok()?;
    Some(here.join(path))
}

fn memory(task: Pid) -> Option<File> {
    File::open(format!("/proc/{task}/mem")).ok()
}
