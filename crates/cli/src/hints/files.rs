//! Hints of errors about files that steps changed, and about artefacts.

use uwf_engine::{ArtifactError, FilesError, SnapshotError};
use uwf_util::shell_words;

/// Returns the hint of an error about artefacts.
pub(super) fn of_artifact(error: &ArtifactError) -> Option<String> {
    Some(match error {
        ArtifactError::Unknown {
            near: Some(near), ..
        } => format!("did you mean `{near}`?"),
        ArtifactError::Unknown { step, .. } => {
            format!("`uwf step artifacts {step}` lists those that it has")
        }
        ArtifactError::Exists { .. } => {
            "choose another folder, or replace them with `--force`".to_owned()
        }
        ArtifactError::LeftOut { .. }
        | ArtifactError::NotWritten { .. }
        | ArtifactError::Bytes { .. } => return None,
    })
}

/// Returns the hint of an error about the files that steps changed.
pub(super) fn hint(error: &FilesError) -> Option<String> {
    Some(match error {
        FilesError::OfStep(_) | FilesError::OfStart(_) | FilesError::OfThread(_) => {
            "files are recorded when an agent works in a git repository, unless the config says `snapshots.enabled: false`; `uwf log show` tells why it failed".to_owned()
        }
        FilesError::SeveralTrees(step) => format!(
            "`uwf thread diff --stat {step}` shows them; `uwf thread restore <step>` puts back those of one step of a child"
        ),
        FilesError::NoRepository { directory, .. } => format!(
            "files are recorded when an agent works in a git repository: `git init {}` makes one, and the next steps are recorded",
            shell_words::quote(&directory.display().to_string())
        ),
        FilesError::Unsaved { step, before, .. } => {
            let before = if *before { " --before" } else { "" };
            format!(
                "commit them, or `uwf thread restore --force{before} {step}` replaces them; they stay as a snapshot of the thread"
            )
        }
        FilesError::OfWorktree { step, .. } => format!(
            "with `workspace: worktree` in the workflow or the config, a fork begins with these files; `uwf thread diff {step}` shows them"
        ),
        FilesError::AtWork { by, .. } => format!(
            "`uwf thread wait {}` waits until nobody works on it; then try again",
            by[0]
        ),
        FilesError::Collected { .. } => {
            "without `--restore`, the fork begins at the commit that is checked out".to_owned()
        }
        FilesError::InTheWay { .. } => "move them elsewhere, and try again".to_owned(),
        FilesError::Artifact(error) => return of_artifact(error),
        FilesError::NotCompared(source)
        | FilesError::NotRestored(source)
        | FilesError::PartlyRestored { source, .. } => match source {
            SnapshotError::NoGit(_) => super::workspace::INSTALL_GIT.to_owned(),
            SnapshotError::Gone(_) => {
                "the snapshots are in that repository: put it back where it was".to_owned()
            }
            SnapshotError::TooSlow { .. } => super::workspace::LOOK_FOR_HANGS.to_owned(),
            SnapshotError::Stopped { .. } => "run the same command again".to_owned(),
            SnapshotError::Refused { .. }
            | SnapshotError::Ended { .. }
            | SnapshotError::File(_) => return None,
        },
    })
}
