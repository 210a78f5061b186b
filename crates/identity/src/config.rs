//! What an identity is made from: settings and the variables of the process. Nothing else is looked at, so a test that
//! gives its own variables meets no credential of the person who runs it.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use mayi_settings::settings::{Identity as IdentitySettings, Settings};

use crate::store::StoreName;
use crate::store::chain::Choice;
use crate::store::os::Attendance;

/// The variables of a process.
pub type Environment = [(OsString, OsString)];

/// What an identity is made from. `Debug` does not show the variables.
#[derive(Clone)]
pub struct Config {
    /// `identity` of the settings.
    pub identity: IdentitySettings,
    /// `apiKeyHelper` of the settings.
    pub api_key_helper: Option<String>,
    /// The variables of the process.
    pub environment: Vec<(OsString, OsString)>,
    /// Whether a person is there to unlock a store.
    pub attendance: Attendance,
    /// The folder for what is kept.
    folder: Option<PathBuf>,
}

impl std::fmt::Debug for Config {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Config").field("identity", &self.identity).field("folder", &self.folder).finish()
    }
}

impl Config {
    /// The configuration of these settings and variables. What is kept is in mayi's state folder, which the variables
    /// name: `XDG_STATE_HOME`, or `.local/state` below `HOME`.
    pub fn of(settings: &Settings, environment: &Environment) -> Self {
        let mut config = Self {
            identity: settings.identity.clone(),
            api_key_helper: settings.api_key_helper.clone(),
            environment: environment.to_vec(),
            attendance: Attendance::Unattended,
            folder: None,
        };
        let state = config.path("XDG_STATE_HOME").or_else(|| Some(config.path("HOME")?.join(".local/state")));
        config.folder = state.map(|state| state.join("mayi/identity"));
        config
    }

    /// The same with a state folder of its own.
    pub fn in_state_folder(self, state: &Path) -> Self {
        Self { folder: Some(state.join("identity")), ..self }
    }

    /// The same with a person who can be asked to unlock a store.
    pub fn attended(self) -> Self {
        Self { attendance: Attendance::Attended, ..self }
    }

    /// The folder for what is kept.
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// The text of a variable.
    pub(crate) fn variable(&self, name: &str) -> Option<&str> {
        let found = self.environment.iter().find(|(own, _)| own == OsStr::new(name))?;
        found.1.to_str().map(str::trim).filter(|text| !text.is_empty())
    }

    fn path(&self, name: &str) -> Option<PathBuf> {
        let found = self.environment.iter().find(|(own, _)| own == OsStr::new(name))?;
        Some(PathBuf::from(&found.1)).filter(|path| path.is_absolute())
    }

    pub(crate) fn choice(&self) -> Choice {
        let only = self.identity.store.as_deref().and_then(StoreName::of_word);
        Choice { only, forbid_file: self.identity.forbid_plain_file }
    }

    /// The name of the sign-in service that settings give: its issuer, or else where its tokens are fetched.
    pub(crate) fn service(&self) -> Option<&str> {
        let identity = &self.identity;
        let named = [&identity.issuer, &identity.token_endpoint].into_iter().flatten();
        named.map(|name| name.trim()).find(|name| !name.is_empty())
    }

    /// This program's name at the sign-in service.
    pub(crate) fn client_id(&self) -> &str {
        self.identity.client_id.as_deref().map(str::trim).filter(|id| !id.is_empty()).unwrap_or("mayi")
    }
}
