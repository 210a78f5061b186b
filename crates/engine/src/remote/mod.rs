//! A mayi server, seen from those who use it: hooks, the gateway, the command line, embedders.
//!
//! Decisions are made here, by the server's policy together with the settings of this machine; questions go there, and
//! so do records. Without a server in settings nothing of this is touched. With one that cannot be had, nothing is let
//! through that its policy might forbid.

mod answering;
mod ask;
pub mod bundle;
pub mod client;
pub mod courier;
mod keeping;
mod question;
pub mod spool;
pub mod wire;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use mayi_settings::load::Bundle;
use mayi_settings::settings::Server as Wanted;
use mayi_settings::{Given, Loaded, Places, load as load_settings};
use serde_json::Value;

use crate::waiting::Waiting;
use bundle::{Cache, Known};
use client::Client;

pub(crate) use ask::{Word, ask};
pub use question::Propose;
pub(crate) use question::{Matter, question};

/// How old a policy may grow before somebody asks for it again.
const AGE: Duration = Duration::from_secs(300);
/// How old it may grow while nobody can be asked.
const STALE: Duration = Duration::from_secs(24 * 60 * 60);
/// How long whoever needs a policy at once waits for the server.
const IN_HASTE: Duration = Duration::from_secs(5);
/// How long whoever has time waits for it.
const AT_LEISURE: Duration = Duration::from_secs(20);

/// How much time there is to ask the server for its policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Haste {
    /// None: a policy that is kept will do, while it may be used at all.
    Answer,
    /// Some: one that is older than it should be is asked for first.
    Leisure,
}

/// The server of some settings.
#[derive(Debug)]
pub struct Server {
    client: Option<Arc<Client>>,
    cache: Option<Cache>,
    wanted: Wanted,
    state: Option<PathBuf>,
    known: Option<Known>,
    /// Why the server's policy could not be asked for.
    why: Option<String>,
    /// What somebody should be told although the server's policy still serves.
    pub warning: Option<String>,
}

/// Settings, and the server that they name.
#[derive(Debug)]
pub struct Served {
    /// The settings, with the server's policy as their strongest layer.
    pub loaded: Loaded,
    /// The server.
    pub server: Option<Server>,
}

/// Loads settings, and where they name a server, its policy as their strongest layer.
pub fn load(places: &Places, given: &Given, haste: Haste) -> Served {
    served(places, given, load_settings(places, given), (haste, &Waiting::default()))
}

/// The same for settings that were loaded already, telling somebody before the server is waited for.
pub fn served(places: &Places, given: &Given, loaded: Loaded, (haste, waiting): (Haste, &Waiting)) -> Served {
    if loaded.settings.server.url.is_none() {
        return Served { loaded, server: None };
    }
    let mut server = Server::found(&loaded, places.state.as_deref(), (haste, waiting));
    let loaded = match server.bundles() {
        bundles if bundles.is_empty() => loaded,
        bundles => {
            let given = Given { bundles: bundles.into_iter().chain(given.bundles.clone()).collect(), ..given.clone() };
            load_settings(places, &given)
        }
    };
    server.heed(&loaded);
    Served { loaded, server: Some(server) }
}

impl Server {
    /// The server of settings that name one, before it or its policy was looked for.
    pub(crate) fn of(loaded: &Loaded, state: Option<&Path>) -> Self {
        let environment: Vec<_> = std::env::vars_os().collect();
        let wanted = loaded.settings.server.clone();
        let (client, why) = match Client::of(&loaded.settings, &environment) {
            Ok(client) => (client.map(Arc::new), None),
            Err(error) => (None, Some(error.to_string())),
        };
        let url = wanted.url.clone().unwrap_or_default();
        let cache = state.map(|state| Cache::new(state, &url, wanted.key.as_deref()));
        Self { client, cache, wanted, state: state.map(Path::to_owned), known: None, why, warning: None }
    }

    /// The same, with its policy looked for.
    pub(crate) fn found(loaded: &Loaded, state: Option<&Path>, (haste, waiting): (Haste, &Waiting)) -> Self {
        let mut server = Self::of(loaded, state);
        server.look(haste, waiting);
        server
    }

    /// The same server, to be asked anew.
    pub(crate) fn again(&self) -> Self {
        let Self { client, cache, wanted, state, known, why, warning } = self;
        Self {
            client: client.clone(),
            cache: cache.clone(),
            wanted: wanted.clone(),
            state: state.clone(),
            known: known.clone(),
            why: why.clone(),
            warning: warning.clone(),
        }
    }

    /// Takes up what settings say about the server, its own policy among them; but where it is, and what its key is,
    /// it cannot say itself.
    pub(crate) fn heed(&mut self, loaded: &Loaded) {
        let (url, key) = (self.wanted.url.take(), self.wanted.key.take());
        self.wanted = Wanted { url, key, ..loaded.settings.server.clone() };
    }

    /// Looks for the server's policy: what is kept, and the server where that is not enough.
    fn look(&mut self, haste: Haste, waiting: &Waiting) {
        if !self.wants_look(haste) {
            return;
        }
        waiting.announce();
        let within = match haste {
            Haste::Answer => IN_HASTE,
            Haste::Leisure => AT_LEISURE,
        };
        let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => runtime,
            Err(error) => return self.why = Some(format!("the server cannot be asked: {error}")),
        };
        if tokio::runtime::Handle::try_current().is_err() {
            return runtime.block_on(self.refresh(within));
        }
        // Whoever calls from within a runtime cannot wait there.
        std::thread::scope(|scope| {
            scope.spawn(move || runtime.block_on(self.refresh(within)));
        });
    }

    /// Takes up what is kept. True when the server has to be asked.
    fn wants_look(&mut self, haste: Haste) -> bool {
        let (Some(_), Some(cache)) = (&self.client, &self.cache) else {
            let homeless = || "there is no home directory to keep the server's policy in\nhelp: set HOME".to_owned();
            self.why.get_or_insert_with(homeless);
            return false;
        };
        match cache.known() {
            Ok(known) => self.known = known,
            Err(error) => self.warning = Some(error.to_string()),
        }
        self.warning = self.warning.take().or_else(|| cache.problem());
        let enough = match haste {
            Haste::Answer => self.most_stale(),
            Haste::Leisure => self.most_age(),
        };
        !self.is_younger(enough)
    }

    /// Asks the server for its policy. What is kept goes on serving where that fails, until it is too old.
    pub async fn refresh(&mut self, within: Duration) {
        let (Some(client), Some(cache)) = (&self.client, &self.cache) else { return };
        match cache.refresh(client, within).await {
            Ok(known) => (self.known, self.warning, self.why) = (Some(known), None, None),
            Err(error) => {
                let words = error.to_string();
                self.warning = error.is_loud().then(|| words.clone()).or_else(|| self.warning.take());
                self.why = Some(words);
            }
        }
    }

    /// Why nothing may be let through, if that is so: the server's policy is not known, or was not for too long.
    pub fn trouble(&self) -> Option<String> {
        if self.is_younger(self.most_stale()) {
            return None;
        }
        let why = self.why.as_deref().unwrap_or("it was not asked for");
        Some(match &self.known {
            None => format!("the server's policy is not known here, so nothing is let through: {why}"),
            Some(_) => format!("the server's policy is too old to be used, so nothing is let through: {why}"),
        })
    }

    fn is_younger(&self, than: Duration) -> bool {
        let age = self.known.as_ref().and_then(|known| known.age(keeping::now()));
        age.is_some_and(|age| age < than)
    }

    fn most_age(&self) -> Duration {
        self.wanted.bundle_max_age_seconds.map_or(AGE, Duration::from_secs)
    }

    fn most_stale(&self) -> Duration {
        let stale = self.wanted.bundle_max_stale_seconds.map_or(STALE, Duration::from_secs);
        stale.max(self.most_age())
    }

    /// Whether its policy should be asked for again by whoever has time.
    pub fn is_due(&self) -> bool {
        self.client.is_some() && !self.is_younger(self.most_age())
    }

    /// Its policy, if it may be used.
    pub fn known(&self) -> Option<&Known> {
        self.known.as_ref().filter(|_| self.is_younger(self.most_stale()))
    }

    /// Its policy as the strongest layer of settings. Where the server is and what its key is are not its own to say.
    pub fn bundles(&self) -> Vec<Bundle> {
        let bundle = |known: &Known| {
            let mut settings = known.bundle.settings.clone();
            if let Some(server) = settings.get_mut("server").and_then(Value::as_object_mut) {
                server.retain(|name, _| name != "url" && name != "key");
            }
            Bundle { name: self.url().to_owned(), settings }
        };
        self.known().map(bundle).into_iter().collect()
    }

    /// mayi's state folder.
    pub fn state(&self) -> Option<&Path> {
        self.state.as_deref()
    }

    /// How to reach it; `None` where its address is none.
    pub fn client(&self) -> Option<&Client> {
        self.client.as_deref()
    }

    /// Its address, as settings name it.
    pub fn url(&self) -> &str {
        self.wanted.url.as_deref().unwrap_or_default()
    }
}
