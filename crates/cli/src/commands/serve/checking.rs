//! What `uwf doctor` finds, for the page about the machine.
//!
//! The doctor runs in a process of its own, because it ends every process below itself when it is done, and replaces the handlers of
//! signals. Inside the server it would end the steps that the server started.

use std::process::Stdio;

use serde::Deserialize;
use uwf_engine::Site;
use uwf_web::{Explained, Finding};

use super::acting::{run, said};
use crate::hints;

/// What `uwf doctor` prints, as far as it matters here.
#[derive(Deserialize)]
struct Printed {
    checks: Vec<Finding>,
}

/// Checks everything as `uwf doctor --offline` does.
pub(super) fn check(site: &Site) -> Result<Vec<Finding>, Explained> {
    let words = ["doctor", "--offline"].map(str::to_owned);
    let output = run(site, &words, Stdio::null())?;
    // A check that found an error makes the exit code another one, and prints its findings all the same.
    let printed: Printed =
        serde_json::from_slice(&output.stdout).map_err(|_| said(&output.stderr, output.status))?;
    let here = |finding: Finding| Finding {
        hint: finding.hint.map(|hint| hints::here(&hint).into_owned()),
        ..finding
    };
    Ok(printed.checks.into_iter().map(here).collect())
}
