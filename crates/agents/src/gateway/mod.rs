//! The MCP gateway: stands between an agent and one of its MCP servers, and decides every `tools/call`.
//!
//! It works on messages, not on methods: what is no call of a tool passes as it was written, so that it need not know
//! what a newer protocol says. It never sends the server a call that was not allowed.
//!
//! ```text
//! agent ── lines | listen ── relay ── child | remote ── server
//!                              │
//!                           counter ── desk
//! ```

mod asking;
mod child;
mod counter;
mod inquiry;
mod lines;
mod listen;
mod listing;
pub mod naming;
mod question;
mod relay;
mod remote;
mod sessionless;
mod skim;
mod sse;
mod streams;
mod wire;

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use mayi_core::session::Attendance;
use mayi_engine::desk::Desk;
use mayi_engine::remote::courier::Courier;
use tokio::io::{AsyncRead, AsyncWrite};

use lines::Who;
use relay::{Ended, Side, relay, unguessable};

pub use counter::{Asker, Counter};
pub use remote::Address;

/// How long the last words to an agent may take.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Where the server is.
#[derive(Clone, Debug)]
pub enum Upstream {
    /// A command that speaks over its standard input and output: the program and its arguments.
    Command(Vec<String>),
    /// An address that speaks streamable HTTP.
    Remote(Address),
}

/// How the agent reaches the gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Face {
    /// Over the gateway's own standard input and output.
    Stdio,
    /// Over streamable HTTP, on a loopback address.
    Listen {
        /// The address.
        address: SocketAddr,
        /// The path.
        path: String,
    },
}

/// What a gateway is made of.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The server's name in rules; from what the person wrote when it is not given.
    pub name: Option<String>,
    /// The server.
    pub upstream: Upstream,
    /// The agent's side.
    pub face: Face,
    /// The session that calls belong to; a new one when it is not given.
    pub session: Option<String>,
    /// Whether a person can be asked.
    pub attendance: Attendance,
}

/// Why a gateway cannot run, or cannot run on.
#[derive(Debug, thiserror::Error)]
pub enum GatewayError {
    /// The server cannot be started.
    #[error("the server `{command}` cannot be started: {source}")]
    Start {
        /// The command.
        command: String,
        /// What the system says.
        source: io::Error,
    },
    /// The address is no good.
    #[error("`{url}` is no address of a server: {problem}")]
    Address {
        /// The address.
        url: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A header is no good. Its value may be a secret, so only its name is told.
    #[error("the header `{name}` cannot be sent: {problem}")]
    Header {
        /// Its name.
        name: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// The address to listen at is no good.
    #[error("cannot listen at {address}: {problem}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What is wrong with it.
        problem: String,
    },
    /// The server went away.
    #[error("the server `{server}` is gone: {words}")]
    Gone {
        /// Its name.
        server: String,
        /// How it went.
        words: String,
    },
    /// The system gives no threads or events to work with.
    #[error("the gateway cannot run: {0}")]
    Runtime(#[from] io::Error),
}

/// A connection to the server.
pub(crate) struct Connection {
    pub(crate) side: Side,
    /// Ends the connection, and says how the server went.
    pub(crate) finish: Pin<Box<dyn Future<Output = String> + Send>>,
}

/// What every session of a gateway has in common.
pub(crate) struct Gateway {
    plan: Plan,
    server: String,
    desk: Arc<Desk>,
}

/// Runs a gateway until the agent leaves, the server goes, or a signal ends it.
pub fn run(plan: Plan, desk: Desk) -> Result<(), GatewayError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let given = plan.name.as_deref().and_then(naming::server);
    let server = given.unwrap_or_else(|| match &plan.upstream {
        Upstream::Command(command) => naming::of_command(command),
        Upstream::Remote(address) => naming::of_url(&address.url),
    });
    let desk = Arc::new(desk);
    let is_served = desk.settings().settings.server.url.is_some();
    let _courier = is_served.then(|| Courier::accompany(&desk));
    let gateway = Arc::new(Gateway { plan, server, desk });
    let ended = match gateway.plan.face.clone() {
        Face::Stdio => runtime.block_on(gateway.stdio()),
        Face::Listen { address, path } => runtime.block_on(listen::listen(Arc::clone(&gateway), address, path)),
    };
    // A read of standard input that has begun cannot be taken back, and nobody waits for it.
    runtime.shutdown_background();
    ended
}

impl Gateway {
    /// Connects to the server.
    pub(crate) fn connect(&self) -> Result<Connection, GatewayError> {
        match &self.plan.upstream {
            Upstream::Command(command) => child::start(command, &self.server),
            Upstream::Remote(address) => remote::connect(address, &self.server),
        }
    }

    /// A counter for one agent.
    pub(crate) fn counter(&self) -> Arc<Counter> {
        let session = self.plan.session.clone().unwrap_or_else(|| format!("gateway-{}", unguessable()));
        let attendance = self.plan.attendance;
        Arc::new(Counter::new(Arc::clone(&self.desk), Asker { server: self.server.clone(), session, attendance }))
    }

    async fn stdio(&self) -> Result<(), GatewayError> {
        let leaving = signalled();
        let Connection { side, finish } = self.connect()?;
        let agent = lines::attach(tokio::io::stdin(), tokio::io::stdout(), Who::Agent);
        let ended = tokio::select! {
            ended = relay(agent.side, side, self.counter()) => ended,
            () = leaving => Ended::ByAgent,
        };
        // The reader holds a way to answer the agent; with it gone, the writer comes to its end.
        agent.reading.abort();
        let words = finish.await;
        let _ = tokio::time::timeout(LAST_WORDS, agent.writing).await;
        match ended {
            Ended::ByAgent => Ok(()),
            Ended::ByServer => Err(GatewayError::Gone { server: self.server.clone(), words }),
        }
    }
}

/// Stands between an agent and a server that are streams already, until one of them ends.
pub async fn between<A, S>(agent: A, server: S, counter: Counter)
where
    A: AsyncRead + AsyncWrite + Send + 'static,
    S: AsyncRead + AsyncWrite + Send + 'static,
{
    let (from_agent, to_agent) = tokio::io::split(agent);
    let (from_server, to_server) = tokio::io::split(server);
    let name = counter.server().to_owned();
    let agent = lines::attach(from_agent, to_agent, Who::Agent);
    let server = lines::attach(from_server, to_server, Who::Server(name));
    relay(agent.side, server.side, Arc::new(counter)).await;
    agent.reading.abort();
    server.reading.abort();
    let _ = tokio::time::timeout(LAST_WORDS, agent.writing).await;
}

/// Waits for a signal that ends the gateway. From the call on, no signal is missed: it comes before the server starts, so
/// that nobody can end the gateway and leave the server behind.
#[cfg(unix)]
pub(crate) fn signalled() -> impl Future<Output = ()> {
    use tokio::signal::unix::{SignalKind, signal};
    let wait = |kind| {
        let signals = signal(kind);
        async move {
            match signals {
                Ok(mut signals) => drop(signals.recv().await),
                Err(_) => std::future::pending().await,
            }
        }
    };
    let (terminate, interrupt, hangup) =
        (wait(SignalKind::terminate()), wait(SignalKind::interrupt()), wait(SignalKind::hangup()));
    async move {
        tokio::select! {
            () = terminate => {}
            () = interrupt => {}
            () = hangup => {}
        }
    }
}

/// Waits for a signal that ends the gateway.
#[cfg(not(unix))]
async fn signalled() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending().await
    }
}

/// Tells the person something. Standard output belongs to the protocol.
pub(crate) fn note(words: &str) {
    let letters = words.chars().map(|letter| if letter.is_control() { ' ' } else { letter });
    let line: String = letters.take(500).collect();
    // There is nobody left to tell when standard error is closed.
    let _ = io::Write::write_fmt(&mut io::stderr(), format_args!("mayi gateway: {line}\n"));
}
