//! Files that a person names to be written. What threads contain is private: such a file appears whole, with mode 0600, and
//! takes the place of a regular file only. No file of the storage root is overwritten.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use uwf_durable::{Draft, FileError};
use uwf_engine::Site;

use crate::failure::Failure;

/// How many links Linux follows.
const MOST_LINKS: usize = 40;

/// Writes a text as a redirection in a shell would.
pub(crate) fn write(site: &Site, file: &Path, text: &str) -> Result<(), Failure> {
    refuse_own(site, file)?;
    std::fs::write(file, text).map_err(|error| cannot(file).cause(&error))
}

/// Does the same, and makes the folder of the file if it is not there.
pub(crate) fn write_in_folder(site: &Site, file: &Path, text: &str) -> Result<(), Failure> {
    refuse_own(site, file)?;
    let folder = file.parent().unwrap_or(Path::new(""));
    std::fs::create_dir_all(folder).map_err(|error| cannot(file).cause(&error))?;
    write(site, file, text)
}

/// Tells whether a file contains exactly this text.
pub(crate) fn contains(file: &Path, text: &str) -> bool {
    let found = uwf_durable::read_start(file, text.len() + 1);
    found.is_ok_and(|found| found.as_deref() == Some(text.as_bytes()))
}

/// Writes what threads contain. An old file stays until the new one is complete.
pub(crate) fn write_private<T>(
    site: &Site,
    file: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let failed = |error: FileError| cannot(file).cause(&error);
    refuse_own(site, file)?;
    if file.exists() && !file.is_file() {
        return Err(
            Failure::request(format!("`{}` is not a file", file.display()))
                .hint("`-o` names the file to write; `-o -` writes to standard output"),
        );
    }
    let draft = Draft::beside(file, b"").map_err(failed)?;
    let mut out = BufWriter::new(draft.file());
    let written = write(&mut out)?;
    out.flush().map_err(|error| cannot(file).cause(&error))?;
    drop(out);
    draft.replace_durably(file).map_err(failed)?;
    Ok(written)
}

/// Writes a text that tells of threads.
pub(crate) fn write_private_text(site: &Site, file: &Path, text: &str) -> Result<(), Failure> {
    write_private(site, file, |out| {
        let written = out.write_all(text.as_bytes());
        written.map_err(|error| cannot(file).cause(&error))
    })
}

/// Refuses a file that has a meaning for this program: writing to it would lose threads.
pub(crate) fn refuse_own(site: &Site, file: &Path) -> Result<(), Failure> {
    let target = target(&site.env.cwd().join(file));
    let root = site.root.path().canonicalize();
    let store = site.store.dir().canonicalize();
    let is_of_root = root.is_ok_and(|root| {
        let below = target.strip_prefix(root);
        below.is_ok_and(uwf_storage::is_of_root)
    });
    if is_of_root || store.is_ok_and(|store| target.starts_with(store)) {
        let what = format!(
            "`{}` belongs to the storage root, and is not overwritten",
            file.display()
        );
        return Err(Failure::request(what).hint("name another file with `-o`"));
    }
    Ok(())
}

/// Returns the file with all links resolved, also if it or its folder does not exist yet: a link may point to a file that is to
/// be made.
fn target(file: &Path) -> PathBuf {
    let mut file = file.to_owned();
    for _ in 0..MOST_LINKS {
        if let Ok(found) = file.canonicalize() {
            return found;
        }
        let (Some(parent), Some(name)) = (file.parent(), file.file_name()) else {
            break;
        };
        let folder = target(parent);
        match folder.join(name).read_link() {
            Ok(next) => file = folder.join(next),
            Err(_) => return folder.join(name),
        }
    }
    file
}

fn cannot(file: &Path) -> Failure {
    Failure::request(format!("cannot write `{}`", file.display()))
}
