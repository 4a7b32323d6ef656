//! Finds the proxy of a call in the usual variables such as `HTTPS_PROXY`. Pure.

use reqwest::Url;
use uwf_protocol::endpoint;
use uwf_storage::Env;

/// A proxy, and the hosts that are reached without it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Proxy {
    pub(super) url: String,
    pub(super) except: Option<String>,
}

/// Returns the proxy for an endpoint. One on this machine has none, since no proxy could reach it.
///
/// # Errors
/// When the kind of the proxy is not supported.
pub(super) fn proxy_for(base_url: &str, env: &Env) -> Result<Option<Proxy>, String> {
    if endpoint::is_loopback(base_url) {
        return Ok(None);
    }
    let names = match base_url.starts_with("https:") {
        true => ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"],
        false => ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"],
    };
    let first = |names: &[&'static str]| {
        let set = |name: &&'static str| Some((*name, env.var(name)?.trim().to_owned()));
        names.iter().find_map(set)
    };
    let Some((name, url)) = first(&names) else {
        return Ok(None);
    };
    let url = if url.contains("://") {
        url
    } else {
        format!("http://{url}")
    };
    // The value may hold a password, so no message repeats it.
    match Url::parse(&url) {
        Ok(parsed) if matches!(parsed.scheme(), "http" | "https") => Ok(Some(Proxy {
            url,
            except: first(&["no_proxy", "NO_PROXY"]).map(|(_, hosts)| hosts),
        })),
        Ok(parsed) => Err(format!(
            "the proxy in `{name}` is a `{}` proxy; only `http` and `https` ones are supported",
            parsed.scheme()
        )),
        Err(_) => Err(format!("the proxy in `{name}` is not a URL")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxy(url: &str, variables: &[(&str, &str)]) -> Result<Option<String>, String> {
        let proxy = proxy_for(url, &Env::from_parts(variables, "/", 0, 0))?;
        Ok(proxy.map(|proxy| proxy.url))
    }

    #[test]
    fn the_scheme_chooses_the_variable_and_lower_case_wins() {
        let all = [
            ("http_proxy", "http://a:1"),
            ("HTTP_PROXY", "http://b:1"),
            ("HTTPS_PROXY", "c:1"),
            ("ALL_PROXY", "http://d:1"),
        ];
        let check = |url, variables, expected: &str| {
            assert_eq!(proxy(url, variables), Ok(Some(expected.to_owned())));
        };
        check("http://h/v1", &all[..], "http://a:1");
        check("https://h/v1", &all[..], "http://c:1");
        check("https://h/v1", &all[3..], "http://d:1");
        assert_eq!(proxy("https://h", &all[..2]), Ok(None));
        assert_eq!(proxy("http://127.0.0.1:1", &all), Ok(None));
    }

    #[test]
    fn a_proxy_that_cannot_be_used_is_named_by_its_variable_only() {
        let error = proxy("http://h", &[("ALL_PROXY", "socks5://u:secret@h:1")]).unwrap_err();
        assert!(error.contains("`ALL_PROXY`") && error.contains("socks5"));
        assert!(!error.contains("secret"));
    }
}
