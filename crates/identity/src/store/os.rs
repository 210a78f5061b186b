//! The stores of this machine, best first. None of them is asked here: a store that is not there says so when it is
//! used.

use std::ffi::OsString;
use std::path::Path;

use super::Store;
use super::file::FileStore;

/// Whether a person is there to unlock a store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Attendance {
    /// Somebody is: a store may ask them for its password.
    Attended,
    /// Nobody is: a locked store is a problem at once.
    #[default]
    Unattended,
}

/// The stores for a folder of this program's state.
pub fn stores(folder: &Path, environment: &[(OsString, OsString)], attendance: Attendance) -> Vec<Box<dyn Store>> {
    let mut stores = of_the_system(&folder.to_string_lossy(), environment, attendance);
    stores.push(Box::new(FileStore::in_folder(folder.join("secrets"))));
    stores
}

#[cfg(all(feature = "os-store", target_os = "linux"))]
fn of_the_system(scope: &str, environment: &[(OsString, OsString)], attendance: Attendance) -> Vec<Box<dyn Store>> {
    let secret_service = super::secret_service::SecretServiceStore::new(scope, environment, attendance);
    vec![Box::new(secret_service), Box::new(super::kernel::KernelStore::new(scope))]
}

#[cfg(all(feature = "os-store", target_os = "macos"))]
fn of_the_system(scope: &str, _: &[(OsString, OsString)], _: Attendance) -> Vec<Box<dyn Store>> {
    vec![Box::new(super::keyring::KeyringStore::keychain(scope))]
}

#[cfg(all(feature = "os-store", target_os = "windows"))]
fn of_the_system(scope: &str, _: &[(OsString, OsString)], _: Attendance) -> Vec<Box<dyn Store>> {
    vec![Box::new(super::keyring::KeyringStore::credential_manager(scope))]
}

#[cfg(not(all(feature = "os-store", any(target_os = "linux", target_os = "macos", target_os = "windows"))))]
fn of_the_system(_: &str, _: &[(OsString, OsString)], _: Attendance) -> Vec<Box<dyn Store>> {
    Vec::new()
}
