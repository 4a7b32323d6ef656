//! Zip files: deflated members, names in UTF-8, no times, so that the same files make the same archive.
//!
//! The format is that of PKWARE's APPNOTE without its extensions for more than 65,535 members or 4 GiB.

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};

use flate2::write::DeflateEncoder;
use flate2::{Compression, Crc};

/// Version 2.0 of the format: deflated members.
const VERSION: u16 = 20;
/// The same, made on a Unix: the attributes of members are its modes.
const VERSION_OF_UNIX: u16 = 3 << 8 | VERSION;
/// Names are UTF-8.
const UTF8: u16 = 1 << 11;
const DEFLATED: u16 = 8;
/// The first of January 1980, where the dates of the format begin.
const NO_DATE: u16 = 1 << 5 | 1;
/// The type of a regular file in a mode.
const REGULAR: u32 = 0o100_000;
/// How much is read at once.
const CHUNK: usize = 64 * 1024;

/// An archive while it is written.
pub(super) struct ZipWriter<'f> {
    out: BufWriter<&'f File>,
    /// Where the next byte goes.
    at: u64,
    /// The directory at the end of the archive.
    directory: Vec<u8>,
    count: u64,
}

/// What is known about a member when it is written.
struct Member {
    crc: u32,
    compressed: u32,
    size: u32,
}

impl<'f> ZipWriter<'f> {
    /// Starts an archive in an empty file.
    pub(super) fn new(file: &'f File) -> Self {
        Self {
            out: BufWriter::new(file),
            at: 0,
            directory: Vec::new(),
            count: 0,
        }
    }

    /// Adds a member with permissions.
    pub(super) fn add(&mut self, name: &[u8], mode: u32, content: impl Read) -> io::Result<()> {
        let start = fitting(self.at)?;
        let unknown = Member {
            crc: 0,
            compressed: 0,
            size: 0,
        };
        let header = local_header(name, &unknown)?;
        self.out.write_all(&header)?;
        let content_start = self.at + header.len() as u64;
        let (crc, size) = self.deflate(content)?;
        let end = self.out.stream_position()?;
        let member = Member {
            crc,
            compressed: fitting(end - content_start)?,
            size: fitting(size)?,
        };
        self.out.seek(SeekFrom::Start(self.at))?;
        self.out.write_all(&local_header(name, &member)?)?;
        self.out.seek(SeekFrom::Start(end))?;
        self.at = end;
        self.count += 1;
        let entry = directory_entry(name, mode, &member, start)?;
        self.directory.extend(entry);
        Ok(())
    }

    /// Writes content compressed. Returns its checksum and its size.
    fn deflate(&mut self, mut content: impl Read) -> io::Result<(u32, u64)> {
        let mut encoder = DeflateEncoder::new(&mut self.out, Compression::default());
        let mut crc = Crc::new();
        let mut size = 0;
        let mut chunk = vec![0; CHUNK];
        loop {
            let length = match content.read(&mut chunk) {
                Ok(0) => break,
                Ok(length) => length,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            crc.update(&chunk[..length]);
            encoder.write_all(&chunk[..length])?;
            size += length as u64;
        }
        encoder.finish()?;
        Ok((crc.sum(), size))
    }

    /// Writes the directory. Returns how many members there are.
    pub(super) fn finish(mut self) -> io::Result<u64> {
        let count = u16::try_from(self.count).map_err(|_| too_large())?;
        let start = fitting(self.at)?;
        let size = fitting(self.directory.len() as u64)?;
        self.out.write_all(&self.directory)?;
        let mut end = Vec::new();
        put32(&mut end, 0x0605_4b50);
        // There is one disk.
        put16(&mut end, 0);
        put16(&mut end, 0);
        put16(&mut end, count);
        put16(&mut end, count);
        put32(&mut end, size);
        put32(&mut end, start);
        // There is no comment.
        put16(&mut end, 0);
        self.out.write_all(&end)?;
        self.out.flush()?;
        Ok(self.count)
    }
}

/// Returns what stands before the content of a member.
fn local_header(name: &[u8], member: &Member) -> io::Result<Vec<u8>> {
    let mut header = Vec::new();
    put32(&mut header, 0x0403_4b50);
    about(&mut header, name, member)?;
    header.extend(name);
    Ok(header)
}

/// Returns the entry of a member in the directory.
fn directory_entry(name: &[u8], mode: u32, member: &Member, start: u32) -> io::Result<Vec<u8>> {
    let mut entry = Vec::new();
    put32(&mut entry, 0x0201_4b50);
    put16(&mut entry, VERSION_OF_UNIX);
    about(&mut entry, name, member)?;
    // No comment, the first disk, not known to be text.
    for _ in 0..3 {
        put16(&mut entry, 0);
    }
    put32(&mut entry, (REGULAR | mode) << 16);
    put32(&mut entry, start);
    entry.extend(name);
    Ok(entry)
}

/// Adds the fields that both have in common.
fn about(fields: &mut Vec<u8>, name: &[u8], member: &Member) -> io::Result<()> {
    put16(fields, VERSION);
    put16(fields, UTF8);
    put16(fields, DEFLATED);
    put16(fields, 0);
    put16(fields, NO_DATE);
    put32(fields, member.crc);
    put32(fields, member.compressed);
    put32(fields, member.size);
    put16(fields, u16::try_from(name.len()).map_err(|_| too_large())?);
    // There are no extra fields.
    put16(fields, 0);
    Ok(())
}

fn put16(fields: &mut Vec<u8>, value: u16) {
    fields.extend(value.to_le_bytes());
}

fn put32(fields: &mut Vec<u8>, value: u32) {
    fields.extend(value.to_le_bytes());
}

/// Returns a number that the format has room for.
fn fitting(value: u64) -> io::Result<u32> {
    u32::try_from(value).map_err(|_| too_large())
}

fn too_large() -> io::Error {
    io::Error::other("a zip file has at most 65,535 files and 4 GiB")
}
