//! Times and durations as people write and read them, in UTC.
//!
//! Times are milliseconds since 1970 in an `i64`; nothing here asks a clock. A time filter has the forms that the
//! reference program accepts. The one difference: a time without a zone is UTC, and not local time.

use std::ops::RangeInclusive;

use jiff::civil::{Date, DateTime};
use jiff::fmt::{rfc2822, strtime};
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

const SECOND: u64 = 1_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// Says that a text is not a time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TimeError {
    /// The text has none of the forms of a time filter.
    #[error(
        "invalid time format: `{0}` (expected an ISO date or a relative time like `7d`, `12h`, `30m`)"
    )]
    Format(String),
}

/// Returns the time that a filter names: `7d`, `12h` or `30m` before `now_ms`, or a point in time.
///
/// A point in time is `2026-06-03`, `2026-06-03T10:00:00Z` (any offset, UTC if there is none), `2026`,
/// `2026-06`, `06/03/2026`, `Jun 3 2026`, `3 June 2026` or an RFC 2822 date. Blanks around are ignored.
///
/// # Errors
/// [`TimeError::Format`] for every other text, and for times that no calendar has.
pub fn parse_filter(text: &str, now_ms: i64) -> Result<i64, TimeError> {
    let trimmed = text.trim();
    relative(trimmed, now_ms)
        .or_else(|| point_in_time(trimmed))
        .ok_or_else(|| TimeError::Format(trimmed.to_owned()))
}

/// Returns the length of a duration in milliseconds: `2h`, `30s`, `1h30m`, `500ms`, `1d 12h`.
///
/// Units are `d`, `h`, `m`, `s` and `ms`, each at most once and the larger first. Every other text gives `None`, also a
/// number without a unit and a duration that does not fit.
#[must_use]
pub fn parse_duration(text: &str) -> Option<u64> {
    let mut rest = text.trim();
    let mut total: u64 = 0;
    let mut larger = u64::MAX;
    while !rest.is_empty() {
        let (number, after) = split_number(rest)?;
        let letters = after
            .find(|c: char| !c.is_ascii_alphabetic())
            .unwrap_or(after.len());
        let (unit, after) = after.split_at(letters);
        let factor = unit_ms(unit).filter(|factor| *factor < larger)?;
        total = total.checked_add(number.checked_mul(factor)?)?;
        larger = factor;
        rest = after.trim_start();
    }
    (larger != u64::MAX).then_some(total)
}

/// Parses a duration that must lie within this range of milliseconds.
///
/// # Errors
/// Why the text is none, as a person reads it.
pub fn duration_within(text: &str, range: RangeInclusive<u64>) -> Result<u64, String> {
    let (least, most) = (exact_duration(*range.start()), exact_duration(*range.end()));
    match parse_duration(text) {
        Some(ms) if ms < *range.start() => {
            Err(format!("`{text}` is too short: `{least}` is the least"))
        }
        Some(ms) if ms > *range.end() => Err(format!("`{text}` is too long: `{most}` is the most")),
        Some(ms) => Ok(ms),
        None => Err(format!(
            "`{text}` is not a duration, such as `90s`, `10m` or `2h`"
        )),
    }
}

/// Returns the duration as [`parse_duration`] reads it back, to the millisecond: `2h`, `1h30m`, `1d12h`.
#[must_use]
pub fn exact_duration(ms: u64) -> String {
    let units = [
        ("d", DAY),
        ("h", HOUR),
        ("m", MINUTE),
        ("s", SECOND),
        ("ms", 1),
    ];
    let mut rest = ms;
    let mut text = String::new();
    for (unit, length) in units {
        let count = rest / length;
        rest %= length;
        if count > 0 {
            text += &format!("{count}{unit}");
        }
    }
    if text.is_empty() {
        text.push_str("0s");
    }
    text
}

/// Returns the duration, rounded to its two largest units: `12ms`, `1.5s`, `2m05s`, `1h30m`.
#[must_use]
pub fn format_duration(ms: u64) -> String {
    if ms < SECOND {
        return format!("{ms}ms");
    }
    // Rounding comes before the choice of the form, so that 59,960 ms are `1m00s` and never `60.0s`.
    let tenths = ms.saturating_add(50) / 100;
    if tenths < 600 {
        return format!("{}.{}s", tenths / 10, tenths % 10);
    }
    let seconds = ms.saturating_add(SECOND / 2) / SECOND;
    if seconds < 3600 {
        return format!("{}m{:02}s", seconds / 60, seconds % 60);
    }
    let minutes = ms.saturating_add(MINUTE / 2) / MINUTE;
    format!("{}h{:02}m", minutes / 60, minutes % 60)
}

/// Returns how long ago something was, in its largest unit: `12s ago`, `5m ago`, `3h ago`, `2d ago`.
#[must_use]
pub fn format_age(ms: u64) -> String {
    let units = [("d", DAY), ("h", HOUR), ("m", MINUTE), ("s", SECOND)];
    let unit = units.into_iter().find(|(_, length)| ms >= *length);
    let (unit, length) = unit.unwrap_or(("s", SECOND));
    format!("{}{unit} ago", ms / length)
}

/// Returns the time as `2026-11-21 20:28:59`, in UTC.
#[must_use]
pub fn format_utc(ms: i64) -> String {
    utc(ms).strftime("%Y-%m-%d %H:%M:%S").to_string()
}

/// Returns the time as `2026-11-21T20:28:59.367Z`.
#[must_use]
pub fn format_iso(ms: i64) -> String {
    utc(ms).strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

/// Returns the time as `20261121T202859Z`, which can be a part of a file name.
#[must_use]
pub fn format_compact(ms: i64) -> String {
    utc(ms).strftime("%Y%m%dT%H%M%SZ").to_string()
}

/// Tells whether a text is a time as [`format_compact`] writes it, and in no other way.
#[must_use]
pub fn is_compact(text: &str) -> bool {
    let shape = text.len() == 16
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 => byte == b'T',
            15 => byte == b'Z',
            _ => byte.is_ascii_digit(),
        });
    shape && DateTime::strptime("%Y%m%dT%H%M%SZ", text).is_ok()
}

/// Tells whether a text is a time as RFC 3339 writes it, such as `2026-11-21T20:28:59.367Z`.
#[must_use]
pub fn is_rfc3339(text: &str) -> bool {
    let bytes = text.as_bytes();
    // Other standards allow a blank for the `T`, and no seconds.
    let separators = [(10, b"Tt"), (13, b"::"), (16, b"::")];
    let has = |(at, allowed): &(usize, &[u8; 2])| {
        bytes.get(*at).is_some_and(|byte| allowed.contains(byte))
    };
    separators.iter().all(has) && text.parse::<Timestamp>().is_ok()
}

/// Reads a date as HTTP headers write it, such as `Wed, 14 Oct 2026 17:46:50 GMT`, in milliseconds since 1970.
#[must_use]
pub fn parse_http_date(text: &str) -> Option<i64> {
    let date = rfc2822::parse(text.trim()).ok()?;
    Some(date.timestamp().as_millisecond())
}

/// Returns the day of the time as `2026-11-21`, in UTC.
#[must_use]
pub fn date_utc(ms: i64) -> String {
    utc(ms).strftime("%Y-%m-%d").to_string()
}

/// Tells whether the text is a day of the calendar, written `2026-11-21` and in no other way.
///
/// A text that passes is safe as a part of a file name.
#[must_use]
pub fn is_date(text: &str) -> bool {
    let shape = text.len() == 10
        && text.bytes().enumerate().all(|(at, byte)| match at {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        });
    shape && text.parse::<Date>().is_ok()
}

/// Returns the time in UTC.
fn utc(ms: i64) -> Zoned {
    timestamp(ms).to_zoned(TimeZone::UTC)
}

/// Returns the time as the calendar knows it, or the first or the last of the calendar.
pub(crate) fn timestamp(ms: i64) -> Timestamp {
    let nearest = if ms < 0 {
        Timestamp::MIN
    } else {
        Timestamp::MAX
    };
    Timestamp::from_millisecond(ms).unwrap_or(nearest)
}

fn relative(text: &str, now_ms: i64) -> Option<i64> {
    let (number, unit) = split_number(text)?;
    let factor = match unit {
        "d" | "h" | "m" => unit_ms(unit)?,
        _ => return None,
    };
    let ago = i64::try_from(number.checked_mul(factor)?).ok()?;
    now_ms.checked_sub(ago)
}

fn point_in_time(text: &str) -> Option<i64> {
    if let Ok(timestamp) = text.parse::<Timestamp>() {
        return Some(timestamp.as_millisecond());
    }
    let midnight = date(text).map(|date| date.at(0, 0, 0, 0));
    let civil = midnight.or_else(|| text.parse::<DateTime>().ok());
    match civil {
        Some(civil) => Some(
            civil
                .to_zoned(TimeZone::UTC)
                .ok()?
                .timestamp()
                .as_millisecond(),
        ),
        None => Some(rfc2822::parse(text).ok()?.timestamp().as_millisecond()),
    }
}

/// Returns the first day of what the text names: a day, a month or a year.
fn date(text: &str) -> Option<Date> {
    const FORMS: [&str; 8] = [
        "%Y-%m-%d",
        "%m/%d/%Y",
        "%b %d %Y",
        "%b %d, %Y",
        "%B %d %Y",
        "%B %d, %Y",
        "%d %b %Y",
        "%d %B %Y",
    ];
    let number: Option<i16> = text.parse().ok();
    match (number, text.len()) {
        (Some(year), 4) => return Date::new(year, 1, 1).ok(),
        // The reference reads a lone zero as the year 2000. Scripts say it for "everything", and it is
        // before any thread.
        (Some(0), 1) => return Date::new(2000, 1, 1).ok(),
        _ => {}
    }
    if text.len() == 7 {
        return strtime::parse("%Y-%m-%d", format!("{text}-01"))
            .ok()?
            .to_date()
            .ok();
    }
    FORMS
        .iter()
        .find_map(|form| strtime::parse(form, text).ok()?.to_date().ok())
}

fn unit_ms(unit: &str) -> Option<u64> {
    match unit {
        "d" => Some(DAY),
        "h" => Some(HOUR),
        "m" => Some(MINUTE),
        "s" => Some(SECOND),
        "ms" => Some(1),
        _ => None,
    }
}

fn split_number(text: &str) -> Option<(u64, &str)> {
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    Some((digits.parse().ok()?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_780_444_800_000;

    /// Reads one of the flat objects of the fixture: texts without escapes, and integers.
    fn field<'a>(line: &'a str, name: &str) -> Option<&'a str> {
        let (_, rest) = line.split_once(&format!("\"{name}\":"))?;
        match rest.strip_prefix('"') {
            Some(text) => Some(text.split_once('"')?.0),
            None => Some(rest.split([',', '}']).next()?),
        }
    }

    #[test]
    fn a_time_of_rfc_3339_has_a_date_a_time_and_an_offset() {
        for text in [
            "2026-11-21T20:28:59Z",
            "2026-11-21T20:28:59.367+02:00",
            "2026-11-21t20:28:59z",
        ] {
            assert!(is_rfc3339(text), "{text}");
        }
        for text in [
            "",
            "2026-11-21",
            "2026-11-21T20:28:59",
            "2026-11-21 20:28:59Z",
            "2026-11-21T20:28Z",
            "2026-13-21T20:28:59Z",
            "yesterday",
        ] {
            assert!(!is_rfc3339(text), "{text}");
        }
    }

    #[test]
    fn an_age_has_one_unit() {
        assert_eq!(format_age(999), "0s ago");
        assert_eq!(format_age(59_999), "59s ago");
        assert_eq!(format_age(90 * 60_000), "1h ago");
        assert_eq!(format_age(49 * 3_600_000), "2d ago");
    }

    #[test]
    fn time_filters_mean_what_they_mean_to_the_reference() {
        let vectors = include_str!("../../../tests/fixtures/time.jsonl");
        let mut count = 0;
        for line in vectors.lines() {
            let input = field(line, "input").unwrap();
            let now = field(line, "nowMs").unwrap().parse().unwrap();
            let expected = field(line, "ms").map(|ms| ms.parse::<i64>().unwrap());
            assert_eq!(parse_filter(input, now).ok(), expected, "{line}");
            assert_eq!(expected.is_none(), field(line, "error").is_some(), "{line}");
            count += 1;
        }
        assert_eq!(count, 14);
    }

    #[test]
    fn points_in_time_may_have_a_zone_and_are_utc_otherwise() {
        let check = |text: &str, iso: &str| {
            assert_eq!(
                parse_filter(text, NOW).map(format_iso).as_deref(),
                Ok(iso),
                "{text}"
            );
        };
        check("2026-06-03", "2026-06-03T00:00:00.000Z");
        check("2026-06", "2026-06-01T00:00:00.000Z");
        check("2026-06-03T10:00", "2026-06-03T10:00:00.000Z");
        check("2026-06-03 10:00:05.25", "2026-06-03T10:00:05.250Z");
        check("2026-06-03T10:00:00+02:00", "2026-06-03T08:00:00.000Z");
        check("Wed, 03 Jun 2026 10:00:00 GMT", "2026-06-03T10:00:00.000Z");
        check("03 Jun 2026 10:00:00 +0200", "2026-06-03T08:00:00.000Z");
        check("Jun 3 2026", "2026-06-03T00:00:00.000Z");
        check("June 3, 2026", "2026-06-03T00:00:00.000Z");
        check("3 June 2026", "2026-06-03T00:00:00.000Z");
        check("6/3/2026", "2026-06-03T00:00:00.000Z");
    }

    #[test]
    fn another_text_is_an_error_that_shows_the_forms() {
        let error = parse_filter(" soon ", NOW).unwrap_err();
        assert_eq!(
            error.to_string(),
            "invalid time format: `soon` (expected an ISO date or a relative time like `7d`, `12h`, `30m`)"
        );
        for text in [
            "",
            "d",
            "2026-02-30",
            "99999999999999999999d",
            "9999999999999999d",
            "12:00",
            "٣d",
            "1d2h",
        ] {
            assert!(parse_filter(text, NOW).is_err(), "{text}");
        }
    }

    #[test]
    fn a_compact_time_has_one_form() {
        assert_eq!(format_compact(1_795_000_000_000), "20261118T110640Z");
        for ms in [0, 951_782_400_000, 1_795_000_000_999] {
            assert!(is_compact(&format_compact(ms)), "{ms}");
        }
        for text in [
            "",
            "20261121",
            "20261121T202859",
            "20261121t202859z",
            "20261321T202859Z",
            "20261121T252859Z",
            "20261121T202859Z-k7m2qx",
            "2026112/T202859Z",
        ] {
            assert!(!is_compact(text), "{text}");
        }
    }

    #[test]
    fn times_print_in_utc() {
        let ms = 1_795_292_939_367;
        assert_eq!(format_iso(ms), "2026-11-21T20:28:59.367Z");
        assert_eq!(format_utc(ms), "2026-11-21 20:28:59");
        assert_eq!(date_utc(ms), "2026-11-21");
        assert_eq!(format_iso(-1), "1969-12-31T23:59:59.999Z");
        assert_eq!(date_utc(i64::MAX), "9999-12-30");
        assert_eq!(date_utc(i64::MIN), "-9999-01-02");
    }

    #[test]
    fn only_a_plain_day_is_a_date() {
        let check = |text: &str, ok: bool| assert_eq!(is_date(text), ok, "{text}");
        check("2026-11-21", true);
        check("2024-02-29", true);
        check("2026-02-29", false);
        check("2026-1-1", false);
        check("2026-11-21T00", false);
        check("../../../x", false);
        check("20261121", false);
        check("", false);
    }

    #[test]
    fn durations_never_show_a_full_sixty() {
        let check = |ms: u64, text: &str| assert_eq!(format_duration(ms), text);
        check(0, "0ms");
        check(999, "999ms");
        check(1_000, "1.0s");
        check(1_500, "1.5s");
        check(59_949, "59.9s");
        check(59_950, "1m00s");
        check(59_999, "1m00s");
        check(119_600, "2m00s");
        check(125_000, "2m05s");
        check(3_599_499, "59m59s");
        check(3_599_500, "1h00m");
        check(5_400_000, "1h30m");
        check(93_600_000, "26h00m");
        check(u64::MAX, "5124095576030h25m");
    }

    #[test]
    fn durations_are_numbers_with_units_the_larger_first() {
        let check = |text: &str, ms: Option<u64>| assert_eq!(parse_duration(text), ms, "{text}");
        check("2h", Some(7_200_000));
        check("30s", Some(30_000));
        check("1h30m", Some(5_400_000));
        check("500ms", Some(500));
        check(" 1d 12h ", Some(129_600_000));
        check("1m1s1ms", Some(61_001));
        check("0s", Some(0));
        check("", None);
        check("30", None);
        check("30m1h", None);
        check("1h1h", None);
        check("-1h", None);
        check("1.5h", None);
        check("1 h", None);
        check("1H", None);
        check("99999999999999999999h", None);
        check("999999999999999999d", None);
    }

    #[test]
    fn an_exact_duration_is_read_back_as_it_was() {
        let check = |ms: u64, text: &str| {
            assert_eq!(exact_duration(ms), text);
            assert_eq!(parse_duration(text), Some(ms));
        };
        check(0, "0s");
        check(1, "1ms");
        check(7_200_000, "2h");
        check(5_400_000, "1h30m");
        check(90_061_001, "1d1h1m1s1ms");
    }
}
