//! What an error of a connection means: whether the same call can succeed, and what a person has to do.

use std::error::Error;

use rustls::CertificateError;
use tokio_postgres::error::SqlState;
use uwf_remote::RemoteError;

use crate::address::with_cause;

/// Why a call failed.
pub(crate) enum Failure {
    /// The same call can succeed.
    Again(RemoteError),
    /// It cannot.
    Final(RemoteError),
}

/// Returns what an error of the client means.
pub(crate) fn failure(problem: &tokio_postgres::Error) -> Failure {
    let text = with_cause(problem);
    let Some(code) = problem.code() else {
        return match refusal(problem) {
            Some(refusal) => Failure::Final(RemoteError::Denied(refusal)),
            None => Failure::Again(RemoteError::Away(text)),
        };
    };
    let of_class = |class: &str| code.code().starts_with(class);
    let passing = [
        SqlState::T_R_SERIALIZATION_FAILURE,
        SqlState::T_R_DEADLOCK_DETECTED,
        SqlState::LOCK_NOT_AVAILABLE,
    ];
    let denied = [
        SqlState::INSUFFICIENT_PRIVILEGE,
        SqlState::INVALID_CATALOG_NAME,
    ];
    if passing.contains(code) {
        Failure::Again(RemoteError::Away(text))
    } else if of_class("28") || denied.contains(code) {
        Failure::Final(RemoteError::Denied(text))
    } else if [SqlState::UNDEFINED_TABLE, SqlState::INVALID_SCHEMA_NAME].contains(code) {
        Failure::Final(RemoteError::NotMade)
    } else if ["08", "53", "57", "58", "25"].into_iter().any(of_class) {
        // The server is full, is going down, or is not the one that writes.
        Failure::Again(RemoteError::Away(text))
    } else {
        Failure::Final(RemoteError::Broken(text))
    }
}

/// Returns why this client and this server do not come together, if it is more than a lost connection.
fn refusal(problem: &tokio_postgres::Error) -> Option<String> {
    let cause = problem.source()?;
    if let Some(tls) = cause
        .downcast_ref::<std::io::Error>()
        .and_then(std::io::Error::get_ref)
        .and_then(|inner| inner.downcast_ref::<rustls::Error>())
    {
        return Some(distrust(tls));
    }
    // The client has no other names for these.
    match cause.to_string().as_str() {
        "password missing" => Some(
            "the server asks for a password; give it as UWF_REMOTE_PASSWORD, in `.env` or the environment"
                .into(),
        ),
        "server does not support TLS" => Some(
            "the server offers no encrypted way, so nothing was sent; turn on `ssl` at the server".into(),
        ),
        _ if problem.to_string().starts_with("authentication error") => Some(with_cause(problem)),
        _ => None,
    }
}

/// Returns why the certificate of the server, or its way of encrypting, does not count.
fn distrust(problem: &rustls::Error) -> String {
    let why = match problem {
        rustls::Error::InvalidCertificate(certificate) => match certificate {
            // A signature is bad if another authority has the same name.
            CertificateError::UnknownIssuer | CertificateError::BadSignature => {
                "its authority is not known here; name the file of the right one as `sslrootcert` in the address"
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                "it is for another name; use the name that is in it"
            }
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                "its time is over; give the server a new one"
            }
            _ => return format!("the certificate of the server does not count: {certificate}"),
        },
        _ => return format!("no encrypted way to the server: {problem}"),
    };
    format!("the certificate of the server does not count: {why}")
}
