//! The environment of a program: ours, with what the step and the run add.

use std::ffi::{OsStr, OsString};

use uwf_pipeline::course::RunTask;
use uwf_pipeline::{ErrorKind, Failure};

/// Variables with their values.
pub type Variables = [(OsString, OsString)];

/// Checks that all secrets of a step are in our environment. An empty one counts.
///
/// # Errors
/// When some are not, with the names of all of them.
pub(crate) fn need_secrets(secrets: &[String], ours: &Variables) -> Result<(), Failure> {
    let is_missing = |secret: &&String| {
        let wanted = OsStr::new(secret.as_str());
        !ours.iter().any(|(name, _)| name == wanted)
    };
    let missing: Vec<String> = secrets.iter().filter(is_missing).cloned().collect();
    match missing.is_empty() {
        true => Ok(()),
        false => Err(Failure::missing_secrets(&missing)),
    }
}

/// Checks the variables that a step sets. The system would refuse the program.
///
/// # Errors
/// When a value has a zero byte.
pub(crate) fn need_values(task: &RunTask) -> Result<(), Failure> {
    let Some((name, _)) = task.env.iter().find(|(_, value)| value.contains('\0')) else {
        return Ok(());
    };
    let message = format!("the variable `{name}` has a zero byte, which no program can get");
    Err(Failure::new(ErrorKind::InvalidArgument, message).fact("variable", name.as_str()))
}
