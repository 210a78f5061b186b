//! Host names as they come over the wire, read in one way only. A name that two programs could read differently (a NUL,
//! an escape, an address in octal) is refused, so that what is judged is what is reached.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use thiserror::Error;

/// The longest name that DNS can carry, and the longest of its labels.
const LONGEST_NAME: usize = 253;
const LONGEST_LABEL: usize = 63;

/// A host in its normal form: lower case, without the root's dot; addresses as addresses.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Host {
    /// A name, to be resolved.
    Name(String),
    /// An address. IPv4 written as IPv6 is IPv4.
    Address(IpAddr),
}

/// Where a connection is to go.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    /// The host.
    pub host: Host,
    /// The port, never 0.
    pub port: u16,
}

/// Why a text names no host or no port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum BadName {
    /// Nothing is there, or a label is empty.
    #[error("the host name, or a part of it, is empty")]
    Empty,
    /// It is longer than DNS can carry.
    #[error("the host name is too long")]
    TooLong,
    /// A byte that no host name has: a control byte, a space, an escape, `@`, or anything beyond ASCII.
    #[error("the host name holds a character that no host name has")]
    Character,
    /// Numbers that some programs take for an address: `0x7f.1`, `127.1`, `2130706433`.
    #[error("the address is not written in its plain form")]
    Number,
    /// No port from 1 to 65535.
    #[error("the port is missing or is no number from 1 to 65535")]
    Port,
}

impl Host {
    /// Reads a host without brackets and port.
    pub fn read(text: &str) -> Result<Self, BadName> {
        if text.contains(':') {
            let address: Ipv6Addr = text.parse().map_err(|_| BadName::Number)?;
            return Ok(Host::Address(IpAddr::V6(address).to_canonical()));
        }
        let name = text.strip_suffix('.').unwrap_or(text);
        if name.len() > LONGEST_NAME {
            return Err(BadName::TooLong);
        }
        for label in name.split('.') {
            check_label(label)?;
        }
        let last = name.rsplit('.').next().unwrap_or_default();
        if !is_number(last) {
            return Ok(Host::Name(name.to_ascii_lowercase()));
        }
        // No top-level domain is a number, so an address is meant. Only the form that everybody reads alike is taken.
        let address: Ipv4Addr = name.parse().map_err(|_| BadName::Number)?;
        Ok(Host::Address(IpAddr::V4(address)))
    }

    /// Reads a host as settings write it: also in brackets, and in any script.
    pub fn written(text: &str) -> Result<Self, BadName> {
        let text = text.trim();
        let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
        if bare.is_ascii() {
            return Host::read(bare);
        }
        match url::Host::parse(bare) {
            Ok(url::Host::Domain(ascii)) => Host::read(&ascii),
            Ok(url::Host::Ipv4(_) | url::Host::Ipv6(_)) => Err(BadName::Number),
            Err(_) => Err(BadName::Character),
        }
    }

    /// The address, when it is one.
    pub fn address(&self) -> Option<IpAddr> {
        match self {
            Host::Name(_) => None,
            Host::Address(address) => Some(*address),
        }
    }
}

impl Target {
    /// Reads `host:port`, `[v6]:port`, or the host alone where a scheme says the port.
    pub fn read(authority: &str, implied: Option<u16>) -> Result<Self, BadName> {
        let (host, port) = match authority.strip_prefix('[') {
            Some(rest) => {
                let (inside, port) = rest.split_once(']').ok_or(BadName::Character)?;
                let address: Ipv6Addr = inside.parse().map_err(|_| BadName::Number)?;
                let port = match port {
                    "" => None,
                    _ => Some(port.strip_prefix(':').ok_or(BadName::Character)?),
                };
                (Host::Address(IpAddr::V6(address).to_canonical()), port)
            }
            None => match authority.split_once(':') {
                // A second colon would be an IPv6 address without brackets, whose end cannot be told from a port.
                Some((_, port)) if port.contains(':') => return Err(BadName::Number),
                Some((name, port)) => (Host::read(name)?, Some(port)),
                None => (Host::read(authority)?, None),
            },
        };
        let port = match port {
            Some(text) => read_port(text)?,
            None => implied.ok_or(BadName::Port)?,
        };
        Target::new(host, port)
    }

    /// A target of a host and a port.
    pub fn new(host: Host, port: u16) -> Result<Self, BadName> {
        if port == 0 {
            return Err(BadName::Port);
        }
        Ok(Self { host, port })
    }
}

fn read_port(text: &str) -> Result<u16, BadName> {
    if text.is_empty() || text.len() > 5 || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(BadName::Port);
    }
    text.parse().map_err(|_| BadName::Port)
}

fn check_label(label: &str) -> Result<(), BadName> {
    if label.is_empty() {
        return Err(BadName::Empty);
    }
    if label.len() > LONGEST_LABEL {
        return Err(BadName::TooLong);
    }
    match label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_') {
        true => Ok(()),
        false => Err(BadName::Character),
    }
}

/// Whether C libraries and browsers would take a last label for a number: decimal, octal or hexadecimal.
fn is_number(label: &str) -> bool {
    let hexadecimal = label.strip_prefix("0x").or_else(|| label.strip_prefix("0X"));
    match hexadecimal {
        Some(digits) => digits.bytes().all(|byte| byte.is_ascii_hexdigit()),
        None => label.bytes().all(|byte| byte.is_ascii_digit()),
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Host::Name(name) => f.write_str(name),
            Host::Address(address) => write!(f, "{address}"),
        }
    }
}

/// As in a `Host` header and in settings: an IPv6 address in brackets.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host {
            Host::Address(IpAddr::V6(address)) => write!(f, "[{address}]:{}", self.port),
            Host::Address(IpAddr::V4(_)) | Host::Name(_) => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_has_one_normal_form() {
        let rows = [
            ("example.org", "example.org"),
            ("EXAMPLE.Org.", "example.org"),
            ("a_b-c.example.org", "a_b-c.example.org"),
            ("localhost", "localhost"),
            ("xn--bcher-kva.example", "xn--bcher-kva.example"),
            ("127.0.0.1", "127.0.0.1"),
            ("127.0.0.1.", "127.0.0.1"),
            ("::1", "::1"),
            ("0:0:0:0:0:0:0:1", "::1"),
            ("::ffff:10.0.0.1", "10.0.0.1"),
            ("::ffff:a00:1", "10.0.0.1"),
            ("1.2.3.4.example.org", "1.2.3.4.example.org"),
        ];
        for (text, normal) in rows {
            assert_eq!(Host::read(text).map(|host| host.to_string()).as_deref(), Ok(normal), "{text}");
        }
    }

    #[test]
    fn what_two_programs_could_read_differently_is_refused() {
        let long_label = format!("{}.org", "a".repeat(64));
        let long_name = vec!["a".repeat(60); 5].join(".");
        let rows = [
            ("", BadName::Empty),
            (".", BadName::Empty),
            ("a..org", BadName::Empty),
            (".example.org", BadName::Empty),
            ("example.org..", BadName::Empty),
            ("evil\0.example.org", BadName::Character),
            ("evil%00.example.org", BadName::Character),
            ("evil\n.example.org", BadName::Character),
            ("evil .example.org", BadName::Character),
            ("user@example.org", BadName::Character),
            ("[example.org]", BadName::Character),
            ("a/b.example.org", BadName::Character),
            ("a\\b.example.org", BadName::Character),
            ("b\u{fc}cher.example", BadName::Character),
            ("example\u{3002}org", BadName::Character),
            ("*.example.org", BadName::Character),
            ("0x7f.1", BadName::Number),
            ("0x7f000001", BadName::Number),
            ("0X7F.0.0.0x", BadName::Number),
            ("127.1", BadName::Number),
            ("2130706433", BadName::Number),
            ("0177.0.0.1", BadName::Number),
            ("127.0.0.01", BadName::Number),
            ("1.2.3.4.5", BadName::Number),
            ("256.1.1.1", BadName::Number),
            ("example.1", BadName::Number),
            ("fe80::1%eth0", BadName::Number),
            ("::1:443:x", BadName::Number),
            (&long_label, BadName::TooLong),
            (&long_name, BadName::TooLong),
        ];
        for (text, why) in rows {
            assert_eq!(Host::read(text), Err(why), "{text:?}");
        }
    }

    #[test]
    fn a_target_has_its_port_in_one_place_only() {
        let rows = [
            ("example.org:443", None, Ok("example.org:443")),
            ("example.org", Some(80), Ok("example.org:80")),
            ("example.org", None, Err(BadName::Port)),
            ("example.org:", Some(80), Err(BadName::Port)),
            ("example.org:0", None, Err(BadName::Port)),
            ("example.org:65536", None, Err(BadName::Port)),
            ("example.org:+80", None, Err(BadName::Port)),
            ("[::1]:443", None, Ok("[::1]:443")),
            ("[::1]", Some(80), Ok("[::1]:80")),
            ("[::1]x:443", None, Err(BadName::Character)),
            ("[::1", None, Err(BadName::Character)),
            ("[example.org]:443", None, Err(BadName::Number)),
            ("[127.0.0.1]:443", None, Err(BadName::Number)),
            ("::1:443", None, Err(BadName::Number)),
            ("[::ffff:127.0.0.1]:80", None, Ok("127.0.0.1:80")),
            ("evil.org:80@example.org:443", None, Err(BadName::Number)),
        ];
        for (text, implied, expected) in rows {
            let read = Target::read(text, implied).map(|target| target.to_string());
            assert_eq!(read, expected.map(str::to_owned), "{text}");
        }
    }

    #[test]
    fn settings_may_use_any_script_and_brackets() {
        let read = |text| Host::written(text).map(|host| host.to_string());
        assert_eq!(read("b\u{fc}cher.example").as_deref(), Ok("xn--bcher-kva.example"));
        assert_eq!(read("[::1]").as_deref(), Ok("::1"));
        assert_eq!(read("\u{ff11}27.0.0.1"), Err(BadName::Number));
        assert_eq!(read("https://example.org"), Err(BadName::Number));
    }

    proptest::proptest! {
        #[test]
        fn reading_again_changes_nothing(text in "[a-zA-Z0-9_.:x-]{1,30}") {
            if let Ok(host) = Host::read(&text) {
                proptest::prop_assert_eq!(Host::read(&host.to_string()), Ok(host));
            }
        }

        /// A browser's parser takes every number that a C library would.
        #[test]
        fn what_anybody_takes_for_an_address_is_no_name(text in "(0?[xX])?[0-9a-f]{1,10}(\\.(0[xX]?)?[0-9a-f]{0,4}){0,4}\\.?") {
            if let Ok(url::Host::Ipv4(address)) = url::Host::parse(&text) {
                let read = Host::read(&text);
                proptest::prop_assert!(read.is_err() || read == Ok(Host::Address(IpAddr::V4(address))), "{:?}", read);
            }
        }
    }
}
