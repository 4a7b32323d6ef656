//! ULIDs: 48 bits of milliseconds and 80 random bits as 26 Crockford digits.

/// How many digits a ULID has.
pub const DIGITS: usize = 26;

/// How far in the future the time of an id may be before the id counts as shifted: a day, in milliseconds.
const DAY_MS: i64 = 86_400_000;

/// Returns the standard ULID of the time and the randomness; only the low 48 and 80 bits count.
#[must_use]
pub fn encode(time_ms: u64, random: u128) -> String {
    ulid::Ulid::from_parts(time_ms, random).to_string()
}

/// Returns the time that a ULID carries, in milliseconds since 1970, or `None` for a malformed id.
///
/// Some programs put the two padding bits at the end of the 128 bits instead of the front. The time of such an id reads
/// four times too large. A time more than a day after `now_ms` is therefore read as shifted.
#[must_use]
pub fn time_ms(id: &str, now_ms: i64) -> Option<i64> {
    if id.len() != DIGITS {
        return None;
    }
    let mut bits: i64 = 0;
    for byte in id.bytes().take(10) {
        let upper = byte.to_ascii_uppercase();
        let digit = crate::base32::ALPHABET.iter().position(|d| *d == upper)?;
        bits = bits << 5 | i64::try_from(digit).ok()?;
    }
    if bits > now_ms.saturating_add(DAY_MS) {
        bits >>= 2;
    }
    Some(bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_780_444_800_000;

    #[test]
    fn an_id_carries_its_time() {
        let id = encode(1_780_416_525_000, 7);
        assert!(id.starts_with("01K"), "{id}");
        assert_eq!(time_ms(&id, NOW), Some(1_780_416_525_000));
    }

    #[test]
    fn a_shifted_id_carries_the_same_time() {
        assert_eq!(
            time_ms("06F8J61JS00000000000000000", NOW),
            Some(1_780_416_525_000)
        );
    }

    #[test]
    fn malformed_ids_have_no_time() {
        assert_eq!(time_ms("", NOW), None);
        assert_eq!(time_ms("01J7K9", NOW), None);
        assert_eq!(time_ms("UUUUUUUUUUUUUUUUUUUUUUUUUU", NOW), None);
        assert_eq!(time_ms("éééééééééééééé", NOW), None);
    }
}
