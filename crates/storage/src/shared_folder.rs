//! The folder of the records of shared threads, and what it says of itself: `shared/complete`.
//!
//! The file has a line for the folder and one for itself: their inode numbers and times of birth. In a copied folder, the first line does
//! not match the folder. If the file was put back, the second line does not match the file. Then come lines about the records, the newest
//! last: a remote was asked which threads it shares, or records may be missing.
//!
//! A tool that restores files in place sets the time of the folder's content (mtime) back. It cannot set the time of the folder's last
//! change (ctime). So a folder with two different times does not count as complete, whatever the file says. A change of a file in the
//! folder makes both times new. So the doubt is written, durably, before the first change. Other tools leave the times of folders alone,
//! and put back only files that have changed since the backup. So each new record makes the time of the file new, and a file with two
//! different times does not count, either.

use std::fs::Metadata;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use uwf_durable::{Draft, FileLock};
use uwf_protocol::ids::ThreadId;

use crate::StorageError;

/// The file that says which remotes were asked.
const COMPLETE: &str = "complete";
/// Its line that says that records may be missing, whoever was asked before.
const DOUBT: &str = "records may be missing";
/// The line of a call that looks for missing records after a doubt. A new doubt comes after it.
const LOOKS: &str = "looking for missing records";
/// The beginning of a line about a remote that was asked. Its place follows.
const ASKED: &str = "asked ";
/// The two times of the folder, and of the file, differ by at most so many seconds, unless somebody restored it. Some file systems keep
/// one of them in steps of two seconds.
const TOLERANCE_SECS: u64 = 2;

/// The folder of the records of a root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SharedFolder {
    path: PathBuf,
    lock_file: PathBuf,
}

/// What the folder says of itself, and whether that can be believed.
#[derive(Debug, PartialEq, Eq)]
enum Said {
    /// It says nothing.
    Nothing,
    /// It is a copy, and says something about another folder.
    OfAnother,
    /// An older file was put in the place of the one that spoke of this folder.
    PutBack,
    /// The folder or the file was set back: it has an older time.
    SetBack,
    /// These remotes were asked since records may have been missing.
    Asked(Vec<String>),
}

impl Said {
    /// Tells whether no remote was asked since records may have been missing.
    fn is_unasked(&self) -> bool {
        match self {
            Self::Nothing | Self::OfAnother | Self::PutBack | Self::SetBack => true,
            Self::Asked(asked) => asked.is_empty(),
        }
    }
}

impl SharedFolder {
    pub(crate) fn at(path: PathBuf, lock_file: PathBuf) -> Self {
        Self { path, lock_file }
    }

    /// Tells whether the remote at this [place](uwf_protocol::config::RemoteConfig::place) was asked since records may have been missing.
    /// Then every thread here that it shares has a record. A copied folder never says so, nor does one whose files were restored in place.
    /// A disk that was set back as a whole cannot be noticed.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub fn is_complete(&self, place: &str) -> Result<bool, StorageError> {
        Ok(match self.said()? {
            Said::Asked(asked) => asked.iter().any(|known| known == place),
            Said::Nothing | Said::OfAnother | Said::PutBack | Said::SetBack => false,
        })
    }

    /// Tells whether the folder says that records may be missing, and no remote was asked since. A folder that says nothing does not say
    /// that.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub fn has_doubt(&self) -> Result<bool, StorageError> {
        let said = self.said()?;
        Ok(said != Said::Nothing && said.is_unasked())
    }

    /// Tells whether no remote was asked since records may have been missing. A folder that says nothing says that, too.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub fn is_unasked(&self) -> Result<bool, StorageError> {
        Ok(self.said()?.is_unasked())
    }

    /// Waits until no other call changes what the folder says of itself.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub fn lock(&self) -> Result<LockedFolder<'_>, StorageError> {
        Ok(LockedFolder {
            folder: self,
            _lock: FileLock::acquire(&self.lock_file)?,
        })
    }

    /// Returns the threads that have a record, sorted.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub fn threads(&self) -> Result<Vec<ThreadId>, StorageError> {
        let records = crate::references::entries(&self.path)?;
        let records = records
            .iter()
            .filter(|path| path.extension().is_some_and(|it| it == "json"));
        let thread = |path: &PathBuf| path.file_stem()?.to_str()?.parse().ok();
        let mut threads: Vec<ThreadId> = records.filter_map(thread).collect();
        threads.sort_unstable();
        Ok(threads)
    }

    /// Prepares a change of a file in the folder. If only the times tell that the folder or the file was set back, the doubt is made durable
    /// first.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub(crate) fn before_change(&self) -> Result<(), StorageError> {
        match self.said()? {
            Said::SetBack => self.end_with(DOUBT),
            _ => Ok(()),
        }
    }

    /// Prepares a new file in the folder, as [`before_change`](Self::before_change), and makes the folder if it is not there.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub(crate) fn before_new_file(&self) -> Result<(), StorageError> {
        uwf_durable::create_dir(&self.path)?;
        self.before_change()
    }

    /// Prepares a new record in the folder, as [`before_new_file`](Self::before_new_file). The time of the file is new before the record is
    /// there, because the call may be killed then.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub(crate) fn before_new_record(&self) -> Result<(), StorageError> {
        self.before_new_file()?;
        self.make_young()
    }

    /// Makes the time of the file new, because a tool may have made a backup since [`before_new_record`](Self::before_new_record).
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub(crate) fn after_new_record(&self) -> Result<(), StorageError> {
        self.make_young()
    }

    /// Makes the time of the file new, if there is one, so that tools see that an older one in a backup is another.
    fn make_young(&self) -> Result<(), StorageError> {
        match self.file().exists() {
            true => Ok(uwf_durable::touch(&self.file())?),
            false => Ok(()),
        }
    }

    /// Returns the folder.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    fn file(&self) -> PathBuf {
        self.path.join(COMPLETE)
    }

    fn content(&self) -> Result<Vec<u8>, StorageError> {
        Ok(uwf_durable::read(&self.file())?.unwrap_or_default())
    }

    fn said(&self) -> Result<Said, StorageError> {
        let path = self.file();
        let Some(mut file) = uwf_durable::open(&path)? else {
            return Ok(Said::Nothing);
        };
        let mut content = Vec::new();
        let read = file.read_to_end(&mut content);
        read.map_err(StorageError::io("read", &path))?;
        let file = file
            .metadata()
            .map_err(StorageError::io("look at", &path))?;
        let folder = self.path.metadata();
        let folder = folder.map_err(StorageError::io("look at", &self.path))?;
        Ok(Self::judge(&content, &folder, &file))
    }

    fn judge(content: &[u8], folder: &Metadata, file: &Metadata) -> Said {
        if content.is_empty() {
            return Said::Nothing;
        }
        let Some(said) = content.strip_prefix(identity(folder).as_bytes()) else {
            return Said::OfAnother;
        };
        let Some(said) = said.strip_prefix(identity(file).as_bytes()) else {
            return Said::PutBack;
        };
        let is_set_back = |it: &Metadata| it.ctime().abs_diff(it.mtime()) > TOLERANCE_SECS;
        if is_set_back(folder) || is_set_back(file) {
            return Said::SetBack;
        }
        Said::Asked(asked(&String::from_utf8_lossy(said)))
    }

    /// Makes this line the last one, durably. The times of the folder stay as they are.
    fn end_with(&self, line: &str) -> Result<(), StorageError> {
        match self.content()?.ends_with(format!("{line}\n").as_bytes()) {
            // The call that wrote it may not have come so far as to make it durable.
            true => Ok(uwf_durable::sync_file(&self.file())?),
            false => Ok(uwf_durable::append_line(&self.file(), line)?),
        }
    }

    /// Replaces what the folder says: the two identities, and these lines.
    fn say(&self, lines: &str) -> Result<(), StorageError> {
        let file = self.file();
        let draft = Draft::beside(&file, b"")?;
        let looked = self.path.metadata().and_then(|folder| {
            let own = draft.file().metadata()?;
            Ok(format!("{}{}{lines}", identity(&folder), identity(&own)))
        });
        let content = looked.map_err(StorageError::io("look at", &self.path))?;
        draft.append(content.as_bytes())?;
        Ok(draft.replace_durably(&file)?)
    }
}

/// The folder, locked: other calls may only add a doubt.
#[derive(Debug)]
pub struct LockedFolder<'a> {
    folder: &'a SharedFolder,
    _lock: FileLock,
}

/// A search for missing records.
#[derive(Debug)]
#[must_use = "the folder is complete only when the search is settled"]
pub struct Search {
    /// What the folder said when it began.
    said: Vec<u8>,
    /// Whether it is the first one since records may have been missing: no remote was asked yet.
    pub is_first: bool,
}

impl LockedFolder<'_> {
    /// Tells whether the records may have the marks of another root: the folder is a copy, or it says nothing.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub fn may_be_copy(&self) -> Result<bool, StorageError> {
        Ok(matches!(
            self.folder.said()?,
            Said::Nothing | Said::OfAnother
        ))
    }

    /// Says durably that records may be missing, because threads are added that a remote may share. They are added before the folder is
    /// unlocked. A folder that says nothing stays as it is: it does not count as complete.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub fn doubt(&self) -> Result<(), StorageError> {
        match self.folder.said()? {
            Said::Nothing => Ok(()),
            _ => self.folder.end_with(DOUBT),
        }
    }

    /// Begins to look for the records that are missing. From here on the folder does not count as a copy, nor as one that was set back.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub fn begin(&self) -> Result<Search, StorageError> {
        uwf_durable::create_dir(&self.folder.path)?;
        let looks = format!("{LOOKS}\n");
        let said = self.folder.said()?;
        let is_first = said.is_unasked();
        match said {
            Said::Nothing | Said::OfAnother => self.folder.say(&looks)?,
            Said::PutBack | Said::SetBack => {
                // The new file makes the times of the folder new.
                self.folder.end_with(DOUBT)?;
                self.folder.say(&looks)?;
            }
            // Only a new last line can be told from the one before.
            Said::Asked(asked) if asked.is_empty() => self.folder.end_with(LOOKS)?,
            Said::Asked(_) => {}
        }
        Ok(Search {
            said: self.folder.content()?,
            is_first,
        })
    }

    /// Says durably that no record of a thread is missing that the remote at this place shares, unless something was said since the
    /// caller [began](Self::begin).
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub fn settle(self, search: &Search, place: &str) -> Result<(), StorageError> {
        if self.folder.content()? != search.said {
            return Ok(());
        }
        // A folder that was set back meanwhile may have lost the records that the caller has just made.
        let Said::Asked(mut places) = self.folder.said()? else {
            return Ok(());
        };
        places.retain(|known| known != place);
        places.push(place.to_owned());
        let lines = places.iter().map(|place| format!("{ASKED}{place}\n"));
        self.folder.say(&lines.collect::<String>())
    }
}

/// Returns the remotes that were asked after the last doubt.
fn asked(lines: &str) -> Vec<String> {
    let mut asked = Vec::new();
    for line in lines.lines() {
        match line.strip_prefix(ASKED) {
            Some(place) => asked.push(place.to_owned()),
            None if line == LOOKS => {}
            // A line that is not known, or was cut, is a doubt, too.
            None => asked.clear(),
        }
    }
    asked
}

/// Returns the inode number and the time of birth, in nanoseconds since 1970, as a line. The time is 0 if the file system does not keep
/// it.
fn identity(of: &Metadata) -> String {
    let made = of.created().ok();
    let made = made.and_then(|made| made.duration_since(UNIX_EPOCH).ok());
    let made = made.map_or(0, |made| made.as_nanos());
    format!("{} {made}\n", of.ino())
}

#[cfg(test)]
mod tests;
