//! The costs of threads, as data.

use serde::Serialize;
use uwf_engine::CostReport;

use crate::answer::Data;
use crate::asked::Asked;
use crate::costs::report_of;
use crate::trouble::Trouble;

/// The sums, with warnings about what they leave out.
#[derive(Serialize)]
struct Costs<'r> {
    #[serde(flatten)]
    report: &'r CostReport,
    warnings: &'r [String],
}

/// Returns the sums that the address asks for.
pub(crate) fn costs(asked: &Asked) -> Result<Data, Trouble> {
    let report = report_of(asked)?;
    let warnings = &report.warnings;
    Ok(Data::of(&Costs {
        report: &report,
        warnings,
    }))
}
