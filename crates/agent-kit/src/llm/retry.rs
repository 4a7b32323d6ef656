//! Decides when a call is retried, and how long to wait before. Pure.

use std::time::Duration;

use uwf_util::time::parse_http_date;

/// The longest wait within a call.
const MAX_WAIT: Duration = Duration::from_secs(60);

/// Tells whether a status is temporary, so that a retry may succeed.
pub(super) fn is_passing(status: u16) -> bool {
    matches!(status, 408 | 425 | 429 | 500..=599)
}

/// Returns how long to wait after a failed try, counted from 1: what the endpoint asks for, else a time that doubles
/// with each try. Up to half of that is taken off at random, so that callers do not all come back at once. `None` if the endpoint asks
/// for more than a call waits: it would refuse an earlier try.
pub(super) fn wait(
    asked: Option<Duration>,
    first: Duration,
    tries: u32,
    random: u128,
) -> Option<Duration> {
    if let Some(asked) = asked {
        return (asked <= MAX_WAIT).then_some(asked);
    }
    let full = first.saturating_mul(2u32.saturating_pow(tries.saturating_sub(1)));
    let full = full.min(MAX_WAIT);
    let share = f64::from((random % 1000) as u32) / 1000.0;
    Some(full.mul_f64(1.0 - share / 2.0))
}

/// Reads a `Retry-After` header: seconds, or a date.
pub(super) fn retry_after(header: &str, now_ms: i64) -> Option<Duration> {
    let header = header.trim();
    if let Ok(seconds) = header.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let left_ms = parse_http_date(header)?.saturating_sub(now_ms);
    Some(Duration::from_millis(u64::try_from(left_ms).unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: Duration = Duration::from_millis(500);

    #[test]
    fn waits_double_and_half_of_each_is_random() {
        let check = |tries, random, ms| {
            assert_eq!(
                wait(None, FIRST, tries, random),
                Some(Duration::from_millis(ms)),
                "{tries}"
            );
        };
        check(1, 0, 500);
        check(2, 0, 1000);
        check(3, 0, 2000);
        check(3, 500, 1500);
        check(100, 0, 60_000);
    }

    #[test]
    fn what_the_endpoint_asks_for_is_done_within_reason() {
        let check = |asked, waited: Option<u64>| {
            let asked = Some(Duration::from_secs(asked));
            assert_eq!(wait(asked, FIRST, 1, 7), waited.map(Duration::from_secs));
        };
        check(0, Some(0));
        check(7, Some(7));
        check(60, Some(60));
        check(61, None);
    }

    #[test]
    fn a_header_has_seconds_or_a_date() {
        let now_ms = 1_792_000_000_000;
        let check = |header: &str, ms: Option<u64>| {
            assert_eq!(
                retry_after(header, now_ms),
                ms.map(Duration::from_millis),
                "{header}"
            );
        };
        check("5", Some(5000));
        check(" 0.5 ", Some(500));
        check("Wed, 14 Oct 2026 17:46:50 GMT", Some(10_000));
        check("Wed, 14 Oct 2020 17:46:50 GMT", Some(0));
        check("-1", None);
        check("soon", None);
    }
}
