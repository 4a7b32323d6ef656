//! The words for why this machine does not accept the certificate of a server.

use rustls::{CertificateError, Error};
use uwf_remote::Distrust;

/// Returns why the certificate of the server, or its way of encrypting, is not accepted.
pub(crate) fn distrust(problem: &Error) -> (Distrust, String) {
    let Error::InvalidCertificate(certificate) = problem else {
        return (Distrust::Other, problem.to_string());
    };
    let (kind, why) = of_certificate(certificate);
    (kind, format!("its certificate is not accepted: {why}"))
}

fn of_certificate(problem: &CertificateError) -> (Distrust, String) {
    let said = |kind, why: &str| (kind, why.to_owned());
    match problem {
        // A signature is bad if another authority has the same name.
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            said(Distrust::Authority, "its authority is not known here")
        }
        CertificateError::NotValidForNameContext {
            expected,
            presented,
        } => (Distrust::Name, other_name(&expected.to_str(), presented)),
        CertificateError::NotValidForName => said(Distrust::Name, "it is for another name"),
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            said(Distrust::Time, "its time is over")
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            said(Distrust::Time, "its time has not come yet")
        }
        CertificateError::Other(other) => (Distrust::Form, broken_rule(&other.0.to_string())),
        other => (Distrust::Form, other.to_string()),
    }
}

/// Returns which names a certificate has that is not for the name of the server.
fn other_name(expected: &str, presented: &[String]) -> String {
    let names: Vec<&str> = presented.iter().filter_map(|name| plain(name)).collect();
    match names.as_slice() {
        [] => format!(
            "it has no subject alternative name, which must be `{expected}`; a name that is only its CN does not count"
        ),
        names => format!(
            "it is for another name (`{}`), and not for `{expected}`",
            names.join("`, `")
        ),
    }
}

/// Returns the name in a text such as `DnsName("db.example.org")` or `IpAddress(127.0.0.1)`.
fn plain(name: &str) -> Option<&str> {
    let kinds = ["DnsName(", "IpAddress("].into_iter();
    let inner = kinds
        .filter_map(|kind| name.strip_prefix(kind))
        .find_map(|rest| rest.strip_suffix(')'))?;
    Some(inner.trim_matches('"'))
}

/// Returns what a certificate is that breaks a rule. The library that checks certificates says only the name of the rule.
fn broken_rule(rule: &str) -> String {
    match rule {
        "CaUsedAsEndEntity" => {
            "it is that of an authority (`CA:TRUE`), and not that of a server".to_owned()
        }
        "UnsupportedCertVersion" => "it has version 1, and version 3 is needed".to_owned(),
        other => format!("it breaks a rule of certificates ({other})"),
    }
}
