//! The exit codes of the program: part of its interface, one meaning each.

/// Why a call ended, as scripts see it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Exit {
    /// The call did what it was asked.
    #[default]
    Done,
    /// The request cannot be met: the input must be fixed.
    Request,
    /// The command line is wrong.
    Usage,
    /// The agent failed; trying again may help.
    Agent,
    /// The store is damaged, or newer than this program.
    Store,
    /// Not now: another process holds the thread, its head moved, or the machine lacks something. Try later.
    Busy,
    /// Nothing ran: the thread waits for a person.
    Suspended,
    /// Nothing ran: the thread has ended.
    Ended,
    /// The exit code of a run of a pipeline, which has codes of its own: often that of the step that stopped it.
    Run(u8),
    /// Ended by a signal, after the agent's process group was ended.
    Signal(i32),
}

impl Exit {
    /// Returns the code that the process exits with.
    #[must_use]
    pub fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Request => 1,
            Self::Usage => 2,
            Self::Agent => 3,
            Self::Store => 4,
            Self::Busy => 5,
            Self::Suspended => 6,
            Self::Ended => 7,
            Self::Run(code) => code,
            Self::Signal(signal) => 128u8.wrapping_add(u8::try_from(signal).unwrap_or(0)),
        }
    }

    /// Returns the exit of a process that ended with this code; `None` for a code that has no meaning here.
    #[must_use]
    pub fn of_code(code: i32) -> Option<Self> {
        Some(match code {
            0 => Self::Done,
            1 => Self::Request,
            2 => Self::Usage,
            3 => Self::Agent,
            4 => Self::Store,
            5 => Self::Busy,
            6 => Self::Suspended,
            7 => Self::Ended,
            129..192 => Self::Signal(code - 128),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_stands_for_one_exit() {
        for code in 0..=255 {
            if let Some(exit) = Exit::of_code(code) {
                assert_eq!(i32::from(exit.code()), code);
            }
        }
        assert_eq!(Exit::of_code(101), None, "a bug");
    }

    #[test]
    fn signals_exit_as_shells_report_them() {
        assert_eq!(Exit::Signal(2).code(), 130);
        assert_eq!(Exit::Signal(15).code(), 143);
    }
}
