//! What a typed name means, as far as the text tells. Pure.

use uwf_protocol::ids::{CasRef, IdError, RoleName, ThreadId, id_prefix};
use uwf_protocol::naming::Name;

/// How a thread is named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ThreadName {
    /// Its id.
    Id(ThreadId),
    /// The nth newest, from 1.
    Newest(usize),
    /// The beginning of its id, in upper case.
    Prefix(String),
    /// The one that was used last.
    LastUsed,
    /// The name that it was given.
    Given(Name),
}

/// How a node is named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NodeName {
    /// Its hash.
    Hash(CasRef),
    /// The beginning of its hash, or of the id of a thread for its head; in upper case.
    Prefix(String),
    /// A place in a thread.
    OfThread(ThreadName, StepPlace),
}

/// A place in a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum StepPlace {
    /// So many steps before the head.
    Back(usize),
    /// The step with this number, from 1; 0 is the start.
    Number(usize),
    /// The last step of the role.
    LastOf(RoleName),
}

/// Reads the name of a thread.
pub(super) fn thread(text: &str) -> Result<ThreadName, IdError> {
    if let Some(nth) = text.strip_prefix('@') {
        let nth = newest(nth).ok_or_else(|| IdError::Thread(text.to_owned()))?;
        return Ok(ThreadName::Newest(nth));
    }
    if text == "-" {
        return Ok(ThreadName::LastUsed);
    }
    if let Some(prefix) = id_prefix(text) {
        return Ok(text
            .parse()
            .map_or(ThreadName::Prefix(prefix), ThreadName::Id));
    }
    let name = text.parse().map_err(|_| IdError::Thread(text.to_owned()))?;
    Ok(ThreadName::Given(name))
}

/// Reads the name of a node.
pub(super) fn node(text: &str) -> Result<NodeName, IdError> {
    let not_a_hash = || IdError::Hash(text.to_owned());
    // A leading `@` is a part of the thread's name.
    let after = text.strip_prefix('@').map_or(0, |_| 1);
    let place = text[after..].find(['~', '@', '/']).map(|at| at + after);
    if let Some(at) = place {
        let thread = thread(&text[..at]).map_err(|_| not_a_hash())?;
        let place = self::place(&text[at..]).ok_or_else(not_a_hash)?;
        return Ok(NodeName::OfThread(thread, place));
    }
    if let Ok(hash) = text.to_ascii_uppercase().parse() {
        return Ok(NodeName::Hash(hash));
    }
    match thread(text).map_err(|_| not_a_hash())? {
        ThreadName::Prefix(prefix) => Ok(NodeName::Prefix(prefix)),
        name => Ok(NodeName::OfThread(name, StepPlace::Back(0))),
    }
}

/// Reads what follows the name of a thread.
fn place(text: &str) -> Option<StepPlace> {
    if let Some(role) = text.strip_prefix('/') {
        return role.parse().ok().map(StepPlace::LastOf);
    }
    if let Some(number) = text.strip_prefix('@') {
        return number.parse().ok().map(StepPlace::Number);
    }
    match text.strip_prefix('~')? {
        "" => Some(StepPlace::Back(1)),
        back => back.parse().ok().map(StepPlace::Back),
    }
}

fn newest(digits: &str) -> Option<usize> {
    match digits {
        "" => Some(1),
        digits => digits.parse().ok().filter(|nth| *nth > 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "01J7K9Z000000000000000000A";

    fn id() -> ThreadId {
        ID.parse().unwrap()
    }

    #[test]
    fn threads_have_short_names() {
        assert_eq!(thread(ID), Ok(ThreadName::Id(id())));
        assert_eq!(thread("@"), Ok(ThreadName::Newest(1)));
        assert_eq!(thread("@12"), Ok(ThreadName::Newest(12)));
        assert_eq!(thread("01j7"), Ok(ThreadName::Prefix("01J7".to_owned())));
        assert_eq!(thread("-"), Ok(ThreadName::LastUsed));
        for given in ["fix-42", "01J", "01JU", "größe"] {
            let name = given.parse().unwrap();
            assert_eq!(thread(given), Ok(ThreadName::Given(name)));
        }
        for wrong in ["", "@0", "@x", "@~1", "--", "-x", "fix 42", "…"] {
            assert_eq!(thread(wrong), Err(IdError::Thread(wrong.to_owned())));
        }
    }

    #[test]
    fn nodes_have_short_names_and_steps_have_places() {
        let hash = "0123456789ABC";
        let found = NodeName::Hash(hash.parse().unwrap());
        assert_eq!(node(hash), Ok(found.clone()));
        assert_eq!(node("0123456789abc"), Ok(found));
        assert_eq!(node("0123"), Ok(NodeName::Prefix("0123".to_owned())));
        let of = |name, place| Ok(NodeName::OfThread(name, place));
        assert_eq!(node(ID), of(ThreadName::Id(id()), StepPlace::Back(0)));
        assert_eq!(node("@"), of(ThreadName::Newest(1), StepPlace::Back(0)));
        assert_eq!(node("@~"), of(ThreadName::Newest(1), StepPlace::Back(1)));
        assert_eq!(node("@2~3"), of(ThreadName::Newest(2), StepPlace::Back(3)));
        assert_eq!(
            node("@2@3"),
            of(ThreadName::Newest(2), StepPlace::Number(3))
        );
        let prefix = ThreadName::Prefix("01J7".to_owned());
        let reviewer = "reviewer".parse().unwrap();
        assert_eq!(
            node("01j7/reviewer"),
            of(prefix, StepPlace::LastOf(reviewer))
        );
        let given = || ThreadName::Given("fix-42".parse().unwrap());
        assert_eq!(node("fix-42"), of(given(), StepPlace::Back(0)));
        assert_eq!(node("fix-42@3"), of(given(), StepPlace::Number(3)));
        assert_eq!(node("fix-42~"), of(given(), StepPlace::Back(1)));
        let writer = "writer".parse().unwrap();
        assert_eq!(
            node("fix-42/writer"),
            of(given(), StepPlace::LastOf(writer))
        );
        assert_eq!(node("-"), of(ThreadName::LastUsed, StepPlace::Back(0)));
        assert_eq!(node("-~2"), of(ThreadName::LastUsed, StepPlace::Back(2)));
        for wrong in ["", "@x", "@@x", "01J7~x", "01J7/", "ä b~1", "~1"] {
            assert_eq!(node(wrong), Err(IdError::Hash(wrong.to_owned())), "{wrong}");
        }
    }
}
