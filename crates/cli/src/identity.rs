//! The identity of whoever runs the command line: opened from their settings, and how it stands for each purpose.

use std::io::IsTerminal;

use anyhow::{Context, Result};
use mayi_identity::{Config, Identity, Purpose, Standing, StoreName, Vendor};
use mayi_settings::Loaded;
use mayi_settings::settings::Settings;
use tokio::runtime::Runtime;

use crate::arguments::{Manner, Where};
use crate::surroundings;

/// The settings that count for credentials.
pub(crate) fn settings(manner: &Manner) -> Result<Settings> {
    let loaded: Loaded = surroundings::local(&Where { settings: manner.settings.clone(), ..Where::default() })?;
    surroundings::report(&loaded);
    Ok(*loaded.settings)
}

/// The identity of these settings, for whoever only looks.
fn open(settings: &Settings) -> Identity {
    Identity::open(config(settings))
}

/// The identity of these settings, for whoever changes what is kept. A store that is locked may ask for its password
/// where somebody is there to type it.
pub(crate) fn open_attended(settings: &Settings) -> Identity {
    let config = config(settings);
    Identity::open(if std::io::stderr().is_terminal() { config.attended() } else { config })
}

fn config(settings: &Settings) -> Config {
    Config::of(settings, &std::env::vars_os().collect::<Vec<_>>())
}

pub(crate) fn runtime() -> Result<Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build().context("no work can be done on this machine")
}

/// Whose protocol the model of these settings speaks.
pub(crate) fn vendor(settings: &Settings) -> Vendor {
    match settings.classifier.provider.as_deref() {
        Some("openai") => Vendor::OpenAi,
        Some(_) | None => Vendor::Anthropic,
    }
}

/// The server of these settings. Without one, a sign-in is still somebody's.
pub(crate) fn server(settings: &Settings) -> Purpose {
    Purpose::Server(settings.server.url.clone().unwrap_or_default())
}

/// What a credential is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Of {
    /// The model behind auto mode and explanations.
    Model,
    /// A mayi server.
    Server,
}

impl Of {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Server => "server",
        }
    }
}

/// How things stand for one purpose.
pub(crate) struct Row {
    /// The purpose.
    pub(crate) of: Of,
    /// Whose model, or which server.
    pub(crate) which: Option<String>,
    /// How it stands.
    pub(crate) standing: Standing,
}

impl Row {
    /// Whether there is a credential, and nothing is wrong with it.
    pub(crate) fn is_well(&self) -> bool {
        self.standing.source.is_some() && self.standing.problems.is_empty()
    }

    /// Whether these settings make mayi ask anybody who wants a credential.
    pub(crate) fn is_needed(&self, settings: &Settings) -> bool {
        match self.of {
            Of::Model => settings.classifier.model.is_some() || settings.explainer.model.is_some(),
            Of::Server => settings.server.url.is_some(),
        }
    }

    /// What it is for.
    pub(crate) fn title(&self) -> String {
        let which = self.which.as_ref().map(|which| format!(" ({which})")).unwrap_or_default();
        format!("{}{which}", self.of.word())
    }

    /// Where the credential comes from and is kept, in a line.
    pub(crate) fn line(&self) -> String {
        let Standing { source, who, at, store, .. } = &self.standing;
        let Some(source) = source else { return "no credential".to_owned() };
        let who = who.as_ref().map(|who| format!(" as {who}")).unwrap_or_default();
        let at = at.as_ref().map(|at| format!(" at {at}")).unwrap_or_default();
        let store = store.map(|store| format!(", in the {store}")).unwrap_or_default();
        format!("{source}{who}{at}{store}")
    }

    /// Whether it is kept where a copy of the disk would show it.
    pub(crate) fn is_in_file(&self) -> bool {
        self.standing.store == Some(StoreName::File)
    }
}

/// How things stand for every purpose of these settings.
pub(crate) fn rows(settings: &Settings) -> Result<Vec<Row>> {
    let identity = open(settings);
    let vendor = vendor(settings);
    runtime()?.block_on(async {
        let model = identity.standing(&Purpose::Model(vendor)).await;
        let server = identity.standing(&server(settings)).await;
        Ok(vec![
            Row { of: Of::Model, which: Some(vendor.word().to_owned()), standing: model },
            Row { of: Of::Server, which: settings.server.url.clone(), standing: server },
        ])
    })
}
