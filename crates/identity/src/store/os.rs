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
#[cfg_attr(not(all(feature = "os-store", target_os = "linux")), allow(unused_variables))]
pub fn stores(folder: &Path, environment: &[(OsString, OsString)], attendance: Attendance) -> Vec<Box<dyn Store>> {
    let mut stores: Vec<Box<dyn Store>> = Vec::new();
    #[cfg(all(feature = "os-store", target_os = "linux"))]
    {
        let scope = folder.to_string_lossy();
        stores.push(Box::new(super::secret_service::SecretServiceStore::new(&scope, environment, attendance)));
        stores.push(Box::new(super::kernel::KernelStore::new(&scope)));
    }
    #[cfg(all(feature = "os-store", target_os = "macos"))]
    stores.push(Box::new(super::keyring::KeyringStore::keychain(&folder.to_string_lossy())));
    #[cfg(all(feature = "os-store", target_os = "windows"))]
    stores.push(Box::new(super::keyring::KeyringStore::credential_manager(&folder.to_string_lossy())));
    stores.push(Box::new(FileStore::in_folder(folder.join("secrets"))));
    stores
}
