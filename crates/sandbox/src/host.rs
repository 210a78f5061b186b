//! What this machine offers for confinement, tried and not guessed from version numbers.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::Serialize;

/// Where bubblewrap usually is.
const BUBBLEWRAP: [&str; 3] = ["/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap"];

/// What this machine offers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Host {
    /// User and mount namespaces, with the calls that fill them.
    pub namespaces: Offer,
    /// A fresh `/proc` inside a namespace of processes.
    pub fresh_proc: Offer,
    /// The version of Landlock; nought where there is none.
    pub landlock: u32,
    /// The filter of system calls.
    pub seccomp: Offer,
    /// The program `bwrap`.
    pub bubblewrap: Option<PathBuf>,
    /// Whether the caller is root.
    pub root: bool,
}

/// Whether something is there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Offer {
    /// It is.
    Yes,
    /// It is not; why.
    No(String),
}

impl Offer {
    /// Whether it is there.
    pub fn is_there(&self) -> bool {
        *self == Offer::Yes
    }
}

impl Host {
    /// Tries what this machine offers.
    pub fn probe() -> Self {
        Self::probe_with(None)
    }

    /// The same, with the `bwrap` that settings name.
    pub fn probe_with(bubblewrap: Option<&Path>) -> Self {
        platform::probe(find(bubblewrap), Trial::Live)
    }

    /// The same without trying namespaces, for who knows that they were there a while ago: it saves a third of a
    /// millisecond. Where that is no longer true, nothing runs: a run then ends in an error, and it is time to probe.
    pub fn presumed(bubblewrap: Option<&Path>) -> Self {
        platform::probe(find(bubblewrap), Trial::Presumed)
    }
}

/// Whether namespaces are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trial {
    Live,
    Presumed,
}

fn find(bubblewrap: Option<&Path>) -> Option<PathBuf> {
    match bubblewrap {
        Some(named) => Some(named.to_owned()),
        None => BUBBLEWRAP.iter().map(PathBuf::from).find(|path| path.exists()),
    }
}

#[cfg(target_os = "linux")]
mod platform {
    use std::path::PathBuf;

    use super::{Host, Offer, Trial};
    use crate::sys::{filter, probe, raw};

    pub(super) fn probe(bubblewrap: Option<PathBuf>, trial: Trial) -> Host {
        let tried = match trial {
            Trial::Live => probe::namespaces(),
            Trial::Presumed => probe::Tried { mounts: Ok(()), processes: Ok(()) },
        };
        let offer = |result: Result<(), rustix::io::Errno>| match result {
            Ok(()) => Offer::Yes,
            Err(error) => Offer::No(std::io::Error::from(error).to_string()),
        };
        Host {
            namespaces: offer(tried.mounts),
            fresh_proc: offer(tried.processes),
            landlock: raw::landlock_version(),
            seccomp: if filter::SUPPORTED { offer(probe::filter()) } else { Offer::No("unknown processor".into()) },
            bubblewrap,
            root: rustix::process::getuid().is_root(),
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod platform {
    use std::path::PathBuf;

    use super::{Host, Offer, Trial};

    pub(super) fn probe(_: Option<PathBuf>, _: Trial) -> Host {
        let no = || Offer::No("only Linux has it".into());
        Host { namespaces: no(), fresh_proc: no(), landlock: 0, seccomp: no(), bubblewrap: None, root: false }
    }
}

impl fmt::Display for Offer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Offer::Yes => f.write_str("yes"),
            Offer::No(why) => write!(f, "no ({why})"),
        }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "namespaces   {}", self.namespaces)?;
        writeln!(f, "fresh /proc  {}", self.fresh_proc)?;
        match self.landlock {
            0 => writeln!(f, "landlock     no")?,
            version => writeln!(f, "landlock     version {version}")?,
        }
        writeln!(f, "seccomp      {}", self.seccomp)?;
        match &self.bubblewrap {
            Some(path) => write!(f, "bubblewrap   {}", path.display()),
            None => write!(f, "bubblewrap   no"),
        }
    }
}
