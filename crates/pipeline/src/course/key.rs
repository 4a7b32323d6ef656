//! The keys of steps: `X`, `Loop[2].Inner`, and `Loop[2]` for the end of an item.

use std::fmt;
use std::str::FromStr;

/// The key of a step in a run.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct StepKey {
    /// The loops around it with the numbers of their items, the outermost first.
    items: Vec<(String, usize)>,
    /// The name of the step; `None`: the end of the innermost item.
    step: Option<String>,
}

impl StepKey {
    /// Returns what is around all keys.
    pub(crate) fn root() -> Self {
        Self {
            items: Vec::new(),
            step: None,
        }
    }

    /// Returns the key of an item within this one.
    pub(crate) fn item(mut self, name: &str, index: usize) -> Self {
        self.items.push((name.to_owned(), index));
        self
    }

    /// Returns the key of a step within this item.
    pub(crate) fn step(mut self, name: &str) -> Self {
        self.step = Some(name.to_owned());
        self
    }

    /// Returns how many loops are around it.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.items.len()
    }

    /// Returns the loops around it with the numbers of their items, the outermost first.
    #[must_use]
    pub fn items(&self) -> &[(String, usize)] {
        &self.items
    }

    /// Returns the name of the step; `None` if this is the end of an item.
    #[must_use]
    pub fn step_name(&self) -> Option<&str> {
        self.step.as_deref()
    }

    /// Returns the key of the item that this step is in; for a step of the pipeline, what is around all keys.
    #[must_use]
    pub fn around(&self) -> Self {
        Self {
            items: self.items.clone(),
            step: None,
        }
    }

    /// Returns the key with empty brackets. There are no more of these than steps in the file.
    #[must_use]
    pub fn without_indices(&self) -> String {
        self.written(|_| String::new())
    }

    fn written(&self, index: impl Fn(usize) -> String) -> String {
        let items = self.items.iter();
        let items = items.map(|(name, number)| format!("{name}[{}]", index(*number)));
        let parts: Vec<String> = items.chain(self.step.clone()).collect();
        parts.join(".")
    }
}

impl fmt::Display for StepKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written(|index| index.to_string()))
    }
}

/// Says why a text is not a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseKeyError(String);

impl fmt::Display for ParseKeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not the key of a step", self.0)
    }
}

impl std::error::Error for ParseKeyError {}

impl FromStr for StepKey {
    type Err = ParseKeyError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse(text).ok_or_else(|| ParseKeyError(text.to_owned()))
    }
}

/// Reads a key. No name has a bracket, so the brackets are those of items.
fn parse(text: &str) -> Option<StepKey> {
    let mut key = StepKey::root();
    let mut rest = text;
    while let Some((name, after)) = rest.split_once('[') {
        let (index, after) = after.split_once(']')?;
        let is_number = !index.is_empty() && index.bytes().all(|byte| byte.is_ascii_digit());
        if name.is_empty() || !is_number {
            return None;
        }
        key = key.item(name, index.parse().ok()?);
        if after.is_empty() {
            return Some(key);
        }
        rest = after.strip_prefix('.')?;
    }
    (!rest.is_empty() && !rest.contains(']')).then(|| key.step(rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_written_as_it_is_read() {
        for text in [
            "X",
            "a.b c",
            "L[0].I",
            "A[1].B[2].C",
            "A[1].B[2]",
            "a.b[7].c.d",
        ] {
            assert_eq!(text.parse::<StepKey>().unwrap().to_string(), text);
        }
        let key: StepKey = "A[1].B[22].C".parse().unwrap();
        assert_eq!((key.depth(), key.step_name()), (2, Some("C")));
        assert_eq!(key.without_indices(), "A[].B[].C");
    }

    #[test]
    fn other_texts_are_no_keys() {
        for text in [
            "", "A[", "A[]", "A[x].B", "A[1]B", "A[1].", "[1].B", "A]", "A[+1]",
        ] {
            assert!(text.parse::<StepKey>().is_err(), "{text}");
        }
    }
}
