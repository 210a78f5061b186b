//! A server's life: it opens its store, listens, says that it is ready, and ends in order when it is told to.
//!
//! It never listens beyond this machine in the clear, unless a proxy is said to stand in front of it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use mayi_engine::remote::wire::Moment;
use reqwest::Url;
use tokio::net::TcpListener;

use crate::access::link::{self, Invited};
use crate::access::oidc::{BadOidc, Oidc};
use crate::access::site::{Front, Site};
use crate::access::token::{self, NewToken};
use crate::access::{Access, AccessOptions, secret};
use crate::app::{App, AppOptions, Clock};
use crate::http::Surface;
use crate::http::accept::{self, Bounds, Reception};
use crate::http::limit::Rates;
use crate::http::tls::{BadTls, Files, Tls};
use crate::principal::Role;
use crate::problem::Problem;
use crate::store::{self, Store, StoreError};
use crate::telemetry::{BadExport, Export, Exports, Measured, Telemetry};

/// How long the last spans and records get to be sent.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// What a server is started with.
#[derive(Debug)]
pub struct ServeOptions {
    /// Where it listens.
    pub listen: SocketAddr,
    /// Where it keeps its state: `sqlite:PATH` or `postgres://…`.
    pub store: String,
    /// Its certificate, if it speaks TLS.
    pub tls: Option<Files>,
    /// Who stands in front.
    pub front: Front,
    /// Where people reach it, if that is not where it listens.
    pub url: Option<Url>,
    /// Further names that it answers to.
    pub hosts: Vec<String>,
    /// Its settings.
    pub settings: Arc<mayi_settings::store::Store>,
    /// What clients may take.
    pub bounds: Bounds,
    /// How often somebody may come.
    pub rates: Rates,
    /// Where telemetry goes.
    pub export: Option<Export>,
    /// The clock.
    pub clock: Clock,
    /// Reads a variable of the environment.
    pub variable: fn(&str) -> Option<String>,
}

/// A server that is ready.
#[derive(Debug)]
pub struct Ready {
    /// Where it listens, as an address for clients.
    pub address: String,
    /// The link that signs a person in, once.
    pub link: String,
    /// On the very first start, a token for each role. They are shown this once.
    pub tokens: Vec<(Role, String)>,
}

/// Why a server does not run.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Anybody on the network could listen in.
    #[error(
        "`{0}` can be reached from other machines, and nothing would be encrypted\n\
         help: name a certificate with --tls-cert and --tls-key, or say --behind-proxy if a proxy speaks TLS"
    )]
    InTheClear(SocketAddr),
    /// Somebody else listens there.
    #[error(
        "`{0}` is taken: another program listens there\nhelp: stop it, or listen elsewhere with --listen ADDRESS:PORT"
    )]
    Taken(SocketAddr),
    /// It cannot listen there.
    #[error("cannot listen at `{0}`: {1}")]
    Listen(SocketAddr, std::io::Error),
    /// The store cannot be opened.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The certificate cannot be used.
    #[error(transparent)]
    Tls(#[from] BadTls),
    /// The sign-in service cannot be used.
    #[error(transparent)]
    Oidc(#[from] BadOidc),
    /// Telemetry cannot be exported.
    #[error(transparent)]
    Export(#[from] BadExport),
    /// The first tokens or the link cannot be made.
    #[error("the server cannot begin: {0}")]
    Beginning(#[from] Problem),
    /// There is no runtime.
    #[error("the server cannot start: {0}")]
    Runtime(std::io::Error),
}

/// Runs a server until the process is told to end. `ready` is told once requests are answered.
pub fn serve(options: ServeOptions, ready: impl FnOnce(Ready)) -> Result<(), ServeError> {
    raise_descriptors();
    let workers = std::thread::available_parallelism().map_or(2, usize::from).clamp(2, 8);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(workers).enable_all().build();
    let runtime = runtime.map_err(ServeError::Runtime)?;
    let served = runtime.block_on(async {
        let stop = told_to_end().map_err(ServeError::Runtime)?;
        run(options, ready, stop).await
    });
    // What still runs on a thread of its own has had its time.
    runtime.shutdown_timeout(Duration::from_secs(1));
    served
}

/// Runs a server on the present runtime until `stop` is over.
pub async fn run(
    options: ServeOptions,
    ready: impl FnOnce(Ready),
    stop: impl Future<Output = ()>,
) -> Result<(), ServeError> {
    let tls = options.tls.clone().map(Tls::open).transpose()?.map(Arc::new);
    let listener = listen(&options).await?;
    let address = listener.local_addr().map_err(|error| ServeError::Listen(options.listen, error))?;
    let site = site(&options, address);
    let listens = format!("{}://{address}", if tls.is_some() { "https" } else { "http" });
    let clock = options.clock;
    let mut telemetry = Telemetry::default();
    let exporting = options.export.as_ref().map(|export| Exports::start(export, &telemetry.metrics)).transpose()?;
    telemetry.exports = exporting.as_ref().map(|(exports, _)| exports.clone());
    let kept = Measured::around(store::open_to_serve(&options.store).await?, telemetry.clone());
    let settings = options.settings.current().settings.server.clone();
    let oidc = Oidc::of(&settings.oidc, options.variable)?;
    let base = site.base().to_owned();
    let app = App::open(AppOptions {
        store: Arc::clone(&kept),
        settings: options.settings,
        address: Some(base.clone()),
        clock: clock.clone(),
    });
    let access = Access::open(AccessOptions { store: Arc::clone(&kept), clock: clock.clone(), site, oidc });
    let surface = Surface { app: Arc::clone(&app), access, telemetry: telemetry.clone(), rates: options.rates };
    let (metrics, front) = (Arc::clone(&telemetry.metrics), options.front);
    let reception = Reception { router: surface.router(), tls: tls.clone(), bounds: options.bounds, metrics, front };
    let beginning = beginning(&*kept, (&base, listens), clock.now()).await?;
    app.work();
    let renewing = tls.map(|tls| tokio::spawn(async move { tls.keep_up().await }));
    ready(beginning);
    notify("READY=1");
    let stopping = Arc::clone(&app);
    let told = async move {
        stop.await;
        notify("STOPPING=1");
        stopping.stop();
    };
    accept::accept(listener, Arc::new(reception), told).await;
    renewing.inspect(tokio::task::JoinHandle::abort);
    if let Some((exports, senders)) = exporting {
        exports.close();
        senders.finish(LAST_WORDS).await;
    }
    Ok(())
}

async fn listen(options: &ServeOptions) -> Result<TcpListener, ServeError> {
    let address = options.listen;
    let is_safe = address.ip().is_loopback() || options.tls.is_some() || options.front == Front::Proxy;
    if !is_safe {
        return Err(ServeError::InTheClear(address));
    }
    let taken = |error: &std::io::Error| error.kind() == std::io::ErrorKind::AddrInUse;
    TcpListener::bind(address)
        .await
        .map_err(|error| if taken(&error) { ServeError::Taken(address) } else { ServeError::Listen(address, error) })
}

fn site(options: &ServeOptions, address: SocketAddr) -> Site {
    let mut site = Site::at(address).named(options.hosts.iter().cloned());
    if options.tls.is_some() {
        site = site.encrypted();
    }
    if options.front == Front::Proxy {
        site = site.behind_proxy();
    }
    match &options.url {
        Some(url) => site.reached_at(url),
        None => site,
    }
}

/// What is told at the start: the link, and on the very first start of a fleet the first tokens.
async fn beginning(store: &dyn Store, (base, address): (&str, String), now: Moment) -> Result<Ready, Problem> {
    let mut tokens = Vec::new();
    if store.tokens().await?.is_empty() {
        // Of several servers that start at once, one makes the tokens.
        let own = secret::fresh()?;
        if store.value_or_put("first-start".to_owned(), own.clone()).await? == own {
            for role in Role::ALL {
                let wanted = NewToken { name: format!("first {}", role.word()), role, expires_days: None };
                tokens.push((role, token::make(store, wanted, ("first start", now)).await?.token));
            }
        }
    }
    let invited = Invited { person: "admin".to_owned(), role: Role::Admin };
    let link = link::address(base, &link::make(store, invited, now).await?);
    Ok(Ready { address, link, tokens })
}

/// Over once the process is told to end.
#[cfg(unix)]
fn told_to_end() -> std::io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

/// Over once the process is told to end.
#[cfg(not(unix))]
fn told_to_end() -> std::io::Result<impl Future<Output = ()>> {
    Ok(async {
        // Without a way to be told, the process is ended from outside.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    })
}

/// Every connection takes a descriptor, and the usual soft limit is below the server's own.
fn raise_descriptors() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
        // Where it cannot be raised, connections beyond it wait until others end.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    }
}

/// Tells the service manager, if there is one that wants to know.
fn notify(state: &str) {
    #[cfg(target_os = "linux")]
    {
        use std::os::linux::net::SocketAddrExt as _;
        use std::os::unix::net::{SocketAddr as Address, UnixDatagram};
        let Ok(path) = std::env::var("NOTIFY_SOCKET") else { return };
        let address = match path.strip_prefix('@') {
            Some(name) => Address::from_abstract_name(name),
            None => Address::from_pathname(&path),
        };
        // A service manager that cannot be told finds out by itself.
        if let (Ok(address), Ok(socket)) = (address, UnixDatagram::unbound()) {
            let _ = socket.send_to_addr(state.as_bytes(), &address);
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = state;
}
