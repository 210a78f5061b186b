//! Where secrets are kept. A store holds texts by name; every write is checked for its size before and read back
//! after, so that a secret is kept whole or not at all.

pub mod cache;
pub mod card;
pub mod chain;
pub mod file;
#[cfg(all(feature = "os-store", target_os = "linux"))]
pub mod kernel;
#[cfg(any(test, all(feature = "os-store", any(target_os = "macos", target_os = "windows"))))]
pub mod keyring;
pub mod migrate;
pub mod os;
#[cfg(all(feature = "os-store", target_os = "linux"))]
pub mod secret_service;

use std::fmt::Debug;
use std::path::PathBuf;
use std::pin::Pin;

use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};

/// What a store does, when it is done.
pub type Done<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreProblem>> + Send + 'a>>;

/// A place that keeps secrets by name.
pub trait Store: Debug + Send + Sync {
    /// Which one it is.
    fn name(&self) -> StoreName;
    /// How many bytes a secret may have.
    fn limit(&self) -> usize;
    /// The secret of this name.
    fn load<'a>(&'a self, slot: &'a str) -> Done<'a, Option<SecretString>>;
    /// Keeps a secret, in place of one that is there.
    fn save<'a>(&'a self, slot: &'a str, secret: &'a SecretString) -> Done<'a, ()>;
    /// Removes a secret. True when there was one.
    fn remove<'a>(&'a self, slot: &'a str) -> Done<'a, bool>;
}

/// The stores there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StoreName {
    /// Secret Service: GNOME Keyring, KDE Wallet and others.
    SecretService,
    /// The kernel's keyring on Linux. It forgets at a restart.
    KernelKeyring,
    /// Keychain on macOS.
    Keychain,
    /// Credential Manager on Windows.
    CredentialManager,
    /// A file for the owner alone.
    File,
}

impl StoreName {
    /// Every store, best first.
    pub const ALL: [Self; 5] =
        [Self::Keychain, Self::CredentialManager, Self::SecretService, Self::KernelKeyring, Self::File];

    /// Its word in settings.
    pub fn word(self) -> &'static str {
        match self {
            Self::SecretService => "secret-service",
            Self::KernelKeyring => "kernel-keyring",
            Self::Keychain => "keychain",
            Self::CredentialManager => "credential-manager",
            Self::File => "file",
        }
    }

    /// The store of a word in settings.
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|store| store.word() == word)
    }
}

impl std::fmt::Display for StoreName {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(match self {
            Self::SecretService => "Secret Service",
            Self::KernelKeyring => "kernel keyring",
            Self::Keychain => "Keychain",
            Self::CredentialManager => "Credential Manager",
            Self::File => "private file",
        })
    }
}

/// Why a store did not do as it was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreProblem {
    /// It is not there, or does not answer.
    #[error("the {store} cannot be asked: {why}\nhelp: start it, or choose another with `identity.store`")]
    Unavailable {
        /// Which.
        store: StoreName,
        /// Why, without anything secret.
        why: String,
    },
    /// It is locked.
    #[error("the {0} is locked\nhelp: unlock it, then try again")]
    Locked(StoreName),
    /// It no longer has what was given to it.
    #[error("the {0} no longer holds what was kept there\nhelp: sign in again with `mayi login`")]
    Gone(StoreName),
    /// A secret that does not fit.
    #[error("a secret of {size} bytes does not fit into the {store}, which takes {limit}\nhelp: nothing was kept")]
    TooLarge {
        /// Which.
        store: StoreName,
        /// The secret's length.
        size: usize,
        /// The longest it takes.
        limit: usize,
    },
    /// What was read back is not what was written.
    #[error("the {0} did not keep what was written to it\nhelp: choose another with `identity.store`")]
    Altered(StoreName),
    /// A file or folder that somebody else could read or change.
    #[error("`{}` {what}\nhelp: look at who put it there, then remove it and sign in again", path.display())]
    Unsafe {
        /// The file or folder.
        path: PathBuf,
        /// What is wrong with it.
        what: &'static str,
    },
    /// The system refused.
    #[error("`{}` cannot be used: {what}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        what: String,
    },
    /// The organisation forbids the plain file, and nothing else is there.
    #[error(
        "your organisation forbids keeping credentials in a file, and no other store can be used\nhelp: start a Secret \
         Service (GNOME Keyring, KDE Wallet), or give the key by a variable"
    )]
    Forbidden,
    /// There is no store at all.
    #[error("there is no place to keep credentials\nhelp: set HOME or XDG_STATE_HOME")]
    Nowhere,
    /// The note of what is kept where cannot be read.
    #[error("`{}` cannot be read: {what}\nhelp: remove it and sign in again", path.display())]
    Card {
        /// The note.
        path: PathBuf,
        /// Why.
        what: String,
    },
}

impl StoreProblem {
    /// Whether it may be over in a moment, so that what was read before still counts.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Unavailable { .. } | Self::Locked(_) | Self::Io { .. } => true,
            Self::Gone(_)
            | Self::TooLarge { .. }
            | Self::Altered(_)
            | Self::Unsafe { .. }
            | Self::Forbidden
            | Self::Nowhere
            | Self::Card { .. } => false,
        }
    }
}

/// Writes a secret with both checks: that it fits before, and that it is there after.
pub(crate) async fn keep(store: &dyn Store, slot: &str, secret: &SecretString) -> Result<(), StoreProblem> {
    let (size, limit) = (secret.expose_secret().len(), store.limit());
    if size > limit {
        return Err(StoreProblem::TooLarge { store: store.name(), size, limit });
    }
    store.save(slot, secret).await?;
    let kept = store.load(slot).await?;
    if kept.is_some_and(|kept| kept.expose_secret() == secret.expose_secret()) {
        Ok(())
    } else {
        Err(StoreProblem::Altered(store.name()))
    }
}
