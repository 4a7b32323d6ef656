//! Time zones: what clocks on the wall show. The caller brings the rules, as a text of POSIX or as a file of the time zone
//! database.

use jiff::tz::TimeZone;
use jiff::{Timestamp, tz::Offset};

use crate::time::timestamp;

/// A time zone.
#[derive(Debug, Clone)]
pub struct Zone(TimeZone);

impl Zone {
    /// Universal time.
    pub const UTC: Self = Self(TimeZone::UTC);

    /// Reads the rules of a zone as `TZ` contains them, such as `CET-1CEST,M3.5.0,M10.5.0/3`.
    #[must_use]
    pub fn of_rules(text: &str) -> Option<Self> {
        let zone = TimeZone::posix(text).ok()?;
        Some(Self(zone))
    }

    /// Reads the content of a file of the time zone database.
    #[must_use]
    pub fn of_file(content: &[u8]) -> Option<Self> {
        let zone = TimeZone::tzif("local", content).ok()?;
        Some(Self(zone))
    }

    /// Tells whether the zone always shows universal time.
    #[must_use]
    pub fn is_utc(&self) -> bool {
        let first = Timestamp::MIN;
        self.0.to_offset(first) == Offset::UTC && self.0.following(first).next().is_none()
    }

    /// Returns the time as `2026-11-21 21:28:59+01:00`.
    #[must_use]
    pub fn format(&self, ms: i64) -> String {
        let local = timestamp(ms).to_zoned(self.0.clone());
        local.strftime("%Y-%m-%d %H:%M:%S%:z").to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::parse_filter;

    const WINTER: i64 = 1_795_292_939_000;
    const SUMMER: i64 = 1_780_444_800_000;

    #[test]
    fn a_local_time_says_its_offset_and_can_be_read_back() {
        let zone = Zone::of_rules("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
        assert_eq!(zone.format(WINTER), "2026-11-21 21:28:59+01:00");
        assert_eq!(zone.format(SUMMER), "2026-06-03 02:00:00+02:00");
        for ms in [WINTER, SUMMER] {
            assert_eq!(parse_filter(&zone.format(ms), 0), Ok(ms));
        }
    }

    #[test]
    fn a_zone_that_only_has_the_offset_of_utc_for_now_is_another_zone() {
        assert!(Zone::UTC.is_utc());
        assert!(Zone::of_rules("UTC0").unwrap().is_utc());
        assert!(!Zone::of_rules("CET-1").unwrap().is_utc());
        assert!(!Zone::of_rules("GMT0BST,M3.5.0/1,M10.5.0").unwrap().is_utc());
    }

    #[test]
    fn what_has_no_rules_is_no_zone() {
        for text in ["", "Europe/Berlin", "x", "CET-99"] {
            assert!(Zone::of_rules(text).is_none(), "{text}");
        }
        assert!(Zone::of_file(b"TZif").is_none());
    }
}
