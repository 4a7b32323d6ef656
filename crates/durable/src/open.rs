//! Opens and reads files: regular ones only, and without ever blocking.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::{FileError, FileKind, calls};

/// Opens a file for reading; `None` if it does not exist. A symbolic link to it is followed.
///
/// # Errors
/// [`FileError::NotRegular`] for anything but a regular file, [`FileError::Io`].
pub fn open(path: &Path) -> Result<Option<File>, FileError> {
    match open_regular(OpenOptions::new().read(true), OFlags::empty(), path) {
        Ok((file, _)) => Ok(Some(file)),
        Err(OpenError::Io(error)) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.about("read", path)),
    }
}

/// Reads a whole file; `None` if it does not exist. A symbolic link to it is followed.
///
/// # Errors
/// See [`open`].
pub fn read(path: &Path) -> Result<Option<Vec<u8>>, FileError> {
    read_start(path, usize::MAX)
}

/// Reads the first `limit` bytes of a file; `None` if it does not exist.
///
/// # Errors
/// See [`open`].
pub fn read_start(path: &Path, limit: usize) -> Result<Option<Vec<u8>>, FileError> {
    let opened = open_regular(OpenOptions::new().read(true), OFlags::empty(), path);
    let (mut file, length) = match opened {
        Ok(opened) => opened,
        Err(OpenError::Io(error)) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.about("read", path)),
    };
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    let read = read_at_most(&mut file, length, limit).map_err(FileError::io("read", path))?;
    Ok(Some(read))
}

/// Reads the last `limit` bytes of a file; `None` if it does not exist.
///
/// # Errors
/// See [`open`].
pub fn read_end(path: &Path, limit: u64) -> Result<Option<Vec<u8>>, FileError> {
    let Some(mut file) = open(path)? else {
        return Ok(None);
    };
    let read = || {
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(limit)))?;
        let mut bytes = Vec::new();
        file.take(limit).read_to_end(&mut bytes)?;
        Ok(Some(bytes))
    };
    read().map_err(FileError::io("read", path))
}

/// Reads up to the limit. The expected length is only a hint, which saves reads.
fn read_at_most(file: &mut impl Read, expected: usize, limit: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // One byte more than is expected, so that the end is seen without growing.
    bytes.try_reserve_exact(expected.saturating_add(1).min(limit))?;
    file.take(limit as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Opens a file for appending, and creates it with mode 0600 if needed. No link is followed.
///
/// # Errors
/// See [`open`].
pub fn open_append(path: &Path) -> Result<File, FileError> {
    open_own(OpenOptions::new().read(true).append(true), path)
        .map_err(|error| error.about("open", path))
}

/// Opens a file of our own for reading. No link is followed.
pub(crate) fn open_to_look(path: &Path) -> Result<File, FileError> {
    open_regular(OpenOptions::new().read(true), OFlags::NOFOLLOW, path)
        .map(|(file, _)| file)
        .map_err(|error| error.about("open", path))
}

/// Creates a new file with mode 0600 for appending and reading, in place of an existing one. The old file is removed
/// and not truncated, since some file systems write a truncated file to the disk at once.
///
/// # Errors
/// [`FileError::Io`].
pub fn create(path: &Path) -> Result<File, FileError> {
    calls::remove(path).map_err(FileError::io("replace", path))?;
    let mut options = OpenOptions::new();
    options.read(true).append(true).create_new(true).mode(0o600);
    options.open(path).map_err(FileError::io("make", path))
}

/// Opens a file of our own with these options, and creates it with mode 0600 if needed. No link is followed.
pub(crate) fn open_own(options: &mut OpenOptions, path: &Path) -> Result<File, OpenError> {
    let options = options.create(true).truncate(false).mode(0o600);
    open_regular(options, OFlags::NOFOLLOW, path).map(|(file, _)| file)
}

/// Why a file was not opened.
pub(crate) enum OpenError {
    Io(io::Error),
    NotRegular(FileKind),
    Link,
}

impl OpenError {
    pub(crate) fn about(self, action: &'static str, path: &Path) -> FileError {
        let path = path.to_owned();
        match self {
            Self::NotRegular(kind) => FileError::NotRegular { path, kind },
            Self::Link => FileError::Link { path },
            Self::Io(source) => FileError::Io {
                action,
                path,
                source,
            },
        }
    }
}

/// Opens a file and returns it with its length.
///
/// Without `O_NONBLOCK`, opening a FIFO blocks until its other end is opened. The type is read from the open file and
/// not by its name, which may lead to another file by then.
fn open_regular(
    options: &mut OpenOptions,
    flags: OFlags,
    path: &Path,
) -> Result<(File, u64), OpenError> {
    let flags = flags | OFlags::NONBLOCK | OFlags::NOCTTY;
    let opened = options.custom_flags(flags.bits().cast_signed()).open(path);
    let file = opened.map_err(|error| reason(error, path))?;
    let found = file.metadata().map_err(OpenError::Io)?;
    match FileKind::of(found.file_type()) {
        None => Ok((file, found.len())),
        Some(kind) => Err(OpenError::NotRegular(kind)),
    }
}

/// Returns why a file was not opened. The system's error does not name a link, a socket or a FIFO without a reader.
fn reason(error: io::Error, path: &Path) -> OpenError {
    match Errno::from_io_error(&error) {
        Some(Errno::LOOP) if path.is_symlink() => OpenError::Link,
        Some(Errno::NXIO | Errno::ISDIR) => {
            let found = fs::metadata(path).map(|found| FileKind::of(found.file_type()));
            match found {
                Ok(Some(kind)) => OpenError::NotRegular(kind),
                Ok(None) | Err(_) => OpenError::Io(error),
            }
        }
        _ => OpenError::Io(error),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;
    use std::path::PathBuf;

    use rustix::fs::{CWD, Mode, mkfifoat};

    use super::*;

    /// A reader that returns one byte at a time and is interrupted by a signal now and then.
    struct Interrupted<'a>(usize, &'a [u8]);

    impl Read for Interrupted<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.0 += 1;
            match self.0 % 3 {
                0 => Err(ErrorKind::Interrupted.into()),
                _ if buffer.is_empty() => Ok(0),
                _ => self.1.read(&mut buffer[..1]),
            }
        }
    }

    #[test]
    fn a_file_is_read_whole_however_short_the_reads_are() {
        for (size, expected) in [(0, 0), (10, 10), (10, 3), (10, 100), (5000, 4096)] {
            let content = vec![7; size];
            let read = read_at_most(&mut Interrupted(0, &content), expected, usize::MAX);
            assert_eq!(read.unwrap(), content);
            let read = read_at_most(&mut Interrupted(0, &content), expected, 4);
            assert_eq!(read.unwrap(), content[..size.min(4)]);
        }
    }

    fn places(dir: &Path) -> Vec<(PathBuf, &'static str)> {
        let fifo = dir.join("fifo");
        mkfifoat(CWD, &fifo, Mode::RUSR | Mode::WUSR).unwrap();
        let socket = dir.join("socket");
        UnixListener::bind(&socket).unwrap();
        fs::create_dir(dir.join("directory")).unwrap();
        symlink("/dev/null", dir.join("link-to-device")).unwrap();
        symlink("fifo", dir.join("link-to-fifo")).unwrap();
        vec![
            (fifo, "is a FIFO"),
            (socket, "is a socket"),
            (dir.join("directory"), "is a directory"),
            ("/dev/null".into(), "is a device"),
            (dir.join("link-to-device"), "is a device"),
            (dir.join("link-to-fifo"), "is a FIFO"),
        ]
    }

    #[test]
    fn an_irregular_file_is_named_in_the_error_and_never_blocks() {
        let temp = tempfile::tempdir().unwrap();
        for (path, what) in places(temp.path()) {
            let said = [
                open(&path).unwrap_err().to_string(),
                read(&path).unwrap_err().to_string(),
                open_append(&path).unwrap_err().to_string(),
            ];
            assert!(said[0].contains(what), "{said:?}");
            assert!(said[1].contains(what), "{said:?}");
            let link = if path.is_symlink() { "link" } else { what };
            assert!(said[2].contains(link), "{said:?}");
        }
    }

    #[test]
    fn the_end_of_a_long_file_is_read() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("file");
        fs::write(&path, "a long text").unwrap();
        let end = |limit| read_end(&path, limit).unwrap().unwrap();
        assert_eq!(end(4), b"text");
        assert_eq!(end(100), b"a long text");
    }

    #[test]
    fn a_missing_file_is_nothing() {
        let temp = tempfile::tempdir().unwrap();
        assert!(read(&temp.path().join("none")).unwrap().is_none());
        assert!(read_end(&temp.path().join("none"), 1).unwrap().is_none());
        assert!(open(&temp.path().join("none/none")).unwrap().is_none());
    }
}
