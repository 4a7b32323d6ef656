//! What to type next after an error about the place where an agent works.

use std::path::Path;

use uwf_engine::{SnapshotError, Unkept, UnkeptWork, WorkspaceError};
use uwf_protocol::ids::ThreadId;
use uwf_util::shell_words;

/// What to do when git takes too long.
pub(super) const LOOK_FOR_HANGS: &str = "run `git status` in the repository to see whether it hangs there, too; when that is fixed, run the same command again";

/// What to do without `git`.
pub(super) const INSTALL_GIT: &str = "install git, or put it on PATH";

/// What to do when somebody else works in the tree.
const TAKEN: &str = "without `--no-wait`, the command waits; with `--shared-ok`, the agent works there at once, unless files are put back first";

/// What to do after an error that a person can end.
const WHEN_FIXED: &str = "when that is fixed, run the same command again";

/// Returns what the user can do next.
pub(crate) fn hint(error: &WorkspaceError) -> String {
    match error {
        WorkspaceError::NoRepository { directory, .. } => no_repository_hint(directory),
        WorkspaceError::NoCommit { repository, .. } => format!(
            "`git -C {} commit --allow-empty --message first` makes one",
            quoted(repository)
        ),
        WorkspaceError::Inside { .. } => {
            "`uwf config set workspace.folder <folder>` names a folder outside of it".to_owned()
        }
        WorkspaceError::PlaceTaken(place) => {
            let place = quoted(place);
            format!("look at it, and move it away: `mv {place} {place}.old`")
        }
        WorkspaceError::BranchTaken {
            repository, branch, ..
        } => taken_hint(repository, branch),
        WorkspaceError::Gone {
            place,
            branch,
            git_dir,
            thread,
        } => gone_hint(*thread, place, git_dir, branch),
        WorkspaceError::Damaged {
            thread,
            place,
            git_dir,
        } => damaged_hint(*thread, place, git_dir),
        WorkspaceError::NotSeen { .. }
        | WorkspaceError::NotChecked {
            source: SnapshotError::Stopped { .. },
            ..
        } => "run the same command again".to_owned(),
        WorkspaceError::NotChecked { thread, .. } => {
            format!("`uwf thread rm --force --drop-worktree {thread}` removes it all the same")
        }
        WorkspaceError::Taken { .. } => TAKEN.to_owned(),
        WorkspaceError::Interrupted { .. } => {
            "run the same command again to continue: it makes the worktree anew".to_owned()
        }
        WorkspaceError::NotMade(_, source) => not_made_hint(source).to_owned(),
        WorkspaceError::Unkept { thread, unkept } => unkept_hint(*thread, unkept),
        WorkspaceError::Locked { place, git_dir, .. } => locked_hint(place, git_dir),
        WorkspaceError::NotItsPlace { record, .. } => format!(
            "nothing in that folder is touched; `rm {}` forgets the record, and then the thread can be removed",
            quoted(record)
        ),
        WorkspaceError::NotRemoved(..) => WHEN_FIXED.to_owned(),
    }
}

fn no_repository_hint(directory: &Path) -> String {
    format!(
        "`git -C {} init` makes a repository, which then needs a commit; or start a thread with the `--cwd` of one. Without `workspace: worktree` in the workflow or `workspace.mode` in the config, the agents work in the folder itself",
        quoted(directory)
    )
}

fn taken_hint(repository: &Path, branch: &str) -> String {
    let branch = shell_words::quote(branch);
    format!(
        "`git -C {} branch -m {branch} {branch}-old` gives it another name",
        quoted(repository)
    )
}

fn gone_hint(thread: ThreadId, place: &Path, git_dir: &Path, branch: &str) -> String {
    format!(
        "`git -C {} worktree add --force {} {}` brings back what was committed, and `uwf thread restore <step>` what a step left; `uwf thread fork {thread}` goes on in a new worktree",
        quoted(git_dir),
        quoted(place),
        shell_words::quote(branch)
    )
}

fn damaged_hint(thread: ThreadId, place: &Path, git_dir: &Path) -> String {
    format!(
        "an agent has probably removed its `.git`: `git -C {} worktree repair {}` may bring it back; `uwf thread fork {thread}` goes on in a new worktree",
        quoted(git_dir),
        quoted(place)
    )
}

fn locked_hint(place: &Path, git_dir: &Path) -> String {
    format!(
        "`git -C {} worktree unlock {}` unlocks it",
        quoted(git_dir),
        quoted(place)
    )
}

fn not_made_hint(source: &SnapshotError) -> &'static str {
    match source {
        SnapshotError::NoGit(_) => INSTALL_GIT,
        SnapshotError::TooSlow { .. } => LOOK_FOR_HANGS,
        _ => WHEN_FIXED,
    }
}

/// Returns what keeps the work of a worktree, and what gives it up.
fn unkept_hint(thread: ThreadId, work: &UnkeptWork) -> String {
    let Unkept {
        files,
        commits,
        detached,
        inside,
        damaged,
    } = &work.unkept;
    let commit = (*files > 0).then(|| format!("commit the files in `{}`", work.place.display()));
    let merge = (*files > 0 || *commits > 0).then(|| {
        format!(
            "`git -C {} merge {}` takes the commits over",
            quoted(&work.source),
            shell_words::quote(detached.as_ref().unwrap_or(&work.branch))
        )
    });
    let inside = inside.iter().map(|folder| {
        let folder = quoted(&work.place.join(folder));
        format!("push the commits in {folder}, or copy that folder")
    });
    let look = damaged.then(|| format!("move what is needed out of `{}`", work.place.display()));
    let steps = commit.into_iter().chain(merge).chain(inside).chain(look);
    let steps: Vec<String> = steps.collect();
    let force = match work.has_ended {
        true => "",
        false => " --force",
    };
    format!(
        "{}; or `uwf thread rm{force} --drop-worktree {thread}` gives that up",
        steps.join(", then ")
    )
}

fn quoted(path: &Path) -> String {
    shell_words::quote(&path.display().to_string()).into_owned()
}
