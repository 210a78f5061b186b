//! Secret Service, by the session bus that the environment names. Every call has its own connection, so a daemon that
//! was restarted is found again. A locked collection asks its owner for the password only when somebody is there.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use secret_service::{Collection, EncryptionType, Error, Item, SecretService};
use zeroize::Zeroizing;

use super::os::Attendance;
use super::{Done, Store, StoreName, StoreProblem};

/// How long one call may take when it asks nobody.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long a person may take to unlock.
const PERSON: Duration = Duration::from_secs(120);
/// The name under which entries are found.
const SERVICE: &str = "mayi";
/// D-Bus messages may be far longer; a secret is not.
const LIMIT: usize = 256 * 1024;

/// The Secret Service of a session.
#[derive(Clone, Debug)]
pub struct SecretServiceStore {
    bus: Option<String>,
    scope: String,
    attendance: Attendance,
}

impl SecretServiceStore {
    /// The service on the session bus of this environment.
    pub fn new(scope: &str, environment: &[(OsString, OsString)], attendance: Attendance) -> Self {
        Self { bus: bus(environment), scope: scope.to_owned(), attendance }
    }

    async fn within<T>(&self, work: impl Future<Output = Result<T, StoreProblem>>) -> Result<T, StoreProblem> {
        let patience = match self.attendance {
            Attendance::Attended => PERSON,
            Attendance::Unattended => PATIENCE,
        };
        tokio::time::timeout(patience, work).await.unwrap_or_else(|_| Err(unavailable("it did not answer in time")))
    }

    async fn connect(&self) -> Result<SecretService<'static>, StoreProblem> {
        let bus = self.bus.as_deref().ok_or_else(|| unavailable("there is no session bus"))?;
        let builder = zbus::connection::Builder::address(bus).map_err(|_| unavailable("its bus has no address"))?;
        let connection = builder.build().await.map_err(|_| unavailable("its bus cannot be reached"))?;
        SecretService::connect_with_existing(EncryptionType::Dh, connection).await.map_err(|error| problem(&error))
    }

    fn attributes<'a>(&'a self, slot: &'a str) -> HashMap<&'a str, &'a str> {
        HashMap::from([("service", SERVICE), ("username", slot), ("scope", &self.scope)])
    }

    /// The item of a slot, unlocked.
    async fn item<'s>(
        &self,
        service: &'s SecretService<'static>,
        slot: &str,
    ) -> Result<Option<Item<'s>>, StoreProblem> {
        let found = service.search_items(self.attributes(slot)).await.map_err(|error| problem(&error))?;
        if let Some(item) = found.unlocked.into_iter().next() {
            return Ok(Some(item));
        }
        let Some(item) = found.locked.into_iter().next() else { return Ok(None) };
        match self.attendance {
            Attendance::Unattended => Err(StoreProblem::Locked(StoreName::SecretService)),
            Attendance::Attended => item.unlock().await.map(|()| Some(item)).map_err(|error| problem(&error)),
        }
    }

    async fn read(&self, slot: &str) -> Result<Option<SecretString>, StoreProblem> {
        let service = self.connect().await?;
        let Some(item) = self.item(&service, slot).await? else { return Ok(None) };
        let bytes = Zeroizing::new(item.get_secret().await.map_err(|error| problem(&error))?);
        let text = std::str::from_utf8(&bytes).map_err(|_| StoreProblem::Altered(StoreName::SecretService))?;
        Ok(Some(text.into()))
    }

    async fn write(&self, slot: &str, secret: &SecretString) -> Result<(), StoreProblem> {
        let service = self.connect().await?;
        let bytes = secret.expose_secret().as_bytes();
        if let Some(item) = self.item(&service, slot).await? {
            return item.set_secret(bytes, "text/plain").await.map_err(|error| problem(&error));
        }
        let collection = self.collection(&service).await?;
        let label = format!("mayi: {slot}");
        let created = collection.create_item(&label, self.attributes(slot), bytes, true, "text/plain").await;
        created.map(|_| ()).map_err(|error| problem(&error))
    }

    async fn collection<'s>(&self, service: &'s SecretService<'static>) -> Result<Collection<'s>, StoreProblem> {
        let failed = |error: Error| problem(&error);
        let collection = match (service.get_default_collection().await, self.attendance) {
            (Ok(collection), _) => collection,
            (Err(Error::NoResult), Attendance::Attended) => {
                service.create_collection("Login", "default").await.map_err(failed)?
            }
            (Err(Error::NoResult), Attendance::Unattended) => return Err(unavailable("it has no default collection")),
            (Err(error), _) => return Err(problem(&error)),
        };
        if collection.is_locked().await.map_err(failed)? {
            match self.attendance {
                Attendance::Unattended => return Err(StoreProblem::Locked(StoreName::SecretService)),
                Attendance::Attended => collection.unlock().await.map_err(failed)?,
            }
        }
        Ok(collection)
    }

    async fn delete(&self, slot: &str) -> Result<bool, StoreProblem> {
        let service = self.connect().await?;
        let Some(item) = self.item(&service, slot).await? else { return Ok(false) };
        item.delete().await.map(|()| true).map_err(|error| problem(&error))
    }
}

impl Store for SecretServiceStore {
    fn name(&self) -> StoreName {
        StoreName::SecretService
    }

    fn limit(&self) -> usize {
        LIMIT
    }

    fn load<'a>(&'a self, slot: &'a str) -> Done<'a, Option<SecretString>> {
        Box::pin(self.within(self.read(slot)))
    }

    fn save<'a>(&'a self, slot: &'a str, secret: &'a SecretString) -> Done<'a, ()> {
        Box::pin(self.within(self.write(slot, secret)))
    }

    fn remove<'a>(&'a self, slot: &'a str) -> Done<'a, bool> {
        Box::pin(self.within(self.delete(slot)))
    }
}

/// The session bus of an environment: the one it names, or the usual socket.
fn bus(environment: &[(OsString, OsString)]) -> Option<String> {
    let variable = |name: &str| {
        let found = environment.iter().find(|(own, _)| own == OsStr::new(name));
        found.and_then(|(_, value)| value.to_str()).filter(|value| !value.is_empty())
    };
    if let Some(address) = variable("DBUS_SESSION_BUS_ADDRESS") {
        return Some(address.to_owned());
    }
    let socket = std::path::Path::new(variable("XDG_RUNTIME_DIR")?).join("bus");
    socket.exists().then(|| format!("unix:path={}", socket.display()))
}

fn unavailable(why: &str) -> StoreProblem {
    StoreProblem::Unavailable { store: StoreName::SecretService, why: why.to_owned() }
}

fn problem(error: &Error) -> StoreProblem {
    match error {
        Error::Locked | Error::Prompt | Error::PromptDisconnected => StoreProblem::Locked(StoreName::SecretService),
        Error::NoResult | Error::Unavailable => unavailable("nobody answers on the session bus"),
        Error::Crypto(_) => unavailable("the connection to it could not be encrypted"),
        Error::Zbus(_) | Error::ZbusFdo(_) | Error::Zvariant(_) => unavailable("it does not answer as it should"),
        _ => unavailable("it failed"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn without_a_bus_there_is_no_service_and_nothing_hangs() {
        let folder = tempfile::tempdir().unwrap();
        let missing = format!("unix:path={}/none", folder.path().display());
        let file = folder.path().join("file");
        std::fs::write(&file, "").unwrap();
        let odd = format!("unix:path={}", file.display());
        for address in ["", "nonsense", &missing, &odd] {
            let environment = [("DBUS_SESSION_BUS_ADDRESS".into(), address.into())];
            let store = SecretServiceStore::new("scope", &environment, Attendance::Unattended);
            assert!(matches!(store.load("k").await, Err(StoreProblem::Unavailable { .. })), "{address}");
            assert!(store.save("k", &"x".into()).await.is_err(), "{address}");
        }
    }
}
