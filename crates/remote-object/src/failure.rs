//! What an error of a store means, and what is said about it.

use std::error::Error as _;

use object_store::Error;
use object_store::client::{HttpError, HttpErrorKind};
use uwf_remote::{Entry, RemoteError};

/// How many characters of a store's message are shown.
const LONGEST: usize = 300;
/// The statuses of requests that came at a bad time: the store waited too long for them, or has too much to do.
const PASSING: [u16; 3] = [408, 425, 429];
/// The codes of requests that were damaged or late on the way. Their status is that of a request that is wrong itself.
const ON_THE_WAY: [&str; 3] = ["RequestTimeout", "IncompleteBody", "BadDigest"];
/// The codes of keys that are valid for a time, if that is over or the token of it is wrong. S3 gives them the status of a request
/// that is wrong itself.
const TEMPORARY_KEYS: [&str; 3] = ["ExpiredToken", "InvalidToken", "TokenRefreshRequired"];
/// What the client says when a store sends a request elsewhere.
const WRONG_REGION: &str = "incorrectly configured region";

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
    let said = problem.to_string();
    match problem {
        Error::NotFound { .. } => Failure::Final(RemoteError::NoBucket),
        Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => not_let_in(&said),
        _ if has_code(&said, &TEMPORARY_KEYS) => not_let_in(&said),
        Error::NotImplemented { .. } | Error::NotSupported { .. } => {
            Failure::Final(RemoteError::Unable(short(&said)))
        }
        _ if is_timeout(problem) => Failure::Final(away(&said)),
        _ => match refusal(&said) {
            Some(status) => Failure::Final(RemoteError::Refused(with_code(status, &said))),
            None => Failure::Again(away(&said)),
        },
    }
}

fn not_let_in(said: &str) -> Failure {
    Failure::Final(RemoteError::NotLetIn(
        Entry::Keys,
        with_code("the store refuses the key, or what the key may do", said),
    ))
}

fn away(said: &str) -> RemoteError {
    RemoteError::Away(short(said))
}

/// Returns the status of an answer that says that the request itself is wrong: a store gives it to the same request again. Errors
/// of the client have the status only in their text.
fn refusal(said: &str) -> Option<&str> {
    if said.contains(WRONG_REGION) {
        return Some("it sends the request to another region");
    }
    let (_, rest) = said.split_once(" status code: ")?;
    let status = rest.lines().next()?.split(':').next()?.trim();
    let number = status.get(..3)?.parse::<u16>().ok()?;
    let may_pass = PASSING.contains(&number) || has_code(said, &ON_THE_WAY);
    ((300..500).contains(&number) && !may_pass).then_some(status)
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

/// Adds the code of the error in an answer, in parentheses. The rest of the answer is left out, because it repeats the request.
fn with_code(what: &str, said: &str) -> String {
    match code(said) {
        Some(code) => format!("{what} ({code})"),
        None => what.to_owned(),
    }
}

/// Tells whether the code of the error in an answer is one of these.
fn has_code(said: &str, codes: &[&str]) -> bool {
    code(said).is_some_and(|code| codes.contains(&code))
}

/// Returns the code of the error in an answer, if it is a word.
fn code(said: &str) -> Option<&str> {
    let (_, rest) = said.split_once("<Code>")?;
    let (code, _) = rest.split_once("</Code>")?;
    let is_word = code.len() <= 60 && code.bytes().all(|byte| byte.is_ascii_alphanumeric());
    is_word.then_some(code)
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

    /// Returns what an error means that the client has no kind for.
    fn after(said: &str) -> Failure {
        failure(&Error::Generic {
            store: "x",
            source: said.into(),
        })
    }

    /// Returns what the client says about an answer with this status and this code.
    fn at(status: &str, code: &str) -> String {
        format!(
            "Server returned non-2xx status code: {status}: <?xml?>\n<Error><Code>{code}</Code></Error>"
        )
    }

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
    fn a_request_that_the_store_refuses_is_not_sent_again_unless_it_came_at_a_bad_time() {
        let refused = after(&at("400 Bad Request", "InvalidBucketName"));
        let Failure::Final(RemoteError::Refused(said)) = refused else {
            panic!("{refused:?}");
        };
        assert_eq!(said, "400 Bad Request (InvalidBucketName)");
        let elsewhere = after(
            "Received redirect without LOCATION, this normally indicates an incorrectly configured region",
        );
        assert!(
            matches!(&elsewhere, Failure::Final(RemoteError::Refused(said)) if said.contains("region")),
            "{elsewhere:?}"
        );
        for passing in [
            at("429 Too Many Requests", "SlowDown"),
            at("400 Bad Request", "RequestTimeout"),
            at("400 Bad Request", "IncompleteBody"),
            at("400 Bad Request", "BadDigest"),
            at("503 Service Unavailable", "ServerBusy"),
            "HTTP error: connection refused".to_owned(),
        ] {
            let failed = after(&passing);
            assert!(
                matches!(failed, Failure::Again(RemoteError::Away(_))),
                "{failed:?}"
            );
        }
    }

    #[test]
    fn temporary_keys_that_are_over_are_keys_that_the_store_refuses() {
        for over in ["ExpiredToken", "InvalidToken", "TokenRefreshRequired"] {
            let failed = after(&at("400 Bad Request", over));
            assert!(
                matches!(&failed, Failure::Final(RemoteError::NotLetIn(Entry::Keys, said)) if said.contains(over)),
                "{failed:?}"
            );
        }
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
