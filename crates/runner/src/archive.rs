//! The archive of finished tasks: a zip file that is there whole or not at all.

mod zip;

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::FileType;
use rustix::io::Errno;
use uwf_durable::{Draft, FileError};
use uwf_pipeline::{ErrorKind, Failure};
use uwf_process::{Signals, Stop};

use crate::Workspace;
use crate::workspace::{Entry, WalkError};
use zip::ZipWriter;

/// The folder that all files of an archive are in.
const TOP: &[u8] = b"processed/";

/// How the making of an archive ended.
#[derive(Debug, PartialEq, Eq)]
pub enum ArchiveEnd {
    /// It is there.
    Made {
        /// How many files it has.
        files: u64,
        /// The files that were left out, and why.
        warnings: Vec<String>,
    },
    /// This process was told to stop. Nothing has changed.
    Interrupted(Stop),
}

impl Workspace {
    /// Checks where an archive of a folder is to be made: not in the folder.
    ///
    /// # Errors
    /// When it is, or the folder cannot be archived.
    pub fn check_archive(&self, folder: &str, destination: &Path) -> Result<PathBuf, Failure> {
        let destination = self.path().join(destination);
        let within = match self.own_folder(folder)? {
            Some(found) => found
                .real_path()
                .map_err(|error| WalkError::System(error).failure(folder, ErrorKind::PathError))?,
            None => self.path().join(folder),
        };
        let real = real(&destination);
        let is_outside = real.is_some_and(|real| !real.starts_with(within));
        if is_outside && destination.file_name().is_some() {
            return Ok(destination);
        }
        let shown = destination.display();
        let message = format!("the archive `{shown}` would be in `{folder}`, which it contains");
        Err(Failure::new(ErrorKind::PathViolation, message))
    }

    /// Makes an archive of all files in a folder, sorted by their names. Links are followed to files in the workspace only.
    /// Without the folder, the archive is empty. An existing file is replaced when the archive is whole.
    ///
    /// # Errors
    /// When the folder cannot be archived, the archive is too large for its format, or the system refuses.
    pub fn archive(
        &self,
        folder: &str,
        destination: &Path,
        signals: &Signals,
    ) -> Result<ArchiveEnd, Failure> {
        let destination = self.check_archive(folder, destination)?;
        let found = self.own_folder(folder)?;
        let mut files = Vec::new();
        if let Some(found) = &found {
            let listed = list(found, &PathBuf::new(), &mut files);
            listed.map_err(|error| cannot(&destination, &error))?;
        }
        files.sort_unstable();
        let failed = |error: FileError| {
            let error = io::Error::from(error);
            cannot(&destination, &error)
        };
        let draft = Draft::beside(&destination, b"").map_err(failed)?;
        let written = found.map_or_else(
            || finish(ZipWriter::new(draft.file()), Vec::new()),
            |found| self.write(&found, &files, ZipWriter::new(draft.file()), signals),
        );
        let end = written.map_err(|error| cannot(&destination, &error))?;
        if let ArchiveEnd::Made { .. } = &end {
            draft.replace_durably(&destination).map_err(failed)?;
        }
        Ok(end)
    }

    fn write(
        &self,
        folder: &Entry,
        files: &[PathBuf],
        mut zip: ZipWriter<'_>,
        signals: &Signals,
    ) -> io::Result<ArchiveEnd> {
        let mut warnings = Vec::new();
        for file in files {
            if let Some(stop) = signals.stop() {
                return Ok(ArchiveEnd::Interrupted(stop));
            }
            let shown = escaped(file.as_os_str().as_bytes());
            match self.open_in(folder, file) {
                Ok(Ok((content, mode))) => zip.add(&name_of(file), mode, content)?,
                Ok(Err(why)) => warnings.push(format!("`{shown}` is {why}")),
                Err(error) => warnings.push(format!("`{shown}` cannot be read: {error}")),
            }
        }
        finish(zip, warnings)
    }

    /// Opens a file below a folder, or tells why it is left out. Only the last name may be a link.
    fn open_in(
        &self,
        folder: &Entry,
        path: &Path,
    ) -> io::Result<Result<(File, u32), &'static str>> {
        let mut parent = folder.again()?;
        let mut names = path.iter().peekable();
        while let Some(name) = names.next() {
            let mut entry = match Entry::at(parent.descriptor(), name) {
                Err(Errno::NOENT) => return Ok(Err("gone")),
                entry => entry?,
            };
            if names.peek().is_some() {
                parent = entry;
                continue;
            }
            if entry.kind() == FileType::Symlink {
                entry = match Entry::behind(parent.descriptor(), name) {
                    Ok(target) if self.contains(&target)? => target,
                    Ok(_) => return Ok(Err("a link out of the workspace")),
                    Err(_) => return Ok(Err("a link that leads nowhere")),
                };
            }
            return match entry.irregular() {
                Some(what) => Ok(Err(what)),
                None => Ok(Ok((
                    File::open(entry.own_path())?,
                    entry.permissions().as_raw_mode(),
                ))),
            };
        }
        Ok(Err("gone"))
    }
}

fn finish(zip: ZipWriter<'_>, warnings: Vec<String>) -> io::Result<ArchiveEnd> {
    let files = zip.finish()?;
    Ok(ArchiveEnd::Made { files, warnings })
}

fn cannot(destination: &Path, error: &io::Error) -> Failure {
    let message = format!("cannot make `{}`: {error}", destination.display());
    Failure::new(ErrorKind::PathError, message)
}

/// Lists everything below a folder that is no folder.
fn list(folder: &Entry, path: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for name in folder.all_names()? {
        let below = path.join(&name);
        match Entry::at(folder.descriptor(), &name) {
            Ok(entry) if entry.kind() == FileType::Directory => list(&entry, &below, files)?,
            Ok(_) | Err(Errno::NOENT) => files.push(below),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Returns a path without links, as far as it exists. `None` if what does not exist goes up again.
fn real(path: &Path) -> Option<PathBuf> {
    let mut missing: Vec<OsString> = Vec::new();
    let mut at = path.to_owned();
    loop {
        if let Ok(real) = at.canonicalize() {
            return Some(
                missing
                    .iter()
                    .rev()
                    .fold(real, |path, name| path.join(name)),
            );
        }
        match at.components().next_back()? {
            Component::Normal(name) => missing.push(name.to_owned()),
            _ => return None,
        }
        at.pop();
    }
}

/// Returns the name of a file in the archive.
fn name_of(path: &Path) -> Vec<u8> {
    let escaped = escaped(path.as_os_str().as_bytes());
    [TOP, escaped.as_bytes()].concat()
}

/// Returns a name in which bytes that are no text, control characters, and whatever looks like an escape are `%XX`.
fn escaped(name: &[u8]) -> String {
    let escape =
        |bytes: &[u8]| -> String { bytes.iter().map(|byte| format!("%{byte:02X}")).collect() };
    let mut text = String::new();
    for chunk in name.utf8_chunks() {
        let valid = chunk.valid();
        for (at, c) in valid.char_indices() {
            let looks_like_escape = || {
                let digits = valid.as_bytes().get(at + 1..at + 3);
                digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
            };
            if c.is_control() || (c == '%' && looks_like_escape()) {
                text.push_str(&escape(c.encode_utf8(&mut [0; 4]).as_bytes()));
            } else {
                text.push(c);
            }
        }
        text.push_str(&escape(chunk.invalid()));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped_so_that_no_two_become_the_same() {
        for (name, expected) in [
            (&b"a b/\xc3\xbc"[..], "a b/ü"),
            (b"a\nb", "a%0Ab"),
            (b"a%0Ab", "a%250Ab"),
            (b"100%", "100%"),
            (b"\xff\xfe", "%FF%FE"),
        ] {
            assert_eq!(escaped(name), expected);
        }
    }
}
