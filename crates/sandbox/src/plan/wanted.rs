//! What a plan is made from, and the order in which it is made.

use std::path::{Path, PathBuf};

use mayi_core::call::Workspace;
use mayi_core::policy::{Layer, Origin};
use mayi_core::verdict::Permit;
use mayi_settings::Loaded;
use mayi_settings::settings::Concealment;
use mayi_settings::update::SessionPermissions;

use super::claim::Claim;
use super::grants::Grants;
use super::{Environment, Gap, Limits, Nesting, Plan, Sockets, files, network};

/// What a plan is made from.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// The settings, with every rule's origin.
    pub loaded: &'a Loaded,
    /// What was answered in the session.
    pub session: &'a SessionPermissions,
    /// The permit for the call that will run.
    pub permit: &'a Permit,
    /// The command's own temporary folder.
    pub temporary: &'a Path,
}

impl Plan {
    /// The plan of a run. Pure: the same settings and the same permit give the same plan on any machine.
    pub fn of(wanted: Wanted<'_>) -> Plan {
        let mut gaps = Vec::new();
        let grants = Grants::of(&wanted, &mut gaps);
        let claim = Claim::of(&wanted, &mut gaps);
        let files = files::files(&wanted, (&grants, &claim), &mut gaps);
        let network = network::network(&wanted, (&grants, &claim), &mut gaps);
        let environment = environment(&wanted, &mut gaps);
        gaps.extend(unsaid(wanted.loaded));
        let sandbox = &wanted.loaded.settings.sandbox;
        Plan {
            directory: PathBuf::from(&wanted.workspace().directory),
            files,
            network,
            sockets: if sandbox.network.allow_all_unix_sockets { Sockets::All } else { Sockets::None },
            environment,
            limits: Limits { core: Some(0), ..Limits::default() },
            nesting: if sandbox.enable_weaker_nested_sandbox { Nesting::Possible } else { Nesting::Refused },
            gaps,
        }
    }
}

impl<'a> Wanted<'a> {
    pub(super) fn workspace(&self) -> &'a Workspace {
        &self.loaded.policy.workspace
    }

    pub(super) fn home(&self) -> Option<&'a str> {
        self.workspace().home.as_deref()
    }
}

/// Variables with secrets are not passed on.
fn environment(wanted: &Wanted<'_>, gaps: &mut Vec<Gap>) -> Environment {
    let mut removed: Vec<String> = Vec::new();
    for secret in &wanted.loaded.settings.sandbox.credentials.env_vars {
        let Some(name) = &secret.name else { continue };
        if secret.mode == Concealment::Mask {
            gaps.push(Gap::new(format!("masking is not offered: the variable `{name}` is not passed on at all")));
        }
        if !removed.contains(name) {
            removed.push(name.clone());
        }
    }
    Environment { removed }
}

/// Keys that no plan can carry out, and what that means.
const UNSAID: [(&str, &str); 7] = [
    ("sandbox.network.allowUnixSockets", "sockets cannot be told apart by their path: none of them can be reached"),
    ("sandbox.network.allowMachLookup", "services of macOS cannot be named"),
    ("sandbox.allowAppleEvents", "Apple events are not let through"),
    ("sandbox.enableWeakerNetworkIsolation", "the trust service of macOS is not let through"),
    ("sandbox.network.tlsTerminate", "the proxy does not open TLS"),
    ("sandbox.credentials.awsPairs", "masking is not offered, so nothing is signed"),
    ("sandbox.credentials.sigv4", "masking is not offered, so nothing is signed"),
];

fn unsaid(loaded: &Loaded) -> impl Iterator<Item = Gap> {
    UNSAID.iter().filter_map(|(path, meaning)| {
        let is_it = |own: &str| own.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        let (_, setting) = loaded.effective.iter().find(|(own, _)| is_it(own))?;
        let origin = setting.origins.first().cloned().map(Box::new);
        (setting.value != serde_json::Value::Bool(false)).then(|| Gap { what: format!("`{path}`: {meaning}"), origin })
    })
}

impl Gap {
    pub(super) fn new(what: String) -> Self {
        Self { what, origin: None }
    }

    pub(super) fn at(what: String, origin: &Origin) -> Self {
        Self { what, origin: Some(Box::new(origin.clone())) }
    }
}

/// Comes from outside the project with the authority to close things for it.
pub(super) fn is_locking(layer: Layer) -> bool {
    matches!(layer, Layer::Managed | Layer::Flag)
}
