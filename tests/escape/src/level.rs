//! Who tries, and how the machine confines: every pairing that this machine offers.

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::{Context, Result};

/// The user and group that nobody's files belong to.
const NOBODY: u32 = 65534;

/// Who runs the sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Person {
    /// Root.
    Root,
    /// Anybody else.
    Ordinary,
}

/// How the machine confines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// By its own namespaces.
    Native,
    /// By bubblewrap.
    Bubblewrap,
    /// By Landlock alone.
    Landlock,
    /// By whatever is best where the kernel refuses namespaces.
    NoNamespaces,
    /// By its own namespaces, with sandboxes inside.
    Nested,
}

impl Person {
    /// Those that can be tried: root can become anybody, everybody else is only themselves.
    pub fn all() -> Vec<Person> {
        if rustix::process::getuid().is_root() { vec![Person::Root, Person::Ordinary] } else { vec![Person::Ordinary] }
    }

    /// The user and the group, where they differ from the tester's.
    pub fn ids(self) -> Option<(u32, u32)> {
        (self == Person::Ordinary && rustix::process::getuid().is_root()).then_some((NOBODY, NOBODY))
    }

    /// The words that make a command this person's.
    pub fn words(self) -> Vec<OsString> {
        match self.ids() {
            None => Vec::new(),
            Some((user, group)) => {
                ["setpriv", "--reuid", &user.to_string(), "--regid", &group.to_string(), "--clear-groups"]
                    .map(OsString::from)
                    .into()
            }
        }
    }
}

/// A user namespace in which no further one can be made, and nobody has a capability.
const REFUSING: &str = "echo 0 > /proc/sys/user/max_user_namespaces && \
                        exec setpriv --bounding-set=-all --inh-caps=-all --no-new-privs -- \"$@\"";

impl Level {
    /// The words before `mayi`.
    pub fn around(self) -> Vec<OsString> {
        match self {
            Level::Native | Level::Bubblewrap | Level::Landlock | Level::Nested => Vec::new(),
            Level::NoNamespaces => {
                ["unshare", "--user", "--map-root-user", "sh", "-c", REFUSING, "sh"].map(OsString::from).into()
            }
        }
    }

    /// The option of `mayi run`.
    pub fn means(self) -> Option<&'static str> {
        match self {
            Level::Native | Level::Nested => Some("native"),
            Level::Bubblewrap => Some("bubblewrap"),
            Level::Landlock => Some("landlock"),
            Level::NoNamespaces => None,
        }
    }

    /// Whether processes inside have numbers of their own.
    pub fn has_own_processes(self) -> bool {
        match self {
            Level::Native | Level::Bubblewrap | Level::Nested => true,
            Level::Landlock | Level::NoNamespaces => false,
        }
    }
}

/// The built program.
pub fn mayi() -> Result<PathBuf> {
    let path = std::env::var_os("MAYI_BINARY").context("MAYI_BINARY is not set\nhelp: run `cargo xtask escape`")?;
    Ok(path.into())
}
