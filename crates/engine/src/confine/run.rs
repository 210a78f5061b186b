//! The run itself: the command inside, its one way to the network beside it, and what both were refused.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use mayi_sandbox::plan::Network;
use mayi_sandbox::proxy::{Doorkeeper, Proxy, inside_environment};
use mayi_sandbox::report::Report;
use mayi_sandbox::run::{Cleaning, Io, PROXY_PORT, Running, SpawnError, Stream};

use super::bridge::Bridge;
use super::errand::Prepared;
use super::screen::Screen;
use super::temporary;

/// Why a prepared command could not be run to its end.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The sandbox could not be made.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    /// The proxy could not be started: the command was ended before it could do anything.
    #[error("the network proxy cannot be started: {0}")]
    Proxy(io::Error),
    /// The terminal cannot be passed on.
    #[error("the terminal cannot be passed on to the command: {0}")]
    Terminal(io::Error),
}

impl RunError {
    /// The exit code that a shell would give.
    pub fn code(&self) -> i32 {
        match self {
            RunError::Spawn(error) => error.code(),
            RunError::Proxy(_) | RunError::Terminal(_) => 1,
        }
    }
}

/// A run that is over.
#[derive(Debug)]
pub struct Ended {
    /// How it went.
    pub report: Report,
    /// Goes on while the report is read; waited for when it is dropped.
    pub cleaning: Cleaning,
}

impl Prepared {
    /// Runs the command without input and output, and waits for its end.
    pub(super) fn run_silently(self) -> Result<Report, RunError> {
        let (stdin, stdout, stderr) = (Stream::Null, Stream::Null, Stream::Null);
        let io = Io { stdin, stdout, stderr, environment: environment(), ..Io::default() };
        self.run_with(io, None).map(|ended| ended.report)
    }

    /// Runs the command with the standard streams of this process, and waits for its end. `doorkeeper` answers for
    /// hosts that are not listed.
    pub fn run(self, doorkeeper: Option<Arc<dyn Doorkeeper>>) -> Result<Ended, RunError> {
        self.run_with(Io { environment: environment(), ..Io::default() }, doorkeeper)
    }

    pub(super) fn run_with(self, mut io: Io, doorkeeper: Option<Arc<dyn Doorkeeper>>) -> Result<Ended, RunError> {
        let Prepared { sandbox, permit, temporary, ahead } = self;
        io.ahead = ahead;
        point_to_proxy(&mut io.environment, &sandbox.plan().network);
        let mut screen = Screen::open(&mut io).map_err(RunError::Terminal)?;
        let doorkeeper = doorkeeper.map(|keeper| screen.aside(keeper));
        let mut kept = Ok(());
        let mut running = sandbox.spawn_beside(&permit, io, || kept = screen.keep_signals())?;
        kept.map_err(RunError::Terminal)?;
        let way = Way::beside(&mut running, &sandbox.plan().network, doorkeeper)?;
        // The command is at work meanwhile.
        temporary::sweep();
        // A screen that fails is no reason to end the command: it is only not seen any more.
        let attended = screen.attend(&running);
        let (mut report, cleaning) = running.end();
        way.close(&mut report);
        drop(temporary);
        attended.map(|()| Ended { report, cleaning }).map_err(RunError::Terminal)
    }
}

/// The one way from the command to the network.
enum Way {
    None,
    Filtered(Proxy),
    Own(Bridge),
}

impl Way {
    /// The way that a plan wants, on the sockets that the command's own network has. A host that could give it no network
    /// gives no socket either.
    fn beside(
        running: &mut Running,
        network: &Network,
        doorkeeper: Option<Arc<dyn Doorkeeper>>,
    ) -> Result<Self, RunError> {
        let listeners: Vec<OwnedFd> = std::iter::from_fn(|| running.listener()).collect();
        let way = match network {
            Network::None => Ok(Way::None),
            Network::Proxied(hosts) => match listeners.into_iter().next() {
                Some(listener) => Proxy::serve(listener, hosts.clone(), doorkeeper).map(Way::Filtered),
                None => Ok(Way::None),
            },
            Network::Own { .. } => Bridge::between(listeners).map(Way::Own),
        };
        way.map_err(RunError::Proxy)
    }

    /// Closes the way, and tells what was refused on it.
    fn close(self, report: &mut Report) {
        match self {
            Way::None => {}
            Way::Own(bridge) => drop(bridge),
            Way::Filtered(proxy) => {
                report.more += proxy.more();
                report.violations.extend(proxy.stop());
            }
        }
    }
}

/// Tells the command where its one way to the network is. Of the user's own proxies the one for HTTP is told, if any: a
/// SOCKS proxy alone is for programs that are told of it otherwise.
fn point_to_proxy(environment: &mut Vec<(OsString, OsString)>, network: &Network) {
    let port = match network {
        Network::Proxied(_) => PROXY_PORT,
        Network::Own { http: Some(http), .. } => *http,
        Network::None | Network::Own { http: None, .. } => return,
    };
    let variables = inside_environment(port);
    environment.retain(|(name, _)| !variables.iter().any(|(own, _)| name == own.as_str()));
    environment.extend(variables.into_iter().map(|(name, value)| (name.into(), value.into())));
}

pub(super) fn environment() -> Vec<(OsString, OsString)> {
    std::env::vars_os().collect()
}
