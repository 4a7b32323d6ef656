//! Whose a process group is, by what `/proc` says: proof that must be there before a group is signalled.

use std::fs;
use std::path::Path;

/// Tells whether a process of the group has the file open. Where the system does not tell, none is known to.
pub(super) fn have_open(group: u32, file: &Path) -> bool {
    let (Ok(file), Ok(processes)) = (fs::canonicalize(file), fs::read_dir("/proc")) else {
        return false;
    };
    processes
        .flatten()
        .map(|process| process.path())
        .any(|process| group_of(&process) == Some(group) && has_open(&process, &file))
}

fn group_of(process: &Path) -> Option<u32> {
    parse_group(&fs::read(process.join("stat")).ok()?)
}

/// Reads field 5. Field 2 is the program's name in parentheses, and may have blanks and parentheses itself.
fn parse_group(stat: &[u8]) -> Option<u32> {
    let name_end = stat.iter().rposition(|byte| *byte == b')')?;
    let mut fields = str::from_utf8(&stat[name_end + 1..])
        .ok()?
        .split_ascii_whitespace();
    fields.nth(2)?.parse().ok()
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
    fn a_name_with_parentheses_does_not_shift_the_fields() {
        assert_eq!(parse_group(b"7 (a) b) R 1 42 3 4\n"), Some(42));
        assert_eq!(parse_group(b"7 (a) R 1"), None);
        assert_eq!(parse_group(b""), None);
    }

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
