//! The checksum of a file, by which a change of its content is noticed.

use std::io::{ErrorKind, Read as _};
use std::path::Path;

use sha2::{Digest as _, Sha256};

use crate::{FileError, open};

/// How much is read at once, in bytes.
const CHUNK: usize = 64 * 1024;

/// Returns the SHA-256 checksum of a file in hexadecimal digits, as `sha256sum` prints it; `None` if it does not exist. A
/// symbolic link to it is followed.
///
/// # Errors
/// See [`open`](fn@crate::open).
pub fn sha256(path: &Path) -> Result<Option<String>, FileError> {
    let Some(mut file) = open(path)? else {
        return Ok(None);
    };
    let mut digest = Sha256::new();
    let mut chunk = vec![0; CHUNK];
    loop {
        match file.read(&mut chunk) {
            Ok(0) => break,
            Ok(count) => digest.update(&chunk[..count]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(FileError::io("read", path)(error)),
        }
    }
    let digits = digest
        .finalize()
        .iter()
        .fold(String::new(), |text, byte| text + &format!("{byte:02x}"));
    Ok(Some(digits))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checksum_is_that_of_the_content() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("file");
        assert_eq!(sha256(&path).unwrap(), None);
        std::fs::write(&path, "abc").unwrap();
        let known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sha256(&path).unwrap().unwrap(), known);
        assert!(sha256(temp.path()).is_err(), "a folder has none");
    }
}
