//! Sizes in bytes as people write them: `64KiB`, `1 MiB`, `512`.

/// Returns how many bytes the text names, or `None` if it is not a size.
///
/// A number without a unit is bytes; units are `B`, `KiB`, `MiB`, `GiB` (powers of 1024) and
/// `kB`, `MB`, `GB` (powers of 1000), in any case.
#[must_use]
pub fn parse(text: &str) -> Option<u64> {
    let text = text.trim();
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let number: u64 = text[..end].parse().ok()?;
    let factor: u64 = match text[end..].trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "kib" => 1 << 10,
        "mib" => 1 << 20,
        "gib" => 1 << 30,
        "kb" => 1_000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        _ => return None,
    };
    number.checked_mul(factor)
}

/// Returns the size with a binary unit and at most one decimal, as in `1.5 MiB`.
#[must_use]
pub fn format(bytes: u64) -> String {
    const UNITS: [&str; 3] = ["KiB", "MiB", "GiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1024.0;
    let mut unit = UNITS[0];
    for next in &UNITS[1..] {
        if value < 1024.0 {
            break;
        }
        value /= 1024.0;
        unit = next;
    }
    format!("{value:.1} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_parse_with_and_without_units() {
        let check = |text: &str, bytes: Option<u64>| assert_eq!(parse(text), bytes, "{text}");
        check("512", Some(512));
        check("64KiB", Some(65_536));
        check("1 MiB", Some(1_048_576));
        check("2gb", Some(2_000_000_000));
        check("", None);
        check("-1", None);
        check("1.5MiB", None);
        check("99999999999999GiB", None);
    }

    #[test]
    fn sizes_print_with_one_decimal() {
        assert_eq!(format(1023), "1023 B");
        assert_eq!(format(1536), "1.5 KiB");
        assert_eq!(format(3 << 30), "3.0 GiB");
    }
}
