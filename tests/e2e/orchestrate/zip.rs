//! Reading archives, without the code that writes them.

use std::path::Path;

/// Returns the names in an archive, in order.
#[track_caller]
pub(super) fn names_in(archive: &Path) -> Vec<String> {
    let bytes = std::fs::read(archive).unwrap();
    let short = |at: usize| usize::from(u16::from_le_bytes(bytes[at..at + 2].try_into().unwrap()));
    let long = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    let end = bytes.len() - 22;
    assert_eq!(long(end), 0x0605_4b50, "the end of the directory");
    let mut at = usize::try_from(long(end + 16)).unwrap();
    let mut names = Vec::new();
    for _ in 0..short(end + 10) {
        assert_eq!(long(at), 0x0201_4b50, "an entry of the directory");
        let after = at + 46 + short(at + 28);
        names.push(String::from_utf8(bytes[at + 46..after].to_vec()).unwrap());
        at = after;
    }
    assert_eq!(at, end);
    names
}
