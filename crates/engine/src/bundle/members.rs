//! The members of a bundle, one after the other. One member is in memory at a time.

use std::io::{self, ErrorKind, Read, Write};

use uwf_protocol::ids::CasRef;
use uwf_util::ustar::{self, BLOCK, Block, Member};

use super::error::BundleError;
use super::manifest;

/// The size of the largest member. A header that claims more is refused before anything is read.
pub(crate) const LARGEST: u64 = 256 << 20;

/// Returns the name of a node's member.
pub(crate) fn node_name(hash: CasRef) -> String {
    format!("cas/{hash}.bin")
}

/// Returns the node that a member holds; `None` if the name is not that of a node.
pub(crate) fn node_of(name: &str) -> Option<CasRef> {
    name.strip_prefix("cas/")?
        .strip_suffix(".bin")?
        .parse()
        .ok()
}

/// Writes a bundle.
pub(crate) struct Writer<'a> {
    out: &'a mut dyn Write,
    /// How many bytes were written.
    pub(crate) bytes: u64,
}

impl<'a> Writer<'a> {
    pub(crate) fn new(out: &'a mut dyn Write) -> Self {
        Self { out, bytes: 0 }
    }

    /// Writes a member. Returns `None` if it is too large.
    pub(crate) fn add(&mut self, name: &str, content: &[u8]) -> Result<Option<()>, BundleError> {
        let size = content.len() as u64;
        let name = name.to_owned();
        let header = ustar::header(&Member { name, size }).filter(|_| size <= LARGEST);
        let Some(header) = header else {
            return Ok(None);
        };
        self.write(&header)?;
        self.write(content)?;
        self.write(&[0; BLOCK][..ustar::padding(size)])?;
        Ok(Some(()))
    }

    /// Writes the end of the bundle.
    pub(crate) fn finish(mut self) -> Result<u64, BundleError> {
        self.write(&[0; 2 * BLOCK])?;
        self.out.flush().map_err(BundleError::Write)?;
        Ok(self.bytes)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), BundleError> {
        self.out.write_all(bytes).map_err(BundleError::Write)?;
        self.bytes += bytes.len() as u64;
        Ok(())
    }
}

/// Reads a bundle.
pub(crate) struct Reader<'a> {
    input: &'a mut dyn Read,
    /// How many bytes were read.
    pub(crate) bytes: u64,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(input: &'a mut dyn Read) -> Self {
        Self { input, bytes: 0 }
    }

    /// Returns the next member with its content; `None` at the end of the bundle.
    pub(crate) fn next(&mut self) -> Result<Option<(String, Vec<u8>)>, BundleError> {
        let Some(member) = self.header()? else {
            return Ok(None);
        };
        let mut content = Vec::new();
        // The header may lie about the size, so the memory grows with what is really there.
        let mut input = &mut *self.input;
        let read = Read::take(&mut input, member.size).read_to_end(&mut content);
        self.bytes += read.map_err(BundleError::Read)? as u64;
        if content.len() as u64 != member.size {
            return Err(BundleError::CutOff(format!("`{}`", member.name)));
        }
        let mut padding = [0; BLOCK];
        self.fill(&mut padding[..ustar::padding(member.size)], &member.name)?;
        Ok(Some((member.name, content)))
    }

    fn header(&mut self) -> Result<Option<Member>, BundleError> {
        let is_first = self.bytes == 0;
        let mut block: Block = [0; BLOCK];
        self.fill(&mut block, "the list of its members")?;
        let refused = |problem: String| match is_first {
            true => BundleError::NotABundle(problem),
            false => BundleError::Refused(problem),
        };
        let member = match ustar::parse(&block) {
            Ok(Some(member)) => member,
            Ok(None) => {
                self.fill(&mut block, "its end")?;
                return Ok(None);
            }
            Err(error) => return Err(refused(error.to_string())),
        };
        if member.name != manifest::NAME && node_of(&member.name).is_none() {
            return Err(refused(format!(
                "a bundle has no member with the name `{}`",
                member.name
            )));
        }
        if member.size > LARGEST {
            return Err(refused(format!(
                "`{}` is larger than any member of a bundle: {} bytes",
                member.name, member.size
            )));
        }
        Ok(Some(member))
    }

    fn fill(&mut self, bytes: &mut [u8], place: &str) -> Result<(), BundleError> {
        match self.input.read_exact(bytes) {
            Ok(()) => {
                self.bytes += bytes.len() as u64;
                Ok(())
            }
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                Err(cut_off(place, self.bytes))
            }
            Err(error) => Err(BundleError::Read(error)),
        }
    }
}

fn cut_off(place: &str, bytes: u64) -> BundleError {
    if bytes == 0 {
        return BundleError::NotABundle("it is shorter than any tar archive".to_owned());
    }
    BundleError::CutOff(place.to_owned())
}

/// Reads so many bytes at the place where a member was found.
pub(crate) fn read_again(
    input: &mut (impl Read + io::Seek),
    at: u64,
    size: u64,
) -> io::Result<Vec<u8>> {
    input.seek(io::SeekFrom::Start(at))?;
    let mut content = Vec::new();
    input.take(size).read_to_end(&mut content)?;
    Ok(content)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bundle(members: &[(&str, &[u8])]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut writer = Writer::new(&mut bytes);
        for (name, content) in members {
            writer.add(name, content).unwrap().unwrap();
        }
        writer.finish().unwrap();
        bytes
    }

    fn read(mut bytes: &[u8]) -> Result<Vec<(String, Vec<u8>)>, BundleError> {
        let mut reader = Reader::new(&mut bytes);
        let mut members = Vec::new();
        while let Some(member) = reader.next()? {
            members.push(member);
        }
        Ok(members)
    }

    const NODE: &str = "cas/95ST8MZ0QTKP9.bin";

    #[test]
    fn members_are_read_back() {
        let bytes = bundle(&[("manifest.json", b"{}"), (NODE, &[7; 513])]);
        assert_eq!(bytes.len() % BLOCK, 0);
        let members = read(&bytes).unwrap();
        let names: Vec<&str> = members.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["manifest.json", NODE]);
        assert_eq!(members[1].1, [7; 513]);
    }

    #[test]
    fn a_bundle_that_is_cut_anywhere_is_refused() {
        let bytes = bundle(&[("manifest.json", b"{}"), (NODE, &[7; 513])]);
        for length in 0..bytes.len() {
            assert!(read(&bytes[..length]).is_err(), "cut at {length}");
        }
    }

    #[test]
    fn names_that_no_bundle_has_are_refused() {
        for name in [
            "../x",
            "/etc/passwd",
            "cas/../95ST8MZ0QTKP9.bin",
            "cas/95ST8MZ0QTKP9.bin/",
            "cas/95st8mz0qtkp9.bin",
            "./manifest.json",
            "cas//95ST8MZ0QTKP9.bin",
            "",
        ] {
            let error = read(&bundle(&[("manifest.json", b"{}"), (name, b"")])).unwrap_err();
            assert!(matches!(error, BundleError::Refused(_)), "{name}: {error}");
        }
    }

    #[test]
    fn a_size_that_no_member_has_is_refused_before_it_is_read() {
        let name = NODE.to_owned();
        let size = LARGEST + 1;
        let header = ustar::header(&Member { name, size }).unwrap();
        let error = read(&header).unwrap_err();
        assert!(
            error.to_string().contains("larger than any member"),
            "{error}"
        );
    }
}
