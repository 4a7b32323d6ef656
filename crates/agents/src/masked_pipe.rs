//! Reads what a process writes into a pipe, without the secrets. They are taken out before anything is cut, so that no part of
//! one is left at the cut.

use std::io::Read;

use uwf_util::mask::Masks;

/// How much is read at once, in bytes.
const CHUNK: usize = 8 * 1024;

/// Reads to the end of the stream, and hands on each piece without secrets.
pub(crate) fn read(mut from: impl Read, masks: &Masks, on_piece: &mut dyn FnMut(&[u8])) {
    let mut masking = masks.stream();
    let mut buffer = [0; CHUNK];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        let mut masked = Vec::new();
        masking.push(&buffer[..count], &mut masked);
        on_piece(&masked);
    }
    let mut masked = Vec::new();
    masking.finish(&mut masked);
    on_piece(&masked);
}
