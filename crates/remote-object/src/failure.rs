//! What an error of a store means, and what is said about it.

use std::error::Error as _;

use object_store::Error;
use object_store::client::{HttpError, HttpErrorKind};
use uwf_remote::{Entry, RemoteError};

/// How many characters of a store's message are shown.
const LONGEST: usize = 300;

/// Why a request failed, by whether it can be sent again.
#[derive(Debug)]
pub(crate) enum Failure {
    /// It can be sent again. It is unknown whether it was done.
    Again(RemoteError),
    /// It would fail again, or would take too long.
    Final(RemoteError),
}

impl Failure {
    pub(crate) fn into_error(self) -> RemoteError {
        match self {
            Self::Again(error) | Self::Final(error) => error,
        }
    }
}

pub(crate) fn failure(problem: &Error) -> Failure {
    match problem {
        Error::NotFound { .. } => Failure::Final(RemoteError::NoBucket),
        Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => {
            let code = code(&problem.to_string());
            Failure::Final(RemoteError::NotLetIn(
                Entry::Keys,
                format!("the store refuses the key, or what the key may do{code}"),
            ))
        }
        Error::NotImplemented { .. } | Error::NotSupported { .. } => {
            Failure::Final(RemoteError::Unable(short(&problem.to_string())))
        }
        _ if is_timeout(problem) => Failure::Final(away(problem)),
        _ => Failure::Again(away(problem)),
    }
}

fn away(problem: &Error) -> RemoteError {
    RemoteError::Away(short(&problem.to_string()))
}

/// Tells whether the store took too long to answer.
fn is_timeout(problem: &Error) -> bool {
    let mut cause = problem.source();
    while let Some(error) = cause {
        if let Some(http) = error.downcast_ref::<HttpError>() {
            return http.kind() == HttpErrorKind::Timeout;
        }
        cause = error.source();
    }
    false
}

/// Returns the code of the error in an answer, in parentheses. The rest of the answer is left out, because it repeats the request.
fn code(text: &str) -> String {
    let code = text
        .split_once("<Code>")
        .and_then(|(_, rest)| rest.split_once("</Code>"));
    match code {
        Some((code, _))
            if code.len() <= 60 && code.bytes().all(|byte| byte.is_ascii_alphanumeric()) =>
        {
            format!(" ({code})")
        }
        _ => String::new(),
    }
}

/// Returns the beginning of the first line.
fn short(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_key_is_named_by_its_code_and_nothing_else_of_the_answer() {
        let body = "403: <Error><Code>SignatureDoesNotMatch</Code><StringToSign>PUT x</StringToSign></Error>";
        let denied = Error::PermissionDenied {
            path: "nodes/1".into(),
            source: body.into(),
        };
        let said = failure(&denied).into_error().to_string();
        assert!(said.contains("(SignatureDoesNotMatch)"), "{said}");
        assert!(!said.contains("StringToSign"), "{said}");
    }

    #[test]
    fn what_a_store_says_is_one_short_line() {
        let long = Error::Generic {
            store: "x",
            source: format!("{}\nsecond", "ä".repeat(1000)).into(),
        };
        let Failure::Again(error) = failure(&long) else {
            panic!("it can be sent again");
        };
        let said = error.to_string();
        assert!(
            said.chars().count() < 400 && !said.contains("second"),
            "{said}"
        );
    }
}
