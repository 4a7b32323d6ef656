//! Headers of tar archives in the format of POSIX (ustar), for regular files with short names. Everything else that an
//! archive may have, such as links, devices and extensions, is refused. Reading and writing the archive is up to the caller.

/// The size of a header, and the unit in which content is padded.
pub const BLOCK: usize = 512;

/// A block of the archive.
pub type Block = [u8; BLOCK];

/// A file in an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Its name, as it is written in the archive.
    pub name: String,
    /// How many bytes it has.
    pub size: u64,
}

/// Why a block is not the header of a regular file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    /// The checksum does not fit.
    #[error("it is not the header of a file in a tar archive")]
    NotAHeader,
    /// A field has no value that can be used.
    #[error("its {0} cannot be read")]
    Field(&'static str),
    /// It is not a regular file.
    #[error("`{name}` is {kind}, not a regular file")]
    Kind {
        /// The name of the member.
        name: String,
        /// What it is.
        kind: &'static str,
    },
}

/// Where the fields are in a header.
mod field {
    use std::ops::Range;

    pub(super) const NAME: Range<usize> = 0..100;
    pub(super) const MODE: Range<usize> = 100..108;
    pub(super) const UID: Range<usize> = 108..116;
    pub(super) const GID: Range<usize> = 116..124;
    pub(super) const SIZE: Range<usize> = 124..136;
    pub(super) const MTIME: Range<usize> = 136..148;
    pub(super) const CHECKSUM: Range<usize> = 148..156;
    pub(super) const KIND: usize = 156;
    pub(super) const MAGIC: Range<usize> = 257..265;
    pub(super) const PREFIX: Range<usize> = 345..500;
}

/// Returns the header of a file: mode 0600, no owner, no time. The same file always has the same header. `None` if the
/// name is longer than 100 bytes or the size is 8 GiB or more, for which the format has no room.
#[must_use]
pub fn header(member: &Member) -> Option<Block> {
    let mut block = [0; BLOCK];
    block
        .get_mut(field::NAME)?
        .get_mut(..member.name.len())?
        .copy_from_slice(member.name.as_bytes());
    if member.size >= 8 << 30 {
        return None;
    }
    for (place, text) in [
        (field::MODE, "0000600\0".to_owned()),
        (field::UID, "0000000\0".to_owned()),
        (field::GID, "0000000\0".to_owned()),
        (field::SIZE, format!("{:011o}\0", member.size)),
        (field::MTIME, "00000000000\0".to_owned()),
        (field::MAGIC, "ustar\x0000".to_owned()),
    ] {
        block[place].copy_from_slice(text.as_bytes());
    }
    block[field::KIND] = b'0';
    let checksum = format!("{:06o}\0 ", checksum(&block));
    block[field::CHECKSUM].copy_from_slice(checksum.as_bytes());
    Some(block)
}

/// Reads a header; `None` for an empty block, which ends an archive.
///
/// # Errors
/// [`HeaderError`] for everything but a regular file.
pub fn parse(block: &Block) -> Result<Option<Member>, HeaderError> {
    if *block == [0; BLOCK] {
        return Ok(None);
    }
    if octal(&block[field::CHECKSUM]) != Some(checksum(block)) {
        return Err(HeaderError::NotAHeader);
    }
    let name = text(&block[field::NAME]).ok_or(HeaderError::Field("name"))?;
    let name = match (
        text(&block[field::PREFIX]),
        block[field::MAGIC].starts_with(b"ustar\0"),
    ) {
        (Some(prefix), true) if !prefix.is_empty() => format!("{prefix}/{name}"),
        _ => name.to_owned(),
    };
    if let Some(kind) = unusual(block[field::KIND]) {
        return Err(HeaderError::Kind { name, kind });
    }
    let size = octal(&block[field::SIZE]).ok_or(HeaderError::Field("size"))?;
    Ok(Some(Member { name, size }))
}

/// Returns how many empty bytes follow a content of this size.
#[must_use]
pub fn padding(size: u64) -> usize {
    let over = usize::try_from(size % BLOCK as u64).unwrap_or(0);
    (BLOCK - over) % BLOCK
}

/// Returns what a member is, unless it is a regular file.
fn unusual(kind: u8) -> Option<&'static str> {
    Some(match kind {
        b'0' | 0 => return None,
        b'1' => "a hard link",
        b'2' => "a symbolic link",
        b'3' | b'4' => "a device",
        b'5' => "a folder",
        b'6' => "a FIFO",
        _ => "an extension of the format",
    })
}

/// Returns the sum of all bytes, those of the checksum counted as blanks.
fn checksum(block: &Block) -> u64 {
    let bytes = block.iter().enumerate().map(|(at, byte)| {
        let byte = if field::CHECKSUM.contains(&at) {
            b' '
        } else {
            *byte
        };
        u64::from(byte)
    });
    bytes.sum()
}

/// Reads digits, which a zero byte or a blank may end.
fn octal(bytes: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(bytes).ok()?;
    let digits = text.trim_matches(['\0', ' ']);
    if !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    u64::from_str_radix(digits, 8).ok()
}

/// Reads a text, which a zero byte may end.
fn text(bytes: &[u8]) -> Option<&str> {
    let end = bytes.iter().position(|byte| *byte == 0);
    std::str::from_utf8(&bytes[..end.unwrap_or(bytes.len())]).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(name: &str, size: u64) -> Member {
        let name = name.to_owned();
        Member { name, size }
    }

    /// Returns the header with one field changed and the checksum corrected.
    fn changed(at: usize, bytes: &[u8]) -> Block {
        let mut block = header(&member("a", 1)).unwrap();
        block[at..at + bytes.len()].copy_from_slice(bytes);
        let sum = format!("{:06o}\0 ", checksum(&block));
        block[field::CHECKSUM].copy_from_slice(sum.as_bytes());
        block
    }

    #[test]
    fn a_header_is_read_back() {
        for (name, size) in [
            ("manifest.json", 0),
            ("cas/95ST8MZ0QTKP9.bin", (8 << 30) - 1),
        ] {
            let member = member(name, size);
            assert_eq!(parse(&header(&member).unwrap()), Ok(Some(member)));
        }
        assert_eq!(parse(&[0; BLOCK]), Ok(None));
    }

    #[test]
    fn what_has_no_room_has_no_header() {
        assert_eq!(header(&member(&"n".repeat(101), 0)), None);
        assert_eq!(header(&member("n", 8 << 30)), None);
        assert!(header(&member(&"n".repeat(100), 0)).is_some());
    }

    #[test]
    fn only_regular_files_are_read() {
        for (kind, said) in [
            (b'1', "a hard link"),
            (b'2', "a symbolic link"),
            (b'3', "a device"),
            (b'5', "a folder"),
            (b'6', "a FIFO"),
            (b'x', "an extension of the format"),
            (b'L', "an extension of the format"),
        ] {
            let error = parse(&changed(field::KIND, &[kind])).unwrap_err();
            assert_eq!(
                error.to_string(),
                format!("`a` is {said}, not a regular file")
            );
        }
    }

    #[test]
    fn what_is_not_a_header_is_refused() {
        let mut block = header(&member("a", 1)).unwrap();
        block[0] = b'b';
        assert_eq!(parse(&block), Err(HeaderError::NotAHeader));
        assert_eq!(parse(&[b' '; BLOCK]), Err(HeaderError::NotAHeader));
        let size = changed(field::SIZE.start, b"-1");
        assert_eq!(parse(&size), Err(HeaderError::Field("size")));
        // The form of larger sizes, which is not ustar.
        let size = changed(field::SIZE.start, &[0x80]);
        assert_eq!(parse(&size), Err(HeaderError::Field("size")));
        let name = changed(0, &[0xff]);
        assert_eq!(parse(&name), Err(HeaderError::Field("name")));
    }

    #[test]
    fn a_prefix_belongs_to_the_name() {
        let block = changed(field::PREFIX.start, b"/etc");
        assert_eq!(parse(&block).unwrap().unwrap().name, "/etc/a");
    }

    #[test]
    fn content_is_padded_to_whole_blocks() {
        for (size, expected) in [(0, 0), (1, 511), (511, 1), (512, 0), (513, 511)] {
            assert_eq!(padding(size), expected, "{size}");
        }
    }
}
