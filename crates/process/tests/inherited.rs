//! Files that this process inherited. They belong to all threads of the process, so this file has one test.

use std::fs::{File, TryLockError, read_link};
use std::os::fd::{AsRawFd, IntoRawFd};
use std::process::Command;

use rustix::io::{FdFlags, fcntl_setfd};
use uwf_process::keep_inherited_files;

#[test]
fn an_inherited_file_stays_open_and_locked_and_programs_do_not_get_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("lock");
    let inherited = File::create(&path).unwrap();
    inherited.lock().unwrap();
    fcntl_setfd(&inherited, FdFlags::empty()).unwrap();
    let ours = File::create(dir.path().join("ours")).unwrap();
    let number = inherited.into_raw_fd();
    assert!(has(number), "a program would get it");
    keep_inherited_files();
    assert!(!has(number) && !has(ours.as_raw_fd()));
    assert_eq!(read_link(format!("/proc/self/fd/{number}")).unwrap(), path);
    let other = File::open(&path).unwrap();
    assert!(matches!(other.try_lock(), Err(TryLockError::WouldBlock)));
}

/// Tells whether a program gets a descriptor.
fn has(number: i32) -> bool {
    let script = format!("test -e /proc/$$/fd/{number}");
    let mut shell = Command::new("sh");
    let status = shell.args(["-c", &script]).status();
    status.is_ok_and(|status| status.success())
}
