//! Amounts for people: dollars, and large numbers.

/// Returns dollars with cents, and below a cent with as many decimals as they need, at most six.
#[must_use]
pub fn dollars(dollars: f64) -> String {
    if dollars <= 0.0 || dollars >= 0.01 {
        return format!("${dollars:.2}");
    }
    if dollars < 0.000_001 {
        return "<$0.000001".to_owned();
    }
    let text = format!("${dollars:.6}");
    text.trim_end_matches('0').to_owned()
}

/// Rounds dollars to ten decimals: the rest is what adding binary fractions makes of decimal ones.
#[must_use]
pub fn without_noise(dollars: f64) -> f64 {
    (dollars * 1e10).round() / 1e10
}

/// Returns a number with three digits at most and its unit, such as `1.2k`.
#[must_use]
pub fn short(number: u64) -> String {
    let units = [(1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")];
    for (size, unit) in units {
        if number >= size {
            let tenths = number / (size / 10);
            return match tenths {
                ..100 => format!("{}.{}{unit}", tenths / 10, tenths % 10),
                _ => format!("{}{unit}", tenths / 10),
            };
        }
    }
    number.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_sums_stay_readable() {
        let sums = [0.0, 12.345, 0.01, 0.009_999_9, 0.0034, 0.000_001, 1e-9];
        let shown = sums.map(dollars);
        let expected = [
            "$0.00",
            "$12.35",
            "$0.01",
            "$0.01",
            "$0.0034",
            "$0.000001",
            "<$0.000001",
        ];
        assert_eq!(shown, expected);
    }

    #[test]
    fn a_sum_of_dollars_has_no_binary_noise() {
        assert_eq!(without_noise(0.1 + 0.2).to_string(), "0.3");
    }

    #[test]
    fn large_numbers_stay_readable() {
        let numbers = [0, 999, 1_000, 12_345, 999_999, 1_000_000, 2_500_000_000];
        let shown = numbers.map(short);
        assert_eq!(shown, ["0", "999", "1.0k", "12k", "999k", "1.0M", "2.5G"]);
    }
}
