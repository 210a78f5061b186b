//! The policies that calls are decided by: the server's own in force, seen from where a call is made, or settings that
//! came with the call, bound by what the server's organisation says. Kept as long as the settings they come from.

use std::sync::{Arc, PoisonError, RwLock};

use mayi_core::call::Workspace;
use mayi_core::policy::{Layer, Options, Origin, Policy, Source};
use mayi_engine::batch::{BadLine, Line};
use mayi_engine::remote::wire::PolicyOf;
use mayi_engine::version::version;
use mayi_settings::Loaded;
use mayi_settings::load::Bundle;
use mayi_settings::store::Store as Settings;
use mayi_settings::update::SessionPermissions;
use rustc_hash::FxHashMap;

/// How many policies are kept.
const CACHE: usize = 512;

/// A policy that a call is decided by.
#[derive(Clone, Debug)]
pub struct InForce {
    /// The policy, with what the session's answers added.
    pub policy: Arc<Policy>,
    /// The version of what it rests on, without those answers.
    pub version: Arc<str>,
    /// Whose it is.
    pub of: PolicyOf,
    /// Whether an answer may become a rule.
    pub takes_rules: bool,
}

/// Everything that a policy depends on beside the server's settings.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    workspace: Workspace,
    /// The settings of a line that brings its own, as text.
    own: Option<String>,
    /// What answers added, as text.
    session: String,
}

/// What comes from one state of the server's settings.
#[derive(Debug)]
struct Generation {
    loaded: Arc<Loaded>,
    version: Arc<str>,
    managed: Vec<Bundle>,
    /// Managed files that could not be read: what they forbid is not known, and binds everybody.
    broken: Vec<Origin>,
    kept: RwLock<FxHashMap<Key, InForce>>,
}

/// The policies.
#[derive(Debug)]
pub struct Policies {
    settings: Arc<Settings>,
    generation: RwLock<Arc<Generation>>,
}

impl Policies {
    /// The policies of settings.
    pub fn new(settings: Arc<Settings>) -> Self {
        let generation = RwLock::new(Arc::new(Generation::of(settings.current())));
        Self { settings, generation }
    }

    /// The version of the server's own policy.
    pub fn version(&self) -> Arc<str> {
        self.generation().version.clone()
    }

    /// The policy that decides a line in a session whose answers added something.
    pub fn of_line(&self, line: &Line, permissions: &SessionPermissions) -> Result<InForce, BadLine> {
        self.generation().of_line(line, None, permissions)
    }

    /// The same for a lead of the agent that makes the call, who works elsewhere.
    pub fn of_lead(&self, line: &Line, directory: &str, permissions: &SessionPermissions) -> Result<InForce, BadLine> {
        self.generation().of_line(line, Some(directory), permissions)
    }

    /// The server's settings, for a call that is made somewhere else than the server works.
    pub fn seen_from(&self, workspace: Workspace) -> Arc<Loaded> {
        let mut loaded = Loaded::clone(&self.settings.current());
        loaded.policy = Arc::new(seen_from(&loaded, workspace, &SessionPermissions::default()));
        Arc::new(loaded)
    }

    /// Those of the settings as they are now. The disk is not looked at: whoever watches it does.
    fn generation(&self) -> Arc<Generation> {
        let loaded = self.settings.current();
        let known = Arc::clone(&self.generation.read().unwrap_or_else(PoisonError::into_inner));
        if Arc::ptr_eq(&known.loaded, &loaded) {
            return known;
        }
        let fresh = Arc::new(Generation::of(loaded));
        *self.generation.write().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&fresh);
        fresh
    }
}

impl Generation {
    fn of(loaded: Arc<Loaded>) -> Self {
        let broken = loaded.policy.options.broken.iter().filter(|origin| origin.layer == Layer::Managed);
        Self {
            version: fleet_version(&loaded.policy).into(),
            managed: loaded.managed(),
            broken: broken.cloned().collect(),
            kept: RwLock::default(),
            loaded,
        }
    }

    fn of_line(
        &self,
        line: &Line,
        directory: Option<&str>,
        permissions: &SessionPermissions,
    ) -> Result<InForce, BadLine> {
        let own = &self.loaded.policy.workspace;
        let mut workspace = line.workspace(&own.directory)?;
        if let Some(directory) = directory.filter(|directory| directory.starts_with('/')) {
            workspace.directory = mayi_core::path::clean(directory);
        }
        if !line.brings_settings() {
            workspace.home = workspace.home.or_else(|| own.home.clone());
            let absolute = line.additional_directories.iter().filter(|directory| directory.starts_with('/'));
            workspace.added.extend(absolute.map(|directory| mayi_core::path::clean(directory)));
        }
        let key = Key {
            own: line.brings_settings().then(|| line.key(&workspace)).transpose()?,
            workspace,
            session: if *permissions == SessionPermissions::default() {
                String::new()
            } else {
                serde_json::to_string(permissions)?
            },
        };
        if let Some(known) = self.kept.read().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return Ok(known.clone());
        }
        let made = self.make(line, key.workspace.clone(), permissions)?;
        let mut kept = self.kept.write().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= CACHE {
            kept.clear();
        }
        kept.insert(key, made.clone());
        Ok(made)
    }

    fn make(&self, line: &Line, workspace: Workspace, added: &SessionPermissions) -> Result<InForce, BadLine> {
        if !line.brings_settings() {
            let policy = Arc::new(seen_from(&self.loaded, workspace, added));
            let takes_rules = self.loaded.may_save_rules();
            return Ok(InForce { policy, version: self.version.clone(), of: PolicyOf::Server, takes_rules });
        }
        let mut loaded = line.loaded(&workspace, &self.managed)?;
        if !self.broken.is_empty() {
            Arc::make_mut(&mut loaded.policy).options.broken.extend(self.broken.iter().cloned());
        }
        let version = version(&loaded.policy).into();
        let policy = if *added == SessionPermissions::default() {
            loaded.policy.clone()
        } else {
            Arc::new(loaded.policy_for(added))
        };
        Ok(InForce { policy, version, of: PolicyOf::Call, takes_rules: loaded.may_save_rules() })
    }
}

/// The version of the server's policy, the same on every server that has the same settings, wherever their files lie.
fn fleet_version(policy: &Policy) -> String {
    let sources = policy.sources().iter().cloned().map(|source| Source { root: "/".to_owned(), ..source }).collect();
    let options = Options { protected_files: Vec::new(), ..policy.options.clone() };
    version(&Policy::build(Workspace::at("/"), sources, options))
}

/// The server's policy, for a call that is made somewhere else than the server works.
fn seen_from(loaded: &Loaded, mut workspace: Workspace, added: &SessionPermissions) -> Policy {
    let mut sources = loaded.policy.sources().to_vec();
    if loaded.may_save_rules() && !added.rules.is_empty() {
        sources.push(Source::of(Layer::Session, &workspace.directory, added.written()));
    }
    for directory in loaded.policy.workspace.added.iter().chain(&added.directories) {
        if !workspace.added.contains(directory) {
            workspace.added.push(directory.clone());
        }
    }
    Policy::build(workspace, sources, loaded.policy.options.clone())
}

#[cfg(test)]
mod tests {
    use mayi_core::policy::Written;
    use mayi_core::verdict::Verdict;

    use super::*;

    #[test]
    fn servers_with_the_same_settings_in_other_folders_have_the_same_version() {
        let policy = |home: &str, rule: &str| {
            let source = Source::of(Layer::User, home, vec![Written::new(Verdict::Deny, rule)]);
            let options = Options { protected_files: vec![format!("{home}/settings.json")], ..Options::default() };
            Policy::build(Workspace::at(home), vec![source], options)
        };
        assert_eq!(fleet_version(&policy("/a", "Bash(x:*)")), fleet_version(&policy("/b", "Bash(x:*)")));
        assert_ne!(fleet_version(&policy("/a", "Bash(x:*)")), fleet_version(&policy("/a", "Bash(y:*)")));
    }
}
