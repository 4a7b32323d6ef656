//! Crockford Base32 of 64-bit values, most significant digit first.

/// The digits of Crockford Base32 in order of value: no `I`, `L`, `O` or `U`.
pub const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// How many digits a 64-bit value has.
pub const U64_DIGITS: usize = 13;

/// Returns the value as 13 upper-case digits, padded with zeros on the left.
#[must_use]
pub fn encode_u64(value: u64) -> [u8; U64_DIGITS] {
    let mut digits = [0; U64_DIGITS];
    let mut rest = value;
    for digit in digits.iter_mut().rev() {
        *digit = ALPHABET[(rest % 32) as usize];
        rest /= 32;
    }
    digits
}

/// Returns the value that 13 upper-case digits stand for, or nothing if they are not such digits, or are too large for 64 bits.
#[must_use]
pub fn decode_u64(digits: &[u8]) -> Option<u64> {
    if digits.len() != U64_DIGITS {
        return None;
    }
    digits.iter().try_fold(0_u64, |value, digit| {
        let place = ALPHABET.iter().position(|known| known == digit)?;
        value.checked_mul(32)?.checked_add(place as u64)
    })
}

/// Whether each byte is an upper-case digit of the alphabet. A table, because long files of ids are checked byte by byte.
static IS_DIGIT: [bool; 256] = {
    let mut table = [false; 256];
    let mut value = 0;
    while value < ALPHABET.len() {
        table[ALPHABET[value] as usize] = true;
        value += 1;
    }
    table
};

/// Tells whether the byte is an upper-case digit of the alphabet.
#[must_use]
#[inline]
pub const fn is_digit(byte: u8) -> bool {
    IS_DIGIT[byte as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_encode_as_the_reference_does() {
        let check = |value: u64, digits: &str| assert_eq!(&encode_u64(value), digits.as_bytes());
        check(0xef46_db37_51d8_e999, "EYHPV6X8XHTCS");
        check(0xd24e_c4f1_a98c_6e5b, "D4KP4Y6MRRVJV");
        check(0, "0000000000000");
        check(u64::MAX, "FZZZZZZZZZZZZ");
    }

    #[test]
    fn digits_are_read_as_they_are_written_and_nothing_else_is() {
        for value in [0, 31, 0xef46_db37_51d8_e999, u64::MAX] {
            assert_eq!(decode_u64(&encode_u64(value)), Some(value));
        }
        for text in ["", "0", "G000000000000", "000000000000U", "00000000000000"] {
            assert_eq!(decode_u64(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn the_digit_test_accepts_exactly_the_alphabet() {
        for byte in 0..=u8::MAX {
            assert_eq!(is_digit(byte), ALPHABET.contains(&byte), "byte {byte}");
        }
    }
}
