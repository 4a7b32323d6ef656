//! Which recorded file belongs to a path that a check names. Pure: it compares texts of paths, and follows no links.

use std::path::{Component, Path, PathBuf};

use crate::checks::PinnedFile;

/// Where a check runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckPlace<'a> {
    /// The directory of the thread, under each name that it has: its own, and the one that stands for it in a worktree.
    pub own: &'a [PathBuf],
    /// The directory in which the check runs.
    pub cwd: &'a Path,
}

impl CheckPlace<'_> {
    /// Returns the record of the file that a check names by a path. If nothing is on record for the directory of the check, it is
    /// the one with the same path in the directory of the thread: a location may be a copy of it.
    #[must_use]
    pub fn pinned<'p>(&self, path: &str, pinned: &'p [PinnedFile]) -> Option<&'p PinnedFile> {
        let here = self
            .own
            .iter()
            .map(|own| relative(own, self.cwd).join(path));
        let mut wanted = here.chain([self.cwd.join(path), PathBuf::from(path)]);
        wanted.find_map(|wanted| find(pinned, &wanted))
    }
}

/// Returns the record of a path that starts at the directory of the thread.
#[must_use]
pub fn find<'p>(pinned: &'p [PinnedFile], path: &Path) -> Option<&'p PinnedFile> {
    let path = plain(path);
    pinned
        .iter()
        .find(|one| plain(Path::new(&one.path)) == path)
}

/// Returns the records of a directory below that of the thread, as they are for a thread that starts there.
#[must_use]
pub fn below(pinned: &[PinnedFile], directory: &Path) -> Vec<PinnedFile> {
    let directory = plain(directory);
    let files = pinned.iter().filter_map(|one| {
        let path = plain(Path::new(&one.path));
        let below = path.strip_prefix(&directory).ok()?;
        Some(PinnedFile {
            path: below.to_str()?.to_owned(),
            sha256: one.sha256.clone(),
        })
    });
    files.collect()
}

/// Returns a path without `.`, and without each `..` that follows a name.
#[must_use]
pub fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        let last = plain.components().next_back();
        match (part, last) {
            (Component::CurDir, _) | (Component::ParentDir, Some(Component::RootDir)) => {}
            (Component::ParentDir, Some(Component::Normal(_))) => {
                plain.pop();
            }
            (part, _) => plain.push(part),
        }
    }
    plain
}

/// Returns the way from one directory to another.
fn relative(from: &Path, to: &Path) -> PathBuf {
    let (from, to) = (plain(from), plain(to));
    let both = from.components().zip(to.components());
    let common = both.take_while(|(one, other)| one == other).count();
    let up = from.components().skip(common).map(|_| Component::ParentDir);
    up.chain(to.components().skip(common)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pinned(paths: &[&str]) -> Vec<PinnedFile> {
        let files = paths.iter().map(|path| PinnedFile {
            path: (*path).to_owned(),
            sha256: (*path).to_owned(),
        });
        files.collect()
    }

    #[test]
    fn a_path_is_known_however_it_is_written() {
        for (path, expected) in [
            ("ci/../ci/check.sh", "ci/check.sh"),
            ("./ci//check.sh", "ci/check.sh"),
            ("a/../../check.sh", "../check.sh"),
            ("../../x", "../../x"),
            ("/a/../../x", "/x"),
            ("a/..", ""),
        ] {
            assert_eq!(plain(Path::new(path)), Path::new(expected), "{path}");
        }
    }

    #[test]
    fn a_file_is_that_of_the_directory_in_which_the_check_runs() {
        let files = pinned(&[
            "check.sh",
            "sub/./check.sh",
            "../other/check.sh",
            "/abs",
            "/far/x",
            "only",
        ]);
        let own = [PathBuf::from("/project"), PathBuf::from("/tree/project")];
        let check = |cwd: &str, path: &str, expected: Option<&str>| {
            let place = CheckPlace {
                own: &own,
                cwd: Path::new(cwd),
            };
            let found = place.pinned(path, &files);
            let found = found.map(|one| one.sha256.as_str());
            assert_eq!(found, expected, "{path} in {cwd}");
        };
        check("/project", "./check.sh", Some("check.sh"));
        check("/project", "sub/../check.sh", Some("check.sh"));
        check("/project/sub", "check.sh", Some("sub/./check.sh"));
        check("/tree/project/sub", "check.sh", Some("sub/./check.sh"));
        check("/project/sub", "../check.sh", Some("check.sh"));
        check("/project/sub", "/abs", Some("/abs"));
        check("/other", "check.sh", Some("../other/check.sh"));
        check("/far", "x", Some("/far/x"));
        check("/project/copy", "only", Some("only"));
        check("/project", "nothing", None);
    }

    #[test]
    fn files_below_a_directory_start_there() {
        let files = pinned(&["check.sh", "sub/./ci/check.sh", "/abs"]);
        let below = below(&files, Path::new("./sub"));
        assert_eq!(below.len(), 1, "{below:?}");
        assert_eq!(below[0].path, "ci/check.sh");
        assert_eq!(below[0].sha256, "sub/./ci/check.sh");
    }
}
