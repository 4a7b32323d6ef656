//! What a step left beside its answer, with the commands that show it: what its failed checks printed, the files that it changed,
//! and its artefacts.

use uwf_protocol::checks::CheckResult;
use uwf_protocol::ids::CasRef;
use uwf_protocol::step_files::StepFiles;
use uwf_util::markdown::code;
use uwf_util::text::counted;

use crate::read::detail_summary::DetailSummary;

/// Something that a step left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftByStep {
    /// What it is: `checks`, `files` or `artefacts`.
    pub what: &'static str,
    /// The command that shows it, in a sentence.
    pub shown_by: String,
}

impl LeftByStep {
    fn new(what: &'static str, command: &str, does: &str) -> Self {
        Self {
            what,
            shown_by: format!("`{command}` {does}"),
        }
    }

    /// Returns what a step with this detail left.
    pub(crate) fn all(step: CasRef, detail: &DetailSummary) -> Vec<Self> {
        let mut left = Self::by_checks(step, &detail.checks);
        let changed = |files: &StepFiles| files.before != files.after;
        if detail.files.as_ref().is_some_and(changed) {
            let command = format!("uwf thread diff {step}");
            left.push(Self::new(
                "files",
                &command,
                "shows the files that it changed",
            ));
        }
        let kept = detail.artifacts.len();
        if kept > 0 {
            let does = format!("lists {}", counted(kept, "artefact"));
            let command = format!("uwf step artifacts {step}");
            left.push(Self::new("artefacts", &command, &does));
        }
        left
    }

    /// Returns the commands that print what the failed checks of a step printed.
    #[must_use]
    pub fn by_checks(step: CasRef, checks: &[CheckResult]) -> Vec<Self> {
        let failed = || checks.iter().filter(|check| !check.passed());
        let whole = failed().filter_map(|check| {
            let command = format!("uwf cas cat {}", check.more_output?);
            let does = format!("prints what {} printed", code(&check.name));
            Some(Self::new("checks", &command, &does))
        });
        let mut left: Vec<Self> = whole.collect();
        if failed().any(|check| check.more_output.is_none()) {
            let command = format!("uwf step read {step}");
            left.push(Self::new("checks", &command, "shows what failed"));
        }
        left
    }
}
