//! How a program ended: as a message, a failure class and an exit code.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use uwf_agent_kit::AdapterError;
use uwf_protocol::failure::FailureClass;

use super::stderr::tail;
use crate::complaint::complaint;
use crate::signs;

/// How a program ended.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ProgramEnding {
    Exited(ExitStatus),
    /// We ended it at its time limit.
    TimedOut(Duration),
    /// This process was told to stop by this signal, and ended the program.
    Stopped(i32),
}

impl ProgramEnding {
    /// Returns why there is no answer, with the end of stderr; `None` if the program ended well.
    pub(super) fn problem(&self, program: &str, stderr: &str) -> Option<AdapterError> {
        let what = self.what(program)?;
        let said = complaint(stderr);
        let said = tail(&said);
        let message = match self {
            // The output before a time limit or a signal is seldom the reason.
            Self::TimedOut(_) | Self::Stopped(_) => what,
            Self::Exited(_) if said.is_empty() => what,
            Self::Exited(_) => format!("{what}: {said}"),
        };
        let class = self.class([tail(stderr)]);
        Some(AdapterError {
            exit_code: self.exit_code(),
            try_again: signs::try_again(&message)
                .filter(|_| class.is_of_provider())
                .map(Box::new),
            ..AdapterError::failed(message).class(class)
        })
    }

    /// Returns the failure class: by how the program ended, else by what it printed.
    pub(crate) fn class<'a>(&self, said: impl IntoIterator<Item = &'a str>) -> FailureClass {
        match self {
            Self::TimedOut(_) => FailureClass::Timeout,
            Self::Stopped(_) => FailureClass::Cancelled,
            Self::Exited(status) => match FailureClass::of_exit(status.code(), status.signal()) {
                FailureClass::Crash => signs::class_in(said),
                class => class,
            },
        }
    }

    /// Describes how the program ended; `None` if it ended well.
    pub(crate) fn what(&self, program: &str) -> Option<String> {
        match self {
            Self::Exited(status) if status.success() => None,
            Self::Exited(status) => Some(match status.code() {
                Some(code) => format!("`{program}` exited with code {code}"),
                None => format!("`{program}` was ended from outside ({status})"),
            }),
            Self::TimedOut(limit) => Some(format!(
                "`{program}` was ended after its time limit of {} s",
                limit.as_secs_f64()
            )),
            Self::Stopped(signal) => Some(format!(
                "`{program}` was ended: signal {signal} interrupted the step"
            )),
        }
    }

    /// Returns our exit code when the program failed. The code of an interruption is passed on.
    pub(crate) fn exit_code(&self) -> i32 {
        let status = match self {
            Self::Exited(status) => status,
            Self::TimedOut(_) => return 1,
            Self::Stopped(signal) => return 128 + signal,
        };
        let code = status.code().or(status.signal().map(|signal| 128 + signal));
        code.filter(|code| [129, 130, 143].contains(code))
            .unwrap_or(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_interruptions_keep_their_code() {
        let check = |wait_status: i32, code: i32| {
            let ending = ProgramEnding::Exited(ExitStatus::from_raw(wait_status));
            assert_eq!(ending.exit_code(), code, "{wait_status:x}");
        };
        check(130 << 8, 130);
        check(143 << 8, 143);
        check(2, 130);
        check(15, 143);
        check(9, 1);
        check(3 << 8, 1);
        assert_eq!(ProgramEnding::TimedOut(Duration::ZERO).exit_code(), 1);
        assert_eq!(ProgramEnding::Stopped(2).exit_code(), 130);
    }
}
