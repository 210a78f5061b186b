//! The filtering proxy: the only way from a sandbox to the network.
//!
//! It speaks HTTP (`CONNECT` and plain) and SOCKS5 on one port and decides by name: [`rules`] judges, the gate asks,
//! resolves, checks and connects, the rest is protocol. It must never connect to a host that was not judged, nor to an
//! address that was not checked, and no bytes from inside may crash or hang it.
//!
//! What it cannot do: see what is said inside a tunnel. A tunnel is judged by the name it was opened for and by the server
//! name in its TLS greeting; which host a request inside then names, encrypted or not, only the server knows. Listing a
//! host that serves for others (a large content network) may therefore open more than its name says. Nor can names
//! themselves be looked into: with a listed `*.example.org`, data can leave in the names that are resolved.

pub mod address;
pub mod door;
mod environment;
mod gate;
mod hello;
mod http;
pub mod names;
mod record;
pub mod refusal;
pub mod resolve;
pub mod rules;
mod serve;
mod socks;
mod tunnel;

use std::io;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

pub use door::Doorkeeper;
pub use environment::inside_environment;
pub use resolve::Resolve;
pub use rules::{Judged, Rules};

use crate::plan::Hosts;
use crate::report::Violation;
use door::Door;
use gate::Gate;
use record::Record;
use serve::Serving;

/// A running proxy. It ends when it is dropped, and its connections with it.
pub struct Proxy {
    serving: Serving,
    record: Arc<Record>,
}

/// What a proxy goes by.
pub struct Setup {
    /// The lists.
    pub hosts: Hosts,
    /// Who is asked about other hosts, if they say so.
    pub doorkeeper: Option<Arc<dyn Doorkeeper>>,
    /// Who knows the addresses of names.
    pub resolver: Arc<dyn Resolve>,
    /// How long it waits.
    pub patience: Patience,
}

/// How long a proxy waits before it gives up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// For a program to say what it wants, also again on a connection that stays open.
    pub greeting: Duration,
    /// For the doorkeeper.
    pub answer: Duration,
    /// For the addresses of a name.
    pub resolving: Duration,
    /// For a host to take the connection, over all its addresses.
    pub connecting: Duration,
    /// For anything to move on an open connection.
    pub idle: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            greeting: Duration::from_secs(30),
            answer: Duration::from_secs(120),
            resolving: Duration::from_secs(10),
            connecting: Duration::from_secs(20),
            idle: Duration::from_secs(600),
        }
    }
}

impl Setup {
    /// As usual: names are resolved as this machine does, and nobody is asked.
    pub fn of(hosts: Hosts) -> Self {
        Self { hosts, doorkeeper: None, resolver: Arc::new(resolve::System), patience: Patience::default() }
    }
}

impl Proxy {
    /// Serves a listening socket, which may belong to another network namespace, on a thread of its own.
    pub fn serve(listener: OwnedFd, hosts: Hosts, doorkeeper: Option<Arc<dyn Doorkeeper>>) -> io::Result<Proxy> {
        Self::serve_as(listener, Setup { doorkeeper, ..Setup::of(hosts) })
    }

    /// As [`Proxy::serve`], with everything said.
    pub fn serve_as(listener: OwnedFd, setup: Setup) -> io::Result<Proxy> {
        let listener = TcpListener::from(listener);
        // Anything but an internet socket is refused here, rather than by every single `accept`.
        listener.local_addr()?;
        let record = Arc::new(Record::default());
        let gate = Gate {
            rules: Rules::of(&setup.hosts),
            door: Door::new(setup.doorkeeper, setup.patience.answer),
            resolver: setup.resolver,
            patience: setup.patience,
            record: Arc::clone(&record),
        };
        Ok(Proxy { serving: Serving::start(listener, gate)?, record })
    }

    /// What was refused up to now, each once.
    pub fn violations(&self) -> Vec<Violation> {
        self.record.violations()
    }

    /// How many more were refused than are listed.
    pub fn more(&self) -> usize {
        self.record.more()
    }

    /// Ends all connections, and tells what was refused.
    pub fn stop(self) -> Vec<Violation> {
        drop(self.serving);
        self.record.violations()
    }
}
