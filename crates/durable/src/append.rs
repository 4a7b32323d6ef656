//! Files that only grow, line by line.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::dir::directory_of;
use crate::{FileError, calls, open_append};

/// Appends a line, durably and in one write. If a crash left the last line unfinished, that line is ended first.
///
/// # Errors
/// [`FileError::Link`], [`FileError::NotRegular`], [`FileError::Io`].
pub fn append_line(path: &Path, line: &str) -> Result<(), FileError> {
    let file = open_append(path)?;
    append(&file, path, line).map_err(FileError::io("append to", path))
}

/// Cuts a file to a length, durably.
///
/// # Errors
/// See [`append_line`].
pub fn cut(path: &Path, length: u64) -> Result<(), FileError> {
    let file = open_append(path)?;
    let cut = calls::cut(&file, length).and_then(|()| calls::sync(&file));
    cut.map_err(FileError::io("cut", path))
}

fn append(file: &File, path: &Path, line: &str) -> io::Result<()> {
    let length = file.metadata()?.len();
    let mut text = String::with_capacity(line.len() + 2);
    if length > 0 {
        let mut last = [0];
        file.read_exact_at(&mut last, length - 1)?;
        if last != *b"\n" {
            text.push('\n');
        }
    }
    text.push_str(line);
    text.push('\n');
    if let Err(error) = calls::write(file, text.as_bytes()) {
        // A full disk takes only a part of the line. That part is removed, since no reader could parse it.
        let _ = calls::cut(file, length);
        return Err(error);
    }
    calls::sync(file)?;
    if length == 0 {
        calls::sync_dir(directory_of(path))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn an_unfinished_last_line_is_ended_before_the_next() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("lines");
        fs::write(&path, "one\ntw").unwrap();
        append_line(&path, "three").unwrap();
        append_line(&path, "four").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "one\ntw\nthree\nfour\n");
    }
}
