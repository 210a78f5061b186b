//! Where the server stands: the names it answers to, and how browsers reach it.
//!
//! A request for any other name is refused: a page of a stranger can make a browser believe that the stranger's name
//! belongs to this machine, but it cannot make the browser say another name.

use std::net::{IpAddr, SocketAddr};

use reqwest::Url;

/// Who stands between a browser and the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Front {
    /// Nobody. Headers about forwarding are not looked at.
    #[default]
    Nobody,
    /// A proxy that speaks TLS, sets `x-forwarded-host` and `x-forwarded-proto` where it changes them, and adds whom it
    /// speaks for to `x-forwarded-for`.
    Proxy,
}

/// Where the server stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    base: String,
    names: Vec<String>,
    cookie: String,
    encrypted: bool,
    /// Who stands in front.
    pub front: Front,
}

impl Site {
    /// A server that listens at this address.
    pub fn at(address: SocketAddr) -> Self {
        let cookie = format!("mayi-{}", address.port());
        Self { base: format!("http://{address}"), names: Vec::new(), cookie, encrypted: false, front: Front::Nobody }
    }

    /// The same, speaking TLS.
    #[must_use]
    pub fn encrypted(mut self) -> Self {
        self.base = self.base.replacen("http://", "https://", 1);
        self.cookie = "__Host-mayi".to_owned();
        self.encrypted = true;
        self
    }

    /// The same, behind a proxy.
    #[must_use]
    pub fn behind_proxy(mut self) -> Self {
        self.front = Front::Proxy;
        self
    }

    /// The same, reached by people at this address.
    #[must_use]
    pub fn reached_at(mut self, url: &Url) -> Self {
        self.names.extend(url.host_str().map(str::to_ascii_lowercase));
        self.encrypted = url.scheme() == "https";
        self.cookie = if self.encrypted { "__Host-mayi".to_owned() } else { self.cookie };
        self.base = url.as_str().trim_end_matches('/').to_owned();
        self
    }

    /// The same, with further names.
    #[must_use]
    pub fn named(mut self, names: impl IntoIterator<Item = String>) -> Self {
        self.names.extend(names.into_iter().map(|name| name.to_ascii_lowercase()));
        self
    }

    /// Where people find it.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// The name of the cookie of a sign-in.
    pub fn cookie(&self) -> &str {
        &self.cookie
    }

    /// Whether browsers speak to it, or to its proxy, over TLS.
    pub fn is_encrypted(&self) -> bool {
        self.encrypted
    }

    /// Whether a request for this host is meant for this server. `local` is the address that it came in at.
    pub fn serves(&self, host: &str, local: Option<IpAddr>) -> bool {
        let Some(name) = name_of(host) else { return false };
        if name == "localhost" || self.names.contains(&name) {
            return true;
        }
        // Nobody can make a browser take a number for another one, so the server's own numbers are as good as names.
        let number: Option<IpAddr> = name.trim_matches(['[', ']']).parse().ok();
        number.is_some_and(|number| number.is_loopback() || local == Some(number))
    }

    /// Whether a page of this origin is the server's own, for a request to this host.
    pub fn is_own_origin(&self, origin: &str, host: &str, scheme: Option<&str>) -> bool {
        let own = scheme.unwrap_or(if self.encrypted { "https" } else { "http" });
        let same_host = || {
            let rest = origin.strip_prefix(own).and_then(|rest| rest.strip_prefix("://"));
            rest.is_some_and(|authority| authority.eq_ignore_ascii_case(host))
        };
        origin.eq_ignore_ascii_case(&self.base) || same_host()
    }
}

/// The name in a `Host`, lower case, without its port.
fn name_of(host: &str) -> Option<String> {
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !port.contains(']') => (name, Some(port)),
        _ => (host, None),
    };
    let is_port = |port: &str| port.parse::<u16>().is_ok();
    let fit = !name.is_empty() && port.is_none_or(is_port) && !name.contains(['@', '/', ' ']);
    fit.then(|| name.trim_end_matches('.').to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site() -> Site {
        Site::at(([127, 0, 0, 1], 7878).into()).named(["Mayi.Example".to_owned()])
    }

    #[test]
    fn a_server_answers_to_its_names_and_its_own_numbers_alone() {
        let local = Some(IpAddr::from([10, 0, 0, 7]));
        for own in [
            "127.0.0.1:7878",
            "localhost",
            "LOCALHOST:1",
            "localhost.:7878",
            "[::1]:7878",
            "[::1]",
            "127.3.2.1",
            "mayi.example",
            "mayi.example:443",
            "10.0.0.7:7878",
        ] {
            assert!(site().serves(own, local), "{own}");
        }
        for foreign in [
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "mayi.example.evil.example",
            "evil-mayi.example",
            "10.0.0.8",
            "mayi.example@evil.example",
            "mayi.example:x",
            "",
            ":7878",
            "127.0.0.1:7878:1",
        ] {
            assert!(!site().serves(foreign, local), "{foreign}");
        }
    }

    #[test]
    fn a_page_is_the_servers_own_by_scheme_name_and_port() {
        let host = "127.0.0.1:7878";
        assert!(site().is_own_origin("http://127.0.0.1:7878", host, None));
        for foreign in [
            "https://127.0.0.1:7878",
            "http://127.0.0.1:3000",
            "http://localhost:7878",
            "null",
            "",
            "http://evil.example",
        ] {
            assert!(!site().is_own_origin(foreign, host, None), "{foreign}");
        }
        let proxied = site().behind_proxy().reached_at(&Url::parse("https://mayi.example/").unwrap());
        assert!(proxied.is_own_origin("https://mayi.example", "127.0.0.1:7878", None));
        assert!(!proxied.is_own_origin("http://mayi.example", "mayi.example", None));
        assert_eq!((proxied.base(), proxied.cookie()), ("https://mayi.example", "__Host-mayi"));
    }
}
