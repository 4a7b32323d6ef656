//! The archive of finished tasks: a zip file that is there whole or not at all.

mod zip;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{FileType, Mode};
use rustix::io::Errno;
use uwf_durable::{FileError, Found, Walk, create_dir, refuse_link};
use uwf_pipeline::{ErrorKind, Failure};
use uwf_process::{Signals, Stop};

use crate::Workspace;
use crate::draft::{Draft, Name};
use crate::error::{NotDone, RunError};
use crate::workspace::{Entry, WalkError};
use zip::ZipWriter;

/// The folder that all files of an archive are in.
const TOP: &[u8] = b"processed/";
/// The permissions of an archive: it may contain what only its owner may read.
const MODE: Mode = Mode::RUSR.union(Mode::WUSR);
/// How long the name of a file in an archive may be.
const MOST_NAME_BYTES: usize = u16::MAX as usize;

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
    /// Checks where an archive of a folder is to be made: not in the folder, and where a file can be. Makes nothing.
    ///
    /// # Errors
    /// When it is, something else is in its place or in that of its folder, or the folder cannot be archived.
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
        let shown = destination.display();
        if !is_outside || destination.file_name().is_none() {
            let message =
                format!("the archive `{shown}` would be in `{folder}`, which it contains");
            return Err(Failure::new(ErrorKind::PathViolation, message));
        }
        let why = match std::fs::symlink_metadata(&destination) {
            Ok(found) if found.is_dir() => Some("it is a folder".to_owned()),
            Ok(found) if found.is_symlink() => Some("it is a link".to_owned()),
            Ok(found) if !found.is_file() => Some("it is no file".to_owned()),
            Ok(_) | Err(_) => no_folder(&destination),
        };
        match why {
            Some(why) => {
                let message = format!("the archive `{shown}` cannot be made: {why}");
                Err(Failure::new(ErrorKind::PathError, message).fact("path", shown.to_string()))
            }
            None => Ok(destination),
        }
    }

    /// Makes an archive of all files in a folder, sorted by their names. Links are followed to files in the workspace only.
    /// Without the folder, the archive is empty. An existing file is replaced when the archive is whole.
    ///
    /// # Errors
    /// When the folder cannot be archived, a file in it cannot be read, something else is in the place of the archive, the archive
    /// is too large for its format, or the system refuses.
    pub fn archive(
        &self,
        folder: &str,
        destination: &Path,
        signals: &Signals,
    ) -> Result<ArchiveEnd, NotDone> {
        let destination = self.check_archive(folder, destination)?;
        let shown = destination.display().to_string();
        let failed = |error: io::Error| NotDone::of("make", &shown, error);
        let found = self.own_folder(folder)?;
        let files = match &found {
            Some(found) => {
                list(found).map_err(|error| unread(folder, &error.path, error.source))?
            }
            None => Vec::new(),
        };
        let (draft, name) = self.draft(&destination).map_err(failed)?;
        let zip = ZipWriter::new(draft.file());
        let end = match &found {
            Some(found) => self.write(folder, (found, &files), zip, signals, &failed)?,
            None => finish(zip, Vec::new()).map_err(failed)?,
        };
        if let ArchiveEnd::Made { .. } = &end {
            draft.replace(&name).map_err(failed)?;
        }
        Ok(end)
    }

    /// Starts to write an archive, and returns the name that it will have.
    fn draft(&self, destination: &Path) -> io::Result<(Draft, String)> {
        refuse_link(destination)?;
        let name = destination.file_name().and_then(OsStr::to_str);
        let name = name.ok_or(Errno::ILSEQ)?;
        let folder = destination.parent().ok_or(Errno::ISDIR)?;
        make_folder(folder)?;
        let folder = Entry::behind(self.top_descriptor(), folder)?;
        let draft = Draft::create(folder, Name::Hidden(name), Some(MODE))?;
        Ok((draft, name.to_owned()))
    }

    fn write(
        &self,
        shown: &str,
        (folder, files): (&Entry, &[PathBuf]),
        mut zip: ZipWriter<'_>,
        signals: &Signals,
        failed: &dyn Fn(io::Error) -> NotDone,
    ) -> Result<ArchiveEnd, NotDone> {
        let mut warnings = Vec::new();
        for file in files {
            if let Some(stop) = signals.stop() {
                return Ok(ArchiveEnd::Interrupted(stop));
            }
            let name = name_of(file);
            let opened = match self.open_in(folder, file) {
                _ if name.len() > MOST_NAME_BYTES => Ok(Err("too deep for an archive")),
                Err(error) if is_gone(&error) => Ok(Err("gone")),
                opened => opened,
            };
            match opened.map_err(|error| unread(shown, file, error))? {
                Ok((content, mode)) => {
                    let mut content = Content::of(content);
                    let added = zip.add(&name, mode, &mut content);
                    added.map_err(|error| match content.error.take() {
                        Some(error) => unread(shown, file, error),
                        None => failed(error),
                    })?;
                }
                Err(why) => {
                    let path = escaped(file.as_os_str().as_bytes());
                    warnings.push(format!("`{path}` is {why}"));
                }
            }
        }
        finish(zip, warnings).map_err(failed)
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

/// Returns what it means that something in the folder cannot be read: an archive without it would be taken for a whole one.
fn unread(folder: &str, path: &Path, source: io::Error) -> NotDone {
    let path = escaped(Path::new(folder).join(path).as_os_str().as_bytes());
    NotDone::Disk(RunError::File(FileError::Io {
        action: "read",
        path: path.into(),
        source,
    }))
}

/// Returns why the folder of a file is not there and cannot be made, if so: something else is in the place of it or of one around it.
fn no_folder(path: &Path) -> Option<String> {
    let mut around = path.ancestors().skip(1);
    let there = around.find_map(|folder| Some((folder, folder.metadata().ok()?)));
    let (folder, found) = there?;
    (!found.is_dir()).then(|| format!("`{}` is no folder", folder.display()))
}

/// Makes a folder and those around it, if they are missing.
fn make_folder(folder: &Path) -> io::Result<()> {
    create_dir(folder).map_err(|error| match error {
        FileError::Io { source, .. } => source,
        other => io::Error::other(other),
    })
}

/// Tells whether an error says that a file is not there any more.
fn is_gone(error: &io::Error) -> bool {
    let errno = Errno::from_io_error(error);
    matches!(errno, Some(Errno::NOENT | Errno::NOTDIR | Errno::LOOP))
}

/// The content of a file, which knows whether an error is one of reading.
struct Content {
    file: File,
    error: Option<io::Error>,
}

impl Content {
    fn of(file: File) -> Self {
        Self { file, error: None }
    }
}

impl Read for &mut Content {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer);
        if let Err(error) = &read
            && error.kind() != io::ErrorKind::Interrupted
        {
            self.error = Some(Errno::from_io_error(error).unwrap_or(Errno::IO).into());
        }
        read
    }
}

/// Lists everything below a folder that is no folder, sorted.
fn list(folder: &Entry) -> Result<Vec<PathBuf>, uwf_durable::WalkError> {
    let mut walk = Walk::of(folder.descriptor(), |_| true)?;
    let mut files = Vec::new();
    while let Some(found) = walk.next()? {
        if let Found::File(_) = found {
            files.push(walk.path());
        }
    }
    files.sort_unstable();
    Ok(files)
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
