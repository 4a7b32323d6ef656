//! Times in the text for people: in their time zone, with the offset, or in UTC if there is no other. JSON, YAML, documents
//! and the days of sums and logs are in UTC.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use uwf_storage::Env;
use uwf_util::time;
use uwf_util::zone::Zone;

/// Where a machine says its time zone.
const OF_THE_MACHINE: &str = "/etc/localtime";
/// Where the time zone database is.
const DATABASE: &str = "/usr/share/zoneinfo";
/// The largest file of a time zone that is read. Those of the database have some KiB.
const MAX_FILE: usize = 1 << 20;

/// What `TZ` says; `None` if it is not set. Most calls print no time, so nothing is read before it is needed.
static TZ: OnceLock<Option<String>> = OnceLock::new();
static ZONE: OnceLock<Zone> = OnceLock::new();

/// Records the time zone that the environment names, before a command runs.
pub(crate) fn set(env: &Env) {
    let named = env.var("TZ").unwrap_or_default().to_owned();
    let _ = TZ.set(env.is_set("TZ").then_some(named));
}

/// Returns a time with its zone.
pub(crate) fn moment(ms: i64) -> String {
    match zone() {
        zone if zone.is_utc() => format!("{} UTC", time::format_utc(ms)),
        zone => zone.format(ms),
    }
}

/// Returns a time for a column whose heading is made by [`heading`].
pub(crate) fn cell(ms: i64) -> String {
    match zone() {
        zone if zone.is_utc() => time::format_utc(ms),
        zone => zone.format(ms),
    }
}

/// Returns a time for such a column without its year and its offset.
pub(crate) fn without_year(ms: i64) -> String {
    let cell = cell(ms);
    let parts = cell.get("2026-".len().."2026-01-01 00:00:00".len());
    parts.unwrap_or(&cell).to_owned()
}

/// Returns the heading of a column of times. It says so if they are in UTC; other times have their offset beside them.
pub(crate) fn heading(text: &'static str) -> Cow<'static, str> {
    match zone().is_utc() {
        true => Cow::Owned(format!("{text} (UTC)")),
        false => Cow::Borrowed(text),
    }
}

fn zone() -> &'static Zone {
    ZONE.get_or_init(|| {
        let found = match TZ.get() {
            // A test of this program: nothing has recorded the environment.
            None => None,
            Some(None) => of_file(Path::new(OF_THE_MACHINE)),
            Some(Some(named)) => of_name(named),
        };
        found.unwrap_or(Zone::UTC)
    })
}

/// Finds the zone that a value of `TZ` names, as the C library does: a file of the database, or rules.
fn of_name(named: &str) -> Option<Zone> {
    let named = named.strip_prefix(':').unwrap_or(named);
    if named.is_empty() {
        return None;
    }
    let file = match named.starts_with('/') {
        true => Some(PathBuf::from(named)),
        // The variable may come from elsewhere: a relative name stays below the database.
        false if named.split('/').any(|part| part == "..") => None,
        false => Some(Path::new(DATABASE).join(named)),
    };
    let of_file = file.and_then(|file| of_file(&file));
    of_file.or_else(|| Zone::of_rules(named))
}

fn of_file(path: &Path) -> Option<Zone> {
    let content = uwf_durable::read_start(path, MAX_FILE).ok()??;
    Zone::of_file(&content)
}
