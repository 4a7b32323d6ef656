//! The rules for the address of an endpoint and for its key in the config: the same for writing and for using it.
//! No error repeats the text that it is about, because that may be a secret in the wrong place.

use url::{Host, Url};

/// The beginnings of keys of well-known services.
const KEY_BEGINNINGS: &[&str] = &[
    "sk-",
    "xai-",
    "gsk_",
    "AIza",
    "ghp_",
    "gho_",
    "github_pat_",
    "glpat-",
];

/// The shortest key, in bytes.
const KEY_LENGTH: usize = 16;

/// The error for a text that is not the name of a variable.
pub const NO_VARIABLE: &str =
    "the name of a variable is needed: letters, digits and `_`, and no digit first";

/// Returns the address of an endpoint without blanks around it and slashes at its end.
///
/// # Errors
/// What is wrong with it: it is no http or https URL, or has more than host, port and path.
pub fn base_url(text: &str) -> Result<&str, String> {
    let text = text.trim();
    let is_http = |url: &Url| matches!(url.scheme(), "http" | "https") && text.contains("://");
    let url = match Url::parse(text) {
        Ok(url) if is_http(&url) => url,
        Ok(_) | Err(url::ParseError::RelativeUrlWithoutBase) => {
            return Err("not an address that begins with `http://` or `https://`".to_owned());
        }
        Err(error) => return Err(format!("not an address: {error}")),
    };
    let problem = if !url.username().is_empty() || url.password().is_some() {
        "a user name or a password does not belong in it"
    } else if url.query().is_some() || url.fragment().is_some() {
        "nothing may follow its path"
    } else if text.contains(char::is_whitespace) {
        "a blank does not belong in it"
    } else {
        return Ok(text.trim_end_matches('/'));
    };
    Err(problem.to_owned())
}

/// Tells whether an address leads to this machine, where a server often wants no key.
#[must_use]
pub fn is_loopback(url: &str) -> bool {
    let url = Url::parse(url).ok();
    match url.as_ref().and_then(Url::host) {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// Tells whether a text can be the name of a variable that holds a key. A text that looks like a key cannot, even if its
/// characters are allowed.
#[must_use]
pub fn is_variable(text: &str) -> bool {
    let is_word = text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    is_word && text.starts_with(|c: char| !c.is_ascii_digit()) && !looks_like_key(text)
}

/// Tells whether a text begins as keys of well-known services do, and is long enough to be one.
#[must_use]
pub fn looks_like_key(text: &str) -> bool {
    text.len() >= KEY_LENGTH && begins_like_key(text)
}

/// Tells whether a text begins as keys of well-known services do, however long it is.
#[must_use]
pub fn begins_like_key(text: &str) -> bool {
    KEY_BEGINNINGS.iter().any(|begin| text.starts_with(begin))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_host_port_and_path() {
        for (text, expected) in [
            (" https://h/v1// ", "https://h/v1"),
            ("http://[::1]:8080", "http://[::1]:8080"),
            ("HTTP://h/v1@2", "HTTP://h/v1@2"),
        ] {
            assert_eq!(base_url(text), Ok(expected));
        }
    }

    #[test]
    fn what_is_wrong_with_an_address_is_told_without_it() {
        for (text, part) in [
            ("", "`http://`"),
            ("pw.example.com/v1", "`http://`"),
            ("localhost:1/pw", "`http://`"),
            ("http:pw", "`http://`"),
            ("ftp://pw", "`http://`"),
            ("http://me:pw@h", "password"),
            ("http://pw@h", "user name"),
            ("http://:pw@h", "password"),
            ("http://h:pw/v1", "port"),
            ("https://", "host"),
            ("http://h/pw?a=b", "its path"),
            ("http://h/#pw", "its path"),
            ("http://h/p w", "blank"),
        ] {
            let problem = base_url(text).unwrap_err();
            assert!(problem.contains(part), "{text}: {problem}");
            assert!(!problem.contains("pw"), "{problem}");
        }
    }

    #[test]
    fn an_address_that_only_begins_like_one_of_this_machine_is_none() {
        for url in [
            "http://localhost:1/v1",
            "http://127.0.0.1:8080/v1",
            "http://127.8.8.8",
            "http://[::1]:8080",
        ] {
            assert!(is_loopback(url), "{url}");
        }
        for url in [
            "http://localhost.example.com",
            "http://127.example.com",
            "http://10.0.0.1",
            "x",
        ] {
            assert!(!is_loopback(url), "{url}");
        }
    }

    #[test]
    fn a_key_is_no_variable() {
        for name in ["A", "_a9", "OPENAI_API_KEY", "sk_short"] {
            assert!(is_variable(name), "{name}");
        }
        for text in ["", "9a", "a-b", "a b", "ä", "ghp_0123456789ab"] {
            assert!(!is_variable(text), "{text}");
        }
    }
}
