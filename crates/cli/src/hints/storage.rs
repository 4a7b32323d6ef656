//! What to type next after an error of the files under the root.

use std::path::Path;

use uwf_protocol::failure::FULL_DISK_HINT;
use uwf_storage::{BadLine, StorageError, Vanished};
use uwf_util::shell_words;

/// What to do about a damaged record that a thread is shared. `{path}` stands for its file, here and below.
const SHARING: &str = "`rm -f {path} {complete}` forgets it; then `uwf fetch <thread>` asks the remote, and makes it anew";
/// What to do about a damaged record of a worktree.
const WORKTREE: &str = "`git worktree list` in the repository shows the worktree; when its work is safe, `mv {path} {path}.damaged` forgets it";
/// What to do about a damaged file of names and labels.
const NAMES: &str = "fix that line by hand; or `mv {path} {path}.damaged`: no thread is lost, only their names and labels";

/// Returns what the user can do next, unless the error text says it.
pub(crate) fn hint(error: &StorageError) -> Option<String> {
    let hint = match error {
        StorageError::Damaged(_) => "fix that line by hand; until then nothing changes the file",
        StorageError::Sharing(line) => {
            // Without that file, the remote is asked before a step is done.
            let complete = quoted(&line.path.with_file_name("complete"));
            return Some(aside(line, SHARING).replace("{complete}", &complete));
        }
        StorageError::Worktree(line) => return Some(aside(line, WORKTREE)),
        StorageError::NamesDamaged(line) => return Some(aside(line, NAMES)),
        StorageError::Vanished(vanished) => return Some(vanished_hint(vanished)),
        StorageError::RegistryCut { path, copy } => {
            let (path, copy) = (quoted(path), quoted(copy));
            return Some(format!(
                "`cp {copy} {path}` brings them back; `rm {copy}` says that they were removed on purpose"
            ));
        }
        StorageError::LostLines { seal, .. } => {
            let seal = quoted(seal);
            return Some(format!(
                "bring the file back from a copy; `rm {seal}` says that the lines were removed on purpose"
            ));
        }
        StorageError::TornRecord { path, of_run, .. } => return Some(torn_hint(path, *of_run)),
        StorageError::NoFolder { .. } => "move it away: the folder is made again",
        StorageError::NotRegular { .. } => "move it away and put the file in its place",
        StorageError::Link { path } if path.is_dir() => "put a folder in its place",
        StorageError::Link { .. } => {
            "change the file that it points to, or put a file in its place"
        }
        StorageError::TooLarge { .. } => {
            "nothing was changed; make the file smaller in a copy of the folder, and name the copy"
        }
        StorageError::NoHome | StorageError::EmptyRoot => {
            "name a directory with `--root` or UWF_STORAGE_ROOT"
        }
        StorageError::Io { .. } => {
            return error.is_of_full_disk().then(|| FULL_DISK_HINT.to_owned());
        }
        StorageError::PathNotText(_) => {
            "give the folder another name, or work in another one: `�` stands for what is not UTF-8"
        }
        StorageError::NameTaken { by, .. } => {
            return Some(format!(
                "choose another name, or free this one: `uwf thread rename {by} --clear`"
            ));
        }
        StorageError::ThreadExists(_) | StorageError::Naming(_) | StorageError::Day(_) => {
            return None;
        }
    };
    Some(hint.to_owned())
}

/// Returns what to do about the record of a finished step that cannot be understood.
fn torn_hint(path: &Path, of_run: bool) -> String {
    let path = quoted(path);
    let aside = format!(
        "`mv {path} {path}.torn` puts the record aside, and what came after the last recorded step is done again"
    );
    match of_run {
        false => format!(
            "`stdout` beside it may end with the step's hash, and `uwf thread fork <hash>` goes on from that step; {aside}"
        ),
        // The step of a pipeline has no agent that prints its hash.
        true => aside,
    }
}

/// Returns a hint with the path of a damaged file in it.
fn aside(line: &BadLine, hint: &str) -> String {
    hint.replace("{path}", &quoted(&line.path))
}

fn vanished_hint(vanished: &Vanished) -> String {
    let (thread, head) = &vanished.threads[0];
    let run = vanished.runs.join(thread.as_str());
    let (active, run) = (quoted(&vanished.active), quoted(&run));
    let known = head.map_or_else(String::new, |head| {
        format!("`echo '{thread}: {head}' >> {active}` makes the thread active again, at its last known head; ")
    });
    let forget = match &vanished.seal {
        Some(seal) => format!(
            "`rm {}` says that it is to be forgotten, with all others that are not in the files",
            quoted(seal)
        ),
        None => format!(
            "`mv {run} {run}.forgotten` says that the thread is to be forgotten, and keeps its records"
        ),
    };
    format!("bring the two files back from a copy; without one: {known}{forget}")
}

/// Returns a path, quoted for a shell if needed.
fn quoted(path: &Path) -> String {
    shell_words::quote(&path.display().to_string()).into_owned()
}
