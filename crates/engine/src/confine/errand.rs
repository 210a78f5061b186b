//! An errand: a permit on its way to a confined run. It makes the plan, finds the best means this host has, and never
//! goes on without.

use std::io;
use std::path::Path;

use mayi_core::verdict::Permit;
use mayi_sandbox::enforcement::Mechanism;
use mayi_sandbox::host::Host;
use mayi_sandbox::plan::{Plan, Wanted};
use mayi_sandbox::run::{Ahead, Refused, Sandbox};
use mayi_settings::Loaded;
use mayi_settings::update::SessionPermissions;

use super::temporary::Temporary;

/// What is to run, and where.
#[derive(Clone, Copy, Debug)]
pub struct Errand<'a> {
    /// The settings in force.
    pub loaded: &'a Loaded,
    /// What was answered in the session.
    pub session: &'a SessionPermissions,
    /// What was allowed.
    pub permit: &'a Permit,
    /// Where the command starts.
    pub directory: &'a Path,
}

/// Why nothing can run confined here.
#[derive(Debug, thiserror::Error)]
pub enum Unprepared {
    /// There is no private folder for it.
    #[error("no private temporary folder can be made: {0}\nhelp: TMPDIR names the place for it")]
    Temporary(#[from] io::Error),
    /// The host lacks the means.
    #[error(transparent)]
    Host(#[from] Refused),
}

/// A command that is about to run confined.
#[derive(Debug)]
pub struct Prepared {
    pub(super) sandbox: Sandbox,
    pub(super) permit: Permit,
    pub(super) temporary: Temporary,
    pub(super) ahead: Option<Ahead>,
}

/// Whether the host's namespaces are tried before they are relied on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trial {
    /// They are.
    Live,
    /// They are taken for granted, as on nearly every host. Where they are missing the run ends in an error before the
    /// command starts, and it is time to try.
    Presumed,
}

impl Errand<'_> {
    /// The plan: what the command may read, write and reach. `temporary` is the folder it may fill.
    pub fn plan(&self, temporary: &Path) -> Plan {
        let Errand { loaded, session, permit, directory } = *self;
        let plan = Plan::of(Wanted { loaded, session, permit, temporary });
        Plan { directory: directory.to_owned(), ..plan }
    }

    /// The plan, with this means of confinement or the best there is.
    pub fn prepare(&self, mechanism: Option<Mechanism>, trial: Trial) -> Result<Prepared, Unprepared> {
        let temporary = Temporary::new()?;
        let host = match trial {
            Trial::Live => host(self.loaded),
            Trial::Presumed => Host::presumed(bubblewrap(self.loaded)),
        };
        let sandbox = sandbox(self.plan(temporary.path()), &host, mechanism)?;
        Ok(Prepared { sandbox, permit: self.permit.clone(), temporary, ahead: None })
    }
}

/// The host, with the bubblewrap that settings name.
pub(super) fn host(loaded: &Loaded) -> Host {
    Host::probe_with(bubblewrap(loaded))
}

fn bubblewrap(loaded: &Loaded) -> Option<&Path> {
    loaded.settings.sandbox.bwrap_path.as_deref().map(Path::new)
}

pub(super) fn sandbox(plan: Plan, host: &Host, mechanism: Option<Mechanism>) -> Result<Sandbox, Refused> {
    match mechanism {
        Some(mechanism) => Sandbox::with(plan, host, mechanism),
        None => Sandbox::new(plan, host),
    }
}

impl Prepared {
    /// Uses what was made ahead.
    #[must_use]
    pub fn with(self, ahead: Option<Ahead>) -> Self {
        Self { ahead, ..self }
    }

    /// By what means it is confined, and how far.
    pub fn sandbox(&self) -> &Sandbox {
        &self.sandbox
    }
}
