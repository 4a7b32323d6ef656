//! What to type next when the state of another program cannot be read.

use std::path::Path;

use uwf_engine::{Refusal, TakenThread};
use uwf_foreign::ForeignError;
use uwf_storage::StorageError;
use uwf_util::shell_words;

/// Returns what the user can do next, unless the error text says it.
pub(crate) fn hint(error: &ForeignError) -> Option<String> {
    let hint = match error {
        ForeignError::NoFolder(_) => {
            "name the root (`~/.uwf`) or the store (`~/.ocas`) of the reference program"
        }
        ForeignError::Nothing { .. } => {
            "name its root (`~/.uwf`) or its store (`~/.ocas`); `OCAS_DIR` and `UWF_STORAGE_ROOT` may have named others"
        }
        ForeignError::Ours { dir, .. } => {
            return Some(format!(
                "nothing was changed; `uwf --root {} thread export --all -o - | uwf thread import -` takes its threads over, with everything that is on record about them",
                quoted(dir)
            ));
        }
        ForeignError::NoNodes(_) => {
            "the nodes are in another folder: `--cas ~/.ocas` names the usual one of the reference program"
        }
        ForeignError::Database { .. } => {
            "nothing was changed; bring the database back from a copy, or name another folder"
        }
        ForeignError::Variable { .. } => {
            "nothing was changed; remove that variable in a copy of the folder, and import the copy"
        }
        ForeignError::InUse(_) => {
            "nothing was changed; wait until that program has ended, and run the same command again"
        }
        ForeignError::File(error @ StorageError::TooLarge { .. }) => {
            return super::storage::hint(error);
        }
        ForeignError::File(_) => {
            "nothing was changed; fix the file in a copy of the folder, and import the copy"
        }
        ForeignError::Copy { .. } => {
            "nothing was changed; TMPDIR names a folder with more room for temporary files"
        }
    };
    Some(hint.to_owned())
}

/// Returns what the user can do about a thread that was not taken. `nodes` is the folder of the nodes in the source.
pub(crate) fn refused(one: &TakenThread, refusal: &Refusal, nodes: &Path) -> String {
    match refusal {
        Refusal::Incomplete(_) => {
            "bring the nodes back in the source, or name their folder with `--cas`; the same command takes the rest".to_owned()
        }
        Refusal::Unreadable(_) => {
            "move that file away in a copy of the source, and import the copy; the same command takes the rest".to_owned()
        }
        Refusal::Diverged(_) => format!(
            "import the source into another root with `uwf --root <other root> import-store …`; `uwf --root <other root> thread export {thread} -o <file>` writes the thread, and `uwf thread import --as-fork <file>` adds it as another one",
            thread = one.thread
        ),
        Refusal::Unsound(_) => format!(
            "`OCAS_DIR={} uwf cas get {}` shows what the source has as the last node of the thread; the source was not changed",
            quoted(nodes),
            one.head
        ),
    }
}

/// Returns a path, quoted for a shell if needed.
fn quoted(path: &Path) -> String {
    shell_words::quote(&path.display().to_string()).into_owned()
}
