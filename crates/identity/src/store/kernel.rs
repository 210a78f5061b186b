//! The kernel's keyring on Linux: the persistent one of the user, which all their processes share. It never touches a
//! disk, and forgets at a restart or when nobody has asked for three days.

use std::time::Duration;

use linux_keyutils::{Key, KeyError, KeyRing, KeyRingIdentifier};
use secrecy::{ExposeSecret, SecretString};
use zeroize::Zeroizing;

use super::{Done, Store, StoreName, StoreProblem};

/// How long one call may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// A user may keep 20,000 bytes there, all keys and their names together.
const LIMIT: usize = 16 * 1024;

/// The user's persistent keyring.
#[derive(Clone, Debug)]
pub struct KernelStore {
    /// Two folders of state do not share their entries.
    scope: String,
}

impl KernelStore {
    /// The store for a scope.
    pub fn new(scope: &str) -> Self {
        Self { scope: scope.to_owned() }
    }

    /// Does something with the keyring and the name of an entry. Reaching the keyring changes what the calling thread
    /// may use, so that is a thread of its own.
    async fn with<T: Send + 'static>(
        &self,
        slot: &str,
        work: impl FnOnce(&KeyRing, &str) -> Result<T, KeyError> + Send + 'static,
    ) -> Result<Option<T>, StoreProblem> {
        let name = format!("mayi:{slot} ({})", self.scope);
        let task = tokio::task::spawn_blocking(move || {
            // Where the thread has no keyring of its session, it gets one: what hangs on it is then ours to use.
            KeyRing::from_special_id(KeyRingIdentifier::Session, true)?;
            work(&KeyRing::get_persistent(KeyRingIdentifier::Session)?, &name)
        });
        match tokio::time::timeout(PATIENCE, task).await {
            Ok(Ok(Ok(value))) => Ok(Some(value)),
            Ok(Ok(Err(KeyError::KeyDoesNotExist | KeyError::KeyExpired | KeyError::KeyRevoked))) => Ok(None),
            Ok(Ok(Err(KeyError::QuotaExceeded))) => Err(unavailable("it is full")),
            Ok(Ok(Err(KeyError::AccessDenied | KeyError::PermissionDenied))) => Err(unavailable("it gives no access")),
            Ok(Ok(Err(_)) | Err(_)) => Err(unavailable("this system has none, or it failed")),
            Err(_) => Err(unavailable("it did not answer in time")),
        }
    }
}

fn unavailable(why: &str) -> StoreProblem {
    StoreProblem::Unavailable { store: StoreName::KernelKeyring, why: why.to_owned() }
}

impl Store for KernelStore {
    fn name(&self) -> StoreName {
        StoreName::KernelKeyring
    }

    fn limit(&self) -> usize {
        LIMIT
    }

    fn load<'a>(&'a self, slot: &'a str) -> Done<'a, Option<SecretString>> {
        Box::pin(async move {
            let found = self.with(slot, |ring, name| ring.search(name)?.read_to_vec().map(Zeroizing::new)).await?;
            let Some(bytes) = found else { return Ok(None) };
            let text = std::str::from_utf8(&bytes).map_err(|_| StoreProblem::Altered(StoreName::KernelKeyring))?;
            Ok(Some(text.into()))
        })
    }

    fn save<'a>(&'a self, slot: &'a str, secret: &'a SecretString) -> Done<'a, ()> {
        let secret = secret.clone();
        Box::pin(async move {
            let saved =
                self.with(slot, move |ring, name| ring.add_key(name, secret.expose_secret().as_bytes())).await?;
            saved.map(|_: Key| ()).ok_or_else(|| unavailable("its keyring has expired"))
        })
    }

    fn remove<'a>(&'a self, slot: &'a str) -> Done<'a, bool> {
        // Unlinking is at once, while an invalid key may be found for a moment longer.
        Box::pin(async move {
            let removed = self.with(slot, |ring, name| ring.search(name).and_then(|key| ring.unlink_key(key))).await?;
            Ok(removed.is_some())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_kernel_keeps_a_secret_or_says_that_it_cannot() {
        let folder = tempfile::tempdir().unwrap();
        let store = KernelStore::new(folder.path().to_str().unwrap());
        match store.save("k", &"one".into()).await {
            // In a container the keyring may be closed.
            Err(problem) => assert!(matches!(problem, StoreProblem::Unavailable { .. }), "{problem}"),
            Ok(()) => {
                store.save("k", &"two".into()).await.unwrap();
                assert_eq!(store.load("k").await.unwrap().unwrap().expose_secret(), "two");
                assert!(KernelStore::new("elsewhere").load("k").await.unwrap().is_none());
                assert!(store.remove("k").await.unwrap());
                assert!(!store.remove("k").await.unwrap());
                assert!(store.load("k").await.unwrap().is_none());
            }
        }
    }
}
