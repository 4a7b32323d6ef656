//! The files of the store: where nodes lie, and how one is read and written. What is in them is not known here.

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File, Metadata, ReadDir};
use std::io::{self, Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Advice, fadvise};
use tempfile::NamedTempFile;
use uwf_protocol::ids::CasRef;

use crate::error::{StoreError, io};
use crate::hold;

const EXTENSION: &str = ".bin";
/// How long the name of a node's file is.
const FILE_NAME: usize = 13 + EXTENSION.len();
/// How much of a file is read at first: all of most nodes.
const FIRST_READ: usize = 4096;
/// Where newer programs keep nodes; they are read, and never written, there.
const NESTED: &str = "nodes";
/// How many files are open at once, at most.
pub(crate) const OPEN_FILES: usize = 64;

/// The content of a file and where it was found.
#[derive(Debug)]
pub(crate) struct Stored {
    pub(crate) path: PathBuf,
    pub(crate) bytes: Vec<u8>,
}

/// Returns where the node is written, and looked for first.
pub(crate) fn node_path(dir: &Path, hash: CasRef) -> PathBuf {
    let mut path = PathBuf::with_capacity(dir.as_os_str().len() + 1 + FILE_NAME);
    path.push(dir);
    path.push(hash.as_str());
    path.as_mut_os_string().push(EXTENSION);
    path
}

/// Returns every place where the node may be.
fn places(dir: &Path, hash: CasRef) -> [PathBuf; 2] {
    [node_path(dir, hash), node_path(&dir.join(NESTED), hash)]
}

/// Returns the path of the node, if there is one.
pub(crate) fn locate(dir: &Path, hash: CasRef) -> Result<Option<PathBuf>, StoreError> {
    for path in places(dir, hash) {
        if path.try_exists().map_err(io("look for", &path))? {
            return Ok(Some(path));
        }
    }
    Ok(None)
}

/// Reads the file of the node, if there is one.
pub(crate) fn read(dir: &Path, hash: CasRef) -> Result<Option<Stored>, StoreError> {
    for path in places(dir, hash) {
        match read_whole(&path) {
            Ok(bytes) => return Ok(Some(Stored { path, bytes })),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(io("read", &path)(error)),
        }
    }
    Ok(None)
}

/// Reads a file. One that is small is read at once, without asking for its size first: a step reads some thirty.
fn read_whole(path: &Path) -> io::Result<Vec<u8>> {
    read_all(File::open(path)?)
}

fn read_all(mut file: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; FIRST_READ];
    let length = loop {
        match file.read(&mut bytes) {
            // Some network file systems let a signal end a read.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => break read?,
        }
    };
    bytes.truncate(length);
    if length == FIRST_READ {
        file.read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

/// Reads at most so many bytes from the start of the file of the node; fewer, or none, if there are no more.
pub(crate) fn read_start(dir: &Path, hash: CasRef, limit: usize) -> Result<Vec<u8>, StoreError> {
    let mut start = Vec::with_capacity(limit);
    let Some(path) = locate(dir, hash)? else {
        return Ok(start);
    };
    File::open(&path)
        .and_then(|file| file.take(limit as u64).read_to_end(&mut start))
        .map_err(io("read", &path))?;
    Ok(start)
}

/// Returns the files of a node: one, or none, or one in each place.
pub(crate) fn files_of(dir: &Path, hash: CasRef) -> Result<Vec<(PathBuf, Metadata)>, StoreError> {
    let mut files = Vec::new();
    for path in places(dir, hash) {
        match fs::symlink_metadata(&path) {
            Ok(found) => files.push((path, found)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(io("look at", &path)(error)),
        }
    }
    Ok(files)
}

/// Removes a file, if it is there.
pub(crate) fn remove(path: &Path) -> Result<(), StoreError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(io("remove", path)(error)),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Returns the hashes of all nodes, sorted. A store that was never created has none.
pub(crate) fn list(dir: &Path) -> Result<Vec<CasRef>, StoreError> {
    let mut hashes = Vec::new();
    for dir in [dir, &dir.join(NESTED)] {
        for name in names(dir)? {
            if let Some(hash) = name
                .strip_suffix(EXTENSION)
                .and_then(|stem| stem.parse().ok())
            {
                hashes.push(hash);
            }
        }
    }
    hashes.sort_unstable();
    hashes.dedup();
    Ok(hashes)
}

/// Returns the names in the directory, in no order; none if there is no directory.
pub(crate) fn names(dir: &Path) -> Result<Vec<String>, StoreError> {
    let mut names = Vec::new();
    for entry in open_dir(dir)?.into_iter().flatten() {
        let entry = entry.map_err(io("list", dir))?;
        names.extend(entry.file_name().into_string());
    }
    Ok(names)
}

/// Opens the directory for listing, if there is one.
pub(crate) fn open_dir(dir: &Path) -> Result<Option<ReadDir>, StoreError> {
    match fs::read_dir(dir) {
        Ok(entries) => Ok(Some(entries)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(io("list", dir)(error)),
    }
}

/// Makes the directory and those above it, for the owner alone, and makes sure that they stay.
pub(crate) fn make_dir(dir: &Path) -> Result<(), StoreError> {
    if dir.is_dir() {
        return Ok(());
    }
    let missing: Vec<&Path> = dir.ancestors().take_while(|path| !path.exists()).collect();
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(dir)
        .map_err(io("make the directory", dir))?;
    for made in missing {
        match made.parent() {
            Some(parent) if parent.as_os_str().is_empty() => sync_dir(Path::new("."))?,
            Some(parent) => sync_dir(parent)?,
            None => {}
        }
    }
    Ok(())
}

/// Returns the time of the files of a directory, for which it writes one for an instant.
pub(crate) fn clock_ms(dir: &Path) -> Result<i64, StoreError> {
    let file = write_temp(dir, "clock", b"?")?;
    let written = file.as_file().metadata().and_then(|found| found.modified());
    written
        .map(hold::ms_since_epoch)
        .map_err(io("look at", file.path()))
}

/// How the names of temporary files end.
const TEMPORARY: &str = ".tmp";

/// Returns the temporary files that nobody has used since a time, in milliseconds since 1970.
pub(crate) fn left_behind(dir: &Path, before_ms: i64) -> Result<Vec<PathBuf>, StoreError> {
    let mut left = Vec::new();
    for name in names(dir)? {
        let path = dir.join(&name);
        // Whoever made it may just be giving it its name.
        if name.ends_with(TEMPORARY)
            && let Ok(used) = fs::symlink_metadata(&path).and_then(|found| found.modified())
            && hold::ms_since_epoch(used) < before_ms
        {
            left.push(path);
        }
    }
    Ok(left)
}

/// Writes the bytes to a new file in the directory under a name that no other process has.
pub(crate) fn write_temp(
    dir: &Path,
    name: &str,
    bytes: &[u8],
) -> Result<NamedTempFile, StoreError> {
    let mut file = tempfile::Builder::new()
        .prefix(&format!("{name}."))
        .suffix(TEMPORARY)
        .tempfile_in(dir)
        .map_err(io("make a temporary file in", dir))?;
    file.write_all(bytes).map_err(io("write", file.path()))?;
    Ok(file)
}

/// Has new files written while the caller does something else, so that waiting for all costs little more than
/// waiting for one; nothing is promised.
pub(crate) fn begin_to_write<'a>(files: impl IntoIterator<Item = &'a File>) {
    for file in files {
        // "I do not need it in memory" makes the kernel begin to write; that it may refuse is no matter. To say it
        // of a file that is written would take it out of memory.
        let _ = fadvise(file, 0, None, Advice::DontNeed);
    }
}

/// Makes the content of the files durable.
pub(crate) fn sync_files(files: &[(&Path, &File)]) -> Result<(), StoreError> {
    for (path, file) in files {
        file.sync_all().map_err(io("make durable", path))?;
    }
    Ok(())
}

/// Makes the content of the files with these paths durable.
pub(crate) fn sync_paths(paths: &[PathBuf]) -> Result<(), StoreError> {
    for wave in paths.chunks(OPEN_FILES) {
        let mut files = Vec::with_capacity(wave.len());
        for path in wave {
            files.push(File::open(path).map_err(io("open", path))?);
        }
        let open: Vec<_> = wave.iter().map(PathBuf::as_path).zip(&files).collect();
        sync_files(&open)?;
    }
    Ok(())
}

/// Makes the names in the directory durable.
pub(crate) fn sync_dir(dir: &Path) -> Result<(), StoreError> {
    File::open(dir)
        .and_then(|dir| dir.sync_all())
        .map_err(io("make durable", dir))
}

/// Makes the content of nodes durable, then their names.
pub(crate) fn sync_nodes(dir: &Path, hashes: &[CasRef]) -> Result<(), StoreError> {
    let mut dirs = BTreeSet::new();
    for wave in hashes.chunks(OPEN_FILES) {
        let mut files = Vec::with_capacity(wave.len());
        for &hash in wave {
            files.push(open_node(dir, hash)?.ok_or(StoreError::NotFound { hash })?);
        }
        let open: Vec<_> = files.iter().map(|(path, file)| (&**path, file)).collect();
        sync_files(&open)?;
        dirs.extend(
            files
                .iter()
                .filter_map(|(path, _)| Some(path.parent()?.to_owned())),
        );
    }
    dirs.iter().try_for_each(|dir| sync_dir(dir))
}

/// Opens the file of the node, if there is one.
fn open_node(dir: &Path, hash: CasRef) -> Result<Option<(PathBuf, File)>, StoreError> {
    for path in places(dir, hash) {
        match File::open(&path) {
            Ok(file) => return Ok(Some((path, file))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(io("open", &path)(error)),
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file whose first read is ended by a signal.
    struct Halting<'a>(bool, &'a [u8]);

    impl Read for Halting<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            match std::mem::replace(&mut self.0, false) {
                true => Err(io::ErrorKind::Interrupted.into()),
                false => self.1.read(buffer),
            }
        }
    }

    #[test]
    fn a_file_is_read_whole_whatever_its_size_and_also_when_a_signal_comes() {
        for size in [0, 10, FIRST_READ - 1, FIRST_READ, FIRST_READ + 1, 100_000] {
            let content = vec![7; size];
            assert_eq!(read_all(Halting(true, &content)).unwrap(), content);
        }
    }
}
