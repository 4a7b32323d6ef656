//! The bytes of a payload: one CBOR encoding for each JSON value, with the numbers of JavaScript.
//!
//! Every number is a double. An integral one up to 2^53 − 1 in magnitude is written as the shortest CBOR
//! integer (`1.0` and `-0.0` too), every other one as a 64-bit float. Lengths are definite, and the keys of
//! a map are in the order of their encoded form. The decoder reads what other encoders write for a JSON value, too:
//! shorter floats, keys in another order, indefinite lengths.

mod decode;
mod encode;

pub use decode::{DecodeError, DecodeProblem, decode};
pub use encode::{EncodeError, encode};

pub(crate) use decode::Decoder;
pub(crate) use encode::write_value;

/// How deep arrays and objects may be nested, with the outermost counted.
pub const MAX_DEPTH: usize = 256;

/// The largest magnitude of a number that is written as an integer: `Number.MAX_SAFE_INTEGER`.
const MAX_SAFE_INTEGER: u64 = (1 << 53) - 1;

/// The major types of CBOR that occur; the number is the top three bits of an item's first byte.
mod major {
    pub(super) const UNSIGNED: u8 = 0;
    pub(super) const NEGATIVE: u8 = 1;
    pub(super) const TEXT: u8 = 3;
    pub(super) const ARRAY: u8 = 4;
    pub(super) const MAP: u8 = 5;
    pub(super) const SIMPLE: u8 = 7;
}

/// The whole first byte of each item that has no argument, and of floats.
mod simple {
    pub(super) const FALSE: u8 = 0xf4;
    pub(super) const TRUE: u8 = 0xf5;
    pub(super) const NULL: u8 = 0xf6;
    pub(super) const HALF: u8 = 0xf9;
    pub(super) const SINGLE: u8 = 0xfa;
    pub(super) const DOUBLE: u8 = 0xfb;
}
