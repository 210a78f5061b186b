//! The ground that installation stands on: home, project, variables and where programs are, all as values, so that a
//! test can point each of them at a folder of its own.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use super::InstallError;
use super::facts::{Agent, File, Lies};

/// In whose configuration a hook is installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// The person's own, everywhere.
    User,
    /// Everybody's in this project.
    Project,
    /// The person's own in this project.
    Local,
}

impl Scope {
    /// All of them.
    pub const ALL: [Scope; 3] = [Scope::User, Scope::Project, Scope::Local];
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Scope::User => "user",
            Scope::Project => "project",
            Scope::Local => "local",
        })
    }
}

/// Where everything is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ground {
    /// The person's home.
    pub home: Option<PathBuf>,
    /// The root of the project.
    pub project: PathBuf,
    /// The root of the system, below which an organisation's files are.
    pub system: PathBuf,
    /// Variables that name folders.
    pub variables: BTreeMap<String, PathBuf>,
    /// The folders where programs are looked for.
    pub search: Vec<PathBuf>,
}

/// Where a file is, and the folder that no link may lead it out of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Location {
    pub(super) path: PathBuf,
    pub(super) within: PathBuf,
}

impl Ground {
    /// That of this machine, for a project.
    pub fn of_this_machine(project: &Path) -> Self {
        let folder = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let names = super::agents::ALL.iter().filter_map(|agent| agent.base.variable);
        Self {
            home: folder("HOME").or_else(|| folder("USERPROFILE")),
            project: project.to_owned(),
            system: PathBuf::from("/"),
            variables: names.filter_map(|name| Some((name.to_owned(), folder(name)?))).collect(),
            search: std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect()).unwrap_or_default(),
        }
    }

    /// The folder of a person's own configuration of an agent, and the folder it must stay in.
    fn base(&self, agent: &Agent) -> Result<(PathBuf, PathBuf), InstallError> {
        let named = agent.base.variable.and_then(|name| self.variables.get(name));
        let home = self.home.as_deref();
        match (named, home) {
            (Some(folder), Some(home)) if folder.starts_with(home) => Ok((folder.clone(), home.to_owned())),
            (Some(folder), _) => Ok((folder.clone(), folder.clone())),
            (None, Some(home)) => Ok((home.join(agent.base.below_home), home.to_owned())),
            (None, None) => Err(InstallError::NoHome),
        }
    }

    /// Where a file of an agent is in a scope; `None` when it has none there.
    pub(super) fn file(&self, agent: &Agent, file: &File, scope: Scope) -> Result<Option<Location>, InstallError> {
        let below = |name: Option<&str>| {
            name.map(|name| Location { path: self.project.join(name), within: self.project.clone() })
        };
        match scope {
            Scope::User => file
                .user
                .map(|name| self.base(agent).map(|(base, within)| Location { path: base.join(name), within }))
                .transpose(),
            Scope::Project => Ok(below(file.project)),
            Scope::Local => Ok(below(file.local)),
        }
    }

    /// Where a file of an agent's own settings is.
    pub(super) fn settings(&self, agent: &Agent, lies: Lies, file: &str) -> Option<PathBuf> {
        match lies {
            Lies::User => self.base(agent).ok().map(|(base, _)| base.join(file)),
            Lies::Project => Some(self.project.join(file)),
            Lies::System => Some(self.system.join(file)),
        }
    }

    /// Whether a file is one that our hook is installed in.
    pub(super) fn holds_hooks(&self, agent: &Agent, path: &Path) -> bool {
        let is_it = |file: &File, scope| matches!(self.file(agent, file, scope), Ok(Some(there)) if there.path == path);
        agent.files.iter().any(|file| Scope::ALL.into_iter().any(|scope| is_it(file, scope)))
    }

    /// The first program of that name.
    pub fn program(&self, name: &str) -> Option<PathBuf> {
        self.search.iter().filter(|folder| folder.is_absolute()).map(|folder| folder.join(name)).find(|p| can_run(p))
    }

    /// The path of a program that outlives an update: where the search path has a link to it, that link, because
    /// package managers put each version in a folder of its own.
    pub fn lasting(&self, program: &Path) -> PathBuf {
        let same = |found: &PathBuf| matches!((found.canonicalize(), program.canonicalize()), (Ok(a), Ok(b)) if a == b);
        let name = program.file_name().and_then(|name| name.to_str());
        name.and_then(|name| self.program(name)).filter(same).unwrap_or_else(|| program.to_owned())
    }
}

/// Whether a file is there and can be run.
pub(super) fn can_run(path: &Path) -> bool {
    let Ok(metadata) = path.metadata() else { return false };
    #[cfg(unix)]
    let executable = std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o111 != 0;
    #[cfg(not(unix))]
    let executable = true;
    metadata.is_file() && executable
}
