//! Why a connection was refused, or failed, in words that an agent can act on.

use std::fmt;
use std::net::IpAddr;

use mayi_core::policy::Origin;

use super::address::Special;
use super::names::BadName;

/// Why a host must not be reached.
#[derive(Clone, Debug, PartialEq)]
pub enum Why {
    /// Its name cannot be read in one way only.
    Unreadable(BadName),
    /// It is not listed, and nobody is to be asked.
    NotListed,
    /// It is denied there.
    Denied(Box<Origin>),
    /// An entry of the denied hosts cannot be read, so that any host might be meant.
    DeniedUnreadable {
        /// The entry.
        entry: String,
        /// Where it was written.
        origin: Box<Origin>,
    },
    /// It is not listed, and who was asked said no.
    SaidNo,
    /// It is not listed, and who was asked gave no answer.
    NoAnswer,
    /// It is not listed, and too many hosts were asked about already.
    TooManyAsked,
    /// It is, or leads to, an address that is not public.
    NotPublic(IpAddr, Special),
    /// The request speaks of another host than it is sent to: in its `Host` header.
    OtherHeader(String),
    /// The connection is for another host than it was opened for: in the server name of its TLS greeting.
    OtherServer(String),
    /// A TLS greeting that cannot be read hides which host it is for.
    UnreadableGreeting,
}

/// Why a host that may be reached was not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// The name leads nowhere.
    Unresolved,
    /// The host refused the connection.
    Refused,
    /// The host or its network cannot be reached.
    Unreachable,
    /// It took too long.
    TimedOut,
}

/// What stands in the way of a connection.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Obstacle {
    /// It must not be.
    Refused(Why),
    /// It could not be.
    Failed(Failure),
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::Unreadable(bad) => write!(f, "{bad}"),
            Why::NotListed => f.write_str("not listed"),
            Why::Denied(origin) => write!(f, "denied in {origin}"),
            Why::DeniedUnreadable { entry, origin } => {
                write!(f, "the denied host `{}` in {origin} cannot be read", shown(entry.as_bytes()))
            }
            Why::SaidNo => f.write_str("not listed, and the answer was no"),
            Why::NoAnswer => f.write_str("not listed, and nobody answered"),
            Why::TooManyAsked => f.write_str("not listed, and too many hosts were asked about"),
            Why::NotPublic(address, special) => write!(f, "{address} is {special}"),
            Why::OtherHeader(host) => write!(f, "the request's Host header says `{host}`"),
            Why::OtherServer(host) => write!(f, "the TLS greeting is for `{host}`"),
            Why::UnreadableGreeting => f.write_str("the TLS greeting cannot be read"),
        }
    }
}

impl Why {
    /// What can be done about it.
    pub fn help(&self, host: &str) -> String {
        match self {
            Why::Unreadable(_) => "write the host as a plain name, or the address in its plain form".to_owned(),
            Why::NotListed | Why::SaidNo | Why::NoAnswer | Why::TooManyAsked => format!(
                "the user can list `{host}` in `sandbox.network.allowedDomains` or with a rule `WebFetch(domain:{host})`"
            ),
            Why::Denied(_) => {
                "a denied host stays refused, whatever allows it; only the user can change that setting".to_owned()
            }
            Why::DeniedUnreadable { .. } => {
                "until the user mends that entry of `sandbox.network.deniedDomains`, no host can be reached".to_owned()
            }
            Why::NotPublic(address, _) => format!(
                "if this address is meant, the user can list `{address}` itself in `sandbox.network.allowedDomains`"
            ),
            Why::OtherHeader(_) => "send the request to the host that it speaks of".to_owned(),
            Why::OtherServer(name) => {
                format!("open the connection for `{name}` itself, or the user can list that host too")
            }
            Why::UnreadableGreeting => "speak TLS as it is written down, or without it".to_owned(),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Failure::Unresolved => "the name leads to no address",
            Failure::Refused => "the host refused the connection",
            Failure::Unreachable => "the host cannot be reached",
            Failure::TimedOut => "the host did not answer in time",
        })
    }
}

/// Bytes of a stranger as text that is safe to print, and not too long.
pub(super) fn shown(bytes: &[u8]) -> String {
    const LONGEST: usize = 300;
    let text = String::from_utf8_lossy(bytes);
    let short: String = text.chars().take(LONGEST).collect();
    short.escape_debug().to_string()
}
