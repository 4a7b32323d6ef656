//! What runs used up, for people. What is unknown is called unknown: it is not zero.

use uwf_engine::UsageTotal;
use uwf_util::text::counted;
use uwf_util::time;

/// Returns the cost: `$0.12`, `>$0.12` if some runs did not tell theirs, `unknown` if none did.
pub(crate) fn cost(usage: &UsageTotal) -> String {
    amount(usage.cost_usd.map(dollars), usage.cost_unknown)
}

/// Returns the tokens in the same way, such as `1.2k`.
pub(crate) fn tokens(usage: &UsageTotal) -> String {
    amount(usage.tokens.map(thousands), usage.tokens_unknown)
}

/// Returns the time in the same way.
pub(crate) fn duration(usage: &UsageTotal) -> String {
    let known = usage.duration_ms.map(time::format_duration);
    amount(known, usage.duration_unknown)
}

fn amount(known: Option<String>, unknown: u64) -> String {
    match (known, unknown) {
        (None, _) => "unknown".to_owned(),
        (Some(known), 0) => known,
        (Some(known), _) => format!(">{known}"),
    }
}

/// Returns everything in one line.
pub(crate) fn sentence(usage: &UsageTotal) -> String {
    let runs = counted(usage.runs, "run");
    let tokens = match usage.tokens {
        None => "tokens unknown".to_owned(),
        Some(_) => format!("{} tokens", tokens(usage)),
    };
    let cost = match usage.cost_usd {
        None => "cost unknown".to_owned(),
        Some(_) => cost(usage),
    };
    format!("{cost}, {tokens}, {} in {runs}", duration(usage))
}

/// Returns dollars with cents, and with four decimals below a cent.
fn dollars(dollars: f64) -> String {
    if dollars == 0.0 || dollars >= 0.01 {
        format!("${dollars:.2}")
    } else if dollars >= 0.0001 {
        format!("${dollars:.4}")
    } else {
        "<$0.0001".to_owned()
    }
}

/// Returns a number with three digits at most and its unit.
fn thousands(number: u64) -> String {
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

    fn usage(cost_usd: Option<f64>, cost_unknown: u64) -> UsageTotal {
        UsageTotal {
            runs: 2,
            cost_usd,
            cost_unknown,
            tokens: Some(1234),
            tokens_unknown: 0,
            duration_ms: Some(1500),
            duration_unknown: 0,
        }
    }

    #[test]
    fn what_is_unknown_is_not_zero() {
        assert_eq!(cost(&usage(Some(0.0), 0)), "$0.00");
        assert_eq!(cost(&usage(None, 2)), "unknown");
        assert_eq!(cost(&usage(Some(0.5), 1)), ">$0.50");
        assert_eq!(
            sentence(&usage(None, 2)),
            "cost unknown, 1.2k tokens, 1.5s in 2 runs"
        );
    }

    #[test]
    fn small_sums_and_large_numbers_stay_readable() {
        assert_eq!(dollars(0.0034), "$0.0034");
        assert_eq!(dollars(0.000_001), "<$0.0001");
        assert_eq!(dollars(12.345), "$12.35");
        let numbers = [0, 999, 1_000, 12_345, 999_999, 1_000_000, 2_500_000_000];
        let shown = numbers.map(thousands);
        assert_eq!(shown, ["0", "999", "1.0k", "12k", "999k", "1.0M", "2.5G"]);
    }
}
