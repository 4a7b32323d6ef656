//! Which hosts and origins are those of the server, and the name of its cookie.

use std::net::{IpAddr, SocketAddr};

use crate::host::Host;
use crate::settings::Place;

/// The port of an `http` address that names none.
const HTTP_PORT: u16 = 80;
/// The port of an `https` address that names none.
const HTTPS_PORT: u16 = 443;

/// Which hosts and origins are ours, and what our cookie is called.
#[derive(Debug)]
pub(crate) struct Gate {
    hosts: Vec<String>,
    origins: Vec<String>,
    /// The name of the cookie with the session.
    pub(crate) cookie: String,
    /// Whether a browser may send the cookie only over an encrypted connection.
    pub(crate) is_secure: bool,
}

impl Gate {
    /// Returns the gate of a server that listens at an address. If the public address is encrypted, the allowed hosts are origins
    /// over `https://`, too.
    pub(crate) fn new(listen: SocketAddr, place: &Place, allowed: &[Host]) -> Self {
        let port = listen.port();
        let mut names = ["127.0.0.1", "localhost", "[::1]"]
            .map(str::to_owned)
            .to_vec();
        // If other machines can reach the address, they must use the name of the proxy. So the address itself is no host of ours.
        if listen.ip().is_loopback() {
            names.push(match listen.ip() {
                IpAddr::V4(ip) => ip.to_string(),
                IpAddr::V6(ip) => format!("[{ip}]"),
            });
        }
        let with_port = names.iter().map(|name| format!("{name}:{port}"));
        let mut hosts: Vec<String> = with_port.collect();
        if port == HTTP_PORT {
            // Browsers leave out the default port.
            hosts.append(&mut names);
        }
        let allowed = allowed.iter().map(Host::as_str);
        hosts.extend(allowed.clone().map(str::to_owned));
        let mut origins: Vec<String> = hosts.iter().map(|host| format!("http://{host}")).collect();
        let is_secure = place.public().is_some_and(|public| public.is_secure);
        if is_secure {
            origins.extend(allowed.map(|host| format!("https://{host}")));
        }
        if let Some(public) = place.public() {
            hosts.push(public.host.clone());
            // Browsers leave out the default port, but a proxy may add it.
            let (_, last) = public.host.rsplit_once(':').unwrap_or_default();
            if last.is_empty() || last.ends_with(']') {
                let port = match public.is_secure {
                    true => HTTPS_PORT,
                    false => HTTP_PORT,
                };
                hosts.push(format!("{}:{port}", public.host));
            }
            origins.push(public.origin.clone());
        }
        // A browser sends a cookie to every port of a host. So its name has the port, and servers at other ports ignore it.
        let cookie = match is_secure {
            true => format!("__Host-uwf-{port}"),
            false => format!("uwf-{port}"),
        };
        Self {
            hosts,
            origins,
            cookie,
            is_secure,
        }
    }

    /// Tells whether a request names one of our hosts.
    pub(crate) fn is_ours(&self, host: Option<&str>) -> bool {
        let host = host.map(str::to_ascii_lowercase);
        host.is_some_and(|host| self.hosts.contains(&host))
    }

    /// Tells whether a request comes from a page of ours.
    pub(crate) fn is_from_us(&self, origin: Option<&str>) -> bool {
        origin.is_some_and(|origin| self.origins.iter().any(|ours| ours == origin))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::settings::Front;

    /// The gate of a server behind a proxy that also answers by the name `Box:8930`.
    pub(crate) fn gate() -> Gate {
        let listen: SocketAddr = "127.0.0.1:8930".parse().unwrap();
        let public = Some("https://uwf.example");
        let place = Place::new(listen, public, Front::Proxy).unwrap();
        Gate::new(listen, &place, &["Box:8930".parse().unwrap()])
    }

    #[test]
    fn only_our_hosts_are_answered() {
        for host in [
            "127.0.0.1:8930",
            "LOCALHOST:8930",
            "[::1]:8930",
            "box:8930",
            "uwf.example",
            "uwf.example:443",
        ] {
            assert!(gate().is_ours(Some(host)), "{host}");
        }
        for host in [
            "127.0.0.1",
            "127.0.0.1:80",
            "evil.example:8930",
            "evil.localhost:8930",
            "uwf.example:8930",
            "uwf.example:80",
            "localhost:8930.evil.example",
            "",
        ] {
            assert!(!gate().is_ours(Some(host)), "{host}");
        }
        assert!(!gate().is_ours(None));
    }

    #[test]
    fn the_usual_port_needs_no_name() {
        let place = Place::new("127.0.0.1:80".parse().unwrap(), None, Front::Nothing).unwrap();
        let gate = Gate::new("127.0.0.1:80".parse().unwrap(), &place, &[]);
        assert!(gate.is_ours(Some("localhost")));
        assert!(gate.is_from_us(Some("http://127.0.0.1")));
        assert!(!gate.is_ours(Some("evil.example")));
    }

    #[test]
    fn other_machines_are_answered_only_by_the_name_of_the_proxy() {
        for listen in ["10.0.0.1:8930", "0.0.0.0:8930", "[fe80::1]:8930"] {
            let address: SocketAddr = listen.parse().unwrap();
            let place = Place::new(address, Some("https://uwf.example"), Front::Proxy).unwrap();
            let gate = Gate::new(address, &place, &[]);
            assert!(!gate.is_ours(Some(listen)), "{listen}");
            assert!(gate.is_ours(Some("uwf.example")) && gate.is_ours(Some("localhost:8930")));
            assert!(
                !gate.is_from_us(Some(&format!("http://{listen}"))),
                "{listen}"
            );
        }
    }

    #[test]
    fn an_origin_must_be_exactly_ours() {
        for origin in [
            "http://127.0.0.1:8930",
            "http://localhost:8930",
            "https://uwf.example",
            "http://box:8930",
            "https://box:8930",
        ] {
            assert!(gate().is_from_us(Some(origin)), "{origin}");
        }
        for origin in [
            "null",
            "http://127.0.0.1:8739",
            "https://127.0.0.1:8930",
            "http://uwf.example",
            "https://uwf.example.evil",
            "HTTP://LOCALHOST:8930",
        ] {
            assert!(!gate().is_from_us(Some(origin)), "{origin}");
        }
        assert!(!gate().is_from_us(None));
        let listen: SocketAddr = "127.0.0.1:8930".parse().unwrap();
        let place = Place::new(listen, None, Front::Nothing).unwrap();
        let plain = Gate::new(listen, &place, &["box:8930".parse().unwrap()]);
        assert!(plain.is_from_us(Some("http://box:8930")));
        assert!(!plain.is_from_us(Some("https://box:8930")));
    }

    #[test]
    fn the_usual_port_may_be_left_out_of_the_address_where_it_listens() {
        for (listen, host) in [
            ("127.0.0.2:80", "127.0.0.2"),
            ("127.0.0.2:8930", "127.0.0.2:8930"),
            ("[::1]:80", "[::1]"),
        ] {
            let listen: SocketAddr = listen.parse().unwrap();
            let place = Place::new(listen, None, Front::Nothing).unwrap();
            let gate = Gate::new(listen, &place, &[]);
            assert!(gate.is_ours(Some(host)), "{host}");
            let origin = format!("http://{host}");
            assert!(gate.is_from_us(Some(&origin)), "{origin}");
        }
    }
}
