//! What is on record about a shared thread: which remote shares it, or which remotes may.

use serde::{Deserialize, Serialize};

/// That a thread is shared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SharedRecord {
    /// The id of the remote where it is, as the remote tells it, or of the first one that may have it.
    pub remote: String,
    /// What tells the leases of this root from those of all others. A later call has the same mark, so it takes over the lease of an
    /// earlier call that died. The lock of the thread keeps two living calls apart. A worker that takes the lease of the next thread
    /// under a new mark replaces this one.
    pub mark: String,
    /// What else is possible, if it is only presumed that the remote shares the thread, because the remote could not be asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    presumption: Option<Presumption>,
}

/// What is known of a thread that a remote may share.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Presumption {
    /// The ids of further remotes that may share it, and that were not asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    others: Vec<String>,
    /// The id of the remote that counts as the one that shares it, if none of those has it: it took the place of a lost remote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    otherwise: Option<String>,
}

impl SharedRecord {
    /// Returns the record of a thread that a remote shares.
    #[must_use]
    pub fn certain(remote: String, mark: String) -> Self {
        Self {
            remote,
            mark,
            presumption: None,
        }
    }

    /// Returns the record of a thread that one of these remotes may share, and `otherwise` if none of them does; `None` if nobody shares
    /// it.
    #[must_use]
    pub fn presumed(remotes: Vec<String>, otherwise: Option<String>, mark: String) -> Option<Self> {
        let mut remotes = remotes.into_iter();
        let Some(first) = remotes.next() else {
            return otherwise.map(|remote| Self::certain(remote, mark));
        };
        let others = remotes.collect();
        Some(Self {
            presumption: Some(Presumption { others, otherwise }),
            ..Self::certain(first, mark)
        })
    }

    /// Returns the record with another mark.
    #[must_use]
    pub fn with_mark(self, mark: String) -> Self {
        Self { mark, ..self }
    }

    /// Tells whether it is only presumed that the remote shares the thread.
    #[must_use]
    pub fn is_presumed(&self) -> bool {
        self.presumption.is_some()
    }

    /// Returns the ids of all remotes that share the thread, or may.
    #[must_use]
    pub fn remotes(&self) -> Vec<String> {
        let mut all = self.to_ask();
        all.extend(self.otherwise());
        all
    }

    /// Returns the record after the remote `asked` has said that it does not have the thread, and `others` may have it, too; `None` if
    /// nobody shares it. Of a thread that is shared for certain, the record stays.
    #[must_use]
    pub fn after_answer(&self, asked: &str, others: &[String]) -> Option<Self> {
        if !self.is_presumed() {
            return Some(self.clone());
        }
        let (mut remotes, otherwise) = (self.to_ask(), self.otherwise());
        for other in others {
            if !remotes.contains(other) && otherwise.as_ref() != Some(other) {
                remotes.push(other.clone());
            }
        }
        remotes.retain(|one| one != asked);
        Self::presumed(remotes, otherwise, self.mark.clone())
    }

    /// Returns the record after the remote `new` has taken the place of the remote `lost`; `None` if that one does not share the thread.
    /// If other remotes may share the thread, they are still to be asked.
    #[must_use]
    pub fn after_loss(&self, lost: &str, new: &str) -> Option<Self> {
        if !self.remotes().iter().any(|one| one == lost) {
            return None;
        }
        let mut remotes = self.to_ask();
        // One that took the place of another lost remote may share it, too.
        remotes.extend(self.otherwise());
        remotes.retain(|one| one != lost && one != new);
        Self::presumed(remotes, Some(new.to_owned()), self.mark.clone())
    }

    /// Returns the remotes that are to be asked for the thread, or the one that shares it for certain.
    fn to_ask(&self) -> Vec<String> {
        let mut all = vec![self.remote.clone()];
        if let Some(presumption) = &self.presumption {
            all.extend(presumption.others.iter().cloned());
        }
        all
    }

    fn otherwise(&self) -> Option<String> {
        self.presumption.as_ref()?.otherwise.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn may(remotes: &[&str], otherwise: Option<&str>) -> Option<SharedRecord> {
        let remotes = remotes.iter().map(|&one| one.to_owned()).collect();
        SharedRecord::presumed(remotes, otherwise.map(str::to_owned), "1".to_owned())
    }

    fn certain(remote: &str) -> Option<SharedRecord> {
        Some(SharedRecord::certain(remote.to_owned(), "1".to_owned()))
    }

    #[test]
    fn a_remote_that_does_not_have_a_thread_is_taken_off_its_record() {
        for (before, asked, others, after) in [
            (may(&["a"], None), "a", &[][..], None),
            (may(&["a"], None), "b", &[], may(&["a"], None)),
            (may(&["a", "b"], None), "a", &[], may(&["b"], None)),
            (may(&["a", "b"], None), "b", &[], may(&["a"], None)),
            (may(&["a"], None), "a", &["b"], may(&["b"], None)),
            (
                may(&["a"], None),
                "b",
                &["b", "a", "c"],
                may(&["a", "c"], None),
            ),
            // The place of a lost remote is not asked: the thread is still to be sent there.
            (may(&["a"], Some("n")), "n", &[], may(&["a"], Some("n"))),
            (may(&["a"], Some("n")), "a", &[], certain("n")),
            (
                may(&["a"], Some("n")),
                "x",
                &["n", "a"],
                may(&["a"], Some("n")),
            ),
            (certain("a"), "a", &["b"], certain("a")),
        ] {
            let others: Vec<String> = others.iter().map(|&one| one.to_owned()).collect();
            let before = before.unwrap();
            assert_eq!(before.after_answer(asked, &others), after, "{before:?}");
        }
    }

    #[test]
    fn the_place_of_a_lost_remote_counts_when_no_other_one_has_the_thread() {
        for (before, after) in [
            (certain("l"), certain("n")),
            (certain("a"), None),
            (may(&["l"], None), certain("n")),
            (may(&["a"], None), None),
            (may(&["l", "a"], None), may(&["a"], Some("n"))),
            (may(&["a", "l", "n"], None), may(&["a"], Some("n"))),
            (may(&["a"], Some("l")), may(&["a"], Some("n"))),
            (may(&["l"], Some("m")), may(&["m"], Some("n"))),
            (may(&["l"], Some("n")), certain("n")),
        ] {
            let before = before.unwrap();
            assert_eq!(before.after_loss("l", "n"), after, "{before:?}");
        }
    }

    #[test]
    fn a_record_is_read_as_it_was_written_and_a_certain_one_has_two_texts() {
        let record = certain("a").unwrap();
        let text = serde_json::to_string(&record).unwrap();
        assert_eq!(text, r#"{"remote":"a","mark":"1"}"#);
        let presumed = may(&["a", "b"], Some("n")).unwrap();
        let text = serde_json::to_string(&presumed).unwrap();
        assert_eq!(
            serde_json::from_str::<SharedRecord>(&text).unwrap(),
            presumed
        );
    }
}
