//! How far a plan is really enforced on this host: what was wanted, and what is missing.

use std::fmt;

use serde::Serialize;

/// By what means a command is confined, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Mechanism {
    /// Namespaces made by this program, with Landlock and seccomp.
    Native,
    /// Namespaces made by bubblewrap, with seccomp.
    Bubblewrap,
    /// Landlock and seccomp alone, where the host forbids namespaces.
    Landlock,
}

/// A part of a plan that a host cannot enforce.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Lack {
    /// Files that must not be read can be read.
    HiddenFiles,
    /// Protected files inside writable folders can be changed or created.
    ProtectedFiles,
    /// Hosts cannot be told apart; there is no network at all instead.
    Domains,
    /// Other processes of the user are visible.
    Processes,
    /// Pathname Unix sockets can be reached.
    UnixSockets,
    /// Landlock, the second wall, is missing.
    SecondWall,
    /// The system call filter is missing.
    SystemCalls,
    /// Limits on resources are missing.
    Limits,
    /// Modes, owners, times and attributes of the user's files outside can be changed.
    Attributes,
}

/// How far a plan is enforced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Enforcement {
    /// All of it.
    Full,
    /// All but these.
    Partial(Vec<Lack>),
    /// Nothing: the command may not run as confined.
    None,
}

impl Mechanism {
    /// All of them, best first.
    pub const ALL: [Mechanism; 3] = [Mechanism::Native, Mechanism::Bubblewrap, Mechanism::Landlock];

    /// Its name in settings, options and reports.
    pub fn word(self) -> &'static str {
        match self {
            Mechanism::Native => "native",
            Mechanism::Bubblewrap => "bubblewrap",
            Mechanism::Landlock => "landlock",
        }
    }
}

impl fmt::Display for Mechanism {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

impl fmt::Display for Lack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Lack::HiddenFiles => "files that must not be read can be read",
            Lack::ProtectedFiles => "protected files inside writable folders can be changed",
            Lack::Domains => "hosts cannot be told apart, so there is no network",
            Lack::Processes => "other processes are visible",
            Lack::UnixSockets => "Unix sockets in the file system can be reached",
            Lack::SecondWall => "Landlock is missing",
            Lack::SystemCalls => "the system call filter is missing",
            Lack::Limits => "resources are not limited",
            Lack::Attributes => "modes, owners and times of your files elsewhere can be changed",
        })
    }
}

impl fmt::Display for Enforcement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Enforcement::Full => f.write_str("fully enforced"),
            Enforcement::None => f.write_str("not enforced"),
            Enforcement::Partial(lacks) => {
                f.write_str("partly enforced: ")?;
                for (place, lack) in lacks.iter().enumerate() {
                    if place > 0 {
                        f.write_str("; ")?;
                    }
                    write!(f, "{lack}")?;
                }
                Ok(())
            }
        }
    }
}
