//! The status of a head: what its chain and its program say about going on.

use serde::{Deserialize, Serialize};

/// Whether a step can be done at the head of a thread. It follows from the chain and its program, and not from who works on the
/// thread, what has failed, or which limits there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HeadStatus {
    /// A step can be done.
    Ready,
    /// It waits for a person.
    Suspended,
    /// It is complete.
    Ended,
    /// Its program gives no next step.
    Blocked,
}

impl HeadStatus {
    /// Every status.
    pub const ALL: [Self; 4] = [Self::Ready, Self::Suspended, Self::Ended, Self::Blocked];

    /// Returns the word for it, as it is stored.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Suspended => "suspended",
            Self::Ended => "ended",
            Self::Blocked => "blocked",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stored_words_are_read_again() {
        for status in HeadStatus::ALL {
            let stored = serde_json::to_value(status).unwrap();
            assert_eq!(stored, status.as_str());
            assert_eq!(
                serde_json::from_value::<HeadStatus>(stored).unwrap(),
                status
            );
        }
    }
}
