//! Explains a failed TLS handshake: the reason, and what to do about it. Pure.

use std::error::Error;
use std::io;

use rustls::CertificateError;

/// What to do if the trusted certificates of the machine cannot be read.
pub(super) const NO_AUTHORITIES: &str = "install the certificates that your system trusts (often the package `ca-certificates`), or name a file of them: `SSL_CERT_FILE=/path/to/ca.pem`";

/// Returns the reason and the advice, if the error is about TLS.
pub(super) fn explain(error: &(dyn Error + 'static)) -> Option<(String, String)> {
    let advice = match find(error)? {
        rustls::Error::InvalidCertificate(problem) => certificate(problem),
        rustls::Error::InvalidMessage(_) => (
            "it does not speak TLS".to_owned(),
            "check the port and the scheme of `providers.<name>.baseUrl`: it may be `http`"
                .to_owned(),
        ),
        other => (
            other.to_string(),
            "the server's TLS is too old or broken; try another way to reach it".to_owned(),
        ),
    };
    Some(advice)
}

fn certificate(problem: &CertificateError) -> (String, String) {
    let (reason, advice) = match problem {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => (
            "its certificate has expired",
            "the server needs a new one, or the clock of this machine is wrong",
        ),
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => (
            "its certificate is not valid yet",
            "the clock of this machine may be wrong",
        ),
        CertificateError::UnknownIssuer => (
            "nobody whom this machine trusts has signed its certificate",
            "behind a company proxy or with a server of your own, name the file of its authority: `SSL_CERT_FILE=/path/to/ca.pem`",
        ),
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => (
            "its certificate is for another name",
            "`providers.<name>.baseUrl` must use the name that the certificate is for",
        ),
        CertificateError::Revoked => (
            "its certificate was revoked",
            "do not use this server before its owner has given it a new one",
        ),
        other => {
            return (
                format!("its certificate is not valid: {other}"),
                "the server needs another certificate".to_owned(),
            );
        }
    };
    (reason.to_owned(), advice.to_owned())
}

/// Finds the error of rustls among the causes of an error.
fn find<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a rustls::Error> {
    if let Some(found) = error.downcast_ref() {
        return Some(found);
    }
    // The source of an `io::Error` is the source of what it wraps, not what it wraps.
    let wrapped = error
        .downcast_ref::<io::Error>()
        .and_then(io::Error::get_ref)
        .and_then(|inner| find(inner));
    wrapped.or_else(|| find(error.source()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(problem: CertificateError, reason: &str, advice: &str) {
        let error = rustls::Error::InvalidCertificate(problem);
        let error = io::Error::other(io::Error::new(io::ErrorKind::InvalidData, error));
        let (said, advised) = explain(&error).unwrap();
        assert!(said.contains(reason), "{said}");
        assert!(advised.contains(advice), "{advised}");
    }

    #[test]
    fn the_common_problems_are_told_apart() {
        check(CertificateError::Expired, "expired", "clock");
        check(CertificateError::UnknownIssuer, "trusts", "SSL_CERT_FILE");
        check(CertificateError::NotValidForName, "another name", "baseUrl");
        check(CertificateError::NotValidYet, "not valid yet", "clock");
        check(CertificateError::BadSignature, "not valid", "certificate");
    }

    #[test]
    fn a_server_without_tls_is_named_as_such() {
        let error = rustls::Error::InvalidMessage(rustls::InvalidMessage::InvalidContentType);
        assert!(explain(&error).unwrap().1.contains("`http`"));
    }

    #[test]
    fn other_errors_are_not_about_tls() {
        assert_eq!(explain(&io::Error::other("reset")), None);
    }
}
