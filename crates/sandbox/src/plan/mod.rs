//! The plan of a run: what a command may read, write and reach. Pure: it looks at settings, rules and a permit, never
//! at the machine, so it can be made, printed and tested anywhere.
//!
//! Writing: what a working directory, a setting or a rule opens, minus everything that any of them closes, however
//! narrow the opening, minus what is always protected. Reading: everything but what is hidden, and there the narrowest
//! word counts. What a plan cannot say is a gap with its place in the settings; nothing is dropped in silence.

mod claim;
mod data;
mod files;
mod grants;
mod guard;
mod hosts;
mod marks;
mod network;
mod wanted;

use std::path::{Path, PathBuf};

use mayi_core::policy::Origin;
use serde::Serialize;

pub use wanted::Wanted;

/// What a command may read, write and reach.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Plan {
    /// Where the command starts.
    pub directory: PathBuf,
    /// Files.
    pub files: Files,
    /// Hosts.
    pub network: Network,
    /// Unix sockets.
    pub sockets: Sockets,
    /// Variables.
    pub environment: Environment,
    /// Resources.
    pub limits: Limits,
    /// Whether sandboxes can be made inside.
    pub nesting: Nesting,
    /// What was asked for and cannot be said in a plan, in words for people.
    pub gaps: Vec<Gap>,
}

/// Files that a command may read and write.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Files {
    /// Not confined: `sandbox.filesystem.disabled`.
    Open,
    /// Readable everywhere, but for these places.
    Confined(Confined),
}

/// Places with their access. The narrowest place that holds a path says what may be done with it; everything else is
/// read-only.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Confined {
    /// Sorted by path, each path once, none redundant. Absolute and lexically clean; links are not yet followed.
    pub places: Vec<Place>,
    /// Hidden files by pattern (`~/**/.env`), to be looked up when the command starts.
    pub patterns: Vec<HiddenPattern>,
    /// Names that must not appear: what is created there is removed after the command, and that is reported.
    pub scrubbed: Vec<PathBuf>,
}

impl Confined {
    /// The narrowest place that holds a path, as far as its spelling tells.
    pub fn place_of(&self, path: &Path) -> Option<&Place> {
        path.ancestors().find_map(|folder| {
            let found = self.places.binary_search_by(|place| place.path.as_path().cmp(folder)).ok()?;
            self.places.get(found)
        })
    }

    /// What may be done with a path, as far as its spelling tells.
    pub fn access_of(&self, path: &Path) -> Access {
        self.place_of(path).map_or(Access::ReadOnly, |place| place.access)
    }
}

/// A path and what may be done with it and all below it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Place {
    /// The path.
    pub path: PathBuf,
    /// What may be done.
    pub access: Access,
    /// Why.
    pub why: Why,
}

/// What may be done with a file, from strict to permissive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Access {
    /// Nothing: it cannot be read.
    Hidden,
    /// It can be read. `Protected` places that do not exist cannot be created either.
    ReadOnly,
    /// It can be written.
    Writable,
}

/// Why a place has its access.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Why {
    /// A working directory.
    WorkingDirectory,
    /// The private temporary folder.
    Temporary,
    /// A setting or rule.
    Said(Box<Origin>),
    /// A store of credentials; what it holds.
    Credential(String),
    /// Always write-protected; why. It cannot be created either.
    Protected(String),
    /// Write-protected where it is there; why. It may be created where it is not.
    Kept(String),
    /// The static analysis claimed it (`sandbox.derive`).
    Derived,
    /// Devices and the like that every program needs.
    System,
}

/// Hidden files by pattern.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HiddenPattern {
    /// The folder the search starts in.
    pub base: PathBuf,
    /// The pattern below it, with `*`, `?`, `[…]`, `\\` before a character that stands for itself, and `**` for any
    /// number of folders. What it matches is hidden with all below it.
    pub glob: String,
    /// Why.
    pub why: Why,
}

/// Hosts that a command may reach.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Network {
    /// None at all.
    None,
    /// Through the proxy, by name.
    Proxied(Hosts),
    /// Through proxies of the user's own on the host's loopback, which do the filtering.
    Own {
        /// The port of an HTTP proxy.
        http: Option<u16>,
        /// The port of a SOCKS proxy.
        socks: Option<u16>,
    },
}

/// Hosts by name. Deny wins.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Hosts {
    /// May be reached.
    pub allowed: Vec<HostPattern>,
    /// May never be reached.
    pub denied: Vec<HostPattern>,
    /// What happens with the others.
    pub unlisted: Unlisted,
}

/// A host as written in settings: `x.org`, `*.x.org`, `*`, with an optional port.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HostPattern {
    /// The name, `*.name` or an address without brackets; lower case.
    pub host: String,
    /// The port, where only one is meant.
    pub port: Option<u16>,
    /// Where it was said.
    pub origin: Box<Origin>,
}

/// What happens with a host that is not listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unlisted {
    /// Whoever runs the command is asked, if anybody can be.
    Asked,
    /// It is refused.
    #[default]
    Refused,
}

/// Unix sockets that a command may connect to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sockets {
    /// None but those it makes itself, in pairs.
    #[default]
    None,
    /// Any.
    All,
}

/// Variables of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Environment {
    /// Names that are not passed on; a trailing `*` stands for any ending.
    pub removed: Vec<String>,
}

/// Limits on resources. `None` leaves what the caller has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Limits {
    /// Bytes of a core file.
    pub core: Option<u64>,
    /// Processes of the user.
    pub processes: Option<u64>,
    /// Open files.
    pub files: Option<u64>,
}

/// Whether sandboxes can be made inside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Nesting {
    /// No: all walls stand.
    #[default]
    Refused,
    /// Yes (`sandbox.enableWeakerNestedSandbox`): without Landlock, with the existing /proc, with user namespaces.
    Possible,
}

/// Something asked for that a plan cannot say.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Gap {
    /// What, in words for people.
    pub what: String,
    /// Where it was said.
    pub origin: Option<Box<Origin>>,
}
