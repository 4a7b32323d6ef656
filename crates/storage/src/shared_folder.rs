//! The folder of the records of shared threads, and what it says of itself: `shared/complete`.
//!
//! The file has a line for the folder and one for itself: their inode numbers and times of birth. A folder that was copied has another
//! first line than it should, and a file that was put back another second one. Then come lines about the records, the newest last: a
//! remote was asked which threads it shares, or records may be missing.
//!
//! A tool that restores files in place sets the time of the folder's content (mtime) back. It cannot set the time of the folder's last
//! change (ctime). So a folder with two different times does not count as complete, whatever the file says. A change of a file in the
//! folder makes both times new. So the doubt is written, durably, before the first change. Other tools leave the times of folders alone,
//! and put back only files that have changed since the backup. So each new record makes the time of the file new.

use std::fs::Metadata;
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
/// By how many seconds the two times of a folder may differ that nobody has restored. Some file systems keep one of them in steps of two
/// seconds.
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
    /// It says nothing, or what it says cannot be read.
    Nothing,
    /// It is a copy, and says something about another folder.
    OfAnother,
    /// The file or the folder was put back since.
    Outdated {
        /// Whether only the times of the folder tell that.
        by_times: bool,
    },
    /// These remotes were asked since records may have been missing.
    Asked(Vec<String>),
}

impl SharedFolder {
    pub(crate) fn at(path: PathBuf, lock_file: PathBuf) -> Self {
        Self { path, lock_file }
    }

    /// Tells whether every thread here that the remote at this [place](uwf_protocol::config::RemoteConfig::place) shares has its record.
    /// A folder that was copied does not say so, nor does one whose files were restored in place: the backup may be older than records.
    /// A folder on a disk that was set back as a whole looks as it did before.
    #[must_use]
    pub fn is_complete(&self, place: &str) -> bool {
        matches!(self.said(), Said::Asked(asked) if asked.iter().any(|known| known == place))
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

    /// Prepares a change of a file in the folder. If only the times of the folder tell that it was set back, the doubt is made durable
    /// first.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub(crate) fn before_change(&self) -> Result<(), StorageError> {
        match self.said() {
            Said::Outdated { by_times: true } => self.end_with(DOUBT),
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

    /// Makes the time of the file new, if there is one, so that tools see that an older one in a backup is another.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub(crate) fn after_new_record(&self) -> Result<(), StorageError> {
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

    fn said(&self) -> Said {
        let (Ok(folder), Ok(file)) = (self.path.metadata(), self.file().metadata()) else {
            return Said::Nothing;
        };
        let content = self.content().unwrap_or_default();
        if content.is_empty() {
            return Said::Nothing;
        }
        let Some(said) = content.strip_prefix(identity(&folder).as_bytes()) else {
            return Said::OfAnother;
        };
        let Some(said) = said.strip_prefix(identity(&file).as_bytes()) else {
            return Said::Outdated { by_times: false };
        };
        if folder.ctime().abs_diff(folder.mtime()) > TOLERANCE_SECS {
            return Said::Outdated { by_times: true };
        }
        Said::Asked(asked(&String::from_utf8_lossy(said)))
    }

    /// Makes this line the last one, durably. The times of the folder stay as they are.
    fn end_with(&self, line: &str) -> Result<(), StorageError> {
        match self.content()?.ends_with(format!("{line}\n").as_bytes()) {
            true => Ok(()),
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

/// A folder whose word about itself no other call changes, except to say that it was set back.
#[derive(Debug)]
pub struct LockedFolder<'a> {
    folder: &'a SharedFolder,
    _lock: FileLock,
}

/// What a folder said while its records were looked for.
#[derive(Debug)]
#[must_use = "the folder is complete only when it is told"]
pub struct Doubt(Vec<u8>);

impl LockedFolder<'_> {
    /// Tells whether the records may have the marks of another root: the folder is a copy, or it says nothing.
    #[must_use]
    pub fn may_be_copy(&self) -> bool {
        matches!(self.folder.said(), Said::Nothing | Said::OfAnother)
    }

    /// Says durably that records may be missing, because threads are added that a remote may share. They are added before the folder is
    /// unlocked. A folder that says nothing stays as it is: it does not count as complete.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub fn doubt(&self) -> Result<(), StorageError> {
        match self.folder.said() {
            Said::Nothing => Ok(()),
            _ => self.folder.end_with(DOUBT),
        }
    }

    /// Begins to look for the records that are missing. From here on the folder is none that was copied.
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub fn begin(&self) -> Result<Doubt, StorageError> {
        uwf_durable::create_dir(&self.folder.path)?;
        match self.folder.said() {
            Said::Nothing | Said::OfAnother => self.folder.say(&format!("{LOOKS}\n"))?,
            Said::Outdated { .. } => {
                self.folder.end_with(DOUBT)?;
                self.folder.end_with(LOOKS)?;
            }
            // Only a new last line can be told from the one before.
            Said::Asked(asked) if asked.is_empty() => self.folder.end_with(LOOKS)?,
            Said::Asked(_) => {}
        }
        Ok(Doubt(self.folder.content()?))
    }

    /// Says durably that no record of a thread is missing that the remote at this place shares, unless something was said since the
    /// caller [began](Self::begin).
    ///
    /// # Errors
    /// [`StorageError::Io`].
    pub fn settle(self, doubt: &Doubt, place: &str) -> Result<(), StorageError> {
        if self.folder.content()? == doubt.0 {
            let mut places = match self.folder.said() {
                Said::Asked(asked) => asked,
                Said::Nothing | Said::OfAnother | Said::Outdated { .. } => Vec::new(),
            };
            places.retain(|known| known != place);
            places.push(place.to_owned());
            let lines = places.iter().map(|place| format!("{ASKED}{place}\n"));
            self.folder.say(&lines.collect::<String>())?;
        }
        Ok(())
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
mod tests {
    use std::fs::{self, File};
    use std::time::{Duration, SystemTime};

    use tempfile::TempDir;

    use super::*;
    use crate::{NextMark, Root, SharedRecord};

    const PLACE: &str = "postgres://uwf@host/uwf uwf";

    fn complete(folder: &SharedFolder) {
        let doubt = folder.lock().unwrap().begin().unwrap();
        folder.lock().unwrap().settle(&doubt, PLACE).unwrap();
        assert!(folder.is_complete(PLACE));
    }

    fn is_copy(folder: &SharedFolder) -> bool {
        folder.said() == Said::OfAnother
    }

    /// A root whose folder of records says that it is complete.
    fn complete_root() -> (TempDir, Root) {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::at(folder.path().to_path_buf());
        complete(&root.shared_folder());
        (folder, root)
    }

    /// Sets the time of the content of a folder, as tools do that restore files.
    fn set_time(root: &Root, time: SystemTime) {
        let folder = File::open(root.shared_dir()).unwrap();
        folder.set_modified(time).unwrap();
    }

    const HOUR: Duration = Duration::from_secs(3600);

    #[test]
    fn a_copy_of_the_folder_does_not_say_that_it_is_complete() {
        let (temp, root) = complete_root();
        let own = root.shared_folder();
        let lock = temp.path().join("lock");
        let copy = SharedFolder::at(temp.path().join("copy"), lock);
        let copied = || {
            fs::copy(own.file(), copy.file()).unwrap();
            assert!(is_copy(&copy) && !copy.is_complete(PLACE));
        };
        fs::create_dir(&copy.path).unwrap();
        assert!(copy.lock().unwrap().may_be_copy() && !own.lock().unwrap().may_be_copy());
        assert!(!is_copy(&own) && !is_copy(&copy) && !copy.is_complete(PLACE));
        copied();
        copy.lock().unwrap().doubt().unwrap();
        assert!(is_copy(&copy));
        own.lock().unwrap().doubt().unwrap();
        assert!(!own.is_complete(PLACE) && !is_copy(&own));
        copied();
        complete(&copy);
        assert!(!is_copy(&copy));
    }

    #[test]
    fn a_doubt_that_comes_while_records_are_looked_for_stays() {
        let (_temp, root) = complete_root();
        let folder = root.shared_folder();
        let (first, second) = (
            folder.lock().unwrap().begin().unwrap(),
            folder.lock().unwrap().begin().unwrap(),
        );
        folder.lock().unwrap().doubt().unwrap();
        folder.lock().unwrap().settle(&first, PLACE).unwrap();
        assert!(!folder.is_complete(PLACE));
        complete(&folder);
        folder.lock().unwrap().settle(&second, PLACE).unwrap();
        assert!(folder.is_complete(PLACE), "the other call was right");
    }

    #[test]
    fn a_folder_that_says_nothing_is_left_alone() {
        let temp = tempfile::tempdir().unwrap();
        let root = Root::at(temp.path().to_path_buf());
        let folder = root.shared_folder();
        folder.lock().unwrap().doubt().unwrap();
        folder.before_change().unwrap();
        assert!(!root.shared_dir().exists() && !folder.is_complete(PLACE));
    }

    #[test]
    fn a_folder_that_was_set_back_is_not_complete_whatever_is_changed_next() {
        let record = SharedRecord {
            remote: "r".to_owned(),
            mark: "1".to_owned(),
        };
        let thread = ThreadId::new(1, 0);
        type Change<'a> = &'a dyn Fn(&Root);
        let left = |root: &Root| root.shared_dir().join(".uwf-temp-1");
        let changes: [Change<'_>; 10] = [
            &|_| {},
            &|root| drop(root.shared(thread).create(&record).unwrap()),
            &|root| root.shared(thread).replace(&record).unwrap(),
            &|root| root.shared(thread).owe_end().unwrap(),
            &|root| root.shared(thread).settle_end().unwrap(),
            &|root| root.shared(thread).remove().unwrap(),
            &|root| drop(NextMark::create(root, "2").unwrap().unwrap()),
            &|root| NextMark::remove_all(root).unwrap(),
            &|root| crate::references::remove_all(root, &[left(root)]).unwrap(),
            &|root| root.shared_folder().lock().unwrap().doubt().unwrap(),
        ];
        let now = SystemTime::now();
        for (change, time) in changes
            .into_iter()
            .flat_map(|change| [(change, now - HOUR), (change, now + HOUR)])
        {
            let (_temp, root) = complete_root();
            root.shared(thread).owe_end().unwrap();
            fs::write(left(&root), "").unwrap();
            drop(NextMark::create(&root, "1").unwrap().unwrap());
            assert!(root.shared_folder().is_complete(PLACE));
            set_time(&root, time);
            change(&root);
            let folder = root.shared_folder();
            assert!(!folder.is_complete(PLACE) && !is_copy(&folder));
            complete(&folder);
        }
        let (_temp, root) = complete_root();
        let mark = NextMark::create(&root, "2").unwrap().unwrap();
        set_time(&root, now - HOUR);
        mark.remove().unwrap();
        assert!(!root.shared_folder().is_complete(PLACE));
    }

    #[test]
    fn a_file_that_was_put_back_does_not_say_that_the_folder_is_complete() {
        let (_temp, root) = complete_root();
        let (folder, kept) = (root.shared_folder(), root.path().join("kept"));
        fs::copy(folder.file(), &kept).unwrap();
        fs::rename(&kept, folder.file()).unwrap();
        assert!(!folder.is_complete(PLACE) && !is_copy(&folder));
        complete(&folder);
    }

    #[test]
    fn each_remote_is_asked_after_a_doubt() {
        let (_temp, root) = complete_root();
        let folder = root.shared_folder();
        let other = "s3://bucket uwf";
        assert!(!folder.is_complete(other));
        let doubt = folder.lock().unwrap().begin().unwrap();
        assert!(folder.is_complete(PLACE), "it is asked already");
        folder.lock().unwrap().settle(&doubt, other).unwrap();
        assert!(folder.is_complete(PLACE) && folder.is_complete(other));
        folder.lock().unwrap().doubt().unwrap();
        assert!(!folder.is_complete(PLACE) && !folder.is_complete(other));
        let doubt = folder.lock().unwrap().begin().unwrap();
        folder.lock().unwrap().settle(&doubt, other).unwrap();
        assert!(!folder.is_complete(PLACE) && folder.is_complete(other));
    }

    #[test]
    fn a_line_that_was_cut_is_a_doubt() {
        for cut in ["rec", "records may be missing\nlook", "asked"] {
            let (_temp, root) = complete_root();
            let folder = root.shared_folder();
            let mut content = fs::read_to_string(folder.file()).unwrap();
            content.push_str(cut);
            let file = File::options().write(true).open(folder.file());
            std::io::Write::write_all(&mut file.unwrap(), content.as_bytes()).unwrap();
            assert!(!folder.is_complete(PLACE), "{cut}");
            complete(&folder);
        }
    }

    #[test]
    fn a_new_record_makes_the_time_of_the_file_new() {
        let (_temp, root) = complete_root();
        let folder = root.shared_folder();
        let file = File::open(folder.file()).unwrap();
        file.set_modified(SystemTime::now() - HOUR).unwrap();
        let record = SharedRecord {
            remote: "r".to_owned(),
            mark: "1".to_owned(),
        };
        root.shared(ThreadId::new(1, 0)).create(&record).unwrap();
        let modified = file.metadata().unwrap().modified().unwrap();
        assert!(modified > SystemTime::now() - HOUR / 2);
        assert!(folder.is_complete(PLACE));
    }
}
