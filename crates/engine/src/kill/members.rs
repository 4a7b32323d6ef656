//! Whose a process group is, by what `/proc` says: proof that must be there before a group is signalled.

use std::fs;
use std::path::Path;

use uwf_storage::process_group;

/// Tells whether a process of the group has the file open. Where the system does not tell, none is known to.
pub(super) fn have_open(group: u32, file: &Path) -> bool {
    let (Ok(file), Ok(processes)) = (fs::canonicalize(file), fs::read_dir("/proc")) else {
        return false;
    };
    processes.flatten().any(|process| {
        let pid = process
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok());
        pid.and_then(process_group) == Some(group) && has_open(&process.path(), &file)
    })
}

fn has_open(process: &Path, file: &Path) -> bool {
    let Ok(descriptors) = fs::read_dir(process.join("fd")) else {
        return false;
    };
    descriptors
        .flatten()
        .any(|descriptor| fs::read_link(descriptor.path()).is_ok_and(|open| open == file))
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt;
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_group_is_known_by_what_its_members_have_open() {
        let temp = tempfile::tempdir().unwrap();
        let (lock, other) = (temp.path().join("lock"), temp.path().join("other"));
        fs::write(&other, "").unwrap();
        let mut command = Command::new("cat");
        command.stdin(Stdio::piped()).process_group(0);
        let mut cat = command.stdout(fs::File::create(&lock).unwrap()).spawn();
        let cat = cat.as_mut().unwrap();
        assert!(have_open(cat.id(), &lock));
        assert!(!have_open(cat.id(), &other));
        assert!(!have_open(std::process::id(), &lock), "of another group");
        drop(cat.stdin.take());
        cat.wait().unwrap();
        assert!(!have_open(cat.id(), &lock), "of a group that is gone");
    }
}
