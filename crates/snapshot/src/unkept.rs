//! What would be lost with a working tree: changes that are in no commit, and commits that are nowhere else.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use crate::SnapshotError;
use crate::git::Git;
use crate::worktree::refused_as_none;

/// How `git` lists an entry that is a repository of its own.
const COMMIT: &str = "160000";

/// Returns how many files have changes that are not committed, also those that `git` was told to overlook. Ignored files do not
/// count.
pub(crate) fn uncommitted(git: &Git<'_>, tree: &Path) -> Result<u64, SnapshotError> {
    let args = [
        "status",
        "--porcelain",
        "-z",
        "--no-renames",
        "--untracked-files=all",
    ];
    let printed = git.bytes(&args, b"")?;
    let seen = printed.iter().filter(|byte| **byte == 0).count() as u64;
    Ok(seen + overlooked(git, tree)?)
}

/// Returns how many files have changes that `git status` does not see, because a person or an agent told it that they have none
/// (`assume-unchanged`, `skip-worktree`).
fn overlooked(git: &Git<'_>, tree: &Path) -> Result<u64, SnapshotError> {
    let listed = git.bytes(&["ls-files", "-v", "-z"], b"")?;
    let flagged = listed.split(|byte| *byte == 0).filter_map(|entry| {
        let (flag, path) = (entry.first()?, entry.get(2..)?);
        (flag.is_ascii_lowercase() || *flag == b'S').then_some(path)
    });
    // Those of a sparse checkout are not there.
    let is_there = |path: &&[u8]| {
        tree.join(OsStr::from_bytes(path))
            .symlink_metadata()
            .is_ok()
    };
    let flagged: Vec<&[u8]> = flagged.filter(is_there).collect();
    if flagged.is_empty() {
        return Ok(0);
    }
    let staged = git.bytes(&["ls-files", "--stage", "-z"], b"")?;
    let staged: HashMap<&[u8], &[u8]> = staged
        .split(|byte| *byte == 0)
        .filter_map(hash_of)
        .collect();
    let mut changed = 0;
    for path in flagged {
        let name = OsStr::from_bytes(path);
        let args = [OsStr::new("hash-object"), OsStr::new("--"), name];
        let now = git.line(&args)?;
        changed += u64::from(staged.get(path) != Some(&now.as_bytes()));
    }
    Ok(changed)
}

/// Returns the path of a staged entry, and the hash of its content.
fn hash_of(entry: &[u8]) -> Option<(&[u8], &[u8])> {
    let tab = entry.iter().position(|byte| *byte == b'\t')?;
    let hash = entry[..tab].split(|byte| *byte == b' ').nth(1)?;
    Some((&entry[tab + 1..], hash))
}

/// Returns the repositories in a working tree, at every depth, that have commits which none of their remote branches has. Those that
/// are not tracked count as files.
pub(crate) fn unkept_inside(tree: &Path) -> Result<Vec<String>, SnapshotError> {
    let listed = Git::at(tree).bytes(&["ls-files", "--stage", "-z"], b"")?;
    let mut unkept = Vec::new();
    for entry in listed.split(|byte| *byte == 0) {
        let Some(tab) = entry.iter().position(|byte| *byte == b'\t') else {
            continue;
        };
        let path = Path::new(OsStr::from_bytes(&entry[tab + 1..]));
        let folder = tree.join(path);
        if !entry.starts_with(COMMIT.as_bytes()) || !folder.join(".git").exists() {
            continue;
        }
        let own = [
            "rev-list",
            "--count",
            "HEAD",
            "--branches",
            "--tags",
            "--not",
            "--remotes",
        ];
        // One without a commit has none to lose.
        let count = refused_as_none(Git::at(&folder).line(&own))?;
        if count.is_some_and(|count| count != "0") {
            unkept.push(path.display().to_string());
        }
        let deeper = unkept_inside(&folder)?;
        unkept.extend(
            deeper
                .into_iter()
                .map(|one| path.join(one).display().to_string()),
        );
    }
    Ok(unkept)
}
