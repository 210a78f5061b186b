//! The one way out: judge the name, ask if need be, resolve, check every address, connect to exactly the one that was
//! checked. Nothing here connects by name.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use tokio::net::TcpStream;
use tokio::time::timeout;

use super::Patience;
use super::address::{Special, faces, is_own, special};
use super::door::Door;
use super::names::{Host, Target};
use super::record::Record;
use super::refusal::{Failure, Obstacle, Why};
use super::resolve::Resolve;
use super::rules::{Judged, Rules};

/// How many addresses of a name are tried.
const TRIED: usize = 8;

pub(super) struct Gate {
    pub(super) rules: Rules,
    pub(super) door: Door,
    pub(super) resolver: Arc<dyn Resolve>,
    pub(super) patience: Patience,
    pub(super) record: Arc<Record>,
}

impl Gate {
    /// Connects to a target, if it may be reached. A refusal is recorded.
    pub(super) async fn reach(&self, target: &Target) -> Result<TcpStream, Obstacle> {
        let reached = self.pass(target).await;
        if let Err(Obstacle::Refused(why)) = &reached {
            self.refused(target, why);
        }
        reached
    }

    /// Records that a target was refused.
    pub(super) fn refused(&self, target: &Target, why: &Why) {
        self.record.refused(target.host.to_string().as_bytes(), target.port, why);
    }

    /// Whether a connection to a target may be for a server of that name, which a TLS greeting says.
    ///
    /// One address often serves many names; without this, a listed name would open all of its neighbours.
    pub(super) fn check_server(&self, target: &Target, name: &str) -> Result<(), Why> {
        let host = Host::read(name).map_err(|_| Why::UnreadableGreeting)?;
        if host == target.host {
            return Ok(());
        }
        let server = Target { host, port: target.port };
        let listed = self.rules.judge_target(&server) == Judged::Listed;
        // Who may reach an address may speak to whatever serves there, but for what is denied.
        let by_address = target.host.address().is_some() && self.rules.denial(&server).is_none();
        match listed || by_address {
            true => Ok(()),
            false => Err(Why::OtherServer(server.host.to_string())),
        }
    }

    async fn pass(&self, target: &Target) -> Result<TcpStream, Obstacle> {
        match self.rules.judge_target(target) {
            Judged::Listed => {}
            Judged::Refused(why) => return Err(Obstacle::Refused(why)),
            // Asked before the name is resolved: a question to a name server can carry secrets as well.
            Judged::Unlisted => self.door.ask(target).await.map_err(Obstacle::Refused)?,
        }
        let addresses = match &target.host {
            Host::Address(address) => vec![*address],
            Host::Name(name) => self.resolve(name.clone()).await?,
        };
        self.connect(&self.checked(&addresses, target.port)?).await
    }

    async fn resolve(&self, name: String) -> Result<Vec<IpAddr>, Obstacle> {
        let resolver = Arc::clone(&self.resolver);
        let resolving = tokio::task::spawn_blocking(move || resolver.resolve(&name));
        match timeout(self.patience.resolving, resolving).await {
            Ok(Ok(Ok(addresses))) => Ok(addresses),
            Ok(Ok(Err(_)) | Err(_)) => Err(Obstacle::Failed(Failure::Unresolved)),
            Err(_) => Err(Obstacle::Failed(Failure::TimedOut)),
        }
    }

    /// The addresses that may be reached, in their order; the first refusal when there are none.
    fn checked(&self, addresses: &[IpAddr], port: u16) -> Result<Vec<SocketAddr>, Obstacle> {
        let mut refusal = None;
        let mut good = Vec::new();
        for address in addresses.iter().map(IpAddr::to_canonical).take(TRIED) {
            match self.check(address, port) {
                Ok(()) => good.push(SocketAddr::new(address, port)),
                Err(why) => refusal = refusal.or(Some(why)),
            }
        }
        match (good.is_empty(), refusal) {
            (false, _) => Ok(good),
            (true, Some(why)) => Err(Obstacle::Refused(why)),
            (true, None) => Err(Obstacle::Failed(Failure::Unresolved)),
        }
    }

    fn check(&self, address: IpAddr, port: u16) -> Result<(), Why> {
        if let Some(why) = self.rules.denied_address(address, port) {
            return Err(why);
        }
        if self.rules.lists_address(address, port) {
            return Ok(());
        }
        match special(address).or_else(|| faces(address).any(is_own).then_some(Special::Own)) {
            Some(special) => Err(Why::NotPublic(address, special)),
            None => Ok(()),
        }
    }

    async fn connect(&self, addresses: &[SocketAddr]) -> Result<TcpStream, Obstacle> {
        let mut failure = Failure::Unresolved;
        let share = u32::try_from(addresses.len()).unwrap_or(u32::MAX).clamp(1, 4);
        for address in addresses {
            match timeout(self.patience.connecting / share, TcpStream::connect(address)).await {
                Ok(Ok(stream)) => {
                    // Whatever the programs at both ends hand over is to go on at once.
                    let _ = stream.set_nodelay(true);
                    return Ok(stream);
                }
                Ok(Err(error)) => failure = why_not(&error),
                Err(_) => failure = Failure::TimedOut,
            }
        }
        Err(Obstacle::Failed(failure))
    }
}

fn why_not(error: &io::Error) -> Failure {
    if error.kind() == io::ErrorKind::ConnectionRefused {
        return Failure::Refused;
    }
    match error.kind() == io::ErrorKind::TimedOut {
        true => Failure::TimedOut,
        false => Failure::Unreachable,
    }
}
