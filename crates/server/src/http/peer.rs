//! Who is at the other end of a connection.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use axum::http::{Extensions, HeaderMap};

use crate::access::site::Front;

/// The two ends of a connection, put into every request by whoever accepted it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends {
    /// Who connected.
    pub remote: SocketAddr,
    /// Where.
    pub local: SocketAddr,
}

/// Whom a request comes from, as far as limits and the metrics are concerned. It proves nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Whoever connected; behind a proxy, whom the proxy says it speaks for.
    pub address: IpAddr,
    /// Where they connected to.
    pub local: Option<IpAddr>,
    /// Whether they are on this machine, with nobody in between.
    pub is_near: bool,
}

impl Peer {
    pub(super) fn of((extensions, headers): (&Extensions, &HeaderMap), front: Front) -> Self {
        let ends = extensions.get::<Ends>();
        let remote = ends.map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |ends| ends.remote.ip().to_canonical());
        let local = ends.map(|ends| ends.local.ip().to_canonical());
        match front {
            Front::Nobody => Self { address: remote, local, is_near: remote.is_loopback() },
            Front::Proxy => {
                // The last one is the proxy's own word; what stands before it, anybody may have written.
                let said = headers.get("x-forwarded-for").and_then(|line| line.to_str().ok());
                let last = said.and_then(|line| line.rsplit(',').next()).and_then(|text| text.trim().parse().ok());
                Self { address: last.unwrap_or(remote), local, is_near: remote.is_loopback() && said.is_none() }
            }
        }
    }
}
