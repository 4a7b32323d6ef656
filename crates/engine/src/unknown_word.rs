//! The values of a fixed set by their words, and the error of a word that stands for none of them.

/// A word stands for none of the values of its kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the word is unknown")]
pub struct UnknownWord;

/// Returns the value that a word stands for.
pub(crate) fn value_of<T: Copy>(
    word: &str,
    all: impl IntoIterator<Item = T>,
    as_str: fn(T) -> &'static str,
) -> Result<T, UnknownWord> {
    let mut all = all.into_iter();
    all.find(|one| as_str(*one) == word).ok_or(UnknownWord)
}

#[cfg(test)]
mod tests {
    use crate::{Action, CostKey, ThreadStatus};

    use super::*;

    #[test]
    fn every_value_is_found_by_its_word() {
        for one in Action::ALL {
            assert_eq!(one.as_str().parse(), Ok(one));
        }
        for one in ThreadStatus::ALL {
            assert_eq!(one.as_str().parse(), Ok(one));
        }
        for one in CostKey::ALL {
            assert_eq!(one.as_str().parse(), Ok(one));
        }
        assert_eq!("Run".parse::<Action>(), Err(UnknownWord));
    }
}
