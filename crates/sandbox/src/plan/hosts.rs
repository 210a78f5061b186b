//! Hosts as people write them: `x.org`, `*.x.org`, `*`, `x.org:443`, `[::1]:443`.
//!
//! What can be read in two ways is denied in both, and allowed in the narrower one alone. What cannot be read at all is
//! allowed in no way; a denied one stays on its list as it is, and the proxy then lets nothing through.

use std::net::Ipv6Addr;

use mayi_core::policy::Origin;

use super::{Gap, HostPattern};

/// Which list a host stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum List {
    /// May be reached.
    Allowed,
    /// May never be reached.
    Denied,
}

/// Why a host cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum HostError {
    /// Nothing there.
    #[error("there is no host")]
    Empty,
    /// A URL, a path, a blank.
    #[error("a host is a name or an address, with a port at most")]
    NotHost,
    /// A star elsewhere than in front.
    #[error("only `*` and `*.NAME` stand for several hosts")]
    Star,
    /// No port.
    #[error("a port is a number from 1 to 65535")]
    Port,
}

/// A host and perhaps a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Host {
    pub(super) host: String,
    pub(super) port: Option<u16>,
}

impl Host {
    pub(super) fn at(self, origin: &Origin) -> HostPattern {
        HostPattern { host: self.host, port: self.port, origin: Box::new(origin.clone()) }
    }
}

/// The hosts that a text means: one, or two where it can be read in two ways.
pub(super) fn read(text: &str, list: List) -> Result<Vec<Host>, HostError> {
    let text = text.trim().to_lowercase();
    if text.is_empty() {
        return Err(HostError::Empty);
    }
    if text.contains(|letter: char| letter.is_whitespace() || "/@?#".contains(letter)) {
        return Err(HostError::NotHost);
    }
    if let Some(inside) = text.strip_prefix('[') {
        let (address, rest) = inside.split_once(']').ok_or(HostError::NotHost)?;
        let port = if rest.is_empty() { None } else { Some(port(rest.strip_prefix(':').ok_or(HostError::NotHost)?)?) };
        return Ok(vec![Host { host: address_of(address).ok_or(HostError::NotHost)?, port }]);
    }
    match text.split_once(':') {
        None => Ok(vec![Host { host: name(&text, list)?, port: None }]),
        Some((host, rest)) if !rest.contains(':') => {
            Ok(vec![Host { host: name(host, list)?, port: Some(port(rest)?) }])
        }
        Some(_) => bare_address(&text, list),
    }
}

/// `::1:443` is an address, or an address with a port.
fn bare_address(text: &str, list: List) -> Result<Vec<Host>, HostError> {
    let whole = address_of(text).map(|host| Host { host, port: None });
    let split = text
        .rsplit_once(':')
        .and_then(|(address, after)| Some(Host { host: address_of(address)?, port: Some(port(after).ok()?) }));
    let read: Vec<Host> = match list {
        List::Allowed => split.or(whole).into_iter().collect(),
        List::Denied => whole.into_iter().chain(split).collect(),
    };
    if read.is_empty() { Err(HostError::NotHost) } else { Ok(read) }
}

/// An address in its one spelling.
fn address_of(text: &str) -> Option<String> {
    text.parse::<Ipv6Addr>().ok().map(|address| address.to_string())
}

fn port(text: &str) -> Result<u16, HostError> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|port| digits && *port > 0).ok_or(HostError::Port)
}

/// A name in lower case. A star within it opens nothing, but may close.
fn name(text: &str, list: List) -> Result<String, HostError> {
    if text == "*" {
        return Ok(text.to_owned());
    }
    let text = text.strip_suffix('.').unwrap_or(text);
    let plain = text.strip_prefix("*.").unwrap_or(text);
    if list == List::Allowed && plain.contains('*') {
        return Err(HostError::Star);
    }
    let is_letter = |letter: char| letter.is_alphanumeric() || matches!(letter, '-' | '_' | '*');
    let is_label = |label: &str| !label.is_empty() && label.chars().all(is_letter);
    if plain.split('.').all(is_label) { Ok(text.to_owned()) } else { Err(HostError::NotHost) }
}

/// Puts a host on the list of denied ones, also when it cannot be read.
pub(super) fn deny(text: &str, origin: &Origin, (denied, gaps): (&mut Vec<HostPattern>, &mut Vec<Gap>)) {
    match read(text, List::Denied) {
        Ok(read) => denied.extend(read.into_iter().map(|host| host.at(origin))),
        Err(error) => {
            gaps.push(Gap::at(format!("`{text}` may mean any host, so none can be reached: {error}"), origin));
            denied.push(Host { host: text.to_owned(), port: None }.at(origin));
        }
    }
}

/// Whether a pattern covers everything that another one does.
pub(super) fn covers(wide: &HostPattern, narrow: &HostPattern) -> bool {
    let host = match wide.host.strip_prefix('*') {
        // `*` alone leaves nothing to end with; `*.x.org` leaves `.x.org`, which `x.org` itself does not end with.
        Some(below) => narrow.host.trim_start_matches('*').ends_with(below),
        None => wide.host == narrow.host,
    };
    host && (wide.port.is_none() || wide.port == narrow.port)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, list: List, expected: &[(&str, Option<u16>)]) {
        let read = read(text, list).unwrap();
        let got: Vec<(&str, Option<u16>)> = read.iter().map(|host| (host.host.as_str(), host.port)).collect();
        assert_eq!(got, expected, "{text}");
    }

    #[test]
    fn every_spelling_of_a_host() {
        use List::Allowed;
        check("Example.ORG.", Allowed, &[("example.org", None)]);
        check("*.example.org", Allowed, &[("*.example.org", None)]);
        check("*", Allowed, &[("*", None)]);
        check("*:443", Allowed, &[("*", Some(443))]);
        check("example.org:8443", Allowed, &[("example.org", Some(8443))]);
        check("127.0.0.1:80", Allowed, &[("127.0.0.1", Some(80))]);
        check("[::1]:443", Allowed, &[("::1", Some(443))]);
        check("[0:0:0:0:0:0:0:1]", Allowed, &[("::1", None)]);
        check("2001:DB8::abcd", Allowed, &[("2001:db8::abcd", None)]);
        check("B\u{fc}cher.example", Allowed, &[("b\u{fc}cher.example", None)]);
        check("example.*:443", List::Denied, &[("example.*", Some(443))]);
        check("1:2:3:4:5:6:7:8:443", Allowed, &[("1:2:3:4:5:6:7:8", Some(443))]);
    }

    #[test]
    fn sn_07_what_can_be_read_in_two_ways_is_denied_in_both_and_allowed_in_the_narrower() {
        check("::1:443", List::Denied, &[("::1:443", None), ("::1", Some(443))]);
        check("::1:443", List::Allowed, &[("::1", Some(443))]);
        check("::1", List::Denied, &[("::1", None)]);
    }

    #[test]
    fn what_is_no_host_is_said() {
        for (text, error) in [
            ("", HostError::Empty),
            ("https://example.org/", HostError::NotHost),
            ("example.org/x", HostError::NotHost),
            ("user@example.org", HostError::NotHost),
            ("example.*", HostError::Star),
            ("a*.example.org", HostError::Star),
            ("example.org:0", HostError::Port),
            ("example.org:70000", HostError::Port),
            ("example.org:+1", HostError::Port),
            ("a..org", HostError::NotHost),
            ("[::1", HostError::NotHost),
            ("[::1]x", HostError::NotHost),
            ("::g", HostError::NotHost),
            ("a\0.example.org", HostError::NotHost),
        ] {
            assert_eq!(read(text, List::Allowed), Err(error), "{text:?}");
        }
    }
}
