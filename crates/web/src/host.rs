//! A host as a browser sends it: a name or an address, and a port unless it is the usual one.

use std::net::Ipv6Addr;
use std::str::FromStr;

/// A host to which the server also answers, in small letters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host(String);

/// A text is no host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostError;

impl std::fmt::Display for HostError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(
            "write a name or an address, with its port unless it is the usual one: `box:8930`",
        )
    }
}

impl std::error::Error for HostError {}

impl Host {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Host {
    type Err = HostError;

    fn from_str(text: &str) -> Result<Self, HostError> {
        let (name, port) = match text.rsplit_once(':') {
            // A colon in brackets is a part of the address.
            Some((name, port)) if !port.ends_with(']') => (name, Some(port)),
            _ => (text, None),
        };
        let is_port = |port: &str| {
            let is_number = port.bytes().all(|byte| byte.is_ascii_digit());
            is_number && port.parse::<u16>().is_ok_and(|port| port > 0)
        };
        match is_name(name) && port.is_none_or(is_port) {
            true => Ok(Self(text.to_ascii_lowercase())),
            false => Err(HostError),
        }
    }
}

/// Tells whether a text can be a host without its port: an address, or a name of parts between dots.
pub(crate) fn is_name(text: &str) -> bool {
    if let Some(rest) = text.strip_prefix('[') {
        let address = rest.strip_suffix(']');
        return address.is_some_and(|address| address.parse::<Ipv6Addr>().is_ok());
    }
    let is_of_part = |one: char| one.is_ascii_alphanumeric() || "-_".contains(one);
    let is_part =
        |part: &str| !part.is_empty() && !part.starts_with('-') && part.chars().all(is_of_part);
    text.split('.').all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_what_a_browser_sends() {
        for host in [
            "box",
            "Box.example:8930",
            "10.0.0.5:80",
            "[::1]",
            "[fe80::1]:8930",
        ] {
            let parsed: Host = host.parse().unwrap();
            assert_eq!(parsed.as_str(), host.to_ascii_lowercase());
        }
        for wrong in [
            "", "http://x", "x/y", "x:", "x:0", "x:65536", "x:+80", "x:y", "a b", "*.x", "me@x",
            "x?y", "::1", "[::1", "[x]", "bücher",
        ] {
            assert_eq!(wrong.parse::<Host>(), Err(HostError), "{wrong}");
        }
    }
}
