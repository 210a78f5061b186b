//! The stores of macOS and Windows, asked in one way: Keychain and Credential Manager. Their calls may wait for a
//! person, so they run beside the runtime and have a limit.

use std::sync::Arc;
use std::time::Duration;

use keyring_core::{CredentialStore, Entry, Error};
use secrecy::{ExposeSecret, SecretString};
use zeroize::Zeroizing;

use super::{Done, Store, StoreName, StoreProblem};

/// How long one call may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// The name under which entries are found.
const SERVICE: &str = "mayi";

/// A way to a store.
type Open = fn() -> keyring_core::Result<Arc<CredentialStore>>;

/// A store of the system.
#[derive(Clone)]
pub struct KeyringStore {
    name: StoreName,
    limit: usize,
    /// Two folders of state do not share their entries.
    scope: String,
    open: Open,
}

impl std::fmt::Debug for KeyringStore {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "KeyringStore({})", self.name)
    }
}

impl KeyringStore {
    /// The user's Keychain, asked by its own interface: the limit of 4,096 bytes is that of the `security` command.
    #[cfg(target_os = "macos")]
    pub fn keychain(scope: &str) -> Self {
        let open: Open = || Ok(apple_native_keyring_store::keychain::Store::new()?);
        Self { name: StoreName::Keychain, limit: 64 * 1024, scope: scope.to_owned(), open }
    }

    /// Credential Manager, which takes 2,560 bytes.
    #[cfg(target_os = "windows")]
    pub fn credential_manager(scope: &str) -> Self {
        let open: Open = || Ok(windows_native_keyring_store::Store::new()?);
        Self { name: StoreName::CredentialManager, limit: 2_560, scope: scope.to_owned(), open }
    }

    /// Does something with an entry, beside the runtime.
    async fn with<T: Send + 'static>(
        &self,
        slot: &str,
        work: impl FnOnce(&Entry) -> keyring_core::Result<T> + Send + 'static,
    ) -> Result<Option<T>, StoreProblem> {
        let (open, name) = (self.open, self.name);
        let user = format!("{slot} ({})", self.scope);
        let unavailable = |why: &str| StoreProblem::Unavailable { store: name, why: why.to_owned() };
        let task =
            tokio::task::spawn_blocking(move || open()?.build(SERVICE, &user, None).and_then(|entry| work(&entry)));
        match tokio::time::timeout(PATIENCE, task).await {
            Err(_) => Err(unavailable("it did not answer in time")),
            Ok(Err(_)) => Err(unavailable("it failed")),
            Ok(Ok(Ok(value))) => Ok(Some(value)),
            Ok(Ok(Err(Error::NoEntry))) => Ok(None),
            Ok(Ok(Err(error))) => Err(self.problem(&error)),
        }
    }

    /// What an error means. Some hold the bytes of a secret: only their kind is told.
    fn problem(&self, error: &Error) -> StoreProblem {
        let why = match error {
            Error::NoStorageAccess(_) => "it gives no access",
            Error::PlatformFailure(_) => "the system refused",
            Error::TooLong(_, _) => "the secret is too long for it",
            Error::Ambiguous(_) => "it holds several entries of the same name",
            Error::NoEntry
            | Error::BadEncoding(_)
            | Error::BadDataFormat(..)
            | Error::BadStoreFormat(_)
            | Error::Invalid(..)
            | Error::NoDefaultStore
            | Error::NotSupportedByStore(_)
            | _ => "it cannot do this",
        };
        StoreProblem::Unavailable { store: self.name, why: why.to_owned() }
    }
}

impl Store for KeyringStore {
    fn name(&self) -> StoreName {
        self.name
    }

    fn limit(&self) -> usize {
        self.limit
    }

    fn load<'a>(&'a self, slot: &'a str) -> Done<'a, Option<SecretString>> {
        Box::pin(async move {
            let found = self.with(slot, |entry| entry.get_secret().map(Zeroizing::new)).await?;
            let Some(bytes) = found else { return Ok(None) };
            let text = std::str::from_utf8(&bytes).map_err(|_| StoreProblem::Altered(self.name))?;
            Ok(Some(text.into()))
        })
    }

    fn save<'a>(&'a self, slot: &'a str, secret: &'a SecretString) -> Done<'a, ()> {
        let secret = secret.clone();
        Box::pin(async move {
            let saved = self.with(slot, move |entry| entry.set_secret(secret.expose_secret().as_bytes())).await?;
            saved.ok_or(StoreProblem::Altered(self.name))
        })
    }

    fn remove<'a>(&'a self, slot: &'a str) -> Done<'a, bool> {
        Box::pin(async move { Ok(self.with(slot, Entry::delete_credential).await?.is_some()) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::OnceLock;

    /// A store that keeps things in memory, for all who open it.
    fn memory() -> keyring_core::Result<Arc<CredentialStore>> {
        static STORE: OnceLock<Arc<keyring_core::mock::Store>> = OnceLock::new();
        let store: Arc<CredentialStore> = match STORE.get() {
            Some(store) => Arc::clone(store) as _,
            None => {
                let new = keyring_core::mock::Store::new()?;
                Arc::clone(STORE.get_or_init(|| new)) as _
            }
        };
        Ok(store)
    }

    #[tokio::test]
    async fn a_store_of_the_system_keeps_replaces_and_forgets() {
        let store =
            |scope: &str| KeyringStore { name: StoreName::Keychain, limit: 100, scope: scope.to_owned(), open: memory };
        let (here, there) = (store("here"), store("there"));
        assert!(here.load("k").await.unwrap().is_none());
        for text in ["one", "two"] {
            here.save("k", &text.into()).await.unwrap();
            assert_eq!(here.load("k").await.unwrap().unwrap().expose_secret(), text);
        }
        assert!(there.load("k").await.unwrap().is_none());
        assert!(here.remove("k").await.unwrap());
        assert!(!here.remove("k").await.unwrap());
    }

    #[test]
    fn errors_tell_nothing_of_the_bytes_they_hold() {
        let store = KeyringStore { name: StoreName::Keychain, limit: 1, scope: String::new(), open: memory };
        let problem = store.problem(&Error::BadEncoding(b"sk-hidden".to_vec()));
        assert!(!format!("{problem} {problem:?}").contains("hidden"));
    }
}
