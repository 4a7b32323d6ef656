//! The costs that an address asks for: of one thread with its children, or of all threads.

use uwf_engine::{CostKey, CostOptions, CostReport, cost};
use uwf_storage::State;
use uwf_util::time;

use crate::asked::Asked;
use crate::selection::{field, parsed, wrong};
use crate::trouble::Trouble;

/// The field that says by what the runs are grouped.
pub(crate) const BY: &str = "by";
/// The field with a time. Earlier runs do not count.
pub(crate) const SINCE: &str = "since";

/// Returns the sums that an address asks for, with warnings about what they leave out. The path may name a thread.
///
/// # Errors
/// When a field has a value that it cannot have, or the thread is unknown.
pub(crate) fn report_of(asked: &Asked) -> Result<CostReport, Trouble> {
    let site = asked.site();
    let thread = match asked.part("thread") {
        "" => None,
        _ => Some(asked.thread()?),
    };
    let usual = match thread {
        Some(_) => CostKey::Role,
        None => CostKey::Thread,
    };
    let by = asked.query.get(BY).map(|text| parsed(BY, text));
    let since = asked.query.get(SINCE).map(|text| {
        let at_ms = time::parse_filter(text, site.env.now_ms());
        at_ms
            .map_err(|_| wrong(SINCE, text).hint("write `7d`, `12h`, or a date such as 2026-06-03"))
    });
    let labels = asked.query.all(field::LABEL);
    let labels = labels.map(|text| parsed(field::LABEL, text));
    let options = CostOptions {
        threads: thread.into_iter().collect(),
        labels: labels.collect::<Result<_, _>>()?,
        by: by.transpose()?.unwrap_or(usual),
        since_ms: since.transpose()?,
    };
    let mut report = cost(site, &options)?;
    if let Err(error) = State::new(&site.root).check() {
        let explained = (asked.app.explain)(error.into());
        report.warnings.insert(0, explained.whole());
    }
    Ok(report)
}
