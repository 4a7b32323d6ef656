//! What would be lost with a working tree: changes that are in no commit, and commits that are nowhere else.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use crate::SnapshotError;
use crate::git::Git;
use crate::start::Start;
use crate::worktree::refused_as_none;

/// The mode of an entry that is a repository of its own.
const COMMIT: &[u8] = b"160000";
/// The mode of a file that can be executed.
const PROGRAM: &[u8] = b"100755";
/// The mode of a link.
const LINK: &[u8] = b"120000";

/// Returns how many files have changes that are not committed, also those that `git` was told to overlook. Ignored files do not
/// count.
pub(crate) fn uncommitted(tree: &Path, start: &dyn Start) -> Result<u64, SnapshotError> {
    let git = Git::at(tree).in_this_tree().by(start);
    let args = [
        "status",
        "--porcelain",
        "-z",
        "--no-renames",
        "--untracked-files=all",
        // Whatever the repository says: the changes inside of another repository are counted there.
        "--ignore-submodules=dirty",
    ];
    let printed = git.bytes(&args, b"")?;
    let seen = printed.iter().filter(|byte| **byte == 0).count() as u64;
    Ok(seen + overlooked(&git, tree, start)?)
}

/// Returns how many files have changes that `git status` does not see: those that a person or an agent told it to take for
/// unchanged (`assume-unchanged`, `skip-worktree`), and those in other repositories inside.
fn overlooked(git: &Git<'_>, tree: &Path, start: &dyn Start) -> Result<u64, SnapshotError> {
    let listed = git.bytes(&["ls-files", "-v", "-z"], b"")?;
    let flagged = listed.split(|byte| *byte == 0).filter_map(|entry| {
        let (flag, path) = (entry.first()?, entry.get(2..)?);
        (flag.is_ascii_lowercase() || *flag == b'S').then_some(path)
    });
    let flagged: HashSet<&[u8]> = flagged.collect();
    let staged = git.bytes(&["ls-files", "--stage", "-z"], b"")?;
    let staged = staged.split(|byte| *byte == 0).filter_map(Entry::parse);
    let mut changed = 0;
    for entry in staged.filter(|entry| entry.mode == COMMIT || flagged.contains(entry.path)) {
        changed += entry.changes(git, tree, start)?;
    }
    Ok(changed)
}

/// An entry of an index.
struct Entry<'a> {
    mode: &'a [u8],
    hash: &'a [u8],
    path: &'a [u8],
}

impl<'a> Entry<'a> {
    /// Reads a line of `git ls-files --stage`.
    fn parse(line: &'a [u8]) -> Option<Self> {
        let tab = line.iter().position(|byte| *byte == b'\t')?;
        let mut words = line[..tab].split(|byte| *byte == b' ');
        Some(Self {
            mode: words.next()?,
            hash: words.next()?,
            path: &line[tab + 1..],
        })
    }

    /// Returns how many changes its file has: of a repository in the tree, those of its own files. Its commits are looked at by
    /// [`unkept_inside`].
    fn changes(&self, git: &Git<'_>, tree: &Path, start: &dyn Start) -> Result<u64, SnapshotError> {
        let name = OsStr::from_bytes(self.path);
        let file = tree.join(name);
        if self.mode == COMMIT {
            return match file.join(".git").exists() {
                true => uncommitted(&file, start),
                false => Ok(0),
            };
        }
        let Ok(found) = file.symlink_metadata() else {
            // Files of a sparse checkout are not there.
            return Ok(0);
        };
        let is_same = if self.mode == LINK {
            let hash = OsStr::from_bytes(self.hash);
            let kept = git.bytes(&[OsStr::new("cat-file"), OsStr::new("blob"), hash], b"")?;
            let target = file.read_link();
            target.is_ok_and(|target| target.as_os_str().as_bytes() == kept)
        } else {
            let args = [OsStr::new("hash-object"), OsStr::new("--"), name];
            let is_program = found.permissions().mode() & 0o100 != 0;
            found.is_file()
                && is_program == (self.mode == PROGRAM)
                && git.line(&args)?.as_bytes() == self.hash
        };
        Ok(u64::from(!is_same))
    }
}

/// Returns the repositories in a working tree, at every depth, that have commits which none of their remote branches has. Those that
/// are not tracked count as files.
pub(crate) fn unkept_inside(tree: &Path) -> Result<Vec<String>, SnapshotError> {
    let listed = Git::at(tree).bytes(&["ls-files", "--stage", "-z"], b"")?;
    let mut unkept = Vec::new();
    for entry in listed.split(|byte| *byte == 0).filter_map(Entry::parse) {
        let path = Path::new(OsStr::from_bytes(entry.path));
        let folder = tree.join(path);
        if entry.mode != COMMIT || !folder.join(".git").exists() {
            continue;
        }
        let own = ["rev-list", "--count", "--all", "--not", "--remotes"];
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
