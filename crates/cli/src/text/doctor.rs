//! The result of `uwf doctor`.

use serde::Serialize;

use uwf_util::printable::printable;
use uwf_util::text::{counted, one_line};

use crate::output::Show;
use crate::text::table::Page;
use crate::{hints, style};

/// How a check ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Status {
    Ok,
    Warning,
    Error,
}

/// One check.
#[derive(Debug, Serialize)]
pub(crate) struct Check {
    /// What was checked.
    pub(crate) check: &'static str,
    pub(crate) status: Status,
    /// Which one of several, such as the alias of an agent; `None` if there is only one.
    pub(crate) subject: Option<String>,
    /// What was found.
    pub(crate) message: String,
    /// What to do about it.
    pub(crate) hint: Option<String>,
}

impl Check {
    pub(crate) fn ok(check: &'static str, message: impl Into<String>) -> Self {
        Self {
            check,
            status: Status::Ok,
            subject: None,
            message: message.into(),
            hint: None,
        }
    }

    pub(crate) fn warning(
        check: &'static str,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Self {
            status: Status::Warning,
            hint: Some(hint.into()),
            ..Self::ok(check, message)
        }
    }

    pub(crate) fn error(
        check: &'static str,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Self {
            status: Status::Error,
            ..Self::warning(check, message, hint)
        }
    }

    /// Sets the subject.
    #[must_use]
    pub(crate) fn of(mut self, subject: impl Into<String>) -> Self {
        self.subject = Some(subject.into());
        self
    }
}

/// All checks.
#[derive(Serialize)]
pub(crate) struct DoctorView {
    /// Whether no check found an error.
    pub(crate) ok: bool,
    pub(crate) checks: Vec<Check>,
}

impl DoctorView {
    pub(crate) fn new(checks: Vec<Check>) -> Self {
        Self {
            ok: checks.iter().all(|one| one.status != Status::Error),
            checks,
        }
    }

    fn count(&self, status: Status) -> usize {
        self.checks
            .iter()
            .filter(|one| one.status == status)
            .count()
    }
}

impl Show for DoctorView {
    const HAS_COLOUR: bool = true;

    fn text(&self, page: Page) -> String {
        let mut lines = Vec::new();
        for one in &self.checks {
            let mark = match one.status {
                Status::Ok => "ok     ",
                Status::Warning => "WARNING",
                Status::Error => "ERROR  ",
            };
            let mark = match page.colour {
                true => style::first_word(mark),
                false => mark.to_owned(),
            };
            let subject = one.subject.as_ref();
            let subject = subject.map_or_else(String::new, |subject| format!(" {subject}"));
            lines.push(format!(
                "{mark}  {}{}: {}",
                one.check,
                printable(&subject),
                printable(&one_line(&one.message))
            ));
            lines.extend(
                one.hint
                    .iter()
                    .map(|hint| one_line(&hints::here(hint)))
                    .map(|hint| format!("         → {}", printable(&hint))),
            );
        }
        let [ok, warnings, errors] =
            [Status::Ok, Status::Warning, Status::Error].map(|status| self.count(status));
        let warnings = counted(warnings, "warning");
        lines.push(format!("{ok} ok, {warnings}, {}", counted(errors, "error")));
        lines.join("\n")
    }
}
