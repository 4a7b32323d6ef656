//! Threads at the remote by the beginning of their ids. They are listed in the order of these.

use uwf_engine::{EngineError, SharingError};
use uwf_protocol::ids::ThreadId;
use uwf_remote::{Query, Remote};

/// How many digits an id has.
const DIGITS: usize = 26;
/// How many threads are asked for: of several that begin alike, a person needs to see only some.
const AT_MOST: usize = 10;

/// Returns the first threads at the remote whose ids begin with these digits.
pub(super) fn beginning(
    remote: &mut dyn Remote,
    digits: &str,
) -> Result<Vec<ThreadId>, EngineError> {
    let listed = remote.list(&Query::default(), just_before(digits), AT_MOST);
    let found = listed.map_err(SharingError::from)?.into_iter();
    let found = found.map(|one| one.thread);
    Ok(found
        .take_while(|thread| thread.as_str().starts_with(digits))
        .collect())
}

/// Returns the last id before all that begin with these digits; `None` if there is none, or if no id begins so.
fn just_before(digits: &str) -> Option<ThreadId> {
    let counted = digits.trim_end_matches('0');
    let last = counted.chars().next_back()?;
    let head = counted.strip_suffix(last)?;
    // Not every letter is a digit of an id.
    ('0'..last).rev().find_map(|smaller| {
        let first = format!("{head}{smaller}");
        format!("{first:Z<DIGITS$}").parse().ok()
    })
}

#[cfg(test)]
mod tests {
    use uwf_protocol::head_status::HeadStatus;
    use uwf_protocol::run::ThreadRecord;
    use uwf_remote::memory::Memory;
    use uwf_remote::suite::small::{SCHEMA, START, WORKFLOW, hash, node};
    use uwf_remote::{NewThread, Put};

    use super::*;

    /// Shares a thread whose id begins with these digits.
    fn share(remote: &mut Memory, digits: &str) -> ThreadId {
        let thread = format!("{digits:0<DIGITS$}").parse().expect("it is an id");
        let new = NewThread {
            thread,
            workflow: hash(WORKFLOW),
            head: hash(START),
            status: HeadStatus::Ready,
            label: None,
            record: ThreadRecord::default(),
        };
        let nodes = [
            node(SCHEMA, &[]),
            node(WORKFLOW, &[]),
            node(START, &[WORKFLOW]),
        ];
        assert_eq!(remote.put(&nodes, Some(&new)), Ok(Put::Done));
        thread
    }

    #[test]
    fn a_thread_is_found_by_the_beginning_of_its_id_however_many_come_before_it() {
        let mut remote = Memory::default();
        for number in 0..3 * AT_MOST {
            share(&mut remote, &format!("01J6{number}X"));
        }
        let [one, two, _] = ["01J7", "01J7K", "01J8"].map(|digits| share(&mut remote, digits));
        let mut found = |digits| beginning(&mut remote, digits).expect("it answers");
        assert_eq!(found("01J7"), [one, two]);
        assert_eq!(found("01J7K"), [two]);
        assert_eq!(found("01J6").len(), AT_MOST);
        assert_eq!(found("01J9"), []);
        assert_eq!(found("01JU"), []);
    }

    #[test]
    fn the_id_before_a_beginning_is_the_last_one_that_comes_before_it() {
        let before = |digits: &str| just_before(digits).map(|id| id.to_string());
        assert_eq!(
            before("01J7").as_deref(),
            Some("01J6ZZZZZZZZZZZZZZZZZZZZZZ")
        );
        // There is no digit `I`.
        assert_eq!(
            before("01J0").as_deref(),
            Some("01HZZZZZZZZZZZZZZZZZZZZZZZ")
        );
        assert_eq!(before("0000"), None);
        assert_eq!(before("01-A"), None);
        assert_eq!(before(&"1".repeat(27)), None);
        let whole = "01J7K9Z0000000000000000001";
        assert_eq!(before(whole).as_deref(), Some("01J7K9Z0000000000000000000"));
    }
}
