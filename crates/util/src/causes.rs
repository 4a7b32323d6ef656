//! Errors with their causes, as text.

use std::error::Error;

/// Returns the causes of an error, the nearest first.
#[must_use]
pub fn causes(error: &dyn Error) -> Vec<String> {
    let mut causes = Vec::new();
    let mut cause = error.source();
    while let Some(error) = cause {
        causes.push(error.to_string());
        cause = error.source();
    }
    causes
}

/// Returns an error with its causes as one line.
#[must_use]
pub fn with_causes(error: &dyn Error) -> String {
    let mut parts = vec![error.to_string()];
    parts.extend(causes(error));
    parts.join(": ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_follow_their_error() {
        let error = "x".parse::<u8>().map_err(Outer).unwrap_err();
        assert_eq!(with_causes(&error), "outer: invalid digit found in string");
    }

    #[derive(Debug)]
    struct Outer(std::num::ParseIntError);

    impl std::fmt::Display for Outer {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("outer")
        }
    }

    impl Error for Outer {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            Some(&self.0)
        }
    }
}
