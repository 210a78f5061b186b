//! Turns names into addresses. Names are resolved here alone, so that the address which was checked is the one that is
//! reached.

use std::io;
use std::net::{IpAddr, ToSocketAddrs};

/// Whoever knows the addresses of names. Called on a thread where it may wait.
pub trait Resolve: Send + Sync {
    /// The addresses of a name, best first.
    fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>>;
}

/// Resolves as every program of this machine does.
#[derive(Clone, Copy, Debug, Default)]
pub struct System;

impl Resolve for System {
    fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        Ok((name, 0).to_socket_addrs()?.map(|address| address.ip()).collect())
    }
}
