//! What to type next when the state of another program cannot be read.

use uwf_engine::Refusal;
use uwf_foreign::ForeignError;
use uwf_protocol::ids::ThreadId;

/// Returns what the user can do next, unless the error text says it.
pub(crate) fn hint(error: &ForeignError) -> Option<String> {
    let hint = match error {
        ForeignError::NoFolder(_) => {
            "name the root (`~/.uwf`) or the store (`~/.ocas`) of the reference program"
        }
        ForeignError::Nothing { .. } => {
            "name its root (`~/.uwf`) or its store (`~/.ocas`); `OCAS_DIR` and `UWF_STORAGE_ROOT` may have named others"
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
        ForeignError::File(_) => {
            "nothing was changed; fix the file in a copy of the folder, and import the copy"
        }
        ForeignError::Copy { .. } => {
            "nothing was changed; TMPDIR names a folder with more room for temporary files"
        }
    };
    Some(hint.to_owned())
}

/// Returns what the user can do about a thread that was not taken.
pub(crate) fn refused(thread: ThreadId, refusal: &Refusal) -> String {
    match refusal {
        Refusal::Incomplete(_) => {
            "bring the nodes back in the source, or name their folder with `--cas`; the same command takes the rest".to_owned()
        }
        Refusal::Diverged(_) => format!(
            "import the source into another root; there `uwf thread export {thread} -o <file>` writes the thread, and here `uwf thread import --as-fork <file>` adds it as another one"
        ),
        Refusal::Unsound(_) => "it stays in the source, which is as it was".to_owned(),
    }
}
