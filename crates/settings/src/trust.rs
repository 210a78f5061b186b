//! Trust: which folders a person trusts, kept in mayi's state folder. A repository's allow rules, directories and
//! hooks count only in a trusted folder. Trust is exact: a folder above or below is another one.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::document::{self, Document, Node, Unreadable, Value};
use crate::load::Trust;
use crate::write::SaveError;
use crate::write::replace::{Privacy, replace};

/// The file with the trusted folders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustStore {
    file: PathBuf,
}

/// Why trust cannot be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// The file cannot be read. Until it is mended, no folder is trusted.
    #[error("{}\nhelp: mend or remove the file; until then no folder is trusted", error.located(file))]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// Why.
        error: Unreadable,
    },
    /// Home holds every project, so trusting it would trust them all.
    #[error("`{}` is the home folder, which is never trusted for good\nhelp: trust the project's own folder", .0.display())]
    Home(PathBuf),
    /// There is no such folder.
    #[error("`{}` is no folder that can be trusted: {source}", path.display())]
    NoFolder {
        /// The folder.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file cannot be written.
    #[error(transparent)]
    Save(#[from] SaveError),
}

const TRIES: usize = 8;

impl TrustStore {
    /// The store in a state folder.
    pub fn in_folder(state: &Path) -> Self {
        Self { file: state.join("trust.json") }
    }

    /// Its file.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// The folders that are trusted.
    pub fn folders(&self) -> Result<BTreeSet<String>, TrustError> {
        let text = self.text()?;
        self.parsed(text.as_deref())
    }

    fn text(&self) -> Result<Option<String>, TrustError> {
        document::read_text(&self.file).map_err(|error| TrustError::Unreadable { file: self.file.clone(), error })
    }

    fn parsed(&self, text: Option<&str>) -> Result<BTreeSet<String>, TrustError> {
        let Some(text) = text else { return Ok(BTreeSet::new()) };
        let unreadable = |error| TrustError::Unreadable { file: self.file.clone(), error };
        let document = Document::parse(text).map_err(unreadable)?;
        match document.root.member("folders").map(|node| &node.value) {
            Some(Value::List(items)) => Ok(items.iter().filter_map(Node::text).map(str::to_owned).collect()),
            _ => Err(unreadable(Unreadable::Refused("it holds no list `folders`".to_owned()))),
        }
    }

    /// Whether the repository or folder around `directory` is trusted. What cannot be found out is not trusted.
    pub fn trust_of(&self, directory: &Path) -> Result<Trust, TrustError> {
        let folders = self.folders()?;
        if folders.is_empty() {
            return Ok(Trust::Untrusted);
        }
        let Ok(subject) = subject(directory) else { return Ok(Trust::Untrusted) };
        Ok(if folders.contains(&*subject.to_string_lossy()) { Trust::Trusted } else { Trust::Untrusted })
    }

    /// Trusts the repository or folder around `directory`; gives the folder that is trusted now.
    pub fn trust(&self, directory: &Path, home: Option<&Path>) -> Result<PathBuf, TrustError> {
        let subject = self.subject(directory)?;
        let is_home = home.and_then(|home| home.canonicalize().ok()).is_some_and(|home| home == subject);
        if is_home {
            return Err(TrustError::Home(subject));
        }
        self.change(|folders| folders.insert(subject.to_string_lossy().into_owned()))?;
        Ok(subject)
    }

    /// Trusts it no longer; gives the folder.
    pub fn distrust(&self, directory: &Path) -> Result<PathBuf, TrustError> {
        let subject = self.subject(directory)?;
        self.change(|folders| folders.remove(&*subject.to_string_lossy()))?;
        Ok(subject)
    }

    fn subject(&self, directory: &Path) -> Result<PathBuf, TrustError> {
        subject(directory).map_err(|source| TrustError::NoFolder { path: directory.to_owned(), source })
    }

    fn change(&self, change: impl Fn(&mut BTreeSet<String>) -> bool) -> Result<(), TrustError> {
        let folder = self.file.parent().unwrap_or(&self.file);
        make_private(folder).map_err(|source| SaveError::Io { path: folder.to_owned(), source })?;
        for _ in 0..TRIES {
            let before = self.text()?;
            let mut folders = self.parsed(before.as_deref())?;
            if !change(&mut folders) {
                return Ok(());
            }
            let after = format!("{:#}\n", json!({ "folders": folders }));
            if replace(&self.file, before.as_deref(), &after, Privacy::Own)? {
                return Ok(());
            }
        }
        Err(TrustError::Save(SaveError::Changed(self.file.clone())))
    }
}

/// A folder for the owner alone.
pub fn make_private(folder: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// What trust is about: the nearest repository's root, for a linked work tree that of the main one; without a
/// repository, the folder itself.
fn subject(directory: &Path) -> std::io::Result<PathBuf> {
    let directory = directory.canonicalize()?;
    let Some(root) = directory.ancestors().find(|folder| folder.join(".git").symlink_metadata().is_ok()) else {
        return Ok(directory);
    };
    Ok(main_work_tree(root).unwrap_or_else(|| root.to_owned()))
}

/// The main work tree of a linked one. Any folder could name a trusted repository as its own, so that repository must
/// name the folder as well.
fn main_work_tree(root: &Path) -> Option<PathBuf> {
    let link = root.join(".git");
    let text = std::fs::read_to_string(&link).ok()?;
    let administration = root.join(text.strip_prefix("gitdir:")?.trim()).canonicalize().ok()?;
    let back = std::fs::read_to_string(administration.join("gitdir")).ok()?;
    if Path::new(back.trim()).canonicalize().ok()? != link.canonicalize().ok()? {
        return None;
    }
    let worktrees = administration.parent().filter(|folder| folder.ends_with(".git/worktrees"))?;
    worktrees.parent()?.parent().map(Path::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn store(folder: &Path) -> TrustStore {
        TrustStore::in_folder(&folder.join("state/mayi"))
    }

    #[test]
    fn trust_is_for_the_repository_and_exact() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let store = store(&root);
        for name in ["repo/.git", "repo/src", "repo/nested/.git", "other"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        assert_eq!(store.trust(&root.join("repo/src"), None).unwrap(), root.join("repo"));
        let trust = |name: &str| store.trust_of(&root.join(name)).unwrap();
        assert_eq!(trust("repo"), Trust::Trusted);
        assert_eq!(trust("repo/src"), Trust::Trusted);
        assert_eq!(trust("repo/nested"), Trust::Untrusted, "a repository inside is another one");
        assert_eq!(trust("other"), Trust::Untrusted);
        assert_eq!(trust("missing"), Trust::Untrusted);
        store.distrust(&root.join("repo")).unwrap();
        assert_eq!(trust("repo"), Trust::Untrusted);
    }

    #[test]
    fn home_is_never_trusted_for_good() {
        let folder = tempfile::tempdir().unwrap();
        let error = store(folder.path()).trust(folder.path(), Some(folder.path())).unwrap_err();
        assert!(matches!(error, TrustError::Home(_)));
    }

    #[test]
    fn a_linked_work_tree_shares_trust_and_an_impostor_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let store = store(&root);
        for name in ["main/.git/worktrees/w", "linked", "impostor"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        let administration = root.join("main/.git/worktrees/w");
        fs::write(administration.join("gitdir"), format!("{}\n", root.join("linked/.git").display())).unwrap();
        for name in ["linked", "impostor"] {
            fs::write(root.join(name).join(".git"), format!("gitdir: {}\n", administration.display())).unwrap();
        }
        store.trust(&root.join("main"), None).unwrap();
        assert_eq!(store.trust_of(&root.join("linked")).unwrap(), Trust::Trusted);
        assert_eq!(store.trust_of(&root.join("impostor")).unwrap(), Trust::Untrusted);
    }

    #[test]
    fn a_file_nobody_can_read_trusts_nobody() {
        let folder = tempfile::tempdir().unwrap();
        let store = store(folder.path());
        store.trust(folder.path(), None).unwrap();
        for text in ["{", "{}", "{\"folders\": 5}"] {
            fs::write(store.file(), text).unwrap();
            assert!(store.trust_of(folder.path()).is_err(), "{text}");
            assert!(store.trust(folder.path(), None).is_err(), "{text}");
            assert_eq!(fs::read_to_string(store.file()).unwrap(), text, "and it is left alone");
        }
    }

    #[cfg(unix)]
    #[test]
    fn the_file_is_the_owners_alone() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let store = store(folder.path());
        store.trust(folder.path(), None).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(store.file()), 0o600);
        assert_eq!(mode(store.file().parent().unwrap()), 0o700);
    }
}
