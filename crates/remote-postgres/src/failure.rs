//! What an error of a connection means: whether the same call can succeed later, and what a person has to do.

use std::error::Error;
use std::io::ErrorKind;

use tokio_postgres::error::SqlState;
use uwf_remote::{Distrust, Entry, RemoteError, Right};

use crate::address::{Address, with_cause};
use crate::certificate;

/// Why a call failed.
pub(crate) enum Failure {
    /// The same call can succeed.
    Again(RemoteError),
    /// The connection was silent. The same call can succeed on another connection.
    Silent(RemoteError),
    /// The same call would fail again, or would take too long.
    Final(RemoteError),
}

impl Failure {
    /// Adds the address to the error for a server that cannot be reached, and the files of its sockets. The client names neither.
    pub(crate) fn at(self, address: &Address) -> Self {
        let at = |error: RemoteError| match error {
            RemoteError::Away(why) => {
                let sockets = address.sockets();
                RemoteError::Away(format!("{address}: {why}{sockets}"))
            }
            other => other,
        };
        match self {
            Self::Again(error) => Self::Again(at(error)),
            Self::Silent(error) => Self::Silent(at(error)),
            Self::Final(error) => Self::Final(at(error)),
        }
    }
}

/// Returns what an error of the client means. `schema` is that of the remote.
pub(crate) fn failure(problem: &tokio_postgres::Error, schema: &str) -> Failure {
    let text = with_cause(problem);
    let Some(code) = problem.code() else {
        return match refusal(problem) {
            Some(refused) => Failure::Final(refused),
            // The system gave up after its own limit. Another try would take as long.
            None if is_timeout(problem) => Failure::Final(RemoteError::Away(text)),
            None => Failure::Again(RemoteError::Away(text)),
        };
    };
    let of_class = |class: &str| code.code().starts_with(class);
    let passing = [
        SqlState::T_R_SERIALIZATION_FAILURE,
        SqlState::T_R_DEADLOCK_DETECTED,
        SqlState::LOCK_NOT_AVAILABLE,
    ];
    if passing.contains(code) {
        Failure::Again(RemoteError::Contended(text))
    } else if *code == SqlState::QUERY_CANCELED {
        // Its time was over, so another try would take as long. Or an administrator wanted its end.
        Failure::Final(RemoteError::Cancelled(text))
    } else if *code == SqlState::INVALID_CATALOG_NAME {
        Failure::Final(RemoteError::NoDatabase(text))
    } else if of_class("28") {
        Failure::Final(RemoteError::NotLetIn(entry(problem, code, &text), text))
    } else if *code == SqlState::INSUFFICIENT_PRIVILEGE {
        let right = Right::Role {
            schema: schema.to_owned(),
            only_reads: false,
        };
        Failure::Final(RemoteError::Denied(right, text))
    } else if [SqlState::UNDEFINED_TABLE, SqlState::INVALID_SCHEMA_NAME].contains(code) {
        Failure::Final(RemoteError::NotMade)
    } else if ["08", "53", "57", "58", "25"].into_iter().any(of_class) {
        // The server is full, is going down, or is not the one that writes.
        Failure::Again(RemoteError::Away(text))
    } else {
        Failure::Final(RemoteError::Broken(text))
    }
}

/// Returns why the server refuses a user. The texts of a server are translated, but the name of its file is not. The words about
/// encryption are, so a translated text counts as any other rule.
fn entry(problem: &tokio_postgres::Error, code: &SqlState, said: &str) -> Entry {
    // The server has chosen a rule for this user, and the user does not satisfy it.
    let is_unsatisfied = || {
        problem
            .as_db_error()?
            .routine()
            .map(|it| it == "auth_failed")
    };
    // In other languages it may read as "peer-auth…". A name of a user may have the first word in it, too.
    let lower = said.to_lowercase();
    let is_by_system = ["peer auth", "peer-auth"]
        .iter()
        .any(|it| lower.contains(it));
    let is_by_port = !said.contains("[local]");
    let is_plain = ["no encryption", "SSL off"]
        .iter()
        .any(|it| said.contains(it));
    match *code == SqlState::INVALID_PASSWORD {
        true => Entry::Password,
        false if said.contains("pg_hba.conf") && is_plain && is_by_port => Entry::Plain,
        false if said.contains("pg_hba.conf") => Entry::Rule,
        false if is_by_system && is_unsatisfied() == Some(true) => Entry::Peer,
        false => Entry::User,
    }
}

fn is_timeout(problem: &tokio_postgres::Error) -> bool {
    let cause = problem.source();
    let system = cause.and_then(|cause| cause.downcast_ref::<std::io::Error>());
    system.is_some_and(|system| system.kind() == ErrorKind::TimedOut)
}

/// Returns why the client or the server refuses the connection, if it is more than a lost connection.
fn refusal(problem: &tokio_postgres::Error) -> Option<RemoteError> {
    let cause = problem.source()?;
    if let Some(tls) = cause
        .downcast_ref::<std::io::Error>()
        .and_then(std::io::Error::get_ref)
        .and_then(|inner| inner.downcast_ref::<rustls::Error>())
    {
        let (distrust, said) = certificate::distrust(tls);
        return Some(RemoteError::NotSafe(distrust, said));
    }
    let no_password = |said: String| RemoteError::NotLetIn(Entry::Password, said);
    // The client has only these texts for the errors.
    match cause.to_string().as_str() {
        "password missing" => Some(no_password("the server asks for a password".into())),
        "server does not support TLS" => Some(RemoteError::NotSafe(
            Distrust::NoTls,
            "it does not offer TLS, so no password was sent".into(),
        )),
        _ if problem.to_string().starts_with("authentication error") => {
            Some(no_password(with_cause(problem)))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::pin::Pin;
    use std::task::{Context, Poll};

    use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
    use tokio_postgres::{Config, NoTls};

    use super::*;

    /// A connection on which every call fails with this error.
    struct Broken(ErrorKind);

    impl AsyncRead for Broken {
        fn poll_read(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
            _: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            Poll::Ready(Err(self.0.into()))
        }
    }

    impl AsyncWrite for Broken {
        fn poll_write(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
            _: &[u8],
        ) -> Poll<io::Result<usize>> {
            Poll::Ready(Err(self.0.into()))
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Err(self.0.into()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    /// Returns whether a call is made again after such an error, and what is said about it.
    fn after(kind: ErrorKind) -> (bool, String) {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        let mut config = Config::new();
        let connecting = config.user("u").connect_raw(Broken(kind), NoTls);
        let problem = match runtime.expect("there is one").block_on(connecting) {
            Ok(_) => panic!("the way is broken"),
            Err(problem) => problem,
        };
        let address = Address::new("postgres://u@127.0.0.1/d", "uwf").expect("it is an address");
        match failure(&problem, "uwf").at(&address) {
            Failure::Again(error) => (true, error.to_string()),
            Failure::Silent(error) | Failure::Final(error) => (false, error.to_string()),
        }
    }

    #[test]
    fn a_server_that_does_not_answer_in_time_is_not_asked_again() {
        let (again, said) = after(ErrorKind::TimedOut);
        assert!(!again, "{said}");
        assert!(said.contains("127.0.0.1"), "{said}");
        let (again, said) = after(ErrorKind::ConnectionReset);
        assert!(again, "{said}");
        assert!(said.contains("127.0.0.1"), "{said}");
    }
}
