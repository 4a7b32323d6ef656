//! Replaces a file by another version of its content, which is made piece by piece.

use std::io::{self, Read as _};
use std::path::Path;

use rustix::fs::{SeekFrom, seek};

use crate::draft::Draft;
use crate::open::open;
use crate::{FileError, calls};

/// How much is read at once, in bytes.
const PIECE: usize = 1 << 20;

/// A piece of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece<'a> {
    /// The first bytes, of a file whose beginning was given back to the file system.
    AfterCut(&'a [u8]),
    /// The next bytes.
    Bytes(&'a [u8]),
    /// The end of the file.
    End,
}

/// Replaces a file by what `change` makes of its pieces. A missing file stays missing. Nothing is made durable. A process
/// that has the old file open goes on with that.
///
/// If the beginning of the file was given back to the file system, the new file begins after that place.
///
/// # Errors
/// [`FileError::Link`], [`FileError::Io`]. Then the old file is still there.
pub fn rewrite(
    path: &Path,
    mut change: impl FnMut(Piece<'_>, &mut Vec<u8>),
) -> Result<(), FileError> {
    let Some(mut file) = open(path)? else {
        return Ok(());
    };
    let draft = Draft::beside(path, &[])?;
    let mut copy = || -> io::Result<()> {
        let begin = seek(&file, SeekFrom::Data(0)).unwrap_or(0);
        let mut is_cut = begin > 0;
        seek(&file, SeekFrom::Start(begin))?;
        let (mut old, mut new) = (vec![0; PIECE], Vec::new());
        loop {
            let read = file.read(&mut old)?;
            let bytes = &old[..read];
            let piece = match (read, is_cut) {
                (0, _) => Piece::End,
                (_, false) => Piece::Bytes(bytes),
                (_, true) => Piece::AfterCut(without_rest_of_hole(bytes)),
            };
            is_cut = false;
            change(piece, &mut new);
            calls::write(draft.file(), &new)?;
            new.clear();
            if read == 0 {
                return Ok(());
            }
        }
    };
    copy().map_err(FileError::io("rewrite", path))?;
    draft.replace(path)
}

/// Returns the bytes after a hole. Only whole blocks are given back; of the last one, the beginning is zeros.
fn without_rest_of_hole(bytes: &[u8]) -> &[u8] {
    let text = bytes.iter().position(|byte| *byte != 0);
    &bytes[text.unwrap_or(bytes.len())..]
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::io::Write as _;

    use rustix::fs::{FallocateFlags, fallocate};

    use super::*;

    fn upper(piece: Piece<'_>, new: &mut Vec<u8>) {
        match piece {
            Piece::AfterCut(bytes) => new.extend([b"<", bytes].concat()),
            Piece::Bytes(bytes) => new.extend(bytes.to_ascii_uppercase()),
            Piece::End => new.push(b'.'),
        }
    }

    #[test]
    fn a_file_is_replaced_by_what_is_made_of_it_and_writers_keep_the_old_one() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("file");
        rewrite(&path, upper).unwrap();
        assert!(!path.exists());
        let mut writer = File::create(&path).unwrap();
        writer.write_all(&vec![b'a'; PIECE + 1]).unwrap();
        rewrite(&path, upper).unwrap();
        writer.write_all(b"late").unwrap();
        let mut expected = vec![b'A'; PIECE + 1];
        expected.push(b'.');
        assert!(fs::read(&path).unwrap() == expected);
        assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_beginning_that_was_given_back_is_left_out() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("file");
        let mut file = File::create(&path).unwrap();
        file.write_all(&[vec![b'a'; (1 << 16) + 10], b"bcdef".to_vec()].concat())
            .unwrap();
        let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        fallocate(&file, hole, 0, (1 << 16) + 10).unwrap();
        rewrite(&path, upper).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"<bcdef.");
    }
}
