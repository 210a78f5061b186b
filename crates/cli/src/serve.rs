//! `mayi serve`: decisions, approvals, audit and shared state over HTTP, and a page for people.

use std::io::Write as _;
use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{Context as _, Result, anyhow};
use mayi_server::access::site::Front;
use mayi_server::app::Clock;
use mayi_server::http::accept::Bounds;
use mayi_server::http::limit::Rates;
use mayi_server::http::tls::Files;
use mayi_server::serve::{Ready, ServeOptions, serve};
use mayi_server::telemetry::Export;
use mayi_settings::store::Store;

use crate::arguments::{Kept, Serve, Where};
use crate::exit::{Exit, usage};
use crate::{paint, surroundings};

const LISTEN: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 7878);

pub(crate) fn run(task: Serve) -> Result<Exit> {
    let settings = settings(&task.store, task.cwd.clone())?;
    let loaded = settings.current();
    surroundings::report(&loaded);
    let said = &loaded.settings.server;
    let front = if task.behind_proxy || said.behind_proxy { Front::Proxy } else { Front::Nobody };
    let options = ServeOptions {
        listen: listen(task.listen, said.listen.as_deref())?,
        store: store(&task.store, &settings)?,
        tls: task.tls_cert.zip(task.tls_key).map(|(certificate, key)| Files { certificate, key }),
        front,
        url: task.url.as_deref().map(address).transpose()?,
        hosts: task.host,
        settings: Arc::clone(&settings),
        bounds: Bounds::default(),
        rates: said.requests_per_second.map_or_else(Rates::default, |many| Rates::default().per_token(many)),
        export: Export::of_environment(variable),
        clock: Clock::default(),
        variable,
    };
    serve(options, ready)?;
    Ok(Exit::Done)
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Says once where the server is; whoever started it waits for this line. Secrets are for the person at the terminal.
fn ready(ready: Ready) {
    let Ready { address, link, tokens } = ready;
    for (role, token) in tokens {
        paint::tell(format!("{:<9} {token}", role.word()));
    }
    paint::tell(format!("sign in:  {link}\n          (once, within ten minutes; `mayi token sign-in` makes another)"));
    let mut out = std::io::stdout().lock();
    // Whoever does not wait for the line has closed the pipe, and is served all the same.
    let _ = writeln!(out, "mayi serves at {address}").and_then(|()| out.flush());
}

/// The settings of a server.
pub(crate) fn settings(kept: &Kept, cwd: Option<std::path::PathBuf>) -> Result<Arc<Store>> {
    let place = Where { settings: kept.settings.clone(), cwd, ..Where::default() };
    let (places, given) = surroundings::sources(&place)?;
    Ok(Arc::new(Store::open(places, given)))
}

/// Where a server keeps its state: as the arguments say, as settings say, or a file among mayi's own state.
pub(crate) fn store(kept: &Kept, settings: &Store) -> Result<String> {
    let said = settings.current().settings.server.store.clone();
    if let Some(store) = kept.store.clone().or(said) {
        return Ok(store);
    }
    let state = settings.places().state.clone();
    let state = state
        .ok_or_else(|| anyhow!("there is no home directory to keep the state in\nhelp: set HOME, or name a --store"))?;
    std::fs::create_dir_all(&state).with_context(|| format!("`{}` cannot be made", state.display()))?;
    Ok(format!("sqlite:{}", state.join("server.db").display()))
}

/// Where a server listens.
pub(crate) fn listen(argument: Option<SocketAddr>, setting: Option<&str>) -> Result<SocketAddr> {
    let read = |text: &str| {
        text.parse().map_err(|_| anyhow!("`{text}` of `server.listen` is no address\nhelp: write 127.0.0.1:7878"))
    };
    argument.map_or_else(|| setting.map_or(Ok(LISTEN), read), Ok)
}

fn address(text: &str) -> Result<mayi_server::Url> {
    let url = mayi_server::Url::parse(text).ok();
    let fit = |url: &mayi_server::Url| {
        let plain = url.path() == "/" && url.query().is_none() && url.username().is_empty() && url.password().is_none();
        plain && url.fragment().is_none() && url.host_str().is_some() && ["http", "https"].contains(&url.scheme())
    };
    url.filter(fit).ok_or_else(|| usage("serve", "a --url is written https://NAME or https://NAME:PORT"))
}
