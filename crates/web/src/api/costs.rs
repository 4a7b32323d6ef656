//! What threads cost, as data.

use serde::Serialize;
use uwf_engine::CostReport;

use crate::answer::Data;
use crate::asked::Asked;
use crate::costs::report_of;
use crate::trouble::Trouble;

/// The sums, and what they leave out.
#[derive(Serialize)]
struct Costs<'r> {
    #[serde(flatten)]
    report: &'r CostReport,
    warnings: &'r [String],
}

/// Returns what threads cost.
pub(crate) fn costs(asked: &Asked) -> Result<Data, Trouble> {
    let report = report_of(asked)?;
    let warnings = &report.warnings;
    Ok(Data::of(&Costs {
        report: &report,
        warnings,
    }))
}
