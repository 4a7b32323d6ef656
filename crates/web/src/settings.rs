//! The settings of a server: its address, how visitors reach it, what they may do, and the functions that the command line gives
//! it.

use std::net::{IpAddr, SocketAddr};

use serde::{Deserialize, Serialize};
use url::Url;
use uwf_engine::{EngineError, Site, ThreadView};
use uwf_protocol::ids::ThreadId;

use crate::host::{Host, is_name};
use crate::order::{Carried, Order};
use crate::token::Token;
use crate::trouble::Explained;
use crate::visitor::Access;

/// What a server needs beside its site.
#[derive(Debug)]
pub struct Settings {
    /// The address of the server, and the one of its proxy.
    pub place: Place,
    /// Other hosts that it answers to, each as a browser sends it: a name, and a port unless it is the default one. Pages
    /// under such a host can act over `http://`, and over `https://` if the public address is encrypted.
    pub allowed_hosts: Vec<Host>,
    /// The secret that lets a visitor in.
    pub token: Token,
    /// What visitors may do.
    pub access: Access,
    /// Tells people what an error means and what to do about it.
    pub explain: fn(EngineError) -> Explained,
    /// Checks everything that a step needs, and changes nothing. A process of its own does that, which starts agents to ask for
    /// their versions.
    pub check: fn(&Site) -> Result<Vec<Finding>, Explained>,
    /// Runs the command of an order.
    pub carry: fn(&Site, &Order) -> Result<Carried, Explained>,
    /// Returns the failure of the last call of a thread in the background; `None` if it did not fail.
    pub failed_call: fn(&Site, ThreadId) -> Option<FailedCall>,
    /// Adds to the text of a command what it needs to mean this site.
    pub here: fn(&str) -> String,
    /// Tells what a person has to do about a thread that waits for a person.
    pub hint: fn(&ThreadView) -> Option<String>,
}

/// A call of a thread that failed in the background.
#[derive(Debug, Clone)]
pub struct FailedCall {
    /// When it wrote that down, in milliseconds since 1970.
    pub at_ms: i64,
    /// Why it failed.
    pub why: Explained,
}

/// What a check found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// What was checked.
    pub check: String,
    /// What the check was about, if there are several, such as the alias of an agent.
    pub subject: Option<String>,
    /// How bad it is.
    pub status: Level,
    /// What was found.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Nothing is wrong.
    Ok,
    /// It may become a problem.
    Warning,
    /// It is a problem.
    Error,
}

/// What is between a server and the browsers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Front {
    /// Browsers connect to the server itself.
    Nothing,
    /// A reverse proxy. It must encrypt, unless only browsers of this machine use it.
    Proxy,
}

/// The addresses of a server: the one of this machine at which it listens, and the one that browsers open if it is another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    listen: SocketAddr,
    public: Option<PublicUrl>,
}

/// The address that browsers open, if it is not the one at which the server listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PublicUrl {
    /// The host as a browser sends it.
    pub(crate) host: String,
    /// The origin as a browser sends it.
    pub(crate) origin: String,
    /// Whether browsers connect to it over `https://`.
    pub(crate) is_secure: bool,
}

/// Why a server cannot have these addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlaceError {
    /// Other machines can reach the address, and there is no proxy that encrypts.
    Open(SocketAddr),
    /// There is a proxy, and its public address is missing.
    NoPublicUrl,
    /// The public address cannot be used.
    PublicUrl {
        /// The address.
        text: String,
        /// What is wrong.
        why: &'static str,
    },
}

impl std::fmt::Display for PlaceError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Open(listen) => write!(
                f,
                "other machines can reach `{listen}`, and this server does not encrypt"
            ),
            Self::NoPublicUrl => {
                f.write_str("behind a proxy, the address that browsers open must be known")
            }
            Self::PublicUrl { text, why } => {
                write!(f, "`{text}` cannot be the public address: {why}")
            }
        }
    }
}

impl std::error::Error for PlaceError {}

impl Place {
    /// Returns the addresses of a server. Other machines may reach it only through a proxy.
    ///
    /// # Errors
    /// When the address needs a proxy, or the public address is missing or cannot be used.
    pub fn new(
        listen: SocketAddr,
        public_url: Option<&str>,
        front: Front,
    ) -> Result<Self, PlaceError> {
        let public = public_url.map(PublicUrl::parse).transpose()?;
        let is_open = !listen.ip().is_loopback();
        match (front, &public) {
            (Front::Nothing, _) if is_open => Err(PlaceError::Open(listen)),
            (Front::Proxy, None) => Err(PlaceError::NoPublicUrl),
            // A proxy need not encrypt for browsers of this machine. If other machines can reach the server, it must encrypt.
            (Front::Proxy, Some(public)) if is_open && !public.is_secure => {
                Err(PlaceError::PublicUrl {
                    text: public.origin.clone(),
                    why: "other machines can reach the server, so the proxy must encrypt; write `https://`",
                })
            }
            (Front::Nothing | Front::Proxy, _) => Ok(Self { listen, public }),
        }
    }

    /// Returns the address of this machine at which the server listens.
    #[must_use]
    pub fn listen(&self) -> SocketAddr {
        self.listen
    }

    pub(crate) fn public(&self) -> Option<&PublicUrl> {
        self.public.as_ref()
    }
}

impl PublicUrl {
    fn parse(text: &str) -> Result<Self, PlaceError> {
        let wrong = |why| PlaceError::PublicUrl {
            text: text.to_owned(),
            why,
        };
        let url = Url::parse(text).map_err(|_| wrong("it is not a URL"))?;
        let is_loopback = match url.host() {
            Some(url::Host::Domain(name)) => name == "localhost",
            Some(url::Host::Ipv4(ip)) => IpAddr::from(ip).is_loopback(),
            Some(url::Host::Ipv6(ip)) => IpAddr::from(ip).is_loopback(),
            None => return Err(wrong("it has no host")),
        };
        match url.scheme() {
            "https" => {}
            "http" if is_loopback => {}
            "http" => return Err(wrong("it is not encrypted; write `https://`")),
            _ => return Err(wrong("write `https://` and a host")),
        }
        if url.path() != "/" || url.query().is_some() || url.fragment().is_some() {
            return Err(wrong(
                "the server must have the whole host; leave out what follows it",
            ));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(wrong("it must not have a user or a password"));
        }
        if !is_name(url.host_str().unwrap_or_default()) {
            return Err(wrong("its host is neither a name nor an address"));
        }
        // The parser accepts a URL that lacks its slashes or has too many, as browsers do.
        let after_scheme = text.get(url.scheme().len()..).unwrap_or_default();
        let host = after_scheme.strip_prefix("://").unwrap_or_default();
        if host.is_empty() || host.starts_with('/') || url.port() == Some(0) {
            return Err(wrong("write `https://` and a host"));
        }
        let origin = url.origin().ascii_serialization();
        let (_, host) = origin.split_once("://").unwrap_or_default();
        Ok(Self {
            host: host.to_owned(),
            is_secure: url.scheme() == "https",
            origin,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(listen: &str, public: Option<&str>, front: Front) -> Result<Place, PlaceError> {
        Place::new(listen.parse().unwrap(), public, front)
    }

    #[test]
    fn only_a_proxy_may_stand_between_the_server_and_other_machines() {
        for loopback in ["127.0.0.1:0", "127.0.0.2:80", "[::1]:0"] {
            assert!(place(loopback, None, Front::Nothing).is_ok(), "{loopback}");
        }
        for open in [
            "0.0.0.0:80",
            "192.168.1.2:80",
            "[::]:80",
            "[fe80::1]:80",
            "[::ffff:10.0.0.1]:80",
        ] {
            let refused = place(open, None, Front::Nothing).unwrap_err();
            assert!(matches!(refused, PlaceError::Open(_)), "{open}");
            let refused = place(open, None, Front::Proxy).unwrap_err();
            assert_eq!(refused, PlaceError::NoPublicUrl);
            assert!(place(open, Some("https://uwf.example"), Front::Proxy).is_ok());
            let refused = place(open, Some("http://localhost:8080"), Front::Proxy).unwrap_err();
            assert!(matches!(refused, PlaceError::PublicUrl { .. }), "{open}");
        }
    }

    #[test]
    fn a_public_address_is_an_encrypted_origin() {
        let public = PublicUrl::parse("https://Uwf.Example:443/").unwrap();
        assert_eq!(public.host, "uwf.example");
        assert_eq!(public.origin, "https://uwf.example");
        let public = PublicUrl::parse("https://uwf.example:8443").unwrap();
        assert_eq!(public.host, "uwf.example:8443");
        assert!(!PublicUrl::parse("http://localhost:8080").unwrap().is_secure);
        for wrong in [
            "uwf.example",
            "http://uwf.example",
            "ftp://uwf.example",
            "https://uwf.example/below",
            "https://uwf.example/?a",
            "https://me:it@uwf.example",
            "https://*",
            "https://*.uwf.example",
            "https:uwf.example",
            "https:///uwf.example",
            "https://uwf.example:0",
            "https://a..b",
            "https://-a.example",
        ] {
            assert!(PublicUrl::parse(wrong).is_err(), "{wrong}");
        }
    }
}
