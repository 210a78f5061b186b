//! Locks on the sandbox: what an organisation or `--settings` said that the files of a project cannot loosen.
//!
//! Locks only ever take values away. Values of `settings` are taken away while layers merge; rules and directories keep
//! their meaning for the agent's own tools, so whoever confines a command asks here whether they count for it.

use mayi_core::policy::Layer;
use serde_json::Value as Json;

use crate::sheet::{Reading, Sheet};

const UNSANDBOXED: &str = "sandbox.allowUnsandboxedCommands";
const HTTP_PORT: &str = "sandbox.network.httpProxyPort";
const SOCKS_PORT: &str = "sandbox.network.socksProxyPort";
const ALLOWED_DOMAINS: &str = "sandbox.network.allowedDomains";
const DENIED_DOMAINS: &str = "sandbox.network.deniedDomains";

/// What the files of a project cannot loosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Locks {
    /// There is no way out of the sandbox.
    required: bool,
    /// The organisation or `--settings` refuses hosts that are not listed.
    strict_hosts: bool,
    /// The organisation or `--settings` refuses hosts by name.
    denied_hosts: bool,
    /// Only the organisation allows hosts.
    managed_hosts: bool,
    /// Only the organisation re-opens files for reading.
    managed_reads: bool,
    /// The organisation confines files, so nobody else switches that off.
    managed_files: bool,
    /// The person's own settings close the way out of the sandbox.
    closed_by_user: bool,
}

impl Locks {
    pub(crate) fn of(sheets: &[Sheet]) -> Self {
        let said = |layer: Layer, path: &str| said(sheets, layer, path).next();
        let outside = |path: &'static str| {
            [Layer::Managed, Layer::Flag].into_iter().flat_map(move |layer| self::said(sheets, layer, path))
        };
        let managed = |path: &str| self::said(sheets, Layer::Managed, path).any(|value| *value == true);
        let strict = said(Layer::Managed, UNSANDBOXED).or_else(|| said(Layer::Flag, UNSANDBOXED));
        let managed_hosts = managed("sandbox.network.allowManagedDomainsOnly");
        Self {
            required: managed_hosts || strict.is_some_and(|value| *value == false),
            strict_hosts: outside("sandbox.network.strictAllowlist").any(|value| *value == true),
            denied_hosts: outside(DENIED_DOMAINS).any(|value| *value != Json::Array(Vec::new())),
            managed_hosts,
            managed_reads: managed("sandbox.filesystem.allowManagedReadPathsOnly"),
            managed_files: sheets.iter().filter(|sheet| sheet.layer == Layer::Managed).any(confines_files),
            closed_by_user: said(Layer::User, UNSANDBOXED).is_some_and(|value| *value == false),
        }
    }

    /// Why a value does not count, if a lock takes it away.
    pub(crate) fn refuse(&self, layer: Layer, reading: &Reading) -> Option<&'static str> {
        let in_project = is_in_project(layer);
        let path = reading.path.as_str();
        let is_port = matches!(path, HTTP_PORT | SOCKS_PORT);
        let allows_hosts = is_port || path == ALLOWED_DOMAINS;
        if self.required && in_project && path.starts_with("sandbox.") && reading.key.loosens(&reading.value) {
            return Some("the organisation requires the sandbox");
        }
        if self.managed_hosts && layer != Layer::Managed && allows_hosts {
            return Some("only the organisation allows hosts");
        }
        if self.strict_hosts && in_project && allows_hosts {
            return Some("the list of hosts is closed outside the project");
        }
        if self.denied_hosts && in_project && is_port {
            return Some("hosts are denied outside the project, and another proxy would not know");
        }
        if self.managed_reads && layer != Layer::Managed && path == "sandbox.filesystem.allowRead" {
            return Some("only the organisation re-opens files for reading");
        }
        let disables = path == "sandbox.filesystem.disabled" && reading.value == Json::Bool(true);
        if self.managed_files && layer != Layer::Managed && disables {
            return Some("the organisation confines files");
        }
        let opens = path == UNSANDBOXED && reading.value == Json::Bool(true);
        (self.closed_by_user && in_project && opens).then_some("the user's settings close the way out")
    }

    /// Whether write access that a layer's rules and directories give counts for confined commands.
    pub fn counts_writes(&self, layer: Layer) -> bool {
        !(self.required && is_in_project(layer))
    }

    /// Whether hosts that a layer's rules allow count for confined commands.
    pub fn counts_hosts(&self, layer: Layer) -> bool {
        let refused = (self.required || self.strict_hosts) && is_in_project(layer);
        !refused && (!self.managed_hosts || layer == Layer::Managed)
    }
}

/// Lies in the project: whoever wrote the repository, or a command that ran there, may have written it.
pub fn is_in_project(layer: Layer) -> bool {
    matches!(layer, Layer::Local | Layer::Project)
}

/// The values that the documents of a layer give a key, strongest first.
fn said<'a>(sheets: &'a [Sheet], layer: Layer, path: &str) -> impl Iterator<Item = &'a Json> {
    let of_layer = sheets.iter().filter(move |sheet| sheet.layer == layer);
    let readings = of_layer.flat_map(|sheet| sheet.readings.iter().rev());
    readings.filter(move |reading| reading.path == path).map(|reading| &reading.value)
}

fn confines_files(sheet: &Sheet) -> bool {
    let denies = |secret: &Json| secret.get("mode").is_none_or(|mode| mode == "deny");
    sheet.readings.iter().any(|reading| match reading.path.as_str() {
        "sandbox.filesystem.disabled" => false,
        "sandbox.credentials.files" => reading.value.as_array().is_some_and(|files| files.iter().any(denies)),
        other => other.starts_with("sandbox.filesystem."),
    })
}
